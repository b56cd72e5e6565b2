/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Finds processes that run old code, like erlang:check_process_code/2, by the next instruction and
 * every return address on the stack (beam_bif_load.c, OTP 25 to 29).  Unlike that BIF, does not
 * check funs, literals and saved exceptions.
 */
#ifndef EBEAM_BEAM_OLD_CODE_H
#define EBEAM_BEAM_OLD_CODE_H

#include "base/vec.h"
#include "beam/code/modules.h"
#include "beam/process/stack.h"

struct old_module {
	uint64_t name; /* atom */
	raddr start, end;
	uint32_t processes;
};

struct old_use {
	uint32_t process; /* the caller's index of the process */
	uint32_t module;  /* index in old_code.modules */
};

struct old_code { /* all zero before use */
	VEC(struct old_module) modules;
	VEC(struct old_use) uses; /* in order of visits, a module once for each process */
	raddr low, high;	  /* range that includes all old code */
};

/* Reads which modules have old code; errors as of modules_read(). */
int old_code_read(struct old_code *o, struct beam_node *n, struct error *err);
/* Adds an old_use for each module whose old code the process is going to run, by its stack `s`. */
void old_code_visit(struct old_code *o, uint32_t process, const struct process_stack *s);
void old_code_free(struct old_code *o);

#endif
