/* SPDX-License-Identifier: BSD-2-Clause */
/* profile_snapshot(): selects samples, finds their owners and stacks, and puts everything in order
 * (see snapshot_build.h).  profile_snapshot() calls the steps in their order. */
#include "model/profile/snapshot_build.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/compiler.h"

/* ---- which samples count ------------------------------------------------------------------ */

static void take_overflow(struct builder *b, bool idle)
{
	for (unsigned int i = 0; i < NR_SAMPLE_KINDS * NR_SAMPLE_STATUSES; i++) {
		struct profile_entry e = {
			.thread = BUILD_OVERFLOW,
			.kind = (uint8_t)(i / NR_SAMPLE_STATUSES),
			.status = (uint8_t)(i % NR_SAMPLE_STATUSES),
		};

		e.count = b->p->overflow[idle][e.kind][e.status];
		if (e.count)
			vec_push(&b->entries, e);
	}
}

/* Whether the entry is of the process that was asked for. */
static bool is_wanted(const struct builder *b, const struct profile_entry *e)
{
	const struct name_process *p;

	if (!b->opts.only_process)
		return true;
	p = names_process(b->p->names, e->process);
	return p && strcmp(p->pid, b->opts.only_process) == 0;
}

static void take_entries(struct builder *b)
{
	struct snapshot *s = &b->out->s;

	for (size_t i = 0; i < b->p->entries.v.len; i++) {
		const struct profile_entry *e = &b->p->entries.v.data[i];

		if (is_wanted(b, e) && (b->opts.idle || !profile_is_idle(b->p, e->stack, e->kind)))
			vec_push(&b->entries, *e);
	}
	if (!b->opts.only_process)
		take_overflow(b, false);
	if (b->opts.idle && !b->opts.only_process)
		take_overflow(b, true);
	for (size_t i = 0; i < b->entries.len; i++) {
		const struct profile_entry *e = &b->entries.data[i];

		s->samples += e->count;
		s->by_kind[e->kind] += e->count;
		s->by_status[e->status] += e->count;
	}
}

static void take_span(struct builder *b)
{
	struct snapshot *s = &b->out->s;
	const struct profile_span *work = &b->p->span[0], *sleep = &b->p->span[1];

	s->first_ns = work->first_ns;
	s->last_ns = work->last_ns;
	if (b->opts.idle && sleep->first_ns) {
		s->first_ns = s->first_ns ? MIN(s->first_ns, sleep->first_ns) : sleep->first_ns;
		s->last_ns = MAX(s->last_ns, sleep->last_ns);
	}
}

/* ---- whose they are ----------------------------------------------------------------------- */

static bool process_equal(const void *ctx, uint32_t id, const void *key)
{
	const struct builder *b = ctx;
	const struct build_process *x = &b->processes.data[id], *y = key;

	return x->epid == y->epid && x->pid == y->pid;
}

static uint32_t make_process(struct builder *b, uint32_t process)
{
	const struct name_process *np = names_process(b->p->names, process);
	struct build_process p = {
		.epid = np->epid,
		.pid = build_clean_text(b, np->pid),
		.latest = process,
		.group = SNAPSHOT_NONE,
	};
	uint32_t hash = hash_mix(hash_mix(0, p.epid), (uintptr_t)p.pid);
	uint32_t id = idmap_find(&b->process_index, hash, process_equal, b, &p);
	const uint64_t *last_ns = b->p->process_last_ns.data;
	struct build_process *known;

	if (id == IDMAP_NONE) {
		id = (uint32_t)b->processes.len;
		vec_push(&b->processes, p);
		idmap_add(&b->process_index, hash, id);
	}
	known = &b->processes.data[id];
	if (last_ns[process - 1] > last_ns[known->latest - 1] ||
	    (last_ns[process - 1] == last_ns[known->latest - 1] && process > known->latest))
		known->latest = process;
	return id;
}

