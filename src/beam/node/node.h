/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * One BEAM node, seen from outside: its identity, the addresses of its tables, and the layout of
 * its structs.  All code that reads a node starts from a struct beam_node; node_open.h fills it.
 */
#ifndef EBEAM_BEAM_NODE_H
#define EBEAM_BEAM_NODE_H

#include <stdbool.h>
#include <stdint.h>

#include "abi/layout.h"
#include "base/error.h"
#include "target/elf.h"
#include "target/mem.h"
#include "target/objects.h"

/* What the executable file shows; reading it needs no layout. */
struct beam_identity {
	int own_otp;	   /* release: 24 to 29 */
	char otp_text[32]; /* "25" */
	int otp; /* the release by whose facts (term tags, ids, flags) the node is read: its own,
		  * or the nearest known one; see untested in struct beam_node */
	char erts[32];	   /* "13.1.5" */
	bool jit;	   /* emulator flavour: jit; false: emu */
	bool native_stack; /* JIT code has the Erlang stack pointer in rsp */
	bool vm_probes;	   /* USDT probes compiled in (changes struct layouts up to OTP 26) */
	bool stripped;	   /* no .symtab */
	bool hidden;	   /* VM symbols are not exported (OTP 29) */
	bool lock_counting, debug; /* builds whose layout is only known from DWARF */
};

/* "jit" or "emu", as erlang:system_info(emu_flavor) says. */
static inline const char *beam_flavor(const struct beam_identity *id)
{
	return id->jit ? "jit" : "emu";
}

/* Addresses of the VM's tables and variables in the memory of the node; 0 = not found (yet). */
struct beam_anchors {
	raddr proc_tab;	      /* erts_proc */
	raddr port_tab;	      /* erts_port */
	raddr atom_table;     /* erts_atom_table */
	raddr this_node_ptr;  /* erts_this_node, the variable: naming the node changes its value */
	raddr this_node;      /* the ErlNode to which it pointed when the node was opened */
	raddr jit_descriptor; /* __jit_debug_descriptor */
	raddr jit_register;   /* __jit_debug_register_code: probe site, called at each change */
	raddr normal_exit;    /* value of beam_normal_exit, the bottom return address of a stack, if
			       * no JIT record has it (OTP 24, interpreter); else 0 */
	raddr frame_layout;   /* erts_frame_layout (int), 1 if frames have frame pointers */
	raddr bif_table;      /* bif_table[], BEAM_BIF_* below */
	uint32_t nr_bifs;     /* number of entries in bif_table */
	raddr module_code;    /* module_tables[3]: IndexTables of Module, one per code index */
	raddr export_table;   /* export_tables[3]: IndexTables of Export; 0 in OTP 29, whose
			       * exports are in another kind of table */
	raddr active_code_ix; /* the_active_code_index (u32): index in these arrays in use */
	raddr staged_exports; /* since OTP 28: export_tables[3] of staged entries */
	raddr staged_funs;    /* fun_tables[3] of staged entries; 0 up to OTP 27 */
	raddr fun_table;      /* erts_fun_table, a Hash; 0 since OTP 28 */
	raddr code_ranges;    /* r[3] of beam_ranges.c: address ranges of the modules' code */
	raddr code_size;      /* erts_total_code_size; hidden in OTP 29: 0 there */
	raddr ets_misc;	      /* erts_ets_misc_mem_size */
	raddr allocators;     /* erts_allctrs_info[]: ErtsAllocatorInfo_t by allocator's number */
	raddr dist_table;     /* erts_dist_table: a Hash of DistEntry */
	raddr clock; /* {Erlang time, kernel's time} in ns at the last correction of the node's
		      * clock; 0 = not found */
	raddr sched, dirty_cpu, dirty_io; /* arrays of ErtsAlignedSchedulerData */
	uint32_t nr_sched, nr_dirty_cpu, nr_dirty_io;
	/* Set by vm_counters_find() only. */
	raddr dirty_gc;	 /* dirty_gc.info: counts of GCs on dirty schedulers */
	raddr ets_limit; /* db_max_tabs (int) */
	bool counters_sought;
};

/*
 * BifEntry {Eterm module, name; int arity; BifFunction f, traced; enum kind} as written by
 * erts/emulator/utils/make_tables, OTP 24 to 29: the same offsets in all of them, so they are not
 * in struct beam_layout.  Until the node has booted module and name are not atoms yet.
 */
#define BEAM_BIF_SIZE	  48
#define BEAM_BIF_MODULE	  0
#define BEAM_BIF_NAME	  8
#define BEAM_BIF_ARITY	  16 /* u32 */
#define BEAM_BIF_FUNCTION 24 /* the C function that runs */

