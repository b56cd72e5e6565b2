/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Function references: src/target/code_reference.h.
 *
 * fnref FILE ABOUT [DEBUG]: writes the reference of an emulator or library that has its symbols, or
 * whose debug file has them, to standard output, to be compressed by gzip -9n.  ABOUT says what was
 * built and how.
 *
 * fnref --check REFERENCE BEAM TRUTH: names the functions of BEAM, and compares with TRUTH, the
 * same file with its symbols.
 *
 * fnref --half REFERENCE BEAM [LEAST]: hides every other symbol of BEAM, names functions, those of
 * at least LEAST instructions, and compares; then hides the others.
 *
 * fnref --absent REFERENCE BEAM: takes every other function out of the reference, then the others,
 * and compares with the names by the whole reference.  What was taken out must not be found.
 *
 * They print how many names are right, wrong, and missing, and exit 1 if a name is wrong, or none
 * is right.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/compiler.h"
#include "base/strbuf.h"
#include "target/code_graph.h"
#include "target/code_match.h"
#include "target/code_reference.h"
#include "target/elf.h"

static void die(const char *path, const char *why)
{
	fprintf(stderr, "fnref: %s: %s\n", path, why);
	exit(2);
}

static struct elf_file *open_elf(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct elf_file *elf;
	struct error err;

	if (fd < 0)
		die(path, "cannot be opened");
	if (elf_file_open(&elf, fd, path, &err) != 0)
		die(path, err.msg);
	return elf;
}

static struct elf_file *read_beam(struct code_graph *g, const char *path)
{
	struct elf_file *elf = open_elf(path);

	if (code_graph_read(g, elf) != 0)
		die(path, "no functions are found");
	return elf;
}

static void read_reference(struct code_graph *g, const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	off_t size = fd < 0 ? -1 : lseek(fd, 0, SEEK_END);
	uint8_t *data = size > 0 ? malloc((size_t)size) : NULL;
	struct error err;

	if (!data || pread(fd, data, (size_t)size, 0) != size)
		die(path, "cannot be read");
	if (code_reference_read(g, data, (size_t)size, &err) != 0)
		die(path, err.msg);
	free(data);
	close(fd);
}

struct sum {
	size_t right, wrong, missing;
};

/* Names are equal up to what the compiler adds to parts and copies, foo.cold, foo.part.0, and up to
 * the underscores of a second name that the C library has for a function: __snprintf. */
static bool is_same_name(const char *a, const char *b)
{
	size_t n, k;

	a += strspn(a, "_");
	b += strspn(b, "_");
	n = strcspn(a, ".");
	k = strcspn(b, ".");
	return n == k && memcmp(a, b, n) == 0;
}

/* Is `name` another symbol of the same function? */
static bool is_alias(const struct elf_file *elf, const char *name, uint64_t addr)
{
	struct elf_symbol symbol;

	return elf_file_symbol(elf, name, &symbol) && symbol.addr == addr;
}

static void compare(const char *name, const char *truth, uint64_t addr, const struct elf_file *elf,
		    struct sum *sum)
{
	if (!name) {
		sum->missing++;
	} else if (is_same_name(name, truth) || is_alias(elf, name, addr)) {
		sum->right++;
	} else {
		sum->wrong++;
		printf("wrong: %s at 0x%lx is named %s\n", truth, (unsigned long)addr, name);
	}
}

static const char *name_of(const struct code_graph *reference, uint32_t function)
{
	return function == CODE_MATCH_NONE ? NULL : reference->functions.data[function].name;
}

static int report(const char *path, const struct sum *sum)
{
	printf("%s: %zu right, %zu wrong, %zu missing\n", path, sum->right, sum->wrong,
	       sum->missing);
	return sum->wrong || !sum->right;
}

static int check(const char *reference_path, const char *path, const char *truth_path)
{
	struct code_graph reference, beam, truth;
	struct elf_file *elf, *truth_elf;
	struct sum sum = {0};
	uint32_t *found;
	size_t nr;

	read_reference(&reference, reference_path);
	elf = read_beam(&beam, path);
	truth_elf = read_beam(&truth, truth_path);
	found = code_match(&reference, &beam, &nr);
	for (size_t i = 0; i < beam.functions.len; i++) {
		const struct code_function *f = &beam.functions.data[i];
		size_t at = code_graph_at(&truth, f->addr);

		if (!f->name && at != SIZE_MAX && truth.functions.data[at].name)
			compare(name_of(&reference, found[i]), truth.functions.data[at].name,
				f->addr, truth_elf, &sum);
	}
	free(found);
	elf_file_close(elf);
	elf_file_close(truth_elf);
	code_graph_free(&reference);
	code_graph_free(&beam);
	code_graph_free(&truth);
	return report(path, &sum);
}

