/* SPDX-License-Identifier: BSD-2-Clause */
/* Shared by the files of the parser of call patterns (call_pattern.h): lexer and parsers. */
#ifndef EBEAM_NAMES_CALL_PARSE_H
#define EBEAM_NAMES_CALL_PARSE_H

#include "base/strbuf.h"
#include "names/call_pattern.h"

/* Kinds of words (tokens), and the member of struct word with the value; text is in p->word. */
enum word_kind {
	WORD_END,
	WORD_SIGN,     /* sign */
	WORD_ATOM,     /* text */
	WORD_RESERVED, /* text: when, and, div ... */
	WORD_VARIABLE, /* text; also _ */
	WORD_INTEGER,  /* p->number */
	WORD_FLOAT,    /* real */
	WORD_STRING,   /* text: UTF-8; a charlist in Elixir */
	WORD_BINARY,   /* text: bytes; a string in Elixir */
	WORD_KEY,      /* text: key `a:` of Elixir's keyword lists */
	WORD_CALL,     /* text: a name with ( right behind it */
	WORD_PID,      /* pid */
};

struct word {
	enum word_kind kind;
	size_t at, len; /* offset and length in the text */
	char sign[4];
	double real;
	uint32_t pid[3];
};

struct call_parser {
	const char *text;
	bool elixir; /* terms are in Elixir's spelling, else in Erlang's */
	size_t at;   /* offset behind the current word */
	struct word now;
	struct strbuf word;   /* text of the current word */
	struct bigint number; /* value of the current word */
	struct call_pattern *out;
	VEC(const char *) variables;
	VEC(uint32_t) structs; /* slots of variables in %x{}, which must be atoms */
	unsigned int depth;
	struct error *err;
};

/* ---- call_lex.c ----------------------------------------------------------------------------- */

