/* SPDX-License-Identifier: BSD-2-Clause */
/* Layout tables: whole, sane, and what is known of each release from other sources. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <string.h>

#include "abi/limits.h"
#include "base/compiler.h"
#include "beam/locate/layout_dwarf.h"
#include "beam/otp/layout.h"

static int32_t value(const struct beam_layout *l, unsigned int i)
{
	return *layout_at(l, &layout_members[i]);
}

/* The members are the struct, in its order, each described. */
static void test_members(void **state)
{
	(void)state;
	assert_int_equal(nr_layout_members * sizeof(int32_t), sizeof(struct beam_layout));
	for (unsigned int i = 0; i < nr_layout_members; i++) {
		const struct layout_member *m = &layout_members[i];

		assert_int_equal(m->offset, i * sizeof(int32_t));
		assert_non_null(m->type);
		for (unsigned int j = 0; j < i; j++)
			assert_string_not_equal(m->member, layout_members[j].member);
	}
	assert_string_equal(layout_members[0].member, "process_size");
	assert_null(layout_members[0].field);
	assert_string_equal(layout_members[1].field, "common.id");
}

static void test_find(void **state)
{
	(void)state;
	assert_string_equal(layout_table_find(25, false)->name, "otp25");
	assert_string_equal(layout_table_find(25, true)->name, "otp25-vmprobes");
	assert_string_equal(layout_table_find(27, false)->name, "otp27");
	assert_string_equal(layout_table_find(29, false)->name, "otp29");
	assert_null(layout_table_find(27, true));
	assert_string_equal(layout_table_find(26, false)->name, "otp26");
	assert_string_equal(layout_table_find(28, false)->name, "otp28");
	assert_string_equal(layout_table_find(24, false)->name, "otp24");
	assert_null(layout_table_find(24, true));
	assert_null(layout_table_find(23, false));
	assert_null(layout_table_find(30, false));
	assert_null(layout_table_find(0, false));
	for (size_t i = 1; layout_tables[i]; i++)
		assert_true(layout_tables[i]->otp >= layout_tables[i - 1]->otp);
}

static void check_near(int otp, bool vm_probes, const char *const *names)
{
	unsigned int i = 0;

	for (; names[i]; i++)
		assert_string_equal(layout_table_near(otp, vm_probes, i)->name, names[i]);
	assert_null(layout_table_near(otp, vm_probes, i));
}

static void test_near(void **state)
{
	static const char *const of_30[] = {"otp29", "otp28",	       "otp27", "otp26",
					    "otp25", "otp25-vmprobes", "otp24", NULL};
	static const char *const of_27[] = {"otp27", "otp28",	       "otp26", "otp29",
					    "otp25", "otp25-vmprobes", "otp24", NULL};
	static const char *const of_24[] = {"otp24", "otp25-vmprobes", "otp25", "otp26",
					    "otp27", "otp28",	       "otp29", NULL};

	(void)state;
	check_near(30, false, of_30);
	check_near(27, false, of_27);
	check_near(24, true, of_24);
}

/* The last: forgotten is forgotten. */
static void test_forget(void **state)
{
	static const char *const of_25[] = {"otp26", "otp28", "otp29", NULL};

	(void)state;
	layout_forget(25);
	layout_forget(27);
	layout_forget(24); /* none */
	assert_false(layout_knows(25));
	assert_true(layout_knows(26));
	assert_null(layout_table_find(25, true));
	check_near(25, false, of_25);
}

/* Members that only some releases have: from the first to the last that does, 0 for no end. */
static const struct {
	const char *member;
	int first, last;
} some_have[] = {
	{"atom_name", 0, 27},
	{"atom_u", 28, 0},
	{"process_sig_qs_len", 0, 26},
	{"process_sig_qs_mq_len", 27, 0},
	{"process_sig_qs_mlenoffs", 27, 0},
	{"process_sig_inq_len", 0, 26},
	{"process_sig_inq_mlenoffs", 27, 0},
	{"process_paused_bif_timers", 29, 0},
	{"monitor_type", 0, 27},
	{"link_type", 0, 27},
	{"sched_ets_count", 0, 25},
	{"sched_ets_list", 0, 25},
	{"sched_u_ets_count", 26, 0},
	{"sched_u_ets_list", 26, 0},
	{"process_frame_pointer", 25, 0},
	{"process_sig_inq_buffers", 25, 0},
	{"process_wrt_bins", 25, 0},
	{"ets_hash_nlocks", 25, 0},
};

