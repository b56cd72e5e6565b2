/* SPDX-License-Identifier: BSD-2-Clause */
/* See top_keys.h. */
#include "view/top/top_keys.h"

#include <string.h>

#include "base/compiler.h"
#include "names/utf8.h"

/* clang-format off */
#define KEY(name)	  {.kind = TERMINAL_KEY_##name}
#define F(number)	  {.kind = TERMINAL_KEY_FUNCTION, .c = (number)}
#define CHAR(ch)	  {.kind = TERMINAL_KEY_CHAR, .c = (ch)}
#define CHARS(first, end) {.kind = TERMINAL_KEY_CHAR, .c = (first), .last = (end)}
#define CONTROL(letter)	  CHAR((letter) - 'A' + 1)

#define MOVING(in)                                                                                 \
	{in, TOP_ACTION_UP, {KEY(UP), CHAR('k')}, "up", NULL, "htop", NULL},                       \
	{in, TOP_ACTION_DOWN, {KEY(DOWN), CHAR('j')}, "down", NULL, "htop", NULL},                 \
	{in, TOP_ACTION_PAGE_UP, {KEY(PAGE_UP)}, "a page up", NULL, "htop", NULL},                 \
	{in, TOP_ACTION_PAGE_DOWN, {KEY(PAGE_DOWN)}, "a page down", NULL, "htop", NULL}

#define SORT(what, as, columns, ...)                                                               \
	{TOP_IN_TABLE, TOP_ACTION_SORT_BY, {__VA_ARGS__}, what, NULL, as, columns}

