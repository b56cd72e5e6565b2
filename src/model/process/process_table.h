/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The processes of a node over several readings: each row is kept once and updated in place, with
 * rates since the reading before, and with its share of the CPU by samples.  A million rows take
 * about 150 MB.
 *
 *   process_table_begin(t, now, since);
 *   for each block:    process_table_now(t, now);
 *   for each process:  before = process_table_find(t, slot);  process_table_put(t, &row);
 *   process_table_end(t);
 *
 * Between end and the next begin, rows.v.data[0 .. len-1] are those of the last reading, unordered.
 */
#ifndef EBEAM_MODEL_PROCESS_TABLE_H
#define EBEAM_MODEL_PROCESS_TABLE_H

#include "model/process/process_rows.h"

/* Slots of the largest process table that a node can have (+P 134217727). */
#define PROCESS_TABLE_SLOTS (1ull << 27)

#define PROCESS_TABLE_ENDED	16
#define PROCESS_TABLE_CALL_SIZE 96

struct process_table {
	struct process_rows rows;
	VEC(uint32_t) index;   /* by slot: row + 1; 0 = none */
	VEC(uint64_t) read_ns; /* by row: when its process was read */
	uint64_t now_ns; /* time of rows that are put now; rows.ts_ns: when the reading began */
	uint64_t since_ns;
	/* Percent of a core, from process_table_cpu(): sum of the processes that ended before they
	 * could be read; and by their initial call, most first. */
	double ended_cpu;
	struct ended_call {
		char initial_call[PROCESS_TABLE_CALL_SIZE];
		double percent;
	} ended[PROCESS_TABLE_ENDED];
	unsigned int nr_ended; /* entries of ended[]; other calls used less */
};

void process_table_free(struct process_table *t);

/* Begins a reading, at now_ns of CLOCK_MONOTONIC.  Rates are computed from rows that were read at
 * since_ns or later; if the earlier row is older, the rate is not known. */
void process_table_begin(struct process_table *t, uint64_t now_ns, uint64_t since_ns);
/* Time at which the next rows were read, as a reading takes a while. */
void process_table_now(struct process_table *t, uint64_t now_ns);
/* The row in the slot, of this reading or the one before; NULL = none. */
const struct process_row *process_table_find(const struct process_table *t, uint64_t slot);
/* Sets the rates and the CPU share of *row, and stores it; a new process has no rates.  -ENOSPC:
 * its slot is beyond PROCESS_TABLE_SLOTS. */
int process_table_put(struct process_table *t, const struct process_row *row);
/* Removes rows that were not put in this reading. */
void process_table_end(struct process_table *t);

/* CPU that processes used, percent of a core, most first; processes that are not listed have 0.
 * Pids as in struct process_row. */
struct process_cpu {
	uint64_t pid;
	float percent;
	const char *initial_call; /* as displayed; NULL = unknown */
};
void process_table_cpu(struct process_table *t, const struct process_cpu *cpu, size_t nr);
/* CPU shares are not known any more. */
void process_table_forget_cpu(struct process_table *t);

#endif
