/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The interface of NIFs as far as the tests use it: it is a binary interface that has not changed
 * since OTP 20 (ErlNifFunc and ErlNifEntry of erl_nif.h), and not every Erlang comes with its
 * header.
 */
#ifndef EBEAM_TESTS_NIF_H
#define EBEAM_TESTS_NIF_H

#include <stddef.h>

typedef size_t term;
struct environment;

extern int enif_get_int(struct environment *, term, int *);
extern term enif_make_long(struct environment *, long);
extern term enif_make_tuple(struct environment *, unsigned int, ...);
extern term enif_make_badarg(struct environment *);
extern int enif_consume_timeslice(struct environment *, int);

struct function {
	const char *name;
	unsigned int arity;
	term (*call)(struct environment *, int, const term[]);
	unsigned int flags; /* 1: dirty CPU, 2: dirty IO */
};

struct entry {
	int major, minor;
	const char *name;
	int nr_functions;
	struct function *functions;
	int (*load)(struct environment *, void **, term);
	int (*reload)(struct environment *, void **, term);
	int (*upgrade)(struct environment *, void **, void **, term);
	void (*unload)(struct environment *, void *);
	const char *vm_variant;
	unsigned int options;
	size_t resource_type_size;
	const char *min_erts;
};

struct entry *nif_init(void);

/* NIF_MODULE("my_module", {"name", arity, function, flags}, ...) ends the file; with a function
 * that is called as it is loaded: NIF_MODULE_LOAD("my_module", load, {...}, ...). */
#define NIF_MODULE(module, ...) NIF_MODULE_LOAD(module, NULL, __VA_ARGS__)
#define NIF_MODULE_LOAD(module, on_load, ...)                                                      \
	struct entry *nif_init(void)                                                               \
	{                                                                                          \
		static struct function functions[] = {__VA_ARGS__};                                \
		static struct entry entry = {                                                      \
			.major = 2,                                                                \
			.minor = 14,                                                               \
			.name = (module),                                                          \
			.nr_functions = sizeof(functions) / sizeof(functions[0]),                  \
			.functions = functions,                                                    \
			.load = (on_load),                                                         \
			.vm_variant = "beam.vanilla",                                              \
			.options = 1, /* dirty schedulers */                                       \
			.resource_type_size = 3 * sizeof(void *),                                  \
			.min_erts = "erts-10.0",                                                   \
		};                                                                                 \
                                                                                                   \
		return &entry;                                                                     \
	}

#endif
