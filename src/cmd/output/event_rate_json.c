/* SPDX-License-Identifier: BSD-2-Clause */
/* See event_rate_json.h. */
#include "cmd/output/event_rate_json.h"

#include "abi/record.h"

void event_rate_json(struct jsonw *w, const struct event_rate *r)
{
	jsonw_begin_object(w, NULL);
	jsonw_string(w, "event", r->name);
	jsonw_string(w, "state", event_rate_state_name(r->state));
	jsonw_double(w, "rate", r->rate);
	jsonw_double(w, "total", r->total);
	jsonw_double(w, "bytes_per_s", r->bytes);
	jsonw_double(w, "time", r->time);
	jsonw_uint_if(w, "longest_ns", r->longest_ns != 0, r->longest_ns);
	jsonw_double(w, "share", r->share);
	jsonw_uint(w, "seen", r->seen);
	jsonw_known(w, "lost", r->lost);
	jsonw_double(w, "cost", r->cost);
	jsonw_string(w, "missing", *r->why ? r->why : NULL);
	jsonw_end_object(w);
}