static bool thread_equal(const void *ctx, uint32_t id, const void *key)
{
	const struct builder *b = ctx;
	const struct build_thread *x = &b->threads.data[id], *y = key;

	return x->os_tid == y->os_tid && x->name == y->name;
}

/* The type of a thread may be known only after its first samples. */
static void merge_thread(struct build_thread *known, const struct build_thread *t)
{
	bool better = known->type == THREAD_UNKNOWN ||
		      (t->type != THREAD_UNKNOWN &&
		       (t->type < known->type ||
			(t->type == known->type && t->scheduler > known->scheduler)));

	if (better) {
		known->type = t->type;
		known->scheduler = t->scheduler;
	}
}

static uint32_t intern_thread(struct builder *b, const struct build_thread *t)
{
	uint32_t hash = hash_mix(t->os_tid, (uintptr_t)t->name);
	uint32_t id = idmap_find(&b->thread_index, hash, thread_equal, b, t);

	if (id == IDMAP_NONE) {
		id = (uint32_t)b->threads.len;
		vec_push(&b->threads, *t);
		idmap_add(&b->thread_index, hash, id);
	} else {
		merge_thread(&b->threads.data[id], t);
	}
	return id;
}

static uint32_t make_thread(struct builder *b, uint32_t thread)
{
	const struct name_thread *nt = names_thread(b->p->names, thread);
	struct build_thread t = {
		.os_tid = nt->os_tid,
		.type = nt->type,
		.scheduler = nt->scheduler,
		.name = build_clean_text(b, nt->name ? nt->name : ""),
		.group = SNAPSHOT_NONE,
	};

	return intern_thread(b, &t);
}

static uint32_t make_overflow_thread(struct builder *b)
{
	struct build_thread t = {
		.name = build_clean_text(b, "[overflow]"),
		.group = SNAPSHOT_NONE,
	};

	return intern_thread(b, &t);
}

/* Index of an entry's thread; sets *process to that of its process. */
static uint32_t owner_of(const struct builder *b, const struct profile_entry *e,
			 uint32_t overflow_thread, uint32_t *process)
{
	*process = e->process ? b->process_of[e->process] : SNAPSHOT_NONE;
	return e->thread == BUILD_OVERFLOW ? overflow_thread : b->thread_of[e->thread];
}

static void build_owners(struct builder *b)
{
	uint32_t overflow_thread = SNAPSHOT_NONE, process, thread;

	for (size_t i = 0; i < b->entries.len; i++) {
		const struct profile_entry *e = &b->entries.data[i];

		if (e->process && b->process_of[e->process] == SNAPSHOT_NONE)
			b->process_of[e->process] = make_process(b, e->process);
		if (e->thread == BUILD_OVERFLOW)
			overflow_thread = make_overflow_thread(b);
		else if (b->thread_of[e->thread] == SNAPSHOT_NONE)
			b->thread_of[e->thread] = make_thread(b, e->thread);
		thread = owner_of(b, e, overflow_thread, &process);
		b->threads.data[thread].samples += e->count;
		if (process != SNAPSHOT_NONE)
			b->processes.data[process].samples += e->count;
		vec_push(&b->stacks, ((struct build_stack){
					     .count = e->count,
					     .process = process,
					     .thread = thread,
					     .kind = (enum sample_kind)e->kind,
				     }));
	}
}

/* ---- their stacks ------------------------------------------------------------------------- */

/* `has_native`: a frame of C code nearer to the leaf is shown. */
static bool is_shown(const struct builder *b, enum frame_kind kind, bool has_native)
{
	switch (kind) {
	case FRAME_NATIVE:
		if (has_native && b->opts.native == SNAPSHOT_NATIVE_LEAF)
			return false;
		return b->opts.native != SNAPSHOT_NATIVE_NONE;
	case FRAME_RUNTIME:
		return b->opts.native != SNAPSHOT_NATIVE_NONE;
	case FRAME_KERNEL:
		return !b->opts.no_kernel;
	case FRAME_ERLANG:
	case FRAME_BIF:
	case FRAME_NIF:
	case FRAME_ELIDED:
	case FRAME_STATE:
		break;
	}
	return true;
}

