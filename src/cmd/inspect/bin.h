/* SPDX-License-Identifier: BSD-2-Clause */
/* Shared by the files of `ebeam bin`: bin.c has the command, processes and the answer,
 * bin_holders.c the other holders. */
#ifndef EBEAM_CMD_BIN_H
#define EBEAM_CMD_BIN_H

#include "base/keytab.h"
#include "beam/process/binary_use.h"
#include "cmd/command/command.h"
#include "cmd/inspect/process_source.h"
#include "view/inspect/bin_view.h"

/* Of all holders: key of the table, the binary's address. */
struct known_binary {
	uint64_t addr, size, refc, found;
	uint32_t holders, holder; /* holder: the first one, index of rows */
	double used;		  /* bytes, by the last one of which that is known; else NAN */
};

struct bin {
	struct command_context *ctx;
	struct beam_node *node;
	struct process_source source;
	VEC(struct bin_row) rows;
	VEC(uint64_t) pids; /* by row: of a process; else 0 */
	struct keytab binaries;
	struct keytab magic; /* struct magic_ref: what magic references refer to */
	VEC(struct bin_binary) largest;
	struct bin_answer answer;
	uint64_t unreadable; /* lists that were not read to their end */
	uint64_t torn_objects;
	bool cut, use_cut, no_literals, no_persistent;
};

/* What one holder refers to, while it is read. */
struct holding {
	struct bin *b;
	struct mem *cached; /* of a table */
	struct off_heap binaries;
	struct keytab used; /* struct used_bytes; of a table and a port */
	bool use_unknown;
};

struct used_bytes {
	uint64_t binary, bytes; /* binary: the key */
};

struct magic_ref {
	uint64_t addr, found; /* addr: the key; found: references */
};

void holding_begin(struct holding *h, struct bin *b);
/* Adds a row of what was found; nothing if that is no binary.  `row` has type, id and name; pid: of
 * a process, else 0.  False: there is no row. */
bool holding_add_row(struct holding *h, struct bin_row *row, uint64_t pid);
/* Fills in how much of the binaries is used, in parts, or garbage. */
typedef uint64_t holding_used_fn(void *arg, const struct off_heap_binary *binary, bool *is_garbage);
void holding_sum_use(struct holding *h, holding_used_fn *used_of, void *arg, struct bin_row *row);
/* The same, as `use` found; frees it. */
void holding_use(struct holding *h, struct binary_use *use, struct bin_row *row);
void holding_end(struct holding *h);
/* Counts a binary to which the row with this index refers, or the next row, `found` times. */
void bin_count(struct bin *b, uint32_t row, raddr addr, uint64_t size, uint64_t refc,
	       uint64_t found);

int bin_take_tables(struct bin *b, struct error *err);
int bin_take_ports(struct bin *b, struct error *err);
/* Literals of modules and persistent terms; what could not be found is marked. */
void bin_take_literals(struct bin *b);
/* After all other holders. */
void bin_take_resources(struct bin *b);

#endif
