/* SPDX-License-Identifier: BSD-2-Clause */
/* pprof's format, unpacked again: sums, labels, ids, lines. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "base/xalloc.h"
#include "export/formats.h"
#include "lib/exportfix.h"
#include "pprof.pb-c.h"

/* ---- pprof ----------------------------------------------------------------------------- */

static Pprof__Profile *unpack_pprof(const struct output *o)
{
	z_stream z = {.next_in = (Bytef *)o->bytes, .avail_in = (uInt)o->size};
	size_t room = 1 << 20;
	uint8_t *bytes = xmalloc(room);
	Pprof__Profile *p;

	z.next_out = bytes;
	z.avail_out = (uInt)room;
	assert_int_equal(inflateInit2(&z, 15 + 16), Z_OK);
	assert_int_equal(inflate(&z, Z_FINISH), Z_STREAM_END);
	assert_int_equal(z.avail_in, 0);
	inflateEnd(&z);
	p = pprof__profile__unpack(NULL, z.total_out, bytes);
	assert_non_null(p);
	free(bytes);
	return p;
}

static const char *label_of(const Pprof__Profile *p, const Pprof__Sample *s, const char *key)
{
	for (size_t i = 0; i < s->n_label; i++) {
		if (strcmp(p->string_table[s->label[i]->key], key) == 0)
			return p->string_table[s->label[i]->str];
	}
	return NULL;
}

static void check_pprof_ids(const Pprof__Profile *p)
{
	assert_string_equal(p->string_table[0], "");
	for (size_t i = 0; i < p->n_function; i++) {
		assert_int_equal(p->function[i]->id, i + 1);
		assert_true((size_t)p->function[i]->name < p->n_string_table);
	}
	for (size_t i = 0; i < p->n_location; i++) {
		const Pprof__Location *l = p->location[i];

		assert_int_equal(l->id, i + 1);
		assert_true(l->mapping_id >= 1 && l->mapping_id <= p->n_mapping);
		assert_int_equal(l->n_line, 1);
		assert_true(l->line[0]->function_id >= 1 &&
			    l->line[0]->function_id <= p->n_function);
	}
	for (size_t i = 0; i < p->n_sample; i++) {
		assert_true(p->sample[i]->n_location_id >= 1);
		assert_int_equal(p->sample[i]->n_value, p->n_sample_type);
		for (size_t j = 0; j < p->sample[i]->n_location_id; j++)
			assert_true(p->sample[i]->location_id[j] >= 1 &&
				    p->sample[i]->location_id[j] <= p->n_location);
	}
}

static const char *function_name(const Pprof__Profile *p, uint64_t location)
{
	uint64_t id = p->location[location - 1]->line[0]->function_id;

	return p->string_table[p->function[id - 1]->name];
}

static void test_pprof(void **state)
{
	struct snapfix *f = exportfix_profile(true, SNAPSHOT_BY_NAME);
	struct output o = exportfix_write("pprof", snapfix_snapshot(f));
	Pprof__Profile *p = unpack_pprof(&o);
	int64_t count = 0, cpu = 0, find_lines = 0;

	(void)state;
	assert_memory_equal(o.bytes, "\x1f\x8b\x08\0\0\0\0\0", 8); /* no time, no name */
	check_pprof_ids(p);
	assert_int_equal(p->n_sample_type, 2);
	assert_int_equal(p->period, 10101010);
	assert_int_equal(p->duration_nanos, 10000000000);
	assert_int_equal(p->time_nanos, 1772334764000000000);
	for (size_t i = 0; i < p->n_sample; i++) {
		const Pprof__Sample *s = p->sample[i];
		const char *leaf = function_name(p, s->location_id[0]);

		count += s->value[0];
		cpu += s->value[1];
		assert_string_equal(label_of(p, s, "node"), "shop@prod-3");
		assert_non_null(label_of(p, s, "scheduler"));
		if (strcmp(leaf, "beam.smp+0x1234") == 0) {
			assert_string_equal(label_of(p, s, "kind"), "ets");
			assert_string_equal(label_of(p, s, "erlang.pid"), "<0.80.0>");
			assert_string_equal(label_of(p, s, "erlang.name"), "db");
			assert_string_equal(label_of(p, s, "scheduler"), "scheduler 1");
			assert_int_equal(s->n_location_id, 4); /* no group */
			assert_string_equal(function_name(p, s->location_id[3]),
					    "gen_server:loop/7");
		}
		if (strcmp(leaf, EXPORT_NO_STACK) == 0)
			assert_null(label_of(p, s, "erlang.pid"));
	}
	assert_int_equal(count, 21);
	assert_in_range(cpu, 212121208, 212121216); /* 21 s / 99, each stack rounded by itself */
	for (size_t i = 0; i < p->n_location; i++) {
		if (strcmp(function_name(p, i + 1), "db:find/2") == 0)
			find_lines += p->location[i]->line[0]->line;
	}
	assert_int_equal(find_lines, 42 + 44);
	assert_string_equal(p->string_table[p->mapping[0]->filename], "beam.smp");
	assert_int_equal(p->n_mapping, 3); /* the VM, libc, the kernel */
	pprof__profile__free_unpacked(p, NULL);
	free(o.bytes);
	snapfix_close(f);
}

/* Without lines in the frames a line would be one of many; without freq there is no time. */
static void test_pprof_says_no_more_than_known(void **state)
{
	struct snapfix *f = snapfix_open(NULL);
	uint32_t fr = snapfix_frame(f, "m:f/1", "m", "m.erl", 10, FRAME_ERLANG);
	Pprof__Profile *p;
	struct output o;

	(void)state;
	snapfix_thread(f, THREAD_NORMAL, 1, 1, "t");
	snapfix_stack(f, &fr, 1, SNAPSHOT_NONE, 0, SAMPLE_ERLANG, 3);
	o = exportfix_write("pprof", snapfix_snapshot(f));
	p = unpack_pprof(&o);
	check_pprof_ids(p);
	assert_int_equal(p->n_sample_type, 1);
	assert_null(p->period_type);
	assert_int_equal(p->location[0]->line[0]->line, 0);
	assert_string_equal(p->string_table[p->function[0]->filename], "m.erl");
	pprof__profile__free_unpacked(p, NULL);
	free(o.bytes);
	snapfix_close(f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_pprof),
		cmocka_unit_test(test_pprof_says_no_more_than_known),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
