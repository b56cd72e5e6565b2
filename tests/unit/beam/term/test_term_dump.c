/* SPDX-License-Identifier: BSD-2-Clause */
/* Terms in crash dumps: each kind, sharing, cycles, limits, secrets, memory that is not there. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "abi/vm.h"
#include "beam/term/term_dump.h"
#include "lib/termfix.h"
#include "names/secrets.h"

struct dumped {
	struct term_dump d;
	FILE *f;
	char *text;
	size_t size;
};

static void begin(struct dumped *x, struct fixture *t)
{
	x->f = open_memstream(&x->text, &x->size);
	assert_non_null(x->f);
	term_dump_open(&x->d, &t->r, x->f);
	term_dump_begin(&x->d);
}

/* All memory below 2^47 is the process's. */
static void own_all(struct dumped *x)
{
	term_dump_own(&x->d, 8, 1ull << 47);
	term_dump_own_end(&x->d);
}

static const char *text_of(struct dumped *x)
{
	fflush(x->f);
	return x->text;
}

static void end(struct dumped *x)
{
	term_dump_close(&x->d);
	fclose(x->f);
	free(x->text);
}

/* The dump of one term: where it stands, then its lines. */
static void check(struct fixture *t, uint64_t term, const char *wanted)
{
	struct dumped x;

	begin(&x, t);
	own_all(&x);
	term_dump_element(&x.d, term);
	fputc('\n', x.f);
	term_dump_heap(&x.d);
	assert_string_equal(text_of(&x), wanted);
	end(&x);
}

