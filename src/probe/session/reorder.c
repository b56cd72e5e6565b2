/* SPDX-License-Identifier: BSD-2-Clause */
/* See reorder.h. */
#include "probe/session/reorder.h"

#include <stdlib.h>
#include <string.h>

#include "base/compiler.h"
#include "base/vec.h"

struct pending {
	uint64_t ts_ns;
	size_t offset; /* in bytes.data */
};

struct reorder {
	VEC(unsigned char) bytes;    /* the copies, 8-byte aligned */
	VEC(struct pending) records; /* sorted by time, from `next` on */
	size_t next, released;	     /* records[next .. released-1]: reorder_next() returns these */
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

/* Bytes that a copy takes.  (The ring has reserved more for a code record than its content.) */
static size_t room_for(size_t size)
{
	return (size + 7) & ~(size_t)7;
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
	vec_push(&r->records, ((struct pending){.ts_ns = h.ts_ns, .offset = offset}));
	return r->bytes.len < r->max_size;
}

static int by_time(const void *a, const void *b)
{
	const struct pending *x = a, *y = b;

	if (x->ts_ns != y->ts_ns)
		return x->ts_ns < y->ts_ns ? -1 : 1;
	return x->offset < y->offset ? -1 : x->offset > y->offset;
}

/* Drops records that were returned; the others move to the front.  They stay in order, so that
 * records of equal time are not swapped. */
static void compact(struct reorder *r)
{
	VEC(unsigned char) bytes = {0};
	size_t nr = r->records.len - r->next;

	for (size_t i = 0; i < nr; i++) {
		struct pending *p = &r->records.data[r->next + i];
		const struct rec_header *h = (const void *)(r->bytes.data + p->offset);
		size_t room = room_for(h->size), offset = bytes.len;

		vec_reserve(&bytes, offset + room);
		memcpy(bytes.data + offset, h, room);
		bytes.len = offset + room;
		r->records.data[i] = (struct pending){.ts_ns = p->ts_ns, .offset = offset};
	}
	if (nr) {
		free(r->bytes.data);
		r->bytes.data = bytes.data;
		r->bytes.cap = bytes.cap;
	}
	r->bytes.len = bytes.len;
	r->records.len = nr;
	r->released -= r->next;
	r->next = 0;
}

void reorder_release(struct reorder *r, uint64_t limit_ns)
{
	if (r->next)
		compact(r);
	if (r->records.len)
		qsort(r->records.data, r->records.len, sizeof(r->records.data[0]), by_time);
	while (r->released < r->records.len && r->records.data[r->released].ts_ns <= limit_ns)
		r->released++;
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

	if (r->next == r->released) {
		if (r->next)
			compact(r);
		return NULL;
	}
	h = (void *)(r->bytes.data + r->records.data[r->next++].offset);
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
