/* SPDX-License-Identifier: BSD-2-Clause */
/* See mem_blocks.h. */
#include "cmd/inspect/mem_blocks.h"

#include <inttypes.h>

#include "base/compiler.h"
#include "base/log.h"
#include "base/units.h"
#include "cmd/output/outfile.h"
#include "cmd/run/watch.h"

int mem_blocks_open(struct mem_blocks *m, struct command_context *ctx, struct error *err)
{
	int rc;

	*m = (struct mem_blocks){.ctx = ctx};
	rc = target_open(&m->node, ctx, err);
	if (rc)
		return rc;
	rc = target_need(m->node, m->node->anchors.allocators, "table of allocators", err);
	rc = rc ? rc : allocators_read(&m->allocators, m->node, err);
	return rc ? target_close(m->node, rc, err) : 0;
}

int mem_blocks_close(struct mem_blocks *m, int rc, struct error *err)
{
	allocators_free(&m->allocators);
	return watch_close(&m->ctx->opt, m->node, rc, err);
}

#define WARNINGS     7
#define WARNING_SIZE 240

/* What is missing of who has blocks. */
static size_t find_more(const struct mem_holders *h, char texts[WARNINGS][WARNING_SIZE], size_t nr)
{
	if (*h->why)
		snprintf(texts[nr++], WARNING_SIZE, "%s: more blocks than else count as other",
			 h->why);
	if (h->unreadable)
		snprintf(texts[nr++], WARNING_SIZE,
			 "%" PRIu64 " mailboxes, lists or tables changed while they were read: "
			 "some of their blocks may count as other",
			 h->unreadable);
	if (h->cut)
		snprintf(texts[nr++], WARNING_SIZE,
			 "a list or table is too long to be read to its end: others of its blocks "
			 "count as other");
	if (h->carriers.left_out)
		snprintf(texts[nr++], WARNING_SIZE,
			 "%" PRIu64 " carriers are not looked at for who has their blocks: there "
			 "are more than 4,194,304 of these",
			 h->carriers.left_out);
	return nr;
}

/* Returns how many there are. */
static size_t find_warnings(const struct mem_blocks *m, char texts[WARNINGS][WARNING_SIZE])
{
	const struct carriers_count *c = &m->count;
	char size[32];
	size_t nr = 0;

	if (c->torn)
		snprintf(texts[nr++], WARNING_SIZE,
			 "%" PRIu64 " carriers (%s) changed while they were read, and are left out",
			 c->torn, units_format_bytes(c->torn_size, size, sizeof(size)));
	if (c->unreadable + m->allocators.unreadable)
		snprintf(texts[nr++], WARNING_SIZE,
			 "%" PRIu64 " carriers, lists of carriers or instances of allocators could "
			 "not be read, and are left out",
			 c->unreadable + m->allocators.unreadable);
	if (c->lists_truncated)
		snprintf(texts[nr++], WARNING_SIZE,
			 "%" PRIu64
			 " lists of carriers changed while they were read: some carriers "
			 "may be left out",
			 c->lists_truncated);
	return m->holders ? find_more(m->holders, texts, nr) : nr;
}

void mem_blocks_warn(const struct mem_blocks *m)
{
	char texts[WARNINGS][WARNING_SIZE];
	size_t nr = find_warnings(m, texts);

	outfile_flush(m->ctx->out);
	for (size_t i = 0; i < nr; i++)
		log_warn("ebeam: %s", texts[i]);
}

int mem_blocks_end_json(const struct mem_blocks *m, struct jsonw *w, struct error *err)
{
	const struct envelope_counter counters[] = {
		{"carriers", m->count.carriers},
		{"torn", m->count.torn},
		{"torn_size", m->count.torn_size},
		{"unreadable", m->count.unreadable + m->allocators.unreadable},
		{"lists_truncated", m->count.lists_truncated},
		{"holders_unreadable", m->holders ? m->holders->unreadable : 0},
		{"carriers_left_out", m->holders ? m->holders->carriers.left_out : 0},
	};
	char texts[WARNINGS][WARNING_SIZE];
	const char *warnings[WARNINGS];
	size_t nr = find_warnings(m, texts);

	for (size_t i = 0; i < nr; i++)
		warnings[i] = texts[i];
	return envelope_end(w, warnings, nr, counters, ARRAY_SIZE(counters), err);
}