static void checkf(struct fixture *t, uint64_t term, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
static void checkf(struct fixture *t, uint64_t term, const char *fmt, ...)
{
	char wanted[2000];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(wanted, sizeof(wanted), fmt, ap);
	va_end(ap);
	check(t, term, wanted);
}

#define AT(term) ((uint64_t)((term) & ~7ull))

static void test_immediates(void **state)
{
	struct fixture *t = *state;

	check(t, SMALL(42), "I42\n");
	check(t, SMALL(-1), "I-1\n");
	check(t, TERM_NIL, "N\n");
	check(t, atom(t, "ok"), "A2:ok\n");
	check(t, atom(t, "h\303\251"), "A3:h\303\251\n");
}

static void test_objects(void **state)
{
	struct fixture *t = *state;
	uint64_t list = cons(t, SMALL(1), TERM_NIL), tuple = TUPLE(t, atom(t, "a"), list);
	uint64_t big = BOXED(t, 2 << 6 | SUBTAG_BIG_NEGATIVE, 0x10, 0xab);

	checkf(t, list, "H%" PRIX64 "\n%" PRIX64 ":lI1|N\n", AT(list), AT(list));
	checkf(t, tuple, "H%" PRIX64 "\n%" PRIX64 ":t2:A1:a,H%" PRIX64 "\n%" PRIX64 ":lI1|N\n",
	       AT(tuple), AT(tuple), AT(list), AT(list));
	checkf(t, big, "H%" PRIX64 "\n%" PRIX64 ":B-16#AB0000000000000010\n", AT(big), AT(big));
}

static void test_shared(void **state)
{
	struct fixture *t = *state;
	uint64_t list = cons(t, SMALL(1), TERM_NIL), tuple = TUPLE(t, list, list);

	checkf(t, tuple,
	       "H%" PRIX64 "\n%" PRIX64 ":t2:H%" PRIX64 ",H%" PRIX64 "\n%" PRIX64 ":lI1|N\n",
	       AT(tuple), AT(tuple), AT(list), AT(list), AT(list));
}

/* Readers would not end. */
static void test_cyclic(void **state)
{
	struct fixture *t = *state;
	struct dumped x;
	uint64_t two[2];
	raddr at = WORDS(t, SMALL(1), TERM_NIL);

	two[0] = SMALL(1);
	two[1] = at | 1;
	image_put(t->f->im, at, two, sizeof(two));
	begin(&x, t);
	own_all(&x);
	term_dump_element(&x.d, at | 1);
	term_dump_heap(&x.d);
	assert_non_null(strstr(text_of(&x), ":lI1|A7:#Cyclic\n"));
	assert_int_equal(x.d.cyclic, 1);
	end(&x);
}

static void test_unreadable(void **state)
{
	struct fixture *t = *state;
	uint64_t tuple = TUPLE(t, 0x7e0000000002ull);

	checkf(t, tuple,
	       "H%" PRIX64 "\n%" PRIX64
	       ":t1:H7E0000000000\n7E0000000000:t2:AB:#Unreadable,I%" PRIu64 "\n",
	       AT(tuple), AT(tuple), (uint64_t)0x7e0000000000ull);
}

static void test_cut(void **state)
{
	struct fixture *t = *state;
	uint64_t list = TERM_NIL;
	struct dumped x;

	for (int i = 0; i < 10; i++)
		list = cons(t, SMALL(i), list);
	begin(&x, t);
	own_all(&x);
	x.d.max_objects = 5;
	term_dump_element(&x.d, list);
	term_dump_heap(&x.d);
	assert_non_null(strstr(text_of(&x), ":lI5|A4:#Cut\n"));
	assert_null(strstr(x.text, ":lI4|"));
	assert_int_equal(x.d.cut, 1);
	end(&x);
}

/* A word that is taken for the header of a tuple of millions of elements. */
static void test_too_large(void **state)
{
	struct fixture *t = *state;
	uint64_t tuple = BOXED(t, 8000000ull << 6, SMALL(1));
	struct dumped x;
	char wanted[100];

	for (int outside = 0; outside < 2; outside++) {
		begin(&x, t);
		if (!outside)
			term_dump_own(&x.d, AT(tuple), AT(tuple) + 16);
		term_dump_own_end(&x.d);
		term_dump_element(&x.d, tuple);
		term_dump_heap(&x.d);
		term_dump_literals(&x.d);
		snprintf(wanted, sizeof(wanted),
			 "H%" PRIX64 "%" PRIX64 ":t2:AB:#Unreadable,I%" PRIu64 "\n", AT(tuple),
			 AT(tuple), AT(tuple));
		assert_string_equal(text_of(&x), wanted);
		end(&x);
	}
}

/* Damaged memory, whose objects overlap, must not fill the disk. */
static void test_bytes_left(void **state)
{
	struct fixture *t = *state;
	uint64_t list = cons(t, SMALL(1), cons(t, SMALL(2), cons(t, SMALL(3), TERM_NIL)));
	struct dumped x;

	begin(&x, t);
	own_all(&x);
	x.d.left = 2 * 16;
	term_dump_element(&x.d, list);
	term_dump_heap(&x.d);
	assert_non_null(strstr(text_of(&x), ":lI2|"));
	assert_null(strstr(x.text, ":lI3|"));
	assert_non_null(strstr(x.text, ":t2:A4:#Cut,I"));
	assert_int_equal(x.d.cut, 1);
	end(&x);
}

/* What is in no process's memory is written once, in its own section. */
static void test_literals(void **state)
{
	struct fixture *t = *state;
	uint64_t literal = cons(t, SMALL(1), TERM_NIL);
	struct dumped x;
	char line[100];

	begin(&x, t);
	term_dump_own_end(&x.d);
	for (int process = 0; process < 3; process++) {
		term_dump_begin(&x.d);
		term_dump_own_end(&x.d);
		term_dump_element(&x.d, literal);
		term_dump_heap(&x.d);
	}
	snprintf(line, sizeof(line), "%" PRIX64 ":lI1|N\n", AT(literal));
	assert_null(strstr(text_of(&x), line));
	term_dump_literals(&x.d);
	assert_non_null(strstr(text_of(&x), line));
	assert_null(strstr(strstr(x.text, line) + 1, line));
	end(&x);
}

/* An atom with a newline would break its line. */
static void test_newline(void **state)
{
	struct fixture *t = *state;
	uint64_t odd = atom(t, "a\nb");
	struct dumped x;
	char wanted[200];

	begin(&x, t);
	term_dump_own_end(&x.d);
	term_dump_element(&x.d, odd);
	term_dump_literals(&x.d);
	/* {131, 119, 3, "a\nb"} */
	snprintf(wanted, sizeof(wanted), "H%" PRIX64 "%" PRIX64 ":E6:g3cDYQpi\n", odd, odd);
	assert_string_equal(text_of(&x), wanted);
	end(&x);
}

static void test_secrets(void **state)
{
	struct fixture *t = *state;
	uint64_t value = cons(t, SMALL('x'), TERM_NIL);
	uint64_t pair = TUPLE(t, atom(t, "db_password"), value);
	uint64_t none = TUPLE(t, atom(t, "db_password"), atom(t, "undefined"));

	t->r.is_secret = secrets_name;
	checkf(t, pair, "H%" PRIX64 "\n%" PRIX64 ":t2:AB:db_password,A3:***\n", AT(pair), AT(pair));
	checkf(t, none, "H%" PRIX64 "\n%" PRIX64 ":t2:AB:db_password,A9:undefined\n", AT(none),
	       AT(none));
	assert_int_equal(t->r.masked, 1);
}

static void test_persistent(void **state)
{
	struct fixture *t = *state;
	uint64_t odd = atom(t, "a|b"), key = TUPLE(t, atom(t, "app"), atom(t, "api_key"));
	struct dumped x;
	char wanted[200];

	t->r.is_secret = secrets_name;
	begin(&x, t);
	term_dump_own_end(&x.d);
	term_dump_persistent(&x.d, atom(t, "a"), SMALL(1));
	term_dump_persistent(&x.d, odd, atom(t, "c|d"));
	term_dump_persistent(&x.d, key, SMALL(2));
	term_dump_persistent(&x.d, atom(t, "password"), atom(t, "undefined"));
	snprintf(wanted, sizeof(wanted),
		 "A1:a|I1\nH%" PRIX64 "|A3:c|d\nH%" PRIX64 "|A3:***\nA8:password|A9:undefined\n",
		 odd, AT(key));
	assert_string_equal(text_of(&x), wanted);
	end(&x);
}

static void test_base64(void **state)
{
	static const char *const texts[][2] = {
		{"", ""}, {"f", "Zg=="}, {"fo", "Zm8="}, {"foo", "Zm9v"}, {"foobar", "Zm9vYmFy"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++) {
		struct strbuf out = STRBUF_INIT;

		term_dump_base64(&out, texts[i][0], strlen(texts[i][0]));
		assert_string_equal(out.buf, texts[i][1]);
		strbuf_free(&out);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST_ALL(test_immediates),     TEST_ALL(test_objects),	  TEST_ALL(test_shared),
		TEST_ALL(test_cyclic),	       TEST_ALL(test_unreadable), TEST_ALL(test_cut),
		TEST_ALL(test_too_large),      TEST_ALL(test_bytes_left), TEST_ALL(test_literals),
		TEST_ALL(test_newline),	       TEST_ALL(test_secrets),	  TEST_ALL(test_persistent),
		cmocka_unit_test(test_base64),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
