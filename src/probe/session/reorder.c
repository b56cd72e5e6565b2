/* SPDX-License-Identifier: BSD-2-Clause */
/* See reorder.h. */
#include "probe/session/reorder.h"

#include <stdlib.h>
#include <string.h>

#include "base/compiler.h"
#include "base/vec.h"

struct pending {
	uint64_t ts_ns;
	uint64_t nr;   /* in order of reorder_add() */
	size_t offset; /* in bytes.data */
};

struct reorder {
	VEC(unsigned char) bytes;    /* the copies, 8-byte aligned */
	size_t held;		     /* bytes of these that belong to a record in the heap */
	VEC(struct pending) records; /* a binary heap: the earliest first */
	uint64_t added, limit_ns;
	bool released;
	uint64_t last_ns;
	uint64_t late;
	size_t max_size;
};

void reorder_open(struct reorder **out)
{
	*out = xcalloc(1, sizeof(**out));
	(*out)->max_size = REORDER_MAX_SIZE;
}

void reorder_expect(struct reorder *r, size_t rings)
{
	r->max_size = MAX(REORDER_MAX_SIZE, 2 * rings);
}

void reorder_close(struct reorder *r)
{
	if (!r)
		return;
	vec_free(&r->bytes);
	vec_free(&r->records);
	free(r);
}

/* ---- the heap -------------------------------------------------------------------------------- */

/* Records of equal time stay in the order in which they were added. */
static bool is_before(const struct pending *a, const struct pending *b)
{
	return a->ts_ns != b->ts_ns ? a->ts_ns < b->ts_ns : a->nr < b->nr;
}

static void push(struct reorder *r, struct pending p)
{
	struct pending *all;
	size_t at = r->records.len;

	vec_push(&r->records, p);
	all = r->records.data;
	for (; at && is_before(&p, &all[(at - 1) / 2]); at = (at - 1) / 2)
		all[at] = all[(at - 1) / 2];
	all[at] = p;
}

static struct pending pop(struct reorder *r)
{
	struct pending *all = r->records.data, first = all[0], last;
	size_t nr = --r->records.len, at = 0, child;

	last = all[nr];
	while ((child = 2 * at + 1) < nr) {
		child += child + 1 < nr && is_before(&all[child + 1], &all[child]);
		if (!is_before(&all[child], &last))
			break;
		all[at] = all[child];
		at = child;
	}
	all[at] = last;
	return first;
}

/* ---- the bytes ------------------------------------------------------------------------------- */

/* Bytes that a copy takes.  (The ring has reserved more for a code record than its content.) */
static size_t room_for(size_t size)
{
	return (size + 7) & ~(size_t)7;
}

/* Moves what is held to the front, once most of the bytes are of records that were returned: so
 * each byte is moved once or twice. */
static void compact(struct reorder *r)
{
	VEC(unsigned char) bytes = {0};

	if (r->held > r->bytes.len / 2)
		return;
	if (!r->held) {
		r->bytes.len = 0;
		return;
	}
	vec_reserve(&bytes, r->held);
	for (size_t i = 0; i < r->records.len; i++) {
		struct pending *p = &r->records.data[i];
		const struct rec_header *h = (const void *)(r->bytes.data + p->offset);
		size_t room = room_for(h->size);

		memcpy(bytes.data + bytes.len, h, room);
		p->offset = bytes.len;
		bytes.len += room;
	}
	free(r->bytes.data);
	r->bytes.data = bytes.data;
	r->bytes.len = bytes.len;
	r->bytes.cap = bytes.cap;
}

bool reorder_add(struct reorder *r, const void *data, size_t size)
{
	struct rec_header h;
	size_t offset = r->bytes.len, room;

	if (size >= sizeof(h))
		memcpy(&h, data, sizeof(h));
	if (size < sizeof(h) || h.size > size || h.size < sizeof(h))
		return true;
	room = room_for(h.size);
	vec_reserve(&r->bytes, offset + room);
	memcpy(r->bytes.data + offset, data, h.size);
	memset(r->bytes.data + offset + h.size, 0, room - h.size);
	r->bytes.len = offset + room;
	r->held += room;
	push(r, (struct pending){.ts_ns = h.ts_ns, .nr = r->added++, .offset = offset});
	return r->held < r->max_size;
}

void reorder_release(struct reorder *r, uint64_t limit_ns)
{
	compact(r);
	r->released = true;
	r->limit_ns = limit_ns;
}

/* The beginning of a collection is reported at its end: if it took longer than records are held
 * back, it keeps its time. */
static bool is_reported_at_end(const struct rec_header *h)
{
	const struct rec_raw_event *ev = (const void *)h;

	return h->type == REC_RAW_EVENT && h->size >= offsetof(struct rec_raw_event, values) &&
	       (ev->kind == EVENT_GC_MINOR_START || ev->kind == EVENT_GC_MAJOR_START);
}

const struct rec_header *reorder_next(struct reorder *r)
{
	struct rec_header *h;

	if (!r->released || !r->records.len || r->records.data[0].ts_ns > r->limit_ns) {
		compact(r);
		return NULL;
	}
	h = (void *)(r->bytes.data + pop(r).offset);
	r->held -= room_for(h->size);
	if (h->ts_ns < r->last_ns) {
		if (is_reported_at_end(h))
			return h;
		h->ts_ns = r->last_ns;
		h->flags |= REC_LATE;
		r->late++;
	}
	r->last_ns = h->ts_ns;
	return h;
}

uint64_t reorder_late(const struct reorder *r)
{
	return r->late;
}