/* Result of one check of the layout: passed, or what was read instead (`seen`). */
struct beam_check {
	const char *name; /* "process 0 is registered as init" */
	bool ok;
	bool absent; /* ok only because the core file is truncated and may lack the memory */
	char seen[160];
};
#define BEAM_MAX_CHECKS 40

/* Limits of +P and +Q: the sizes that process and port tables can have. */
#define BEAM_MIN_PTAB 1024
#define BEAM_MAX_PTAB (1u << 27)

/* Size of the texts of the first atoms; counted once, as atoms do not change.  Used by
 * beam/vm/memory.c. */
struct beam_atom_texts {
	uint32_t nr;	  /* number of atoms counted */
	uint64_t used;	  /* bytes of their texts */
	uint64_t buffers; /* number of buffers that hold the texts */
	raddr end;	  /* end of the last text */
};

/* Number of distinct objects (exports or funs) in the three tables of staged entries: a cache,
 * valid while the tables still have these entries.  Used by beam/vm/memory_code.c. */
struct beam_staged_count {
	raddr tables; /* their address; 0 = not counted yet */
	uint32_t entries[3];
	raddr last[3]; /* newest entry of each table */
	uint64_t objects;
};

struct function_names;

struct beam_node {
	int os_pid;		/* of a core file: pid of the process that dumped it; 0 = unknown */
	int pidfd;		/* refers to this process even after its pid is reused; -1 = none */
	struct core_file *core; /* NULL: a live process */
	struct mem *mem;
	struct objects *objects;
	struct elf_file *elf;	     /* the executable; owned by objects */
	char exe[OBJECTS_PATH_SIZE]; /* a path that opens the executable; "" for a core file */
	uint64_t bias;		     /* process address = file address + bias */
	struct function_names *function_names; /* target/function_names.h */
	/* Which names `objects` has (beam/resolve/native_function.c): of the first so many files of
	 * function_names. */
	size_t nr_files_named;
	bool imports_named;
	struct beam_identity identity;
	struct beam_anchors anchors;
	struct beam_layout layout;
	unsigned int how;	 /* bits of enum beam_open (node_open.h): how it was opened */
	char layout_origin[128]; /* "DWARF of /usr/lib/debug/...", "table otp25" */
	char untested[64];	 /* "" = release and build are known; else how the node is read
				  * nevertheless: "by DWARF, untested release" */
	struct beam_check checks[BEAM_MAX_CHECKS];
	unsigned int nr_checks;
	struct beam_atoms *atoms; /* NULL if the release has no layout */
	struct beam_atom_texts atom_texts;
	struct beam_staged_count exports_count, funs_count;
	char unsupported[512]; /* why the node is not supported, "" = it is; see
			        * beam_node_unsupported() */
	const char *fix;       /* what the user can do about `unsupported`; NULL = unknown */
};

/* Uptime and resident memory of the operating system process: "up 3 h, 82 MB in memory"; "" for a
 * core file, or if /proc cannot be read. */
const char *beam_node_process(const struct beam_node *n, char *buf, size_t size);
/* False once the process has exited: its pid may have been reused.  True for a core file. */
bool beam_node_is_there(const struct beam_node *n);
/* Has the process exited, or does it exit within `timeout_ms`?  Its memory is freed shortly before
 * its exit is visible, by far less than BEAM_NODE_EXIT_MS. */
enum { BEAM_NODE_EXIT_MS = 100 };
bool beam_node_exits(const struct beam_node *n, int timeout_ms);
/* Name of the node in messages: "pid 4711" (written to buf), or the path of its core file. */
const char *beam_node_title(const struct beam_node *n, char *buf, size_t size);
/* Fills err and returns rc, the negative errno with which `what` ("process table") could not be
 * read: ERROR_KIND_NO_NODE if the node has exited, else the reason. */
int beam_node_unreadable(const struct beam_node *n, const char *what, int rc, struct error *err);
/* Fills err with ERROR_KIND_UNSUPPORTED: `what` was not found in this build.  Returns -ENOTSUP. */
int beam_node_lacks(const struct beam_node *n, const char *what, struct error *err);
/* NULL if the node is supported, else why not (valid until close). */
const char *beam_node_unsupported(const struct beam_node *n);
/* The same with what the user can do about it, as one message; "" if the node is supported. */
char *beam_node_refusal(const struct beam_node *n, char *buf, size_t size);
enum { BEAM_NODE_REFUSAL_SIZE = 1024 };

#endif
