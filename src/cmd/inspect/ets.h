/* SPDX-License-Identifier: BSD-2-Clause */
/* Shared by the two answers of `ebeam ets`: all tables (ets.c), or one with its objects
 * (ets_table.c). */
#ifndef EBEAM_CMD_ETS_H
#define EBEAM_CMD_ETS_H

#include "base/arena.h"
#include "base/vec.h"
#include "beam/term/term.h"
#include "beam/vm/ets.h"
#include "cmd/command/command.h"
#include "view/inspect/ets_view.h"

/* What --watch keeps of a table: the rates of the next reading come from that. */
struct ets_before {
	uint64_t key, objects, bytes;
};

struct ets_reading {
	struct beam_node *node;
	struct term_formats formats;
	struct term_reader reader;
	struct ets_list list;
	VEC(struct ets_row) rows;      /* one for each element of `list` */
	struct arena texts;	       /* of the rows */
	VEC(struct ets_before) before; /* by key */
	uint64_t read_ns;	       /* of the last reading, 0 = none */
};

/* Ends the envelope, with warnings and counters of the reading. */
int ets_json_end(struct jsonw *w, const struct ets_reading *v, uint64_t objects_torn,
		 struct error *err);

/* `ebeam ets TABLE`. */
int ets_show_table(struct command_context *ctx, struct ets_reading *v, const char *what,
		   struct error *err);

#endif
