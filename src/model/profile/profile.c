/* SPDX-License-Identifier: BSD-2-Clause */
/* See profile.h.  Definitions go into a dictionary, which checks them; equal samples are counted
 * together, so memory grows with the variety of a recording and not with its length. */
#include "model/profile/profile_internal.h"

#include <errno.h>
#include <string.h>

#include "base/compiler.h"
#include "base/units.h"

/* Limits; recordings have about 20 of each. */
#define MAX_META     1024u
#define MAX_COUNTERS 1024u

#define IDLE_STATE "[idle]"

struct profile *profile_open(void)
{
	return profile_open_limited(PROFILE_LIMIT);
}

struct profile *profile_open_limited(uint32_t max_entries)
{
	struct profile *p = xcalloc(1, sizeof(*p));

	p->names = names_open();
	p->max_entries = max_entries;
	return p;
}

struct profile *profile_open_over(struct names *names)
{
	struct profile *p = xcalloc(1, sizeof(*p));

	p->names = names;
	p->borrowed = true;
	p->max_entries = PROFILE_LIMIT;
	return p;
}

void profile_close(struct profile *p)
{
	if (!p)
		return;
	for (size_t i = 0; i < p->meta.len; i++) {
		free(p->meta.data[i].key);
		free(p->meta.data[i].value);
	}
	vec_free(&p->meta);
	vec_free(&p->counters);
	profile_entries_free(&p->entries);
	vec_free(&p->process_last_ns);
	if (!p->borrowed)
		names_close(p->names);
	free(p);
}

void profile_count_refused(struct profile *p)
{
	p->dropped_unknown++;
}

void profile_scale(struct profile *p, double factor)
{
	p->samples = 0;
	for (size_t i = 0; i < p->entries.v.len; i++) {
		struct profile_entry *e = &p->entries.v.data[i];

		e->count = units_scale(e->count, factor);
		if (!profile_is_idle(p, e->stack, e->kind))
			p->samples += e->count;
	}
	for (int idle = 0; idle < 2; idle++)
		for (int kind = 0; kind < NR_SAMPLE_KINDS; kind++)
			for (int status = 0; status < NR_SAMPLE_STATUSES; status++) {
				uint64_t *n = &p->overflow[idle][kind][status];

				*n = units_scale(*n, factor);
				p->samples += idle ? 0 : *n;
			}
}

uint64_t profile_samples(const struct profile *p)
{
	return p->samples;
}

bool profile_is_idle(const struct profile *p, uint32_t stack, uint8_t kind)
{
	const struct name_stack *s = kind == SAMPLE_WAIT ? names_stack(p->names, stack) : NULL;
	const struct name_function *f;

	if (!s)
		return false;
	f = names_function(p->names, names_frame(p->names, s->frame)->function);
	return f->kind == FRAME_STATE && strcmp(f->name, IDLE_STATE) == 0;
}

/* ---- samples ------------------------------------------------------------------------------ */

bool profile_entry_of(struct profile_entry *e, const struct names *names, const struct event *ev)
{
	*e = (struct profile_entry){
		.stack = ev->u.sample.stack,
		.process = ev->u.sample.process,
		.thread = ev->u.sample.thread,
		.kind = (uint8_t)ev->u.sample.kind,
		.status = (uint8_t)ev->u.sample.status,
		.count = ev->u.sample.weight,
	};
	return (!e->stack || names_stack(names, e->stack)) &&
	       (!e->process || names_process(names, e->process)) && names_thread(names, e->thread);
}

static bool entry_equal(const void *ctx, uint32_t id, const void *key)
{
	const struct profile_entries *s = ctx;
	const struct profile_entry *a = &s->v.data[id], *b = key;

	return a->stack == b->stack && a->process == b->process && a->thread == b->thread &&
	       a->kind == b->kind && a->status == b->status;
}

static uint32_t entry_hash(const struct profile_entry *e)
{
	uint32_t hash = hash_mix(e->kind, (uint64_t)e->stack << 32 | e->process);

	return hash_mix(hash, (uint64_t)e->thread << 32 | e->status);
}

bool profile_entries_add(struct profile_entries *s, const struct names *names,
			 const struct profile_entry *e, uint32_t max)
{
	uint32_t hash = entry_hash(e), at = idmap_find(&s->index, hash, entry_equal, s, e);
	uint32_t depth;

	if (at != IDMAP_NONE) {
		s->v.data[at].count += e->count;
		return true;
	}
	depth = names_stack_depth(names, e->stack);
	if (s->v.len >= max || s->stack_frames + depth > PROFILE_MAX_FRAMES)
		return false;
	s->stack_frames += depth;
	idmap_add(&s->index, hash, (uint32_t)s->v.len);
	vec_push(&s->v, *e);
	return true;
}

