/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The keys of `top`: one table that maps keys to actions.  The help on the screen, the line at the
 * bottom and the table of the manual are made from it.
 *
 * The meaning of a key depends on the context (a table, a text, ...), unless it is bound in
 * TOP_EVERYWHERE.
 */
#ifndef EBEAM_VIEW_TOP_KEYS_H
#define EBEAM_VIEW_TOP_KEYS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/strbuf.h"
#include "view/screen/terminal.h"

enum top_context {
	TOP_EVERYWHERE,
	TOP_IN_TABLE,
	TOP_IN_TEXT, /* pager */
	TOP_IN_TREE,
	TOP_IN_MENU, /* of columns */
	TOP_IN_LINE, /* while a filter or a search is typed */
	NR_TOP_CONTEXTS
};

enum top_action {
	TOP_ACTION_NONE,
	/* Everywhere; handled by the command. */
	TOP_ACTION_QUIT,
	TOP_ACTION_HELP,
	TOP_ACTION_PANEL, /* the digit says which: key->c - '1' */
	TOP_ACTION_NEXT_PANEL,
	TOP_ACTION_PREVIOUS_PANEL,
	TOP_ACTION_PAUSE,
	TOP_ACTION_FASTER,
	TOP_ACTION_SLOWER,
	TOP_ACTION_FLAME,
	TOP_ACTION_SAVE,
	TOP_ACTION_REDRAW,
	TOP_ACTION_SUSPEND,
	TOP_ACTION_MOUSE,
	/* In tables, texts, trees and menus. */
	TOP_ACTION_UP,
	TOP_ACTION_DOWN,
	TOP_ACTION_PAGE_UP,
	TOP_ACTION_PAGE_DOWN,
	TOP_ACTION_FIRST,
	TOP_ACTION_LAST,
	TOP_ACTION_LEFT,
	TOP_ACTION_RIGHT,
	TOP_ACTION_OPEN,
	TOP_ACTION_CLOSE, /* a step back: filter, selection, text, menu */
	TOP_ACTION_FILTER,
	TOP_ACTION_SORT_LEFT,
	TOP_ACTION_SORT_RIGHT,
	TOP_ACTION_SORT_MENU,
	TOP_ACTION_SORT_BY,
	TOP_ACTION_REVERSE,
	TOP_ACTION_COLUMNS,
	TOP_ACTION_SEARCH,
	TOP_ACTION_SEARCH_NEXT,
	TOP_ACTION_SEARCH_PREVIOUS,
	TOP_ACTION_WRAP,
	TOP_ACTION_UNFOLD,
	TOP_ACTION_FOLD,
	TOP_ACTION_TOGGLE,
	TOP_ACTION_UNFOLD_ALL,
	TOP_ACTION_CHOOSE,
	TOP_ACTION_DONE,
	TOP_ACTION_RUB_OUT,
	TOP_ACTION_RUB_OUT_ALL,
};

#define TOP_MAX_KEYS 6

struct top_key {
	enum terminal_key_kind kind;
	uint32_t c, last; /* c .. last; last == 0: c alone */
};

struct top_binding {
	enum top_context context;
	enum top_action action;
	struct top_key keys[TOP_MAX_KEYS]; /* keys[0] is the one to show; a zeroed key ends them */
	const char *what;		   /* help text */
	const char *footer;		   /* a word for the line at the bottom; NULL = not in it */
	const char *as;	     /* tools with the same key, "htop, observer_cli"; NULL = none */
	const char *columns; /* of TOP_ACTION_SORT_BY, "a,b": sorts by the first the table has */
};

/* Ends with action TOP_ACTION_NONE. */
extern const struct top_binding top_bindings[];

/* The action of a key in a context; if it has none there, the one in TOP_EVERYWHERE.  In
 * TOP_IN_LINE characters are text: they have no action of TOP_EVERYWHERE. */
enum top_action top_action(enum top_context context, const struct terminal_key *key);
/* The `columns` of the binding of a key of TOP_ACTION_SORT_BY; NULL = the key is none of these. */
const char *top_key_columns(const struct terminal_key *key);

/* Adds "q, F10, Ctrl-C". */
void top_binding_keys(struct strbuf *out, const struct top_binding *b);
void top_binding_first_key(struct strbuf *out, const struct top_binding *b);
/* Add the bindings: all as text with headings; those of the manual as a table in Markdown. */
void top_keys_text(struct strbuf *out);
void top_keys_markdown(struct strbuf *out);

#endif
