/* SPDX-License-Identifier: BSD-2-Clause */
/* See pager.h.  The text is divided into rows of the screen: a line is one row, or several if lines
 * are wrapped. */
#include "view/top/pager.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/compiler.h"
#include "base/units.h"
#include "base/vec.h"
#include "names/utf8.h"
#include "view/screen/characters.h"
#include "view/top/top_keys.h"

#define SIDE_STEP  8u
#define WHEEL_ROWS 3
#define MAX_SEARCH 200u
#define MIN_WRAP   20u
#define MAX_MARKED 65536u /* bytes of a row in which matches of the search are marked */

struct pager_row {
	uint32_t at, len; /* bytes of the text */
	uint32_t line;	  /* number of the line, from 0 */
};

struct pager {
	struct strbuf text;
	bool headings, wrap, typing;
	VEC(struct pager_row) rows;
	bool cut_up;	  /* `rows` was made from the current text, width and wrap */
	size_t top, left; /* first row and column on the screen */
	struct strbuf search;
	size_t found; /* row of the last match */
	bool not_found;
	unsigned screen_row, screen_column, height, width;
};

int pager_open(struct pager **out, bool headings)
{
	struct pager *p = xcalloc(1, sizeof(*p));

	strbuf_init(&p->text);
	strbuf_init(&p->search);
	p->headings = headings;
	p->height = 24; /* pager_draw() sets the true size */
	p->width = 80;
	*out = p;
	return 0;
}

void pager_close(struct pager *p)
{
	if (!p)
		return;
	strbuf_free(&p->text);
	strbuf_free(&p->search);
	vec_free(&p->rows);
	free(p);
}

void pager_set_text(struct pager *p, const char *text, size_t len)
{
	size_t kept = MIN(len, PAGER_MAX_TEXT);

	strbuf_reset(&p->text);
	strbuf_add(&p->text, text, kept);
	if (kept < len)
		strbuf_addf(&p->text, "\n... %zu more bytes", len - kept);
	p->cut_up = false;
}

/* ---- rows ------------------------------------------------------------------------------------ */

/* Bytes of text[0 .. len-1] that fit a width, at least one character; *used: their columns. */
static size_t bytes_that_fit(const char *text, size_t len, size_t width, size_t *used)
{
	struct character c;
	size_t at = 0;

	*used = 0;
	while (at < len) {
		size_t size = character_next(text + at, len - at, at > 0, &c);

		if (at && *used + c.width > width)
			break;
		*used += c.width;
		at += size;
	}
	return at;
}

static void add_line(struct pager *p, size_t at, size_t len, uint32_t line)
{
	size_t used;

	do {
		size_t fit = p->wrap ? bytes_that_fit(p->text.buf + at, len,
						      MAX(p->width, MIN_WRAP), &used)
				     : len;
		struct pager_row row = {(uint32_t)at, (uint32_t)fit, line};

		vec_push(&p->rows, row);
		at += fit;
		len -= fit;
	} while (len);
}

static size_t height_of(const struct pager *p)
{
	return MAX(p->height, 1u);
}

static void keep_in_sight(struct pager *p)
{
	size_t nr = p->rows.len, height = height_of(p);

	p->top = MIN(p->top, nr > height ? nr - height : 0);
}

static void cut_up(struct pager *p)
{
	uint32_t line = 0;

	if (!p->cut_up) {
		p->rows.len = 0;
		for (size_t at = 0; at < p->text.len; line++) {
			const char *text = p->text.buf + at;
			const char *end = memchr(text, '\n', p->text.len - at);
			size_t len = end ? (size_t)(end - text) : p->text.len - at;

			add_line(p, at, len, line);
			at += len + (end != NULL);
		}
		p->cut_up = true;
	}
	keep_in_sight(p);
}

/* Makes `rows` anew, and scrolls so that the same text is at the top of the screen. */
static void cut_up_again(struct pager *p)
{
	uint32_t at = p->rows.len ? p->rows.data[MIN(p->top, p->rows.len - 1)].at : 0;

	p->cut_up = false;
	cut_up(p);
	p->top = 0;
	while (p->top + 1 < p->rows.len && p->rows.data[p->top + 1].at <= at)
		p->top++;
	keep_in_sight(p);
}

