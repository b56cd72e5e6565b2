/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Processes as rows of numbers and names, independent of a node: for tables, JSON, filters and live
 * views.  Rows are small, as there may be a million; each name is in a pool once.
 *
 * PROCESS_FIELDS is the list of all fields of a process: columns of tables, JSON, names in --where,
 * and what has to be read for them follow from it.
 */
#ifndef EBEAM_MODEL_PROCESS_ROWS_H
#define EBEAM_MODEL_PROCESS_ROWS_H

#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/idmap.h"
#include "base/vec.h"

/* What has to be read for a field. */
enum {
	PROCESS_NEEDS_NAME = 1,	    /* the registered name */
	PROCESS_NEEDS_LABEL = 2,    /* the process dictionary */
	PROCESS_NEEDS_FUNCTION = 4, /* current function and its source location */
	PROCESS_NEEDS_INITIAL = 8,
	PROCESS_NEEDS_MEMORY = 16,
	PROCESS_NEEDS_COUNTS = 32,
	PROCESS_NEEDS_BEFORE = 64, /* an earlier reading, for a rate */
	PROCESS_NEEDS_SAMPLES = 128,
	PROCESS_NEEDS_BINARIES = 256, /* the lists of binaries outside of its heap */
	PROCESS_NEEDS_TIMERS = 512,   /* all timers of the node */
};

enum process_type {
	PROCESS_TYPE_PID,
	PROCESS_TYPE_TEXT,  /* a string id */
	PROCESS_TYPE_PLACE, /* a string id of a file; the line is in the row */
	PROCESS_TYPE_WORD,  /* const char * */
	PROCESS_TYPE_COUNT, /* from here on: numbers */
	PROCESS_TYPE_BYTES,
	PROCESS_TYPE_WORDS,
	PROCESS_TYPE_RATE,	 /* count per second */
	PROCESS_TYPE_BYTES_RATE, /* bytes a second */
	PROCESS_TYPE_PERCENT,	 /* with one decimal */
	PROCESS_TYPE_BOOL,
};

/* id, name, type, expression for row `r`, what it needs; numbers are in the list below. */
#define PROCESS_TEXT_FIELDS(F)                                                                     \
	F(PID, pid, PID, r->pid, 0)                                                                \
	F(NAME, name, TEXT, process_row_name(r),                                                   \
	  PROCESS_NEEDS_NAME | PROCESS_NEEDS_LABEL | PROCESS_NEEDS_INITIAL)                        \
	F(REGISTERED_NAME, registered_name, TEXT, r->registered, PROCESS_NEEDS_NAME)               \
	F(LABEL, label, TEXT, r->label, PROCESS_NEEDS_LABEL)                                       \
	F(INITIAL_CALL, initial_call, TEXT, r->initial_call, PROCESS_NEEDS_INITIAL)                \
	F(STATUS, status, WORD, process_status_names[r->status], 0)                                \
	F(CURRENT_FUNCTION, current_function, TEXT, r->function, PROCESS_NEEDS_FUNCTION)           \
	F(CURRENT_LOCATION, current_location, PLACE, r->file, PROCESS_NEEDS_FUNCTION)              \
	F(PARENT, parent, PID, r->parent, 0)                                                       \
	F(GROUP_LEADER, group_leader, PID, r->group_leader, 0)                                     \
	F(PRIORITY, priority, WORD, process_priority_names[r->priority], 0)
#define PROCESS_NUMBER_FIELDS(F)                                                                   \
	F(MEMORY, memory, BYTES, r->memory, PROCESS_NEEDS_MEMORY)                                  \
	F(MEMORY_RATE, memory_per_s, BYTES_RATE, r->memory_rate,                                   \
	  PROCESS_NEEDS_MEMORY | PROCESS_NEEDS_BEFORE)                                             \
	F(MESSAGES, message_queue_len, COUNT, r->message_queue_len, 0)                             \
	F(MESSAGES_RATE, message_queue_per_s, RATE, r->messages_rate, PROCESS_NEEDS_BEFORE)        \
	F(REDUCTIONS, reductions, COUNT, r->reductions, 0)                                         \
	F(REDUCTIONS_RATE, reductions_per_s, RATE, r->reductions_rate, PROCESS_NEEDS_BEFORE)       \
	F(CPU, cpu, PERCENT, r->cpu, PROCESS_NEEDS_SAMPLES)                                        \
	F(TOTAL_HEAP_SIZE, total_heap_size, WORDS, r->total_heap_size, PROCESS_NEEDS_MEMORY)       \
	F(HEAP_SIZE, heap_size, WORDS, r->heap_size, 0)                                            \
	F(STACK_SIZE, stack_size, WORDS, r->stack_size, 0)                                         \
	F(LINKS, links, COUNT, process_count(r->links), PROCESS_NEEDS_COUNTS)                      \
	F(MONITORS, monitors, COUNT, process_count(r->monitors), PROCESS_NEEDS_COUNTS)             \
	F(MONITORED_BY, monitored_by, COUNT, process_count(r->monitored_by), PROCESS_NEEDS_COUNTS) \
	F(BINARIES, binaries, COUNT, process_number(r->binaries), PROCESS_NEEDS_BINARIES)          \
	F(BINARY_MEMORY, binary_memory, BYTES, process_number(r->binary_memory),                   \
	  PROCESS_NEEDS_BINARIES)                                                                  \
	F(BINARY_HELD, binary_held, BYTES, process_number(r->binary_held), PROCESS_NEEDS_BINARIES) \
	F(TIMERS, timers, COUNT, process_number(r->timers), PROCESS_NEEDS_TIMERS)                  \
	F(TRAP_EXIT, trap_exit, BOOL, r->trap_exit, 0)                                             \
	F(TORN, torn, BOOL, r->torn, 0)                                                            \
	F(STALE, stale, BOOL, r->stale, 0)
