/* SPDX-License-Identifier: BSD-2-Clause */
/* See session.h. */
#include "probe/session_internal.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "base/compiler.h"
#include "base/log.h"
#include "base/strbuf.h"
#include "base/units.h"
#include "probe/keeper_changes.h"
#include "probe/perf.h"
#include "probe/thread_map.h"
#include "target/proc.h"

#define PRIVILEGE_FIX                                                                              \
	"Run as root, or grant CAP_BPF, CAP_PERFMON, CAP_SYS_PTRACE (see ebeam doctor)"

/* Threads that ended are forgotten so often. */
#define CLEAN_NS 10000000000ull

static int libbpf_log(enum libbpf_print_level level, const char *fmt, va_list ap)
{
	struct strbuf text = STRBUF_INIT;

	UNUSED(level);
	/* The lines have their ends. */
	if (log_level() < LOG_LEVEL_DEBUG)
		return 0;
	strbuf_vaddf(&text, fmt, ap);
	while (text.len && text.buf[text.len - 1] == '\n')
		text.buf[--text.len] = '\0';
	log_debug("%s", text.buf);
	strbuf_free(&text);
	return 0;
}

/* Of events: 300,000 a second of one CPU, for 150 ms. */
#define EVENT_RING_SIZE	 (8u << 20)
#define EVENT_RINGS_SIZE (128u << 20) /* all of them; on hosts with many CPUs each is smaller */
#define EVENT_RING_LEAST (1u << 20)

/* Room for 100 ms of the deepest samples (8 KiB) up to 250 Hz, and of usual ones (below 1 KiB)
 * above that, with a burst of code records beside them. */
static uint32_t ring_size(unsigned int freq, bool events, int nr_cpus)
{
	uint32_t size = EVENT_RING_SIZE;

	if (!events)
		return freq > 250 ? 1u << 20 : 1u << 18;
	while (size > EVENT_RING_LEAST && size > EVENT_RINGS_SIZE / (unsigned int)MAX(nr_cpus, 1))
		size /= 2;
	return size;
}

static int parse_cpu_list(const char *text, bool *online, int nr)
{
	int found = 0, from, to, used;

	while (*text && *text != '\n') {
		if (sscanf(text, "%d-%d%n", &from, &to, &used) != 2) {
			if (sscanf(text, "%d%n", &from, &used) != 1)
				break;
			to = from;
		}
		for (int i = from; i <= to && i < nr; i++) {
			if (i >= 0 && !online[i]) {
				online[i] = true;
				found++;
			}
		}
		text += used;
		if (*text == ',')
			text++;
	}
	return found;
}

/* online[] of `nr` CPUs; malloc'ed. */
static bool *online_cpus(int nr)
{
	bool *online = xcalloc((size_t)nr, sizeof(*online));
	char text[4096] = "";
	FILE *f = fopen("/sys/devices/system/cpu/online", "re");

	if (f) {
		if (!fgets(text, sizeof(text), f))
			text[0] = '\0';
		fclose(f);
	}
	if (parse_cpu_list(text, online, nr) == 0)
		memset(online, 1, (size_t)nr * sizeof(*online));
	return online;
}

/* Maps, programs and rings, an event and a ring for each CPU, and files of the node. */
#define FILES_FIXED   256u
#define FILES_PER_CPU 4u

static unsigned int files_needed(void)
{
	int cpus = libbpf_num_possible_cpus();

	return FILES_FIXED + FILES_PER_CPU * (unsigned int)MAX(cpus, 1);
}

/* libbpf says EINVAL too when it runs out of descriptors half way. */
static bool needs_files(int rc)
{
	struct rlimit limit;

	return rc == -EMFILE ||
	       (getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur < files_needed());
}

static int files_error(int rc, struct error *err)
{
	return error_set(err, ERROR_KIND_FAILED, rc,
			 "too many open files: raise the limit (ulimit -n) to %u at least",
			 files_needed());
}

static int load_error(int rc, struct error *err)
{
	if (access("/sys/kernel/btf/vmlinux", R_OK))
		return error_set(err, ERROR_KIND_KERNEL, rc,
				 "this kernel has no BTF (/sys/kernel/btf/vmlinux): use one built "
				 "with CONFIG_DEBUG_INFO_BTF=y (see ebeam doctor)");
	/* The verifier answers EACCES, who may not load gets EPERM. */
	if (rc == -EPERM)
		return error_set(err, ERROR_KIND_PRIVILEGE, rc,
				 "cannot load BPF programs: %s. " PRIVILEGE_FIX, error_text(rc));
	if (needs_files(rc))
		return files_error(rc, err);
	return error_set(err, ERROR_KIND_KERNEL, rc,
			 "the kernel refuses the BPF programs: %s. Linux 5.15 or later is needed "
			 "(see ebeam doctor; -vv shows the verifier's words)",
			 error_text(rc));
}