static bool known_absent(int otp, const char *member)
{
	for (size_t i = 0; i < sizeof(some_have) / sizeof(some_have[0]); i++)
		if (strcmp(member, some_have[i].member) == 0)
			return otp < some_have[i].first ||
			       (some_have[i].last && otp > some_have[i].last);
	return false;
}

/* Nothing is absent but what the release is known to lack; nothing lies outside of its struct. */
static void test_tables_are_whole(void **state)
{
	(void)state;
	for (size_t i = 0; layout_tables[i]; i++) {
		const struct layout_table *t = layout_tables[i];

		assert_true(strlen(t->source) > 10);
		for (unsigned int j = 0; j < nr_layout_members; j++)
			if (known_absent(t->otp, layout_members[j].member))
				assert_int_equal(value(&t->layout, j), LAYOUT_ABSENT);
			else if (value(&t->layout, j) < 0)
				fail_msg("%s lacks %s", t->name, layout_members[j].member);
		assert_null(layout_outside(&t->layout));
	}
}

/* Offsets that were read off live nodes by hand, before there were tables. */
static void test_known_offsets(void **state)
{
	const struct beam_layout *l25 = &layout_table_find(25, false)->layout;
	const struct beam_layout *l27 = &layout_table_find(27, false)->layout;
	const struct beam_layout *l29 = &layout_table_find(29, false)->layout;

	(void)state;
	assert_int_equal(l25->process_size, 776);
	assert_int_equal(l25->process_stop, 88);
	assert_int_equal(l25->process_hend, 136);
	assert_int_equal(l25->process_i, 256);
	assert_int_equal(l25->ptab_element_size, 272);
	assert_int_equal(l25->registers_x, 128);
	assert_int_equal(l25->sched_stride, 41728);
	assert_int_equal(l25->export_mfa, 56);
	assert_int_equal(l27->process_size, 760);
	assert_int_equal(l27->process_hend, 200);
	assert_int_equal(l27->process_reg, 32);
	assert_int_equal(l27->ptab_element_size, 296);
	assert_int_equal(l27->registers_x, 64);
	assert_int_equal(l27->sched_stride, 41792);
	assert_int_equal(l27->export_mfa, 64);
	assert_int_equal(l29->process_size, 768);
	assert_int_equal(l29->sched_current_process, 168);
	assert_int_equal(l29->atom_u, 32);
}

/* USE_VM_PROBES adds two words to struct process, before u.initial, and one to a message, before
 * its heap fragment (m[3], DTrace's tag of the sender); it moves nothing else. */
static void test_vm_probes(void **state)
{
	const struct layout_table *plain = layout_table_find(25, false);
	const struct layout_table *probes = layout_table_find(25, true);
	int32_t from = plain->layout.process_initial;

	(void)state;
	for (unsigned int i = 0; i < nr_layout_members; i++) {
		int32_t want = value(&plain->layout, i);

		if (strncmp(layout_members[i].member, "process_", 8) == 0 && want >= from)
			want += 16;
		if (strcmp(layout_members[i].member, "message_size") == 0 ||
		    strcmp(layout_members[i].member, "message_hfrag") == 0)
			want += 8;
		if (value(&probes->layout, i) != want)
			fail_msg("%s: %d", layout_members[i].member, value(&probes->layout, i));
	}
}

static void test_missing(void **state)
{
	const struct beam_layout *want = &layout_table_find(27, false)->layout;
	struct beam_layout have = *want;

	(void)state;
	assert_null(layout_missing(&have, want));
	have.atom_u = 32; /* more than asked for */
	assert_null(layout_missing(&have, want));
	have.port_name = LAYOUT_ABSENT;
	assert_string_equal(layout_missing(&have, want), "port_name");
}

