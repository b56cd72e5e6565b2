/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The environment of all applications, as application:get_all_env/1 says it of each: the objects
 * {{env, Application, Key}, Value} of the ETS table ac_tab; and those that are loaded,
 * {{loaded, Application}, #appl{}}.
 *
 * application_controller.erl, OTP 25 to 29.
 */
#ifndef EBEAM_BEAM_APP_ENV_H
#define EBEAM_BEAM_APP_ENV_H

#include "beam/term/term.h"
#include "beam/vm/ets_objects.h"

/* The objects of ac_tab. */
struct app_table {
	struct ets_objects objects;
	uint64_t torn, missing; /* that could not be read, or were not found */
};
/* All of them; again, if the table changed meanwhile.  *table is that of the last time, zeros at
 * first: it is not looked for again while it is there. */
int app_table_read(struct beam_node *n, struct ets_table *table, struct app_table *out,
		   struct error *err);
/* From now on the reader sees the object as it was copied; NULL: no object. */
void app_table_enter(struct term_reader *r, const struct ets_object *o);

struct app_env_key {
	const struct ets_object *object; /* that holds it */
	uint64_t app, key, value;	 /* terms: key and value are read with app_env_enter() */
	char *name; /* the text of an atom, else the term in Erlang's syntax; owned */
};

struct app_env_app {
	uint64_t name;	  /* atom */
	const char *text; /* of it */
	char *vsn;	  /* of one that is loaded; NULL = it is not, or not known; owned */
	bool loaded;
	size_t first, nr; /* of struct app_env.keys */
};

struct app_env {
	VEC(struct app_env_app) apps; /* by name */
	VEC(struct app_env_key) keys; /* application by application, by name */
	struct app_table table;
};

/* `r` comes from term_reader_init(). */
int app_env_read(struct beam_node *n, struct term_reader *r, struct app_env *out,
		 struct error *err);
void app_env_free(struct app_env *e);

/* From now on the reader sees the object of that key as it was copied; NULL: no object. */
void app_env_enter(struct term_reader *r, const struct app_env_key *k);

#endif
