/* SPDX-License-Identifier: BSD-2-Clause */
/* See top_screen.h. */
#include "view/top/top_screen.h"

#include <math.h>
#include <string.h>

#include "base/compiler.h"
#include "base/strbuf.h"
#include "base/units.h"
#include "view/table/cells.h"
#include "view/top/top_header.h"
#include "view/top/top_keys.h"

#define MIN_ROWS     3u
#define MIN_COLUMNS  12u
#define OVERLAY_ROOM 8u /* with a text or tree open, the header gets 1/8 of the rows at most */

/* The rows of each part of the screen, from the top; a part with 0 rows is not drawn. */
struct layout {
	unsigned columns;
	bool title, tabs, footer;
	unsigned header;	  /* number of rows */
	unsigned body, body_rows; /* first row, number of rows */
	unsigned footer_row;
};

static bool is_typing(const struct top_view *v)
{
	if (v->pager)
		return pager_is_typing(v->pager);
	return !v->tree && v->panel && panel_is_typing(v->panel);
}

static struct layout lay_out(const struct screen *s, const struct top_view *v)
{
	unsigned rows = screen_rows(s), used, room, body;
	struct layout l = {.columns = screen_columns(s)};

	l.title = rows >= 4;
	l.tabs = rows >= 5;
	l.footer = rows >= 6 || is_typing(v) || (v->message && *v->message);
	used = (unsigned)l.title + l.tabs + l.footer;
	/* The panel gets half of the screen, but at least 5 rows: a heading and four rows. */
	body = MAX(5u, rows / 2);
	room = rows > used + body ? rows - used - body : 0;
	if (v->pager || v->tree)
		room = MIN(room, rows / OVERLAY_ROOM);
	l.header = top_header_height(v->frame, room, l.columns);
	l.body = (unsigned)l.title + l.header + l.tabs;
	l.body_rows = rows - used - l.header;
	l.footer_row = rows - 1;
	return l;
}

static bool is_too_small(const struct screen *s)
{
	return screen_rows(s) < MIN_ROWS || screen_columns(s) < MIN_COLUMNS;
}

/* ---- the first line -------------------------------------------------------------------------- */

static const char *basic_state(const struct top_view *v, enum screen_style *style)
{
	*style = SCREEN_BAD;
	if (v->frame->state == TOP_EXITED)
		return "EXITED";
	if (v->frame->state == TOP_STOPPED)
		return "STOPPED";
	*style = SCREEN_WARN;
	return v->paused ? "PAUSED" : NULL;
}

/* Draws the right part of the first line.  The least important words come first, and are left out
 * first if there is no room. */
static void draw_own(struct screen *s, const struct top_view *v, unsigned left, unsigned width)
{
	const struct top_frame *f = v->frame;
	struct strbuf words[5] = {STRBUF_INIT, STRBUF_INIT, STRBUF_INIT, STRBUF_INIT, STRBUF_INIT};
	unsigned end = width;
	char text[40];

	if (f->own_rss != TOP_UNKNOWN) {
		strbuf_addstr(&words[0], "ebeam ");
		cell_bytes(&words[0], (double)f->own_rss);
	}
	if (!isnan(f->own_cpu))
		strbuf_addf(&words[1], "ebeam %.1f%% CPU", f->own_cpu);
	if (v->step_s > 0)
		strbuf_addf(&words[2], "each %g s", v->step_s);
	if (!isnan(f->probes_cost))
		strbuf_addf(&words[3], "probes %.2f%%", f->probes_cost);
	if (f->lost + f->refused)
		strbuf_addf(&words[4], "lost %s",
			    units_format_count(f->lost + f->refused, text, sizeof(text)));
	for (size_t i = ARRAY_SIZE(words); i-- > 0;) {
		unsigned wide = (unsigned)screen_text_width(words[i].buf, words[i].len);

		if (wide && left + wide + 2 <= end) {
			end -= wide;
			screen_text(s, 0, end, wide, SCREEN_TITLE, words[i].buf, words[i].len);
			end -= 2;
		}
		strbuf_free(&words[i]);
	}
}

