/* SPDX-License-Identifier: BSD-2-Clause */
/* The answer of `ebeam dump --old-code`: modules with old code, and the processes that run it. */
#ifndef EBEAM_VIEW_OLD_CODE_VIEW_H
#define EBEAM_VIEW_OLD_CODE_VIEW_H

#include "base/vec.h"
#include "view/inspect/dump_process.h"
#include "view/table/table.h"

struct old_code_module {
	const char *name;
	uint64_t size; /* bytes of old code */
	uint32_t processes;
};

struct old_code_row {
	struct dump_process p;
	struct table_list modules;
};

struct old_code_answer {
	VEC(struct old_code_module) modules;
	VEC(struct old_code_row) rows; /* of the processes that are shown */
	size_t processes;	       /* number of all processes that run old code */
};

int old_code_view_write(FILE *f, const struct old_code_answer *a, bool color, struct error *err);
/* Writes the member "data" of the JSON answer. */
void old_code_view_json(struct jsonw *w, const struct old_code_answer *a);

#endif
