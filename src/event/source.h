/* SPDX-License-Identifier: BSD-2-Clause */
/* Interface of sources of records.  Implemented by probe (live rings), capture (replay) and
 * event/enrich (a source on a source). */
#ifndef EBEAM_EVENT_SOURCE_H
#define EBEAM_EVENT_SOURCE_H

#include <stdbool.h>

#include "abi/record.h"
#include "base/error.h"

struct source {
	/*
	 * Next record: 1 and *rec (valid until the following call), 0 if there is none now (live)
	 * or none any more (replay), negative errno with *err on failure.
	 */
	int (*next)(struct source *s, const struct rec_header **rec, struct error *err);
	/* A descriptor that becomes readable when next() may have more; -1 = none: a replay, or a
	 * source to be polled at intervals. */
	int (*fd)(struct source *s);
	void (*close)(struct source *s); /* NULL ok through source_close() */
};

static inline void source_close(struct source *s)
{
	if (s)
		s->close(s);
}

struct source_consumer {
	/* Called with each record; nonzero ends the drain: negative errno with *err, or 1. */
	int (*take)(void *arg, const struct rec_header *rec, struct error *err);
	/* Called between two batches of records; false ends the drain.  NULL = go on. */
	bool (*go_on)(void *arg);
	void *arg;
};

/* Longest time that a live source is drained at once.  Records may come faster than they are
 * processed: without a limit deadlines and signals would never be checked.  The records that are
 * left are bounded by the rings, which count what they lose. */
#define SOURCE_DRAIN_NS	 250000000u
#define SOURCE_DRAIN_ALL UINT64_MAX

/* Passes records to the consumer until there are none (0), or earlier until max_ns have passed or
 * the consumer ends it (1); negative errno with *err. */
int source_drain(struct source *s, uint64_t max_ns, const struct source_consumer *consumer,
		 struct error *err);

#endif
