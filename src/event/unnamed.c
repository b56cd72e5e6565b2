/* SPDX-License-Identifier: BSD-2-Clause */
/* See unnamed.h. */
#include "event/unnamed.h"

#include <errno.h>

#include "base/compiler.h"
#include "event/catalogue.h"

static int no_sample(struct resolver *r, struct names *names, const struct rec_raw_sample *raw,
		     struct resolved_sample *out)
{
	UNUSED(r);
	UNUSED(names);
	UNUSED(raw);
	UNUSED(out);
	return -ENOTSUP;
}

static void no_process(struct resolver *r, struct names *names, const struct rec_raw_process *raw)
{
	UNUSED(r);
	UNUSED(names);
	UNUSED(raw);
}

static void no_code(struct resolver *r, const struct rec_raw_code *raw)
{
	UNUSED(r);
	UNUSED(raw);
}

/* Keeps only the numbers of an event; all events get one thread, which has no tid and no name. */
static int numbers(struct resolver *r, struct names *names, const struct rec_raw_event *raw,
		   struct resolved_event *out)
{
	const struct event_field *fields;
	unsigned int nr, at = 0;

	UNUSED(r);
	if (raw->kind >= NR_EVENT_KINDS || raw->nr_values > EVENT_RAW_WORDS)
		return -EINVAL;
	fields = event_fields((enum event_kind)raw->kind, &nr);
	*out = (struct resolved_event){
		.thread = names_intern_thread(names, 0, THREAD_UNKNOWN, 0, 0, NULL),
		.nr_values = nr,
	};
	for (unsigned int i = 0; i < nr; i++) {
		unsigned int words = event_field_words(fields[i].type);

		if (fields[i].type >= FIELD_WORDS)
			out->values[i] =
				at + words <= raw->nr_values ? raw->values[at] : EVENT_UNKNOWN;
		at += words;
	}
	return 0;
}

struct resolver *unnamed_resolver(void)
{
	static const struct resolver unnamed = {
		.sample = no_sample,
		.process = no_process,
		.event = numbers,
		.code = no_code,
	};

	return (struct resolver *)(uintptr_t)&unnamed;
}
