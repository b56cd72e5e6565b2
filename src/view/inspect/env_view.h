/* SPDX-License-Identifier: BSD-2-Clause */
/* The answer of `ebeam env`: the environment of applications. */
#ifndef EBEAM_VIEW_ENV_VIEW_H
#define EBEAM_VIEW_ENV_VIEW_H

#include "base/vec.h"
#include "view/table/table.h"

struct env_key {
	const char *name;    /* text of the atom, for JSON */
	const char *written; /* in the syntax of Erlang or Elixir, for text */
	const char *value;
};

struct env_app {
	const char *name, *vsn; /* vsn: NULL = not known */
	bool loaded;
	size_t nr; /* number of its keys; in keys[] they follow those of the app before */
};

struct env_answer {
	VEC(struct env_app) apps;
	VEC(struct env_key) keys;
	bool named; /* the user named the applications: one without keys is shown, too */
};

void env_view_write(FILE *f, const struct env_answer *a, bool color);
/* Writes the member "data" of the JSON answer. */
void env_view_json(struct jsonw *w, const struct env_answer *a);

#endif