static int half(const char *reference_path, const char *path, uint32_t least)
{
	struct code_graph reference, beam;
	struct elf_file *elf;
	struct sum sum = {0};
	const char **names;

	read_reference(&reference, reference_path);
	elf = read_beam(&beam, path);
	names = calloc(beam.functions.len, sizeof(*names));
	for (size_t i = 0; names && i < beam.functions.len; i++)
		names[i] = beam.functions.data[i].name;
	for (size_t hidden = 0; names && hidden < 2; hidden++) {
		uint32_t *found;
		size_t nr;

		for (size_t i = 0; i < beam.functions.len; i++)
			beam.functions.data[i].name = i % 2 == hidden ? NULL : names[i];
		found = code_match(&reference, &beam, &nr);
		for (size_t i = hidden; i < beam.functions.len; i += 2) {
			const struct code_function *f = &beam.functions.data[i];

			if (names[i] && f->nr_insns >= least)
				compare(name_of(&reference, found[i]), names[i], f->addr, elf,
					&sum);
		}
		free(found);
	}
	free(names);
	elf_file_close(elf);
	code_graph_free(&reference);
	code_graph_free(&beam);
	return report(path, &sum);
}

static int absent(const char *reference_path, const char *path)
{
	struct code_graph reference, beam;
	struct elf_file *elf;
	struct sum sum = {0};
	uint32_t *whole;
	size_t nr;

	read_reference(&reference, reference_path);
	elf = read_beam(&beam, path);
	whole = code_match(&reference, &beam, &nr);
	for (size_t gone = 0; gone < 2; gone++) {
		struct code_graph rest;
		uint32_t *found;

		read_reference(&rest, reference_path);
		for (size_t i = gone; i < rest.functions.len; i += 2) {
			rest.functions.data[i].name = NULL;
			rest.functions.data[i].hash = 0;
		}
		found = code_match(&rest, &beam, &nr);
		for (size_t i = 0; i < beam.functions.len; i++) {
			const char *name = name_of(&rest, found[i]);
			const char *truth = name_of(&reference, whole[i]);

			if (!name) {
				sum.missing += truth && whole[i] % 2 != gone;
			} else if (truth && is_same_name(name, truth)) {
				sum.right++;
			} else {
				sum.wrong++;
				printf("wrong: %s at 0x%lx is named %s\n", truth ? truth : "?",
				       (unsigned long)beam.functions.data[i].addr, name);
			}
		}
		free(found);
		code_graph_free(&rest);
	}
	free(whole);
	elf_file_close(elf);
	code_graph_free(&reference);
	code_graph_free(&beam);
	return report(path, &sum);
}

static int make(const char *path, const char *about, const char *debug_path)
{
	struct code_graph beam;
	struct strbuf text = STRBUF_INIT;
	struct elf_file *elf = read_beam(&beam, path);

	if (debug_path) {
		struct elf_file *debug = open_elf(debug_path);

		code_graph_name(&beam, debug);
		elf_file_close(debug);
	}
	code_reference_write(&beam, about, &text);
	fwrite(text.buf, 1, text.len, stdout);
	strbuf_free(&text);
	elf_file_close(elf);
	code_graph_free(&beam);
	return fflush(stdout) != 0;
}

int main(int argc, char **argv)
{
	if (argc == 5 && strcmp(argv[1], "--check") == 0)
		return check(argv[2], argv[3], argv[4]);
	if ((argc == 4 || argc == 5) && strcmp(argv[1], "--half") == 0)
		return half(argv[2], argv[3], argc == 5 ? (uint32_t)atoi(argv[4]) : 0);
	if (argc == 4 && strcmp(argv[1], "--absent") == 0)
		return absent(argv[2], argv[3]);
	if ((argc == 3 || argc == 4) && argv[1][0] != '-')
		return make(argv[1], argv[2], argv[3]);
	fprintf(stderr, "usage: fnref FILE ABOUT [DEBUG] | --check REFERENCE BEAM TRUTH | "
			"--half REFERENCE BEAM [LEAST] | --absent REFERENCE BEAM\n");
	return 2;
}
