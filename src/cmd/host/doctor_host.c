/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * doctor: what the host supports.  host_checks[] has the checks that read /proc and the like;
 * features that must be tried are in probe/kernel/features.h.
 */
#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/utsname.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <linux/capability.h>
#include <linux/magic.h>

#include "base/compiler.h"
#include "base/thread.h"
#include "base/units.h"
#include "cmd/command/options.h"
#include "cmd/host/doctor.h"
#include "cmd/host/kernel_faults.h"
#include "probe/breakpoint/breakpoints.h"
#include "probe/kernel/calibrate.h"
#include "probe/kernel/features.h"
#include "probe/kernel/multi.h"
#include "probe/session/programs.h"
#include "target/dwarf.h"
#include "target/kallsyms.h"
#include "target/privilege.h"
#include "target/proc.h"

#define SMALL_FILE 4096 /* bytes read of a file in /proc or /sys */

static void set(struct doctor_row *row, enum doctor_state state, int blocks, const char *why,
		const char *fix)
{
	row->blocks = blocks;
	doctor_lack(row, state, fix, "%s", why);
}

/* Sets row->seen to the first line of a small file; false if it cannot be read. */
static bool see_file(struct doctor_row *row, const char *path)
{
	char *text = proc_read_file(SMALL_FILE, NULL, "%s", path);

	if (!text)
		return false;
	doctor_see(row, "%.*s", (int)strcspn(text, "\n"), text);
	free(text);
	return true;
}

/* ---- kernel ---------------------------------------------------------------------------------- */

static void check_release(struct doctor_row *row)
{
	struct utsname u;

	if (uname(&u) != 0)
		return;
	doctor_see(row, "%s %s", u.release, u.machine);
	if (strcmp(u.machine, "x86_64") != 0)
		set(row, DOCTOR_MISSING, ERROR_KIND_KERNEL, "only x86-64 is supported", NULL);
}

static void check_lockdown(struct doctor_row *row)
{
	const char *active;

	/* The file shows all modes, the active one in brackets. */
	if (!see_file(row, "/sys/kernel/security/lockdown")) {
		doctor_see(row, "none");
		return;
	}
	active = strchr(row->seen, '[');
	if (active && strncmp(active, "[confidentiality]", 17) == 0)
		set(row, DOCTOR_MISSING, ERROR_KIND_KERNEL,
		    "the kernel refuses BPF reads and perf events to everyone",
		    "boot with lockdown=integrity or without lockdown");
}

static void check_pid_namespace(struct doctor_row *row)
{
	bool initial = proc_in_initial_pid_namespace();

	doctor_see(row, "%s", initial ? "yes" : "no");
	if (!initial)
		set(row, DOCTOR_MISSING, ERROR_KIND_KERNEL,
		    "BPF programs see the pids of the host, ebeam those of this namespace",
		    "run ebeam on the host, or in a container with --pid=host");
}

static void check_tracefs(struct doctor_row *row)
{
	static const char *const places[] = {"/sys/kernel/tracing", "/sys/kernel/debug/tracing"};
	struct statfs fs;

	doctor_see(row, "not mounted");
	for (size_t i = 0; i < ARRAY_SIZE(places); i++) {
		if (statfs(places[i], &fs) == 0 && fs.f_type == TRACEFS_MAGIC) {
			doctor_see(row, "%s", places[i]);
			return;
		}
	}
	set(row, DOCTOR_DEGRADED, 0,
	    "kernel tracepoints cannot be found; sampling does not need them",
	    "mount -t tracefs nodev /sys/kernel/tracing");
}

/* ---- privileges ------------------------------------------------------------------------------ */

static void check_capability(struct doctor_row *row, int capability, const char *why)
{
	if (!privilege_has(capability))
		set(row, DOCTOR_MISSING, ERROR_KIND_PRIVILEGE, why, privilege_fix(PRIVILEGE_BPF));
}

static void check_cap_bpf(struct doctor_row *row)
{
	check_capability(row, CAP_BPF, "BPF programs cannot be loaded");
}

