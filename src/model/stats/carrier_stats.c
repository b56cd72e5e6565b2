/* SPDX-License-Identifier: BSD-2-Clause */
/* See carrier_stats.h. */
#include "model/stats/carrier_stats.h"

#include <stdbool.h>
#include <string.h>

#include "base/units.h"
#include "event/catalogue.h"
#include "event/event.h"
#include "model/stream/event_stream.h"

static struct carrier_row *row_of(struct carrier_stats *s, uint32_t type)
{
	for (size_t i = 0; i < s->rows.len; i++) {
		if (s->rows.data[i].type == type)
			return &s->rows.data[i];
	}
	/* The last row is for all further types. */
	if (s->rows.len + 1 >= CARRIER_TYPES && type)
		return row_of(s, 0);
	vec_push(&s->rows, ((struct carrier_row){.type = type}));
	return &s->rows.data[s->rows.len - 1];
}

static uint64_t known(uint64_t value)
{
	return value == EVENT_UNKNOWN ? 0 : value;
}

static void resized(struct carrier_row *r, const struct event *ev)
{
	uint64_t from = known(event_value(ev, EVENT_AT(CARRIER_RESIZE, OLD_SIZE)));
	uint64_t to = known(event_value(ev, EVENT_AT(CARRIER_RESIZE, SIZE)));

	r->resized++;
	if (to > from)
		r->grown_bytes += to - from;
	else
		r->shrunk_bytes += from - to;
}

/* Whether a created or destroyed carrier is for many blocks (mbc), not for a single one. */
static bool is_mbc(const struct carrier_stats *s, const struct event *ev)
{
	uint32_t word = event_value_id(ev, EVENT_AT(CARRIER_CREATE, CARRIER));

	return event_stream_word(s->stream, word) == EVENT_WORD_MBC;
}

void carrier_stats_open(struct carrier_stats *s, struct event_stream *stream)
{
	memset(s, 0, sizeof(*s));
	s->stream = stream;
}

void carrier_stats_take(struct carrier_stats *s, enum event_kind kind, const struct event *ev)
{
	/* In all of these kinds type is the first field, and size the third, except for resized. */
	uint32_t type = event_value_id(ev, EVENT_AT(CARRIER_CREATE, TYPE));
	uint64_t size = known(event_value(ev, EVENT_AT(CARRIER_CREATE, SIZE)));
	struct carrier_count *c;
	struct carrier_row *r;

	if (!(CARRIER_STATS_KINDS >> kind & 1))
		return;
	r = row_of(s, type);
	c = is_mbc(s, ev) ? &r->mbcs : &r->sbcs;

	if (kind == EVENT_CARRIER_CREATE) {
		c->created++;
		c->created_bytes += size;
		histogram_add(&s->sizes, size, 1);
	} else if (kind == EVENT_CARRIER_DESTROY) {
		c->destroyed++;
		c->destroyed_bytes += size;
	} else if (kind == EVENT_CARRIER_RESIZE) {
		resized(r, ev);
	} else if (kind == EVENT_CARRIER_POOL_PUT) {
		r->pool_put++;
		r->pool_put_bytes += size;
	} else if (kind == EVENT_CARRIER_POOL_GET) {
		r->pool_get++;
		r->pool_get_bytes += size;
	}
}

void carrier_stats_restart(struct carrier_stats *s)
{
	s->rows.len = 0;
	memset(&s->sizes, 0, sizeof(s->sizes));
}

void carrier_stats_close(struct carrier_stats *s)
{
	vec_free(&s->rows);
}

static void scale_count(struct carrier_count *c, double created, double destroyed)
{
	c->created = units_scale(c->created, created);
	c->created_bytes = units_scale(c->created_bytes, created);
	c->destroyed = units_scale(c->destroyed, destroyed);
	c->destroyed_bytes = units_scale(c->destroyed_bytes, destroyed);
}

void carrier_row_scale(const struct carrier_stats *s, struct carrier_row *r)
{
	const struct coverage *coverage = &s->stream->coverage;
	double created = 1 / coverage_share(coverage, EVENT_CARRIER_CREATE);
	double destroyed = 1 / coverage_share(coverage, EVENT_CARRIER_DESTROY);
	double resized = 1 / coverage_share(coverage, EVENT_CARRIER_RESIZE);
	double put = 1 / coverage_share(coverage, EVENT_CARRIER_POOL_PUT);
	double got = 1 / coverage_share(coverage, EVENT_CARRIER_POOL_GET);

	scale_count(&r->mbcs, created, destroyed);
	scale_count(&r->sbcs, created, destroyed);
	r->resized = units_scale(r->resized, resized);
	r->grown_bytes = units_scale(r->grown_bytes, resized);
	r->shrunk_bytes = units_scale(r->shrunk_bytes, resized);
	r->pool_put = units_scale(r->pool_put, put);
	r->pool_put_bytes = units_scale(r->pool_put_bytes, put);
	r->pool_get = units_scale(r->pool_get, got);
	r->pool_get_bytes = units_scale(r->pool_get_bytes, got);
}

uint64_t carrier_row_churn(const struct carrier_row *r)
{
	return r->mbcs.created + r->mbcs.destroyed + r->sbcs.created + r->sbcs.destroyed;
}

int64_t carrier_row_delta(const struct carrier_row *r)
{
	return (int64_t)(r->mbcs.created_bytes + r->sbcs.created_bytes + r->grown_bytes -
			 r->mbcs.destroyed_bytes - r->sbcs.destroyed_bytes - r->shrunk_bytes);
}
