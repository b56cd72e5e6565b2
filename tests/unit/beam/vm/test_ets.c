/* SPDX-License-Identifier: BSD-2-Clause */
/* ETS tables in made-up memory: fields and counters as ets:info/1 has them, lists that changed
 * under the reader, lists and tables that cannot be any. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>

#include "base/compiler.h"
#include "lib/etsfix.h"

#define COUNTERS  16 /* snapshot status and what comes before it */
#define SLOT_SIZE 64

static void read_all(struct etsfix *w)
{
	struct error err = {0};

	ets_list_free(&w->list);
	if (ets_read(&w->f->node, &w->list, &err))
		fail_msg("%s", err.msg);
}

/* ---- tables ---------------------------------------------------------------------------------- */

static void test_fields(void **state)
{
	struct etsfix *w = *state;
	const struct beam_layout *l = etsfix_layout(w);
	uint32_t auto_bag = ETS_STATUS_BAG | ETS_STATUS_PRIVATE | ETS_STATUS_FINE_LOCKED |
			    ETS_STATUS_FINE_LOCKED_AUTO | ETS_STATUS_FREQ_READ;
	raddr first[3], second[1];
	char id[64];

	first[0] = etsfix_make(w, "one", SET | ETS_STATUS_NAMED, 5, 801);
	first[1] = etsfix_make(w, "two", auto_bag, 0, 0);
	first[2] = etsfix_make(w, "three", TREE, 7, 8);
	second[0] = etsfix_make(
		w, "four", ETS_STATUS_CA_ORDERED_SET | ETS_STATUS_PUBLIC | ETS_STATUS_FINE_LOCKED,
		1, 16);
	etsfix_u64(w, first[1], l->ets_heir, OWNER + 16);
	etsfix_u32(w, first[1], l->ets_keypos, 3);
	etsfix_u32(w, first[1], l->ets_compress, 1);
	etsfix_u64(w, first[1], l->ets_fix_count, 2);
	etsfix_link(w, 0, first, 3);
	etsfix_link(w, 1, second, 1);
	read_all(w);

	assert_int_equal(w->list.len, 4);
	assert_int_equal(w->list.counted, 4);
	assert_int_equal(w->list.vanished + w->list.torn + w->list.lists_truncated, 0);
	for (size_t i = 0; i < 3; i++)
		assert_int_equal(w->list.data[i].addr, first[i]);
	assert_string_equal(ets_id_format(&w->list.data[0], id, sizeof(id)), "#Ref<0.11.22.33>");
	assert_int_equal(w->list.data[0].type, ETS_SET);
	assert_int_equal(w->list.data[0].protection, ETS_PROTECTED);
	assert_int_equal(w->list.data[0].owner, OWNER);
	assert_int_equal(w->list.data[0].heir, 0);
	assert_int_equal(w->list.data[0].size, 5);
	assert_int_equal(w->list.data[0].memory, 101);
	assert_int_equal(w->list.data[0].write_concurrency, ETS_WRITE_FALSE);
	assert_true(w->list.data[0].named);
	assert_false(w->list.data[0].fixed || w->list.data[0].compressed);
	assert_int_equal(w->list.data[1].type, ETS_BAG);
	assert_int_equal(w->list.data[1].protection, ETS_PRIVATE);
	assert_int_equal(w->list.data[1].heir, OWNER + 16);
	assert_int_equal(w->list.data[1].keypos, 3);
	assert_int_equal(w->list.data[1].write_concurrency, ETS_WRITE_AUTO);
	assert_true(w->list.data[1].fixed && w->list.data[1].compressed);
	assert_true(w->list.data[1].read_concurrency && !w->list.data[1].named);
	assert_int_equal(w->list.data[2].type, ETS_ORDERED_SET);
	assert_int_equal(w->list.data[2].store, ETS_STORE_TREE);
	assert_int_equal(w->list.data[3].type, ETS_ORDERED_SET);
	assert_int_equal(w->list.data[3].store, ETS_STORE_CATREE);
	assert_int_equal(w->list.data[3].write_concurrency, ETS_WRITE_TRUE);
}

