/* SPDX-License-Identifier: BSD-2-Clause */
/* See session.h. */
#include "probe/session/session_internal.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/compiler.h"
#include "base/units.h"
#include "probe/limit/controller_changes.h"
#include "probe/attach/page_cache.h"
#include "probe/kernel/kernel_btf.h"
#include "probe/kernel/perf.h"
#include "probe/session/btf_file.h"
#include "probe/session/programs.h"
#include "probe/session/refusal.h"
#include "probe/kernel/return_trial.h"
#include "probe/session/thread_map.h"
#include "target/privilege.h"
#include "target/proc.h"

/* How often threads that ended are removed from maps. */
#define CLEAN_NS 10000000000ull

/* Stores in a map what the USDT programs look up by the cookie of their site. */
static int install_usdt(struct session *s, struct error *err)
{
	const struct source_plan *plan = s->config.events;

	for (uint32_t i = 0; plan && i < plan->nr_usdt; i++) {
		if (bpf_map_update_elem(bpf_map__fd(s->skel->maps.usdt_points), &i, &plan->usdt[i],
					BPF_ANY))
			return programs_error(-errno, err);
	}
	return 0;
}

static bool is_multi(const struct session *s)
{
	return s->config.attach_way == ATTACH_MULTI;
}

/* Selects the programs that this run needs. */
static int choose_programs(struct session *s, struct error *err)
{
	if (s->config.off_cpu && !kernel_btf_is_own())
		return error_set(err, ERROR_KIND_KERNEL, -ENOENT, KERNEL_LACKS_OWN_BTF);
	bpf_program__set_autoload(s->skel->progs.code_changed, s->config.jit_descriptor != 0);
	uprobe_prepare(s->skel->progs.code_changed, is_multi(s));
	bpf_program__set_autoload(s->skel->progs.sample_cpu,
				  s->config.freq && (!s->config.off_cpu || s->config.futexes));
	bpf_program__set_autoload(s->skel->progs.off_switch, s->config.off_cpu);
	bpf_program__set_autoload(s->skel->progs.off_waking, s->config.off_cpu);
	bpf_program__set_autoload(s->skel->progs.off_finish, s->config.off_cpu);
	bpf_program__set_autoload(s->skel->progs.call_breakpoint, s->config.calls);
	if (!s->config.events && !s->config.calls)
		return 0;
	attach_open(&s->attach, s->config.events, s->config.os_pid, s->config.exe,
		    s->config.attach_way);
	attach_prove(s->attach, s->config.mem, s->config.elf, s->config.bias);
	if (s->config.calls) {
		attach_prepare(s->attach, s->skel->progs.call_function);
		attach_prepare(s->attach, s->skel->progs.call_function_return);
	}
	return attach_choose(s->attach, s->skel->obj, err);
}

#define RUN_NS 1000 /* ns: assumed until one run of a program was measured */

/* Opens the overhead controller.  If that fails there is no limit on overhead, and
 * session_event_cost() reports why. */
static void open_controller(struct session *s)
{
	const struct controller_config config = {
		.attach = s->attach,
		.cost = &s->cost,
		.os_pid = s->config.os_pid,
		/* Copying terms takes as long as walking stacks. */
		.long_runs = s->config.event_stacks || s->config.calls,
		.long_windows = s->config.libc_frees,
		.no_realtime = s->config.no_realtime,
	};

	calibrator_open(&s->calibrator);
	if (calibrator_measure(s->calibrator, !attach_is_perf(s->attach), &s->cost, &s->no_budget))
		return;
	if (!attach_counts(s->attach))
		error_set(&s->no_budget, ERROR_KIND_PRIVILEGE, -EPERM,
			  "how often BPF programs run is not known: on this kernel CAP_SYS_ADMIN "
			  "is needed to count that");
	else if (controller_open(&s->controller, &config, &s->no_budget) == 0)
		controller_limit(s->controller, s->config.max_overhead, s->config.rate,
				 s->cost.emulated_ns + RUN_NS);
}

static int size_maps(struct session *s, struct error *err)
{
	struct proc_thread *threads;
	ssize_t nr;

	if (!programs_need_threads(&s->config))
		return 0;
	nr = proc_threads_read(&threads, s->config.os_pid, err);
	if (nr < 0)
		return (int)nr;
	free(threads);
	return programs_size_maps(s->skel, &s->config, &s->kernel, (size_t)nr, err);
}

