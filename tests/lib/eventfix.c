/* SPDX-License-Identifier: BSD-2-Clause */
/* See eventfix.h. */
#include "lib/eventfix.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

void eventfix_open(struct eventfix *f)
{
	memset(f, 0, sizeof(*f));
	event_stream_open(&f->stream);
	f->ts_ns = 1000000000u;
}

void eventfix_close(struct eventfix *f)
{
	event_stream_close(&f->stream);
}

uint32_t eventfix_string(struct eventfix *f, const char *text)
{
	assert_int_equal(names_define_string(f->stream.names, ++f->strings, text, strlen(text)), 0);
	return f->strings;
}

uint32_t eventfix_function(struct eventfix *f, const char *module, const char *name, int arity)
{
	uint32_t m = eventfix_string(f, module), n = eventfix_string(f, name);

	assert_int_equal(
		names_define_function(f->stream.names, ++f->functions, m, n, arity, FRAME_ERLANG),
		0);
	return f->functions;
}

uint32_t eventfix_process(struct eventfix *f, uint32_t n, const char *registered, uint32_t function)
{
	uint32_t name = registered ? eventfix_string(f, registered) : 0, pid;
	char text[32];

	snprintf(text, sizeof(text), "<0.%u.0>", n);
	pid = eventfix_string(f, text);
	assert_int_equal(names_define_process(f->stream.names, ++f->processes, 16u * n + 3, pid,
					      name, 0, function),
			 0);
	return f->processes;
}

struct event eventfix_event(struct eventfix *f, uint32_t process, unsigned int nr, ...)
{
	struct event ev = {.type = REC_EVENT, .ts_ns = f->ts_ns += 1000};
	va_list values;

	assert_true(nr <= EVENT_MAX_FIELDS);
	ev.u.vm.process = process;
	ev.u.vm.nr_values = nr;
	va_start(values, nr);
	for (unsigned int i = 0; i < nr; i++)
		ev.u.vm.values[i] = va_arg(values, uint64_t);
	va_end(values);
	return ev;
}
