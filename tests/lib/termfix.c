/* SPDX-License-Identifier: BSD-2-Clause */
/* See termfix.h. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>

#include "lib/termfix.h"

static int open_release(void **state, int otp)
{
	struct fixture *t = calloc(1, sizeof(*t));

	t->f = fakenode_open(otp);
	assert_int_equal(term_reader_init(&t->r, &t->formats, &t->f->node), 0);
	*state = t;
	return 0;
}

int open_24(void **state)
{
	return open_release(state, 24);
}

int open_25(void **state)
{
	return open_release(state, 25);
}

int open_26(void **state)
{
	return open_release(state, 26);
}

int open_27(void **state)
{
	return open_release(state, 27);
}

int open_28(void **state)
{
	return open_release(state, 28);
}

int open_29(void **state)
{
	return open_release(state, 29);
}

int close_test(void **state)
{
	struct fixture *t = *state;

	fakenode_close(t->f);
	free(t);
	return 0;
}

raddr words(struct fixture *t, const uint64_t *w, size_t nr)
{
	raddr at = image_alloc(t->f->im, 8 * nr);

	image_put(t->f->im, at, w, 8 * nr);
	return at;
}

uint64_t cons(struct fixture *t, uint64_t head, uint64_t tail)
{
	return WORDS(t, head, tail) | 1;
}

uint64_t atom(struct fixture *t, const char *text)
{
	return fakenode_atom(t->f, text);
}
