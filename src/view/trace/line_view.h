/* SPDX-License-Identifier: BSD-2-Clause */
/* A line of `ebeam trace`, as text or JSON: a call, or the end of a call. */
#ifndef EBEAM_VIEW_LINE_VIEW_H
#define EBEAM_VIEW_LINE_VIEW_H

#include <stdbool.h>
#include <stdint.h>

#include "base/strbuf.h"
#include "names/names.h"

#define TRACE_LINE_TERMS 256

enum trace_line_kind { TRACE_LINE_CALL, TRACE_LINE_RETURN, TRACE_LINE_EXCEPTION };

/* All pointers are borrowed; NULL = not known. */
struct trace_line {
	enum trace_line_kind kind;
	uint64_t epoch_ns;
	const struct names *names;
	const struct name_process *process;
	const struct name_function *function;
	const char *untested; /* "by DWARF, untested release"; NULL = release and build are known */

	/* Arguments, or the returned term, as texts that are safe for a terminal. */
	struct trace_line_term {
		const char *text;
		uint32_t len;
	} terms[TRACE_LINE_TERMS];
	unsigned int nr_terms;
	bool truncated;

	/* Members of the begin of a call. */
	uint32_t cpu;
	const struct name_frame *caller;
	bool has_stack;
	uint32_t callers; /* names_stack() id of the callers' frames; 0 = empty */

	/* Members of the end of a call; class and reason are those of an exception. */
	const char *class, *reason;
	uint64_t called_ns; /* since 1970 */
	uint64_t duration_ns, tracing_ns, unsure_ns;
};

/* Adds "(a, [1,2])". */
void trace_line_add_args(struct strbuf *out, const struct trace_line *l);
/* Add the line, with a newline. */
void trace_line_add_text(struct strbuf *out, const struct trace_line *l);
void trace_line_add_json(struct strbuf *out, const struct trace_line *l);

#endif
