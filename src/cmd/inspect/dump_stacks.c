/* SPDX-License-Identifier: BSD-2-Clause */
/* Names of processes, and the answer of `ebeam dump` without --waits or --old-code; see dump.h. */
#include "base/compiler.h"
#include "beam/term/atoms.h"
#include "beam/term/term.h"
#include "beam/vm/facts.h"
#include "cmd/inspect/dump.h"
#include "cmd/output/envelope.h"
#include "cmd/output/render.h"
#include "view/inspect/stacks_view.h"

#define NAME_SIZE 60 /* bytes of a name */

/* ---- names of processes ---------------------------------------------------------------------- */

/* Adds {M, F, A} as M:F/A; false if the term is no such tuple. */
static bool add_mfa_tuple(struct strbuf *out, struct beam_node *n, uint64_t term)
{
	uint64_t words[4];

	if ((term & 3) != 2 || mem_read(n->mem, term & ~7ull, words, sizeof(words)) ||
	    words[0] != 3ull << 6 || (words[3] & 0xf) != 0xf)
		return false;
	words[3] >>= 4;
	return beam_mfa_format(n->atoms, words + 1, out);
}

static bool add_registered(struct strbuf *out, struct beam_node *n, const struct process_facts *p)
{
	size_t len;
	const char *text = p->registered ? beam_atom_text(n->atoms, p->registered, &len) : NULL;

	if (text)
		names_format_module(out, text, len);
	return text != NULL;
}

void dump_name(const struct dump *d, uint32_t member, struct strbuf *out)
{
	struct process_facts p = d->list.data[member];
	struct beam_node *n = d->n;
	struct term_formats formats;
	struct term_reader reader;

	if (add_registered(out, n, &p) || process_read(n, p.epid, PROCESS_READ_DICTIONARY, &p))
		return;
	if (p.label && term_reader_init(&reader, &formats, n) == 0) {
		reader.depth = 6;
		reader.max_len = (unsigned int)out->len + NAME_SIZE;
		term_print(&reader, out, p.label);
	} else if (!p.initial_call || !add_mfa_tuple(out, n, p.initial_call)) {
		beam_mfa_format(n->atoms, p.initial, out);
	}
}

struct dump_process dump_process(const struct dump *d, uint32_t member, bool named,
				 struct arena *texts)
{
	uint32_t i = d->group_of[member];
	const struct stack_group *g = i == DUMP_NO_GROUP ? NULL : &d->groups.groups.data[i];
	const struct name_frame *f = g ? dump_current(d, g) : NULL;
	struct dump_process p = {.status = g ? process_status_name(dump_status(g)) : NULL,
				 .stale = g && g->what & DUMP_STALE};
	struct strbuf text = STRBUF_INIT;

	dump_pid(d, member, &text);
	p.pid = arena_text(texts, &text);
	if (named)
		dump_name(d, member, &text);
	p.name = arena_text(texts, &text);
	if (f)
		names_format_function(&text, names_function(d->names, f->function));
	p.current = arena_text(texts, &text);
	strbuf_free(&text);
	return p;
}

/* ---- merged stacks --------------------------------------------------------------------------- */

static const char *example(const struct dump *d, uint32_t member, bool named, struct arena *texts)
{
	struct strbuf text = STRBUF_INIT, name = STRBUF_INIT;
	const char *s;

	if (named)
		dump_name(d, member, &name);
	dump_pid(d, member, &text);
	strbuf_addf(&text, "%s%s", name.len ? " " : "", name.buf);
	s = arena_text(texts, &text);
	strbuf_free(&text);
	strbuf_free(&name);
	return s;
}

static struct stacks_row make_row(const struct dump *d, const struct stack_group *g, bool named,
				  struct arena *texts)
{
	struct stacks_row r = {
		.count = g->count,
		.status = (uint8_t)dump_status(g),
		.stale = (g->what & DUMP_STALE) != 0,
		.truncated = (g->what & DUMP_TRUNCATED) != 0,
		.current = dump_current(d, g),
		.outside = dump_current_is_extra(d, g),
		.frames = g->nr ? &d->groups.items.data[g->first + 1] : NULL,
		.nr_frames = dump_depth(g),
		.nr_members = named ? MIN(g->nr_members, (uint32_t)STACKS_EXAMPLES) : g->nr_members,
	};

	for (uint32_t i = 0; i < r.nr_members; i++)
		r.members[i] = example(d, g->members[i], named, texts);
	return r;
}

int dump_stacks(const struct dump *d, const struct command_context *ctx, FILE *f, bool text,
		struct error *err)
{
	const struct envelope_counter counters[] = {
		{"vanished", d->vanished},
		{"torn", d->torn},
		{"running", d->stale},
		{"truncated", d->cut},
		{"unknown_frames", d->unknown_frames},
		{"overflows", d->groups.overflows},
	};
	struct stacks_answer a = {.names = d->names, .stacks = d->groups.groups.len};
	struct arena texts = ARENA_INIT;
	struct jsonw w = JSONW(f);
	struct beam_facts facts;
	int rc = 0;

	if (beam_node_facts(d->n, &facts, NULL) == 0)
		a.node = facts.name;
	for (size_t i = 0; i < a.stacks; i++) {
		const struct stack_group *g = &d->groups.groups.data[d->order[i]];

		a.by_status[dump_status(g)] += g->count;
		if (!ctx->opt.limit || i < ctx->opt.limit)
			vec_push(&a.rows, make_row(d, g, text, &texts));
	}
	if (text) {
		stacks_view_write(f, &a, ctx->opt.verbosity > 0, render_color(&ctx->opt, f));
	} else {
		target_json_begin(&w, ctx, d->n);
		stacks_view_json(&w, &a);
		rc = envelope_end(&w, NULL, 0, counters, ARRAY_SIZE(counters), err);
	}
	vec_free(&a.rows);
	arena_free(&texts);
	return rc;
}