/* Checks a loaded program of uprobes: fails if it uses a private stack. */
static int check_stack(const struct session *s, const struct bpf_program *p, struct error *err)
{
	if (s->config.force || kernel_program_stack(bpf_program__fd(p)) != KERNEL_STACK_PRIVATE)
		return 0;
	return error_set(
		err, ERROR_KIND_KERNEL, -ENOTSUP,
		"uprobes are not safe on this kernel: '%s': " KERNEL_PRIVATE_STACK
		". Use what needs no uprobes, such as ps, dump, record and top, or --force",
		bpf_program__name(p));
}

/* Checks all programs of uprobes but code_changed, which session_watch_code() checks: the run can
 * do without that one, as new code is also found otherwise. */
static int check_stacks(const struct session *s, struct error *err)
{
	struct bpf_program *p;
	int rc;

	bpf_object__for_each_program(p, s->skel->obj)
	{
		if (bpf_program__type(p) != BPF_PROG_TYPE_KPROBE || bpf_program__fd(p) < 0 ||
		    p == s->skel->progs.code_changed)
			continue;
		rc = check_stack(s, p, err);
		if (rc)
			return rc;
	}
	return 0;
}

static int load(struct session *s, struct error *err)
{
	int rc = programs_open(&s->skel, s->config.btf, err);

	rc = rc ? rc : choose_programs(s, err);
	if (rc)
		return rc;
	if (s->attach && !s->config.own_times)
		s->config.own_times = !attach_count_runs(s->attach);
	programs_configure(s->skel, &s->config, &s->kernel);
	rc = size_maps(s, err);
	rc = rc ? rc : session_create_rings(s, err);
	if (rc)
		return rc;
	rc = ebeam_bpf__load(s->skel);
	s->refused = rc && programs_are_refused(rc);
	if (rc)
		return programs_error(rc, err);
	rc = check_stacks(s, err);
	rc = rc ? rc : session_install_rings(s, err);
	return rc ? rc : install_usdt(s, err);
}

static void loaded(struct session *s)
{
	const struct session_config *c = &s->config;

	session_sample_libc(s, c->libc_every);
	if (c->calls || c->events)
		ring_set_window(s->ring_set, c->calls	   ? SESSION_CALL_WINDOW_NS
					     : c->counting ? 0
							   : SESSION_WINDOW_NS);
	if (s->attach)
		attach_loaded(s->attach, &s->skel->bss->switches);
	if (s->attach && !s->kernel.helpers.cookies)
		attach_cookies(s->attach, bpf_map__fd(s->skel->maps.event_cookies));
	else if (s->attach && (c->counting || c->own_times))
		attach_own_work(s->attach, bpf_map__fd(s->skel->maps.event_work), c->own_times);
	if (c->events)
		open_controller(s);
}

static struct session *new_session(const struct session_config *config)
{
	struct session *s = xcalloc(1, sizeof(*s));

	s->config = *config;
	kernel_features(&s->kernel);
	if (s->config.attach_way == ATTACH_BEST)
		s->config.attach_way = attach_way();
	s->cpu_messages = -1;
	s->code_probe = UPROBE_NONE;
	s->nr_cpus = MAX(libbpf_num_possible_cpus(), 1);
	s->online = session_online_cpus(s->nr_cpus);
	return s;
}

static bool is_chosen(void *arg, const char *program)
{
	const struct session *s = arg;
	const struct bpf_program *p = bpf_object__find_program_by_name(s->skel->obj, program);

	return p && bpf_program__autoload(p);
}

/* Loads again, only for the kinds of events whose programs the kernel accepts. */
static int load_again(struct session **s, int rc, struct error *err)
{
	const struct program_choice choice = {.wants = is_chosen, .arg = *s};
	struct session_config config = (*s)->config;

	rc = refusal_drop(&config, &choice, rc, err);
	if (rc)
		return rc;
	session_close(*s);
	*s = new_session(&config);
	return load(*s, err);
}

int session_open(struct session **out, const struct session_config *config, struct error *err)
{
	struct session *s;
	int rc;

	*out = NULL;
	if (!proc_in_initial_pid_namespace())
		return error_set(err, ERROR_KIND_KERNEL, -ENOTSUP, "%s", SESSION_PID_NAMESPACE);
	rc = config->btf ? btf_file_check(config->btf, err) : 0;
	if (rc)
		return rc;
	programs_raise_limits();
	s = new_session(config);
	rc = load(s, err);
	if (rc && s->refused)
		rc = load_again(&s, rc, err);
	if (rc) {
		session_close(s);
		return rc;
	}
	loaded(s);
	*out = s;
	return 0;
}

