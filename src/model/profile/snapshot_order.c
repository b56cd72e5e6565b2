/* SPDX-License-Identifier: BSD-2-Clause */
/* The part of making a snapshot that sorts: by name or by samples, as snapshot.h promises for
 * each array, and never by id.  Each array is written once in its order, and indices into it are
 * translated; frames come first, as stacks are then compared by the ranks of their frames. */
#include "model/profile/snapshot_build.h"

#include <stdlib.h>
#include <string.h>

#include "base/compiler.h"

/* Sorts the indices 0 to nr - 1, to which `compare` gets pointers: order[rank] = index;
 * malloc'ed. */
static uint32_t *sorted(size_t nr, int (*compare)(const void *, const void *, void *), void *ctx)
{
	uint32_t *order = xmalloc(nr * sizeof(*order));

	for (size_t i = 0; i < nr; i++)
		order[i] = (uint32_t)i;
	if (nr)
		qsort_r(order, nr, sizeof(*order), compare, ctx);
	return order;
}

/* order[rank] = index -> rank_of[index] = rank; frees `order`. */
static uint32_t *inverted(uint32_t *order, size_t nr)
{
	uint32_t *rank_of = xmalloc(nr * sizeof(*rank_of));

	for (size_t i = 0; i < nr; i++)
		rank_of[order[i]] = (uint32_t)i;
	free(order);
	return rank_of;
}

/* Result of a comparison for qsort(). */
#define COMPARE(x, y) ((x) < (y) ? -1 : (x) > (y))

/* NULL first. */
static int compare_text(const char *x, const char *y)
{
	if (x == y)
		return 0;
	return !x ? -1 : !y ? 1 : strcmp(x, y);
}

static int compare_frames(const void *pa, const void *pb, void *ctx)
{
	const struct builder *b = ctx;
	const struct build_frame *x = &b->frames.data[*(const uint32_t *)pa];
	const struct build_frame *y = &b->frames.data[*(const uint32_t *)pb];
	int order = compare_text(x->name, y->name);

	if (!order)
		order = COMPARE(x->kind, y->kind);
	if (!order)
		order = compare_text(x->module, y->module);
	if (!order)
		order = compare_text(x->place.file, y->place.file);
	if (!order)
		order = COMPARE(x->place.line, y->place.line);
	if (!order)
		order = COMPARE(x->function == SNAPSHOT_NONE, y->function == SNAPSHOT_NONE);
	return order;
}

static void write_frames(struct builder *b)
{
	size_t nr = b->frames.len;
	uint32_t *order = sorted(nr, compare_frames, b), *rank_of;

	b->out->frames = xmalloc(nr * sizeof(*b->out->frames));
	for (size_t i = 0; i < nr; i++) {
		const struct build_frame *f = &b->frames.data[order[i]];

		b->out->frames[i] = (struct snap_frame){
			.name = f->name,
			.module = f->module,
			.file = f->place.file,
			.line = f->place.line,
			.kind = f->kind,
			.function = f->function,
		};
	}
	rank_of = inverted(order, nr);
	for (size_t i = 0; i < b->paths.len; i++)
		b->paths.data[i] = rank_of[b->paths.data[i]];
	free(rank_of);
	b->out->s.frames = b->out->frames;
	b->out->s.nr_frames = (uint32_t)nr;
}

/* "<0.80.0>" -> 0, 80, 0. */
static bool parse_pid(const char *text, unsigned long part[3])
{
	char *end;

	for (int i = 0; i < 3; i++) {
		if (*text != (i ? '.' : '<'))
			return false;
		part[i] = strtoul(text + 1, &end, 10);
		text = end;
	}
	return strcmp(text, ">") == 0;
}

/* By the number in the middle, then the others, which rarely differ; texts that are not pids
 * last. */
static int compare_pids(const char *x, const char *y)
{
	unsigned long a[3], b[3];
	bool a_parsed = parse_pid(x, a), b_parsed = parse_pid(y, b);
	int order = COMPARE(b_parsed, a_parsed);

	if (order)
		return order;
	if (!a_parsed)
		return strcmp(x, y);
	order = COMPARE(a[1], b[1]);
	if (!order)
		order = COMPARE(a[2], b[2]);
	return order ? order : COMPARE(a[0], b[0]);
}

