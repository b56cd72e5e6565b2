/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Patterns of calls from any text, on arguments in any memory: byte 0 chooses the release, the text
 * ends at the first NUL, what follows is the heap, whose first words are the arguments.  Pointers
 * in it are made to point into it.  A call that matches fulfils the tests that BPF makes.
 */
#include <stdlib.h>
#include <string.h>

#include "base/compiler.h"
#include "beam/match/call_match.h"
#include "beam/node/node.h"
#include "beam/otp/layout.h"
#include "beam/term/term_internal.h"

#define HEAP	  0x100000ull
#define MAX_WORDS 256

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static uint64_t words[MAX_WORDS];
static size_t nr_words;

static int read_heap(struct mem *m, raddr addr, void *buf, size_t size)
{
	(void)m;
	if (addr < HEAP || addr - HEAP > 8 * nr_words || size > 8 * nr_words - (addr - HEAP))
		return -14; /* EFAULT */
	memcpy(buf, (const char *)words + (addr - HEAP), size);
	return 0;
}

static void fill(const uint8_t *data, size_t size)
{
	nr_words = MIN(size / 8, (size_t)MAX_WORDS);
	memcpy(words, data, 8 * nr_words);
	for (size_t i = 0; i < nr_words; i++) {
		uint64_t w = words[i];

		if (((w & 3) == 1 || (w & 3) == 2) && (w >> 3) % 4 != 0)
			words[i] = (HEAP + 8 * ((w >> 3) % nr_words)) | (w & 7);
	}
}

static void check(const struct call_matcher *m, const uint64_t *args, enum call_verdict v)
{
	struct call_test tests[CALL_TESTS_MAX];
	unsigned int nr = call_tests(m, tests);

	for (unsigned int i = 0; i < nr; i++) {
		const struct call_test *t = &tests[i];

		if (t->op < CALL_TEST_EQUAL || t->op > CALL_TEST_SMALL_GE || t->element < -1 ||
		    (i > 0 && t->group < tests[i - 1].group))
			abort();
		if (v == CALL_MATCHES && t->group == 0 && t->element < 0 &&
		    t->op == CALL_TEST_EQUAL && args[t->arg] != t->value)
			abort();
	}
}

static void match(struct call_pattern *p, struct term_reader *r)
{
	unsigned int nr = p->arity < 0 ? 0 : (unsigned int)p->arity;
	uint64_t args[CALL_PATTERN_ARITY + 1] = {0};
	struct call_matcher *m;
	enum call_verdict v;

	memcpy(args, words, 8 * MIN(nr_words, (size_t)nr));
	call_matcher_open(&m, p, r);
	v = call_match(m, r, args, nr);
	if (v > CALL_UNDECIDED || r->made_words || r->unreadable)
		abort();
	check(m, args, v);
	call_matcher_close(m);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const int releases[] = {25, 27, 29};
	struct beam_node node = {.os_pid = 0};
	struct term_formats formats = {.pids = {.pix_mask = 0xfffff}};
	struct mem mem = {.read = read_heap};
	struct error err = {0};
	struct call_pattern *p;
	struct term_reader r;
	char *text;
	size_t len;

	if (size < 2)
		return 0;
	text = strndup((const char *)data + 1, size - 1);
	len = strlen(text);
	fill(data + MIN(size, len + 2), size - MIN(size, len + 2));
	if (call_pattern_parse(&p, text, &err) != 0) {
		if (!err.code || strncmp(err.msg, "column ", 7) != 0)
			abort();
		free(text);
		return 0;
	}
	node.identity.otp = releases[data[0] % 3];
	node.layout = layout_table_find(node.identity.otp, false)->layout;
	node.mem = &mem;
	if (beam_atoms_open(&node.atoms, node.mem, &node.layout, HEAP) != 0)
		abort();
	r = (struct term_reader){
		.mem = node.mem,
		.atoms = node.atoms,
		.pids = &formats.pids,
		.ports = &formats.ports,
		.otp = node.identity.otp,
		.depth = 100,
		.node = &node,
	};
	match(p, &r);
	beam_atoms_close(node.atoms);
	call_pattern_free(p);
	free(text);
	return 0;
}
