/* SPDX-License-Identifier: BSD-2-Clause */
/* Merged stacks as text and as JSON; see dump.h. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/compiler.h"
#include "base/units.h"
#include "beam/term/atoms.h"
#include "beam/term/pid.h"
#include "beam/term/term.h"
#include "beam/vm/facts.h"
#include "cmd/inspect/dump.h"
#include "cmd/output/envelope.h"
#include "cmd/output/render.h"
#include "view/table/table.h"

#define TEXT_FRAMES   30 /* of one stack, without -v */
#define TEXT_BOTTOM   3	 /* of them from its bottom */
#define TEXT_EXAMPLES 4	 /* processes that are named */
#define NAME_SIZE     60 /* bytes of a name */

static const char *const verbs[][2] = {
	[PROCESS_EXITING] = {"exits", "exit"},
	[PROCESS_GARBAGE_COLLECTING] = {"collects garbage", "collect garbage"},
	[PROCESS_RUNNING] = {"runs", "run"},
	[PROCESS_SUSPENDED] = {"is suspended", "are suspended"},
	[PROCESS_RUNNABLE] = {"wants to run", "want to run"},
	[PROCESS_WAITING] = {"waits", "wait"},
};

void dump_function(const struct dump *d, const struct name_frame *f, struct strbuf *out)
{
	names_format_function(out, names_function(d->names, f->function));
}

/* ---- names of processes ---------------------------------------------------------------------- */

/* M:F/A of a tuple of two atoms and a small integer. */
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

struct dump_process dump_process(const struct dump *d, const struct id_format *pids,
				 uint32_t member, bool named, struct arena *texts)
{
	uint32_t i = d->group_of[member];
	const struct stack_group *g = i == DUMP_NO_GROUP ? NULL : &d->groups.groups.data[i];
	const struct name_frame *f = g ? dump_current(d, g) : NULL;
	struct dump_process p = {.status = g ? process_status_name(dump_status(g)) : NULL,
				 .stale = g && g->what & DUMP_STALE};
	struct strbuf text = STRBUF_INIT;

	dump_pid(d, pids, member, &text);
	p.pid = arena_text(texts, &text);
	if (named)
		dump_name(d, member, &text);
	p.name = arena_text(texts, &text);
	if (f)
		dump_function(d, f, &text);
	p.current = arena_text(texts, &text);
	strbuf_free(&text);
	return p;
}

/* ---- text ------------------------------------------------------------------------------------ */

/* "50,000 processes wait in gen_server:loop/7" */
static void add_heading(struct strbuf *out, const struct dump *d, const struct stack_group *g)
{
	const struct name_frame *top = dump_current(d, g);
	const char *verb = verbs[dump_status(g)][g->count != 1];
	char count[32];

	strbuf_addf(out, "%s %s %s", units_format_count(g->count, count, sizeof(count)),
		    g->count == 1 ? "process" : "processes", verb);
	if (top) {
		strbuf_addstr(out, " in ");
		dump_function(d, top, out);
	} else {
		strbuf_addstr(out, ", with an empty stack");
	}
	if (g->what & DUMP_STALE)
		strbuf_addstr(out, " (where it last stopped)");
}

static void add_frame(struct strbuf *out, const struct dump *d, const struct name_frame *f,
		      size_t width)
{
	size_t from = out->len, shown;

	strbuf_addstr(out, "    ");
	dump_function(d, f, out);
	if (f->file) {
		shown = table_text_width(out->buf + from, out->len - from);
		strbuf_addf(out, "%*s", (int)(width + 6 - MIN(shown, width + 4)), "");
		names_format_text(out, f->file, strlen(f->file));
		strbuf_addf(out, ":%" PRIu32, f->line);
	}
	strbuf_addch(out, '\n');
}

