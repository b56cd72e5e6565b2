/* SPDX-License-Identifier: BSD-2-Clause */
/* See stacks_view.h. */
#include "view/inspect/stacks_view.h"

#include <inttypes.h>
#include <string.h>

#include "view/table/cells.h"
#include "view/table/stack_show.h"

#define TEXT_FRAMES 30 /* frames of a stack that text shows */
#define TEXT_BOTTOM 3  /* how many of these are from the bottom */

static const char *const verbs[][2] = {
	{"exits", "exit"},
	{"collects garbage", "collect garbage"},
	{"runs", "run"},
	{"is suspended", "are suspended"},
	{"wants to run", "want to run"},
	{"waits", "wait"},
};
_Static_assert(ARRAY_SIZE(verbs) == ARRAY_SIZE(process_status_names), "a verb for each status");

static void add_function(struct strbuf *out, const struct stacks_answer *a,
			 const struct name_frame *f)
{
	names_format_function(out, names_function(a->names, f->function));
}

/* ---- text ------------------------------------------------------------------------------------ */

/* "50,000 processes wait in gen_server:loop/7" */
static void add_heading(struct strbuf *out, const struct stacks_answer *a,
			const struct stacks_row *r)
{
	cell_count(out, r->count);
	strbuf_addf(out, " %s %s", r->count == 1 ? "process" : "processes",
		    verbs[r->status][r->count != 1]);
	if (r->current) {
		strbuf_addstr(out, " in ");
		add_function(out, a, r->current);
	} else {
		strbuf_addstr(out, ", with an empty stack");
	}
	if (r->stale)
		strbuf_addstr(out, " (where it last stopped)");
}

static void add_frame(struct strbuf *out, const struct stacks_answer *a, const struct name_frame *f,
		      size_t width)
{
	size_t from = out->len, shown;

	strbuf_addstr(out, "    ");
	add_function(out, a, f);
	if (f->file) {
		shown = table_text_width(out->buf + from, out->len - from);
		strbuf_addf(out, "%*s", (int)(width + 6 - MIN(shown, width + 4)), "");
		names_format_text(out, f->file, strlen(f->file));
		strbuf_addf(out, ":%" PRIu32, f->line);
	}
	strbuf_addch(out, '\n');
}

static const struct name_frame *frame(const struct stacks_answer *a, const struct stacks_row *r,
				      uint32_t i)
{
	return names_frame(a->names, (uint32_t)r->frames[i]);
}

/* Width of the longest function of a stack, so that file names are aligned. */
static size_t function_width(const struct stacks_answer *a, const struct stacks_row *r)
{
	struct strbuf text = STRBUF_INIT;
	size_t width = 0;

	for (uint32_t i = 0; i < MIN(r->nr_frames, (uint32_t)TEXT_FRAMES); i++) {
		strbuf_reset(&text);
		add_function(&text, a, frame(a, r, i));
		width = MAX(width, table_text_width(text.buf, text.len));
	}
	strbuf_free(&text);
	return MIN(width, (size_t)60);
}

static void add_stack(struct strbuf *out, const struct stacks_answer *a, const struct stacks_row *r,
		      bool whole)
{
	size_t width = function_width(a, r);

	if (r->outside)
		add_frame(out, a, r->current, width);
	for (uint32_t i = 0; i < r->nr_frames; i++) {
		if (!whole && r->nr_frames > TEXT_FRAMES && i == TEXT_FRAMES - TEXT_BOTTOM) {
			uint32_t more = r->nr_frames - TEXT_FRAMES;

			strbuf_addf(out, "    ... %" PRIu32 " more frames (-v shows them) ...\n",
				    more);
			i += more;
		}
		add_frame(out, a, frame(a, r, i), width);
	}
	if (r->truncated)
		strbuf_addstr(out, "    ... further frames were not read\n");
}

static void add_examples(struct strbuf *out, const struct stacks_row *r)
{
	for (uint32_t i = 0; i < r->nr_members; i++)
		strbuf_addf(out, "%s%s", i ? ", " : "  ", r->members[i]);
	if (r->count > r->nr_members) {
		strbuf_addstr(out, " and ");
		cell_count(out, r->count - r->nr_members);
		strbuf_addstr(out, " more");
	}
	strbuf_addch(out, '\n');
}

/* "node@host: 1,234 processes, 56 different stacks: 1,200 waiting, 34 suspended" */
static void add_summary(struct strbuf *out, const struct stacks_answer *a)
{
	const char *separator = ": ";
	uint64_t total = 0;

	for (size_t s = 0; s < ARRAY_SIZE(a->by_status); s++)
		total += a->by_status[s];
	if (a->node) {
		names_format_text(out, a->node, strlen(a->node));
		strbuf_addstr(out, ": ");
	}
	cell_count(out, total);
	strbuf_addstr(out, " processes, ");
	cell_count(out, a->stacks);
	strbuf_addstr(out, " different stacks");
	for (size_t s = ARRAY_SIZE(a->by_status); s-- > 0;) {
		const char *name = process_status_names[s];

		if (!a->by_status[s])
			continue;
		strbuf_addstr(out, separator);
		cell_count(out, a->by_status[s]);
		strbuf_addf(out, " %s",
			    strcmp(name, "garbage_collecting") ? name : "collecting garbage");
		separator = ", ";
	}
	strbuf_addch(out, '\n');
}

void stacks_view_write(FILE *f, const struct stacks_answer *a, bool whole, bool color)
{
	struct strbuf out = STRBUF_INIT;

	add_summary(&out, a);
	table_write_text(f, &out);
	for (size_t i = 0; i < a->rows.len; i++) {
		fputc('\n', f);
		add_heading(&out, a, &a->rows.data[i]);
		table_heading(f, color, "%s", out.buf);
		strbuf_reset(&out);
		add_stack(&out, a, &a->rows.data[i], whole);
		add_examples(&out, &a->rows.data[i]);
		table_write_text(f, &out);
	}
	if (a->rows.len < a->stacks)
		fprintf(f, "\n%zu more stacks are not shown (-n %zu shows them)\n",
			a->stacks - a->rows.len, a->stacks);
	strbuf_free(&out);
}

/* ---- JSON ------------------------------------------------------------------------------------ */

static void json_row(struct jsonw *w, const struct stacks_answer *a, const struct stacks_row *r)
{
	struct strbuf text = STRBUF_INIT;

	if (r->current)
		add_function(&text, a, r->current);
	jsonw_begin_object(w, NULL);
	jsonw_uint(w, "count", r->count);
	jsonw_string(w, "status", process_status_names[r->status]);
	jsonw_text(w, "current_function", &text);
	jsonw_bool(w, "stale", r->stale);
	jsonw_bool(w, "truncated", r->truncated);
	jsonw_begin_array(w, "stack");
	for (uint32_t i = 0; i < r->nr_frames; i++)
		stack_show_frame_json(w, names_function(a->names, frame(a, r, i)->function),
				      frame(a, r, i));
	jsonw_end_array(w);
	jsonw_begin_array(w, "pids");
	for (uint32_t i = 0; i < r->nr_members; i++)
		jsonw_string(w, NULL, r->members[i]);
	jsonw_end_array(w);
	jsonw_end_object(w);
	strbuf_free(&text);
}

void stacks_view_json(struct jsonw *w, const struct stacks_answer *a)
{
	jsonw_begin_rows(w, "data");
	for (size_t i = 0; i < a->rows.len; i++)
		json_row(w, a, &a->rows.data[i]);
	jsonw_end_array(w);
}
