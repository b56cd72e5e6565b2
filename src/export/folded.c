/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Folded stacks, the format that every flame graph tool reads: one line per distinct stack, root
 * first, frames separated by ";", then a space and the samples.  A difference has two numbers, of A
 * and of B.  Lines are in depth-first order of the tree, with children sorted by name.
 *
 * Readers split at every ";", so a ";" in a name is written as "\x3b"; backslashes are not escaped,
 * as readers do not unescape.
 */
#include "export/formats.h"

#include <inttypes.h>
#include <stdlib.h>

#include "base/xalloc.h"
#include "model/profile/calltree.h"

static void add_frame(struct strbuf *line, const char *name)
{
	if (line->len)
		strbuf_addch(line, ';');
	for (const char *p = name; *p; p++) {
		if (*p == ';')
			strbuf_addstr(line, "\\x3b");
		else if (*p == '\n')
			strbuf_addstr(line, "\\n");
		else if ((unsigned char)*p < 0x20)
			strbuf_addch(line, ' ');
		else
			strbuf_addch(line, *p);
	}
}

/*
 * The path of the current node as text; start[d] = length of the text of the frames above depth d.
 * Nodes come depth first, so that each one only replaces the text from its depth on.
 */
struct path {
	struct strbuf text;
	size_t *start;
};

static void path_init(struct path *p, uint32_t max_depth)
{
	strbuf_init(&p->text);
	p->start = xcalloc((size_t)max_depth + 2, sizeof(*p->start));
}

static void path_free(struct path *p)
{
	strbuf_free(&p->text);
	free(p->start);
}

static void path_set(struct path *p, uint32_t depth, const char *name)
{
	if (p->text.len > p->start[depth]) {
		p->text.len = p->start[depth];
		p->text.buf[p->text.len] = '\0';
	}
	add_frame(&p->text, name);
	p->start[depth + 1] = p->text.len;
}

int export_folded(FILE *f, const struct snapshot *s, struct error *err)
{
	struct calltree *t;
	struct path path;

	t = calltree_open(s);
	path_init(&path, t->max_depth);
	if (t->nodes[0].self)
		fprintf(f, "%s %" PRIu64 "\n", EXPORT_NO_STACK, t->nodes[0].self);
	for (uint32_t i = 1; i < t->nr_nodes; i++) {
		const struct calltree_node *n = &t->nodes[i];

		path_set(&path, n->depth, s->frames[n->frame].name);
		if (n->self)
			fprintf(f, "%s %" PRIu64 "\n", path.text.buf, n->self);
	}
	path_free(&path);
	calltree_close(t);
	return export_finish(f, err);
}

int export_folded_diff(FILE *f, const struct diff *d, struct error *err)
{
	struct path path;

	path_init(&path, d->max_depth);
	for (uint32_t i = 0; i < d->nr_nodes; i++) {
		const struct diff_node *n = &d->nodes[i];
		const char *text = EXPORT_NO_STACK;

		if (i) {
			path_set(&path, n->depth, n->name);
			text = path.text.buf;
		}
		if (n->self_a || n->self_b)
			fprintf(f, "%s %" PRIu64 " %" PRIu64 "\n", text, n->self_a, n->self_b);
	}
	path_free(&path);
	return export_finish(f, err);
}
