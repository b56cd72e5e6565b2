/* SPDX-License-Identifier: BSD-2-Clause */
/* The answer of `ebeam diagnose`. */
#ifndef EBEAM_VIEW_FINDINGS_VIEW_H
#define EBEAM_VIEW_FINDINGS_VIEW_H

#include <stdio.h>

#include "base/jsonw.h"
#include "model/diagnosis/diagnosis.h"

/* All pointers are borrowed. */
struct findings_answer {
	const char *node; /* its name; NULL = not known */
	const struct diagnosis *d;
	const struct findings *findings; /* with complete command lines: -p PID or --core FILE */
	uint64_t processes;
	bool is_core;
};

/* Adds one line: node, number of processes, memory, CPU use, number of samples and their time. */
void findings_add_heading(struct strbuf *out, const struct findings_answer *a);
/* Adds "usage of limits: processes 679 of 262,144 (0.3%), ..."; nothing if none is known. */
void findings_add_limits(struct strbuf *out, const struct findings_answer *a);
void findings_view_write(FILE *f, const struct findings_answer *a, bool color);
/* Writes the member "data" of the JSON answer. */
void findings_view_json(struct jsonw *w, const struct findings_answer *a);

#endif
