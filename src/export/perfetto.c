/* SPDX-License-Identifier: BSD-2-Clause */
/* See perfetto.h. */
#include "export/perfetto.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/jsonw.h"
#include "base/write_error.h"
#include "base/xalloc.h"
#include "export/formats.h"

#define MAX_FRAMES 64 /* frames of a stack that are written */
#define KEY_SIZE   48

struct perfetto {
	struct jsonw w;
	FILE *f;
	const struct names *names;
	struct strbuf text;
};

struct perfetto *perfetto_open(FILE *f, const struct names *names)
{
	struct perfetto *p = xcalloc(1, sizeof(*p));

	p->f = f;
	p->names = names;
	p->w = (struct jsonw)JSONW(f);
	strbuf_init(&p->text);
	jsonw_begin_object(&p->w, NULL);
	jsonw_string(&p->w, "displayTimeUnit", "ns");
	jsonw_begin_rows(&p->w, "traceEvents");
	return p;
}

void perfetto_close(struct perfetto *p)
{
	if (!p)
		return;
	strbuf_free(&p->w.buf);
	strbuf_free(&p->text);
	free(p);
}

/* Begins an object with "ph", "pid" and "tid"; jsonw_end_object() ends it. */
static void begin(struct perfetto *p, const char *ph, const struct timeline_mark *m)
{
	jsonw_begin_object(&p->w, NULL);
	jsonw_string(&p->w, "ph", ph);
	jsonw_int(&p->w, "pid", m->os_pid);
	/* A counter belongs to the node, not to a thread. */
	if (m->type != TIMELINE_COUNTER)
		jsonw_uint(&p->w, "tid", m->os_tid);
}

/* Adds a metadata event: the name or the sort key of a track, or the name of the node. */
static void add_metadata(struct perfetto *p, const struct timeline_mark *m, const char *what,
			 const char *key)
{
	begin(p, "M", m);
	jsonw_string(&p->w, "name", what);
	jsonw_begin_object(&p->w, "args");
	if (strcmp(key, "name") == 0)
		jsonw_string(&p->w, key, m->name);
	else
		jsonw_uint(&p->w, key, m->number);
	jsonw_end_object(&p->w);
	jsonw_end_object(&p->w);
}

/* Adds nanoseconds as microseconds. */
static void add_us(struct perfetto *p, const char *key, uint64_t ns)
{
	char text[40];

	snprintf(text, sizeof(text), "%" PRIu64 ".%03u", ns / 1000, (unsigned int)(ns % 1000));
	jsonw_raw(&p->w, key, text);
}

/* Viewers merge the facts of both ends of a slice: those of its end get the prefix "end_". */
static const char *fact_key(const struct timeline_mark *m, const char *name, char key[KEY_SIZE])
{
	snprintf(key, KEY_SIZE, "%s%s", m->type == TIMELINE_END ? "end_" : "", name);
	return key;
}

/* Adds a stack as an array of frames, leaf first. */
static void add_stack(struct perfetto *p, const char *key, uint32_t stack)
{
	const struct name_stack *s = names_stack(p->names, stack);
	const struct name_function *f;
	const struct name_frame *frame;

	if (!s)
		return;
	jsonw_begin_array(&p->w, key);
	for (int i = 0; s && i < MAX_FRAMES; i++, s = names_stack(p->names, s->parent)) {
		frame = names_frame(p->names, s->frame);
		f = frame ? names_function(p->names, frame->function) : NULL;
		strbuf_reset(&p->text);
		if (f)
			names_format_function(&p->text, f);
		if (frame && frame->file)
			strbuf_addf(&p->text, " (%s:%u)", frame->file, frame->line);
		jsonw_stringn(&p->w, NULL, p->text.len ? p->text.buf : "", p->text.len);
	}
	jsonw_end_array(&p->w);
}

static void add_args(struct perfetto *p, const struct timeline_mark *m)
{
	char key[KEY_SIZE];

	if (!m->nr_facts && !m->stack)
		return;
	jsonw_begin_object(&p->w, "args");
	for (unsigned int i = 0; i < m->nr_facts; i++) {
		const struct timeline_fact *fact = &m->facts[i];

		fact_key(m, fact->name, key);
		if (fact->text)
			jsonw_stringn(&p->w, key, fact->text, fact->len);
		else
			jsonw_uint(&p->w, key, fact->number);
	}
	add_stack(p, fact_key(m, "stack", key), m->stack);
	jsonw_end_object(&p->w);
}

void perfetto_mark(void *perfetto, const struct timeline_mark *m)
{
	static const char *const phases[] = {
		[TIMELINE_BEGIN] = "B",	  [TIMELINE_END] = "E",	       [TIMELINE_SLICE] = "X",
		[TIMELINE_INSTANT] = "i", [TIMELINE_FLOW_BEGIN] = "s", [TIMELINE_FLOW_END] = "f",
		[TIMELINE_COUNTER] = "C",
	};
	struct perfetto *p = perfetto;

	if (m->type == TIMELINE_NODE) {
		add_metadata(p, m, "process_name", "name");
		return;
	}
	if (m->type == TIMELINE_TRACK) {
		add_metadata(p, m, "thread_name", "name");
		add_metadata(p, m, "thread_sort_index", "sort_index");
		return;
	}
	begin(p, phases[m->type], m);
	add_us(p, "ts", m->ts_ns);
	if (m->type == TIMELINE_SLICE)
		add_us(p, "dur", m->duration_ns);
	if (m->type == TIMELINE_INSTANT)
		jsonw_string(&p->w, "s", "t");
	/* Some viewers need the name at both ends of a slice. */
	jsonw_string(&p->w, "name", m->name ? m->name : EXPORT_NO_STACK);
	if (m->category)
		jsonw_string(&p->w, "cat", m->category);
	if (m->type == TIMELINE_FLOW_BEGIN || m->type == TIMELINE_FLOW_END)
		jsonw_uint(&p->w, "id", m->number);
	if (m->type == TIMELINE_FLOW_END)
		jsonw_string(&p->w, "bp", "e");
	add_args(p, m);
	jsonw_end_object(&p->w);
}

static void add_summary(struct perfetto *p, const struct timeline_summary *s)
{
	jsonw_begin_object(&p->w, "otherData");
	jsonw_string(&p->w, "tool", "ebeam " EBEAM_VERSION);
	jsonw_string(&p->w, "node", s->node);
	jsonw_string(&p->w, "otp", s->otp);
	jsonw_string(&p->w, "untested", *s->untested ? s->untested : NULL);
	jsonw_uint(&p->w, "start_epoch_ns", s->start_epoch_ns);
	jsonw_uint(&p->w, "lost", s->lost);
	jsonw_begin_object(&p->w, "sampled");
	for (unsigned int i = 0; i < s->nr_shares; i++)
		jsonw_double(&p->w, s->shares[i].event, s->shares[i].seen);
	jsonw_end_object(&p->w);
	jsonw_uint(&p->w, "messages_without_flow", s->unmatched);
	jsonw_end_object(&p->w);
}

int perfetto_finish(struct perfetto *p, const struct timeline_summary *s, struct error *err)
{
	int rc;

	jsonw_end_array(&p->w);
	add_summary(p, s);
	jsonw_end_object(&p->w);
	strbuf_addch(&p->w.buf, '\n');
	rc = jsonw_finish(&p->w);
	if (rc)
		return write_error_set(err, "the output", rc);
	return export_finish(p->f, err);
}
