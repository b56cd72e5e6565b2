/* SPDX-License-Identifier: BSD-2-Clause */
/* See node_wide.h. */
#include "model/stats/node_wide.h"

#include <stdlib.h>
#include <string.h>

#include "base/compiler.h"
#include "base/strbuf.h"
#include "base/xalloc.h"
#include "event/event.h"
#include "model/stream/event_stream.h"

#define COLLECTOR "erts_literal_area_collector"

const struct node_wide_bif node_wide_bifs[] = {
	{COLLECTOR, "release_area_switch", 0, true}, {"persistent_term", "put", 2, false},
	{"persistent_term", "put_new", 2, false},    {"persistent_term", "erase", 1, false},
	{"erts_internal", "purge_module", 2, true},  {"erlang", "system_flag", 2, true},
};
const unsigned int nr_node_wide_bifs = ARRAY_SIZE(node_wide_bifs);

void node_wide_open(struct node_wide *w, const struct event_stream *stream)
{
	*w = (struct node_wide){.stream = stream};
}

/* ---- what the records say ------------------------------------------------------------------- */

static uint64_t epid_of(const struct node_wide *w, uint32_t process)
{
	const struct name_process *p = names_process(w->stream->names, process);

	return p ? p->epid : 0;
}

static uint32_t caller_of(const struct node_wide *w, const struct event *ev)
{
	const struct name_frame *f = names_frame(w->stream->names, ev->u.call.caller);

	return f ? f->function : 0;
}

static bool term_is(const struct event *ev, unsigned int nr, const char *text)
{
	const char *term = NULL;
	uint32_t at = 0, len = 0;

	for (unsigned int i = 0; i <= nr; i++) {
		if (!event_call_term(ev, &at, &term, &len))
			return false;
	}
	return len == strlen(text) && memcmp(term, text, len) == 0;
}

static void free_asker(struct node_wide_asker *a)
{
	free(a->what);
	free(a->key);
}

static void forget_askers(struct node_wide_count *c)
{
	for (size_t i = 0; i < c->askers.len; i++)
		free_asker(&c->askers.data[i]);
	c->askers.len = 0;
	c->others = 0;
}

static void asked(struct node_wide *w, enum node_wide_work work, uint32_t process,
		  uint32_t function, const char *what, size_t len, const char *key)
{
	struct node_wide_count *c = &w->work[work];
	struct node_wide_asker by = {.process = process, .function = function, .nr = 1};

	for (size_t i = 0; i < c->askers.len; i++) {
		struct node_wide_asker *a = &c->askers.data[i];

		if (a->function == by.function &&
		    epid_of(w, a->process) == epid_of(w, by.process) && strlen(a->what) == len &&
		    memcmp(a->what, what, len) == 0 &&
		    (key ? a->key && strcmp(a->key, key) == 0 : !a->key)) {
			a->nr++;
			return;
		}
	}
	if (c->askers.len >= NODE_WIDE_ASKERS) {
		c->others++;
		return;
	}
	by.what = xstrndup(what, len);
	by.key = key ? xstrdup(key) : NULL;
	vec_push(&c->askers, by);
}

static void begin(struct node_wide *w, enum node_wide_work work, const struct event *ev)
{
	w->work[work].since_ns = ev->ts_ns;
	w->work[work].epid = epid_of(w, ev->u.call.process);
}

static void add(struct node_wide_count *c, uint64_t ns)
{
	c->nr++;
	c->total_ns += ns;
	c->max_ns = MAX(c->max_ns, ns);
}

/* Ends the work under way; returns its duration. */
static uint64_t end(struct node_wide_count *c, uint64_t now_ns)
{
	uint64_t ns = now_ns - MIN(now_ns, c->since_ns);

	c->since_ns = 0;
	return ns;
}

/* ---- literal areas -------------------------------------------------------------------------- */

/* A call from the collector's own code ends the current area, if there is one, and begins the next.
 * Calls of the BIF from itself, while it waits for thread progress, are part of the area. */
static void take_switch(struct node_wide *w, const struct event *ev)
{
	const struct name_function *from = names_function(w->stream->names, caller_of(w, ev));
	struct node_wide_count *c = &w->work[NODE_WIDE_LITERALS];

	if (!from || !from->module || strcmp(from->module, COLLECTOR) != 0)
		return;
	w->last_ns = 0;
	if (c->since_ns) {
		w->last_ns = end(c, ev->ts_ns);
		add(c, w->last_ns);
	}
	begin(w, NODE_WIDE_LITERALS, ev);
}