/* The dictionary has a stack from its leaf on; paths begin at the root. */
static void push_frames(struct builder *b, const struct profile_entry *e)
{
	size_t first = b->paths.len;
	const struct names *names = b->p->names;
	const struct name_stack *s;
	enum frame_kind last = FRAME_ERLANG;
	bool has_native = false;

	for (uint32_t id = e->stack; id; id = s->parent) {
		enum frame_kind kind;

		s = names_stack(names, id);
		kind = names_function(names, names_frame(names, s->frame)->function)->kind;
		/* An elided frame next to C frames stands for C frames that were not unwound: it is
		 * shown if those are. */
		if (kind == FRAME_ELIDED && last == FRAME_NATIVE)
			kind = FRAME_NATIVE;
		last = kind;
		if (is_shown(b, kind, has_native)) {
			has_native |= kind == FRAME_NATIVE;
			b->frame_weight[s->frame] += e->count;
			vec_push(&b->paths, build_frame(b, s->frame));
		}
	}
	for (size_t i = first, j = b->paths.len; i + 1 < j; i++) {
		uint32_t frame = b->paths.data[i];

		b->paths.data[i] = b->paths.data[--j];
		b->paths.data[j] = frame;
	}
}

static uint32_t kind_frame(struct builder *b, uint8_t kind)
{
	struct strbuf text = STRBUF_INIT;

	if (b->kind_frames[kind] == SNAPSHOT_NONE) {
		strbuf_addf(&text, "[%s]", sample_kind_name((enum sample_kind)kind));
		b->kind_frames[kind] = build_label_frame(b, text.buf);
		strbuf_free(&text);
	}
	return b->kind_frames[kind];
}

static void build_stacks(struct builder *b)
{
	for (size_t i = 0; i < b->entries.len; i++) {
		const struct profile_entry *e = &b->entries.data[i];
		struct build_stack *stack = &b->stacks.data[i];
		uint32_t group = build_group(b, e);

		stack->first = (uint32_t)b->paths.len;
		if (b->opts.kind_root)
			vec_push(&b->paths, kind_frame(b, e->kind));
		if (group != SNAPSHOT_NONE)
			vec_push(&b->paths, group);
		if (e->thread == BUILD_OVERFLOW)
			vec_push(&b->paths, build_overflow_frame(b));
		else
			push_frames(b, e);
		stack->nr = (uint32_t)b->paths.len - stack->first;
	}
}

/* ---- facts -------------------------------------------------------------------------------- */

static int compare_meta(const void *x, const void *y)
{
	return strcmp(((const struct snap_meta *)x)->key, ((const struct snap_meta *)y)->key);
}

static int compare_counters(const void *x, const void *y)
{
	return strcmp(((const struct snap_counter *)x)->name,
		      ((const struct snap_counter *)y)->name);
}

/* The value of "warnings" has one warning in each line, so its newlines are kept. */
static const char *clean_value(struct builder *b, const struct profile_meta *m)
{
	struct strbuf lines = STRBUF_INIT;
	const char *p = m->value, *text;

	if (strcmp(m->key, "warnings") != 0)
		return build_clean_text(b, m->value);
	while (*p) {
		size_t len = strcspn(p, "\n");

		names_format_text(&lines, p, len);
		p += len;
		if (*p++ != '\n')
			break;
		strbuf_addch(&lines, '\n');
	}
	text = build_text(b, lines.len ? lines.buf : "", lines.len);
	strbuf_free(&lines);
	return text;
}

