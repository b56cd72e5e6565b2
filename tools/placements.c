/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * placements BEAM [FUNCTION...]: where uprobes on functions of a beam.smp stand: function, site,
 * instruction, how the kernel runs it, or why not; for calls, and for returns where those are
 * needed.  Without names: the functions whose calls are events; others with all six arguments.
 */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>

#include "base/compiler.h"
#include "probe/site/sources.h"
#include "target/elf.h"

static void print_place(const char *what, const struct placement *p)
{
	if (!p->ok)
		printf("  %s refused: %s\n", what, p->reason);
	else
		printf("  %s +%-3u %-9s depth %-4u %-28s %s\n", what, p->offset,
		       p->emulated ? "emulated" : "stepped", p->stack_depth, p->instruction,
		       p->reason);
}

static void print_function(const struct elf_file *elf, const char *name,
			   const struct source_function *f, unsigned int sum[2])
{
	struct placement_request request = f->request;
	struct elf_symbol symbol;
	struct placement site;

	if (!elf_file_symbol(elf, name, &symbol))
		return;
	printf("%s\n", name);
	placement_find_in_elf(&site, elf, symbol.addr, &request);
	print_place("call  ", &site);
	sum[0]++;
	sum[1] += site.ok && site.emulated;
	if (!f->returns)
		return;
	request.returns = true;
	placement_find_in_elf(&site, elf, symbol.addr, &request);
	print_place("return", &site);
}

static void print_row(const struct elf_file *elf, const struct source_function *f,
		      unsigned int sum[2])
{
	for (size_t i = 0; i < ARRAY_SIZE(f->symbols) && f->symbols[i]; i++)
		print_function(elf, f->symbols[i], f, sum);
}

static struct source_function named(const char *name)
{
	struct source_function f;

	for (unsigned int i = 0; source_function(i, &f); i++) {
		for (size_t k = 0; k < ARRAY_SIZE(f.symbols) && f.symbols[k]; k++)
			if (strcmp(f.symbols[k], name) == 0)
				return f;
	}
	f = (struct source_function){.request.nops = placement_kernel_emulates_nops()};
	f.request.args = PLACEMENT_ARGS(6);
	return f;
}

int main(int argc, char **argv)
{
	struct source_function f;
	unsigned int sum[2] = {0};
	struct elf_file *elf;
	struct error err;

	if (argc < 2 ||
	    elf_file_open(&elf, open(argv[1], O_RDONLY | O_CLOEXEC), argv[1], &err) != 0) {
		fprintf(stderr, "placements: %s\n", argc < 2 ? "which file?" : err.msg);
		return 1;
	}
	for (unsigned int i = 0; argc == 2 && source_function(i, &f); i++)
		print_row(elf, &f, sum);
	for (int i = 2; i < argc; i++) {
		f = named(argv[i]);
		print_function(elf, argv[i], &f, sum);
	}
	printf("%u of %u at an emulated instruction\n", sum[1], sum[0]);
	elf_file_close(elf);
	return 0;
}
