/* SPDX-License-Identifier: BSD-2-Clause */
/* See ring.h. Copies the records of a drain into a struct reorder, which limits and orders
 * them. */
#include "probe/session/ring.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdlib.h>

#include "base/compiler.h"
#include "base/units.h"
#include "base/xalloc.h"
#include "probe/session/reorder.h"

#define REORDER_WINDOW_NS 10000000ull /* 10 ms: far more than a program needs to submit */

struct ring_set {
	struct source source;
	struct ring_buffer *rb;
	struct reorder *reorder;
	uint64_t window_ns, hold_ns; /* hold_ns: UINT64_MAX = none */
	uint64_t released_ns;
	bool finished;
	bool (*feed)(void *ctx, uint64_t until_ns, struct rec_raw_coverage *out);
	void *feed_ctx;
	void (*peek)(void *ctx, const struct rec_header *rec);
	void *peek_ctx;
};

static int on_record(void *ctx, void *data, size_t size)
{
	struct ring_set *r = ctx;
	const struct rec_header *h = data;

	if (r->peek && size >= sizeof(*h) && h->size <= size)
		r->peek(r->peek_ctx, h);
	return reorder_add(r->reorder, data, size) ? 0 : -ENOBUFS;
}

static int drain(struct ring_set *r, struct error *err)
{
	uint64_t limit = r->finished ? UINT64_MAX : clock_monotonic_ns() - r->window_ns;
	struct rec_raw_coverage coverage;
	int n;

	limit = r->finished ? limit : MIN(limit, r->hold_ns);
	while (r->feed && r->feed(r->feed_ctx, limit, &coverage))
		reorder_add(r->reorder, &coverage, sizeof(coverage));
	n = ring_buffer__consume(r->rb);
	if (n < 0 && n != -ENOBUFS)
		return error_set(err, ERROR_KIND_FAILED, n, "cannot read the ring buffers: %s",
				 error_text(n));
	reorder_release(r->reorder, limit);
	r->released_ns = limit;
	return 0;
}

static int ring_next(struct source *s, const struct rec_header **rec, struct error *err)
{
	struct ring_set *r = CONTAINER_OF(s, struct ring_set, source);
	int rc;

	*rec = reorder_next(r->reorder);
	if (*rec)
		return 1;
	rc = drain(r, err);
	if (rc < 0)
		return rc;
	*rec = reorder_next(r->reorder);
	return *rec != NULL;
}

static int ring_fd(struct source *s)
{
	UNUSED(s);
	return -1; /* records are submitted without wakeup: drained at intervals */
}

static void ring_source_close(struct source *s)
{
	ring_set_close(CONTAINER_OF(s, struct ring_set, source));
}

static size_t size_of(int fd)
{
	struct bpf_map_info info = {0};
	uint32_t size = sizeof(info);

	return bpf_obj_get_info_by_fd(fd, &info, &size) == 0 ? info.max_entries : 0;
}

int ring_set_open(struct ring_set **out, const int *fds, unsigned int nr, struct error *err)
{
	struct ring_set *r = xcalloc(1, sizeof(*r));
	size_t size = 0;
	int rc = 0;

	*out = NULL;
	r->window_ns = REORDER_WINDOW_NS;
	r->hold_ns = UINT64_MAX;
	reorder_open(&r->reorder);
	r->source.next = ring_next;
	r->source.fd = ring_fd;
	r->source.close = ring_source_close;
	for (unsigned int i = 0; i < nr && rc == 0; i++) {
		if (i == 0) {
			r->rb = ring_buffer__new(fds[0], on_record, r, NULL);
			rc = r->rb ? 0 : -errno;
		} else {
			rc = ring_buffer__add(r->rb, fds[i], on_record, r);
		}
		size += size_of(fds[i]);
	}
	reorder_expect(r->reorder, size);
	if (rc < 0 || !r->rb) {
		ring_set_close(r);
		return error_set(err, ERROR_KIND_FAILED, rc ? rc : -EINVAL,
				 "cannot map the ring buffers: %s", error_text(rc ? rc : -EINVAL));
	}
	*out = r;
	return 0;
}

void ring_set_close(struct ring_set *r)
{
	if (!r)
		return;
	ring_buffer__free(r->rb);
	reorder_close(r->reorder);
	free(r);
}

struct source *ring_set_source(struct ring_set *r)
{
	return &r->source;
}

void ring_set_window(struct ring_set *r, uint64_t window_ns)
{
	r->window_ns = window_ns;
}

void ring_set_feed(struct ring_set *r,
		   bool (*next)(void *ctx, uint64_t until_ns, struct rec_raw_coverage *out),
		   void *ctx)
{
	r->feed = next;
	r->feed_ctx = ctx;
}

void ring_set_peek(struct ring_set *r, void (*peek)(void *ctx, const struct rec_header *rec),
		   void *ctx)
{
	r->peek = peek;
	r->peek_ctx = ctx;
}

void ring_set_hold(struct ring_set *r, uint64_t until_ns)
{
	r->hold_ns = until_ns;
}

uint64_t ring_set_released(const struct ring_set *r)
{
	return r->released_ns;
}

void ring_set_finish(struct ring_set *r)
{
	r->finished = true;
}

uint64_t ring_set_late(const struct ring_set *r)
{
	return reorder_late(r->reorder);
}
