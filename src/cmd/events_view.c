/* SPDX-License-Identifier: BSD-2-Clause */
/* Records -> names, counts and lines (see events.h); the same for a node and for a capture. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/compiler.h"
#include "cmd/events.h"

int events_view_open(struct events_view *v, struct error *err)
{
	int rc = names_open(&v->names);

	strbuf_init(&v->line);
	v->w = (struct jsonw)JSONW(NULL);
	return rc ? error_set(err, ERROR_KIND_FAILED, rc, "cannot make a dictionary: %s",
			      error_text(rc))
		  : 0;
}

void events_view_close(struct events_view *v)
{
	names_close(v->names);
	v->names = NULL;
	strbuf_free(&v->line);
	strbuf_free(&v->w.buf);
	vec_free(&v->kind_of);
}

/* Kind of a name, -1 if this version knows none. */
static int kind_of_name(struct events_view *v, uint32_t id)
{
	const char *name = names_string(v->names, id);
	int kind;

	if (!name)
		return -1;
	while (v->kind_of.len <= id)
		vec_push(&v->kind_of, 0);
	if (!v->kind_of.data[id]) {
		kind = event_kind_find(name, strlen(name));
		v->kind_of.data[id] = (int16_t)(kind < 0 ? -1 : kind + 1);
	}
	return v->kind_of.data[id] < 0 ? -1 : v->kind_of.data[id] - 1;
}

static bool is_of_process(const struct events_view *v, const struct event *ev)
{
	const struct name_process *p;
	size_t len;

	if (!v->process)
		return true;
	p = names_process(v->names, ev->u.vm.process);
	if (!p)
		return false;
	if (p->registered && strcmp(p->registered, v->process) == 0)
		return true;
	if (strcmp(p->pid, v->process) == 0)
		return true;
	/* "0.80.0" for "<0.80.0>" */
	len = strlen(v->process);
	return strlen(p->pid) == len + 2 && strncmp(p->pid + 1, v->process, len) == 0;
}

static int show(struct events_view *v, const struct event *ev)
{
	int kind = kind_of_name(v, ev->u.vm.kind);

	if (kind < 0) {
		v->unknown++;
		return 0;
	}
	if (!(v->kinds >> kind & 1) || !is_of_process(v, ev))
		return 0;
	v->shown++;
	v->by_kind[kind]++;
	if (v->out) {
		events_format(v, (enum event_kind)kind, ev);
		errno = 0;
		if (fwrite(v->line.buf, 1, v->line.len, v->out) != v->line.len)
			v->write_errno = errno ? errno : EIO;
	}
	return v->write_errno || (v->limit && v->shown >= v->limit);
}

static void take_meta(struct events_view *v, const struct event *ev)
{
	char text[256];
	size_t len = MIN(ev->u.meta.value_len, sizeof(text) - 1);

	memcpy(text, ev->u.meta.value, len);
	text[len] = '\0';
	if (ev->u.meta.key_len == 8 && memcmp(ev->u.meta.key, "start_ns", 8) == 0)
		v->start_ns = strtoull(text, NULL, 10);
	else if (ev->u.meta.key_len == 14 && memcmp(ev->u.meta.key, "start_epoch_ns", 14) == 0)
		v->start_epoch_ns = strtoull(text, NULL, 10);
	else if (ev->u.meta.key_len == 4 && memcmp(ev->u.meta.key, "node", 4) == 0)
		memcpy(v->node, text, len + 1);
}

static void take_counter(struct events_view *v, const struct event *ev)
{
	static const char *const json_names[NR_COUNTERS] = {
#define COUNTER(id, json, text, advice)	     [COUNTER_##id] = json,
#define COUNTER_USER(id, json, text, advice) [COUNTER_##id] = json,
#include "abi/counters.def"
#undef COUNTER
#undef COUNTER_USER
	};
	const char *name = names_string(v->names, ev->u.counter.name);

	for (int i = 0; name && i < NR_COUNTERS; i++) {
		if (strcmp(json_names[i], name) == 0)
			v->counters[i] = ev->u.counter.value;
	}
}

int events_view_take(struct events_view *v, const struct rec_header *rec)
{
	struct event ev;
	int rc;

	if (event_decode(&ev, rec, rec->size) < 0) {
		v->refused++;
		return 0;
	}
	rc = event_define(v->names, &ev);
	if (rc < 0)
		v->refused++;
	if (rc)
		return 0;
	if (ev.type == REC_EVENT)
		return show(v, &ev);
	if (ev.type == REC_META)
		take_meta(v, &ev);
	else if (ev.type == REC_COUNTER)
		take_counter(v, &ev);
	else if (ev.type == REC_END)
		v->finished = true;
	return 0;
}
