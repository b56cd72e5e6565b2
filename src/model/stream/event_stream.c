/* SPDX-License-Identifier: BSD-2-Clause */
/* See event_stream.h. */
#include "model/stream/event_stream.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/compiler.h"
#include "names/elixir.h"

void event_stream_open(struct event_stream *s)
{
	memset(s, 0, sizeof(*s));
	coverage_init(&s->coverage);
	s->calls.state = COVERAGE_ON;
	s->watched = (1ull << NR_EVENT_KINDS) - 1;
	s->names = names_open();
}

void event_stream_close(struct event_stream *s)
{
	names_close(s->names);
	s->names = NULL;
	vec_free(&s->kind_of);
	vec_free(&s->at_start);
	vec_free(&s->word_of);
}

static int kind_of_name(struct event_stream *s, uint32_t id)
{
	const char *name = names_string(s->names, id);
	int kind;

	if (!name)
		return -1;
	while (s->kind_of.len <= id)
		vec_push(&s->kind_of, 0);
	if (!s->kind_of.data[id]) {
		kind = event_kind_find(name, strlen(name));
		s->kind_of.data[id] = (int16_t)(kind < 0 ? -1 : kind + 1);
	}
	return s->kind_of.data[id] < 0 ? -1 : s->kind_of.data[id] - 1;
}

enum event_word event_stream_word(struct event_stream *s, uint32_t id)
{
	const char *text = names_string(s->names, id);

	if (!text)
		return EVENT_WORD_NONE;
	while (s->word_of.len <= id)
		vec_push(&s->word_of, 0);
	for (int word = 1; !s->word_of.data[id] && word < NR_EVENT_WORDS; word++) {
		if (strcmp(event_word_text((uint64_t)word), text) == 0)
			s->word_of.data[id] = (int16_t)word;
	}
	return (enum event_word)s->word_of.data[id];
}

/* ---- facts about the recording --------------------------------------------------------------- */

static void keep_text(char *out, size_t size, const struct event *ev)
{
	size_t len = MIN(ev->u.meta.value_len, size - 1);

	memcpy(out, ev->u.meta.value, len);
	out[len] = '\0';
}

/* Parses "n1+ n2- c1- i1-": type and number of each scheduler, + = busy.  Stops at other forms. */
static void take_schedulers(struct event_stream *s, const char *text, size_t len)
{
	s->at_start.len = 0;
	for (size_t at = 0; at < len && s->at_start.len < EVENT_STREAM_SCHEDULERS;) {
		struct event_scheduler one = {.type = text[at] == 'n'	? THREAD_NORMAL
						      : text[at] == 'c' ? THREAD_DIRTY_CPU
						      : text[at] == 'i' ? THREAD_DIRTY_IO
									: THREAD_UNKNOWN};
		unsigned int number = 0;

		for (at++; at < len && text[at] >= '0' && text[at] <= '9' && number < 10000; at++)
			number = number * 10 + (unsigned int)(text[at] - '0');
		if (one.type == THREAD_UNKNOWN || !number || number > EVENT_STREAM_SCHEDULERS ||
		    at >= len || (text[at] != '+' && text[at] != '-'))
			return;
		one.number = (uint16_t)number;
		one.busy = text[at] == '+';
		vec_push(&s->at_start, one);
		at += 2;
	}
}

/* Names of kinds, each followed by a space; unknown ones are ignored. */
static uint64_t kinds_of(const char *text, size_t len)
{
	uint64_t kinds = 0;

	for (size_t at = 0, end; at < len; at = end + 1) {
		int kind;

		for (end = at; end < len && text[end] != ' '; end++)
			;
		kind = event_kind_find(text + at, end - at);
		if (kind >= 0)
			kinds |= 1ull << kind;
	}
	return kinds;
}

