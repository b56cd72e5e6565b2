/* SPDX-License-Identifier: BSD-2-Clause */
/* What a thread off its CPU waited for: by locks, by functions of the kernel, by system calls. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "abi/vm.h"
#include "base/compiler.h"
#include "beam/resolve/wait_kind.h"

#define PROCESS	    0x100000000003ull
#define PORT	    0x87ull
#define CALL(nr)    (1 + (nr))
#define FUTEX	    CALL(202)
#define EPOLL_WAIT  CALL(232)
#define LOCK_KERNEL "schedule", "futex_wait_queue", "futex_wait", "do_futex"

static const struct row {
	const char *what;
	enum sample_kind kind;
	uint64_t epid, port;
	uint32_t sleep_flags, syscall;
	struct native_kinds native;
	const char *bif_module, *entry;
	const char *kernel[6];
} rows[] = {
	{"file", SAMPLE_OFF_FILE, PROCESS, .kernel = {"schedule", "io_schedule", "vfs_read"}},
	{"a pipe is no file", SAMPLE_OFF_PIPE, PROCESS,
	 .kernel = {"schedule", "pipe_read", "vfs_read", "ksys_read"}},
	{"a socket is no file", SAMPLE_OFF_NETWORK, PROCESS,
	 .kernel = {"schedule_timeout", "unix_stream_read_generic", "sock_read_iter", "vfs_read"}},
	{"a fault while a file is read is the file's", SAMPLE_OFF_FAULT, PROCESS,
	 .kernel = {"schedule", "io_schedule", "filemap_fault", "do_user_addr_fault"}},
	{"stopped in a futex", SAMPLE_OFF_STOPPED, PROCESS,
	 .kernel = {"schedule", "do_signal_stop", "do_futex"}},
	{"sleep", SAMPLE_OFF_SLEEP, PROCESS, .kernel = {"schedule", "do_nanosleep"}},
	{"kernel function that no rule has", SAMPLE_OFF_OTHER, PROCESS,
	 .kernel = {"schedule", "x64_sys_something"}},
	{"condition of a NIF", SAMPLE_OFF_FUTEX, PROCESS, .kernel = {LOCK_KERNEL}},
	/* locks */
	{"lock of a process", SAMPLE_OFF_LOCK_PROCESS, PROCESS, .kernel = {LOCK_KERNEL},
	 .native = {.outermost = SAMPLE_ETS, .lock = true, .process_lock = true}},
	{"lock of a table", SAMPLE_OFF_LOCK_ETS, PROCESS, .kernel = {LOCK_KERNEL},
	 .native = {.outermost = SAMPLE_ETS, .lock = true}},
	{"lock in a BIF of ets, without symbols", SAMPLE_OFF_LOCK_ETS, PROCESS,
	 .kernel = {LOCK_KERNEL}, .bif_module = "ets",
	 .native = {.outermost = NR_SAMPLE_KINDS, .lock = true}},
	{"lock of a port", SAMPLE_OFF_LOCK_PORT, .port = PORT, .kernel = {LOCK_KERNEL},
	 .native = {.outermost = SAMPLE_PORT, .lock = true}},
	{"lock of an allocator", SAMPLE_OFF_LOCK_ALLOC, PROCESS, .kernel = {LOCK_KERNEL},
	 .native = {.outermost = SAMPLE_ALLOC, .lock = true}},
	{"any other lock", SAMPLE_OFF_LOCK, PROCESS, .kernel = {LOCK_KERNEL}, .bif_module = "code",
	 .native = {.outermost = SAMPLE_BIF, .lock = true}},
	{"a lock is one only in a futex", SAMPLE_OFF_FILE, PROCESS, .kernel = {"vfs_write"},
	 .native = {.outermost = SAMPLE_ETS, .lock = true}},
	{"thread progress", SAMPLE_OFF_PROGRESS, PROCESS, .kernel = {LOCK_KERNEL},
	 .native = NATIVE_KINDS_NONE, .entry = "erts_thr_progress_block"},
	/* without a process */
	{"scheduler that sleeps", SAMPLE_WAIT, .sleep_flags = SSI_FLG_WAITING,
	 .kernel = {LOCK_KERNEL}},
	{"thread that waits for work", SAMPLE_WAIT, .kernel = {LOCK_KERNEL}},
	{"thread that polls", SAMPLE_WAIT, .kernel = {"schedule", "ep_poll"}},
	{"thread that writes a file", SAMPLE_OFF_FILE, .kernel = {"schedule", "vfs_write"}},
	{"task of a port that polls", SAMPLE_OFF_POLL, .port = PORT, .kernel = {"do_sys_poll"}},
	{"process that polls", SAMPLE_OFF_POLL, PROCESS, .kernel = {"do_sys_poll"}},
	/* without kernel frames, as of what was not copied */
	{"futex of a process", SAMPLE_OFF_FUTEX, PROCESS, .syscall = FUTEX},
	{"futex of a task of a port", SAMPLE_OFF_FUTEX, .port = PORT, .syscall = FUTEX},
	{"futex of nobody", SAMPLE_WAIT, .syscall = FUTEX},
	{"poll of nobody", SAMPLE_WAIT, .syscall = EPOLL_WAIT},
	{"fsync of nobody", SAMPLE_OFF_FILE, .syscall = CALL(74)},
	{"no system call", SAMPLE_OFF_FAULT, PROCESS},
	{"any other system call", SAMPLE_OFF_OTHER, PROCESS, .syscall = CALL(999)},
	{"kernel frames tell more than the system call", SAMPLE_OFF_NETWORK, PROCESS,
	 .syscall = CALL(17), .kernel = {"tcp_recvmsg"}},
};

static void test_rows(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		const struct row *r = &rows[i];
		const struct rec_raw_sample raw = {.epid = r->epid,
						   .port_id = r->port,
						   .sleep_flags = r->sleep_flags,
						   .syscall = r->syscall,
						   .flags = RAW_SAMPLE_OFF_CPU};
		struct kind_evidence e = {.raw = &raw,
					  .bif_module = r->bif_module,
					  .native = r->native,
					  .entry = r->entry,
					  .kernel = r->kernel};

		while (e.nr_kernel < ARRAY_SIZE(r->kernel) && r->kernel[e.nr_kernel])
			e.nr_kernel++;
		if (kind_of_wait(&e) != r->kind)
			fail_msg("%s: kind %d, not %d", r->what, kind_of_wait(&e), r->kind);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_rows)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
