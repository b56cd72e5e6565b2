/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The parts of `ebeam dump`: dump.c reads the stacks of all processes and merges equal ones,
 * dump_stacks.c shows them, dump_profile.c makes a snapshot of them for the exporters,
 * dump_waits*.c is --waits, dump_old.c is --old-code.  Private.
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

/* Frames of one stack that are kept; of a deeper stack the frames next to the root are left out. */
#define DUMP_MAX_FRAMES 4096

/* stack_group.what is an enum process_status with these flags. */
#define DUMP_STATUS_MASK 0xffu
#define DUMP_STALE	 0x100u /* the process ran: the stack is that of its last stop */
#define DUMP_TRUNCATED	 0x200u

#define DUMP_NO_GROUP UINT32_MAX

/* A wait that a reading has seen.  With --watch the next reading sees the same wait if process,
 * `mark` and, but for WAIT_ANSWER, `item` are equal. */
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
	/* Items are ids of frames in `names`: the current function (0 = none), then the frames of
	 * the stack, top first.  Members are indices in `list`. */
	struct stack_groups groups;
	uint32_t *order;    /* indices of groups; those with most processes first */
	uint32_t *group_of; /* index of each process's group; DUMP_NO_GROUP = no stack */
	uint64_t vanished, torn, stale, cut, unknown_frames;
	bool want_waits, want_old;
	struct waits waits;	    /* if want_waits */
	VEC(struct dump_seen) seen; /* one for each element of waits.v */
	uint64_t read_ns;	    /* CLOCK_MONOTONIC of the last reading */
	struct old_code old;	    /* if want_old */
};

/* Frame i of the stack, 0 = the top; NULL past its end. */
const struct name_frame *dump_frame(const struct dump *d, const struct stack_group *g, uint32_t i);
uint32_t dump_depth(const struct stack_group *g);
/* The function of process_info(P, current_function); NULL = undefined. */
const struct name_frame *dump_current(const struct dump *d, const struct stack_group *g);
/* Is dump_current() not the function of the top frame, but one that has no frame: a BIF that has
 * yielded (trapped), a NIF on a dirty scheduler, erlang:hibernate/3? */
bool dump_current_is_extra(const struct dump *d, const struct stack_group *g);
enum process_status dump_status(const struct stack_group *g);

/* Adds the pid of a member, "<0.80.0>". */
void dump_pid(const struct dump *d, uint32_t member, struct strbuf *out);
/* Adds the registered name of a member, else its label, else its initial call. */
void dump_name(const struct dump *d, uint32_t member, struct strbuf *out);
/* Texts of a member, owned by *texts.  The name is left out if not `named`, as the node may have to
 * be read for it. */
struct dump_process dump_process(const struct dump *d, uint32_t member, bool named,
				 struct arena *texts);

/* To be called after each reading: fills d->seen, with the times of waits that were seen before. */
void dump_waits_remember(struct dump *d);
/* Write the answer of `ebeam dump`, of --waits and of --old-code, as text or JSON. */
int dump_stacks(const struct dump *d, const struct command_context *ctx, FILE *f, bool text,
		struct error *err);
int dump_waits(const struct dump *d, const struct command_context *ctx, FILE *f, bool text,
	       struct error *err);
int dump_old(const struct dump *d, const struct command_context *ctx, FILE *f, bool text,
	     struct error *err);

/* Makes a snapshot.  The processes must have been read with PROCESS_READ_DICTIONARY. */
int dump_snapshot(const struct dump *d, const struct snapshot_options *options,
		  struct snapshot **out, struct error *err);

#endif
