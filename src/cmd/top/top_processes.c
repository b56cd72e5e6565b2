/* SPDX-License-Identifier: BSD-2-Clause */
/* See top_processes.h. */
#include "cmd/top/top_processes.h"

#include "base/units.h"
#include "view/table/process_columns.h"

/* Names are looked up anew after this time, as code is loaded and unloaded. */
#define RENEW_NS 60000000000u
/* Time between two calls of yield(). */
#define YIELD_NS 10000000u

/* What each reading reads, whatever columns are shown.  Not in it are numbers of links and
 * monitors, for which trees must be walked: they are read only while a column shows them. */
#define NEEDS                                                                                      \
	(PROCESS_NEEDS_NAME | PROCESS_NEEDS_LABEL | PROCESS_NEEDS_FUNCTION |                       \
	 PROCESS_NEEDS_INITIAL | PROCESS_NEEDS_MEMORY)

int top_processes_open(struct top_processes *p, struct beam_node *n, struct error *err)
{
	int rc = process_source_open(&p->source, n, NEEDS, p->warning, sizeof(p->warning), err);

	p->is_open = rc == 0;
	p->renewed_ns = clock_monotonic_ns();
	return rc;
}

void top_processes_want(struct top_processes *p, uint64_t fields)
{
	p->source.needs = NEEDS;
	for (unsigned int i = 0; i < NR_PROCESS_FIELDS; i++)
		if (fields >> i & 1)
			p->source.needs |= process_fields[i].needs;
}

void top_processes_close(struct top_processes *p)
{
	if (p->is_open)
		process_source_close(&p->source);
	process_table_free(&p->table);
	*p = (struct top_processes){0};
}

static int take_block(void *arg, struct process_facts *block, size_t nr)
{
	struct top_processes *p = arg;
	uint64_t now = clock_monotonic_ns();

	process_table_now(&p->table, now);
	for (size_t i = 0; i < nr; i++) {
		const struct process_row *before = process_table_find(&p->table, block[i].slot);
		struct process_row row;

		process_source_row(&p->source, &block[i], before, &row);
		process_table_put(&p->table, &row);
	}
	if (!p->yield)
		return 0;
	now = clock_monotonic_ns();
	if (now - p->yielded_ns < YIELD_NS)
		return 0;
	p->yielded_ns = now;
	return p->yield(p->arg, p->err);
}

/* Rows keep their names until they are read again, as they are shown meanwhile. */
static void renew(struct top_processes *p)
{
	process_source_renew(&p->source, p->table.rows.v.data, p->table.rows.v.len);
	p->renewed_ns = clock_monotonic_ns();
}

int top_processes_read(struct top_processes *p, uint64_t since_ns, struct error *err)
{
	int rc;

	if (clock_monotonic_ns() - p->renewed_ns > RENEW_NS)
		renew(p);
	p->source.undecoded = 0;
	p->err = err;
	p->yielded_ns = clock_monotonic_ns();
	process_table_begin(&p->table, p->yielded_ns, since_ns);
	rc = process_source_scan(&p->source, take_block, p, &p->totals, err);
	if (rc)
		return rc;
	process_table_end(&p->table);
	process_source_renewed(&p->source);
	p->sums.processes += p->totals.processes;
	p->sums.vanished += p->totals.vanished;
	p->sums.torn += p->totals.torn;
	return 0;
}