/* Columns of the functions, so that the files stand below each other. */
static size_t function_width(const struct dump *d, const struct stack_group *g)
{
	struct strbuf text = STRBUF_INIT;
	size_t width = 0;

	for (uint32_t i = 0; i < MIN(dump_depth(g), (uint32_t)TEXT_FRAMES); i++) {
		strbuf_reset(&text);
		dump_function(d, dump_frame(d, g, i), &text);
		width = MAX(width, table_text_width(text.buf, text.len));
	}
	strbuf_free(&text);
	return MIN(width, (size_t)60);
}

static void add_stack(struct strbuf *out, const struct dump *d, const struct stack_group *g,
		      bool whole)
{
	size_t width = function_width(d, g);
	uint32_t depth = dump_depth(g);

	if (dump_current_is_extra(d, g))
		add_frame(out, d, dump_current(d, g), width);
	for (uint32_t i = 0; i < depth; i++) {
		if (!whole && depth > TEXT_FRAMES && i == TEXT_FRAMES - TEXT_BOTTOM) {
			uint32_t more = depth - TEXT_FRAMES;

			strbuf_addf(out, "    ... %" PRIu32 " more frames (-v shows them) ...\n",
				    more);
			i += more;
		}
		add_frame(out, d, dump_frame(d, g, i), width);
	}
	if (g->what & DUMP_TRUNCATED)
		strbuf_addstr(out, "    ... the rest is too deep to show\n");
}

static void add_examples(struct strbuf *out, const struct dump *d, const struct id_format *pids,
			 const struct stack_group *g)
{
	uint32_t nr = MIN(g->nr_members, (uint32_t)TEXT_EXAMPLES);
	char count[32];

	strbuf_addstr(out, "  ");
	for (uint32_t i = 0; i < nr; i++) {
		size_t from;

		strbuf_addstr(out, i ? ", " : "");
		dump_pid(d, pids, g->members[i], out);
		from = out->len;
		strbuf_addch(out, ' ');
		dump_name(d, g->members[i], out);
		if (out->len == from + 1)
			out->buf[--out->len] = '\0';
	}
	if (g->count > nr)
		strbuf_addf(out, " and %s more",
			    units_format_count(g->count - nr, count, sizeof(count)));
	strbuf_addch(out, '\n');
}

/* "node@host: 1,234 processes, 56 different stacks: 1,200 waiting, 34 suspended" */
static void add_summary(struct strbuf *out, const struct dump *d)
{
	uint64_t by_status[PROCESS_WAITING + 1] = {0}, total = 0;
	struct beam_facts facts;
	char count[32];
	bool first = true;

	for (size_t i = 0; i < d->groups.groups.len; i++) {
		by_status[dump_status(&d->groups.groups.data[i])] += d->groups.groups.data[i].count;
		total += d->groups.groups.data[i].count;
	}
	if (beam_node_facts(d->n, &facts, NULL) == 0) {
		names_format_text(out, facts.name, strlen(facts.name));
		strbuf_addstr(out, ": ");
	}
	strbuf_addf(out, "%s processes, ", units_format_count(total, count, sizeof(count)));
	strbuf_addf(out, "%s different stacks",
		    units_format_count(d->groups.groups.len, count, sizeof(count)));
	for (int s = PROCESS_WAITING; s >= 0; s--) {
		if (!by_status[s])
			continue;
		strbuf_addf(out, "%s %s %s", first ? ":" : ",",
			    units_format_count(by_status[s], count, sizeof(count)),
			    s == PROCESS_GARBAGE_COLLECTING
				    ? "collecting garbage"
				    : process_status_name((enum process_status)s));
		first = false;
	}
	strbuf_addch(out, '\n');
}