int session_watch_code(struct session *s, uint64_t exe_offset, struct error *err)
{
	const struct multi_points points = {.path = s->config.exe, .offsets = &exe_offset, .nr = 1};
	int rc = check_stack(s, s->skel->progs.code_changed, err);

	if (rc)
		return rc;
	page_cache_read(s->config.exe, exe_offset);
	rc = uprobe_attach(&s->code_probe, s->skel->progs.code_changed, is_multi(s),
			   s->config.os_pid, &points);
	return rc ? uprobe_error(rc, s->config.exe, err)
		  : uprobe_prove(s->config.mem, s->config.elf, s->config.bias, exe_offset, err);
}

void session_set_code(struct session *s, const struct session_code *code)
{
	const struct address_range *ranges = code->mappings;
	unsigned int nr = code->nr_mappings;
	struct probe_state *state = &s->skel->bss->state;
	struct address_range hull = {0, 0};

	for (unsigned int i = 0; i < nr; i++) {
		if (i == 0 || ranges[i].start < hull.start)
			hull.start = ranges[i].start;
		if (ranges[i].end > hull.end)
			hull.end = ranges[i].end;
		if (i < EBEAM_JIT_RANGES)
			state->jit[i] = ranges[i];
	}
	/* The rest is merged: the last range reaches to the end of all. */
	if (nr > EBEAM_JIT_RANGES)
		state->jit[EBEAM_JIT_RANGES - 1].end = hull.end;
	state->nr_jit = MIN(nr, EBEAM_JIT_RANGES);
	state->fragments = code->fragments;
	state->normal_exit = code->normal_exit;
	state->thread_data = code->thread_data;
	state->jit_hull = hull;
}

int session_add_thread(struct session *s, uint64_t thread_pointer, const struct thread_info *info,
		       struct error *err)
{
	int rc = bpf_map_update_elem(bpf_map__fd(s->skel->maps.threads), &thread_pointer, info,
				     BPF_ANY);

	s->skel->bss->state.threads_known = 1;
	if (info->type == THREAD_NORMAL && s->config.layout->sched_reductions >= 0 &&
	    s->work.nr < METER_MAX_COUNTERS)
		s->work.addrs[s->work.nr++] =
			info->esdp + (uint64_t)s->config.layout->sched_reductions;
	return rc ? error_set(err, ERROR_KIND_FAILED, -errno,
			      "cannot add a scheduler to the BPF map of threads: %s",
			      error_text(errno))
		  : 0;
}

bool session_call_programs(struct session *s, struct call_programs *out)
{
	if (!s->config.calls)
		return false;
	*out = (struct call_programs){
		.breakpoint = bpf_program__fd(s->skel->progs.call_breakpoint),
		.points = bpf_map__fd(s->skel->maps.call_points),
		.filters = bpf_map__fd(s->skel->maps.call_filters),
		.site_hits = bpf_map__fd(s->skel->maps.call_site_hits),
	};
	return true;
}

int session_add_calls(struct session *s, const struct session_calls *calls, struct error *err)
{
	bool returns = false;
	int rc;

	for (unsigned int i = 0; i < calls->nr; i++)
		returns |= calls->points[i].at_return;
	rc = returns && !s->config.force ? return_trial_check(s->config.os_pid, err) : 0;
	rc = rc ? rc : attach_add(s->attach, s->skel->obj, calls->points, calls->nr, err);
	if (rc)
		return rc;
	if (!s->config.events)
		open_controller(s);
	if (s->controller)
		controller_limit(s->controller, calls->max_overhead, calls->rate,
				 s->cost.emulated_ns + RUN_NS);
	return 0;
}

void session_sample_libc(struct session *s, uint32_t every)
{
	s->skel->bss->state.libc_every = every;
}

void session_libc_forget(struct session *s, uint64_t address)
{
	bpf_map__delete_elem(s->skel->maps.libc_blocks, &address, sizeof(address), 0);
}

uint64_t session_released(const struct session *s)
{
	return ring_set_released(s->ring_set);
}

void session_hold(struct session *s, uint64_t until_ns)
{
	ring_set_hold(s->ring_set, until_ns);
}

void session_peek(struct session *s, void (*peek)(void *ctx, const struct rec_header *rec),
		  void *ctx)
{
	ring_set_peek(s->ring_set, peek, ctx);
}

static int event_error(int rc, unsigned int freq, struct error *err)
{
	if (programs_locked_down())
		return programs_error(rc, err);
	if (rc == -EPERM || rc == -EACCES)
		return error_set(err, ERROR_KIND_PRIVILEGE, rc,
				 "cannot open perf events: %s. %s (see ebeam doctor)",
				 error_text(rc), privilege_fix(PRIVILEGE_PERF));
	if (rc == -EINVAL)
		return error_set(err, ERROR_KIND_FAILED, rc,
				 "the kernel refuses to sample at %u Hz: raise "
				 "kernel.perf_event_max_sample_rate or lower --freq",
				 freq);
	if (programs_needs_files(rc))
		return programs_files_error(rc, err);
	return error_set(err, ERROR_KIND_KERNEL, rc, "cannot open the CPU clock event: %s",
			 error_text(rc));
}

