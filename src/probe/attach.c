/* SPDX-License-Identifier: BSD-2-Clause */
/* See attach.h. */
#include "probe/attach.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/compiler.h"
#include "base/thread.h"
#include "base/units.h"
#include "base/vec.h"
#include "base/xalloc.h"
#include "probe/multi.h"
#include "probe/run_times.h"

/* Threads that close links at a time; what is beyond is closed on the spot. */
#define MAX_CLOSERS 256u

/* One link, or a perf event with its link. */
struct handle {
	int fd;
	struct bpf_link *link; /* NULL: fd */
};

/* Points of one program in one file. */
struct bundle {
	const char *program_name, *path;
	struct bpf_program *program;
	bool at_return;
	struct run_time run_time; /* of programs that count their hits */
	uint64_t hits;		  /* of them, so far, and what they took */
	double run_ns;
	VEC(unsigned int) points;
	VEC(struct handle) handles; /* empty: off */
};

struct group {
	uint64_t kinds;
	uint64_t gives; /* those and others that its programs could give */
	bool on;
	VEC(struct bundle) bundles;
};

struct attach {
	VEC(const struct source_point *) points; /* of the plan, and calls */
	int os_pid;
	char exe[64];
	enum attach_way way;
	unsigned int group_of[SOURCE_MAX_POINTS];
	bool shares_trap[SOURCE_MAX_POINTS]; /* a return whose entry is probed anyhow */
	VEC(struct group) groups;
	struct event_switches *switches;
	int stats_fd; /* while open, the kernel counts runs and their time; -1 = it does not */
	int hits_fd;  /* event_hits; -1 = programs do not count their hits */
	int nr_cpus;
	pthread_mutex_t lock;
	pthread_cond_t closed;
	unsigned int closing; /* threads */
	uint64_t switch_ns;   /* atomic */
};

/* ---- groups -------------------------------------------------------------------------------- */

static bool belong_together(const struct source_point *a, const struct source_point *b)
{
	/* Who compares how many came and went needs the same samples of both. */
	const uint64_t lives = 1ull << EVENT_PROCESS_SPAWN | 1ull << EVENT_PROCESS_EXIT;

	return (a->kinds & b->kinds) || ((a->kinds & lives) && (b->kinds & lives)) ||
	       strcmp(a->program, b->program) == 0;
}

/* Each point gets the number of the first point that it is tied to, however indirectly. */
static void tie_points(struct attach *a)
{
	const struct source_point **points = a->points.data;
	unsigned int nr = (unsigned int)a->points.len;

	for (unsigned int i = 0; i < nr; i++)
		a->group_of[i] = i;
	for (unsigned int i = 0; i < nr; i++) {
		for (unsigned int k = 0; k < i; k++) {
			unsigned int from = MAX(a->group_of[i], a->group_of[k]),
				     to = MIN(a->group_of[i], a->group_of[k]);

			if (from == to || !belong_together(points[i], points[k]))
				continue;
			for (unsigned int j = 0; j <= i; j++) {
				if (a->group_of[j] == from)
					a->group_of[j] = to;
			}
		}
	}
}

static const char *path_of(const struct attach *a, const struct source_point *p)
{
	return p->path ? p->path : a->exe;
}

static void add_to_bundle(struct attach *a, struct group *g, unsigned int point)
{
	const struct source_point *p = a->points.data[point];
	struct bundle fresh = {
		.program_name = p->program, .path = path_of(a, p), .at_return = p->at_return};

	for (size_t i = 0; i < g->bundles.len; i++) {
		struct bundle *b = &g->bundles.data[i];

		if (strcmp(b->program_name, p->program) == 0 && strcmp(b->path, fresh.path) == 0 &&
		    b->at_return == p->at_return) {
			vec_push(&b->points, point);
			return;
		}
	}
	vec_push(&fresh.points, point);
	vec_push(&g->bundles, fresh);
}

static bool shares_trap(const struct attach *a, unsigned int point)
{
	const struct source_point *p = a->points.data[point];

	for (unsigned int i = 0; p->at_return && i < a->points.len; i++) {
		const struct source_point *other = a->points.data[i];

		if (!other->at_return && other->offset == p->offset &&
		    strcmp(path_of(a, other), path_of(a, p)) == 0)
			return true;
	}
	return false;
}

