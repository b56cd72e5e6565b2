/* SPDX-License-Identifier: BSD-2-Clause */
/* Names of C++ functions: what is taken apart, and what is left as it stands. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/compiler.h"
#include "names/cxx_name.h"

static void check(const char *symbol, const char *name)
{
	char out[64];

	assert_int_equal(cxx_name(symbol, out, sizeof(out)), name != NULL);
	assert_string_equal(out, name ? name : "");
}

static void taken_apart(void **state)
{
	UNUSED(state);
	check("_Z17beam_jit_call_nifP7processPKvPmPFmP18enif_environment_tiS3_E",
	      "beam_jit_call_nif");
	check("_Z1fv", "f");
	check("_ZL1fv", "f");
	check("_ZN6asmjit9_abi_1_1013BaseAssembler5alignENS0_9AlignModeEj",
	      "asmjit::_abi_1_10::BaseAssembler::align");
	check("_ZNK6asmjit9CodeArena4sizeEv", "asmjit::CodeArena::size");
}

static void left_alone(void **state)
{
	UNUSED(state);
	check("", NULL);
	check("_", NULL);
	check("_Z", NULL);
	check("_ZN", NULL);
	check("erts_schedule", NULL);
	check("_Z3fo", NULL); /* shorter than it says */
	check("_Z0v", NULL);  /* no name */
	check("_Z99999999999999999999f", NULL);
	check("_Z3fooIiEvT_", NULL); /* a template */
	check("_ZN3fooIiE3barEv", NULL);
	check("_ZN3foo", NULL);	       /* without end */
	check("_ZN3foopLERKS_", NULL); /* operator+= */
	check("_ZN3fooC1Ev", NULL);    /* a constructor */
	check("_ZSt4movev", NULL);
	check("_ZN40aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa40bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb"
	      "bbbE",
	      NULL); /* too long */
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(taken_apart),
		cmocka_unit_test(left_alone),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