static int off_cpu_error(int rc, struct error *err)
{
	if (rc == -EPERM || rc == -EACCES)
		return error_set(err, ERROR_KIND_PRIVILEGE, rc,
				 "cannot attach to tracepoints: %s. %s (see ebeam doctor)",
				 error_text(rc), privilege_fix(PRIVILEGE_PERF));
	return error_set(
		err, ERROR_KIND_KERNEL, rc,
		"cannot attach to the tracepoints sched_switch and sched_waking: %s. Times "
		"off CPUs need a kernel built with CONFIG_TRACEPOINTS=y",
		error_text(rc));
}

static bool next_coverage(void *ctx, uint64_t until_ns, struct rec_raw_coverage *out)
{
	struct controller_change change;

	if (!controller_next(ctx, until_ns, &change))
		return false;
	*out = (struct rec_raw_coverage){
		.h = {.type = REC_RAW_COVERAGE, .size = sizeof(*out), .ts_ns = change.ts_ns},
		.kinds = change.kinds,
		.state = change.state,
		.share_ppm = change.share_ppm,
		.work = change.work,
		.missed = change.missed,
	};
	return true;
}

/* The calibrated cost of a return includes the trap at the entry.  Half of that cost is between the
 * time stamps of the two programs, more on a node whose caches are busy, but never more than all
 * of it. */
static void set_pair_cost(struct session *s)
{
	struct controller_cost cost = {0};

	if (s->controller)
		controller_cost(s->controller, &cost);
	s->skel->bss->state.pair_ns =
		(uint64_t)(s->cost.return_ns / 2.0 * MIN(MAX(cost.factor, 1.0), 2.0));
}

static int start_events(struct session *s, struct error *err)
{
	int rc = 0;

	if (!attach_nr_groups(s->attach))
		return 0;
	set_pair_cost(s);
	if (s->controller) {
		ring_set_feed(s->ring_set, next_coverage, s->controller);
		rc = controller_start(s->controller, &s->work, err);
	}
	for (unsigned int i = 0; rc == 0 && !s->controller && i < attach_nr_groups(s->attach); i++)
		rc = attach_on(s->attach, i, err);
	if (rc)
		return programs_needs_files(rc) ? programs_files_error(rc, err) : rc;
	return 0;
}

void session_update(struct session *s)
{
	uint64_t now = clock_monotonic_ns();

	session_follow_cpus(s);
	set_pair_cost(s);
	if ((!s->config.events && !s->config.calls) || now - s->cleaned_ns < CLEAN_NS)
		return;
	s->cleaned_ns = now;
	thread_map_clean(bpf_map__fd(s->skel->maps.event_threads), s->config.os_pid);
	thread_map_clean(bpf_map__fd(s->skel->maps.event_scratches), s->config.os_pid);
	if (s->config.calls)
		thread_map_clean(bpf_map__fd(s->skel->maps.call_threads), s->config.os_pid);
}

int session_start(struct session *s, struct error *err)
{
	int rc = session_sample_cpus(s);

	if (rc)
		return event_error(rc, s->config.freq, err);
	rc = s->config.off_cpu ? session_watch_off_cpu(s) : 0;
	if (rc)
		return off_cpu_error(rc, err);
	return s->attach ? start_events(s, err) : 0;
}

void session_stop(struct session *s)
{
	controller_stop(s->controller);
	for (unsigned int i = 0; s->attach && i < attach_nr_groups(s->attach); i++)
		attach_off(s->attach, i);
	session_leave_cpus(s);
	session_leave_off_cpu(s);
	uprobe_remove(&s->code_probe);
	if (s->attach)
		attach_wait(s->attach);
	if (s->attach && s->skel)
		s->nr_alias_truncated =
			thread_map_nonzero(bpf_map__fd(s->skel->maps.event_threads),
					   bpf_map__value_size(s->skel->maps.event_threads));
	if (s->ring_set)
		ring_set_finish(s->ring_set);
}

void session_close(struct session *s)
{
	if (!s)
		return;
	session_stop(s);
	controller_close(s->controller);
	attach_close(s->attach);
	calibrator_close(s->calibrator);
	ring_set_close(s->ring_set);
	for (size_t i = 0; i < s->rings.len; i++)
		close(s->rings.data[i]);
	vec_free(&s->rings);
	vec_free(&s->cpus);
	free(s->online);
	ebeam_bpf__destroy(s->skel);
	free(s);
}

struct source *session_source(struct session *s)
{
	return ring_set_source(s->ring_set);
}