/* Kinds that come with a stack, asked for or not. */
#define STACK_KINDS (1ull << EVENT_LONG_GC | 1ull << EVENT_LONG_SCHEDULE)

static bool is_anyone(const struct event_who *who)
{
	return !who->epid && !who->name && !who->call[0];
}

static bool is_chosen(const struct session_config *c)
{
	return c->event_epid || !is_anyone(&c->event_who) || !is_anyone(&c->message_from) ||
	       !is_anyone(&c->message_to);
}

static void fill_config(struct session *s)
{
	struct probe_config *c = (void *)&s->skel->rodata->config;

	c->os_pid = (uint32_t)s->config.os_pid;
	c->frame_pointers = s->config.frame_pointers;
	c->jit_descriptor = s->config.jit_descriptor;
	c->initial_call = s->config.initial_call;
	c->process_label = s->config.process_label;
	c->layout = *s->config.layout;
	c->otp = s->config.otp;
	c->call_words = MIN(s->config.call_words, (unsigned int)TERM_COPY_WORDS);
	c->call_depth = s->config.call_depth;
	c->event_epid = s->config.event_epid;
	c->event_who = s->config.event_who;
	c->proc_lib = s->config.proc_lib;
	c->keep_returns = s->config.call_stacks;
	if (s->config.events) {
		c->event_kinds = s->config.events->kinds;
		c->message_from = s->config.message_from;
		c->message_to = s->config.message_to;
		c->event_stacks = s->config.event_stacks && !s->config.counting;
		c->keep_returns |= s->config.freq || c->event_stacks ||
				   (!s->config.counting && c->event_kinds & STACK_KINDS);
		c->gc_longer_than_ns = s->config.gc_longer_than_ns;
		c->longer_than_ns = s->config.longer_than_ns;
		c->usdt_kinds = s->config.events->usdt_kinds;
		c->processes = s->config.processes;
		c->ports = s->config.ports;
		c->inet_received = s->config.inet_received;
		c->unnamed = s->config.unnamed || s->config.counting;
		c->counting = s->config.counting;
		c->count_sums = s->config.count_sums;
		c->own_hits = s->config.counting;
		c->chosen = is_chosen(&s->config);
	}
}

/* What cannot be told is taken for new. */
static bool is_before_6_1(void)
{
	unsigned int major = 7, minor = 0;
	struct utsname u;

	return uname(&u) == 0 && sscanf(u.release, "%u.%u", &major, &minor) == 2 &&
	       (major < 6 || (major == 6 && minor < 1));
}

static int size_map(struct bpf_map *map, ssize_t nr, struct error *err)
{
	int rc = bpf_map__set_map_flags(map, 0);

	rc = rc ? rc : bpf_map__set_max_entries(map, (uint32_t)MAX(nr, 1));
	return rc ? load_error(rc, err) : 0;
}

/*
 * Kernels before 6.1 let programs of perf events, which breakpoints are, use only maps that are
 * allocated as a whole, and warn of other maps in programs of uprobes, which taints them
 * (check_map_prog_compatibility(), kernel/bpf/verifier.c).  So there, and where there are
 * breakpoints, room is made for the threads that there are, and as many new ones; none in maps that
 * nobody uses.
 */
static int size_thread_maps(struct session *s, struct error *err)
{
	const struct session_config *c = &s->config;
	bool old = is_before_6_1();
	struct proc_thread *threads;
	ssize_t nr;
	int rc;

	if (!c->calls && !(old && c->events))
		return 0;
	nr = proc_threads_read(&threads, c->os_pid, err);
	if (nr < 0)
		return (int)nr;
	free(threads);
	nr = MIN(2 * nr, (ssize_t)EBEAM_THREADS);
	rc = size_map(s->skel->maps.event_scratches, c->call_stacks || c->event_stacks ? nr : 1,
		      err);
	if (rc || !old)
		return rc;
	rc = size_map(s->skel->maps.event_threads, nr, err);
	return rc ? rc : size_map(s->skel->maps.call_threads, c->calls ? nr : 1, err);
}