static void check_cap_perfmon(struct doctor_row *row)
{
	check_capability(row, CAP_PERFMON, "BPF programs cannot read the node or sample CPUs");
}

static void check_cap_sys_ptrace(struct doctor_row *row)
{
	if (!privilege_has(CAP_SYS_PTRACE))
		set(row, DOCTOR_DEGRADED, 0, privilege_blind_spot(),
		    "run as root, or grant CAP_SYS_PTRACE");
}

static void check_cap_sys_admin(struct doctor_row *row)
{
	/* perf_uprobe_event_init() may need it; the rows of uprobes say whether it does here. */
	if (!privilege_has(CAP_SYS_ADMIN))
		doctor_see(row, "no; uprobes or perf events may need it, see below");
}

/* ---- limits ---------------------------------------------------------------------------------- */

static void check_paranoid(struct doctor_row *row)
{
	if (access("/proc/sys/kernel", X_OK) != 0)
		doctor_see(row, "/proc/sys/kernel cannot be read here");
	else if (!see_file(row, "/proc/sys/kernel/perf_event_paranoid"))
		set(row, DOCTOR_MISSING, ERROR_KIND_KERNEL, "this kernel has no perf events",
		    "use a kernel built with CONFIG_PERF_EVENTS=y");
	else if (atoi(row->seen) > 0 && !privilege_has(CAP_PERFMON))
		set(row, DOCTOR_MISSING, ERROR_KIND_PRIVILEGE,
		    "CPUs may only be sampled with CAP_PERFMON", privilege_fix(PRIVILEGE_PERF));
}

static void check_kptr_restrict(struct doctor_row *row)
{
	struct kallsyms *symbols = NULL;

	see_file(row, "/proc/sys/kernel/kptr_restrict");
	/* Checked by reading, as addresses depend on the privileges of this process. */
	if (kallsyms_open(&symbols, NULL) != 0)
		set(row, DOCTOR_DEGRADED, 0, "functions of the kernel are shown without names",
		    privilege_has(CAP_SYSLOG) ? "sysctl kernel.kptr_restrict=1"
					      : "run as root with kernel.kptr_restrict at 0 or 1, "
						"or grant CAP_SYSLOG");
	kallsyms_close(symbols);
}

static void check_sample_rate(struct doctor_row *row)
{
	if (!see_file(row, "/proc/sys/kernel/perf_event_max_sample_rate"))
		return;
	if (atoi(row->seen) < (int)OPTIONS_MAX_FREQ)
		set(row, DOCTOR_DEGRADED, 0, "--freq cannot be higher than this",
		    "sysctl kernel.perf_event_max_sample_rate=100000");
}

static void check_memlock(struct doctor_row *row)
{
	struct rlimit limit;
	bool counts = programs_count_as_locked();

	if (getrlimit(RLIMIT_MEMLOCK, &limit) != 0)
		return;
	if (limit.rlim_cur == RLIM_INFINITY)
		doctor_see(row, "unlimited");
	else
		doctor_see(row, "%" PRIu64 " KiB; BPF memory %s", (uint64_t)limit.rlim_cur / 1024,
			   counts ? "counts" : "does not count");
	if (counts && limit.rlim_max != RLIM_INFINITY && !privilege_has(CAP_SYS_RESOURCE))
		set(row, DOCTOR_DEGRADED, 0,
		    "BPF rings and maps need more: those of events take 8 MiB for each CPU",
		    "ulimit -l unlimited, or grant CAP_SYS_RESOURCE");
}

static void check_threads(struct doctor_row *row)
{
	if (!thread_can_start())
		set(row, DOCTOR_DEGRADED, 0,
		    "no thread can be started: too many are running, or memory is short; commands "
		    "that count events need one",
		    THREAD_FIX);
}

static void *try_realtime(void *arg)
{
	int *rc = arg;

	*rc = thread_come_first();
	*rc = *rc ? *rc : thread_come_at_once();
	return NULL;
}

