/* SPDX-License-Identifier: BSD-2-Clause */
/* Shared by the files that parse call patterns (call_pattern.h): words, then rules. */
#ifndef EBEAM_NAMES_CALL_PARSE_H
#define EBEAM_NAMES_CALL_PARSE_H

#include "base/strbuf.h"
#include "names/call_pattern.h"

enum word_kind {
	WORD_END,
	WORD_SIGN,     /* sign */
	WORD_ATOM,     /* text */
	WORD_RESERVED, /* text: when, and, div ... */
	WORD_VARIABLE, /* text; _ too */
	WORD_INTEGER,  /* p->number */
	WORD_FLOAT,    /* real */
	WORD_STRING,   /* text: UTF-8 */
	WORD_PID,      /* pid */
};

struct word {
	enum word_kind kind;
	size_t at, len; /* in the text */
	char sign[4];
	double real;
	uint32_t pid[3];
};

struct call_parser {
	const char *text;
	size_t at; /* behind the word */
	struct word now;
	struct strbuf word;   /* its text */
	struct bigint number; /* its value */
	struct call_pattern *out;
	VEC(const char *) variables;
	unsigned int depth;
	struct error *err;
};

/* ---- call_lex.c ----------------------------------------------------------------------------- */

/* Goes to the next word: 0, or -EINVAL with the error set. */
int call_next(struct call_parser *p);
/* The error at a place of the text. */
int call_fail(struct call_parser *p, size_t at, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
/* "expected WHAT, not ..." at the word. */
int call_expected(struct call_parser *p, const char *what);
bool call_is_sign(const struct call_parser *p, const char *sign);
bool call_is_reserved(const struct call_parser *p, const char *word);
/* Past a sign that must be here. */
int call_take(struct call_parser *p, const char *sign, const char *expected);
/* What stands between quotes that open at p->at, into p->word; p->at is then behind them. */
int call_quoted(struct call_parser *p, char quote);
bool call_is_lower(char c); /* begins an atom */
bool call_is_upper(char c);
bool call_is_word(char c); /* goes on in one */

/* ---- memory, call_pattern.c ----------------------------------------------------------------- */

void *call_alloc(struct call_parser *p, size_t size); /* zeros */
const char *call_text(struct call_parser *p, const char *text, size_t len);
struct pattern_node *call_node(struct call_parser *p, enum pattern_kind kind);
/* -EINVAL if it is too deep. */
int call_set_depth(struct call_parser *p, struct pattern_node *n);
/* Items that are collected, then kept. */
struct call_items {
	VEC(struct pattern_node *) list;
};
void call_keep_items(struct call_parser *p, struct call_items *items, struct pattern_node *n);

/* ---- call_terms.c --------------------------------------------------------------------------- */

/* A constant that the word is: atom, number, pid.  *out NULL: it is none. */
int call_parse_constant(struct call_parser *p, struct pattern_node **out);
/* A text at the word, as the list of its characters, and more of them behind it. */
int call_parse_string(struct call_parser *p, struct pattern_node **out);
int call_parse_pattern(struct call_parser *p, struct pattern_node **out);
/* <<...>>; in_guard: of constants. */
int call_parse_binary(struct call_parser *p, bool in_guard, struct pattern_node **out);
/* Slot of a variable; if it is not known: a new one, or UINT32_MAX. */
uint32_t call_slot(struct call_parser *p, const char *name, bool add);

/* ---- call_guard.c --------------------------------------------------------------------------- */

/* Behind `when`. */
int call_parse_guards(struct call_parser *p);

#endif