static void make_groups(struct attach *a)
{
	tie_points(a);
	for (unsigned int i = 0; i < a->points.len; i++) {
		unsigned int number;

		if (a->group_of[i] == i) {
			struct group fresh = {0};

			number = (unsigned int)a->groups.len;
			vec_push(&a->groups, fresh);
			/* From here on the points tied to this one have its number, beyond all
			 * numbers of points. */
			for (unsigned int k = i; k < a->points.len; k++) {
				if (a->group_of[k] == i)
					a->group_of[k] = SOURCE_MAX_POINTS + number;
			}
		}
		number = a->group_of[i] -= SOURCE_MAX_POINTS;
		a->groups.data[number].kinds |= a->points.data[i]->kinds;
		a->groups.data[number].gives |= a->points.data[i]->gives;
		add_to_bundle(a, &a->groups.data[number], i);
		a->shares_trap[i] = shares_trap(a, i);
	}
}

void attach_open(struct attach **out, const struct source_plan *plan, int os_pid, const char *exe,
		 enum attach_way way)
{
	struct attach *a = xcalloc(1, sizeof(*a));

	for (unsigned int i = 0; plan && i < plan->nr_points; i++)
		vec_push(&a->points, &plan->points[i]);
	a->os_pid = os_pid;
	a->way = way == ATTACH_BEST ? attach_way() : way;
	a->stats_fd = a->hits_fd = -1;
	snprintf(a->exe, sizeof(a->exe), "%s", exe);
	pthread_mutex_init(&a->lock, NULL);
	pthread_cond_init(&a->closed, NULL);
	make_groups(a);
	*out = a;
}

unsigned int attach_nr_groups(const struct attach *a)
{
	return (unsigned int)a->groups.len;
}

uint64_t attach_kinds(const struct attach *a, unsigned int group)
{
	return a->groups.data[group].kinds;
}

unsigned int attach_group_of(const struct attach *a, unsigned int point)
{
	return a->group_of[point];
}

bool attach_counts(const struct attach *a)
{
	return a->stats_fd >= 0;
}

bool attach_is_perf(const struct attach *a)
{
	return a->way == ATTACH_PERF;
}

unsigned int attach_nr_links(const struct attach *a)
{
	unsigned int nr = 0;

	if (a->way == ATTACH_PERF)
		return (unsigned int)a->points.len;
	for (size_t i = 0; i < a->groups.len; i++)
		nr += (unsigned int)a->groups.data[i].bundles.len;
	return nr;
}

/* ---- programs ------------------------------------------------------------------------------ */

static int find_programs(struct group *g, struct bpf_object *obj, struct error *err)
{
	for (size_t k = 0; k < g->bundles.len; k++) {
		struct bundle *b = &g->bundles.data[k];

		b->program = bpf_object__find_program_by_name(obj, b->program_name);
		if (!b->program)
			return error_set(err, ERROR_KIND_FAILED, -ENOENT,
					 "there is no BPF program '%s'", b->program_name);
	}
	return 0;
}

void attach_prepare(const struct attach *a, struct bpf_program *program)
{
	bpf_program__set_autoload(program, true);
	if (a->way == ATTACH_MULTI)
		bpf_program__set_expected_attach_type(program,
						      (enum bpf_attach_type)MULTI_ATTACH_TYPE);
}

int attach_choose(struct attach *a, struct bpf_object *obj, struct error *err)
{
	for (size_t i = 0; i < a->groups.len; i++) {
		struct group *g = &a->groups.data[i];
		int rc = find_programs(g, obj, err);

		if (rc)
			return rc;
		for (size_t k = 0; k < g->bundles.len; k++)
			attach_prepare(a, g->bundles.data[k].program);
	}
	return 0;
}

int attach_add(struct attach *a, struct bpf_object *obj, const struct source_point *points,
	       unsigned int nr, struct error *err)
{
	unsigned int first = (unsigned int)a->points.len;
	struct group g = {0};
	int rc;

	if (first + nr > SOURCE_MAX_POINTS)
		return error_set(err, ERROR_KIND_FAILED, -E2BIG, SOURCE_TOO_MANY);
	for (unsigned int i = 0; i < nr; i++) {
		vec_push(&a->points, &points[i]);
		g.kinds |= points[i].kinds;
		a->group_of[first + i] = (unsigned int)a->groups.len;
	}
	for (unsigned int i = first; i < first + nr; i++) {
		add_to_bundle(a, &g, i);
		a->shares_trap[i] = shares_trap(a, i);
	}
	rc = find_programs(&g, obj, err);
	vec_push(&a->groups, g);
	return rc;
}

