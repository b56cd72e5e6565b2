/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A call pattern: which calls of functions to show, in the syntax of redbug:
 *
 *   mod:fun/2   mod:fun   mod:_   'my mod':'f!'/1   Enum.map/2   MyApp.Server.handle_call
 *   mod:fun(key, {ok, N}, [_ | T]) when N > 3, is_list(T); N =:= 0 -> return,stack
 *
 * Arguments are patterns as in a function head, guards behind `when` are as in Erlang.  With a
 * module in Elixir's spelling (Mod.f, :mod.f, _.f) both are in Elixir's:
 *
 *   MyApp.Server.handle_call({:add, %{id: n}}, _, _) when n > 3 and n not in [5, 7]
 *
 * and become the same tree as Erlang's.  This file is about the text and its tree;
 * beam/match/call_match.h matches calls in a node with the tree.
 *
 * The text is not trusted: at most CALL_PATTERN_TEXT bytes, nested at most CALL_PATTERN_DEPTH deep,
 * so that functions that walk a tree may recurse.  All memory is owned by the struct call_pattern.
 */
#ifndef EBEAM_NAMES_CALL_PATTERN_H
#define EBEAM_NAMES_CALL_PATTERN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/bigint.h"
#include "base/error.h"
#include "base/vec.h"

#define CALL_PATTERN_TEXT  16384
#define CALL_PATTERN_DEPTH 100
#define CALL_PATTERN_ARITY 255

enum pattern_kind {
	PATTERN_ANY,	  /* _ */
	PATTERN_VARIABLE, /* slot */
	PATTERN_ATOM,	  /* text, len */
	PATTERN_INTEGER,  /* small, or *big if that is not NULL */
	PATTERN_FLOAT,	  /* real */
	PATTERN_PID,	  /* pid */
	PATTERN_LIST,	  /* items, tail (NULL: []); a string is a list of characters */
	PATTERN_TUPLE,	  /* items */
	PATTERN_MAP,	  /* items: key, value, key, value ... */
	PATTERN_BINARY,	  /* segments */
	PATTERN_ALIAS,	  /* items: two patterns, P = P */
	/* In guards only, where lists, tuples and binaries are constructed from their items. */
	PATTERN_OPERATOR, /* op, items: one or two */
	PATTERN_CALL,	  /* function, items */
};

enum pattern_operator {
	OPERATOR_EQ,	 /* == */
	OPERATOR_NE,	 /* /= */
	OPERATOR_SAME,	 /* =:= */
	OPERATOR_UNSAME, /* =/= */
	OPERATOR_LT,
	OPERATOR_LE,
	OPERATOR_GT,
	OPERATOR_GE,
	OPERATOR_ADD,
	OPERATOR_SUBTRACT,
	OPERATOR_MULTIPLY,
	OPERATOR_QUOTIENT, /* / */
	OPERATOR_DIV,
	OPERATOR_REM,
	OPERATOR_BAND,
	OPERATOR_BOR,
	OPERATOR_BXOR,
	OPERATOR_BSL,
	OPERATOR_BSR,
	OPERATOR_AND,
	OPERATOR_OR,
	OPERATOR_XOR,
	OPERATOR_ANDALSO,
	OPERATOR_ORELSE,
	OPERATOR_NOT, /* this one and the next two have one operand */
	OPERATOR_BNOT,
	OPERATOR_MINUS,
	OPERATOR_PLUS,
};