static int compare_processes(const void *pa, const void *pb, void *ctx)
{
	const struct builder *b = ctx;
	const struct build_process *x = &b->processes.data[*(const uint32_t *)pa];
	const struct build_process *y = &b->processes.data[*(const uint32_t *)pb];
	int order = COMPARE(y->samples, x->samples);

	if (!order)
		order = compare_pids(x->pid, y->pid);
	return order ? order : COMPARE(x->epid, y->epid);
}

static void write_processes(struct builder *b)
{
	size_t nr = b->processes.len;
	uint32_t *order = sorted(nr, compare_processes, b), *rank_of;

	b->out->processes = xmalloc(nr * sizeof(*b->out->processes));
	for (size_t i = 0; i < nr; i++) {
		const struct build_process *p = &b->processes.data[order[i]];
		const struct name_process *np = names_process(b->p->names, p->latest);

		b->out->processes[i] = (struct snap_process){
			.pid = p->pid,
			.registered = build_registered_text(b, np),
			.label = build_clean_text(b, np->label),
			.initial_call = build_function_text(b, np->initial_call),
			.name = build_process_name(b, np),
			.samples = p->samples,
		};
	}
	rank_of = inverted(order, nr);
	for (size_t i = 0; i < b->stacks.len; i++) {
		if (b->stacks.data[i].process != SNAPSHOT_NONE)
			b->stacks.data[i].process = rank_of[b->stacks.data[i].process];
	}
	free(rank_of);
	vec_free(&b->processes);
	b->out->s.processes = b->out->processes;
	b->out->s.nr_processes = (uint32_t)nr;
}

/* Schedulers first, by number; unknown threads last. */
static int compare_threads(const void *pa, const void *pb, void *ctx)
{
	const struct builder *b = ctx;
	const struct build_thread *x = &b->threads.data[*(const uint32_t *)pa];
	const struct build_thread *y = &b->threads.data[*(const uint32_t *)pb];
	int order = COMPARE((unsigned int)x->type - 1, (unsigned int)y->type - 1);

	if (!order)
		order = COMPARE(x->scheduler, y->scheduler);
	if (!order)
		order = compare_text(x->name, y->name);
	return order ? order : COMPARE(x->os_tid, y->os_tid);
}

static void write_threads(struct builder *b)
{
	size_t nr = b->threads.len;
	uint32_t *order = sorted(nr, compare_threads, b), *rank_of;

	b->out->threads = xmalloc(nr * sizeof(*b->out->threads));
	for (size_t i = 0; i < nr; i++) {
		const struct build_thread *t = &b->threads.data[order[i]];

		b->out->threads[i] = (struct snap_thread){
			.name = t->name,
			.display = build_thread_display(b, t),
			.type = t->type,
			.os_tid = t->os_tid,
			.scheduler = t->scheduler,
			.samples = t->samples,
		};
	}
	rank_of = inverted(order, nr);
	for (size_t i = 0; i < b->stacks.len; i++)
		b->stacks.data[i].thread = rank_of[b->stacks.data[i].thread];
	free(rank_of);
	b->out->s.threads = b->out->threads;
	b->out->s.nr_threads = (uint32_t)nr;
}

/* ---- stacks, sorted and merged ------------------------------------------------------------ */

/* Frames are ranks here, so this compares their names. */
static int compare_stacks(const void *pa, const void *pb, void *ctx)
{
	const struct builder *b = ctx;
	const struct build_stack *x = &b->stacks.data[*(const uint32_t *)pa];
	const struct build_stack *y = &b->stacks.data[*(const uint32_t *)pb];
	const uint32_t *xf = b->paths.data + x->first, *yf = b->paths.data + y->first;
	int order;

	for (uint32_t i = 0; i < MIN(x->nr, y->nr); i++) {
		if (xf[i] != yf[i])
			return COMPARE(xf[i], yf[i]);
	}
	order = COMPARE(x->nr, y->nr);
	/* SNAPSHOT_NONE is the largest: samples without a process come last. */
	if (!order)
		order = COMPARE(x->process, y->process);
	if (!order)
		order = COMPARE(x->thread, y->thread);
	return order ? order : COMPARE(x->kind, y->kind);
}