int dump_text(const struct dump *d, const struct command_context *ctx, FILE *f, struct error *err)
{
	bool color = render_color(&ctx->opt, f);
	size_t nr = d->groups.groups.len, shown = nr;
	struct strbuf out = STRBUF_INIT;
	struct id_format pids;
	int rc = id_format_read(&pids, d->n->mem, &d->n->layout, d->n->anchors.proc_tab,
				d->n->identity.otp);

	if (rc)
		return beam_node_unreadable(d->n, "process table", rc, err);
	if (ctx->opt.limit)
		shown = MIN(nr, (size_t)ctx->opt.limit);
	add_summary(&out, d);
	table_write_text(f, &out);
	for (size_t i = 0; i < shown; i++) {
		const struct stack_group *g = &d->groups.groups.data[d->order[i]];

		fputs(color ? "\n\033[1m" : "\n", f);
		add_heading(&out, d, g);
		table_write_text(f, &out);
		fputs(color ? "\033[0m\n" : "\n", f);
		add_stack(&out, d, g, ctx->opt.verbosity > 0);
		add_examples(&out, d, &pids, g);
		table_write_text(f, &out);
	}
	if (shown < nr)
		strbuf_addf(&out, "\n%zu more stacks are not shown (-n %zu shows them)\n",
			    nr - shown, nr);
	table_write_text(f, &out);
	strbuf_free(&out);
	return 0;
}

/* ---- JSON ------------------------------------------------------------------------------------ */

static void json_group(struct jsonw *w, const struct dump *d, const struct id_format *pids,
		       const struct stack_group *g)
{
	const struct name_frame *current = dump_current(d, g);
	struct strbuf text = STRBUF_INIT;

	if (current)
		dump_function(d, current, &text);
	jsonw_begin_object(w, NULL);
	jsonw_uint(w, "count", g->count);
	jsonw_string(w, "status", process_status_name(dump_status(g)));
	jsonw_string(w, "current_function", current ? text.buf : NULL);
	jsonw_bool(w, "stale", (g->what & DUMP_STALE) != 0);
	jsonw_bool(w, "truncated", (g->what & DUMP_TRUNCATED) != 0);
	jsonw_begin_array(w, "stack");
	for (uint32_t i = 0; i < dump_depth(g); i++) {
		const struct name_frame *f = dump_frame(d, g, i);

		strbuf_reset(&text);
		dump_function(d, f, &text);
		jsonw_begin_object(w, NULL);
		jsonw_string(w, "mfa", text.buf);
		jsonw_string(w, "file", f->file);
		jsonw_uint_if(w, "line", f->file, f->line);
		jsonw_end_object(w);
	}
	jsonw_end_array(w);
	jsonw_begin_array(w, "pids");
	for (uint32_t i = 0; i < g->nr_members; i++) {
		strbuf_reset(&text);
		dump_pid(d, pids, g->members[i], &text);
		jsonw_string(w, NULL, text.buf);
	}
	jsonw_end_array(w);
	jsonw_end_object(w);
	strbuf_free(&text);
}

int dump_json(const struct dump *d, const struct command_context *ctx, FILE *f, struct error *err)
{
	size_t nr = d->groups.groups.len;
	struct jsonw w = JSONW(f);
	struct id_format pids;
	const struct envelope_counter counters[] = {
		{"vanished", d->vanished},
		{"torn", d->torn},
		{"running", d->stale},
		{"truncated", d->cut},
		{"unknown_frames", d->unknown_frames},
		{"overflows", d->groups.overflows},
	};
	int rc = id_format_read(&pids, d->n->mem, &d->n->layout, d->n->anchors.proc_tab,
				d->n->identity.otp);

	if (rc)
		return beam_node_unreadable(d->n, "process table", rc, err);
	if (ctx->opt.limit)
		nr = MIN(nr, (size_t)ctx->opt.limit);
	target_json_begin(&w, ctx, d->n);
	jsonw_begin_rows(&w, "data");
	for (size_t i = 0; i < nr; i++)
		json_group(&w, d, &pids, &d->groups.groups.data[d->order[i]]);
	jsonw_end_array(&w);
	return envelope_end(&w, NULL, 0, counters, ARRAY_SIZE(counters), err);
}