static void test_decentralized(void **state)
{
	struct etsfix *w = *state;
	const struct beam_layout *l = etsfix_layout(w);
	raddr t = etsfix_make(w, "one", SET | ETS_STATUS_FINE_LOCKED, 0, 0);
	/* As many slots as schedulers use, and slot 0; what stands behind is not theirs. */
	raddr slots = image_alloc(w->f->im, COUNTERS + 4 * SLOT_SIZE);
	static const int64_t sizes[] = {100, -30, 5, 1000};

	etsfix_u32(w, t, l->ets_is_decentralized, 1);
	etsfix_u64(w, t, l->ets_counters, slots);
	for (int i = 0; i < 4; i++) {
		image_u64(w->f->im, slots + COUNTERS + SLOT_SIZE * (raddr)i, (uint64_t)sizes[i]);
		image_u64(w->f->im, slots + COUNTERS + SLOT_SIZE * (raddr)i + 8, 80);
	}
	etsfix_link(w, 1, &t, 1);
	read_all(w);
	assert_int_equal(w->list.len, 1);
	assert_true(w->list.data[0].decentralized);
	assert_int_equal(w->list.data[0].size, 75);
	assert_int_equal(w->list.data[0].memory, 30);
	assert_false(w->list.data[0].torn);

	/* A snapshot that does not end. */
	image_u64(w->f->im, slots + 8, 1);
	read_all(w);
	assert_true(w->list.data[0].torn);
	assert_int_equal(w->list.torn, 1);

	/* Counters that cannot be read. */
	etsfix_u64(w, t, l->ets_counters, 0x1000);
	read_all(w);
	assert_true(w->list.data[0].torn);

	/* More than the table can have. */
	image_u32(w->f->im, w->sched[0] + (raddr)l->sched_flxctr_slot_no, 258);
	ets_list_free(&w->list);
	assert_int_equal(ets_read(&w->f->node, &w->list, NULL), -EBADMSG);
}

static void test_one_table(void **state)
{
	struct etsfix *w = *state;
	raddr t = etsfix_make(w, "one", SET, 5, 80);
	struct ets_table out;

	etsfix_u64(w, t, etsfix_layout(w)->ets_all_next, t);
	etsfix_u64(w, t, etsfix_layout(w)->ets_all_prev, t);
	assert_int_equal(ets_table_read(&w->f->node, t, &out), 0);
	assert_int_equal(out.size, 5);
	assert_int_not_equal(ets_table_read(&w->f->node, t + 8, &out), 0);
	assert_int_not_equal(ets_table_read(&w->f->node, 0x1000, &out), 0);
}

/* ---- tables that come and go ----------------------------------------------------------------- */

static void test_deleted(void **state)
{
	struct etsfix *w = *state;
	const struct beam_layout *l = etsfix_layout(w);
	raddr t[3];
	uint64_t btid;

	for (int i = 0; i < 3; i++)
		t[i] = etsfix_make(w, "one", SET, i, 80);
	etsfix_link(w, 0, t, 3);
	/* Its identifier leads nowhere: ets:delete() has begun, ets:all() leaves it out. */
	assert_int_equal(mem_read_u64(w->f->node.mem, t[1] + (raddr)l->ets_btid, &btid), 0);
	etsfix_u64(w, btid, l->binary_orig_bytes + 24, 0);
	read_all(w);
	assert_int_equal(w->list.len, 2);
	assert_int_equal(w->list.vanished, 1);
	assert_int_equal(w->list.data[1].addr, t[2]);
}

/* Memory in which tables are taken out of their list while it is read. */
struct racing {
	struct mem mem;
	struct mem *inner;
	struct etsfix *w;
	raddr *tables;
	raddr trigger;	  /* when this one is read ... */
	size_t first, nr; /* ... these are taken out, and their memory given to others */
	bool fired;
};

static int racing_read(struct mem *m, raddr addr, void *buf, size_t size)
{
	struct racing *r = CONTAINER_OF(m, struct racing, mem);
	int rc = mem_read(r->inner, addr, buf, size);
	const struct beam_layout *l = etsfix_layout(r->w);

	if (addr != r->trigger || r->fired)
		return rc;
	r->fired = true;
	for (size_t i = r->first; i < r->first + r->nr; i++)
		etsfix_u32(r->w, r->tables[i], l->ets_status, 0);
	etsfix_u64(r->w, r->tables[r->first - 1], l->ets_all_next, r->tables[r->first + r->nr]);
	etsfix_u64(r->w, r->tables[r->first + r->nr], l->ets_all_prev, r->tables[r->first - 1]);
	return rc;
}

static void race(struct etsfix *w, raddr *tables, size_t nr_tables, size_t trigger, size_t first,
		 size_t nr)
{
	struct racing r = {.mem = {.read = racing_read},
			   .inner = w->f->node.mem,
			   .w = w,
			   .tables = tables,
			   .trigger = tables[trigger],
			   .first = first,
			   .nr = nr};

	for (size_t i = 0; i < nr_tables; i++)
		etsfix_u32(w, tables[i], etsfix_layout(w)->ets_status, SET);
	etsfix_link(w, 0, tables, nr_tables);
	w->f->node.mem = &r.mem;
	read_all(w);
	w->f->node.mem = r.inner;
	assert_true(r.fired);
	assert_int_equal(w->list.lists_truncated, 0);
	/* All that stayed are there, once each, and in order. */
	for (size_t i = 0, at = 0; i < nr_tables; i++) {
		if (i >= first && i < first + nr) {
			if (at < w->list.len && w->list.data[at].addr == tables[i])
				at++; /* read before it went */
			continue;
		}
		assert_true(at < w->list.len);
		assert_int_equal(w->list.data[at++].addr, tables[i]);
	}
}