static void draw_title(struct screen *s, const struct top_view *v, unsigned width)
{
	const struct top_node *n = &v->frame->node;
	struct strbuf text = STRBUF_INIT;
	enum screen_style style;
	const char *state = basic_state(v, &style);
	unsigned at = 1;
	char uptime[40];

	screen_fill(s, 0, 0, width, SCREEN_TITLE, ' ');
	if (state) { /* the state of the node comes first */
		at += screen_textf(s, 0, at, width - at, style, " %s ", state);
		at++;
	}
	strbuf_addf(&text, "%s", *n->name ? n->name : "node");
	if (n->os_pid)
		strbuf_addf(&text, "  pid %d", n->os_pid);
	if (*n->otp)
		strbuf_addf(&text, "  OTP %s%s%s%s", n->otp, *n->untested ? " (" : "", n->untested,
			    *n->untested ? ")" : "");
	if (n->uptime_s != TOP_UNKNOWN)
		strbuf_addf(&text, "  up %s",
			    units_format_uptime(n->uptime_s, uptime, sizeof(uptime)));
	if (*n->erts && width >= 100)
		strbuf_addf(&text, "  ERTS %s%s%s", n->erts, *n->flavor ? " " : "", n->flavor);
	if (at < width)
		at += screen_text(s, 0, at, width - at, SCREEN_TITLE, text.buf, text.len);
	draw_own(s, v, at + 1, width - 1);
	strbuf_free(&text);
}

/* ---- the names of the panels ----------------------------------------------------------------- */

enum tab_form { TABS_FULL, TABS_SHORT, TABS_DIGITS, TABS_ONE };
#define SHORT_TAB 4u /* characters */

static unsigned tab_width(const struct top_view *v, unsigned tab, enum tab_form form)
{
	unsigned title = (unsigned)screen_text_width(v->tabs[tab], strlen(v->tabs[tab]));

	if (tab == v->shown)
		return title + 4;
	switch (form) {
	case TABS_FULL:
		return title + 3;
	case TABS_SHORT:
		return MIN(title, SHORT_TAB) + 3;
	case TABS_DIGITS:
		return 2;
	case TABS_ONE:
		break;
	}
	return 0;
}

static unsigned nr_tabs(const struct top_view *v)
{
	unsigned nr = 0;

	while (v->tabs && v->tabs[nr])
		nr++;
	return nr;
}

static enum tab_form form_of_tabs(const struct top_view *v, unsigned width)
{
	for (enum tab_form form = TABS_FULL; form < TABS_ONE; form++) {
		unsigned all = 0;

		for (unsigned i = 0; i < nr_tabs(v); i++)
			all += tab_width(v, i, form);
		if (all <= width)
			return form;
	}
	return TABS_ONE;
}

static void describe(const struct top_view *v, struct strbuf *out)
{
	if (v->pager)
		pager_describe(v->pager, out);
	else if (v->tree)
		tree_describe(v->tree, out);
	else if (v->panel)
		panel_describe(v->panel, out);
}

static unsigned draw_tabs(struct screen *s, const struct top_view *v, unsigned row, unsigned width)
{
	enum tab_form form = form_of_tabs(v, width);
	unsigned at = 0;

	for (unsigned i = 0; i < nr_tabs(v); i++) {
		enum screen_style style = i == v->shown ? SCREEN_TAB_ON : SCREEN_TAB;
		unsigned wide = tab_width(v, i, form);

		if (!wide)
			continue;
		wide = MIN(wide, width - MIN(at, width));
		screen_fill(s, row, at, wide, style, ' ');
		screen_textf(s, row, at, i == v->shown && wide ? wide - 1 : wide, style, " %u %s",
			     i + 1, v->tabs[i]);
		at += wide;
	}
	return MIN(at, width);
}

