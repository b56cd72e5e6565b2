/* SPDX-License-Identifier: BSD-2-Clause */
/* The table of nodes of a made-up node, by shape and read; tables that are none; epmd's answers. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "abi/vm.h"
#include "base/compiler.h"
#include "beam/locate/anchors.h"
#include "beam/vm/dist.h"
#include "lib/fakenode.h"
#include "target/epmd.h"
#include "target/proc.h"

#define PID(i)	(((uint64_t)(i) << 4) | 3)
#define PORT(i) (((uint64_t)(i) << 4) | 7)
#define BUCKETS 16
#define DATA	0x7000000ull /* writable data of the executable */

struct world {
	struct fakenode *f;
	raddr hash, buckets, this_entry;
	uint32_t nr;
};

static raddr add_entry(struct world *w, const char *name, unsigned int bucket, uint32_t state,
		       uint64_t dflags, uint64_t cid)
{
	const struct beam_layout *l = &w->f->node.layout;
	struct image *im = w->f->im;
	raddr e = image_alloc(im, (size_t)l->dist_size), next = 0;

	mem_read_u64(w->f->node.mem, w->buckets + 8 * bucket, &next);
	image_u64(im, e, next);
	image_u64(im, w->buckets + 8 * bucket, e);
	image_u64(im, e + (raddr)l->dist_sysname, fakenode_atom(w->f, name));
	image_u32(im, e + (raddr)l->dist_state, state);
	image_u64(im, e + (raddr)l->dist_dflags, dflags);
	image_u64(im, e + (raddr)l->dist_cid, cid);
	image_u32(im, e + (raddr)l->dist_creation, 100 + bucket);
	image_u64(im, e + (raddr)l->dist_in, 10 * bucket);
	image_u64(im, e + (raddr)l->dist_out, 20 * bucket);
	image_u32(im, w->hash + (raddr)l->index_table_nobjs, ++w->nr);
	return e;
}

static struct world *open_world(int otp)
{
	struct world *w = calloc(1, sizeof(*w));
	const struct beam_layout *l;
	raddr node;

	w->f = fakenode_open(otp);
	l = &w->f->node.layout;
	image_map(w->f->im, DATA, 4096);
	w->hash = DATA + 512;
	w->buckets = image_alloc(w->f->im, 8 * BUCKETS);
	image_u32(w->f->im, w->hash + (raddr)l->index_table_shift, 60);
	image_u64(w->f->im, w->hash + (raddr)l->index_table_bucket, w->buckets);
	w->this_entry = add_entry(w, "me@here", 3, DIST_IDLE, 0, TERM_NIL);
	node = image_alloc(w->f->im, (size_t)l->node_dist_entry + 8);
	image_u64(w->f->im, node + (raddr)l->node_sysname, fakenode_atom(w->f, "me@here"));
	image_u32(w->f->im, node + (raddr)l->node_creation, 77);
	image_u64(w->f->im, node + (raddr)l->node_dist_entry, w->this_entry);
	w->f->node.anchors.this_node = node;
	w->f->node.anchors.dist_table = w->hash;
	return w;
}

static void close_world(struct world *w)
{
	fakenode_close(w->f);
	free(w);
}

static const char *name_of(struct world *w, const struct dist_facts *d)
{
	return beam_atom_text(w->f->node.atoms, d->name, NULL);
}