static void write_stacks(struct builder *b)
{
	size_t nr = b->stacks.len, merged = 0, nr_frames = 0;
	uint32_t *order = sorted(nr, compare_stacks, b);
	struct snapshot_data *out = b->out;

	out->stacks = xmalloc(nr * sizeof(*out->stacks));
	out->stack_frames = xmalloc(b->paths.len * sizeof(*out->stack_frames));
	for (size_t i = 0; i < nr; i++) {
		const struct build_stack *s = &b->stacks.data[order[i]];

		if (i && compare_stacks(&order[i - 1], &order[i], b) == 0) {
			out->stacks[merged - 1].count += s->count;
			continue;
		}
		out->stacks[merged++] = (struct snap_stack){
			.first_frame = (uint32_t)nr_frames,
			.nr_frames = s->nr,
			.process = s->process,
			.thread = s->thread,
			.kind = s->kind,
			.count = s->count,
		};
		if (s->nr)
			memcpy(out->stack_frames + nr_frames, b->paths.data + s->first,
			       s->nr * sizeof(*out->stack_frames));
		nr_frames += s->nr;
	}
	free(order);
	out->stacks = xrealloc(out->stacks, merged * sizeof(*out->stacks));
	out->stack_frames = xrealloc(out->stack_frames, nr_frames * sizeof(*out->stack_frames));
	out->s.stacks = out->stacks;
	out->s.nr_stacks = (uint32_t)merged;
	out->s.stack_frames = out->stack_frames;
	out->s.nr_stack_frames = (uint32_t)nr_frames;
}

/* ---- functions ---------------------------------------------------------------------------- */

/* Functions of a scheduler that spins while it waits for work count with --idle only. */
static bool is_counted(const struct builder *b, const struct snap_stack *stack)
{
	return b->opts.idle || stack->kind != SAMPLE_WAIT;
}

/* The JIT calls BIFs and NIFs by beam_jit_call_nif() and its like, which say less than these. */
static enum build_role role_of(const struct build_function *f)
{
	switch (f->kind) {
	case FRAME_STATE:
		return BUILD_NO_CALLER;
	case FRAME_RUNTIME:
		return BUILD_CALL_HELPER;
	case FRAME_NATIVE:
		if (!f->module[0])
			return BUILD_UNNAMED;
		return strstr(f->name, ":beam_jit_call_") ? BUILD_CALL_HELPER : BUILD_CALLER;
	default:
		return BUILD_CALLER;
	}
}

/* Majority vote of Boyer and Moore, weighted: whoever has more than half is left. */
static void vote(struct build_function *f, uint32_t caller, uint64_t count)
{
	if (f->caller == caller) {
		f->called += count;
	} else if (f->called >= count) {
		f->called -= count;
	} else {
		f->caller = caller;
		f->called = count - f->called;
	}
}

typedef void count_fn(struct build_function *f, uint32_t caller, uint64_t count);

/* Calls `add` for each function of each stack, once per sample, however often it is in the stack,
 * with the innermost function that called it and has a name. */
static void for_each_function(struct builder *b, count_fn *add)
{
	const struct snapshot *s = &b->out->s;
	uint32_t *seen = xcalloc(b->functions.len, sizeof(*seen));

	for (uint32_t i = 0; i < s->nr_stacks; i++) {
		const struct snap_stack *stack = &s->stacks[i];
		const uint32_t *frames = s->stack_frames + stack->first_frame;
		uint32_t caller = SNAPSHOT_NONE;

		for (uint32_t j = 0; is_counted(b, stack) && j < stack->nr_frames; j++) {
			uint32_t function = s->frames[frames[j]].function;
			struct build_function *f;

			if (function == SNAPSHOT_NONE) {
				caller = SNAPSHOT_NONE;
				continue;
			}
			f = &b->functions.data[function];
			if (seen[function] != i + 1)
				add(f, caller, stack->count);
			seen[function] = i + 1;
			if (f->role == BUILD_CALLER)
				caller = function;
			else if (f->role == BUILD_NO_CALLER)
				caller = SNAPSHOT_NONE;
		}
	}
	free(seen);
}