void attach_loaded(struct attach *a, struct event_switches *switches)
{
	a->switches = switches;
	a->stats_fd = bpf_enable_stats(BPF_STATS_RUN_TIME);
}

void attach_own_hits(struct attach *a, int map_fd)
{
	a->hits_fd = map_fd;
	a->nr_cpus = libbpf_num_possible_cpus();
}

static uint64_t cookie_of(const struct attach *a, unsigned int point)
{
	uint64_t own = a->hits_fd >= 0 ? (uint64_t)point << EVENT_COOKIE_BITS : 0;

	return a->points.data[point]->cookie | own;
}

/* ---- on ------------------------------------------------------------------------------------ */

enum attach_way attach_way(void)
{
	return multi_available() ? ATTACH_MULTI : ATTACH_PERF;
}

static int bundle_multi(struct attach *a, struct bundle *b)
{
	uint64_t offsets[SOURCE_MAX_POINTS], counters[SOURCE_MAX_POINTS],
		cookies[SOURCE_MAX_POINTS];
	struct multi_points points = {
		.path = b->path,
		.offsets = offsets,
		.cookies = cookies,
		.nr = (unsigned int)b->points.len,
		.at_return = b->at_return,
	};
	struct handle h = {0};

	for (size_t i = 0; i < b->points.len; i++) {
		const struct source_point *p = a->points.data[b->points.data[i]];

		offsets[i] = p->offset;
		cookies[i] = cookie_of(a, b->points.data[i]);
		counters[i] = p->ref_ctr_offset;
		if (p->ref_ctr_offset)
			points.ref_ctr_offsets = counters;
	}
	h.fd = multi_link(bpf_program__fd(b->program), a->os_pid, &points);
	if (h.fd < 0)
		return h.fd;
	vec_push(&b->handles, h);
	return 0;
}

static int bundle_perf(struct attach *a, struct bundle *b)
{
	for (size_t i = 0; i < b->points.len; i++) {
		const struct source_point *p = a->points.data[b->points.data[i]];
		LIBBPF_OPTS(bpf_uprobe_opts, opts, .retprobe = p->at_return,
			    .ref_ctr_offset = p->ref_ctr_offset,
			    .bpf_cookie = cookie_of(a, b->points.data[i]));
		struct handle h = {.fd = -1};

		h.link = bpf_program__attach_uprobe_opts(b->program, a->os_pid, b->path, p->offset,
							 &opts);
		if (!h.link)
			return -errno;
		vec_push(&b->handles, h);
	}
	return 0;
}

static int on_error(int rc, const struct bundle *b, struct error *err)
{
	bool forbidden = rc == -EPERM || rc == -EACCES;

	if (rc == -ESRCH)
		return error_set(err, ERROR_KIND_FAILED, rc, "the node exited");
	return error_set(err, forbidden ? ERROR_KIND_PRIVILEGE : ERROR_KIND_KERNEL, rc,
			 "cannot place a uprobe in %s: %s%s", b->path, error_text(rc),
			 forbidden ? " (run as root, or grant CAP_SYS_ADMIN too)" : "");
}

static void switch_off(struct attach *a, const struct group *g)
{
	__atomic_and_fetch(&a->switches->kinds, ~g->kinds, __ATOMIC_SEQ_CST);
}

static void switch_on(struct attach *a, const struct group *g)
{
	for (int kind = 0; kind < EBEAM_EVENT_KINDS; kind++) {
		if ((g->kinds | g->gives) >> kind & 1)
			__atomic_add_fetch(&a->switches->epoch[kind], 1, __ATOMIC_SEQ_CST);
	}
	__atomic_or_fetch(&a->switches->kinds, g->kinds, __ATOMIC_SEQ_CST);
}

static void add_switch(struct attach *a, uint64_t since_ns)
{
	__atomic_add_fetch(&a->switch_ns, clock_thread_ns() - since_ns, __ATOMIC_RELAXED);
}

uint64_t attach_switch_ns(const struct attach *a)
{
	return __atomic_load_n(&a->switch_ns, __ATOMIC_RELAXED);
}

static void close_links(struct attach *a, struct group *g);