/* ---- searching ------------------------------------------------------------------------------- */

/* Offset of the first match of p->search in text[from .. len-1]; `len` = there is none. */
static size_t find_word(const struct pager *p, const char *text, size_t from, size_t len)
{
	size_t word = p->search.len;

	if (!word)
		return len;
	for (size_t i = from; i + word <= len; i++)
		if (strncasecmp(text + i, p->search.buf, word) == 0)
			return i;
	return len;
}

static bool row_has_word(const struct pager *p, const struct pager_row *r)
{
	return find_word(p, p->text.buf + r->at, 0, r->len) < r->len;
}

/* Scrolls to the next row with a match: down (direction > 0) or up, and then on from the other end
 * of the text.  Starts at the row of the last match if it is on the screen, else at the top of the
 * screen; included: that row itself counts. */
static void search(struct pager *p, bool included, int direction)
{
	size_t nr = p->rows.len, at = p->found;

	p->not_found = false;
	if (!nr || !p->search.len)
		return;
	if (at < p->top || at >= MIN(p->top + height_of(p), nr))
		at = MIN(p->top, nr - 1);
	for (size_t i = 0; i <= nr; i++) {
		if ((i || included) && row_has_word(p, &p->rows.data[at])) {
			p->found = at;
			if (at < p->top || at >= p->top + height_of(p))
				p->top = at;
			keep_in_sight(p);
			return;
		}
		at = direction > 0 ? (at + 1) % nr : (at + nr - 1) % nr;
	}
	p->not_found = true;
}

/* ---- drawing --------------------------------------------------------------------------------- */

static void mark_words(const struct pager *p, struct screen *s, unsigned row, const char *text,
		       size_t len)
{
	for (size_t at = find_word(p, text, 0, len); at < len;
	     at = find_word(p, text, at + p->search.len, len)) {
		size_t from = characters_width(text, at);
		size_t to = from + characters_width(text + at, p->search.len);

		from = MAX(from, p->left);
		if (to > from && from - p->left < p->width)
			screen_restyle(s, row, p->screen_column + (unsigned)(from - p->left),
				       (unsigned)MIN(to - from, p->width - (from - p->left)),
				       SCREEN_TAB_ON);
	}
}

static void draw_row(const struct pager *p, struct screen *s, unsigned row,
		     const struct pager_row *r)
{
	const char *text = p->text.buf + r->at;
	bool heading = p->headings && r->len && *text != ' ' &&
		       (r->at == 0 || p->text.buf[r->at - 1] == '\n');
	size_t used = 0, skip = 0;

	if (p->left)
		skip = bytes_that_fit(text, r->len, p->left, &used);
	/* A wide character of which the left edge cuts off a half is drawn as a blank. */
	screen_text(s, row, p->screen_column + (unsigned)(used < p->left && skip < r->len),
		    p->width, heading ? SCREEN_BOLD : SCREEN_PLAIN, text + skip, r->len - skip);
	if (p->search.len)
		mark_words(p, s, row, text, MIN(r->len, MAX_MARKED));
}

void pager_draw(struct pager *p, struct screen *s, unsigned row, unsigned column, unsigned height,
		unsigned width)
{
	bool narrower = p->width != width && p->wrap;

	p->screen_row = row;
	p->screen_column = column;
	p->height = height;
	p->width = width;
	if (narrower)
		cut_up_again(p);
	cut_up(p);
	for (unsigned i = 0; i < height; i++) {
		screen_fill(s, row + i, column, width, SCREEN_PLAIN, ' ');
		if (p->top + i < p->rows.len)
			draw_row(p, s, row + i, &p->rows.data[p->top + i]);
	}
}

