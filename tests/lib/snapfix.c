/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * See snapfix.h.  Everything is kept in growing arrays with the strings of a snapshot already in
 * place; snapfix_snapshot() only sorts, renumbers and sums.
 */
#include "lib/snapfix.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/compiler.h"
#include "base/idmap.h"
#include "base/vec.h"

struct snapfix {
	struct snapshot s;
	struct arena text;
	VEC(struct snap_frame) frames;
	VEC(struct snap_function) functions;
	VEC(struct snap_process) processes;
	VEC(struct snap_thread) threads;
	VEC(struct snap_stack) stacks;
	VEC(uint32_t) stack_frames;
	VEC(struct snap_counter) counters;
	VEC(struct snap_meta) meta;
	struct idmap frame_ids;
	bool finished;
};

struct frame_key {
	const char *name;
	uint32_t line;
	enum frame_kind kind;
	bool group;
};

static const char *copy(struct snapfix *f, const char *s)
{
	return s ? arena_strndup(&f->text, s, strlen(s)) : NULL;
}

struct snapfix *snapfix_open(const struct snapshot_options *opts)
{
	struct snapfix *f = xcalloc(1, sizeof(*f));

	if (opts)
		f->s.options = *opts;
	else
		f->s.options.by = SNAPSHOT_BY_NONE;
	f->s.ended = true;
	return f;
}

void snapfix_close(struct snapfix *f)
{
	if (!f)
		return;
	vec_free(&f->frames);
	vec_free(&f->functions);
	vec_free(&f->processes);
	vec_free(&f->threads);
	vec_free(&f->stacks);
	vec_free(&f->stack_frames);
	vec_free(&f->counters);
	vec_free(&f->meta);
	idmap_free(&f->frame_ids);
	arena_free(&f->text);
	free(f);
}

static bool frame_equal(const void *ctx, uint32_t id, const void *key)
{
	const struct snapfix *f = ctx;
	const struct frame_key *k = key;
	const struct snap_frame *fr = &f->frames.data[id];
	bool group = fr->function == SNAPSHOT_NONE;

	if (fr->kind != k->kind || group != k->group)
		return false;
	if (f->s.options.lines && fr->line != k->line)
		return false;
	return strcmp(group ? fr->name : f->functions.data[fr->function].name, k->name) == 0;
}

static uint32_t find_function(struct snapfix *f, const char *name, const char *module,
			      const char *file, enum frame_kind kind)
{
	struct snap_function fn = {.kind = kind};

	for (uint32_t i = 0; f->s.options.lines && i < f->functions.len; i++) {
		if (f->functions.data[i].kind == kind &&
		    strcmp(f->functions.data[i].name, name) == 0)
			return i;
	}
	fn.name = copy(f, name);
	fn.module = copy(f, module ? module : "");
	fn.file = copy(f, file);
	vec_push(&f->functions, fn);
	return (uint32_t)f->functions.len - 1;
}

static uint32_t add_frame(struct snapfix *f, const struct frame_key *k, const char *module,
			  const char *file)
{
	uint32_t hash = hash_mix(hash_bytes(k->name, strlen(k->name)), (uint64_t)k->kind);
	uint32_t id = idmap_find(&f->frame_ids, hash, frame_equal, f, k);
	struct snap_frame fr = {.line = k->line, .kind = k->kind};

	if (id != IDMAP_NONE)
		return id;
	fr.name = copy(f, k->name);
	fr.module = copy(f, module ? module : "");
	fr.file = copy(f, file);
	fr.function = SNAPSHOT_NONE;
	if (!k->group && k->kind != FRAME_ELIDED)
		fr.function = find_function(f, k->name, module, file, k->kind);
	if (f->s.options.lines && k->line) {
		char *text = xasprintf("%s:%u", k->name, k->line);

		fr.name = copy(f, text);
		free(text);
	}
	vec_push(&f->frames, fr);
	idmap_add(&f->frame_ids, hash, (uint32_t)f->frames.len - 1);
	return (uint32_t)f->frames.len - 1;
}

uint32_t snapfix_frame(struct snapfix *f, const char *name, const char *module, const char *file,
		       uint32_t line, enum frame_kind kind)
{
	struct frame_key k = {
		.name = name, .line = line, .kind = kind, .group = kind == FRAME_ELIDED};

	return add_frame(f, &k, module, file);
}

uint32_t snapfix_process(struct snapfix *f, const char *pid, const char *registered,
			 const char *label, const char *initial_call)
{
	struct snap_process p = {0};

	for (uint32_t i = 0; i < f->processes.len; i++) {
		if (strcmp(f->processes.data[i].pid, pid) == 0)
			return i;
	}
	p.pid = copy(f, pid);
	p.registered = copy(f, registered);
	p.label = copy(f, label);
	p.initial_call = copy(f, initial_call);
	p.name = registered	? p.registered
		 : label	? p.label
		 : initial_call ? p.initial_call
				: p.pid;
	vec_push(&f->processes, p);
	return (uint32_t)f->processes.len - 1;
}

