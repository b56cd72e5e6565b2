/* SPDX-License-Identifier: BSD-2-Clause */
/* --where: what holds of a row and what does not, and where the caret stands if it is none. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include "base/compiler.h"
#include "model/process/filter.h"

static const struct filter_field fields[] = {
	{"memory", true}, {"mailbox", true}, {"name", false}, {"trap_exit", true}, {"label", false},
};

struct row {
	double memory, mailbox;
	const char *name;
	bool trap_exit;
};

static void get(const void *p, size_t field, struct filter_value *v)
{
	const struct row *r = p;

	v->known = field != 4; /* nobody has a label */
	v->number = field == 0 ? r->memory : field == 1 ? r->mailbox : r->trap_exit;
	v->text = r->name;
	v->len = strlen(r->name);
}

static const struct row row = {10000, 0, "<0.80.0> my worker", true};

static bool holds(const char *text)
{
	struct filter *f;
	struct error err = {0};
	bool yes;

	if (filter_parse(&f, text, fields, ARRAY_SIZE(fields), &err) != 0) {
		print_message("%s\n", err.msg);
		fail();
	}
	yes = filter_holds(f, get, &row);
	filter_free(f);
	return yes;
}

static void test_numbers(void **state)
{
	static const char *const yes[] = {
		"memory == 10000", "memory=10k",      "memory == 0.01M",   "memory > 9Ki",
		"memory >= 10k",   "memory <= 10.0k", "memory < 1G",	   "memory != 10",
		"mailbox == 0",	   "mailbox > -1",    "trap_exit == true", "trap_exit",
		"memory<1Gi",	   "  memory  >  1 ", "trap_exit != false"};
	static const char *const no[] = {"memory == 10001", "memory > 10k",  "memory < 10000",
					 "mailbox",	    "mailbox != 0",  "trap_exit == 0",
					 "memory >= 10.1k", "memory <= 9.9k"};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(yes); i++)
		assert_true(holds(yes[i]));
	for (size_t i = 0; i < ARRAY_SIZE(no); i++)
		assert_false(holds(no[i]));
}

static void test_texts(void **state)
{
	static const char *const yes[] = {
		"name == '<0.80.0> my worker'",
		"name ~ worker",
		"name ~ \"^<0\\.80\"",
		"name =~ 'my|your'",
		"name !~ 'worker.'",
		"name != worker",
		"name",
		"label != x",
		"label !~ x",
		"not label",
		"name ~ <0.80.0>",
		"label == null",
		"name != null",
		"memory != null",
	};
	static const char *const no[] = {"name == worker", "name ~ '^worker'", "label",
					 "label == x",	   "label ~ x",	       "name !~ my",
					 "label != null",  "name == null",     "name == 'null'"};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(yes); i++)
		assert_true(holds(yes[i]));
	for (size_t i = 0; i < ARRAY_SIZE(no); i++)
		assert_false(holds(no[i]));
}

static void test_logic(void **state)
{
	static const char *const yes[] = {
		"memory and name",
		"memory && name && trap_exit",
		"mailbox or memory",
		"mailbox || memory",
		"not mailbox",
		"!mailbox",
		"! ! memory",
		"not (mailbox or label)",
		/* and binds closer than or */
		"memory or memory and mailbox",
		"mailbox and mailbox or memory",
		"(memory > 1 and (name ~ my or mailbox)) and not label",
	};
	static const char *const no[] = {"memory and mailbox", "(memory or memory) and mailbox",
					 "not memory or mailbox", "!(memory)"};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(yes); i++)
		assert_true(holds(yes[i]));
	for (size_t i = 0; i < ARRAY_SIZE(no); i++)
		assert_false(holds(no[i]));
}

static void test_uses(void **state)
{
	struct filter *f;

	(void)state;
	assert_int_equal(filter_parse(&f, "memory or not name ~ x and memory", fields,
				      ARRAY_SIZE(fields), NULL),
			 0);
	assert_int_equal(filter_uses(f), 1 | 4);
	filter_free(f);
}