static void test_entries(void **state)
{
	static const int releases[] = {24, 25, 27, 29};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(releases); i++) {
		struct world *w = open_world(releases[i]);
		const struct beam_layout *l = &w->f->node.layout;
		raddr a = image_alloc(w->f->im, 32), e;
		struct dist_list list;

		add_entry(w, "idle@a", 3, DIST_IDLE, 0, TERM_NIL);
		add_entry(w, "pending@a", 5, DIST_PENDING, 0, TERM_NIL);
		add_entry(w, "hidden@a", 5, DIST_CONNECTED, 0xffe, PID(9));
		e = add_entry(w, "visible@a", 5, DIST_CONNECTED, 0xfff, PORT(4));
		image_u64(w->f->im, e + (raddr)l->dist_qsize, 12345);
		image_u32(w->f->im, e + (raddr)l->dist_qflgs, 1);
		image_u64(w->f->im, e + (raddr)l->dist_suspended, a);
		image_u64(w->f->im, a, PID(33));
		image_u64(w->f->im, a + 16, a);
		assert_int_equal(dist_read(&w->f->node, &list, NULL), 0);
		assert_string_equal(list.name, "me@here");
		assert_true(list.alive);
		assert_int_equal(list.creation, 77);
		assert_int_equal(list.v.len, 5);
		assert_int_equal(list.torn + list.vanished + list.cut, 0);
		assert_int_equal(list.v.data[0].type, DIST_THIS);
		assert_string_equal(name_of(w, &list.v.data[1]), "hidden@a");
		assert_int_equal(list.v.data[1].type, DIST_HIDDEN);
		assert_int_equal(list.v.data[1].controller, PID(9));
		assert_false(list.v.data[1].busy);
		assert_string_equal(name_of(w, &list.v.data[2]), "visible@a");
		assert_int_equal(list.v.data[2].type, DIST_VISIBLE);
		assert_int_equal(list.v.data[2].controller, PORT(4));
		assert_int_equal(list.v.data[2].in, 50);
		assert_int_equal(list.v.data[2].out, 100);
		assert_int_equal(list.v.data[2].queue, 12345);
		assert_int_equal(list.v.data[2].creation, 105);
		assert_true(list.v.data[2].busy);
		assert_int_equal(list.v.data[2].nr_waiting, 1);
		assert_int_equal(list.waiting.data[list.v.data[2].first_waiting], PID(33));
		assert_string_equal(name_of(w, &list.v.data[3]), "pending@a");
		assert_int_equal(list.v.data[3].type, DIST_NONE);
		assert_string_equal(name_of(w, &list.v.data[4]), "idle@a");
		dist_list_free(&list);
		close_world(w);
	}
}

static void test_damage(void **state)
{
	struct world *w = open_world(27);
	const struct beam_layout *l = &w->f->node.layout;
	struct dist_list list;
	raddr a, b, c;

	(void)state;
	a = add_entry(w, "a@a", 1, 99, 0, TERM_NIL);
	b = add_entry(w, "b@a", 2, DIST_CONNECTED, 1, TERM_NIL);
	c = add_entry(w, "c@a", 7, DIST_IDLE, 0, TERM_NIL);
	image_u64(w->f->im, c + (raddr)l->dist_sysname, 0x1234);
	assert_int_equal(dist_read(&w->f->node, &list, NULL), 0);
	assert_int_equal(list.v.len, 3);
	assert_int_equal(list.torn, 2);
	assert_int_equal(list.vanished, 1);
	dist_list_free(&list);
	image_u64(w->f->im, a, a); /* a chain that does not end */
	assert_int_equal(dist_read(&w->f->node, &list, NULL), 0);
	assert_int_equal(list.cut, 1);
	dist_list_free(&list);
	image_u64(w->f->im, b, 0x1000); /* one that leads nowhere */
	image_u64(w->f->im, a, 0);
	assert_int_equal(dist_read(&w->f->node, &list, NULL), 0);
	assert_int_equal(list.vanished, 2);
	dist_list_free(&list);
	image_u32(w->f->im, w->hash + (raddr)l->index_table_shift, 2);
	assert_int_equal(dist_read(&w->f->node, &list, NULL), -EBADMSG);
	image_u32(w->f->im, w->hash + (raddr)l->index_table_shift, 60);
	image_u64(w->f->im, w->hash + (raddr)l->index_table_bucket, 0x1000);
	assert_int_equal(dist_read(&w->f->node, &list, NULL), -EFAULT);
	close_world(w);
}

/* ---- by shape ------------------------------------------------------------------------------- */

