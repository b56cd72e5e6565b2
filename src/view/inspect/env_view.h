/* SPDX-License-Identifier: BSD-2-Clause */
/* What `ebeam env` says: the environment of applications. */
#ifndef EBEAM_VIEW_ENV_VIEW_H
#define EBEAM_VIEW_ENV_VIEW_H

#include "base/vec.h"
#include "view/table/table.h"

struct env_key {
	const char *name;    /* as it is */
	const char *written; /* as the language does: in text */
	const char *value;
};

struct env_app {
	const char *name, *vsn; /* vsn: NULL = not known */
	bool loaded;
	size_t nr; /* of the keys, which stand behind those of the application before */
};

struct env_answer {
	VEC(struct env_app) apps;
	VEC(struct env_key) keys;
	bool named; /* the user has named them: those without keys are shown like the others */
};

void env_view_write(FILE *f, const struct env_answer *a, bool color);
/* Writes "data". */
void env_view_json(struct jsonw *w, const struct env_answer *a);

#endif
