/* SPDX-License-Identifier: BSD-2-Clause */
/* See app_columns.h. */
#include "view/table/app_columns.h"

#include <math.h>

#include "view/table/cells.h"

#define ROW(row) ((const struct top_app_row *)(row))

static void col_application(struct strbuf *out, const void *row, const void *ctx)
{
	(void)ctx;
	strbuf_addstr(out, ROW(row)->name);
}

static void col_version(struct strbuf *out, const void *row, const void *ctx)
{
	(void)ctx;
	if (ROW(row)->vsn)
		strbuf_addstr(out, ROW(row)->vsn);
}

static void col_running(struct strbuf *out, const void *row, const void *ctx)
{
	(void)ctx;
	strbuf_addstr(out, ROW(row)->running ? "yes" : "no");
}

static void add_percent(struct strbuf *out, double percent)
{
	if (!isnan(percent))
		strbuf_addf(out, "%.1f", percent);
}

static void col_cpu(struct strbuf *out, const void *row, const void *ctx)
{
	(void)ctx;
	add_percent(out, ROW(row)->cpu);
}

static void col_code_cpu(struct strbuf *out, const void *row, const void *ctx)
{
	(void)ctx;
	add_percent(out, ROW(row)->code_cpu);
}

static void col_memory(struct strbuf *out, const void *row, const void *ctx)
{
	(void)ctx;
	cell_bytes(out, (double)ROW(row)->memory);
}

static void col_reductions(struct strbuf *out, const void *row, const void *ctx)
{
	(void)ctx;
	if (!isnan(ROW(row)->reductions))
		cell_rate(out, ROW(row)->reductions);
}

#define COUNT_COLUMN(field)                                                                        \
	static void col_##field(struct strbuf *out, const void *row, const void *ctx)              \
	{                                                                                          \
		(void)ctx;                                                                         \
		cell_count(out, ROW(row)->field);                                                  \
	}
COUNT_COLUMN(processes)
COUNT_COLUMN(message_queue_len)
COUNT_COLUMN(modules)

#define COMPARE(field)                                                                             \
	static int by_##field(const void *a, const void *b)                                        \
	{                                                                                          \
		return cell_by_number((double)ROW(a)->field, (double)ROW(b)->field);               \
	}
COMPARE(cpu)
COMPARE(code_cpu)
COMPARE(memory)
COMPARE(processes)
COMPARE(message_queue_len)
COMPARE(reductions)
COMPARE(modules)

const struct table_column app_columns[] = {
	{"application", "APPLICATION", TABLE_LEFT, false, col_application, NULL},
	{"version", "VERSION", TABLE_LEFT, false, col_version, NULL},
	{"cpu", "CPU%", TABLE_RIGHT, false, col_cpu, by_cpu},
	{"code_cpu", "CODE CPU%", TABLE_RIGHT, false, col_code_cpu, by_code_cpu},
	{"memory", "MEMORY", TABLE_RIGHT, false, col_memory, by_memory},
	{"processes", "PROCESSES", TABLE_RIGHT, false, col_processes, by_processes},
	{"message_queue_len", "MESSAGES", TABLE_RIGHT, false, col_message_queue_len,
	 by_message_queue_len},
	{"reductions_per_s", "REDUCTIONS/S", TABLE_RIGHT, false, col_reductions, by_reductions},
	{"modules", "MODULES", TABLE_RIGHT, false, col_modules, by_modules},
	{"running", "RUNNING", TABLE_LEFT, true, col_running, NULL},
	{0},
};