uint32_t snapfix_thread(struct snapfix *f, enum thread_type type, uint16_t scheduler,
			uint32_t os_tid, const char *name)
{
	static const char *const words[] = {
		[THREAD_NORMAL] = "scheduler",
		[THREAD_DIRTY_CPU] = "dirty cpu",
		[THREAD_DIRTY_IO] = "dirty io",
	};
	struct snap_thread t = {.type = type, .scheduler = scheduler, .os_tid = os_tid};

	for (uint32_t i = 0; i < f->threads.len; i++) {
		if (f->threads.data[i].os_tid == os_tid)
			return i;
	}
	t.name = copy(f, name);
	t.display = t.name;
	if (type >= THREAD_NORMAL && type <= THREAD_DIRTY_IO) {
		char *text = xasprintf("%s %u", words[type], scheduler);

		t.display = copy(f, text);
		free(text);
	}
	vec_push(&f->threads, t);
	return (uint32_t)f->threads.len - 1;
}

static const char *group_text(const struct snapfix *f, uint32_t process, uint32_t thread)
{
	const struct snap_process *p =
		process == SNAPSHOT_NONE ? NULL : &f->processes.data[process];

	switch (f->s.options.by) {
	case SNAPSHOT_BY_SCHEDULER:
		return f->threads.data[thread].display;
	case SNAPSHOT_BY_PROCESS:
		return p ? p->pid : f->threads.data[thread].display;
	case SNAPSHOT_BY_INITIAL_CALL:
		return p && p->initial_call ? p->initial_call : f->threads.data[thread].display;
	default:
		return p ? p->name : f->threads.data[thread].display;
	}
}

static uint32_t head_frame(struct snapfix *f, const char *text)
{
	struct frame_key k = {.name = text, .kind = FRAME_STATE, .group = true};

	return add_frame(f, &k, NULL, NULL);
}

void snapfix_stack(struct snapfix *f, const uint32_t *frames, uint32_t nr_frames, uint32_t process,
		   uint32_t thread, enum sample_kind kind, uint64_t count)
{
	struct snap_stack st = {.first_frame = (uint32_t)f->stack_frames.len,
				.process = process,
				.thread = thread,
				.kind = kind,
				.count = count};

	assert(!f->finished && thread < f->threads.len && count);
	if (f->s.options.kind_root) {
		char *text = xasprintf("[%s]", sample_kind_name(kind));

		vec_push(&f->stack_frames, head_frame(f, text));
		free(text);
	}
	if (f->s.options.by != SNAPSHOT_BY_NONE)
		vec_push(&f->stack_frames, head_frame(f, group_text(f, process, thread)));
	for (uint32_t i = 0; i < nr_frames; i++) {
		assert(frames[i] < f->frames.len);
		vec_push(&f->stack_frames, frames[i]);
	}
	st.nr_frames = (uint32_t)f->stack_frames.len - st.first_frame;
	vec_push(&f->stacks, st);
	f->s.samples += count;
	f->s.by_kind[kind] += count;
	if (process != SNAPSHOT_NONE)
		f->processes.data[process].samples += count;
	f->threads.data[thread].samples += count;
}

void snapfix_text(struct snapfix *f, const char *stack, uint32_t process, uint32_t thread,
		  enum sample_kind kind, uint64_t count)
{
	char *text = xstrdup(stack), *save = NULL;
	VEC(uint32_t) ids = {0};

	for (char *t = strtok_r(text, ";", &save); t; t = strtok_r(NULL, ";", &save))
		vec_push(&ids, snapfix_frame(f, t, NULL, NULL, 0, FRAME_ERLANG));
	snapfix_stack(f, ids.data, (uint32_t)ids.len, process, thread, kind, count);
	vec_free(&ids);
	free(text);
}

void snapfix_meta(struct snapfix *f, const char *key, const char *value)
{
	struct snap_meta m = {.key = copy(f, key), .value = copy(f, value)};

	vec_push(&f->meta, m);
}

void snapfix_counter(struct snapfix *f, const char *name, uint64_t value)
{
	struct snap_counter c = {.name = copy(f, name), .value = value};

	vec_push(&f->counters, c);
}

void snapfix_status(struct snapfix *f, enum sample_status status, uint64_t count)
{
	f->s.by_status[status] += count;
}

static int compare_stacks(const void *pa, const void *pb, void *arg)
{
	const struct snapfix *f = arg;
	const struct snap_stack *a = pa, *b = pb;

	for (uint32_t i = 0; i < a->nr_frames && i < b->nr_frames; i++) {
		uint32_t fa = f->stack_frames.data[a->first_frame + i];
		uint32_t fb = f->stack_frames.data[b->first_frame + i];
		int c = fa == fb ? 0 : strcmp(f->frames.data[fa].name, f->frames.data[fb].name);

		if (c)
			return c;
	}
	if (a->nr_frames != b->nr_frames)
		return a->nr_frames < b->nr_frames ? -1 : 1;
	if (a->process != b->process)
		return a->process < b->process ? -1 : 1;
	if (a->thread != b->thread)
		return a->thread < b->thread ? -1 : 1;
	return a->kind < b->kind ? -1 : a->kind > b->kind;
}