int attach_place(struct attach *a, unsigned int group, struct error *err)
{
	struct group *g = &a->groups.data[group];
	uint64_t start = clock_thread_ns();

	if (g->on)
		return 0;
	for (size_t i = 0; i < g->bundles.len; i++) {
		struct bundle *b = &g->bundles.data[i];
		int rc = a->way == ATTACH_MULTI ? bundle_multi(a, b) : bundle_perf(a, b);

		if (rc) {
			close_links(a, g);
			add_switch(a, start);
			return on_error(rc, b, err);
		}
	}
	g->on = true;
	add_switch(a, start);
	return 0;
}

void attach_listen(struct attach *a, unsigned int group)
{
	struct group *g = &a->groups.data[group];

	if (g->on && (a->switches->kinds & g->kinds) != g->kinds)
		switch_on(a, g);
}

void attach_mute(struct attach *a, unsigned int group)
{
	switch_off(a, &a->groups.data[group]);
}

int attach_on(struct attach *a, unsigned int group, struct error *err)
{
	int rc = attach_place(a, group, err);

	if (rc == 0)
		attach_listen(a, group);
	return rc;
}

/* ---- off ----------------------------------------------------------------------------------- */

struct closer {
	struct attach *a;
	VEC(struct handle) handles;
};

static void close_handles(struct closer *c)
{
	struct attach *a = c->a;
	uint64_t start = clock_thread_ns();

	for (size_t i = 0; i < c->handles.len; i++) {
		struct handle *h = &c->handles.data[i];

		if (h->link)
			bpf_link__destroy(h->link);
		else
			close(h->fd);
	}
	vec_free(&c->handles);
	free(c);
	add_switch(a, start);
}

static void *closer_main(void *arg)
{
	struct closer *c = arg;
	struct attach *a = c->a;

	close_handles(c);
	pthread_mutex_lock(&a->lock);
	a->closing--;
	pthread_cond_broadcast(&a->closed);
	pthread_mutex_unlock(&a->lock);
	return NULL;
}

/* Takes over the closer. */
static void hand_over(struct closer *c)
{
	struct attach *a = c->a;
	bool room;

	pthread_mutex_lock(&a->lock);
	room = a->closing < MAX_CLOSERS;
	a->closing += room;
	pthread_mutex_unlock(&a->lock);
	if (room && thread_start_detached(closer_main, c))
		return;
	close_handles(c);
	pthread_mutex_lock(&a->lock);
	a->closing -= room;
	pthread_mutex_unlock(&a->lock);
}

/* Links of their own wait side by side; perf events would only wait for each other. */
static void close_links(struct attach *a, struct group *g)
{
	struct closer *c = NULL;

	for (size_t i = 0; i < g->bundles.len; i++) {
		struct bundle *b = &g->bundles.data[i];

		while (b->handles.len) {
			if (!c)
				c = xcalloc(1, sizeof(*c));
			c->a = a;
			vec_push(&c->handles, b->handles.data[--b->handles.len]);
			if (a->way != ATTACH_MULTI)
				continue;
			hand_over(c);
			c = NULL;
		}
	}
	if (c)
		hand_over(c);
}

void attach_off(struct attach *a, unsigned int group)
{
	struct group *g = &a->groups.data[group];

	if (!g->on)
		return;
	switch_off(a, g);
	g->on = false;
	close_links(a, g);
}

void attach_wait(struct attach *a)
{
	pthread_mutex_lock(&a->lock);
	while (a->closing)
		pthread_cond_wait(&a->closed, &a->lock);
	pthread_mutex_unlock(&a->lock);
}

bool attach_is_closing(struct attach *a)
{
	bool closing;

	pthread_mutex_lock(&a->lock);
	closing = a->closing > 0;
	pthread_mutex_unlock(&a->lock);
	return closing;
}

void attach_close(struct attach *a)
{
	if (!a)
		return;
	for (unsigned int i = 0; i < a->groups.len; i++)
		attach_off(a, i);
	attach_wait(a);
	for (size_t i = 0; i < a->groups.len; i++) {
		struct group *g = &a->groups.data[i];

		for (size_t k = 0; k < g->bundles.len; k++) {
			vec_free(&g->bundles.data[k].points);
			vec_free(&g->bundles.data[k].handles);
		}
		vec_free(&g->bundles);
	}
	vec_free(&a->groups);
	vec_free(&a->points);
	if (a->stats_fd >= 0)
		close(a->stats_fd);
	pthread_cond_destroy(&a->closed);
	pthread_mutex_destroy(&a->lock);
	free(a);
}

/* ---- what it costs ------------------------------------------------------------------------- */

