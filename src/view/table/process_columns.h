/* SPDX-License-Identifier: BSD-2-Clause */
/* Processes (model/process/process_rows.h) as columns of a table and as JSON. */
#ifndef EBEAM_VIEW_PROCESS_COLUMNS_H
#define EBEAM_VIEW_PROCESS_COLUMNS_H

#include "base/strbuf.h"
#include "model/process/process_rows.h"
#include "view/table/table.h"

struct process_match;

/* ctx of the table. */
struct process_columns_ctx {
	const struct process_strings *strings;
	unsigned int max_width;	     /* longer texts are truncated; 0 = no limit */
	struct process_match *match; /* for process_row_matches(); NULL if it is not called */
};

/* Rows are struct process_row; one column for each of PROCESS_FIELDS, with its name. */
extern const struct table_column process_columns[];
/* Default columns: without rates (one reading), and with rates. */
#define PROCESS_COLUMNS_ONCE "pid,name,status,memory,message_queue_len,reductions,current_function"
#define PROCESS_COLUMNS_TOP                                                                        \
	"pid,name,cpu,reductions_per_s,memory,message_queue_len,message_queue_per_s,status,"       \
	"current_function"
#define PROCESS_COLUMNS_WATCH                                                                      \
	"pid,name,status,memory,memory_per_s,message_queue_len,message_queue_per_s,"               \
	"reductions_per_s,current_function"

/* The fields that "a,b" names, as bits 1 << enum process_field; unknown names are ignored. */
uint64_t process_columns_fields(const char *columns);

/* Fields that JSON has only if they are asked for (rates also with --watch); and all others, the
 * default. */
#define PROCESS_JSON_NOT                                                                           \
	(1ull << PROCESS_FIELD_NAME | 1ull << PROCESS_FIELD_MONITORED_BY |                         \
	 1ull << PROCESS_FIELD_TORN | 1ull << PROCESS_FIELD_STALE |                                \
	 1ull << PROCESS_FIELD_MEMORY_RATE | 1ull << PROCESS_FIELD_MESSAGES_RATE |                 \
	 1ull << PROCESS_FIELD_REDUCTIONS_RATE | 1ull << PROCESS_FIELD_CPU |                       \
	 1ull << PROCESS_FIELD_BINARIES | 1ull << PROCESS_FIELD_BINARY_MEMORY |                    \
	 1ull << PROCESS_FIELD_BINARY_HELD | 1ull << PROCESS_FIELD_TIMERS)
#define PROCESS_JSON_ALL (((1ull << NR_PROCESS_FIELDS) - 1) & ~PROCESS_JSON_NOT)
#define PROCESS_JSON_RATES                                                                         \
	(1ull << PROCESS_FIELD_MEMORY_RATE | 1ull << PROCESS_FIELD_MESSAGES_RATE |                 \
	 1ull << PROCESS_FIELD_REDUCTIONS_RATE)
/* Default fields of JSON of `ebeam top`. */
#define PROCESS_JSON_TOP                                                                           \
	(PROCESS_JSON_ALL | PROCESS_JSON_RATES | 1ull << PROCESS_FIELD_NAME |                      \
	 1ull << PROCESS_FIELD_CPU)

/* Adds a row as a JSON object; it has "torn" and "stale" only if they are true. */
void process_row_json(struct strbuf *out, const struct process_strings *s,
		      const struct process_row *row, uint64_t fields);

#endif