static int compare_functions(const void *pa, const void *pb, void *arg)
{
	const struct snapfix *f = arg;
	const struct snap_function *a = &f->functions.data[*(const uint32_t *)pa];
	const struct snap_function *b = &f->functions.data[*(const uint32_t *)pb];

	if (a->self != b->self)
		return a->self > b->self ? -1 : 1;
	if (a->total != b->total)
		return a->total > b->total ? -1 : 1;
	return strcmp(a->name, b->name);
}

static int compare_processes(const void *pa, const void *pb, void *arg)
{
	const struct snapfix *f = arg;
	const struct snap_process *a = &f->processes.data[*(const uint32_t *)pa];
	const struct snap_process *b = &f->processes.data[*(const uint32_t *)pb];

	if (a->samples != b->samples)
		return a->samples > b->samples ? -1 : 1;
	return strverscmp(a->pid, b->pid);
}

/* Sort positions with `compare`; new_id[old] = new.  Caller frees both. */
static uint32_t *sort_ids(struct snapfix *f, uint32_t nr,
			  int (*compare)(const void *, const void *, void *), uint32_t **new_id)
{
	uint32_t *order = xmalloc(nr * sizeof(*order));

	*new_id = xmalloc(nr * sizeof(**new_id));
	for (uint32_t i = 0; i < nr; i++)
		order[i] = i;
	qsort_r(order, nr, sizeof(*order), compare, f);
	for (uint32_t i = 0; i < nr; i++)
		(*new_id)[order[i]] = i;
	return order;
}

static void sort_functions(struct snapfix *f)
{
	uint32_t nr = (uint32_t)f->functions.len, *new_id;
	uint32_t *order = sort_ids(f, nr, compare_functions, &new_id);
	struct snap_function *old = f->functions.data;

	f->functions.data = xmalloc(nr * sizeof(*old));
	for (uint32_t i = 0; i < nr; i++)
		f->functions.data[i] = old[order[i]];
	for (size_t i = 0; i < f->frames.len; i++) {
		if (f->frames.data[i].function != SNAPSHOT_NONE)
			f->frames.data[i].function = new_id[f->frames.data[i].function];
	}
	free(old);
	free(order);
	free(new_id);
}

static void sort_processes(struct snapfix *f)
{
	uint32_t nr = (uint32_t)f->processes.len, *new_id;
	uint32_t *order = sort_ids(f, nr, compare_processes, &new_id);
	struct snap_process *old = f->processes.data;

	f->processes.data = xmalloc(nr * sizeof(*old));
	for (uint32_t i = 0; i < nr; i++)
		f->processes.data[i] = old[order[i]];
	for (size_t i = 0; i < f->stacks.len; i++) {
		if (f->stacks.data[i].process != SNAPSHOT_NONE)
			f->stacks.data[i].process = new_id[f->stacks.data[i].process];
	}
	free(old);
	free(order);
	free(new_id);
}

static void sum_functions(struct snapfix *f)
{
	size_t *seen = xcalloc(f->functions.len, sizeof(*seen));

	for (size_t i = 0; i < f->stacks.len; i++) {
		const struct snap_stack *st = &f->stacks.data[i];

		for (uint32_t j = 0; j < st->nr_frames; j++) {
			uint32_t id = f->stack_frames.data[st->first_frame + j];
			uint32_t fn = f->frames.data[id].function;

			if (fn == SNAPSHOT_NONE)
				continue;
			if (seen[fn] != i + 1)
				f->functions.data[fn].total += st->count;
			seen[fn] = i + 1;
			if (j == st->nr_frames - 1)
				f->functions.data[fn].self += st->count;
		}
	}
	free(seen);
}

const struct snapshot *snapfix_snapshot(struct snapfix *f)
{
	struct snapshot *s = &f->s;

	if (f->finished)
		return s;
	f->finished = true;
	sum_functions(f);
	sort_functions(f);
	sort_processes(f);
	if (f->stacks.len)
		qsort_r(f->stacks.data, f->stacks.len, sizeof(*f->stacks.data), compare_stacks, f);
	s->nr_frames = (uint32_t)f->frames.len;
	s->nr_functions = (uint32_t)f->functions.len;
	s->nr_processes = (uint32_t)f->processes.len;
	s->nr_threads = (uint32_t)f->threads.len;
	s->nr_stacks = (uint32_t)f->stacks.len;
	s->nr_stack_frames = (uint32_t)f->stack_frames.len;
	s->nr_counters = (uint32_t)f->counters.len;
	s->nr_meta = (uint32_t)f->meta.len;
	s->frames = f->frames.data;
	s->functions = f->functions.data;
	s->processes = f->processes.data;
	s->threads = f->threads.data;
	s->stacks = f->stacks.data;
	s->stack_frames = f->stack_frames.data;
	s->counters = f->counters.data;
	s->meta = f->meta.data;
	return s;
}
