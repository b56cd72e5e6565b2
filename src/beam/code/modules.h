/* SPDX-License-Identifier: BSD-2-Clause */
/* The loaded modules of a node: erlang:loaded(), and facts of module_info/1. */
#ifndef EBEAM_BEAM_MODULES_H
#define EBEAM_BEAM_MODULES_H

#include "base/vec.h"
#include "beam/node/node.h"

#define MODULE_MD5_SIZE 16

struct module {
	uint64_t name;	    /* atom term */
	raddr code;	    /* BeamCodeHeader of the current code; 0: only old code is left */
	uint64_t size;	    /* bytes of the current code, header included */
	uint32_t functions; /* generated ones (module_info) included */
	bool old_code;	    /* erlang:check_old_code/1 */
	raddr old_start;    /* BeamCodeHeader of the old code, its start; 0 = none */
	uint64_t old_size;
	bool on_load; /* its on_load function has not returned yet */
	bool nifs;    /* a NIF library is loaded */
	raddr nif;    /* its struct erl_module_nif; 0 = none */
	bool has_md5;
	uint8_t md5[MODULE_MD5_SIZE]; /* code:module_md5 of the object code */
	bool torn;		      /* the code was replaced or freed while it was read */
};

struct modules {
	VEC(struct module) v; /* sorted by the text of the name */
	uint64_t code_size;   /* bytes of all code, old code included: loaded_code in the VM */
	uint64_t unreadable;  /* entries that could not be read */
	bool moved; /* code was loaded during each attempt: the list may be inconsistent */
};

/* ERROR_KIND_UNSUPPORTED if the module tables, or the active code index, were not found. */
int modules_read(struct modules *out, const struct beam_node *n, struct error *err);
void modules_free(struct modules *m);

/*
 * Reads one module again and again, so that the caller detects what affects calls of it: its code
 * is loaded, deleted, or made current by its on_load function, or its NIF library changes.  Mostly
 * costs three small reads of the node's memory.
 */
struct module_watch {
	uint64_t name; /* atom term */
	raddr at[3];   /* its entry in each table, by code index; 0 = not found yet */
};
/* Fills name, code, sizes, on_load and the fields of NIFs and old code.  -ENOENT: the active table
 * has no such module; -EAGAIN: another table became active meanwhile. */
int module_watch_read(struct module_watch *w, const struct beam_node *n, struct module *out);

/* The active code index, 0 to 2; negative errno. */
int code_index_active(const struct beam_node *n);

#endif