/* Tried in a thread, as this process may not be allowed to leave SCHED_RR again. */
static void check_realtime(struct doctor_row *row)
{
	pthread_t thread;
	int rc = 0;

	if (thread_start(&thread, try_realtime, &rc)) /* else the row of threads says why */
		pthread_join(thread, NULL);
	doctor_see(
		row,
		"'ebeam sched' and 'gc' sample from a real-time thread (SCHED_RR, up to 2 %% of a "
		"core), the overhead controller runs at nice -20; --no-realtime disables both");
	if (rc == 0)
		return;
	doctor_lack(row, DOCTOR_DEGRADED, "run as root, or grant CAP_SYS_NICE",
		    "%s: while all CPUs are busy, samples and the overhead controller are late, as "
		    "with --no-realtime",
		    error_text(-rc));
}

/* ---- this program ---------------------------------------------------------------------------- */

static void check_debuginfod(struct doctor_row *row)
{
	const char *servers = getenv("DEBUGINFOD_URLS");

	row->purpose = "finds layouts of nodes for which ebeam has no table";
	if (!dwarf_may_fetch())
		set(row, DOCTOR_DEGRADED, 0,
		    "this is the static program, which cannot ask servers for debug information",
		    "install the node's debug symbols, or use an ebeam with shared libraries");
	else if (servers && *servers)
		doctor_see(row, "%s", servers);
	else
		doctor_see(row, "not asked: DEBUGINFOD_URLS is not set");
}

/* ---- all of them ----------------------------------------------------------------------------- */

static const struct {
	const char *group, *feature;
	void (*check)(struct doctor_row *row);
} host_checks[] = {
	{"kernel", "release", check_release},
	{"kernel", "lockdown", check_lockdown},
	{"kernel", "initial PID namespace", check_pid_namespace},
	{"kernel", "tracefs", check_tracefs},
	{"privileges", "CAP_BPF", check_cap_bpf},
	{"privileges", "CAP_PERFMON", check_cap_perfmon},
	{"privileges", "CAP_SYS_PTRACE", check_cap_sys_ptrace},
	{"privileges", "CAP_SYS_ADMIN", check_cap_sys_admin},
	{"limits", "kernel.perf_event_paranoid", check_paranoid},
	{"limits", "kernel.kptr_restrict", check_kptr_restrict},
	{"limits", "kernel.perf_event_max_sample_rate", check_sample_rate},
	{"limits", "locked memory", check_memlock},
	{"limits", "threads", check_threads},
	{"limits", "real-time threads", check_realtime},
	{"program", "debuginfod", check_debuginfod},
};

const char *doctor_error_fix(const struct error *err)
{
	const char *limit = error_limit_fix(err->code);

	return err->kind == ERROR_KIND_PRIVILEGE ? privilege_fix(PRIVILEGE_PERF)
	       : limit				 ? limit
						 : privilege_filter_fix(err->code);
}

const char *doctor_feature_fix(const struct probe_feature *f)
{
	bool forbidden = f->err == -EPERM || f->err == -EACCES;

	if (programs_needs_files(f->err))
		return error_limit_fix(EMFILE);
	if (error_limit_fix(f->err))
		return error_limit_fix(f->err);
	if (privilege_filter_fix(f->err))
		return privilege_filter_fix(f->err);
	return !forbidden		 ? f->fix
	       : f->use == PRIVILEGE_BPF ? programs_fix()
					 : privilege_fix(f->use);
}

static void add_feature(struct doctor_rows *rows, const struct probe_feature *f)
{
	struct doctor_row *row = doctor_add(rows, "kernel features", f->name);
	bool forbidden = f->err == -EPERM || f->err == -EACCES;

	row->purpose = f->purpose;
	if (f->ok)
		return;
	doctor_lack(row, f->required ? DOCTOR_MISSING : DOCTOR_DEGRADED, doctor_feature_fix(f),
		    "%s", error_text(f->err));
	if (f->needs_btf)
		doctor_lack(row, row->state, NULL, "cannot be tried without kernel BTF, see above");
	if (f->required)
		row->blocks = forbidden ? ERROR_KIND_PRIVILEGE
			      : programs_needs_files(f->err) || error_limit_fix(f->err)
				      ? ERROR_KIND_FAILED
				      : ERROR_KIND_KERNEL;
}

