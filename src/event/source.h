/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Interface: where records come from.  Implemented by probe (live rings), capture (replay) and
 * event/enrich (a source over a source).
 */
#ifndef EBEAM_EVENT_SOURCE_H
#define EBEAM_EVENT_SOURCE_H

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

#endif