/* The collector found no next area: the time until now, when the last one is released, belongs to
 * it. */
static void end_areas(struct node_wide *w, uint64_t now_ns)
{
	struct node_wide_count *c = &w->work[NODE_WIDE_LITERALS];
	uint64_t ns = end(c, now_ns);

	if (!w->last_ns)
		return;
	c->total_ns += ns;
	c->max_ns = MAX(c->max_ns, w->last_ns + ns);
}

/* ---- code ----------------------------------------------------------------------------------- */

/* A purged module may leave literals, which the collector then releases. */
static void module_purged(struct node_wide *w, const struct event *ev)
{
	struct strbuf what = STRBUF_INIT;
	const char *module;
	uint32_t at = 0, len;

	if (!event_call_term(ev, &at, &module, &len))
		return;
	asked(w, NODE_WIDE_PURGE, 0, 0, module, len, NULL);
	strbuf_addf(&what, "purge of %.*s", (int)len, module);
	asked(w, NODE_WIDE_LITERALS, 0, 0, what.buf, what.len, NULL);
	strbuf_free(&what);
}

/* Calls with `prepare` or `complete` are repeated while another process has a lock they need. */
static void take_purge(struct node_wide *w, const struct event *ev)
{
	struct node_wide_count *c = &w->work[NODE_WIDE_PURGE];

	if (term_is(ev, 1, "complete")) {
		if (c->since_ns && !w->completes)
			module_purged(w, ev);
		w->completes = true;
	} else if (!c->since_ns) {
		w->completes = false;
		begin(w, NODE_WIDE_PURGE, ev);
	}
}

/* Results: prepare: false if there is no old code; abort: false; complete: true. */
static void end_purge(struct node_wide *w, const struct event *ev)
{
	struct node_wide_count *c = &w->work[NODE_WIDE_PURGE];
	uint64_t ns = end(c, ev->ts_ns);

	if (w->completes)
		add(c, ns);
}

/* ---- blocking ------------------------------------------------------------------------------- */

static struct node_wide_holder *find_holder(struct node_wide *w, uint64_t epid)
{
	for (size_t i = 0; i < w->blockers.len; i++)
		if (w->blockers.data[i].epid == epid)
			return &w->blockers.data[i];
	return NULL;
}

static void hold(struct node_wide *w, uint64_t epid)
{
	struct node_wide_holder *h = find_holder(w, epid), one = {epid, 1};

	if (h)
		h->nr++;
	else
		vec_push(&w->blockers, one);
}

/* Whether this was the last blocker is only known by the result of the call (take_end()). */
static void unhold(struct node_wide *w, uint64_t epid)
{
	struct node_wide_holder *h = find_holder(w, epid);

	if (h && --h->nr == 0)
		*h = w->blockers.data[--w->blockers.len];
}

static void take_flag(struct node_wide *w, const struct event *ev)
{
	struct node_wide_count *c = &w->work[NODE_WIDE_BLOCK];
	const char *what = term_is(ev, 1, "block_normal") ? "block_normal" : "block";

	if (!term_is(ev, 0, "multi_scheduling"))
		return;
	w->unblocks = !term_is(ev, 1, what);
	if (w->unblocks) {
		unhold(w, epid_of(w, ev->u.call.process));
		return;
	}
	hold(w, epid_of(w, ev->u.call.process));
	asked(w, NODE_WIDE_BLOCK, ev->u.call.process, caller_of(w, ev), what, strlen(what), NULL);
	if (!c->since_ns)
		begin(w, NODE_WIDE_BLOCK, ev);
}

static void end_block(struct node_wide *w, uint64_t now_ns)
{
	struct node_wide_count *c = &w->work[NODE_WIDE_BLOCK];

	w->blockers.len = 0;
	if (c->since_ns)
		add(c, end(c, now_ns));
}

void node_wide_blocker_ended(struct node_wide *w, uint64_t epid, uint64_t now_ns)
{
	struct node_wide_holder *h = find_holder(w, epid);

	if (!h)
		return;
	*h = w->blockers.data[--w->blockers.len];
	if (!w->blockers.len)
		end_block(w, now_ns);
}

/* ---- all of it ------------------------------------------------------------------------------ */

