/* SPDX-License-Identifier: BSD-2-Clause */
/* See return_trial.h. */
#include "probe/kernel/return_trial.h"

#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/compiler.h"
#include "probe/kernel/own_probe.h"
#include "target/proc.h"

#define STATUS_MAX_SIZE 16384

/* Exit status of the child. */
enum { CHILD_PASSED, CHILD_TRAPPED, CHILD_UNFILTERED };

/* Ends the child, which is a copy of this program, without exit handlers and buffers of the
 * parent. */
static __attribute__((noreturn)) void end(int how)
{
	for (;;)
		syscall(SYS_exit_group, how);
}

/* The function that is probed. */
static __attribute__((noinline, used)) long returns(void)
{
	return syscall(SYS_getppid);
}

static void on_trap(int signal)
{
	UNUSED(signal);
	end(CHILD_TRAPPED);
}

/* Kills the child at the call: if the filter only refused it, the child would go on at a wrong
 * address. */
static bool filter(int nr)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)nr, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_TRAP),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = {.len = ARRAY_SIZE(code), .filter = code};

	return signal(SIGSYS, on_trap) != SIG_ERR && prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
	       prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program, 0, 0) == 0;
}

/* The child: calls the probed function under a seccomp filter for the call `filtered`.  go: a pipe
 * with one byte once the probe is placed; end of file if it could not be placed. */
static __attribute__((noreturn)) void child(int go, int filtered)
{
	char c;

	if (read(go, &c, 1) != 1 || !filter(filtered))
		end(CHILD_UNFILTERED);
	returns();
	end(CHILD_PASSED);
}

/* If the child ended otherwise than by its own exit, the filter is taken for the reason. */
static enum return_trial judge(int status, const struct own_probe *p)
{
	if (WIFSIGNALED(status) || WEXITSTATUS(status) == CHILD_TRAPPED)
		return RETURN_KILLS;
	if (WEXITSTATUS(status) == CHILD_PASSED && own_probe_hits(p) == 1)
		return RETURN_PASSES;
	return RETURN_UNTRIED;
}

enum return_trial return_trial_of(int filtered)
{
	enum return_trial answer = RETURN_UNTRIED;
	struct own_probe p = {.uprobe = UPROBE_NONE};
	int go[2], status, rc;
	pid_t pid;

	if (pipe(go))
		return answer;
	pid = fork();
	if (pid == 0) {
		close(go[1]);
		child(go[0], filtered);
	}
	close(go[0]);
	rc = pid > 0 ? own_probe_attach(&p, (const void *)(uintptr_t)returns, true, pid) : -errno;
	/* Without a byte the child exits at once. */
	if (rc == 0 && write(go[1], "", 1) != 1)
		rc = -errno;
	close(go[1]);
	if (pid > 0 && waitpid(pid, &status, 0) == pid && rc == 0)
		answer = judge(status, &p);
	own_probe_remove(&p);
	return rc == -EPERM || rc == -EACCES ? RETURN_FORBIDDEN : answer;
}

enum return_trial return_trial(void)
{
	return return_trial_of(RETURN_TRIAL_SYSCALL);
}

static bool filters_calls(int os_pid)
{
	static const char name[] = "\nSeccomp:\t";
	char *text = proc_read_file(STATUS_MAX_SIZE, NULL, "/proc/%d/status", os_pid);
	const char *line = text ? strstr(text, name) : NULL;
	bool filters = line && line[sizeof(name) - 1] != '0';

	free(text);
	return filters;
}

int return_trial_check(int os_pid, struct error *err)
{
	enum return_trial answer = filters_calls(os_pid) ? return_trial() : RETURN_PASSES;

	if (answer == RETURN_PASSES || answer == RETURN_FORBIDDEN)
		return 0;
	if (answer == RETURN_KILLS)
		return error_set(err, ERROR_KIND_KERNEL, -ENOTSUP,
				 "pid %d filters its system calls (seccomp), and on this kernel a "
				 "return probe would end it (repaired in Linux 6.12.14 and 6.14). "
				 "--force places it nevertheless",
				 os_pid);
	return error_set(err, ERROR_KIND_KERNEL, -ENOTSUP,
			 "pid %d filters its system calls (seccomp), and whether a return probe "
			 "ends it on this kernel could not be tried. --force places it "
			 "nevertheless",
			 os_pid);
}
