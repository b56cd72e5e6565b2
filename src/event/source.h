/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Interface: where records come from.  Implemented by probe (live rings), capture (replay) and
 * event/enrich (a source over a source).
 */
#ifndef EBEAM_EVENT_SOURCE_H
#define EBEAM_EVENT_SOURCE_H

#include <stdbool.h>

#include "abi/record.h"
#include "base/error.h"

struct source {
	/*
	 * Next record: 1 and *rec (valid until the following call), 0 if nothing is there now
	 * (live) or ever (replay), negative errno with *err on failure.
	 */
	int (*next)(struct source *s, const struct rec_header **rec, struct error *err);
	/* Descriptor that becomes readable when next() may have more, or -1: replay, or poll by
	 * time. */
	int (*fd)(struct source *s);
	void (*close)(struct source *s); /* NULL ok through source_close() */
};

static inline void source_close(struct source *s)
{
	if (s)
		s->close(s);
}

struct source_consumer {
	/* Each record; nonzero ends it: negative errno with *err, or 1. */
	int (*take)(void *arg, const struct rec_header *rec, struct error *err);
	/* Between two batches of records; false ends it.  NULL = it goes on. */
	bool (*go_on)(void *arg);
	void *arg;
};

/* A live source is drained for so long at most.  Records can come faster than they are taken in:
 * who waits for the end of them would never check a deadline or a signal again.  What stays is
 * bounded by the rings, which count what they lose. */
#define SOURCE_DRAIN_NS	 250000000u
#define SOURCE_DRAIN_ALL UINT64_MAX

/* Hands records over until nothing is there (0), or before that until max_ns have passed or the
 * consumer ends it (1); negative errno with *err. */
int source_drain(struct source *s, uint64_t max_ns, const struct source_consumer *consumer,
		 struct error *err);

#endif