static raddr find(struct world *w)
{
	static const char rodata[] = "something\0node_table\0dist_table\0more";
	struct proc_map all = {.start = 4096, .end = 1ull << 47, .r = true, .path = (char[]){""}};
	struct proc_maps maps = {.data = &all, .len = 1};
	const struct beam_layout *l = &w->f->node.layout;
	struct anchor_space s = {.mem = w->f->node.mem,
				 .maps = &maps,
				 .layout = l,
				 .data_addr = DATA,
				 .data_size = 4096,
				 .rodata_addr = 0x6000000,
				 .rodata_size = sizeof(rodata)};
	raddr found;

	image_u64(w->f->im, w->hash + (raddr)l->index_table_name, s.rodata_addr + 21);
	s.data = malloc(s.data_size);
	s.rodata = (uint8_t *)malloc(sizeof(rodata));
	memcpy(s.rodata, rodata, sizeof(rodata));
	assert_int_equal(mem_read(s.mem, DATA, s.data, s.data_size), 0);
	found = shape_find_dist_table(&s, w->f->node.anchors.this_node);
	free(s.data);
	free(s.rodata);
	return found;
}

static void test_shape(void **state)
{
	struct world *w = open_world(29);
	const struct beam_layout *l = &w->f->node.layout;
	raddr e, copy = DATA + 2048;
	uint8_t bytes[104];

	(void)state;
	e = add_entry(w, "a@a", 3, DIST_IDLE, 0, TERM_NIL);
	assert_int_equal(find(w), w->hash);
	/* an entry without a name */
	image_u64(w->f->im, e + (raddr)l->dist_sysname, 0x1234);
	assert_int_equal(find(w), 0);
	image_u64(w->f->im, e + (raddr)l->dist_sysname, fakenode_atom(w->f, "a@a"));
	/* more or fewer entries than it counts */
	image_u32(w->f->im, w->hash + (raddr)l->index_table_nobjs, 3);
	assert_int_equal(find(w), 0);
	image_u32(w->f->im, w->hash + (raddr)l->index_table_nobjs, 1);
	assert_int_equal(find(w), 0);
	image_u32(w->f->im, w->hash + (raddr)l->index_table_nobjs, 2);
	assert_int_equal(find(w), w->hash);
	/* two of them */
	assert_int_equal(mem_read(w->f->node.mem, w->hash, bytes, sizeof(bytes)), 0);
	image_put(w->f->im, copy, bytes, sizeof(bytes));
	assert_int_equal(find(w), 0);
	memset(bytes, 0, sizeof(bytes));
	image_put(w->f->im, copy, bytes, sizeof(bytes));
	/* this node is not in it */
	image_u64(w->f->im, w->f->node.anchors.this_node + (raddr)l->node_dist_entry, e + 8);
	assert_int_equal(find(w), 0);
	close_world(w);
}

/* ---- epmd ----------------------------------------------------------------------------------- */

static void test_epmd(void **state)
{
	static const char answer[] = "\0\0\x11\x11name rabbit at port 25672\nname a.b-c at port 1\n"
				     "nonsense\nname x at port\nname cut at port 99";
	static const char environment[] = "A=1\0XERL_EPMD_PORT=1\0ERL_EPMD_PORT=4711\0B=2";
	static const char bad[] = "ERL_EPMD_PORT=0\0ERL_EPMD_PORT=70000\0ERL_EPMD_PORT=";
	struct epmd_names names = {0};

	(void)state;
	assert_int_equal(epmd_names_parse(&names, answer, sizeof(answer) - 1), 2);
	assert_string_equal(names.data[0].name, "rabbit");
	assert_int_equal(names.data[0].port, 25672);
	assert_string_equal(names.data[1].name, "a.b-c");
	assert_int_equal(names.data[1].port, 1);
	epmd_names_free(&names);
	for (size_t size = 0; size < sizeof(answer); size++) {
		char *cut = malloc(size ? size : 1);

		memcpy(cut, answer, size);
		assert_true(epmd_names_parse(&names, cut, size) <= 2);
		epmd_names_free(&names);
		free(cut);
	}
	assert_int_equal(epmd_port_parse(environment, sizeof(environment)), 4711);
	assert_int_equal(epmd_port_parse(environment, 4), EPMD_DEFAULT_PORT);
	assert_int_equal(epmd_port_parse(bad, sizeof(bad)), EPMD_DEFAULT_PORT);
	assert_int_equal(epmd_port_parse("", 0), EPMD_DEFAULT_PORT);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_entries),
		cmocka_unit_test(test_damage),
		cmocka_unit_test(test_shape),
		cmocka_unit_test(test_epmd),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