static void add_uprobe_cost(struct doctor_rows *rows)
{
	struct doctor_row *row = doctor_add(rows, "kernel features", "cost of a uprobe");
	struct calibrator *calibrator;
	struct calibration cost;
	struct error err;

	calibrator_open(&calibrator);
	if (calibrator_measure(calibrator, multi_available(), &cost, &err) == 0) {
		doctor_see(
			row,
			"%u ns per hit where the kernel emulates the instruction, %u ns where it "
			"single-steps, %u ns for a return",
			cost.emulated_ns, cost.stepped_ns, cost.return_ns);
	} else {
		row->purpose = "keeps the overhead of probes within a limit";
		doctor_lack(row, DOCTOR_DEGRADED, error_limit_fix(err.code), "%s", err.msg);
	}
	calibrator_close(calibrator);
}

static void add_breakpoints(struct doctor_rows *rows, struct doctor_host *host)
{
	struct doctor_row *row = doctor_add(rows, "kernel features", "hardware breakpoints");
	struct error err = {0};
	unsigned int nr = breakpoints_free(0, &err), hit_ns = 0;
	int rc = 0;

	row->purpose = "trace sees calls of Erlang functions";
	if (nr)
		rc = breakpoints_calibrate(&hit_ns, &err);
	if (rc == 0 && nr)
		doctor_see(row, "%u of %d debug registers, %u ns per hit", nr, EBEAM_BREAKPOINTS,
			   hit_ns);
	if (rc == 0 && nr == EBEAM_BREAKPOINTS)
		return;
	if (rc || !nr)
		host->no_breakpoints = err;
	doctor_lack(row, nr && rc == 0 ? DOCTOR_DEGRADED : DOCTOR_MISSING, doctor_error_fix(&err),
		    "%s", err.msg);
	if (!row->fix)
		row->fix = nr && rc == 0 ? "end the programs that use them (gdb, perf)"
					 : "trace BIFs and NIFs, or record";
}

static void add_fault(struct doctor_rows *rows, const struct kernel_fault *k)
{
	enum fault_state state = k->find ? k->find() : FAULT_ABSENT;
	struct doctor_row *row;

	if (state == FAULT_ABSENT)
		return;
	row = doctor_add(rows, "kernel faults", k->name);
	if (state == FAULT_AVOIDED) {
		doctor_see(row, "this kernel has it; ebeam avoids it");
		return;
	}
	doctor_see(row, "%s",
		   k->seen		     ? k->seen
		   : state == FAULT_POSSIBLE ? "this kernel may have it, by its version"
					     : "this kernel has it");
	doctor_lack(row, DOCTOR_DEGRADED, k->fix, "%s %s", k->what, k->ebeam);
}

static void add_faults(struct doctor_rows *rows, bool programs)
{
	for (const struct kernel_fault *k = kernel_faults; k->name; k++)
		if (programs || !k->by_program)
			add_fault(rows, k);
	if (programs)
		return;
	doctor_lack(doctor_add(rows, "kernel faults", "faults that only a BPF program can find"),
		    DOCTOR_DEGRADED, NULL,
		    "not tried, as no BPF program can be loaded (see BPF ring buffer)");
}

void doctor_check_host(struct doctor_rows *rows, struct doctor_host *host,
		       const struct options *opt)
{
	for (size_t i = 0; i < ARRAY_SIZE(host_checks); i++)
		host_checks[i].check(
			doctor_add(rows, host_checks[i].group, host_checks[i].feature));
	programs_raise_limits(); /* as commands do */
	probe_features(&host->features, opt->btf);
	for (int i = 0; i < NR_PROBE_FEATURES; i++)
		add_feature(rows, &host->features.feature[i]);
	if (host->features.feature[PROBE_FEATURE_UPROBE].ok)
		add_uprobe_cost(rows);
	add_breakpoints(rows, host);
	add_faults(rows, host->features.feature[PROBE_FEATURE_BPF].ok);
}