/* Draws the names of the panels, or the title of the text or tree that is open; and `where`, the
 * position in the rows ("12-40 of 200").  False: there was no room for `where`. */
static bool draw_tab_line(struct screen *s, const struct top_view *v, unsigned row, unsigned width,
			  const struct strbuf *where)
{
	unsigned at, wide = (unsigned)screen_text_width(where->buf, where->len);

	screen_fill(s, row, 0, width, SCREEN_TAB, ' ');
	if ((v->pager || v->tree) && v->overlay_title) {
		unsigned room = width > wide + 4 ? width - wide - 4 : width;

		at = screen_text(s, row, 1, room - 1, SCREEN_TAB_ON, v->overlay_title,
				 strlen(v->overlay_title)) +
		     1;
	} else {
		at = draw_tabs(s, v, row, width);
	}
	if (at + wide + 2 > width)
		return false;
	screen_text(s, row, width - wide - 1, wide, SCREEN_TAB, where->buf, where->len);
	return true;
}

int top_screen_tab_at(const struct screen *s, const struct top_view *v, unsigned row,
		      unsigned column)
{
	struct layout l = lay_out(s, v);
	enum tab_form form = form_of_tabs(v, l.columns);
	unsigned at = 0;

	if (is_too_small(s) || !l.tabs || row + 1 != l.body || v->pager || v->tree)
		return -1;
	for (unsigned i = 0; i < nr_tabs(v); i++) {
		unsigned wide = tab_width(v, i, form);

		if (column >= at && column < at + wide)
			return (int)i;
		at += wide;
	}
	return -1;
}

/* ---- the last line --------------------------------------------------------------------------- */

static enum top_context context_of(const struct top_view *v)
{
	if (is_typing(v))
		return TOP_IN_LINE;
	if (v->pager)
		return TOP_IN_TEXT;
	if (v->tree)
		return TOP_IN_TREE;
	return v->panel && panel_in_menu(v->panel) ? TOP_IN_MENU : TOP_IN_TABLE;
}

/* Lays out the keys of the context and of TOP_EVERYWHERE from column `from` on.  Draws them if s is
 * not NULL; returns the binding that is at column `wanted`, or NULL. */
static const struct top_binding *walk_keys(struct screen *s, const struct top_view *v, unsigned row,
					   unsigned from, unsigned width, unsigned wanted)
{
	enum top_context context = context_of(v);
	const struct top_binding *found = NULL;
	unsigned at = from;

	for (const struct top_binding *b = top_bindings; b->action; b++) {
		struct strbuf key = STRBUF_INIT;
		unsigned key_width, wide;

		if (!b->footer || (b->context != context && b->context != TOP_EVERYWHERE) ||
		    (context == TOP_IN_LINE && b->context == TOP_EVERYWHERE) ||
		    ((context == TOP_IN_TEXT || context == TOP_IN_TREE || context == TOP_IN_MENU) &&
		     b->action == TOP_ACTION_QUIT)) /* its key closes these */
			continue;
		top_binding_first_key(&key, b);
		key_width = (unsigned)screen_text_width(key.buf, key.len);
		wide = key_width + 1 + (unsigned)strlen(b->footer);
		if (at + wide <= width) {
			if (wanted >= at && wanted < at + wide)
				found = b;
			if (s) {
				screen_text(s, row, at, key_width, SCREEN_KEY, key.buf, key.len);
				screen_text(s, row, at + key_width + 1, wide, SCREEN_DIM, b->footer,
					    strlen(b->footer));
			}
			at += wide + 2;
		}
		strbuf_free(&key);
	}
	return found;
}