unsigned int attach_trap_ns(const struct attach *a, unsigned int point,
			    const struct calibration *cost)
{
	const struct source_point *p = a->points.data[point];
	unsigned int call = p->place.emulated ? cost->emulated_ns : cost->stepped_ns, ns;

	if (!p->at_return)
		return call;
	ns = cost->return_ns + call - MIN(call, cost->emulated_ns);
	return a->shares_trap[point] ? ns - MIN(ns, call) : ns;
}

/* Of one hit of a program: the dearest of its points in all files, as it is not known which was
 * hit. */
static unsigned int program_trap_ns(const struct attach *a, const struct group *g,
				    const struct bpf_program *program,
				    const struct calibration *cost)
{
	unsigned int most = 0;

	for (size_t k = 0; k < g->bundles.len; k++) {
		const struct bundle *b = &g->bundles.data[k];

		for (size_t i = 0; b->program == program && i < b->points.len; i++)
			most = MAX(most, attach_trap_ns(a, b->points.data[i], cost));
	}
	return most;
}

/* A program in several files is counted once. */
static bool counted_before(const struct group *g, size_t bundle)
{
	for (size_t i = 0; i < bundle; i++) {
		if (g->bundles.data[i].program == g->bundles.data[bundle].program)
			return true;
	}
	return false;
}

/* Of one point, on all CPUs. */
static uint64_t own_hits(const struct attach *a, unsigned int point)
{
	uint64_t *hits = xcalloc((size_t)MAX(a->nr_cpus, 1), sizeof(*hits)), sum = 0;

	if (bpf_map_lookup_elem(a->hits_fd, &point, hits) == 0) {
		for (int i = 0; i < a->nr_cpus; i++)
			sum += hits[i];
	}
	free(hits);
	return sum;
}

/* The kernel measures as long as there is a program whose time is not known and matters. */
static void measure_if_wanted(struct attach *a)
{
	bool wanted = false;

	for (size_t i = 0; i < a->groups.len; i++) {
		for (size_t k = 0; k < a->groups.data[i].bundles.len; k++)
			wanted |= a->groups.data[i].bundles.data[k].run_time.wanted;
	}
	if (wanted && a->stats_fd < 0)
		a->stats_fd = bpf_enable_stats(BPF_STATS_RUN_TIME);
	if (wanted || a->stats_fd < 0)
		return;
	close(a->stats_fd);
	a->stats_fd = -1;
}

static void hits_of_own(struct attach *a, struct group *g, const struct calibration *cost,
			struct attach_hits *out)
{
	for (size_t i = 0; i < g->bundles.len; i++) {
		struct bundle *b = &g->bundles.data[i];
		struct bpf_prog_info info = {0};
		uint32_t size = sizeof(info);
		uint64_t hits = 0;

		for (size_t k = 0; k < b->points.len; k++) {
			uint64_t n = own_hits(a, b->points.data[k]);

			hits += n;
			out->trap_ns += n * attach_trap_ns(a, b->points.data[k], cost);
		}
		if (!run_time_known(&b->run_time) && a->stats_fd >= 0 &&
		    bpf_obj_get_info_by_fd(bpf_program__fd(b->program), &info, &size) == 0)
			run_time_take(&b->run_time, info.run_cnt, info.run_time_ns);
		run_time_wanted(&b->run_time, hits);
		/* What was guessed before it was known stays. */
		b->run_ns += (double)(hits - b->hits) * run_time_ns(&b->run_time);
		b->hits = hits;
		out->hits += hits;
		out->run_ns += (uint64_t)b->run_ns;
	}
	measure_if_wanted(a);
}

bool attach_hits(struct attach *a, unsigned int group, const struct calibration *cost,
		 struct attach_hits *out)
{
	struct group *g = &a->groups.data[group];

	*out = (struct attach_hits){0};
	if (a->hits_fd >= 0) {
		hits_of_own(a, g, cost, out);
		return true;
	}
	if (a->stats_fd < 0)
		return false;
	for (size_t i = 0; i < g->bundles.len; i++) {
		const struct bundle *b = &g->bundles.data[i];
		struct bpf_prog_info info = {0};
		uint32_t size = sizeof(info);

		if (counted_before(g, i))
			continue;
		if (bpf_obj_get_info_by_fd(bpf_program__fd(b->program), &info, &size))
			return false;
		out->hits += info.run_cnt;
		out->run_ns += info.run_time_ns;
		out->trap_ns += info.run_cnt * program_trap_ns(a, g, b->program, cost);
	}
	return true;
}
