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

#define SOURCE_MAX_POINTS 48

/* One place to attach to: entry or return of a function of the node's executable. */
struct source_point {
	const char *symbol;  /* as found */
	const char *program; /* BPF program */
	const char *args;    /* registers that it reads: "di si dx" */
	uint64_t addr;	     /* of the function, in the file */
	bool at_return;
};

struct source_plan {
	struct source_point points[SOURCE_MAX_POINTS];
	unsigned int nr_points;
	uint64_t kinds; /* bit set: those that these points give */
	/* Of kinds that were asked for and are not given: the symbol that is missing; else NULL. */
	const char *missing[NR_EVENT_KINDS];
};

/* What to attach for these kinds. */
void source_plan(struct source_plan *out, const struct elf_file *elf, uint64_t kinds);
/* The functions that a kind needs, as a list "a, b" into buf. */
void source_functions(enum event_kind kind, char *buf, size_t size);

#endif