const struct top_binding top_bindings[] = {
	{TOP_EVERYWHERE, TOP_ACTION_HELP, {CHAR('?'), CHAR('h'), F(1)},
	 "help", "Help", "htop", NULL},
	{TOP_EVERYWHERE, TOP_ACTION_QUIT, {CHAR('q'), F(10), CONTROL('C')},
	 "quit", "Quit", "htop, observer_cli", NULL},

	{TOP_IN_TABLE, TOP_ACTION_FILTER, {CHAR('/'), F(4), CHAR('\\')},
	 "filter the rows by a text, as you type it", "Filter", "htop F4", NULL},
	{TOP_IN_TABLE, TOP_ACTION_SORT_MENU, {F(6)},
	 "choose what to sort by", "Sort", "htop", NULL},
	{TOP_IN_TABLE, TOP_ACTION_SORT_LEFT, {CHAR('<')},
	 "sort by the column at the left", NULL, "top", NULL},
	{TOP_IN_TABLE, TOP_ACTION_SORT_RIGHT, {CHAR('>')},
	 "sort by the column at the right", NULL, "top", NULL},
	{TOP_IN_TABLE, TOP_ACTION_REVERSE, {CHAR('I')},
	 "reverse the order", NULL, "htop", NULL},
	SORT("sort by CPU; again: reverse (so with all sort keys)", "htop P",
	     "cpu,self,samples,busy", CHAR('c'), CHAR('P')),
	SORT("sort by reductions", "observer_cli", "reductions_per_s,reductions", CHAR('r')),
	SORT("sort by memory", "observer_cli, htop M", "memory,size,carriers_size", CHAR('m'),
	     CHAR('M')),
	SORT("sort by the length of mailboxes", NULL, "message_queue_len", CHAR('l')),
	SORT("sort by pid", "htop", "pid,id,name", CHAR('N')),
	{TOP_IN_TABLE, TOP_ACTION_COLUMNS, {F(2), CHAR('o')},
	 "choose the columns", "Columns", "htop", NULL},
	{TOP_IN_TABLE, TOP_ACTION_OPEN, {KEY(ENTER)},
	 "open the selected row; so does a second click", "Open", NULL, NULL},
	MOVING(TOP_IN_TABLE),
	{TOP_IN_TABLE, TOP_ACTION_FIRST, {KEY(HOME), CHAR('g')},
	 "to the first row, whichever that becomes", NULL, "htop", NULL},
	{TOP_IN_TABLE, TOP_ACTION_LAST, {KEY(END), CHAR('G')},
	 "to the last row", NULL, "htop", NULL},
	{TOP_IN_TABLE, TOP_ACTION_LEFT, {KEY(LEFT)},
	 "scroll to the columns at the left", NULL, "htop", NULL},
	{TOP_IN_TABLE, TOP_ACTION_RIGHT, {KEY(RIGHT)},
	 "scroll to the columns at the right", NULL, "htop", NULL},
	{TOP_IN_TABLE, TOP_ACTION_CLOSE, {KEY(ESCAPE)},
	 "clear the filter; without one, the selection", NULL, "htop", NULL},

	MOVING(TOP_IN_TEXT),
	{TOP_IN_TEXT, TOP_ACTION_PAGE_UP, {CHAR('b')}, "a page up", NULL, "less", NULL},
	{TOP_IN_TEXT, TOP_ACTION_PAGE_DOWN, {CHAR(' ')}, "a page down", NULL, "less", NULL},
	{TOP_IN_TEXT, TOP_ACTION_FIRST, {KEY(HOME), CHAR('g')}, "to the start", NULL, "less", NULL},
	{TOP_IN_TEXT, TOP_ACTION_LAST, {KEY(END), CHAR('G')}, "to the end", NULL, "less", NULL},
	{TOP_IN_TEXT, TOP_ACTION_LEFT, {KEY(LEFT)}, "to the left", NULL, "less", NULL},
	{TOP_IN_TEXT, TOP_ACTION_RIGHT, {KEY(RIGHT)}, "to the right", NULL, "less", NULL},
	{TOP_IN_TEXT, TOP_ACTION_SEARCH, {CHAR('/'), F(3)}, "search", "Search", "htop, less", NULL},
	{TOP_IN_TEXT, TOP_ACTION_SEARCH_NEXT, {CHAR('n')}, "the next match", "Next", "less", NULL},
	{TOP_IN_TEXT, TOP_ACTION_SEARCH_PREVIOUS, {CHAR('N')},
	 "the match before", NULL, "less", NULL},
	{TOP_IN_TEXT, TOP_ACTION_WRAP, {CHAR('w')}, "wrap long lines, or not", "Wrap", NULL, NULL},
	{TOP_IN_TEXT, TOP_ACTION_CLOSE, {CHAR('q'), KEY(ESCAPE), F(10)},
	 "close the text", "Close", "htop", NULL},

	MOVING(TOP_IN_TREE),
	{TOP_IN_TREE, TOP_ACTION_FIRST, {KEY(HOME), CHAR('g')}, "to the root", NULL, "htop", NULL},
	{TOP_IN_TREE, TOP_ACTION_LAST, {KEY(END), CHAR('G')},
	 "to the last function", NULL, "htop", NULL},
	{TOP_IN_TREE, TOP_ACTION_TOGGLE, {KEY(ENTER), CHAR(' ')},
	 "unfold or fold; so does a second click", "Unfold", NULL, NULL},
	{TOP_IN_TREE, TOP_ACTION_UNFOLD, {KEY(RIGHT), CHAR('+')},
	 "unfold; if it is unfolded, to the first callee", NULL, "htop", NULL},
	{TOP_IN_TREE, TOP_ACTION_FOLD, {KEY(LEFT), CHAR('-')},
	 "fold; if it is folded, to the caller", NULL, "htop", NULL},
	{TOP_IN_TREE, TOP_ACTION_UNFOLD_ALL, {CHAR('*')},
	 "unfold all callees; again: fold them", "Unfold all", "htop", NULL},
	{TOP_IN_TREE, TOP_ACTION_CLOSE, {CHAR('q'), KEY(ESCAPE), F(10)},
	 "close the tree", "Close", "htop", NULL},

	MOVING(TOP_IN_MENU),
	{TOP_IN_MENU, TOP_ACTION_FIRST, {KEY(HOME), CHAR('g')},
	 "to the first column", NULL, NULL, NULL},
	{TOP_IN_MENU, TOP_ACTION_LAST, {KEY(END), CHAR('G')},
	 "to the last column", NULL, NULL, NULL},
	{TOP_IN_MENU, TOP_ACTION_CHOOSE, {CHAR(' ')},
	 "show or hide the column, or sort by it", "Choose", NULL, NULL},
	{TOP_IN_MENU, TOP_ACTION_DONE, {KEY(ENTER)},
	 "close the menu, or sort by the column", "Done", NULL, NULL},
	{TOP_IN_MENU, TOP_ACTION_CLOSE, {KEY(ESCAPE), CHAR('q'), F(2), F(6), F(10)},
	 "close the menu", "Close", "htop", NULL},

	{TOP_IN_LINE, TOP_ACTION_DONE, {KEY(ENTER)}, "keep the text", "Keep", "htop", NULL},
	{TOP_IN_LINE, TOP_ACTION_CLOSE, {KEY(ESCAPE)},
	 "drop the text", "Forget", "htop", NULL},
	{TOP_IN_LINE, TOP_ACTION_RUB_OUT, {KEY(BACKSPACE), KEY(DELETE)},
	 "delete the last character", NULL, NULL, NULL},
	{TOP_IN_LINE, TOP_ACTION_RUB_OUT_ALL, {CONTROL('U')},
	 "delete all characters", "Clear", NULL, NULL},

	{TOP_EVERYWHERE, TOP_ACTION_FLAME, {CHAR('f')},
	 "flame graph of the selected process, else of the node: a tree, and an HTML file", "Flame",
	 NULL, NULL},
	{TOP_EVERYWHERE, TOP_ACTION_PAUSE, {CHAR('p'), CHAR('Z')},
	 "pause, or continue", "Pause", "observer_cli, htop Z", NULL},
	{TOP_EVERYWHERE, TOP_ACTION_SAVE, {CHAR('s')},
	 "save the screen to a file", "Save", NULL, NULL},
	{TOP_EVERYWHERE, TOP_ACTION_PANEL, {CHARS('1', '9')},
	 "show the panel of this number; so does a click on its name", NULL, NULL, NULL},
	{TOP_EVERYWHERE, TOP_ACTION_NEXT_PANEL, {KEY(TAB)}, "the next panel", NULL, "htop", NULL},
	{TOP_EVERYWHERE, TOP_ACTION_PREVIOUS_PANEL, {KEY(BACKTAB)},
	 "the previous panel", NULL, "htop", NULL},
	{TOP_EVERYWHERE, TOP_ACTION_SLOWER, {CHAR('+')}, "read less often", NULL, NULL, NULL},
	{TOP_EVERYWHERE, TOP_ACTION_FASTER, {CHAR('-')}, "read more often", NULL, NULL, NULL},
	{TOP_EVERYWHERE, TOP_ACTION_REDRAW, {CONTROL('L')},
	 "draw the screen anew", NULL, "htop", NULL},
	{TOP_EVERYWHERE, TOP_ACTION_SUSPEND, {CONTROL('Z')},
	 "suspend to the shell, where `fg` continues", NULL, "htop", NULL},
	{TOP_EVERYWHERE, TOP_ACTION_MOUSE, {KEY(MOUSE)},
	 "select a row, sort by a heading, open a panel; the wheel scrolls",
	 NULL, "htop", NULL},
	{0},
};
/* clang-format on */