/* The outer map needs an inner one as a model before load, and its elements after. */
static int create_rings(struct session *s, const bool *online, int nr, struct error *err)
{
	int rc = bpf_map__set_max_entries(s->skel->maps.rings, (uint32_t)nr);

	for (int cpu = 0; cpu < nr && rc == 0; cpu++) {
		int fd;

		if (!online[cpu])
			continue;
		fd = bpf_map_create(
			BPF_MAP_TYPE_RINGBUF, "ebeam_ring", 0, 0,
			ring_size(s->config.freq, s->config.events || s->config.calls, nr), NULL);
		if (fd < 0)
			return load_error(fd, err);
		vec_push(&s->rings, fd);
		if (s->rings.len == 1)
			rc = bpf_map__set_inner_map_fd(s->skel->maps.rings, fd);
	}
	return rc ? load_error(rc, err) : 0;
}

static int install_rings(struct session *s, const bool *online, int nr, struct error *err)
{
	int outer = bpf_map__fd(s->skel->maps.rings);
	size_t i = 0;

	for (int cpu = 0; cpu < nr; cpu++) {
		uint32_t key = (uint32_t)cpu;

		if (online[cpu] && bpf_map_update_elem(outer, &key, &s->rings.data[i++], BPF_ANY))
			return load_error(-errno, err);
	}
	return ring_set_open(&s->ring_set, s->rings.data, (unsigned int)s->rings.len, err);
}

/* What the programs of USDT probes find by the cookie of their site. */
static int install_usdt(struct session *s, struct error *err)
{
	const struct source_plan *plan = s->config.events;

	for (uint32_t i = 0; plan && i < plan->nr_usdt; i++) {
		if (bpf_map_update_elem(bpf_map__fd(s->skel->maps.usdt_points), &i, &plan->usdt[i],
					BPF_ANY))
			return load_error(-errno, err);
	}
	return 0;
}

/* Of all programs only what this run needs. */
static int choose_programs(struct session *s, struct error *err)
{
	struct bpf_program *p;
	char exe[64];

	bpf_object__for_each_program(p, s->skel->obj) bpf_program__set_autoload(p, false);
	bpf_program__set_autoload(s->skel->progs.code_changed, s->config.jit_descriptor != 0);
	bpf_program__set_autoload(s->skel->progs.sample_cpu, s->config.freq != 0);
	bpf_program__set_autoload(s->skel->progs.call_breakpoint, s->config.calls);
	if (!s->config.events && !s->config.calls)
		return 0;
	snprintf(exe, sizeof(exe), "/proc/%d/exe", s->config.os_pid);
	attach_open(&s->attach, s->config.events, s->config.os_pid, exe, s->config.attach_way);
	if (s->config.calls) {
		attach_prepare(s->attach, s->skel->progs.call_function);
		attach_prepare(s->attach, s->skel->progs.call_function_return);
	}
	return attach_choose(s->attach, s->skel->obj, err);
}

static void raise_limits(void)
{
	struct rlimit unlimited = {RLIM_INFINITY, RLIM_INFINITY}, files;

	/* Kernels before 5.11 account BPF memory against it; raising it is harmless later. */
	setrlimit(RLIMIT_MEMLOCK, &unlimited);
	/* A low soft limit is what shells have by default; the hard one only root can raise. */
	if (getrlimit(RLIMIT_NOFILE, &files) == 0 && files.rlim_cur < files_needed()) {
		files.rlim_cur = files_needed();
		files.rlim_max = MAX(files.rlim_max, files.rlim_cur);
		setrlimit(RLIMIT_NOFILE, &files);
	}
}

/* Without one nothing is limited, and the user is told why. */
static void open_keeper(struct session *s)
{
	const struct keeper_config config = {
		.attach = s->attach,
		.cost = &s->cost,
		.os_pid = s->config.os_pid,
		.percent = s->config.max_overhead,
		/* Terms that are copied take as long as stacks. */
		.long_runs = s->config.event_stacks || s->config.calls,
	};

	calibrator_open(&s->calibrator);
	if (calibrator_measure(s->calibrator, !attach_is_perf(s->attach), &s->cost, &s->no_budget))
		return;
	if (!attach_counts(s->attach))
		error_set(&s->no_budget, ERROR_KIND_PRIVILEGE, -EPERM,
			  "the kernel does not say how often BPF programs run (CAP_SYS_ADMIN is "
			  "needed)");
	else
		keeper_open(&s->keeper, &config, &s->no_budget);
}

