/* SPDX-License-Identifier: BSD-2-Clause */
/* See attach.h. */
#include "probe/attach/attach_internal.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/compiler.h"
#include "base/thread.h"
#include "base/units.h"
#include "base/xalloc.h"
#include "probe/attach/cookies.h"
#include "probe/attach/page_cache.h"

/* Threads that close links at the same time; beyond that many the caller closes them itself. */
#define MAX_CLOSERS 256u

/* ---- groups ---------------------------------------------------------------------------------- */

static bool belong_together(const struct source_point *a, const struct source_point *b)
{
	/* spawn and exit are compared with each other (how many processes began and ended), so both
	 * must be watched in the same sampling windows. */
	const uint64_t lives = 1ull << EVENT_PROCESS_SPAWN | 1ull << EVENT_PROCESS_EXIT;

	return (a->kinds & b->kinds) || ((a->kinds & lives) && (b->kinds & lives)) ||
	       strcmp(a->program, b->program) == 0;
}

/* Each point gets the number of the first point that it belongs together with, directly or by way
 * of others. */
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
			/* From here on the points tied to this one have the number of its group,
			 * plus SOURCE_MAX_POINTS so that it cannot be taken for the number of a
			 * point. */
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
	a->stats_fd = a->work_fd = a->cookies_fd = -1;
	a->exe = exe;
	pthread_mutex_init(&a->lock, NULL);
	pthread_cond_init(&a->closed, NULL);
	make_groups(a);
	*out = a;
}

void attach_prove(struct attach *a, struct mem *mem, const struct elf_file *elf, uint64_t bias)
{
	a->mem = mem;
	a->elf = elf;
	a->bias = bias;
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
	return a->stats_fd >= 0 || a->own_times;
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

/* ---- programs -------------------------------------------------------------------------------- */

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
	uprobe_prepare(program, a->way == ATTACH_MULTI);
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
}

bool attach_count_runs(struct attach *a)
{
	a->stats_fd = bpf_enable_stats(BPF_STATS_RUN_TIME);
	return a->stats_fd >= 0;
}

void attach_own_work(struct attach *a, int map_fd, bool times)
{
	a->work_fd = map_fd;
	a->own_times = times;
	a->nr_cpus = libbpf_num_possible_cpus();
}

void attach_cookies(struct attach *a, int map_fd)
{
	a->cookies_fd = map_fd;
}

static uint64_t cookie_of(const struct attach *a, unsigned int point)
{
	uint64_t own = a->work_fd >= 0 ? (uint64_t)point << EVENT_COOKIE_BITS : 0;

	return a->points.data[point]->cookie | own;
}

/* ---- on -------------------------------------------------------------------------------------- */

enum attach_way attach_way(void)
{
	return multi_available() ? ATTACH_MULTI : ATTACH_PERF;
}

/* Attaches all points of a bundle by one uprobe_multi link. */
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
	struct uprobe u;
	int rc;

	for (size_t i = 0; i < b->points.len; i++) {
		const struct source_point *p = a->points.data[b->points.data[i]];

		page_cache_read(b->path, p->offset);
		offsets[i] = p->offset;
		cookies[i] = cookie_of(a, b->points.data[i]);
		counters[i] = p->ref_ctr_offset;
		if (p->ref_ctr_offset)
			points.ref_ctr_offsets = counters;
	}
	rc = uprobe_attach(&u, b->program, true, a->os_pid, &points);
	if (rc == 0)
		vec_push(&b->uprobes, u);
	return rc;
}