static const char *const context_titles[NR_TOP_CONTEXTS] = {
	[TOP_EVERYWHERE] = "Everywhere", [TOP_IN_TABLE] = "In a table",
	[TOP_IN_TEXT] = "In a text",	 [TOP_IN_TREE] = "In a tree of calls",
	[TOP_IN_MENU] = "In a menu",	 [TOP_IN_LINE] = "While typing",
};

/* ---- what a key does ------------------------------------------------------------------------- */

static size_t nr_keys(const struct top_binding *b)
{
	size_t nr = 0;

	while (nr < TOP_MAX_KEYS && (b->keys[nr].kind != TERMINAL_KEY_CHAR || b->keys[nr].c))
		nr++;
	return nr;
}

static bool is_key(const struct top_key *k, const struct terminal_key *key)
{
	if (k->kind != key->kind)
		return false;
	return (k->kind != TERMINAL_KEY_CHAR && k->kind != TERMINAL_KEY_FUNCTION) ||
	       (key->c >= k->c && key->c <= MAX(k->c, k->last));
}

static const struct top_binding *find(enum top_context context, const struct terminal_key *key)
{
	for (const struct top_binding *b = top_bindings; b->action; b++)
		for (size_t i = 0; b->context == context && i < nr_keys(b); i++)
			if (is_key(&b->keys[i], key))
				return b;
	return NULL;
}

enum top_action top_action(enum top_context context, const struct terminal_key *key)
{
	const struct top_binding *b = find(context, key);
	bool is_text = key->kind == TERMINAL_KEY_CHAR && key->c >= ' ';

	if (!b && !(context == TOP_IN_LINE && is_text))
		b = find(TOP_EVERYWHERE, key);
	return b ? b->action : TOP_ACTION_NONE;
}

