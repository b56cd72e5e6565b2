/* SPDX-License-Identifier: BSD-2-Clause */
/* See wait_kind.h. */
#include "beam/resolve/wait_kind.h"

#include <stddef.h>
#include <string.h>

#include "abi/vm.h"
#include "base/compiler.h"

/* Kernel functions that tell what is waited for, by the beginning of their names; the row that
 * comes first decides, wherever its function is in the stack. */
static const struct {
	const char *prefix;
	enum sample_kind kind;
} by_kernel[] = {
	{"do_signal_stop", SAMPLE_OFF_STOPPED},
	{"ptrace_stop", SAMPLE_OFF_STOPPED},
	{"ep_poll", SAMPLE_OFF_POLL},
	{"do_sys_poll", SAMPLE_OFF_POLL},
	{"do_select", SAMPLE_OFF_POLL},
	{"hrtimer_nanosleep", SAMPLE_OFF_SLEEP},
	{"do_nanosleep", SAMPLE_OFF_SLEEP},
	{"pipe_", SAMPLE_OFF_PIPE},
	{"anon_pipe_", SAMPLE_OFF_PIPE},
	{"fifo_open", SAMPLE_OFF_PIPE},
	{"sock_", SAMPLE_OFF_NETWORK},
	{"__sys_connect", SAMPLE_OFF_NETWORK},
	{"__sys_accept", SAMPLE_OFF_NETWORK},
	{"__sys_sendto", SAMPLE_OFF_NETWORK},
	{"__sys_recvfrom", SAMPLE_OFF_NETWORK},
	{"inet_", SAMPLE_OFF_NETWORK},
	{"tcp_", SAMPLE_OFF_NETWORK},
	{"unix_", SAMPLE_OFF_NETWORK},
	{"futex_wait", SAMPLE_OFF_FUTEX},
	{"do_futex", SAMPLE_OFF_FUTEX},
	{"do_user_addr_fault", SAMPLE_OFF_FAULT},
	{"exc_page_fault", SAMPLE_OFF_FAULT},
	{"do_page_fault", SAMPLE_OFF_FAULT},
	{"vfs_", SAMPLE_OFF_FILE},
	{"ksys_", SAMPLE_OFF_FILE},
	{"do_fsync", SAMPLE_OFF_FILE},
	{"do_filp_open", SAMPLE_OFF_FILE},
	{"filename_", SAMPLE_OFF_FILE},
	{"do_unlinkat", SAMPLE_OFF_FILE},
	{"do_renameat", SAMPLE_OFF_FILE},
	{"do_mkdirat", SAMPLE_OFF_FILE},
	{"iterate_dir", SAMPLE_OFF_FILE},
	{"io_schedule", SAMPLE_OFF_FILE},
	{"vm_mmap_pgoff", SAMPLE_OFF_MEMORY},
	{"__vm_munmap", SAMPLE_OFF_MEMORY},
	{"do_madvise", SAMPLE_OFF_MEMORY},
	{"do_mprotect", SAMPLE_OFF_MEMORY},
};

/* Without kernel frames, as of a time that was not copied: system calls that tell alone (numbers of
 * arch/x86/entry/syscalls/syscall_64.tbl, + 1); 0 = the thread was not in one. */
static const struct {
	uint32_t syscall;
	enum sample_kind kind;
} by_syscall[] = {
	{0, SAMPLE_OFF_FAULT},	      {1 + 202, SAMPLE_OFF_FUTEX},
	{1 + 35, SAMPLE_OFF_SLEEP},   /* nanosleep */
	{1 + 230, SAMPLE_OFF_SLEEP},  /* clock_nanosleep */
	{1 + 7, SAMPLE_OFF_POLL},     /* poll */
	{1 + 23, SAMPLE_OFF_POLL},    /* select */
	{1 + 271, SAMPLE_OFF_POLL},   /* ppoll */
	{1 + 232, SAMPLE_OFF_POLL},   /* epoll_wait */
	{1 + 281, SAMPLE_OFF_POLL},   /* epoll_pwait */
	{1 + 17, SAMPLE_OFF_FILE},    /* pread64 */
	{1 + 18, SAMPLE_OFF_FILE},    /* pwrite64 */
	{1 + 74, SAMPLE_OFF_FILE},    /* fsync */
	{1 + 75, SAMPLE_OFF_FILE},    /* fdatasync */
	{1 + 42, SAMPLE_OFF_NETWORK}, /* connect */
	{1 + 43, SAMPLE_OFF_NETWORK}, /* accept */
	{1 + 9, SAMPLE_OFF_MEMORY},   /* mmap */
	{1 + 11, SAMPLE_OFF_MEMORY},  /* munmap */
	{1 + 28, SAMPLE_OFF_MEMORY},  /* madvise */
};

/* Functions of the VM that wait for other threads, not for a lock. */
static const char *const progress[] = {"erts_thr_progress_block", "erts_start_schedulers",
				       "erts_block_multi_scheduling"};

static bool begins(const char *text, const char *prefix)
{
	return strncmp(text, prefix, strlen(prefix)) == 0;
}

static enum sample_kind kind_by_kernel(const struct kind_evidence *e)
{
	for (size_t i = 0; i < ARRAY_SIZE(by_kernel); i++)
		for (unsigned int k = 0; k < e->nr_kernel; k++)
			if (begins(e->kernel[k], by_kernel[i].prefix))
				return by_kernel[i].kind;
	for (size_t i = 0; !e->nr_kernel && i < ARRAY_SIZE(by_syscall); i++)
		if (e->raw->syscall == by_syscall[i].syscall)
			return by_syscall[i].kind;
	return SAMPLE_OFF_OTHER;
}

static enum sample_kind kind_of_lock(const struct kind_evidence *e)
{
	if (e->native.process_lock)
		return SAMPLE_OFF_LOCK_PROCESS;
	switch (e->native.outermost) {
	case SAMPLE_ETS:
		return SAMPLE_OFF_LOCK_ETS;
	case SAMPLE_PORT:
		return SAMPLE_OFF_LOCK_PORT;
	case SAMPLE_ALLOC:
		return SAMPLE_OFF_LOCK_ALLOC;
	default:
		break;
	}
	return e->bif_module && strcmp(e->bif_module, "ets") == 0 ? SAMPLE_OFF_LOCK_ETS
								  : SAMPLE_OFF_LOCK;
}

enum sample_kind kind_of_wait(const struct kind_evidence *e)
{
	enum sample_kind kind = kind_by_kernel(e);

	if (kind == SAMPLE_OFF_FUTEX && e->native.lock)
		return kind_of_lock(e);
	for (size_t i = 0; e->entry && i < ARRAY_SIZE(progress); i++)
		if (begins(e->entry, progress[i]))
			return SAMPLE_OFF_PROGRESS;
	/* It spins, or goes to sleep. */
	if (!e->raw->epid && !e->raw->port_id && e->raw->sleep_flags & SSI_FLG_WAITING)
		return SAMPLE_WAIT;
	if (e->raw->epid || e->raw->port_id)
		return kind;
	/* What has no process waits for work in these; files and page faults hold it up. */
	return kind == SAMPLE_OFF_FUTEX || kind == SAMPLE_OFF_POLL || kind == SAMPLE_OFF_PIPE ||
			       kind == SAMPLE_OFF_NETWORK
		       ? SAMPLE_WAIT
		       : kind;
}