int session_open(struct session **out, const struct session_config *config, struct error *err)
{
	struct session *s = xcalloc(1, sizeof(*s));
	int nr = libbpf_num_possible_cpus(), rc;
	bool *online;

	*out = NULL;
	if (!proc_in_initial_pid_namespace()) {
		free(s);
		return error_set(err, ERROR_KIND_KERNEL, -ENOTSUP,
				 "BPF programs see the pids of the host, ebeam those of its own "
				 "PID namespace. Run ebeam on the host, or in a container with "
				 "--pid=host");
	}
	s->config = *config;
	libbpf_set_print(libbpf_log);
	raise_limits();
	if (nr <= 0)
		nr = 1;
	online = online_cpus(nr);
	s->skel = ebeam_bpf__open();
	if (!s->skel) {
		rc = load_error(-errno, err);
		goto out;
	}
	rc = choose_programs(s, err);
	if (rc)
		goto out;
	fill_config(s);
	rc = size_thread_maps(s, err);
	rc = rc ? rc : create_rings(s, online, nr, err);
	if (rc)
		goto out;
	rc = ebeam_bpf__load(s->skel);
	if (rc) {
		rc = load_error(rc, err);
		goto out;
	}
	rc = install_rings(s, online, nr, err);
	rc = rc ? rc : install_usdt(s, err);
	if (rc)
		goto out;
	if (config->calls || config->events)
		ring_set_window(s->ring_set, config->calls	? SESSION_CALL_WINDOW_NS
					     : config->counting ? 0
								: SESSION_WINDOW_NS);
	if (s->attach)
		attach_loaded(s->attach, &s->skel->bss->switches);
	if (s->attach && config->counting)
		attach_own_hits(s->attach, bpf_map__fd(s->skel->maps.event_hits));
	if (config->events)
		open_keeper(s);
	for (int cpu = 0; cpu < nr; cpu++) {
		if (online[cpu] && config->freq)
			vec_push(&s->cpus, ((struct sampled_cpu){.cpu = cpu}));
	}
	*out = s;
out:
	free(online);
	if (rc)
		session_close(s);
	return rc;
}

int session_watch_code(struct session *s, uint64_t exe_offset, struct error *err)
{
	char path[64];

	/* The link leads to the file that runs, whatever its name means in our namespace now. */
	snprintf(path, sizeof(path), "/proc/%d/exe", s->config.os_pid);
	s->code_link = bpf_program__attach_uprobe(s->skel->progs.code_changed, false,
						  s->config.os_pid, path, exe_offset);
	if (!s->code_link) {
		int rc = -errno;
		bool forbidden = rc == -EPERM || rc == -EACCES;

		if (rc == -ESRCH)
			return error_set(err, ERROR_KIND_FAILED, rc, "the node exited");
		return error_set(err, forbidden ? ERROR_KIND_PRIVILEGE : ERROR_KIND_KERNEL, rc,
				 "cannot place a uprobe in %s: %s%s", path, error_text(rc),
				 forbidden ? " (run as root, or grant CAP_SYS_ADMIN too)" : "");
	}
	return 0;
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
	/* Too many to tell apart in BPF: the last one reaches to the end of all. */
	if (nr > EBEAM_JIT_RANGES)
		state->jit[EBEAM_JIT_RANGES - 1].end = hull.end;
	state->nr_jit = MIN(nr, EBEAM_JIT_RANGES);
	state->fragments = code->fragments;
	state->normal_exit = code->normal_exit;
	state->jit_hull = hull;
}

int session_add_thread(struct session *s, uint64_t thread_pointer, const struct thread_info *info,
		       struct error *err)
{
	int rc = bpf_map_update_elem(bpf_map__fd(s->skel->maps.threads), &thread_pointer, info,
				     BPF_ANY);

	if (info->type == THREAD_NORMAL && s->config.layout->sched_reductions >= 0 &&
	    s->work.nr < METER_MAX_COUNTERS)
		s->work.addrs[s->work.nr++] =
			info->esdp + (uint64_t)s->config.layout->sched_reductions;
	return rc ? error_set(err, ERROR_KIND_FAILED, -errno, "cannot add a thread: %s",
			      error_text(errno))
		  : 0;
}