/* Attaches each point of a bundle by a perf event of its own. */
static int bundle_perf(struct attach *a, struct bundle *b)
{
	for (size_t i = 0; i < b->points.len; i++) {
		const struct source_point *p = a->points.data[b->points.data[i]];
		uint64_t cookie = a->cookies_fd < 0 ? cookie_of(a, b->points.data[i]) : 0;
		const struct multi_points points = {
			.path = b->path,
			.offsets = &p->offset,
			.ref_ctr_offsets = &p->ref_ctr_offset,
			.cookies = &cookie,
			.at_return = b->at_return,
		};
		struct uprobe u;
		int rc = 0;

		page_cache_read(b->path, p->offset);
		if (a->cookies_fd >= 0 && !p->at_return && p->cookie)
			rc = cookies_put(a->cookies_fd, a->os_pid, b->path, p->offset, p->cookie);
		rc = rc ? rc : uprobe_attach(&u, b->program, false, a->os_pid, &points);
		if (rc)
			return rc;
		vec_push(&b->uprobes, u);
	}
	return 0;
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

static bool same_file(const char *x, const char *y)
{
	struct stat a, b;

	return strcmp(x, y) == 0 || (stat(x, &a) == 0 && stat(y, &b) == 0 && a.st_dev == b.st_dev &&
				     a.st_ino == b.st_ino);
}

static int prove(struct attach *a, const struct bundle *b, struct error *err)
{
	int rc;

	if (!a->mem || a->proven || !same_file(b->path, a->exe))
		return 0;
	rc = uprobe_prove(a->mem, a->elf, a->bias, a->points.data[b->points.data[0]]->offset, err);
	a->proven = rc == 0;
	return rc;
}

int attach_probes(struct attach *a, unsigned int group, struct error *err)
{
	struct group *g = &a->groups.data[group];
	uint64_t start = clock_thread_ns();

	if (g->on)
		return 0;
	for (size_t i = 0; i < g->bundles.len; i++) {
		struct bundle *b = &g->bundles.data[i];
		int rc = a->way == ATTACH_MULTI ? bundle_multi(a, b) : bundle_perf(a, b);

		rc = rc ? uprobe_error(rc, b->path, err) : prove(a, b, err);
		if (rc) {
			close_links(a, g);
			add_switch(a, start);
			return rc;
		}
	}
	g->on = true;
	add_switch(a, start);
	return 0;
}

void attach_enable(struct attach *a, unsigned int group)
{
	struct group *g = &a->groups.data[group];

	if (g->on && (a->switches->kinds & g->kinds) != g->kinds)
		switch_on(a, g);
}

void attach_disable(struct attach *a, unsigned int group)
{
	switch_off(a, &a->groups.data[group]);
}

int attach_on(struct attach *a, unsigned int group, struct error *err)
{
	int rc = attach_probes(a, group, err);

	if (rc == 0)
		attach_enable(a, group);
	return rc;
}

/* ---- off ------------------------------------------------------------------------------------- */

struct closer {
	struct attach *a;
	VEC(struct uprobe) uprobes;
};

static void remove_uprobes(struct closer *c)
{
	struct attach *a = c->a;
	uint64_t start = clock_thread_ns();

	for (size_t i = 0; i < c->uprobes.len; i++)
		uprobe_remove(&c->uprobes.data[i]);
	vec_free(&c->uprobes);
	free(c);
	add_switch(a, start);
}

static void *closer_main(void *arg)
{
	struct closer *c = arg;
	struct attach *a = c->a;

	remove_uprobes(c);
	pthread_mutex_lock(&a->lock);
	a->closing--;
	pthread_cond_broadcast(&a->closed);
	pthread_mutex_unlock(&a->lock);
	return NULL;
}

/* Closes the links in a new thread, or in this one if there are too many; frees the closer. */
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
	remove_uprobes(c);
	pthread_mutex_lock(&a->lock);
	a->closing -= room;
	pthread_mutex_unlock(&a->lock);
}

/* Each uprobe_multi link gets a thread of its own, as their removals wait in parallel; perf events
 * share one, as the kernel removes them one after the other. */
static void close_links(struct attach *a, struct group *g)
{
	struct closer *c = NULL;

	for (size_t i = 0; i < g->bundles.len; i++) {
		struct bundle *b = &g->bundles.data[i];

		while (b->uprobes.len) {
			if (!c)
				c = xcalloc(1, sizeof(*c));
			c->a = a;
			vec_push(&c->uprobes, b->uprobes.data[--b->uprobes.len]);
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
			vec_free(&g->bundles.data[k].uprobes);
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
