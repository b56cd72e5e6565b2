/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The environment of all applications, as in application:get_all_env/1: the objects {{env,
 * Application, Key}, Value} of the ETS table ac_tab; and the loaded applications, {{loaded,
 * Application}, #appl{}}.
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
	uint64_t torn, missing; /* number of objects that could not be read; that were not found */
};
/* Reads all objects; again if the table changed meanwhile.  *table is a cache, zeros before the
 * first call: ac_tab is only searched again if it is gone. */
int app_table_read(struct beam_node *n, struct ets_table *table, struct app_table *out,
		   struct error *err);
/* Makes the reader read the copied object's words instead of memory; NULL: memory only. */
void app_table_enter(struct term_reader *r, const struct ets_object *o);

struct app_env_key {
	const struct ets_object *object; /* the object with this key */
	uint64_t app, key, value;	 /* terms: key and value are readable after
					  * app_env_enter() */
	char *name; /* text of an atom key, else the key in Erlang's syntax; owned */
};

struct app_env_app {
	uint64_t name;	  /* atom */
	const char *text; /* its text */
	char *vsn;	  /* NULL = not loaded, or unknown; owned */
	bool loaded;
	size_t first, nr; /* range in struct app_env.keys */
};

struct app_env {
	VEC(struct app_env_app) apps; /* sorted by name */
	VEC(struct app_env_key) keys; /* sorted by application, then by name */
	struct app_table table;
};

/* `r` must be from term_reader_init(). */
int app_env_read(struct beam_node *n, struct term_reader *r, struct app_env *out,
		 struct error *err);
void app_env_free(struct app_env *e);

/* The same for the object of a key. */
void app_env_enter(struct term_reader *r, const struct app_env_key *k);

#endif