static void write_facts(struct builder *b)
{
	const struct profile *p = b->p;
	struct snapshot_data *out = b->out;

	out->meta = xmalloc(p->meta.len * sizeof(*out->meta));
	for (size_t i = 0; i < p->meta.len; i++) {
		out->meta[i].key = build_clean_text(b, p->meta.data[i].key);
		out->meta[i].value = clean_value(b, &p->meta.data[i]);
	}
	qsort(out->meta, p->meta.len, sizeof(*out->meta), compare_meta);
	out->counters = xmalloc(p->counters.len * sizeof(*out->counters));
	for (size_t i = 0; i < p->counters.len; i++) {
		out->counters[i].name = build_clean_text(b, p->counters.data[i].name);
		out->counters[i].value = p->counters.data[i].value;
	}
	qsort(out->counters, p->counters.len, sizeof(*out->counters), compare_counters);
	out->s.meta = out->meta;
	out->s.nr_meta = (uint32_t)p->meta.len;
	out->s.counters = out->counters;
	out->s.nr_counters = (uint32_t)p->counters.len;
	out->s.ended = p->ended;
	out->s.dropped_unknown = p->dropped_unknown;
	out->s.options = b->opts;
	out->s.options.only_process = NULL; /* owned by the caller */
}

/* ---- all of it ---------------------------------------------------------------------------- */

/* An array indexed by ids of the dictionary, filled with SNAPSHOT_NONE. */
static uint32_t *id_array(const struct builder *b, enum names_table table)
{
	size_t size = ((size_t)names_count(b->p->names, table) + 1) * sizeof(uint32_t);

	return memset(xmalloc(size), 0xff, size);
}

static void builder_open(struct builder *b, const struct profile *p,
			 const struct snapshot_options *opts)
{
	memset(b, 0, sizeof(*b));
	b->p = p;
	b->opts = *opts;
	b->out = xcalloc(1, sizeof(*b->out));
	strbuf_init(&b->scratch);
	b->frame_of = id_array(b, NAMES_FRAMES);
	b->process_of = id_array(b, NAMES_PROCESSES);
	b->name_group_of = id_array(b, NAMES_PROCESSES);
	b->call_group_of = id_array(b, NAMES_PROCESSES);
	b->thread_of = id_array(b, NAMES_THREADS);
	b->frame_weight =
		xcalloc((size_t)names_count(p->names, NAMES_FRAMES) + 1, sizeof(*b->frame_weight));
	memset(b->kind_frames, 0xff, sizeof(b->kind_frames));
}

/* Frees what is not needed any more once there are stacks: large if there are very many
 * processes. */
static void free_entries(struct builder *b)
{
	vec_free(&b->entries);
	idmap_free(&b->process_index);
	free(b->process_of);
	free(b->name_group_of);
	free(b->call_group_of);
}

/* Frees all but the snapshot, which belongs to the caller now. */
static void builder_close(struct builder *b)
{
	strbuf_free(&b->scratch);
	vec_free(&b->texts);
	vec_free(&b->functions);
	vec_free(&b->frames);
	vec_free(&b->threads);
	vec_free(&b->paths);
	vec_free(&b->stacks);
	idmap_free(&b->text_index);
	idmap_free(&b->function_index);
	idmap_free(&b->frame_index);
	idmap_free(&b->thread_index);
	free(b->frame_of);
	free(b->thread_of);
	free(b->frame_weight);
}

int profile_snapshot(const struct profile *p, const struct snapshot_options *opts,
		     struct snapshot **out, struct error *err)
{
	struct builder b;

	if ((unsigned int)opts->by > SNAPSHOT_BY_NONE)
		return error_set(err, ERROR_KIND_FAILED, -EINVAL, "no such grouping: %u",
				 (unsigned int)opts->by);
	builder_open(&b, p, opts);
	take_entries(&b);
	take_span(&b);
	build_owners(&b);
	build_stacks(&b);
	free_entries(&b);
	build_places(&b);
	build_order(&b);
	write_facts(&b);
	*out = &b.out->s;
	builder_close(&b);
	return 0;
}
