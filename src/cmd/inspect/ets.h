/* SPDX-License-Identifier: BSD-2-Clause */
/* What the two answers of `ebeam ets` share: all tables (ets.c), or one and its objects
 * (ets_table.c). */
#ifndef EBEAM_CMD_ETS_H
#define EBEAM_CMD_ETS_H

#include "base/jsonw.h"
#include "base/strbuf.h"
#include "beam/term/term.h"
#include "beam/vm/ets.h"
#include "cmd/command/command.h"

#define ETS_WORD_BYTES 8

struct ets_view {
	struct beam_node *node;
	struct term_formats formats;
	struct term_reader reader;
	struct ets_list list;
	uint64_t *owner_names; /* atoms, one for each table; 0 = none */
};

/* The fields of a table, into the object that was begun. */
void ets_json_fields(struct jsonw *w, struct ets_view *v, const struct ets_table *t);
/* "true", "false", "auto", or the number of locks. */
void ets_add_write_concurrency(struct strbuf *out, const struct ets_table *t);
/* As people write it; as it is. */
void ets_add_name(struct strbuf *out, const struct ets_view *v, uint64_t atom);
void ets_add_atom(struct strbuf *out, const struct ets_view *v, uint64_t atom);
void ets_add_pid(struct strbuf *out, const struct ets_view *v, uint64_t pid);
uint64_t ets_owner_name(const struct ets_view *v, const struct ets_table *t);

/* The warnings and counters of a reading; *warning is "" if there is nothing to say. */
void ets_json_end(struct jsonw *w, const struct ets_view *v, uint64_t objects_torn,
		  struct error *err, int *rc);
void ets_warning(struct strbuf *out, const struct ets_list *l);

/* `ebeam ets TABLE`. */
int ets_show_table(struct command_context *ctx, struct ets_view *v, const char *what,
		   struct error *err);

#endif
