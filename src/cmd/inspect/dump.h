/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * `ebeam dump`, its parts: dump.c reads the stacks of all processes and merges equal ones,
 * dump_stacks.c shows them, dump_profile.c makes them a snapshot for the exporters, dump_waits*.c
 * and dump_old.c answer the questions of options.  Private.
 */
#ifndef EBEAM_CMD_DUMP_H
#define EBEAM_CMD_DUMP_H

#include "base/arena.h"
#include "base/error.h"
#include "beam/process/old_code.h"
#include "beam/process/process.h"
#include "beam/process/stack.h"
#include "beam/process/waits.h"
#include "beam/term/pid.h"
#include "cmd/command/command.h"
#include "cmd/run/target.h"
#include "model/process/stack_groups.h"
#include "model/profile/snapshot.h"
#include "names/names.h"
#include "view/inspect/dump_process.h"

/* Frames of one stack that are kept: of deeper ones the lowest are lost. */
#define DUMP_MAX_FRAMES 4096

/* stack_group.what: enum process_status, and these. */
#define DUMP_STATUS_MASK 0xffu
#define DUMP_STALE	 0x100u /* the process ran: the stack is that of its last stop */
#define DUMP_TRUNCATED	 0x200u

#define DUMP_NO_GROUP UINT32_MAX

/* A wait that a reading has seen; with --watch, it is the same one as long as `mark` and all else
 * are. */
struct dump_seen {
	uint64_t epid, item, mark;
	enum wait_reason reason;
	uint64_t first_ns; /* CLOCK_MONOTONIC: the first reading that saw it */
};

struct dump {
	struct beam_node *n;
	struct id_format pids;
	struct stack_code code;
	struct process_list list;
	struct names *names;
	/* Of ids of `names`: the frame of the current function (0 = none), then those of the stack,
	 * top first.  Members are indices in the list. */
	struct stack_groups groups;
	uint32_t *order;    /* of groups, most first */
	uint32_t *group_of; /* of each process, DUMP_NO_GROUP = no stack */
	uint64_t vanished, torn, stale, cut, unknown_frames;
	bool want_waits, want_old;
	struct waits waits;	    /* if they are wanted */
	VEC(struct dump_seen) seen; /* of each of waits.v */
	uint64_t read_ns;	    /* the last reading */
	struct old_code old;	    /* likewise */
};

/* Frame i of the stack, from the top; NULL past its end. */
const struct name_frame *dump_frame(const struct dump *d, const struct stack_group *g, uint32_t i);
uint32_t dump_depth(const struct stack_group *g);
/* What process_info(P, current_function) says; NULL = undefined. */
const struct name_frame *dump_current(const struct dump *d, const struct stack_group *g);
/* It is not the function of the top frame, but one that is no code there: a BIF that goes on later,
 * a NIF on a dirty scheduler, erlang:hibernate/3. */
bool dump_current_is_extra(const struct dump *d, const struct stack_group *g);
enum process_status dump_status(const struct stack_group *g);

/* "<0.80.0>" of a member. */
void dump_pid(const struct dump *d, uint32_t member, struct strbuf *out);
/* Registered name, else label, else initial call. */
void dump_name(const struct dump *d, uint32_t member, struct strbuf *out);
/* Texts of a member, in *texts; not its name, which may have to be read, if not `named`. */
struct dump_process dump_process(const struct dump *d, uint32_t member, bool named,
				 struct arena *texts);

/* After each reading: which waits were seen before. */
void dump_waits_remember(struct dump *d);
/* The answer to each question, as text or JSON. */
int dump_stacks(const struct dump *d, const struct command_context *ctx, FILE *f, bool text,
		struct error *err);
int dump_waits(const struct dump *d, const struct command_context *ctx, FILE *f, bool text,
	       struct error *err);
int dump_old(const struct dump *d, const struct command_context *ctx, FILE *f, bool text,
	     struct error *err);

/* Facts of the processes must hold what PROCESS_READ_DICTIONARY reads. */
int dump_snapshot(const struct dump *d, const struct snapshot_options *options,
		  struct snapshot **out, struct error *err);

#endif
