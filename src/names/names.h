/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The dictionary: strings, functions, frames, stacks, processes and threads by dense id.
 *
 * Two ways to fill one:  the live side interns (names_intern_*: equal things get the same id;
 * *is_new is set for the first one, so that a definition record can be written before the first
 * use); the model defines (names_define_*: id and content come from a definition record and are
 * checked).  A dictionary is filled in one way only.
 *
 * Entries are only added; returned pointers and strings live until names_close().  Ids start at 1,
 * id 0 means "none"; getters return NULL for it and for unknown ids.  Bounded: beyond NAMES_LIMIT
 * entries of a kind, interning returns the id of an "[overflow]" entry, and names_overflows()
 * counts how often.  Strings are bytes as given, NUL terminated, with C0 80 for a NUL inside (atoms
 * may have one).  To show them, use names_format_*().
 */
#ifndef EBEAM_NAMES_NAMES_H
#define EBEAM_NAMES_NAMES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "abi/record.h"
#include "base/strbuf.h"

#define NAMES_LIMIT	 (4u << 20)   /* entries of one kind */
#define NAMES_MAX_STRING 4096u	      /* bytes of one string; longer ones are truncated */
#define NAMES_MAX_BYTES	 (256u << 20) /* bytes of all strings */
#define NAMES_MAX_DEPTH	 1152u	      /* frames of one stack; stack walkers have far lower limits */

struct name_function {
	const char *module; /* atom text without quotes, or object file name; NULL = none */
	const char *name;
	int32_t arity; /* -1 = none */
	enum frame_kind kind;
	enum symbol_source symbol_source; /* not part of what is equal */
	uint32_t module_id, name_id;
};

struct name_frame {
	uint32_t function;
	const char *file; /* NULL = unknown */
	uint32_t line;	  /* 0 = unknown */
	uint32_t file_id;
};

struct name_stack {
	uint32_t parent; /* stack of the callers, 0 = root */
	uint32_t frame;
};

struct name_process {
	uint64_t epid;
	const char *pid;	/* "<0.80.0>" */
	const char *registered; /* NULL = none; atom text without quotes */
	const char *label;	/* NULL = none; Erlang text */
	uint32_t initial_call;	/* function id, 0 = unknown */
	uint32_t pid_id, registered_id, label_id;
};

struct name_thread {
	uint32_t os_tid;
	enum thread_type type;
	uint16_t scheduler;
	const char *name;
	uint32_t name_id;
};

struct names;

struct names *names_open(void);
/* For tests, which need lower limits than NAMES_LIMIT and NAMES_MAX_BYTES. */
struct names *names_open_limited(uint32_t max_entries, size_t max_bytes);
void names_close(struct names *n);

/*
 * Interning never fails: see "bounded" above.  is_new may be NULL.  Making an "[overflow]" entry
 * can also make entries that it refers to: callers that need all new entries use names_count().
 */
uint32_t names_intern_string(struct names *n, const char *s, size_t len, bool *is_new);
uint32_t names_intern_function(struct names *n, uint32_t module, uint32_t name, int32_t arity,
			       enum frame_kind kind, bool *is_new);
uint32_t names_intern_frame(struct names *n, uint32_t function, uint32_t file, uint32_t line,
			    bool *is_new);
uint32_t names_intern_stack(struct names *n, uint32_t parent, uint32_t frame, bool *is_new);
uint32_t names_intern_process(struct names *n, uint64_t epid, uint32_t pid, uint32_t registered,
			      uint32_t label, uint32_t initial_call, bool *is_new);
uint32_t names_intern_thread(struct names *n, uint32_t os_tid, enum thread_type type,
			     uint16_t scheduler, uint32_t name, bool *is_new);

/* Of a native function that has none yet; else nothing. */
void names_set_symbol_source(struct names *n, uint32_t function, enum symbol_source source);

/*
 * Defining.  0; -EINVAL: id is not the next of its kind, it refers to an unknown id, or a stack is
 * too deep; -ENOSPC: beyond the limit.  Nothing is changed on failure.
 */
int names_define_string(struct names *n, uint32_t id, const char *s, size_t len);
int names_define_function(struct names *n, uint32_t id, uint32_t module, uint32_t name,
			  int32_t arity, uint32_t kind);
int names_define_frame(struct names *n, uint32_t id, uint32_t function, uint32_t file,
		       uint32_t line);
int names_define_stack(struct names *n, uint32_t id, uint32_t parent, uint32_t frame);
int names_define_process(struct names *n, uint32_t id, uint64_t epid, uint32_t pid,
			 uint32_t registered, uint32_t label, uint32_t initial_call);
int names_define_thread(struct names *n, uint32_t id, uint32_t os_tid, uint32_t type,
			uint16_t scheduler, uint32_t name);

/* Getters: NULL for id 0 and unknown ids. */
const char *names_string(const struct names *n, uint32_t id);
const struct name_function *names_function(const struct names *n, uint32_t id);
const struct name_frame *names_frame(const struct names *n, uint32_t id);
const struct name_stack *names_stack(const struct names *n, uint32_t id);
const struct name_process *names_process(const struct names *n, uint32_t id);
const struct name_thread *names_thread(const struct names *n, uint32_t id);
/* The innermost frame of *stack and its function; *stack becomes the stack of the callers.  NULL,
 * with *stack unchanged: there is no frame, or it is unknown. */
const struct name_function *names_next_frame(const struct names *n, uint32_t *stack,
					     const struct name_frame **frame);

enum names_table {
	NAMES_STRINGS,
	NAMES_FUNCTIONS,
	NAMES_FRAMES,
	NAMES_STACKS,
	NAMES_PROCESSES,
	NAMES_THREADS,
	NR_NAMES_TABLES
};
uint32_t names_count(const struct names *n, enum names_table table); /* highest id */
uint32_t names_stack_depth(const struct names *n, uint32_t stack);   /* frames; 0 if unknown */
uint64_t names_overflows(const struct names *n);

/*
 * Display text of a function: `lists:map/2`, quoted where Erlang quotes (`'my mod':f/1`),
 * `Enum.map/2` and `MyApp.Worker."odd name"/1` for Elixir modules, Elixir's anonymous functions
 * as `anonymous fn/1 in MyApp.Worker.run/2`, native `libcrypto.so.3:SHA256_Update`,
 * the bare name for kernel, runtime, elided and state frames.  Control characters are escaped.
 */
void names_format_function(struct strbuf *out, const struct name_function *f);

/* An atom as Erlang writes it, quoted and escaped if it must be. */
void names_format_atom(struct strbuf *out, const char *text, size_t len);

/* A module or a registered name: `Enum` for an Elixir alias, else as names_format_atom(). */
void names_format_module(struct strbuf *out, const char *text, size_t len);

/* Any text (a label, a thread's name, a file): invalid UTF-8 becomes U+FFFD, control characters are
 * escaped as in Erlang's strings. */
void names_format_text(struct strbuf *out, const char *text, size_t len);

#endif
