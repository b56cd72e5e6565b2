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
	strbuf_addf(out, "%s%u%s",
		    s->type == THREAD_DIRTY_CPU	 ? "dirty cpu "
		    : s->type == THREAD_DIRTY_IO ? "dirty io "
						 : "",
		    s->number, s->offline ? " offline" : "");
}

static int by_scheduler(const void *a, const void *b)
{
	const struct top_scheduler *x = ROW(a), *y = ROW(b);

	if (x->type != y->type)
		return x->type < y->type ? -1 : 1;
	return x->number < y->number ? -1 : x->number > y->number;
}

static double work(const void *row)
{
	return top_scheduler_work(row);
}

static double share(const struct top_scheduler *s, enum top_share_kind kind)
{
	return s->known ? s->share[kind] : NAN;
}

/* One column for each of TOP_SHARES. */
#define SHARE(id, name)                                                                            \
	static double share_##id(const void *row)                                                  \
	{                                                                                          \
		return share(row, TOP_SHARE_##id);                                                 \
	}
TOP_SHARES(SHARE)

/* The least time that the current time slice has lasted, as in `sched --now`. */
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

#define SHARE_COLUMN(id, name) {TABLE_NUMBER(name, #id, SHARE, share_##id)},
#define FIELD(name, title, type, member)                                                           \
	TABLE_FIELD(name, title, type, struct top_scheduler, member)

const struct table_column scheduler_columns[] = {
	{"scheduler", "SCHEDULER", .text = col_scheduler, .compare = by_scheduler},
	{TABLE_NUMBER("work", "WORK", SHARE, work)},
	{"at_least_ns", "FOR", TABLE_RIGHT, .text = col_at_least, .compare = by_at_least},
	TOP_SHARES(SHARE_COLUMN) /**/
	{FIELD("run_queue", "RUN QUEUE", COUNT, run_queue)},
	{FIELD("reductions_per_s", "REDUCTIONS/S", RATE, reductions)},
	{FIELD("context_switches_per_s", "SWITCHES/S", RATE, context_switches)},
	{FIELD("gcs_per_s", "GCS/S", RATE, gcs)},
	{0},
};
