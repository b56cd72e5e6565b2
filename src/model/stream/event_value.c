/* SPDX-License-Identifier: BSD-2-Clause */
/* See event_value.h. */
#include "model/stream/event_value.h"

#include <inttypes.h>
#include <string.h>

bool event_value_add(struct strbuf *out, const struct names *names, enum event_field_type type,
		     uint64_t value)
{
	const struct name_process *p;
	const struct name_function *f;
	const char *s;

	switch (type) {
	case FIELD_PID:
		p = names_process(names, (uint32_t)value);
		if (p)
			strbuf_addstr(out, p->pid);
		return p != NULL;
	case FIELD_MFA:
	case FIELD_CODE:
		f = names_function(names, (uint32_t)value);
		if (f)
			names_format_function(out, f);
		return f != NULL;
	case FIELD_ATOM:
		s = names_string(names, (uint32_t)value);
		if (s)
			names_format_module(out, s, strlen(s));
		return s != NULL;
	case FIELD_PORT:
	case FIELD_TERM:
	case FIELD_TEXT:
	case FIELD_WORD:
	case FIELD_ALLOCATOR:
	case FIELD_STRING:
		s = names_string(names, (uint32_t)value);
		if (s)
			names_format_text(out, s, strlen(s));
		return s != NULL;
	case FIELD_NS:
		strbuf_addf(out, "%.3fus", (double)value / 1e3);
		return true;
	case FIELD_WORDS:
	case FIELD_BYTES:
	case FIELD_COUNT:
	case NR_FIELD_TYPES:
		break;
	}
	strbuf_addf(out, "%" PRIu64, value);
	return true;
}

bool event_value_is_number(enum event_field_type type)
{
	return type >= FIELD_WORDS;
}

bool event_value_is_known(const struct event *ev, unsigned int i, enum event_field_type type)
{
	if (i >= ev->u.vm.nr_values)
		return false;
	return event_value_is_number(type) ? ev->u.vm.values[i] != EVENT_UNKNOWN
					   : ev->u.vm.values[i] != 0;
}