static void test_taken_out(void **state)
{
	struct etsfix *w = *state;
	raddr t[8];

	for (int i = 0; i < 8; i++)
		t[i] = etsfix_make(w, "one", SET, i, 80);
	race(w, t, 8, 2, 3, 1); /* the next one */
	race(w, t, 8, 2, 3, 3); /* and those behind it */
	race(w, t, 8, 5, 4, 3); /* the one read, those around it */
	race(w, t, 8, 6, 1, 6);
	race(w, t, 8, 0, 1, 6);
}

static void test_first_changes(void **state)
{
	struct etsfix *w = *state;
	raddr t[4];

	for (int i = 0; i < 4; i++)
		t[i] = etsfix_make(w, "one", SET, i, 80);
	etsfix_link(w, 0, t, 4);
	/* The first was taken out: those that are left close the circle without it. */
	etsfix_link(w, 0, t + 1, 3);
	read_all(w);
	assert_int_equal(w->list.len, 3);
	assert_int_equal(w->list.lists_truncated, 0);
}

/* ---- what cannot be -------------------------------------------------------------------------- */

static void test_cycles(void **state)
{
	struct etsfix *w = *state;
	const struct beam_layout *l = etsfix_layout(w);
	raddr t[4];

	for (int i = 0; i < 4; i++)
		t[i] = etsfix_make(w, "one", SET, i, 80);
	etsfix_link(w, 0, t, 4);
	etsfix_u64(w, t[3], l->ets_all_next, t[1]); /* never comes around */
	read_all(w);
	assert_int_equal(w->list.lists_truncated, 1);
	assert_true(w->list.len <= 4);
	etsfix_link(w, 0, t, 4);
	etsfix_u64(w, t[2], l->ets_all_next, t[2]);
	read_all(w);
	assert_int_equal(w->list.lists_truncated, 1);
	etsfix_link(w, 0, t, 4);
	etsfix_u64(w, t[1], l->ets_all_next, 0);
	read_all(w);
	assert_true(w->list.len <= 4);
}

static void test_no_tables(void **state)
{
	struct etsfix *w = *state;
	const struct beam_layout *l = etsfix_layout(w);
	raddr t = etsfix_make(w, "one", SET, 5, 80);
	const struct {
		int32_t field;
		uint64_t good, bad;
		bool wide;
	} fields[] = {
		{l->ets_status, SET, ETS_STATUS_PUBLIC, false},
		{l->ets_status, SET, SET | ETS_STATUS_BAG, false},
		{l->ets_status, SET, ETS_STATUS_SET, false},
		{l->ets_status, SET, SET | ETS_STATUS_PUBLIC, false},
		{l->ets_nr_of_counters, 2, 3, false},
		{l->ets_keypos, 1, 0, false},
		{l->ets_owner, OWNER, SMALL(1), true},
		{l->ets_heir, fakenode_atom(w->f, "none"), SMALL(1), true},
		{l->ets_the_name, fakenode_atom(w->f, "one"), SMALL(1), true},
		{l->ets_all_next, t, 0x1001, true},
	};

	etsfix_link(w, 0, &t, 1);
	read_all(w);
	assert_int_equal(w->list.len, 1);
	for (size_t i = 0; i < ARRAY_SIZE(fields); i++) {
		uint64_t value[] = {fields[i].bad, fields[i].good};

		for (int j = 0; j < 2; j++) {
			if (fields[i].wide)
				etsfix_u64(w, t, fields[i].field, value[j]);
			else
				etsfix_u32(w, t, fields[i].field, (uint32_t)value[j]);
			read_all(w);
			assert_int_equal(w->list.lists_truncated, j == 0);
			assert_true(w->list.len == 1 || j == 0);
		}
	}
	image_u64(w->f->im, etsfix_list(w, 0), 0x1000);
	image_u64(w->f->im, etsfix_list(w, 1), t + 4);
	image_u64(w->f->im, etsfix_count(w, 1), UINT64_MAX);
	read_all(w);
	assert_int_equal(w->list.len, 0);
	assert_int_equal(w->list.lists_truncated, 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		ETSFIX_TEST(test_fields, 25),	     ETSFIX_TEST(test_fields, 27),
		ETSFIX_TEST(test_fields, 29),	     ETSFIX_TEST(test_decentralized, 25),
		ETSFIX_TEST(test_decentralized, 29), ETSFIX_TEST(test_one_table, 27),
		ETSFIX_TEST(test_deleted, 25),	     ETSFIX_TEST(test_deleted, 27),
		ETSFIX_TEST(test_taken_out, 27),     ETSFIX_TEST(test_first_changes, 27),
		ETSFIX_TEST(test_cycles, 27),	     ETSFIX_TEST(test_no_tables, 29),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
