/* SPDX-License-Identifier: BSD-2-Clause */
/* The text of a function, as the VM writes it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "base/compiler.h"
#include "beam/term/mfa_text.h"

static void check(const char *text, const char *module, const char *function, int arity)
{
	char *copy = strdup(text);
	struct mfa_parts parts;
	bool is = mfa_parse(copy, &parts);

	assert_int_equal(is, module != NULL);
	if (is) {
		assert_string_equal(parts.module, module);
		assert_string_equal(parts.function, function);
		assert_int_equal(parts.arity, arity);
	}
	free(copy);
}

static void functions(void **state)
{
	UNUSED(state);
	check("lists:map/2", "lists", "map", 2);
	check("m@h:f_1/255", "m@h", "f_1", 255);
	check("'Elixir.Enum':'map?'/0", "Elixir.Enum", "map?", 0);
	check("a:'-f/1-fun-0-'/3", "a", "-f/1-fun-0-", 3);
	check("'a:b':'c/d'/1", "a:b", "c/d", 1);
	check("'it\\'s':'back\\\\slash'/1", "it's", "back\\slash", 1);
	check("'':'a\\nb\\t\\001'/1", "", "a\nb\t\001", 1);
}

/* Cut at any place, it is none; nothing is read behind its end. */
static void others(void **state)
{
	static const char *const texts[] = {"lists:map/2", "'Elixir.A\\'\\001':'b\\n'/2"};

	UNUSED(state);
	for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
		for (size_t len = 0; len + 1 < strlen(texts[i]); len++) {
			char *cut = strndup(texts[i], len);

			check(cut, NULL, NULL, 0);
			free(cut);
		}
	}
	check("a:b/256", NULL, NULL, 0);
	check("a:b/-1", NULL, NULL, 0);
	check("a:b/1x", NULL, NULL, 0);
	check("a:/1", NULL, NULL, 0);
	check(":b/1", NULL, NULL, 0);
	check("'a'x:b/1", NULL, NULL, 0);
	check("a:b/99999999999999999999", NULL, NULL, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(functions), cmocka_unit_test(others)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