static void test_outside(void **state)
{
	struct beam_layout l = layout_table_find(27, false)->layout;

	(void)state;
	l.process_state = l.process_size - 4;
	assert_string_equal(layout_outside(&l), "process_state");
	l.process_state = 628;
	assert_null(layout_outside(&l));
	l.sched_stride = 100;
	assert_string_equal(layout_outside(&l), "sched_size");
	l.sched_stride = 41792;
	l.regproc_name = INT32_MAX / 2;
	assert_string_equal(layout_outside(&l), "regproc_name");
	l.regproc_name = -2;
	assert_string_equal(layout_outside(&l), "regproc_name");
	l.regproc_name = LAYOUT_ABSENT;
	assert_null(layout_outside(&l));
}

/* From one field to another, as part_of() and part_add() of bpf/beam.bpf.h have it. */
static int32_t span(const int32_t *at, size_t nr)
{
	int32_t low = INT32_MAX & ~7, high = 0;

	for (size_t i = 0; i < nr; i++) {
		if (at[i] < 0)
			continue;
		low = MIN(low, at[i] & ~7);
		high = MAX(high, (at[i] & ~7) + 8);
	}
	return high - low;
}
#define SPAN(...)                                                                                  \
	span((const int32_t[]){__VA_ARGS__},                                                       \
	     sizeof((const int32_t[]){__VA_ARGS__}) / sizeof(int32_t))

/* What programs of events read at once is as near on every release: else they are slow. */
static void test_parts(void **state)
{
	(void)state;
	for (size_t i = 0; layout_tables[i]; i++) {
		const struct beam_layout *l = &layout_tables[i]->layout;

		if (l->process_sig_qs_mq_len >= 0)
			assert_in_range(SPAN(l->process_sig_qs_mq_len, l->process_sig_qs_mlenoffs),
					16, EBEAM_QUEUES);
		assert_in_range(SPAN(l->process_id, l->process_heap_sz, l->process_flags), 16,
				EBEAM_GC_PART);
		assert_in_range(SPAN(l->process_old_hend, l->process_old_heap, l->process_gen_gcs,
				     l->process_max_gen_gcs, l->process_state),
				16, EBEAM_GC_PART);
		assert_int_equal(SPAN(l->sched_gc_reclaimed, l->sched_gc_count), 16);
		assert_in_range(SPAN(l->message_data, l->message_hfrag + 32), 16, EBEAM_MESSAGE);
	}
}

/* Without native stack there is no frame pointer: what stands behind it moves up, nothing else. */
static void test_drop_frame_pointer(void **state)
{
	(void)state;
	for (size_t t = 0; layout_tables[t]; t++) {
		const struct beam_layout *with = &layout_tables[t]->layout;
		struct beam_layout l = *with;
		int32_t gone = with->process_frame_pointer;
		unsigned int moved = 0;

		layout_drop_frame_pointer(&l);
		assert_int_equal(l.process_frame_pointer, LAYOUT_ABSENT);
		assert_int_equal(l.process_stop, with->process_stop);
		assert_int_equal(l.process_size, with->process_size - (gone < 0 ? 0 : 8));
		assert_int_equal(l.process_heap, with->process_heap - (gone < 0 ? 0 : 8));
		for (unsigned int i = 0; i < nr_layout_members; i++) {
			bool in_process = strncmp(layout_members[i].member, "process_", 8) == 0;
			int32_t before = value(with, i), after = value(&l, i);

			if (before == gone || before == after)
				continue;
			assert_true(in_process && before > gone && after == before - 8);
			moved++;
		}
		assert_true(gone < 0 ? moved == 0 : moved > 55);
		layout_drop_frame_pointer(&l); /* once */
		assert_int_equal(l.process_size, with->process_size - (gone < 0 ? 0 : 8));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_members),
		cmocka_unit_test(test_find),
		cmocka_unit_test(test_tables_are_whole),
		cmocka_unit_test(test_known_offsets),
		cmocka_unit_test(test_vm_probes),
		cmocka_unit_test(test_missing),
		cmocka_unit_test(test_outside),
		cmocka_unit_test(test_parts),
		cmocka_unit_test(test_near),
		cmocka_unit_test(test_forget),
		cmocka_unit_test(test_drop_frame_pointer),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
