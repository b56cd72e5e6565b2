/* SPDX-License-Identifier: BSD-2-Clause */
/* See breakpoints.h: which breakpoints this machine has, and what they cost here. */
#include <errno.h>
#include <inttypes.h>
#include <linux/hw_breakpoint.h>
#include <linux/perf_event.h>
#include <stdint.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/compiler.h"
#include "base/units.h"
#include "probe/breakpoint/breakpoints_internal.h"
#include "probe/kernel/perf.h"
#include "target/privilege.h"

struct perf_event_attr breakpoints_attr(uint64_t addr)
{
	return (struct perf_event_attr){
		.size = sizeof(struct perf_event_attr),
		.type = PERF_TYPE_BREAKPOINT,
		.bp_type = HW_BREAKPOINT_X,
		.bp_addr = addr,
		.bp_len = sizeof(long),
		.sample_period = 1,
		.exclude_kernel = 1,
		.exclude_hv = 1,
		.disabled = 1,
		.read_format = PERF_FORMAT_TOTAL_TIME_ENABLED,
	};
}

int breakpoints_refuse(int rc, struct error *err)
{
	switch (rc) {
	case -ENOSPC:
		return error_set(
			err, ERROR_KIND_KERNEL, rc,
			"no free debug register: x86 has %d, and a debugger or another "
			"tool (gdb, perf, another ebeam trace) uses some on this node. Stop "
			"that, or trace fewer functions",
			EBEAM_BREAKPOINTS);
	case -EPERM:
	case -EACCES:
		return error_set(err, ERROR_KIND_PRIVILEGE, rc,
				 "cannot set breakpoints: %s. %s (see ebeam doctor)",
				 error_text(rc), privilege_fix(PRIVILEGE_PERF));
	case -EMFILE:
	case -ENFILE:
		return error_set(err, ERROR_KIND_FAILED, rc,
				 "too many open files: each breakpoint takes one for each thread "
				 "that runs Erlang code; raise the limit (ulimit -n)");
	default:
		return error_set(err, ERROR_KIND_KERNEL, rc,
				 "cannot set breakpoints on this machine: %s. Some hypervisors "
				 "give their guests no debug registers (see ebeam doctor)",
				 error_text(rc));
	}
}

/* ---- what a hit costs ---------------------------------------------------------------------- */

#define CALIBRATE_HITS 100

__attribute__((noinline)) static void breakpoints_target(void)
{
	__asm__ volatile("nop");
}

int breakpoints_calibrate(unsigned int *hit_ns, struct error *err)
{
	struct perf_event_attr attr = breakpoints_attr((uint64_t)(uintptr_t)breakpoints_target);
	uint64_t got[2] = {0}, ns;
	int fd = perf_open(&attr, 0, -1);

	if (fd < 0)
		return breakpoints_refuse(fd, err);
	ioctl(fd, PERF_EVENT_IOC_ENABLE, 0);
	ns = clock_thread_ns();
	for (unsigned int i = 0; i < CALIBRATE_HITS; i++)
		breakpoints_target();
	ns = clock_thread_ns() - ns;
	if (read(fd, got, sizeof(got)) != sizeof(got))
		got[0] = 0;
	close(fd);
	if (got[0] < CALIBRATE_HITS)
		return error_set(err, ERROR_KIND_KERNEL, -ENOTSUP,
				 "breakpoints are set but not hit (%" PRIu64 " of %d): the "
				 "hypervisor of this machine does not support debug registers",
				 got[0], CALIBRATE_HITS);
	*hit_ns = (unsigned int)(ns / CALIBRATE_HITS);
	return 0;
}

/* ---- free debug registers, and open files -------------------------------------------------- */

unsigned int breakpoints_free(int os_tid, struct error *err)
{
	unsigned int nr = 0;
	int fds[EBEAM_BREAKPOINTS], rc = 0;

	while (nr < EBEAM_BREAKPOINTS) {
		/* The event is disabled, so that it is never hit: it takes a register all the
		 * same. */
		struct perf_event_attr attr =
			breakpoints_attr((uint64_t)(uintptr_t)breakpoints_target + nr);

		rc = perf_open(&attr, os_tid, -1);
		if (rc < 0)
			break;
		fds[nr++] = rc;
	}
	for (unsigned int i = 0; i < nr; i++)
		close(fds[i]);
	if (rc < 0)
		breakpoints_refuse(rc, err);
	return nr;
}

/* Open files that are not of breakpoints: maps, programs and rings of the session, and others. */
#define OTHER_FILES 512u

unsigned int breakpoints_files(unsigned int threads)
{
	return threads * EBEAM_BREAKPOINTS + OTHER_FILES;
}

void breakpoints_raise_files(unsigned int threads)
{
	struct rlimit files;

	if (getrlimit(RLIMIT_NOFILE, &files) || files.rlim_cur >= breakpoints_files(threads))
		return;
	files.rlim_cur = breakpoints_files(threads);
	files.rlim_max = MAX(files.rlim_max, files.rlim_cur);
	/* Only root can raise the hard limit; up to that anybody may. */
	if (setrlimit(RLIMIT_NOFILE, &files) == 0 || getrlimit(RLIMIT_NOFILE, &files))
		return;
	files.rlim_cur = files.rlim_max;
	setrlimit(RLIMIT_NOFILE, &files);
}