const char *top_key_columns(const struct terminal_key *key)
{
	const struct top_binding *b = find(TOP_IN_TABLE, key);

	return b ? b->columns : NULL;
}

/* ---- for people ------------------------------------------------------------------------------ */

static void add_char(struct strbuf *out, uint32_t c)
{
	if (c == ' ')
		strbuf_addstr(out, "Space");
	else if (c < ' ')
		strbuf_addf(out, "Ctrl-%c", (int)(c + 'A' - 1));
	else
		utf8_add(out, c);
}

/* Adds the name of a key, between two marks such as "`". */
static void add_key(struct strbuf *out, const struct top_key *k, const char *mark)
{
	static const char *const names[] = {
		[TERMINAL_KEY_UP] = "Up",	 [TERMINAL_KEY_DOWN] = "Down",
		[TERMINAL_KEY_LEFT] = "Left",	 [TERMINAL_KEY_RIGHT] = "Right",
		[TERMINAL_KEY_HOME] = "Home",	 [TERMINAL_KEY_END] = "End",
		[TERMINAL_KEY_PAGE_UP] = "PgUp", [TERMINAL_KEY_PAGE_DOWN] = "PgDn",
		[TERMINAL_KEY_ENTER] = "Enter",	 [TERMINAL_KEY_ESCAPE] = "Esc",
		[TERMINAL_KEY_TAB] = "Tab",	 [TERMINAL_KEY_BACKTAB] = "Shift-Tab",
		[TERMINAL_KEY_MOUSE] = "Mouse",	 [TERMINAL_KEY_BACKSPACE] = "Backspace",
		[TERMINAL_KEY_DELETE] = "Del",
	};

	strbuf_addstr(out, mark);
	if (k->kind == TERMINAL_KEY_CHAR) {
		add_char(out, k->c);
		if (k->last) {
			strbuf_addf(out, "%s to %s", mark, mark);
			add_char(out, k->last);
		}
	} else if (k->kind == TERMINAL_KEY_FUNCTION) {
		strbuf_addf(out, "F%u", k->c);
	} else if (k->kind < ARRAY_SIZE(names) && names[k->kind]) {
		strbuf_addstr(out, names[k->kind]);
	}
	strbuf_addstr(out, mark);
}

static void add_keys(struct strbuf *out, const struct top_binding *b, const char *mark)
{
	for (size_t i = 0; i < nr_keys(b); i++) {
		strbuf_addstr(out, i ? ", " : "");
		add_key(out, &b->keys[i], mark);
	}
}

void top_binding_keys(struct strbuf *out, const struct top_binding *b)
{
	add_keys(out, b, "");
}

void top_binding_first_key(struct strbuf *out, const struct top_binding *b)
{
	add_key(out, &b->keys[0], "");
}

void top_keys_text(struct strbuf *out)
{
	struct strbuf keys = STRBUF_INIT;

	for (unsigned int context = 0; context < NR_TOP_CONTEXTS; context++) {
		strbuf_addf(out, "%s%s\n", context ? "\n" : "", context_titles[context]);
		for (const struct top_binding *b = top_bindings; b->action; b++) {
			if (b->context != context)
				continue;
			strbuf_reset(&keys);
			top_binding_keys(&keys, b);
			strbuf_addf(out, "  %-18s %s\n", keys.buf, b->what);
		}
	}
	strbuf_free(&keys);
}

/* Does the manual list the binding?  Of keys that move it lists those of tables, and no keys of
 * menus and of lines that are typed: the screen shows these. */
static bool is_for_the_manual(const struct top_binding *b)
{
	bool moves = b->action >= TOP_ACTION_UP && b->action <= TOP_ACTION_RIGHT;

	return b->context != TOP_IN_MENU && b->context != TOP_IN_LINE &&
	       (!moves || b->context == TOP_IN_TABLE);
}

void top_keys_markdown(struct strbuf *out)
{
	strbuf_addstr(out, "| where | keys | what | as in |\n|---|---|---|---|\n");
	for (unsigned int context = 0; context < NR_TOP_CONTEXTS; context++) {
		for (const struct top_binding *b = top_bindings; b->action; b++) {
			if (b->context != context || !is_for_the_manual(b))
				continue;
			strbuf_addf(out, "| %s | ", context_titles[context]);
			add_keys(out, b, "`");
			strbuf_addf(out, " | %s | %s |\n", b->what, b->as ? b->as : "");
		}
	}
}
