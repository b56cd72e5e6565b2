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
	WORD_STRING,   /* text: UTF-8; a charlist in Elixir */
	WORD_BINARY,   /* text: bytes; a string in Elixir, as the next two */
	WORD_KEY,      /* text: `a:`, of a keyword */
	WORD_CALL,     /* text: a name directly in front of its parenthesis */
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
	bool elixir; /* terms as Elixir writes them, else as Erlang does */
	size_t at;   /* behind the word */
	struct word now;
	struct strbuf word;   /* its text */
	struct bigint number; /* its value */
	struct call_pattern *out;
	VEC(const char *) variables;
	VEC(uint32_t) structs; /* slots that must be atoms: %x{} */
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
/* A word of this language's own that is not reserved: an atom of Erlang, a variable of Elixir. */
bool call_is_name(const struct call_parser *p, const char *name);
/* Past a sign that must be here. */
int call_take(struct call_parser *p, const char *sign, const char *expected);
/* What stands between quotes that open at p->at, into p->word as UTF-8; p->at is then behind. */
int call_quoted(struct call_parser *p, char quote);
int call_not_closed(struct call_parser *p, size_t at, char quote);
bool call_is_lower(char c); /* begins an atom */
bool call_is_upper(char c);
bool call_is_word(char c); /* goes on in one */
bool call_is_digit(char c);
/* The digits of a character behind \x or \u, at least and at most so many, or up to 6 in braces. */
int call_code_point(struct call_parser *p, size_t at, int fewest, int most, const char *expected,
		    uint32_t *c);
/* A character, 0 as C0 80, so that texts of atoms are like those of beam/term/atoms.h. */
void call_add_character(struct strbuf *out, uint32_t c);
/* Words that both languages have: 1_000, <0.80.0> (false: it is none), a sign of these. */
int call_number(struct call_parser *p);
bool call_pid(struct call_parser *p);
int call_sign(struct call_parser *p, const char *const *signs, size_t nr);

/* ---- call_lex_elixir.c ---------------------------------------------------------------------- */

/* A word of Elixir at p->at, which is not the end. */
int call_elixir_word(struct call_parser *p);
/* As call_quoted(), up to `close`; bytes: whatever they are, else UTF-8. */
int call_elixir_quoted(struct call_parser *p, char close, bool bytes);

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

/* MyApp.Server at p->at, up to the dot or colon behind it, as the atom that it is. */
void call_alias(struct call_parser *p, struct strbuf *out);

/* ---- call_terms.c --------------------------------------------------------------------------- */

/* A constant that the word is: atom, number, pid.  *out NULL: it is none. */
int call_parse_constant(struct call_parser *p, struct pattern_node **out);
/* A text at the word, as the list of its characters, and more of them behind it. */
int call_parse_string(struct call_parser *p, struct pattern_node **out);
int call_parse_pattern(struct call_parser *p, struct pattern_node **out);
/*
 * From the word that opens to behind `end`: the items of n, each taken by `item`.  In front of a ]
 * may stand | and the rest of a list; Elixir's keywords are pairs there, elsewhere a list of them.
 */
int call_parse_items(struct call_parser *p, struct pattern_node *n, const char *end,
		     const char *expected,
		     int (*item)(struct call_parser *p, struct pattern_node **out));
struct pattern_node *call_atom(struct call_parser *p, const char *text, size_t len);
struct pattern_node *call_small(struct call_parser *p, int64_t value);
/* <<...>>, or a text of Elixir, with what is joined to it by <>; in_guard: of constants. */
int call_parse_binary(struct call_parser *p, bool in_guard, struct pattern_node **out);
/* Slot of a variable; if it is not known: a new one, or UINT32_MAX. */
uint32_t call_slot(struct call_parser *p, const char *name, bool add);

/* ---- call_guard.c --------------------------------------------------------------------------- */

/* Behind `when`. */
int call_parse_guards(struct call_parser *p);

enum call_level {
	LEVEL_NONE, /* no operator of this language */
	LEVEL_ORELSE,
	LEVEL_ANDALSO,
	LEVEL_COMPARE,
	LEVEL_RELATE, /* < and the like in Elixir, looser in Erlang; likewise the next three */
	LEVEL_SHIFT,
	LEVEL_IN,
	LEVEL_BXOR,
	LEVEL_ADD,
	LEVEL_MULTIPLY,
	LEVEL_ONE_OPERAND,
};

/* Operators of this level and those that bind more tightly. */
int call_parse_expression(struct call_parser *p, enum call_level level, struct pattern_node **out);
/* One argument or two: `second` NULL. */
struct pattern_node *call_guard_call(struct call_parser *p, enum guard_function f,
				     struct pattern_node *first, struct pattern_node *second);
int call_operator(struct call_parser *p, enum pattern_operator op, struct pattern_node *left,
		  struct pattern_node *right, struct pattern_node **out);

/* ---- call_guard_elixir.c -------------------------------------------------------------------- */

/*
 * `in [1, 2]`, `not in 1..3` behind a value, as often as it is there.  negation: the value is a
 * `not x` without parentheses, which `in` takes apart: `not x in y` is not (x in y).
 */
int call_parse_membership(struct call_parser *p, bool negation, struct pattern_node **value);
/* May guards call it by this name alone? */
bool call_is_kernel(const char *name);
/* Has Erlang no such function, or with other arguments? */
bool call_kernel_differs(const char *name);
const char *call_kernel_name(size_t i); /* of those that differ; NULL behind the last */
/* What such a call means to Erlang, once its arguments are parsed: *call is then another. */
int call_kernel(struct call_parser *p, size_t at, const char *name, struct pattern_node **call);

#endif