static void take_call(struct node_wide *w, const struct event *ev)
{
	const struct name_function *f = names_function(w->stream->names, ev->u.call.function);
	struct strbuf name = STRBUF_INIT;

	if (!f || !f->module || !f->name)
		return;
	if (strcmp(f->name, "release_area_switch") == 0) {
		take_switch(w, ev);
	} else if (strcmp(f->name, "purge_module") == 0) {
		take_purge(w, ev);
	} else if (strcmp(f->name, "system_flag") == 0) {
		take_flag(w, ev);
	} else if (strcmp(f->module, "persistent_term") == 0) {
		struct strbuf key = STRBUF_INIT;
		const char *term;
		uint32_t at = 0, len;

		if (event_call_term(ev, &at, &term, &len))
			strbuf_add(&key, term, len);
		names_format_function(&name, f);
		asked(w, NODE_WIDE_LITERALS, ev->u.call.process, caller_of(w, ev), name.buf,
		      name.len, key.len ? key.buf : NULL);
		strbuf_free(&key);
	}
	strbuf_free(&name);
}

/* The record of a return does not name the function: it is known by the process, as each kind of
 * work is done by another one, and by the result. */
static void take_end(struct node_wide *w, const struct event *ev)
{
	uint64_t epid = epid_of(w, ev->u.call.process);

	if (ev->u.call.flags & CALL_GOES_ON)
		return;
	if (w->work[NODE_WIDE_LITERALS].since_ns && w->work[NODE_WIDE_LITERALS].epid == epid)
		end_areas(w, ev->ts_ns);
	else if (w->work[NODE_WIDE_PURGE].since_ns && w->work[NODE_WIDE_PURGE].epid == epid)
		end_purge(w, ev);
	else if (w->unblocks && term_is(ev, 0, "enabled"))
		end_block(w, ev->ts_ns);
}

void node_wide_take(struct node_wide *w, const struct event *ev)
{
	uint64_t lost = w->stream->counters[COUNTER_EVENTS_LOST];

	/* Work under way may have ended unseen if calls were not watched, or events lost. */
	if (w->tripped != w->stream->calls.tripped || w->lost != lost) {
		for (int i = 0; i < NR_NODE_WIDE; i++)
			w->work[i].since_ns = 0;
		w->blockers.len = 0;
		w->tripped = w->stream->calls.tripped;
		w->lost = lost;
	}
	if (ev->u.call.kind == CALL_KIND_CALL)
		take_call(w, ev);
	else
		take_end(w, ev);
}

static int by_number(const void *pa, const void *pb)
{
	const struct node_wide_asker *a = pa, *b = pb;

	return a->nr != b->nr ? (a->nr < b->nr) - (a->nr > b->nr) : strcmp(a->what, b->what);
}

void node_wide_order(struct node_wide *w)
{
	for (int i = 0; i < NR_NODE_WIDE; i++) {
		if (w->work[i].askers.len)
			qsort(w->work[i].askers.data, w->work[i].askers.len,
			      sizeof(*w->work[i].askers.data), by_number);
	}
}

double node_wide_share(const struct node_wide *w)
{
	const struct event_stream_calls *c = &w->stream->calls;

	return c->tripped && c->share_ppm ? c->share_ppm / 1e6 : 1;
}

/* Keeps the askers that still block schedulers, each counted once. */
static void keep_blockers(struct node_wide *w)
{
	struct node_wide_count *c = &w->work[NODE_WIDE_BLOCK];
	size_t n = 0;

	for (size_t i = 0; i < c->askers.len; i++) {
		struct node_wide_asker a = c->askers.data[i];

		if (find_holder(w, epid_of(w, a.process))) {
			a.nr = 1;
			c->askers.data[n++] = a;
		} else {
			free_asker(&a);
		}
	}
	c->askers.len = n;
	c->others = 0;
}

void node_wide_restart(struct node_wide *w, uint64_t now_ns)
{
	for (int i = 0; i < NR_NODE_WIDE; i++) {
		struct node_wide_count *c = &w->work[i];

		c->nr = c->total_ns = c->max_ns = 0;
		if (i == NODE_WIDE_BLOCK)
			keep_blockers(w);
		else
			forget_askers(c);
		if (c->since_ns)
			c->since_ns = MAX(c->since_ns, now_ns);
	}
	w->last_ns = 0;
}

void node_wide_close(struct node_wide *w)
{
	for (int i = 0; i < NR_NODE_WIDE; i++) {
		forget_askers(&w->work[i]);
		vec_free(&w->work[i].askers);
	}
	vec_free(&w->blockers);
}
