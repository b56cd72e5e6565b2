/* SPDX-License-Identifier: BSD-2-Clause */
/* The part of making a snapshot that turns ids into texts, frames, functions and groups (see
 * snapshot_build.h).  Frames of the dictionary that look the same become one frame. */
#include "model/profile/snapshot_build.h"

#include <string.h>

/* ---- texts -------------------------------------------------------------------------------- */

struct text_key {
	const char *s;
	size_t len;
};

static bool text_equal(const void *ctx, uint32_t id, const void *key)
{
	const struct builder *b = ctx;
	const struct text_key *k = key;
	const char *text = b->texts.data[id];

	return strncmp(text, k->s, k->len) == 0 && text[k->len] == '\0';
}

const char *build_text(struct builder *b, const char *s, size_t len)
{
	struct text_key key = {.s = s, .len = len};
	uint32_t hash = hash_bytes(s, len);
	uint32_t id = idmap_find(&b->text_index, hash, text_equal, b, &key);

	if (id == IDMAP_NONE) {
		id = (uint32_t)b->texts.len;
		vec_push(&b->texts, arena_strndup(&b->out->strings, s, len));
		idmap_add(&b->text_index, hash, id);
	}
	return b->texts.data[id];
}

static const char *text_of_scratch(struct builder *b)
{
	const char *text = build_text(b, b->scratch.buf, b->scratch.len);

	strbuf_reset(&b->scratch);
	return text;
}

const char *build_clean_text(struct builder *b, const char *s)
{
	if (!s)
		return NULL;
	names_format_text(&b->scratch, s, strlen(s));
	return text_of_scratch(b);
}

const char *build_function_text(struct builder *b, uint32_t function)
{
	const struct name_function *f = names_function(b->p->names, function);

	if (!f)
		return NULL;
	names_format_function(&b->scratch, f);
	return text_of_scratch(b);
}

static const char *module_text(struct builder *b, const struct name_function *f)
{
	if (f->module && (f->kind == FRAME_ERLANG || f->kind == FRAME_BIF || f->kind == FRAME_NIF))
		names_format_module(&b->scratch, f->module, strlen(f->module));
	else if (f->module)
		names_format_text(&b->scratch, f->module, strlen(f->module));
	return text_of_scratch(b);
}

const char *build_registered_text(struct builder *b, const struct name_process *p)
{
	if (!p->registered)
		return NULL;
	names_format_module(&b->scratch, p->registered, strlen(p->registered));
	return text_of_scratch(b);
}

const char *build_process_name(struct builder *b, const struct name_process *p)
{
	if (p->registered)
		return build_registered_text(b, p);
	if (p->label)
		return build_clean_text(b, p->label);
	if (p->initial_call)
		return build_function_text(b, p->initial_call);
	return build_clean_text(b, p->pid);
}

const char *build_thread_display(struct builder *b, const struct build_thread *t)
{
	static const char *const titles[] = {
		[THREAD_NORMAL] = "scheduler",
		[THREAD_DIRTY_CPU] = "dirty cpu",
		[THREAD_DIRTY_IO] = "dirty io",
		[THREAD_OTHER] = NULL,
	};

	if (t->scheduler && titles[t->type])
		strbuf_addf(&b->scratch, "%s %u", titles[t->type], t->scheduler);
	else if (t->name[0])
		strbuf_addstr(&b->scratch, t->name);
	else
		strbuf_addf(&b->scratch, "thread %u", t->os_tid);
	return text_of_scratch(b);
}

/* ---- functions and frames ----------------------------------------------------------------- */

static bool function_equal(const void *ctx, uint32_t id, const void *key)
{
	const struct builder *b = ctx;
	const struct build_function *x = &b->functions.data[id], *y = key;

	return x->name == y->name && x->module == y->module && x->kind == y->kind;
}

static uint32_t intern_function(struct builder *b, const struct build_function *f)
{
	uint32_t hash = hash_mix(hash_mix(f->kind, (uintptr_t)f->name), (uintptr_t)f->module);
	uint32_t id = idmap_find(&b->function_index, hash, function_equal, b, f);

	if (id == IDMAP_NONE) {
		id = (uint32_t)b->functions.len;
		vec_push(&b->functions, *f);
		idmap_add(&b->function_index, hash, id);
	}
	return id;
}

static bool frame_equal(const void *ctx, uint32_t id, const void *key)
{
	const struct builder *b = ctx;
	const struct build_frame *x = &b->frames.data[id], *y = key;

	return x->name == y->name && x->module == y->module && x->kind == y->kind &&
	       x->function == y->function &&
	       (!b->opts.lines ||
		(x->place.file == y->place.file && x->place.line == y->place.line));
}

static uint32_t intern_frame(struct builder *b, const struct build_frame *f)
{
	uint32_t hash = hash_mix(hash_mix(f->kind, (uintptr_t)f->name), (uintptr_t)f->module);
	uint32_t id;

	hash = hash_mix(hash, f->function);
	if (b->opts.lines)
		hash = hash_mix(hash_mix(hash, (uintptr_t)f->place.file), f->place.line);
	id = idmap_find(&b->frame_index, hash, frame_equal, b, f);
	if (id == IDMAP_NONE) {
		id = (uint32_t)b->frames.len;
		vec_push(&b->frames, *f);
		idmap_add(&b->frame_index, hash, id);
	}
	return id;
}