void session_call_programs(struct session *s, struct call_programs *out)
{
	*out = (struct call_programs){
		.breakpoint = bpf_program__fd(s->skel->progs.call_breakpoint),
		.points = bpf_map__fd(s->skel->maps.call_points),
		.filters = bpf_map__fd(s->skel->maps.call_filters),
		.place_hits = bpf_map__fd(s->skel->maps.call_place_hits),
	};
}

/* So many hits of the cheapest place and its program: what --rate stands for where it is time that
 * is limited. */
#define CALL_RUN_NS 1000u
static double rate_percent(const struct session *s, unsigned int rate)
{
	return 100.0 * rate * (s->cost.emulated_ns + CALL_RUN_NS) / 1e9;
}

int session_add_calls(struct session *s, const struct session_calls *calls, struct error *err)
{
	int rc = attach_add(s->attach, s->skel->obj, calls->points, calls->nr, err);

	if (rc)
		return rc;
	if (!s->config.events)
		open_keeper(s);
	if (s->keeper)
		keeper_limit(s->keeper, MIN(calls->max_overhead, rate_percent(s, calls->rate)));
	return 0;
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
	if (rc == -EPERM || rc == -EACCES)
		return error_set(err, ERROR_KIND_PRIVILEGE, rc,
				 "cannot open perf events: %s. " PRIVILEGE_FIX, error_text(rc));
	if (rc == -EINVAL)
		return error_set(err, ERROR_KIND_FAILED, rc,
				 "the kernel refuses to sample at %u Hz: raise "
				 "kernel.perf_event_max_sample_rate or lower --freq",
				 freq);
	if (needs_files(rc))
		return files_error(rc, err);
	return error_set(err, ERROR_KIND_KERNEL, rc, "cannot open the CPU clock event: %s",
			 error_text(rc));
}

static bool next_coverage(void *ctx, uint64_t until_ns, struct rec_raw_coverage *out)
{
	struct keeper_change change;

	if (!keeper_next(ctx, until_ns, &change))
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

static int start_events(struct session *s, struct error *err)
{
	int rc = 0;

	if (!attach_nr_groups(s->attach))
		return 0;
	if (s->keeper) {
		ring_set_feed(s->ring_set, next_coverage, s->keeper);
		rc = keeper_start(s->keeper, &s->work, err);
	}
	for (unsigned int i = 0; rc == 0 && !s->keeper && i < attach_nr_groups(s->attach); i++)
		rc = attach_on(s->attach, i, err);
	if (rc)
		return needs_files(rc) ? files_error(rc, err) : rc;
	return 0;
}

void session_look(struct session *s)
{
	uint64_t now = clock_monotonic_ns();

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
	struct perf_event_attr attr = perf_cpu_clock(s->config.freq);

	for (size_t i = 0; i < s->cpus.len; i++) {
		struct sampled_cpu *c = &s->cpus.data[i];
		int fd = perf_open(&attr, -1, c->cpu);

		if (fd < 0)
			return event_error(fd, s->config.freq, err);
		/* Takes over the descriptor, and enables the event. */
		c->link = bpf_program__attach_perf_event(s->skel->progs.sample_cpu, fd);
		if (!c->link) {
			int rc = -errno;

			close(fd);
			return event_error(rc, s->config.freq, err);
		}
	}
	return s->attach ? start_events(s, err) : 0;
}

void session_stop(struct session *s)
{
	keeper_stop(s->keeper);
	for (unsigned int i = 0; s->attach && i < attach_nr_groups(s->attach); i++)
		attach_off(s->attach, i);
	for (size_t i = 0; i < s->cpus.len; i++) {
		bpf_link__destroy(s->cpus.data[i].link);
		s->cpus.data[i].link = NULL;
	}
	bpf_link__destroy(s->code_link);
	s->code_link = NULL;
	if (s->attach)
		attach_wait(s->attach);
	if (s->attach && s->skel)
		s->nr_alias_cut =
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
	keeper_close(s->keeper);
	attach_close(s->attach);
	calibrator_close(s->calibrator);
	ring_set_close(s->ring_set);
	for (size_t i = 0; i < s->rings.len; i++)
		close(s->rings.data[i]);
	vec_free(&s->rings);
	vec_free(&s->cpus);
	ebeam_bpf__destroy(s->skel);
	free(s);
}

struct source *session_source(struct session *s)
{
	return ring_set_source(s->ring_set);
}