#define PROCESS_FIELDS(F) PROCESS_TEXT_FIELDS(F) PROCESS_NUMBER_FIELDS(F)

enum process_field {
#define PROCESS_FIELD_ID(id, name, type, value, needs) PROCESS_FIELD_##id,
	PROCESS_FIELDS(PROCESS_FIELD_ID)
#undef PROCESS_FIELD_ID
		NR_PROCESS_FIELDS
};

struct process_field_info {
	const char *name;
	enum process_type type;
	unsigned int needs;
};
extern const struct process_field_info process_fields[NR_PROCESS_FIELDS];

/* ---- names -------------------------------------------------------------------------------- */

/* Id 0 is "none". */
struct process_string {
	const char *text, *json; /* json: with quotes */
	uint32_t len, json_len;
};
struct process_strings {
	VEC(struct process_string) v;
	struct idmap index;
	struct arena arena;
};
uint32_t process_strings_add(struct process_strings *s, const char *text, size_t len);
const struct process_string *process_strings_get(const struct process_strings *s, uint32_t id);
void process_strings_free(struct process_strings *s);
struct process_row;
/* Drops all strings that no row refers to.  The others get new ids, also in the rows. */
void process_strings_keep(struct process_strings *s, struct process_row *rows, size_t nr);

/* ---- rows --------------------------------------------------------------------------------- */

/* A pid: serial << 32 | number; of another node: PROCESS_PID_TEXT | string id of its text. */
#define PROCESS_PID_NONE UINT64_MAX
#define PROCESS_PID_TEXT (1ull << 63)

#define PROCESS_COUNT_UNKNOWN  UINT32_MAX
#define PROCESS_NUMBER_UNKNOWN UINT64_MAX

struct process_row {
	uint64_t pid, parent, group_leader;
	uint64_t slot; /* in the node's process table; rows are ordered by it */
	uint64_t reductions, memory, message_queue_len;
	uint64_t total_heap_size, heap_size, stack_size;
	/* Binaries outside of its heap: number, bytes, bytes to which only it refers; and messages
	 * that timers will send to it.  PROCESS_NUMBER_UNKNOWN: not read. */
	uint64_t binaries, binary_memory, binary_held, timers;
	/* NaN = not known; cpu is percent of a core. */
	float reductions_rate, memory_rate, messages_rate, cpu;
	uint32_t links, monitors, monitored_by; /* PROCESS_COUNT_UNKNOWN: not read */
	uint32_t registered, label, initial_call, function, file, line;
	uint32_t written; /* registered name as displayed: string id; 0 = as in `registered` */
	uint8_t status, priority; /* as in process_status_names[], process_priority_names[] */
	bool trap_exit, torn;
	bool stale; /* it was running: `function` is where it last stopped */
};

extern const char *const process_status_names[6];
extern const char *const process_priority_names[4];

struct process_rows {
	VEC(struct process_row) v;
	uint64_t ts_ns; /* when they were read */
};

/* Sets the rates of `now` since `before`, both ordered by slot; a new process has none. */
void process_rows_rates(struct process_rows *now, const struct process_rows *before);

/* Sets the rates of one row since an earlier reading; NaN if `before` is NULL or another
 * process. */
void process_row_rates(struct process_row *now, const struct process_row *before, double seconds);

#define PROCESS_PID_SIZE 40
/* "<0.80.0>"; returns its length.  0 for no pid; -1 for one of another node, whose text is in the
 * pool. */
int process_pid_format(uint64_t pid, char buf[PROCESS_PID_SIZE]);

struct process_value {
	enum { PROCESS_VALUE_NONE, PROCESS_VALUE_NUMBER, PROCESS_VALUE_TEXT } kind;
	double number;
	const char *text;
	size_t len;
	char buf[PROCESS_PID_SIZE];
};
/* Value of a field; text may point into v->buf or the pool.  The name of a process is its
 * registered name, else its label, else its initial call. */
void process_row_get(const struct process_strings *s, const struct process_row *row,
		     enum process_field field, struct process_value *v);
uint32_t process_row_name(const struct process_row *row);
static inline double process_count(uint32_t n)
{
	return n == PROCESS_COUNT_UNKNOWN ? (double)NAN : n;
}

static inline double process_number(uint64_t n)
{
	return n == PROCESS_NUMBER_UNKNOWN ? (double)NAN : (double)n;
}

/* Value of a number field; NaN = not known, or not a number.  Inline, as a million rows are sorted
 * by it. */
static inline double process_row_number(const struct process_row *r, enum process_field field)
{
	switch (field) {
#define PROCESS_NUMBER(id, name, type, value, needs)                                               \
	case PROCESS_FIELD_##id:                                                                   \
		return (double)(value);
		PROCESS_NUMBER_FIELDS(PROCESS_NUMBER)
#undef PROCESS_NUMBER
	default:
		return NAN;
	}
}

#endif