static void take_limited(struct event_stream_limited *l, const char *text)
{
	double *fields[] = {&l->share, &l->error, &l->time, &l->hits, &l->most};
	bool damaged = false;
	char *end;

	l->tripped = strtoull(text, &end, 10);
	for (size_t i = 0; i < ARRAY_SIZE(fields); i++) {
		*fields[i] = strtod(end, &end);
		if (!(*fields[i] >= 0 && *fields[i] < 1e18)) {
			damaged = true;
			*fields[i] = 0;
		}
	}
	if (damaged || l->most < 1 || l->share < 1e-15 || l->share > 1)
		l->share = 0;
}

static void take_limited_old(struct event_stream_limited *l, const char *text)
{
	char *end;

	l->tripped = strtoull(text, &end, 10);
	l->time = (double)MIN(strtoull(end, NULL, 10), 1000000ull) / 1e6;
}

static void take_meta(struct event_stream *s, const struct event *ev)
{
	char text[96];
	uint64_t number;

	keep_text(text, sizeof(text), ev);
	number = strtoull(text, NULL, 10);
	if (event_is_meta(ev, "start_ns"))
		s->start_ns = number;
	else if (event_is_meta(ev, "start_epoch_ns"))
		s->start_epoch_ns = number;
	else if (event_is_meta(ev, "duration_ns"))
		s->duration_ns = number;
	else if (event_is_meta(ev, "watching_ns"))
		s->watching_ns = number;
	else if (event_is_meta(ev, "watched"))
		s->watched = kinds_of(ev->u.meta.value, ev->u.meta.value_len);
	else if (event_is_meta(ev, "unprobed"))
		s->unprobed = kinds_of(ev->u.meta.value, ev->u.meta.value_len);
	else if (event_is_meta(ev, "schedulers_busy"))
		take_schedulers(s, ev->u.meta.value, ev->u.meta.value_len);
	else if (event_is_meta(ev, "os_pid"))
		s->os_pid = (int)MIN(number, INT32_MAX);
	else if (event_is_meta(ev, "schedulers"))
		s->schedulers = (unsigned int)MIN(number, UINT16_MAX);
	else if (event_is_meta(ev, "call_hit_ns"))
		s->calls.hit_ns[0] = (unsigned int)MIN(number, UINT32_MAX);
	else if (event_is_meta(ev, "c_call_hit_ns"))
		s->calls.hit_ns[1] = (unsigned int)MIN(number, UINT32_MAX);
	else if (event_is_meta(ev, EVENT_STREAM_LIMITED_KEY))
		take_limited(&s->calls.limited, text);
	else if (event_is_meta(ev, EVENT_STREAM_LIMITED_OLD_KEY))
		take_limited_old(&s->calls.limited, text);
	else if (event_is_meta(ev, "node"))
		keep_text(s->node, sizeof(s->node), ev);
	else if (event_is_meta(ev, "otp"))
		keep_text(s->otp, sizeof(s->otp), ev);
	else if (event_is_meta(ev, "erts"))
		keep_text(s->erts, sizeof(s->erts), ev);
	else if (event_is_meta(ev, "flavor"))
		keep_text(s->flavor, sizeof(s->flavor), ev);
	else if (event_is_meta(ev, "untested"))
		keep_text(s->untested, sizeof(s->untested), ev);
	else if (event_is_meta(ev, "mode"))
		keep_text(s->mode, sizeof(s->mode), ev);
	else if (event_is_meta(ev, "weight"))
		keep_text(s->weight, sizeof(s->weight), ev);
}

static void take_counter(struct event_stream *s, const struct event *ev)
{
	static const char *const names[NR_COUNTERS] = {
#define COUNTER(id, json, text, advice)	     [COUNTER_##id] = json,
#define COUNTER_USER(id, json, text, advice) [COUNTER_##id] = json,
#include "abi/counters.def"
#undef COUNTER
#undef COUNTER_USER
	};
	const char *name = names_string(s->names, ev->u.counter.name);

	for (int i = 0; name && i < NR_COUNTERS; i++) {
		if (strcmp(names[i], name) == 0)
			s->counters[i] = ev->u.counter.value;
	}
}