/* Draws the search or filter text that is being typed; returns the columns that it takes. */
static unsigned draw_typed(struct screen *s, const struct top_view *v, unsigned row, unsigned width)
{
	const char *label = v->pager ? "Search: " : "Filter: ";
	const char *text = v->pager ? pager_searched(v->pager) : panel_filter(v->panel);
	size_t len = strlen(text), room;
	unsigned at = screen_text(s, row, 0, width, SCREEN_KEY, label, strlen(label));

	/* Of a long text the end is shown, where the cursor is. */
	room = width > at + 1 ? width - at - 1 : 0;
	while (len && screen_text_width(text, len) > room) {
		text++;
		len--;
		while (len && (*text & 0xc0) == 0x80) {
			text++;
			len--;
		}
	}
	at += screen_text(s, row, at, width - MIN(at, width), SCREEN_BOLD, text, len);
	screen_fill(s, row, at, at < width, SCREEN_SELECTED, ' ');
	return at + 1;
}

/* Draws the line at the bottom.  where: the position in the rows if draw_tab_line() had no room for
 * it, else "". */
static void draw_footer(struct screen *s, const struct top_view *v, unsigned row, unsigned width,
			const struct strbuf *where)
{
	unsigned wide = (unsigned)screen_text_width(where->buf, where->len), at = 0;

	screen_fill(s, row, 0, width, SCREEN_PLAIN, ' ');
	if (v->message && *v->message && !is_typing(v)) {
		screen_text(s, row, 0, width, SCREEN_WARN, v->message, strlen(v->message));
		return;
	}
	if (is_typing(v)) {
		at = draw_typed(s, v, row, width) + 2;
	} else if (!v->pager && !v->tree && v->panel && *panel_filter(v->panel)) {
		at = screen_textf(s, row, 0, width, SCREEN_WARN, "Filter: %s",
				  panel_filter(v->panel)) +
		     2;
	}
	if (wide && at + wide + 2 <= width) {
		screen_text(s, row, width - wide, wide, SCREEN_DIM, where->buf, where->len);
		width -= wide + 2;
	}
	walk_keys(s, v, row, at, width, width);
}

bool top_screen_key_at(const struct screen *s, const struct top_view *v, unsigned row,
		       unsigned column, struct terminal_key *key)
{
	struct layout l = lay_out(s, v);
	const struct top_binding *b;
	unsigned from = 0;

	if (is_too_small(s) || !l.footer || row != l.footer_row || is_typing(v) ||
	    (v->message && *v->message))
		return false;
	if (!v->pager && !v->tree && v->panel && *panel_filter(v->panel))
		from = (unsigned)screen_text_width(panel_filter(v->panel),
						   strlen(panel_filter(v->panel))) +
		       8 + 2;
	b = walk_keys(NULL, v, row, from, l.columns, column);
	if (!b)
		return false;
	*key = (struct terminal_key){.kind = b->keys[0].kind, .c = b->keys[0].c};
	return true;
}

/* ---- all of it ------------------------------------------------------------------------------- */

static void draw_body(struct screen *s, const struct top_view *v, const struct layout *l)
{
	if (v->pager)
		pager_draw(v->pager, s, l->body, 0, l->body_rows, l->columns);
	else if (v->tree)
		tree_draw(v->tree, s, l->body, 0, l->body_rows, l->columns);
	else if (v->panel)
		panel_draw(v->panel, s, l->body, 0, l->body_rows, l->columns, v->source);
}

void top_screen_draw(struct screen *s, const struct top_view *v)
{
	struct strbuf where = STRBUF_INIT;
	struct layout l;

	screen_clear(s);
	if (is_too_small(s)) {
		screen_textf(s, 0, 0, screen_columns(s), SCREEN_WARN, "%s",
			     screen_columns(s) < 18 ? "too small" : "terminal too small");
		return;
	}
	l = lay_out(s, v);
	if (l.title)
		draw_title(s, v, l.columns);
	top_header_draw(s, l.title, l.header, l.columns, v->frame);
	draw_body(s, v, &l);
	describe(v, &where); /* only known after the body was drawn */
	if (l.tabs && draw_tab_line(s, v, l.body - 1, l.columns, &where))
		strbuf_reset(&where);
	if (l.footer)
		draw_footer(s, v, l.footer_row, l.columns, &where);
	strbuf_free(&where);
}
