/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Where the events of the VM come from: which function of which symbol, at its entry or its return,
 * which BPF program, and which registers hold what that program reads.
 */
#ifndef EBEAM_PROBE_SOURCES_H
#define EBEAM_PROBE_SOURCES_H

#include <stdbool.h>
#include <stdint.h>

#include "abi/record.h"
#include "target/elf.h"

#define SOURCE_MAX_POINTS 192

/*
 * One place to attach to: a function (its entry, or where it is cheap, or its return), or an
 * instruction.
 */
struct source_point {
	const char *symbol;  /* as found; for an instruction, the name of what it is */
	const char *program; /* BPF program */
	const char *args;    /* registers that it reads: "di si dx"; NULL = "" */
	uint64_t kinds;	     /* bit set: those asked for that need it; source_plan() sets it */
	const char *path;    /* as ebeam can open it; NULL = the node's executable */
	uint64_t addr;	     /* of the function, in the file, unless is_instruction */
	bool at_return;
	bool is_instruction;	 /* probed right at `offset`: nothing is looked for */
	uint64_t offset;	 /* of the instruction, from the beginning of the file */
	uint64_t ref_ctr_offset; /* of a USDT semaphore, in the file; 0 = none */
	uint64_t cookie;	 /* bpf_get_attach_cookie() of the program */
};

struct source_plan {
	struct source_point points[SOURCE_MAX_POINTS];
	unsigned int nr_points;
	uint64_t kinds; /* bit set: those that these points give */
	/* Of kinds that were asked for and are not given: the symbol that is missing; else NULL. */
	const char *missing[NR_EVENT_KINDS];
};

/* Adds a point, whose strings live as long as the plan; false = there are SOURCE_MAX_POINTS. */
bool source_plan_add(struct source_plan *p, const struct source_point *point);

/* What to attach for these kinds. */
void source_plan(struct source_plan *out, const struct elf_file *elf, uint64_t kinds);
/* The functions that a kind needs, as a list "a, b" into buf. */
void source_functions(enum event_kind kind, char *buf, size_t size);

#endif
