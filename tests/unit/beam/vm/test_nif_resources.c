/* SPDX-License-Identifier: BSD-2-Clause */
/* NIF resources among magic binaries, and areas of literals; and what only looks like these. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/compiler.h"
#include "beam/vm/literals.h"
#include "beam/vm/nif_resources.h"
#include "lib/fakenode.h"

static const int releases[] = {24, 25, 27, 29};

#define TYPE_NEXT   0
#define TYPE_PREV   8
#define TYPE_MODULE 112
#define TYPE_NAME   120
#define TYPE_SIZE   128
#define MAGIC_DATA  24

struct world {
	struct fakenode *f;
	raddr type, other; /* a ring of two types; `other` has no names */
	raddr magic[4];
	struct nif_resource seen[4];
	size_t nr;
};

static void put_magic(struct world *w, size_t i, uint64_t size, uint64_t refc, raddr data)
{
	const struct beam_layout *l = &w->f->node.layout;

	w->magic[i] = image_alloc(w->f->im, 128);
	image_u64(w->f->im, w->magic[i] + (raddr)l->binary_orig_size, size);
	image_u64(w->f->im, w->magic[i] + (raddr)l->binary_refc, refc);
	image_u64(w->f->im, w->magic[i] + (raddr)l->binary_orig_bytes + MAGIC_DATA, data);
}

static void make(struct world *w, int otp)
{
	*w = (struct world){.f = fakenode_open(otp)};
	w->type = image_alloc(w->f->im, TYPE_SIZE);
	w->other = image_alloc(w->f->im, TYPE_SIZE);
	image_u64(w->f->im, w->type + TYPE_NEXT, w->other);
	image_u64(w->f->im, w->other + TYPE_PREV, w->type);
	image_u64(w->f->im, w->type + TYPE_MODULE, fakenode_atom(w->f, "my_nif"));
	image_u64(w->f->im, w->type + TYPE_NAME, fakenode_atom(w->f, "handle"));
	put_magic(w, 0, 200, 2, w->type);
	put_magic(w, 1, 300, 1, w->other);
	put_magic(w, 2, 400, 1, 8);
	put_magic(w, 3, 500, 0, w->type); /* was freed */
}

static void see(void *arg, const struct nif_resource *r)
{
	struct world *w = arg;

	w->seen[w->nr++] = *r;
}

static void read_all(struct world *w)
{
	w->nr = 0;
	nif_resources_read(&w->f->node, w->magic, ARRAY_SIZE(w->magic), see, w);
}

static void resources_among_others(void **state)
{
	UNUSED(state);
	for (size_t i = 0; i < ARRAY_SIZE(releases); i++) {
		struct world w;

		make(&w, releases[i]);
		read_all(&w);
		assert_int_equal(w.nr, 1);
		assert_int_equal(w.seen[0].addr, w.magic[0]);
		assert_int_equal(w.seen[0].size, 200);
		assert_int_equal(w.seen[0].refc, 2);
		assert_int_equal(w.seen[0].module, fakenode_atom(w.f, "my_nif"));
		assert_int_equal(w.seen[0].type, fakenode_atom(w.f, "handle"));
		/* Of a module that was purged, its type is in no ring. */
		image_u64(w.f->im, w.type + TYPE_NEXT, 0);
		read_all(&w);
		assert_int_equal(w.nr, 1);
		image_u64(w.f->im, w.type + TYPE_NEXT, w.magic[0]);
		read_all(&w);
		assert_int_equal(w.nr, 0);
		w.magic[0] = 8;
		read_all(&w);
		assert_int_equal(w.nr, 0);
		fakenode_close(w.f);
	}
}

static void areas_of_literals(void **state)
{
	struct fakenode *f = fakenode_open(27);
	struct beam_node *n = &f->node;
	raddr code = image_alloc(f->im, 256), area = image_alloc(f->im, 64);
	struct literal_area a;

	UNUSED(state);
	image_u64(f->im, code + 56, area);
	image_u64(f->im, area, 0x1230);
	image_u64(f->im, area + 8, area + 16 + 24);
	assert_int_equal(literal_area_of_code(n, code), area);
	assert_true(literal_area_read(n, area, &a));
	assert_int_equal(a.off_heap, 0x1230);
	assert_int_equal(a.start, area + 16);
	assert_int_equal(a.end - a.start, 24);
	image_u64(f->im, area + 8, area + 8); /* ends before it begins */
	assert_false(literal_area_read(n, area, &a));
	image_u64(f->im, area + 8, area + 16 + 25);
	assert_false(literal_area_read(n, area, &a));
	assert_false(literal_area_read(n, 0, &a));
	assert_false(literal_area_read(n, 8, &a));
	assert_int_equal(literal_area_of_code(n, 8), 0);
	fakenode_close(f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(resources_among_others),
		cmocka_unit_test(areas_of_literals),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
