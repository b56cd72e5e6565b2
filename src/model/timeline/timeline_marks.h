/* SPDX-License-Identifier: BSD-2-Clause */
/* Builds marks of a timeline from events: facts are added, then the mark is emitted with them.
 * Private to model/timeline/timeline.c. */
#ifndef EBEAM_MODEL_TIMELINE_MARKS_H
#define EBEAM_MODEL_TIMELINE_MARKS_H

#include "base/strbuf.h"
#include "model/stream/event_stream.h"
#include "model/timeline/timeline.h"

#define MARKS_FACTS (EVENT_MAX_FIELDS + 5) /* two more for the process, three for a collection */

struct marks {
	const struct event_stream *stream;
	timeline_fn *give;
	void *arg;
	/* Facts of the next mark; until it is emitted, `number` of a text is its offset in
	 * texts. */
	struct timeline_fact facts[MARKS_FACTS];
	unsigned int nr_facts;
	struct strbuf texts;
};

void marks_open(struct marks *m, const struct event_stream *s, timeline_fn *give, void *arg);
void marks_close(struct marks *m);

/* The os_tid of a thread id of the dictionary; 0 = not known. */
uint32_t marks_tid(const struct marks *m, uint32_t thread);
struct timeline_mark marks_at(const struct marks *m, enum timeline_type type, uint32_t os_tid,
			      uint64_t ts_ns);
/* A mark with time and thread of the event. */
struct timeline_mark marks_of(const struct marks *m, enum timeline_type type,
			      const struct event *ev);

/* Adds a number to the facts, unless it is EVENT_UNKNOWN. */
void marks_add_number(struct marks *m, const char *name, uint64_t value);
/* Adds the text in m->texts from offset `at` on to the facts. */
void marks_add_text(struct marks *m, const char *name, size_t at);
void marks_add_process(struct marks *m, uint32_t process);
/* Adds the process, the fields of the event, and its stack. */
void marks_add_event(struct marks *m, struct timeline_mark *mark, enum event_kind kind,
		     const struct event *ev);
/* Emits the mark with the facts that were added since the last one. */
void marks_give(struct marks *m, struct timeline_mark *mark);
void marks_give_event(struct marks *m, struct timeline_mark *mark, enum event_kind kind,
		      const struct event *ev);

/* Appends the name of a process, else its initial call and pid. */
void marks_add_process_name(const struct marks *m, struct strbuf *out, uint32_t process);

#endif