static void count_total(struct build_function *f, uint32_t caller, uint64_t count)
{
	f->total += count;
	if (f->role == BUILD_UNNAMED)
		vote(f, caller, count);
}

static void count_called(struct build_function *f, uint32_t caller, uint64_t count)
{
	if (f->role == BUILD_UNNAMED && f->caller == caller)
		f->called += count;
}

static void count_self(struct builder *b)
{
	const struct snapshot *s = &b->out->s;

	for (uint32_t i = 0; i < s->nr_stacks; i++) {
		const struct snap_stack *stack = &s->stacks[i];
		uint32_t leaf = stack->first_frame + stack->nr_frames, function;

		if (!is_counted(b, stack) || !stack->nr_frames)
			continue;
		function = s->frames[s->stack_frames[leaf - 1]].function;
		if (function != SNAPSHOT_NONE)
			b->functions.data[function].self += stack->count;
	}
}

/* Counts by function, and finds the callers of those without a name. */
static void count_functions(struct builder *b)
{
	bool unnamed = false;

	for (size_t i = 0; i < b->functions.len; i++) {
		struct build_function *f = &b->functions.data[i];

		f->caller = SNAPSHOT_NONE;
		f->role = role_of(f);
		unnamed |= f->role == BUILD_UNNAMED;
	}
	for_each_function(b, count_total);
	count_self(b);
	for (size_t i = 0; i < b->functions.len; i++)
		b->functions.data[i].called = 0;
	/* Unless all native frames are there, callers are left out. */
	if (unnamed && b->opts.native == SNAPSHOT_NATIVE_FULL)
		for_each_function(b, count_called);
	for (size_t i = 0; i < b->functions.len; i++) {
		struct build_function *f = &b->functions.data[i];

		if (2 * f->called <= f->total)
			f->caller = SNAPSHOT_NONE;
	}
}

static int compare_functions(const void *pa, const void *pb, void *ctx)
{
	const struct builder *b = ctx;
	const struct build_function *x = &b->functions.data[*(const uint32_t *)pa];
	const struct build_function *y = &b->functions.data[*(const uint32_t *)pb];
	int order = COMPARE(y->self, x->self);

	if (!order)
		order = COMPARE(y->total, x->total);
	if (!order)
		order = compare_text(x->name, y->name);
	if (!order)
		order = COMPARE(x->kind, y->kind);
	return order ? order : compare_text(x->module, y->module);
}

static void write_functions(struct builder *b)
{
	size_t nr = b->functions.len;
	struct snapshot_data *out = b->out;
	uint32_t *order, *rank_of, *function;

	count_functions(b);
	order = sorted(nr, compare_functions, b);
	out->functions = xmalloc(nr * sizeof(*out->functions));
	for (size_t i = 0; i < nr; i++) {
		const struct build_function *f = &b->functions.data[order[i]];

		out->s.nr_functions += f->total > 0;
		out->functions[i] = (struct snap_function){
			.name = f->name,
			.module = f->module,
			.file = f->place.file,
			.kind = f->kind,
			.symbol_source = f->symbol_source,
			.self = f->self,
			.total = f->total,
			.caller = f->caller == SNAPSHOT_NONE ? NULL
							     : b->functions.data[f->caller].name,
			.called = f->caller == SNAPSHOT_NONE ? 0 : f->called,
		};
	}
	rank_of = inverted(order, nr);
	for (uint32_t i = 0; i < out->s.nr_frames; i++) {
		function = &out->frames[i].function;
		if (*function != SNAPSHOT_NONE)
			*function = rank_of[*function];
		if (*function >= out->s.nr_functions)
			*function = SNAPSHOT_NONE;
	}
	free(rank_of);
	out->s.functions = out->functions;
}

void build_order(struct builder *b)
{
	write_frames(b);
	write_processes(b);
	write_threads(b);
	write_stacks(b);
	write_functions(b);
}
