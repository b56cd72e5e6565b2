/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * functions PID [--check]: where functions of a node's VM stand that ebeam finds without their
 * symbols.  --check: compares each with its symbol; an answer that differs fails, and so does one
 * that is not found though there is a symbol.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/compiler.h"
#include "beam/locate/node_open.h"
#include "beam/node/node.h"
#include "probe/site/functions.h"
#include "target/elf.h"

/* C++: long arguments up to OTP 26, int since 27. */
static const struct {
	const char *name, *symbol;
} mangled[] = {
	{"beam_jit_remove_message", "_Z23beam_jit_remove_messageP7processlPmS1_j"},
	{"beam_jit_remove_message", "_Z23beam_jit_remove_messageP7processiPmS1_j"},
	{"beam_jit_call_nif", "_Z17beam_jit_call_nifP7processPKvPmPFmP18enif_environment_tiS3_E"
			      "P14erl_module_nif"},
};

static bool symbol_of(const struct beam_node *n, const char *name, struct elf_symbol *out)
{
	if (elf_file_symbol(n->elf, name, out))
		return true;
	for (size_t i = 0; i < ARRAY_SIZE(mangled); i++) {
		if (strcmp(name, mangled[i].name) == 0 &&
		    elf_file_symbol(n->elf, mangled[i].symbol, out))
			return true;
	}
	return false;
}

/* 1 = it should have been found there, or not at all. */
static int show(struct beam_node *n, struct functions *f, const char *name)
{
	struct elf_symbol symbol;
	bool has_symbol = symbol_of(n, name, &symbol);
	uint64_t addr = 0;
	bool found = functions_find(f, name, &addr);
	const char *verdict = !has_symbol		     ? "no symbol"
			      : found && addr == symbol.addr ? "equal"
			      : found			     ? "WRONG"
							     : "MISSED";

	printf("%-32s %8" PRIx64 "  %s%s%s\n", name, addr, verdict, found ? "" : ": ",
	       found ? "" : functions_reason(f, name));
	return has_symbol && !(found && addr == symbol.addr);
}

int main(int argc, char **argv)
{
	bool check = argc > 2 && strcmp(argv[2], "--check") == 0;
	struct functions *f;
	struct beam_node *n;
	struct error err;
	const char *name;
	int failed = 0;

	if (argc < 2 || beam_node_open(&n, atoi(argv[1]), 0, &err) != 0) {
		fprintf(stderr, "functions: %s\n", argc < 2 ? "which pid?" : err.msg);
		return 1;
	}
	functions_open(&f, n);
	functions_ignore_symbols(f);
	for (unsigned int i = 0; (name = functions_recipe(f, i)) != NULL; i++)
		failed += show(n, f, name);
	functions_close(f);
	beam_node_close(n);
	return check && failed ? 1 : 0;
}