void profile_entries_free(struct profile_entries *s)
{
	vec_free(&s->v);
	idmap_free(&s->index);
	s->stack_frames = 0;
}

static void note_time(struct profile_span *span, uint64_t ts_ns)
{
	if (!span->first_ns || ts_ns < span->first_ns)
		span->first_ns = ts_ns;
	if (ts_ns > span->last_ns)
		span->last_ns = ts_ns;
}

static void note_process(struct profile *p, uint32_t process, uint64_t ts_ns)
{
	uint64_t *last;

	if (!process)
		return;
	while (p->process_last_ns.len < process)
		vec_push(&p->process_last_ns, 0);
	last = &p->process_last_ns.data[process - 1];
	*last = MAX(*last, ts_ns);
}

void profile_add(struct profile *p, const struct profile_entry *e, uint64_t ts_ns)
{
	bool idle = profile_is_idle(p, e->stack, e->kind);

	if (!profile_entries_add(&p->entries, p->names, e, p->max_entries))
		p->overflow[idle][e->kind][e->status] += e->count;
	note_time(&p->span[idle], ts_ns);
	note_process(p, e->process, ts_ns);
	if (!idle)
		p->samples += e->count;
}

void profile_add_overflow(struct profile *p, uint8_t kind, uint8_t status, uint64_t count)
{
	p->overflow[0][kind][status] += count;
	p->samples += count;
}

void profile_clear_samples(struct profile *p)
{
	profile_entries_free(&p->entries);
	memset(p->overflow, 0, sizeof(p->overflow));
	memset(p->span, 0, sizeof(p->span));
	p->samples = p->applied = 0;
	p->process_last_ns.len = 0;
}

void profile_use_names(struct profile *p, struct names *names)
{
	p->names = names;
	p->counters.len = 0; /* names are of the old dictionary */
}

static int apply_sample(struct profile *p, const struct event *ev)
{
	struct profile_entry e;

	if (!profile_entry_of(&e, p->names, ev)) {
		p->dropped_unknown += e.count;
		return -EINVAL;
	}
	/* Values of a damaged file may be anything: sums must not wrap. */
	if (__builtin_add_overflow(p->applied, e.count, &p->applied)) {
		p->applied -= e.count;
		p->dropped_unknown++;
		return -EINVAL;
	}
	profile_add(p, &e, ev->ts_ns);
	return 0;
}

/* ---- facts -------------------------------------------------------------------------------- */

/* A later value of a key replaces the earlier one. */
static int apply_meta(struct profile *p, const struct event *ev)
{
	size_t key_len = MIN(ev->u.meta.key_len, NAMES_MAX_STRING);
	size_t value_len = MIN(ev->u.meta.value_len, NAMES_MAX_STRING);
	char *key = xstrndup(ev->u.meta.key, key_len);
	char *value = xstrndup(ev->u.meta.value, value_len);

	for (size_t i = 0; i < p->meta.len; i++) {
		if (strcmp(p->meta.data[i].key, key) == 0) {
			free(key);
			free(p->meta.data[i].value);
			p->meta.data[i].value = value;
			return 0;
		}
	}
	if (p->meta.len >= MAX_META) {
		free(key);
		free(value);
		return -ENOSPC;
	}
	vec_push(&p->meta, ((struct profile_meta){.key = key, .value = value}));
	return 0;
}

/* The latest value counts; of two with the same time, the larger, as counters never fall. */
static int apply_counter(struct profile *p, const struct event *ev)
{
	struct profile_counter c = {
		.name = names_string(p->names, ev->u.counter.name),
		.value = ev->u.counter.value,
		.ts_ns = ev->ts_ns,
	};

	if (!c.name)
		return -EINVAL;
	for (size_t i = 0; i < p->counters.len; i++) {
		struct profile_counter *old = &p->counters.data[i];

		if (strcmp(old->name, c.name) == 0) {
			if (c.ts_ns > old->ts_ns || (c.ts_ns == old->ts_ns && c.value > old->value))
				*old = c;
			return 0;
		}
	}
	if (p->counters.len >= MAX_COUNTERS)
		return -ENOSPC;
	vec_push(&p->counters, c);
	return 0;
}

static int apply_other(struct profile *p, const struct event *ev)
{
	int rc = event_define(p->names, ev);

	if (rc)
		return rc < 0 ? rc : 0;
	switch (ev->type) {
	case REC_META:
		return apply_meta(p, ev);
	case REC_COUNTER:
		return apply_counter(p, ev);
	case REC_END:
		p->ended = true;
		return 0;
	default: /* not for profiles, or of a later version */
		return 0;
	}
}

int profile_apply(struct profile *p, const struct event *ev)
{
	int ret;

	if (ev->type == REC_SAMPLE)
		return apply_sample(p, ev);
	ret = apply_other(p, ev);
	if (ret)
		p->dropped_unknown++;
	return ret;
}
