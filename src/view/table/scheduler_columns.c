/* SPDX-License-Identifier: BSD-2-Clause */
/* See scheduler_columns.h. */
#include "view/table/scheduler_columns.h"

#include <math.h>

#include "base/units.h"
#include "model/top/top_frame.h"
#include "view/table/cells.h"

#define ROW(p) ((const struct top_scheduler *)(p))

static void col_scheduler(struct strbuf *out, const void *row, const void *ctx)
{
	const struct top_scheduler *s = ROW(row);

	(void)ctx;
	strbuf_addf(out, "%s%u",
		    s->type == THREAD_DIRTY_CPU	 ? "dirty cpu "
		    : s->type == THREAD_DIRTY_IO ? "dirty io "
						 : "",
		    s->number);
}

static int by_scheduler(const void *a, const void *b)
{
	const struct top_scheduler *x = ROW(a), *y = ROW(b);

	if (x->type != y->type)
		return x->type < y->type ? -1 : 1;
	return x->number < y->number ? -1 : x->number > y->number;
}

static void add_percent(struct strbuf *out, double share)
{
	if (!isnan(share))
		strbuf_addf(out, "%.1f%%", 100 * share);
}

static void col_work(struct strbuf *out, const void *row, const void *ctx)
{
	(void)ctx;
	add_percent(out, top_scheduler_work(ROW(row)));
}

static int by_work(const void *a, const void *b)
{
	return cell_by_number(top_scheduler_work(ROW(a)), top_scheduler_work(ROW(b)));
}

static double share(const struct top_scheduler *s, enum top_share_kind kind)
{
	return s->known ? s->share[kind] : NAN;
}

/* One column for each of TOP_SHARES. */
#define SHARE(id, name)                                                                            \
	static void col_share_##id(struct strbuf *out, const void *row, const void *ctx)           \
	{                                                                                          \
		(void)ctx;                                                                         \
		add_percent(out, share(ROW(row), TOP_SHARE_##id));                                 \
	}                                                                                          \
	static int by_share_##id(const void *a, const void *b)                                     \
	{                                                                                          \
		return cell_by_number(share(ROW(a), TOP_SHARE_##id),                               \
				      share(ROW(b), TOP_SHARE_##id));                              \
	}
TOP_SHARES(SHARE)

#define RATE(member)                                                                               \
	static void col_##member(struct strbuf *out, const void *row, const void *ctx)             \
	{                                                                                          \
		(void)ctx;                                                                         \
		if (!isnan(ROW(row)->member))                                                      \
			cell_rate(out, ROW(row)->member);                                          \
	}                                                                                          \
	static int by_##member(const void *a, const void *b)                                       \
	{                                                                                          \
		return cell_by_number(ROW(a)->member, ROW(b)->member);                             \
	}
RATE(reductions)
RATE(context_switches)
RATE(gcs)

static void col_run_queue(struct strbuf *out, const void *row, const void *ctx)
{
	(void)ctx;
	if (ROW(row)->run_queue != TOP_UNKNOWN)
		cell_count(out, ROW(row)->run_queue);
}

static int by_run_queue(const void *a, const void *b)
{
	uint64_t x = ROW(a)->run_queue + 1, y = ROW(b)->run_queue + 1; /* unknown: 0 */

	return x > y ? -1 : x < y;
}

/* As `sched --now` has it. */
static void col_at_least(struct strbuf *out, const void *row, const void *ctx)
{
	char buf[32];

	(void)ctx;
	if (ROW(row)->at_least_ns)
		strbuf_addf(out, ">= %s", units_format_ns(ROW(row)->at_least_ns, buf, sizeof(buf)));
}

static int by_at_least(const void *a, const void *b)
{
	uint64_t x = ROW(a)->at_least_ns, y = ROW(b)->at_least_ns;

	return x > y ? -1 : x < y;
}

#define SHARE_COLUMN(id, name) {name, #id, TABLE_RIGHT, false, col_share_##id, by_share_##id},

const struct table_column scheduler_columns[] = {
	{"scheduler", "SCHEDULER", TABLE_LEFT, false, col_scheduler, by_scheduler},
	{"work", "WORK", TABLE_RIGHT, false, col_work, by_work},
	{"at_least_ns", "FOR", TABLE_RIGHT, false, col_at_least, by_at_least},
	TOP_SHARES(SHARE_COLUMN) /**/
	{"run_queue", "RUN QUEUE", TABLE_RIGHT, false, col_run_queue, by_run_queue},
	{"reductions_per_s", "REDUCTIONS/S", TABLE_RIGHT, false, col_reductions, by_reductions},
	{"context_switches_per_s", "SWITCHES/S", TABLE_RIGHT, false, col_context_switches,
	 by_context_switches},
	{"gcs_per_s", "GCS/S", TABLE_RIGHT, false, col_gcs, by_gcs},
	{0},
};
