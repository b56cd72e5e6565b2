/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The processes of a node from reading to reading, each row kept once and updated in place: rates
 * against the reading before, and the share of CPU that samples gave it.  A million rows take
 * about 150 MB.
 *
 *   process_table_begin(t, now, since);
 *   for each block:    process_table_now(t, now);
 *   for each process:  before = process_table_find(t, slot);  process_table_put(t, &row);
 *   process_table_end(t);
 *
 * Between end and the next begin, rows.v.data[0 .. len-1] are those of the last reading, in no
 * order.
 */
#ifndef EBEAM_MODEL_PROCESS_TABLE_H
#define EBEAM_MODEL_PROCESS_TABLE_H

#include "model/process/process_rows.h"

/* Slots of the largest table that a node can have (+P 134217727). */
#define PROCESS_TABLE_SLOTS (1ull << 27)

#define PROCESS_TABLE_ENDED	16
#define PROCESS_TABLE_CALL_SIZE 96

struct process_table {
	struct process_rows rows;
	VEC(uint32_t) index;   /* slot -> row + 1; 0 = none */
	VEC(uint64_t) read_ns; /* by row: when it was read */
	uint64_t now_ns;       /* of what is read now; rows.ts_ns: when the reading began */
	uint64_t since_ns;
	/* Percent of a core, of process_table_cpu(): of those that have no row, as they ended
	 * before they could be read; and of those by initial call, most first. */
	double ended_cpu;
	struct ended_call {
		char initial_call[PROCESS_TABLE_CALL_SIZE];
		double percent;
	} ended[PROCESS_TABLE_ENDED];
	unsigned int nr_ended; /* calls; the first so many, most are of few */
};

void process_table_free(struct process_table *t);

/* A reading begins now, of CLOCK_MONOTONIC.  Rates are against what was read since since_ns; those
 * of what was read before are not known. */
void process_table_begin(struct process_table *t, uint64_t now_ns, uint64_t since_ns);
/* It takes time: when what is put next was read. */
void process_table_now(struct process_table *t, uint64_t now_ns);
/* What stands in the slot since this reading or the one before; NULL = nothing. */
const struct process_row *process_table_find(const struct process_table *t, uint64_t slot);
/* The rates and the CPU share of *row are set here; a process that was not there before has no
 * rates.  Rows with a slot beyond PROCESS_TABLE_SLOTS are refused: -ENOSPC. */
int process_table_put(struct process_table *t, const struct process_row *row);
/* Those that were not seen are gone. */
void process_table_end(struct process_table *t);

/* Percent of a core that each process used, of those that samples were taken of, most first; all
 * others have 0.  Pids as in struct process_row. */
struct process_cpu {
	uint64_t pid;
	float percent;
	const char *initial_call; /* as displayed; NULL = unknown */
};
void process_table_cpu(struct process_table *t, const struct process_cpu *cpu, size_t nr);
/* Nothing is known of it any more. */
void process_table_forget_cpu(struct process_table *t);

#endif
