/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * termdump: prints the value of a key in the dictionary of a registered process, as ebeam reads
 * and prints terms.  For tests, which compare it with what the node itself prints.
 *
 *   termdump -p PID NAME KEY [--each] [--elixir] [--size] [--to-list] [--depth N] [--max N]
 *
 *   --each     the elements of a list one by one, a line each, with newlines as they are escaped
 *   --elixir   as Elixir's inspect
 *   --size     in front of each term its flat size
 *   --to-list  a map as the list of its pairs, as maps:to_list()
 *   --depth, --max  limits of depth and of elements
 *
 * Ends with 0, and 1 if it cannot be had.  The last line on stderr says how many places were not
 * readable.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/xalloc.h"
#include "beam/locate/node_open.h"
#include "beam/node/node.h"
#include "beam/process/dictionary.h"
#include "beam/term/atoms.h"
#include "beam/term/term_internal.h"

static const char usage_text[] = "usage: termdump -p PID NAME KEY [--each] [--elixir] [--size] "
				 "[--to-list] [--depth N] [--max N]\n";

struct dump {
	struct term_reader r;
	bool each, size, to_list;
};

/* The process that is registered as `name`: of all in the table. */
static raddr find_process(struct beam_node *n, uint64_t name)
{
	const struct beam_layout *l = &n->layout;
	raddr ptab = n->anchors.proc_tab, tab, *slots, found = 0;
	uint32_t max;

	if (mem_read_u32(n->mem, ptab + (uint32_t)l->ptab_max, &max) != 0 || max > 1u << 27 ||
	    mem_read_u64(n->mem, ptab + (uint32_t)l->ptab_tab, &tab) != 0)
		return 0;
	slots = xmalloc(8 * (size_t)max);
	if (mem_read(n->mem, tab, slots, 8 * (size_t)max) != 0)
		max = 0;
	for (uint32_t i = 0; i < max && !found; i++) {
		uint64_t reg, text;

		if (slots[i] &&
		    mem_read_u64(n->mem, slots[i] + (uint32_t)l->process_reg, &reg) == 0 && reg &&
		    mem_read_u64(n->mem, reg + (uint32_t)l->regproc_name, &text) == 0 &&
		    text == name)
			found = slots[i];
	}
	free(slots);
	return found;
}

static void print_pairs(struct dump *d, uint64_t map)
{
	struct term_view v;
	struct map_walk w;
	uint64_t key, value;

	if (term_view(&d->r, map, &v) != TERM_KIND_MAP)
		return;
	/* Up to OTP 28 maps:to_list() conses what it walks: the last comes first. */
	map_walk_begin(&w, &v, d->r.otp < 29);
	while (map_walk_next(&w, &d->r, &key, &value)) {
		struct strbuf out = STRBUF_INIT;

		term_print(&d->r, &out, key);
		strbuf_addch(&out, '\t');
		term_print(&d->r, &out, value);
		puts(out.buf);
		strbuf_free(&out);
	}
}

static void print(struct dump *d, uint64_t term)
{
	struct strbuf out = STRBUF_INIT;
	bool cut;

	if (d->size)
		strbuf_addf(&out, "%" PRIu64 " ", term_flat_size(&d->r, term, 1u << 30, &cut));
	term_print(&d->r, &out, term);
	strbuf_addch(&out, '\n');
	fwrite(out.buf, 1, out.len, stdout);
	strbuf_free(&out);
}

static int dump(struct dump *d, struct beam_node *n, const char *name, const char *key)
{
	uint64_t atom = beam_atom_find(n->atoms, name), value, id, head;
	raddr process = atom ? find_process(n, atom) : 0;

	atom = beam_atom_find(n->atoms, key);
	if (!process || !atom ||
	    mem_read_u64(n->mem, process + (uint32_t)n->layout.process_id, &id) != 0 ||
	    dictionary_get(n->mem, &n->layout, process, id, atom, &value) != 0 || !value) {
		fprintf(stderr, "termdump: %s: no such process or key: %s\n", name, key);
		return 1;
	}
	if (d->to_list)
		print_pairs(d, value);
	else if (!d->each)
		print(d, value);
	else
		while (term_next(&d->r, &value, &head))
			print(d, head);
	fprintf(stderr, "%" PRIu64 " unreadable\n", d->r.unreadable);
	return 0;
}

int main(int argc, char **argv)
{
	const char *words[2] = {NULL, NULL};
	struct term_formats formats;
	struct beam_node *n;
	struct error err = {0};
	struct dump d = {.each = false};
	int os_pid = 0, nr = 0, depth = 0, max = 0, rc;
	bool elixir = false;

	for (int i = 1; i < argc; i++) {
		if (strcmp(argv[i], "-p") == 0 && i + 1 < argc)
			os_pid = atoi(argv[++i]);
		else if (strcmp(argv[i], "--depth") == 0 && i + 1 < argc)
			depth = atoi(argv[++i]);
		else if (strcmp(argv[i], "--max") == 0 && i + 1 < argc)
			max = atoi(argv[++i]);
		else if (strcmp(argv[i], "--each") == 0)
			d.each = true;
		else if (strcmp(argv[i], "--elixir") == 0)
			elixir = true;
		else if (strcmp(argv[i], "--size") == 0)
			d.size = true;
		else if (strcmp(argv[i], "--to-list") == 0)
			d.to_list = true;
		else if (argv[i][0] != '-' && nr < 2)
			words[nr++] = argv[i];
	}
	if (os_pid <= 0 || nr != 2) {
		fputs(usage_text, stderr);
		return 2;
	}
	if (beam_node_open(&n, os_pid, 0, &err) != 0) {
		fprintf(stderr, "termdump: %s\n", err.msg);
		return 1;
	}
	rc = term_reader_init(&d.r, &formats, n);
	d.r.style = elixir ? TERM_STYLE_ELIXIR : TERM_STYLE_ERLANG;
	if (depth > 0)
		d.r.depth = depth;
	if (max > 0)
		d.r.max_elements = (unsigned int)max;
	rc = rc ? 1 : dump(&d, n, words[0], words[1]);
	beam_node_close(n);
	return rc;
}