void pager_describe(const struct pager *p, struct strbuf *out)
{
	size_t end = MIN(p->top + height_of(p), p->rows.len);
	char number[32];

	if (!p->rows.len) {
		strbuf_addstr(out, "empty");
		return;
	}
	strbuf_addstr(out,
		      units_format_count(p->rows.data[p->top].line + 1, number, sizeof(number)));
	strbuf_addf(out, "-%s",
		    units_format_count(p->rows.data[end - 1].line + 1, number, sizeof(number)));
	strbuf_addf(
		out, " of %s lines",
		units_format_count(p->rows.data[p->rows.len - 1].line + 1, number, sizeof(number)));
	if (p->not_found)
		strbuf_addf(out, ", no '%s'", p->search.buf);
}

/* ---- keys ------------------------------------------------------------------------------------ */

bool pager_is_typing(const struct pager *p)
{
	return p->typing;
}

const char *pager_searched(const struct pager *p)
{
	return p->search.buf;
}

static enum pager_result line_key(struct pager *p, const struct terminal_key *key)
{
	size_t len = p->search.len;

	switch (top_action(TOP_IN_LINE, key)) {
	case TOP_ACTION_DONE:
		p->typing = false;
		return PAGER_HANDLED;
	case TOP_ACTION_CLOSE:
		p->typing = false;
		len = 0;
		break;
	case TOP_ACTION_RUB_OUT:
		p->typing = len > 0;
		while (len && (p->search.buf[--len] & 0xc0) == 0x80)
			;
		break;
	case TOP_ACTION_RUB_OUT_ALL:
		len = 0;
		break;
	default:
		if (key->kind != TERMINAL_KEY_CHAR || key->c < ' ')
			return PAGER_IGNORED;
		if (len < MAX_SEARCH)
			utf8_add(&p->search, key->c);
		len = p->search.len;
	}
	if (len < p->search.len) {
		p->search.len = len;
		p->search.buf[len] = '\0';
	}
	search(p, true, 1);
	return PAGER_HANDLED;
}

static void go(struct pager *p, long rows)
{
	if (rows < 0)
		p->top -= MIN(p->top, (size_t)-rows);
	else
		p->top += (size_t)rows;
	keep_in_sight(p);
}

static bool move(struct pager *p, enum top_action action)
{
	long page = (long)height_of(p);

	switch (action) {
	case TOP_ACTION_UP:
		go(p, -1);
		break;
	case TOP_ACTION_DOWN:
		go(p, 1);
		break;
	case TOP_ACTION_PAGE_UP:
		go(p, -page);
		break;
	case TOP_ACTION_PAGE_DOWN:
		go(p, page);
		break;
	case TOP_ACTION_FIRST:
		p->top = p->left = 0;
		break;
	case TOP_ACTION_LAST:
		go(p, (long)p->rows.len);
		break;
	case TOP_ACTION_LEFT:
		p->left -= MIN(p->left, SIDE_STEP);
		break;
	case TOP_ACTION_RIGHT:
		if (!p->wrap)
			p->left = MIN(p->left + SIDE_STEP, (size_t)PAGER_MAX_TEXT);
		break;
	default:
		return false;
	}
	return true;
}

enum pager_result pager_key(struct pager *p, const struct terminal_key *key)
{
	enum top_action action = top_action(TOP_IN_TEXT, key);

	cut_up(p);
	if (p->typing)
		return line_key(p, key);
	if (move(p, action))
		return PAGER_HANDLED;
	switch (action) {
	case TOP_ACTION_SEARCH:
		p->typing = true;
		strbuf_reset(&p->search);
		break;
	case TOP_ACTION_SEARCH_NEXT:
		search(p, false, 1);
		break;
	case TOP_ACTION_SEARCH_PREVIOUS:
		search(p, false, -1);
		break;
	case TOP_ACTION_WRAP:
		p->wrap = !p->wrap;
		p->left = 0;
		cut_up_again(p);
		break;
	case TOP_ACTION_MOUSE:
		if (!key->wheel || key->row < p->screen_row ||
		    key->row >= p->screen_row + p->height)
			return PAGER_IGNORED;
		go(p, (long)key->wheel * WHEEL_ROWS);
		break;
	case TOP_ACTION_CLOSE:
		return PAGER_CLOSE;
	default:
		return PAGER_IGNORED;
	}
	return PAGER_HANDLED;
}
