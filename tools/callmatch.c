/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * callmatch: which patterns of calls match which arguments.  For tests, which let the node say the
 * same.
 *
 *   callmatch -p PID NAME KEY [--lose PERCENT] < PATTERNS
 *
 * The dictionary of the registered process NAME holds under KEY a list with the arguments of a
 * call, a list, for each line of PATTERNS.  Prints `matches`, `differs` or `undecided` for each;
 * behind it `rejected` if the tests that BPF would make say that it does not match.  --lose makes
 * so many of 100 words of the node unreadable, always the same ones.
 *
 * Ends with 0; 1 if it cannot be done; 2 if a line is no pattern, which it then says.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "abi/vm.h"
#include "base/compiler.h"
#include "base/xalloc.h"
#include "beam/locate/node_open.h"
#include "beam/match/call_match.h"
#include "beam/node/node.h"
#include "beam/process/dictionary.h"
#include "beam/process/process.h"
#include "beam/term/atoms.h"
#include "beam/term/term_read.h"

static const char usage_text[] = "usage: callmatch -p PID NAME KEY [--lose PERCENT] < PATTERNS\n";

/* Memory in which some words cannot be read. */
struct lossy {
	struct mem mem;
	struct mem *inner;
	unsigned int percent;
};

static int read_lossy(struct mem *m, raddr addr, void *buf, size_t size)
{
	struct lossy *l = CONTAINER_OF(m, struct lossy, mem);

	for (raddr at = addr & ~7ull; l->percent && at < addr + size; at += 8) {
		uint64_t hash = (at + 1) * 0x9e3779b97f4a7c15ull;

		if ((hash >> 40) % 100 < l->percent)
			return -14; /* EFAULT */
	}
	return mem_read(l->inner, addr, buf, size);
}

/* ---- the tests of BPF, as abi/call_test.h says ---------------------------------------------- */

static bool test_holds(struct mem *mem, const struct call_test *t, const uint64_t *args)
{
	uint64_t word = args[t->arg], header;

	if (t->element >= 0 &&
	    (!TERM_IS_BOXED(word) ||
	     mem_read_u64(mem, TERM_ADDR(word) + 8 + 8 * (uint64_t)t->element, &word) != 0))
		return false;
	if (t->op != CALL_TEST_HEADER)
		return call_test_word(t->op, t->value, word);
	return TERM_IS_BOXED(word) && mem_read_u64(mem, TERM_ADDR(word), &header) == 0 &&
	       call_test_header(t->value, header);
}

static bool tests_hold(struct mem *mem, const struct call_test *tests, unsigned int nr,
		       const uint64_t *args)
{
	bool grouped = false, any = false;

	for (unsigned int i = 0; i < nr;) {
		unsigned int group = tests[i].group;
		bool all = true;

		for (; i < nr && tests[i].group == group; i++)
			all = all && test_holds(mem, &tests[i], args);
		if (group == 0 && !all)
			return false;
		grouped = grouped || group != 0;
		any = any || (group != 0 && all);
	}
	return any || !grouped;
}

/* ---- calls ---------------------------------------------------------------------------------- */

static int decide(struct term_reader *r, struct mem *whole, const char *text, const uint64_t *args,
		  unsigned int nr)
{
	static const char *const names[] = {
		[CALL_MATCHES] = "matches",
		[CALL_DIFFERS] = "differs",
		[CALL_UNDECIDED] = "undecided",
	};
	struct call_test tests[CALL_TESTS_MAX];
	struct call_pattern *p;
	struct call_matcher *m;
	struct error err = {0};
	enum call_verdict v;
	unsigned int nr_tests;

	if (call_pattern_parse(&p, text, &err) != 0) {
		fprintf(stderr, "callmatch: %s\n", err.msg);
		return 2;
	}
	call_matcher_open(&m, p, r);
	v = call_match(m, r, args, nr);
	nr_tests = call_tests(m, tests);
	printf("%s%s\n", names[v], tests_hold(whole, tests, nr_tests, args) ? "" : " rejected");
	call_matcher_close(m);
	call_pattern_free(p);
	return 0;
}

static int decide_all(struct beam_node *n, struct term_reader *r, uint64_t list)
{
	struct mem *whole = n->mem, *lossy = r->mem;
	char *line = NULL;
	size_t size = 0;
	ssize_t len;
	int rc = 0;

	while (rc == 0 && (len = getline(&line, &size, stdin)) > 0) {
		uint64_t args[CALL_PATTERN_ARITY], call;
		unsigned int nr = 0;

		line[len - 1] = '\0';
		r->mem = whole;
		if (!term_next(r, &list, &call)) {
			fprintf(stderr, "callmatch: more patterns than calls\n");
			rc = 1;
			break;
		}
		while (nr < ARRAY_SIZE(args) && term_next(r, &call, &args[nr]))
			nr++;
		r->mem = lossy;
		rc = decide(r, whole, line, args, nr);
	}
	free(line);
	return rc;
}

static int run(struct beam_node *n, const char *name, const char *key, unsigned int lose)
{
	struct lossy lossy = {.mem = {.read = read_lossy}, .inner = n->mem, .percent = lose};
	struct process_facts facts = {0};
	struct term_formats formats;
	struct term_reader r;
	struct error err = {0};
	uint64_t epid, atom, list;
	int rc = process_parse(n, name, &epid, &err);

	if (rc == 0)
		rc = process_read(n, epid, 0, &facts);
	atom = beam_atom_find(n->atoms, key);
	if (rc || !atom || dictionary_get(n->mem, &n->layout, facts.addr, epid, atom, &list) != 0 ||
	    !list || term_reader_init(&r, &formats, n) != 0) {
		fprintf(stderr, "callmatch: %s: no such process or key: %s\n", name, key);
		return 1;
	}
	r.mem = &lossy.mem;
	return decide_all(n, &r, list);
}

int main(int argc, char **argv)
{
	const char *words[2] = {NULL, NULL};
	struct beam_node *n;
	struct error err = {0};
	int os_pid = 0, nr = 0, lose = 0, rc;

	for (int i = 1; i < argc; i++) {
		if (strcmp(argv[i], "-p") == 0 && i + 1 < argc)
			os_pid = atoi(argv[++i]);
		else if (strcmp(argv[i], "--lose") == 0 && i + 1 < argc)
			lose = atoi(argv[++i]);
		else if (argv[i][0] != '-' && nr < 2)
			words[nr++] = argv[i];
	}
	if (os_pid <= 0 || nr != 2) {
		fputs(usage_text, stderr);
		return 2;
	}
	if (beam_node_open(&n, os_pid, 0, &err) != 0) {
		fprintf(stderr, "callmatch: %s\n", err.msg);
		return 1;
	}
	rc = run(n, words[0], words[1], (unsigned int)lose);
	beam_node_close(n);
	return rc;
}