/* Functions of module erlang that guards may call: enum suffix, name, fewest and most arguments. */
#define GUARD_FUNCTIONS(X)                                                                         \
	X(ABS, abs, 1, 1)                                                                          \
	X(BINARY_PART, binary_part, 2, 3)                                                          \
	X(BIT_SIZE, bit_size, 1, 1)                                                                \
	X(BYTE_SIZE, byte_size, 1, 1)                                                              \
	X(CEIL, ceil, 1, 1)                                                                        \
	X(ELEMENT, element, 2, 2)                                                                  \
	X(FLOAT, float, 1, 1)                                                                      \
	X(FLOOR, floor, 1, 1)                                                                      \
	X(HD, hd, 1, 1)                                                                            \
	X(IS_ATOM, is_atom, 1, 1)                                                                  \
	X(IS_BINARY, is_binary, 1, 1)                                                              \
	X(IS_BITSTRING, is_bitstring, 1, 1)                                                        \
	X(IS_BOOLEAN, is_boolean, 1, 1)                                                            \
	X(IS_FLOAT, is_float, 1, 1)                                                                \
	X(IS_FUNCTION, is_function, 1, 2)                                                          \
	X(IS_INTEGER, is_integer, 1, 1)                                                            \
	X(IS_LIST, is_list, 1, 1)                                                                  \
	X(IS_MAP, is_map, 1, 1)                                                                    \
	X(IS_MAP_KEY, is_map_key, 2, 2)                                                            \
	X(IS_NUMBER, is_number, 1, 1)                                                              \
	X(IS_PID, is_pid, 1, 1)                                                                    \
	X(IS_PORT, is_port, 1, 1)                                                                  \
	X(IS_RECORD, is_record, 2, 3)                                                              \
	X(IS_REFERENCE, is_reference, 1, 1)                                                        \
	X(IS_TUPLE, is_tuple, 1, 1)                                                                \
	X(LENGTH, length, 1, 1)                                                                    \
	X(MAP_GET, map_get, 2, 2)                                                                  \
	X(MAP_SIZE, map_size, 1, 1)                                                                \
	X(MAX, max, 2, 2)                                                                          \
	X(MIN, min, 2, 2)                                                                          \
	X(NODE, node, 0, 1)                                                                        \
	X(ROUND, round, 1, 1)                                                                      \
	X(SIZE, size, 1, 1)                                                                        \
	X(TL, tl, 1, 1)                                                                            \
	X(TRUNC, trunc, 1, 1)                                                                      \
	X(TUPLE_SIZE, tuple_size, 1, 1)
enum guard_function {
#define GUARD_FUNCTION_ENUM(id, name, fewest, most) GUARD_##id,
	GUARD_FUNCTIONS(GUARD_FUNCTION_ENUM)
#undef GUARD_FUNCTION_ENUM
		NR_GUARD_FUNCTIONS
};

enum segment_type { SEGMENT_LITERAL, SEGMENT_INTEGER, SEGMENT_FLOAT, SEGMENT_BITS };

/* A segment of <<...>>. */
struct pattern_segment {
	enum segment_type type;
	const char *bytes; /* for a literal: `len` bytes */
	size_t len;
	struct pattern_node *value; /* other types: _, a variable or a number */
	struct pattern_node *size;  /* an integer or a variable; NULL: the whole rest */
	uint32_t unit;		    /* bits per unit of size */
	bool is_signed, little;
};

struct pattern_node {
	enum pattern_kind kind;
	uint32_t id;	/* number of the node in its pattern, 0 .. nr_nodes - 1 */
	uint32_t depth; /* levels of nodes, this one included; 1 = no children */
	union {
		uint32_t slot;
		struct {
			const char *text; /* UTF-8, NUL terminated; NUL as C0 80 */
			size_t len;
		};
		struct {
			int64_t small;
			const struct bigint *big; /* a value that does not fit `small`; else NULL */
		};
		double real;
		struct {
			uint32_t channel, number, serial; /* <channel.number.serial> */
		} pid;
		enum pattern_operator op;
		enum guard_function function;
	};
	struct pattern_node **items;
	uint32_t nr;
	struct pattern_node *tail;
	struct pattern_segment *segments;
	uint32_t nr_segments;
};

/* A guard is true if all its tests are true. */
struct call_guard {
	struct pattern_node **tests;
	uint32_t nr;
};

struct call_pattern {
	const char *module;	    /* text of the atom, without quotes; NULL = any */
	const char *function;	    /* text of the atom, without quotes; NULL = any */
	int arity;		    /* -1 = any */
	struct pattern_node **args; /* `arity` patterns; NULL if none were given */
	bool has_args;		    /* args or guards restrict the calls; (_, X) does not */
	struct call_guard *guards;  /* one of them must be true; none: no condition */
	uint32_t nr_guards;
	const char **variables; /* names by slot */
	uint32_t nr_variables;
	uint32_t nr_nodes;
	bool is_return, is_stack; /* -> return, -> stack */
	const char *text;	  /* as it was given */
	VEC(void *) owned;
};

/* 0, or -EINVAL with ERROR_KIND_USAGE: its text has the column of the error, what was expected
 * there, and the pattern with a caret below the error. */
int call_pattern_parse(struct call_pattern **out, const char *text, struct error *err);
void call_pattern_free(struct call_pattern *p); /* NULL ok */

const char *guard_function_name(enum guard_function f);

#endif