/* Reads the next word: 0, or -EINVAL with the error set. */
int call_next(struct call_parser *p);
/* Sets the error for offset `at` of the text; -EINVAL. */
int call_fail(struct call_parser *p, size_t at, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
/* Sets the error "expected WHAT, not ..." for the current word; -EINVAL. */
int call_expected(struct call_parser *p, const char *what);
bool call_is_sign(const struct call_parser *p, const char *sign);
bool call_is_reserved(const struct call_parser *p, const char *word);
/* Is the word this name?  It must not be reserved: an atom in Erlang, a variable in Elixir. */
bool call_is_name(const struct call_parser *p, const char *name);
/* Skips a sign; if it is not the current word, the error is "expected EXPECTED, not ...". */
int call_take(struct call_parser *p, const char *sign, const char *expected);
/* Reads the quoted text at p->at into p->word as UTF-8; p->at is then behind it. */
int call_quoted(struct call_parser *p, char quote);
int call_not_closed(struct call_parser *p, size_t at, char quote);
bool call_is_lower(char c); /* can begin an atom */
bool call_is_upper(char c);
bool call_is_word(char c); /* can be a later character of an atom or a variable */
bool call_is_digit(char c);
/* Reads the hex digits of a character behind \x or \u: `fewest` to `most`, or up to 6 in braces. */
int call_code_point(struct call_parser *p, size_t at, int fewest, int most, const char *expected,
		    uint32_t *c);
/* Appends a character; 0 as C0 80, as in the atom texts of beam/term/atoms.h. */
void call_add_character(struct strbuf *out, uint32_t c);
/* Read a word that both languages have at p->at: a number (1_000); a pid (<0.80.0>; false: there is
 * none); one of the `signs`. */
int call_number(struct call_parser *p);
bool call_pid(struct call_parser *p);
int call_sign(struct call_parser *p, const char *const *signs, size_t nr);

/* ---- call_lex_elixir.c ---------------------------------------------------------------------- */

/* Reads a word of Elixir at p->at, which is not at the end of the text. */
int call_elixir_word(struct call_parser *p);
/* As call_quoted(), with `close` as closing quote; bytes: the text need not be UTF-8. */
int call_elixir_quoted(struct call_parser *p, char close, bool bytes);

/* ---- memory, call_pattern.c ----------------------------------------------------------------- */

void *call_alloc(struct call_parser *p, size_t size); /* zeroed */
const char *call_text(struct call_parser *p, const char *text, size_t len);
struct pattern_node *call_node(struct call_parser *p, enum pattern_kind kind);
/* Sets n->depth from its children; -EINVAL if it is more than CALL_PATTERN_DEPTH. */
int call_set_depth(struct call_parser *p, struct pattern_node *n);
/* Items of a node while they are parsed; call_keep_items() copies them to the node. */
struct call_items {
	VEC(struct pattern_node *) list;
};
void call_keep_items(struct call_parser *p, struct call_items *items, struct pattern_node *n);

/* Reads an alias (MyApp.Server) at p->at, up to the dot or colon behind it, as its atom. */
void call_alias(struct call_parser *p, struct strbuf *out);

/* ---- call_terms.c --------------------------------------------------------------------------- */

/* Parses a constant: atom, number or pid.  *out NULL: the current word is no constant. */
int call_parse_constant(struct call_parser *p, struct pattern_node **out);
/* Parses a string, and adjacent ones, to a list of characters. */
int call_parse_string(struct call_parser *p, struct pattern_node **out);
int call_parse_pattern(struct call_parser *p, struct pattern_node **out);
/*
 * Parses the items of n, each by item(), from the opening word to behind `end`; `expected` is for
 * the error if a comma is missing.  In a list (`end` is ]) its tail may follow behind |.  Elixir's
 * keywords (a: 1) are pairs as items of a list; elsewhere they are one item, a list of pairs.
 */
int call_parse_items(struct call_parser *p, struct pattern_node *n, const char *end,
		     const char *expected,
		     int (*item)(struct call_parser *p, struct pattern_node **out));
struct pattern_node *call_atom(struct call_parser *p, const char *text, size_t len);
struct pattern_node *call_small(struct call_parser *p, int64_t value);
/* Parses <<...>>, or a string of Elixir, and what <> joins to it; in_guard: constants only. */
int call_parse_binary(struct call_parser *p, bool in_guard, struct pattern_node **out);
/* Slot of a variable; if the pattern has no such variable: a new slot if `add`, else UINT32_MAX. */
uint32_t call_slot(struct call_parser *p, const char *name, bool add);

/* ---- call_guard.c --------------------------------------------------------------------------- */

/* Parses the guards behind `when`. */
int call_parse_guards(struct call_parser *p);

enum call_level {
	LEVEL_NONE, /* no operator of this language */
	LEVEL_ORELSE,
	LEVEL_ANDALSO,
	LEVEL_COMPARE,
	LEVEL_RELATE, /* this level (< > <= >=) and the next three are Elixir's only */
	LEVEL_SHIFT,
	LEVEL_IN,
	LEVEL_BXOR,
	LEVEL_ADD,
	LEVEL_MULTIPLY,
	LEVEL_ONE_OPERAND,
};

/* Parses an expression of operators of this level and of those that bind more tightly. */
int call_parse_expression(struct call_parser *p, enum call_level level, struct pattern_node **out);
/* Makes a call with one argument (`second` NULL) or two. */
struct pattern_node *call_guard_call(struct call_parser *p, enum guard_function f,
				     struct pattern_node *first, struct pattern_node *second);
int call_operator(struct call_parser *p, enum pattern_operator op, struct pattern_node *left,
		  struct pattern_node *right, struct pattern_node **out);

/* ---- call_guard_elixir.c -------------------------------------------------------------------- */

/*
 * Parses `in [1, 2]` and `not in 1..3` behind a value, also one after another.  negation: the value
 * is `not x` without parentheses: `not x in y` means not (x in y).
 */
int call_parse_membership(struct call_parser *p, bool negation, struct pattern_node **value);
/* Is this a function or macro of Kernel that guards may call without the module? */
bool call_is_kernel(const char *name);
/* Does module erlang lack a function of this name, or does its one have other arguments? */
bool call_kernel_differs(const char *name);
const char *call_kernel_name(size_t i); /* i-th name that differs; NULL past the last */
/* Rewrites the parsed call of a Kernel function to Erlang's: *call is replaced. */
int call_kernel(struct call_parser *p, size_t at, const char *name, struct pattern_node **call);

#endif