/* Takes the REC_COVERAGE of calls of C functions. */
static int take_call_coverage(struct event_stream_calls *c, const struct event *ev)
{
	bool off = ev->u.coverage.state != COVERAGE_ON;

	c->tripped += off && c->state == COVERAGE_ON;
	c->state = ev->u.coverage.state;
	c->share_ppm = ev->u.coverage.share_ppm;
	return COVERAGE_CALLS;
}

bool event_stream_call_is_c(const struct event_stream *s, const struct event *ev)
{
	const struct name_function *f = names_function(s->names, ev->u.call.function);

	/* The return of a C function has no return site. */
	return f ? f->kind != FRAME_ERLANG : !ev->u.call.site;
}

static void take_coverage(struct event_stream *s, const struct event *ev)
{
	int kind = kind_of_name(s, ev->u.coverage.kind);
	const char *name = names_string(s->names, ev->u.coverage.kind);

	if (name && strcmp(name, EVENT_CALL_GAPS_NAME) == 0)
		return;
	if (name && strcmp(name, EVENT_CALLS_NAME) == 0)
		kind = take_call_coverage(&s->calls, ev);
	coverage_take_work(&s->coverage, ev->u.coverage.work, ev->ts_ns);
	if (kind >= 0)
		coverage_take_missed(&s->coverage, (enum event_kind)kind, ev->u.coverage.missed);
	if (kind >= 0)
		coverage_take(&s->coverage, (enum event_kind)kind, ev->u.coverage.state,
			      ev->u.coverage.share_ppm, ev->ts_ns);
}

/* ---- records --------------------------------------------------------------------------------- */

bool event_stream_take(struct event_stream *s, const struct rec_header *rec, struct event *ev,
		       enum event_kind *kind)
{
	int rc, known;

	if (event_decode(ev, rec, rec->size) < 0) {
		s->refused++;
		return false;
	}
	rc = event_define(s->names, ev);
	if (rc < 0)
		s->refused++;
	if (rc)
		return false;
	if (ev->type == REC_META)
		take_meta(s, ev);
	else if (ev->type == REC_COUNTER)
		take_counter(s, ev);
	else if (ev->type == REC_COVERAGE)
		take_coverage(s, ev);
	else if (ev->type == REC_END)
		s->ended = true;
	if (ev->type != REC_EVENT)
		return false;
	known = kind_of_name(s, ev->u.vm.kind);
	if (known < 0) {
		s->unknown++;
		return false;
	}
	s->last_ns = MAX(s->last_ns, ev->ts_ns);
	*kind = (enum event_kind)known;
	return true;
}

uint64_t event_value(const struct event *ev, unsigned int field)
{
	return field < ev->u.vm.nr_values ? ev->u.vm.values[field] : EVENT_UNKNOWN;
}

uint32_t event_value_id(const struct event *ev, unsigned int field)
{
	return field < ev->u.vm.nr_values ? (uint32_t)ev->u.vm.values[field] : 0;
}

/* The name itself, or as in Elixir: My.Name for Elixir.My.Name. */
static bool is_name(const char *registered, const char *text)
{
	return strcmp(registered, text) == 0 || strcmp(elixir_bare(registered), text) == 0;
}

bool event_stream_is_process(const struct event_stream *s, uint32_t process, const char *text)
{
	const struct name_process *p = names_process(s->names, process);
	size_t len;

	if (!p)
		return false;
	if ((p->registered && is_name(p->registered, text)) || strcmp(p->pid, text) == 0)
		return true;
	/* "0.80.0" for "<0.80.0>" */
	len = strlen(text);
	return strlen(p->pid) == len + 2 && strncmp(p->pid + 1, text, len) == 0;
}
