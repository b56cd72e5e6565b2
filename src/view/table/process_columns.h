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
	unsigned int max_width;	     /* of a text, beyond which it is cut; 0 = never */
	struct process_match *match; /* of process_row_matches(); NULL if that is not called */
};

/* Rows are struct process_row; one column for each of PROCESS_FIELDS, with its name. */
extern const struct table_column process_columns[];
/* What is shown if nothing was chosen: of one reading, and of two, when there are rates. */
#define PROCESS_COLUMNS_ONCE "pid,name,status,memory,message_queue_len,reductions,current_function"
#define PROCESS_COLUMNS_TOP                                                                        \
	"pid,name,cpu,reductions_per_s,memory,message_queue_len,message_queue_per_s,status,"       \
	"current_function"
#define PROCESS_COLUMNS_WATCH                                                                      \
	"pid,name,status,memory,memory_per_s,message_queue_len,message_queue_per_s,"               \
	"reductions_per_s,current_function"

/* Bit set of enum process_field of "a,b"; unknown names are left out. */
uint64_t process_columns_fields(const char *columns);

/* The fields that JSON has, if none were chosen; the rates are in it from the second reading on. */
#define PROCESS_JSON_NOT                                                                           \
	(1ull << PROCESS_FIELD_NAME | 1ull << PROCESS_FIELD_MONITORED_BY |                         \
	 1ull << PROCESS_FIELD_TORN | 1ull << PROCESS_FIELD_STALE |                                \
	 1ull << PROCESS_FIELD_MEMORY_RATE | 1ull << PROCESS_FIELD_MESSAGES_RATE |                 \
	 1ull << PROCESS_FIELD_REDUCTIONS_RATE | 1ull << PROCESS_FIELD_CPU)
#define PROCESS_JSON_ALL (((1ull << NR_PROCESS_FIELDS) - 1) & ~PROCESS_JSON_NOT)
#define PROCESS_JSON_RATES                                                                         \
	(1ull << PROCESS_FIELD_MEMORY_RATE | 1ull << PROCESS_FIELD_MESSAGES_RATE |                 \
	 1ull << PROCESS_FIELD_REDUCTIONS_RATE)
/* Of a live view: the name too, and rates from its first reading on. */
#define PROCESS_JSON_TOP                                                                           \
	(PROCESS_JSON_ALL | PROCESS_JSON_RATES | 1ull << PROCESS_FIELD_NAME |                      \
	 1ull << PROCESS_FIELD_CPU)

/* Adds the row as one JSON object; "torn": true and "stale": true stand in it only if it is. */
void process_row_json(struct strbuf *out, const struct process_strings *s,
		      const struct process_row *row, uint64_t fields);

#endif