/* The text, the column that the caret stands below, part of the message. */
static void test_errors(void **state)
{
	static const struct {
		const char *text;
		int caret;
		const char *message;
	} cases[] = {
		{"", 0, "a comparison is missing"},
		{"memory >", 8, "a number is wanted"},
		{"memory > x", 9, "a number is wanted"},
		{"memory > 10q", 9, "this is not a number"},
		{"memory > 10k k", 13, "'and' or 'or'"},
		{"memory > 1 and", 14, "a comparison is missing"},
		{"size > 1", 0, "there is no field 'size'; fields are memory, mailbox, name"},
		{"(memory > 1", 11, "a ) is missing"},
		{"memory > 1)", 10, "'and' or 'or'"},
		{"memory ~ x", 7, "~ is for texts"},
		{"name > x", 5, "a text has no order"},
		{"name ~ '['", 8, "this is not a valid regular expression: missing terminating ]"},
		{"name ~ 'a+++'", 8, "this is not a valid regular expression"},
		{"name ~ '(((a{999}){999}){999})'", 8, "this is not a valid regular expression"},
		{"name == 'abc", 8, "a text is wanted"},
		{"name == 'ä' and # > 1", 16, "a field is wanted"},
		{"and", 0, "there is no field 'and'"},
		{"memory > inf", 9, "a number is wanted"},
		{"memory > 1e999", 9, "this is not a number"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct error err = {0};
		struct filter *f = NULL;
		const char *caret;

		assert_true(filter_parse(&f, cases[i].text, fields, ARRAY_SIZE(fields), &err) < 0);
		assert_int_equal(err.kind, ERROR_KIND_USAGE);
		if (!strstr(err.msg, cases[i].message))
			fail_msg("%s", err.msg);
		caret = strrchr(err.msg, '\n');
		assert_non_null(caret);
		assert_int_equal(strlen(caret) - 4, cases[i].caret);
	}
}

static void test_limits(void **state)
{
	char text[8192];
	struct filter *f = NULL;
	size_t len = 0;

	(void)state;
	memset(text, '(', 200);
	strcpy(text + 200, "memory");
	assert_true(filter_parse(&f, text, fields, ARRAY_SIZE(fields), NULL) < 0);
	memset(text, 'a', 5000);
	text[5000] = '\0';
	assert_true(filter_parse(&f, text, fields, ARRAY_SIZE(fields), NULL) < 0);
	while (len < 4000)
		len += (size_t)sprintf(text + len, "!name||");
	strcpy(text + len, "name");
	assert_true(filter_parse(&f, text, fields, ARRAY_SIZE(fields), NULL) < 0); /* too long */
}

/* An expression that backtracks for ever gives up, is counted, and does not match. */
static void test_steps(void **state)
{
	struct row r = {.name = "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaab"};
	struct filter *f = NULL;

	(void)state;
	assert_int_equal(filter_parse(&f, "name ~ '^(a+)+$' or name ~ 'c$'", fields,
				      ARRAY_SIZE(fields), NULL),
			 0);
	assert_false(filter_holds(f, get, &r));
	assert_int_equal(filter_gave_up(f), 1);
	filter_free(f);
	assert_int_equal(filter_parse(&f, "name !~ '^(a+)+$' or name ~ 'c$'", fields,
				      ARRAY_SIZE(fields), NULL),
			 0);
	assert_false(filter_holds(f, get, &r));
	assert_int_equal(filter_gave_up(f), 1);
	r.name = "\xff"
		 "ac"; /* not UTF-8 */
	assert_true(filter_holds(f, get, &r));
	assert_int_equal(filter_gave_up(f), 1);
	filter_free(f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_numbers), cmocka_unit_test(test_texts),
		cmocka_unit_test(test_logic),	cmocka_unit_test(test_uses),
		cmocka_unit_test(test_errors),	cmocka_unit_test(test_limits),
		cmocka_unit_test(test_steps),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