static uint32_t make_frame(struct builder *b, const struct name_frame *nf)
{
	const struct name_function *nfn = names_function(b->p->names, nf->function);
	struct build_function function = {
		.name = build_function_text(b, nf->function),
		.module = module_text(b, nfn),
		.kind = nfn->kind,
		.symbol_source = nfn->symbol_source,
	};
	struct build_frame frame = {
		.name = function.name,
		.module = function.module,
		.kind = nfn->kind,
		.function = SNAPSHOT_NONE,
	};

	/* "[... 12 frames ...]" is not a function. */
	if (nfn->kind != FRAME_ELIDED)
		frame.function = intern_function(b, &function);
	if (b->opts.lines) {
		frame.place.file = build_clean_text(b, nf->file);
		frame.place.line = nf->line;
		if (nf->line) {
			strbuf_addf(&b->scratch, "%s:%u", frame.name, nf->line);
			frame.name = text_of_scratch(b);
		}
	}
	return intern_frame(b, &frame);
}

uint32_t build_frame(struct builder *b, uint32_t frame)
{
	if (b->frame_of[frame] == SNAPSHOT_NONE)
		b->frame_of[frame] = make_frame(b, names_frame(b->p->names, frame));
	return b->frame_of[frame];
}

uint32_t build_label_frame(struct builder *b, const char *text)
{
	struct build_frame frame = {
		.name = build_text(b, text, strlen(text)),
		.module = build_text(b, "", 0),
		.kind = FRAME_STATE,
		.function = SNAPSHOT_NONE,
	};

	return intern_frame(b, &frame);
}

uint32_t build_overflow_frame(struct builder *b)
{
	struct build_function function = {
		.name = build_text(b, "[overflow]", strlen("[overflow]")),
		.module = build_text(b, "", 0),
		.kind = FRAME_STATE,
	};
	struct build_frame frame = {
		.name = function.name,
		.module = function.module,
		.kind = FRAME_STATE,
		.function = intern_function(b, &function),
	};

	return intern_frame(b, &frame);
}

/* ---- groups ------------------------------------------------------------------------------- */

static uint32_t thread_group(struct builder *b, const struct profile_entry *e)
{
	struct build_thread *t = &b->threads.data[b->thread_of[e->thread]];

	if (t->group == SNAPSHOT_NONE)
		t->group = build_label_frame(b, build_thread_display(b, t));
	return t->group;
}

/* By the name that the process had when it was sampled. */
static uint32_t name_group(struct builder *b, uint32_t process)
{
	uint32_t *group = &b->name_group_of[process];

	if (*group == SNAPSHOT_NONE)
		*group = build_label_frame(
			b, build_process_name(b, names_process(b->p->names, process)));
	return *group;
}

/* One group for each process, with its latest name. */
static uint32_t process_group(struct builder *b, uint32_t process)
{
	struct build_process *p = &b->processes.data[b->process_of[process]];
	const char *name;

	if (p->group != SNAPSHOT_NONE)
		return p->group;
	name = build_process_name(b, names_process(b->p->names, p->latest));
	strbuf_addstr(&b->scratch, p->pid);
	if (name != p->pid)
		strbuf_addf(&b->scratch, " %s", name);
	p->group = build_label_frame(b, text_of_scratch(b));
	return p->group;
}

static uint32_t call_group(struct builder *b, uint32_t process)
{
	uint32_t *group = &b->call_group_of[process];
	const char *text;

	if (*group == SNAPSHOT_NONE) {
		text = build_function_text(b, names_process(b->p->names, process)->initial_call);
		*group = build_label_frame(b, text ? text : "[unknown initial call]");
	}
	return *group;
}

uint32_t build_group(struct builder *b, const struct profile_entry *e)
{
	if (b->opts.by == SNAPSHOT_BY_NONE)
		return SNAPSHOT_NONE;
	if (e->thread == BUILD_OVERFLOW)
		return build_label_frame(b, "[overflow]");
	if (!e->process || b->opts.by == SNAPSHOT_BY_SCHEDULER)
		return thread_group(b, e);
	if (b->opts.by == SNAPSHOT_BY_PROCESS)
		return process_group(b, e->process);
	if (b->opts.by == SNAPSHOT_BY_INITIAL_CALL)
		return call_group(b, e->process);
	return name_group(b, e->process);
}

/* ---- places ------------------------------------------------------------------------------- */

/* A known line before an unknown one, then by samples, then by a fixed order. */
static bool is_better(const struct build_place *a, const struct build_place *b)
{
	if (!a->line != !b->line)
		return a->line != 0;
	if (!a->file != !b->file)
		return a->file != NULL;
	if (a->weight != b->weight)
		return a->weight > b->weight;
	if (a->line != b->line)
		return a->line < b->line;
	return a->file && strcmp(a->file, b->file) < 0;
}

void build_places(struct builder *b)
{
	uint32_t nr = names_count(b->p->names, NAMES_FRAMES);

	for (uint32_t id = 1; id <= nr; id++) {
		const struct name_frame *nf = names_frame(b->p->names, id);
		struct build_place place = {.line = nf->line, .weight = b->frame_weight[id]};
		struct build_frame *frame;

		if (!place.weight)
			continue;
		place.file = build_clean_text(b, nf->file);
		frame = &b->frames.data[b->frame_of[id]];
		if (!b->opts.lines && is_better(&place, &frame->place))
			frame->place = place;
		if (frame->function != SNAPSHOT_NONE &&
		    is_better(&place, &b->functions.data[frame->function].place))
			b->functions.data[frame->function].place = place;
	}
}
