/* SPDX-License-Identifier: BSD-2-Clause */
/* See process_table.h. */
#include "model/process/process_table.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/compiler.h"
#include "base/xalloc.h"

void process_table_free(struct process_table *t)
{
	vec_free(&t->rows.v);
	vec_free(&t->index);
	vec_free(&t->read_ns);
}

/* The time always grows, so that read_ns tells rows of this reading from earlier ones. */
void process_table_begin(struct process_table *t, uint64_t now_ns, uint64_t since_ns)
{
	t->rows.ts_ns = t->now_ns = MAX(now_ns, t->now_ns + 1);
	t->since_ns = since_ns;
}

void process_table_now(struct process_table *t, uint64_t now_ns)
{
	t->now_ns = MAX(now_ns, t->now_ns);
}

static struct process_row *row_of(const struct process_table *t, uint64_t slot)
{
	uint32_t at = slot < t->index.len ? t->index.data[slot] : 0;

	return at ? &t->rows.v.data[at - 1] : NULL;
}

const struct process_row *process_table_find(const struct process_table *t, uint64_t slot)
{
	return row_of(t, slot);
}

static struct process_row *add_row(struct process_table *t, uint64_t slot)
{
	struct process_row none = {0};

	if (slot >= t->index.len) {
		size_t old = t->index.len;

		vec_reserve(&t->index, slot + 1);
		t->index.len = slot + 1;
		memset(t->index.data + old, 0, (t->index.len - old) * sizeof(*t->index.data));
	}
	vec_push(&t->rows.v, none);
	vec_push(&t->read_ns, 0);
	t->index.data[slot] = (uint32_t)t->rows.v.len;
	return &t->rows.v.data[t->rows.v.len - 1];
}

int process_table_put(struct process_table *t, const struct process_row *row)
{
	struct process_row *to, new = *row;
	uint64_t before_ns;
	double seconds = 0;

	if (row->slot >= PROCESS_TABLE_SLOTS)
		return -ENOSPC;
	to = row_of(t, row->slot);
	before_ns = to ? t->read_ns.data[to - t->rows.v.data] : 0;
	if (to && before_ns >= t->since_ns)
		seconds = (double)(t->now_ns - before_ns) / 1e9;
	process_row_rates(&new, to, seconds);
	new.cpu = to && to->pid == row->pid ? to->cpu : NAN;
	if (!to)
		to = add_row(t, row->slot);
	*to = new;
	t->read_ns.data[to - t->rows.v.data] = t->now_ns;
	return 0;
}

void process_table_end(struct process_table *t)
{
	for (size_t i = 0; i < t->rows.v.len;) {
		size_t last = t->rows.v.len - 1;

		if (t->read_ns.data[i] >= t->rows.ts_ns) {
			i++;
			continue;
		}
		t->index.data[t->rows.v.data[i].slot] = 0;
		if (i != last) { /* the row that is moved here may be gone, too: check it next */
			t->rows.v.data[i] = t->rows.v.data[last];
			t->read_ns.data[i] = t->read_ns.data[last];
			t->index.data[t->rows.v.data[i].slot] = (uint32_t)i + 1;
		}
		t->rows.v.len--;
		t->read_ns.len--;
	}
}

/* ---- CPU ---------------------------------------------------------------------------------- */

static bool same_pid(const void *ctx, uint32_t id, const void *key)
{
	return ((const struct process_cpu *)ctx)[id].pid == *(const uint64_t *)key;
}

static uint32_t hash_pid(uint64_t pid)
{
	return hash_mix(1, pid);
}

static void add_ended(struct process_table *t, const struct process_cpu *cpu)
{
	const char *call = cpu->initial_call ? cpu->initial_call : "?";
	struct ended_call *e = t->ended, *end = e + t->nr_ended;
	size_t len;

	t->ended_cpu += (double)cpu->percent;
	while (e < end && strncmp(e->initial_call, call, sizeof(e->initial_call) - 1) != 0)
		e++;
	if (e == end) {
		if (t->nr_ended == PROCESS_TABLE_ENDED)
			return;
		t->nr_ended++;
		e->percent = 0;
		len = strnlen(call, sizeof(e->initial_call) - 1);
		memcpy(e->initial_call, call, len);
		e->initial_call[len] = '\0';
	}
	e->percent += (double)cpu->percent;
}

static int more_percent(const void *a, const void *b)
{
	double x = ((const struct ended_call *)a)->percent;
	double y = ((const struct ended_call *)b)->percent;

	return (x < y) - (x > y);
}

void process_table_cpu(struct process_table *t, const struct process_cpu *cpu, size_t nr)
{
	struct idmap index = IDMAP_INIT;
	bool *has_row = xcalloc(nr + 1, sizeof(*has_row));

	for (size_t i = 0; i < nr; i++)
		idmap_add(&index, hash_pid(cpu[i].pid), (uint32_t)i);
	for (size_t i = 0; i < t->rows.v.len; i++) {
		struct process_row *row = &t->rows.v.data[i];
		uint32_t at = nr ? idmap_find(&index, hash_pid(row->pid), same_pid, cpu, &row->pid)
				 : IDMAP_NONE;

		row->cpu = at == IDMAP_NONE ? 0 : cpu[at].percent;
		if (at != IDMAP_NONE)
			has_row[at] = true;
	}
	t->ended_cpu = 0;
	t->nr_ended = 0;
	for (size_t i = 0; i < nr; i++) {
		if (!has_row[i])
			add_ended(t, &cpu[i]);
	}
	qsort(t->ended, t->nr_ended, sizeof(*t->ended), more_percent);
	free(has_row);
	idmap_free(&index);
}

void process_table_forget_cpu(struct process_table *t)
{
	t->ended_cpu = 0;
	t->nr_ended = 0;
	for (size_t i = 0; i < t->rows.v.len; i++)
		t->rows.v.data[i].cpu = NAN;
}
