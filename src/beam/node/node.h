/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * One BEAM node, seen from outside: who it is, where its tables stand, how its structs are laid
 * out.  All that reads a node starts from a struct beam_node; node_open.h fills it.
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

/* From the executable and its memory, before any layout is needed. */
struct beam_identity {
	int own_otp;	   /* release: 24 to 29 */
	char otp_text[32]; /* "25" */
	int otp; /* the release by whose facts (term tags, ids, flags) it is read: its own, or the
		  * nearest that is known; see untested in struct beam_node */
	char erts[32];	   /* "13.1.5" */
	bool jit;	   /* flavour: jit or emu */
	bool native_stack; /* Erlang stack in rsp */
	bool vm_probes;	   /* USDT probes compiled in (changes struct layouts up to OTP 26) */
	bool stripped;	   /* no .symtab */
	bool hidden;	   /* VM symbols are not exported (OTP 29) */
	bool lock_counting, debug; /* builds with other layouts, which only DWARF tells */
};

/* "jit" or "emu", as erlang:system_info(emu_flavor) says. */
static inline const char *beam_flavor(const struct beam_identity *id)
{
	return id->jit ? "jit" : "emu";
}

/* Addresses in the process; 0 = not found (yet). */
struct beam_anchors {
	raddr proc_tab;	      /* erts_proc */
	raddr port_tab;	      /* erts_port */
	raddr atom_table;     /* erts_atom_table */
	raddr this_node_ptr;  /* erts_this_node, the variable: naming the node changes its value */
	raddr this_node;      /* the ErlNode that it held when the node was opened */
	raddr jit_descriptor; /* __jit_debug_descriptor */
	raddr jit_register;   /* __jit_debug_register_code: where a uprobe sees code come and go */
	raddr normal_exit;    /* what beam_normal_exit holds: OTP 24 and the interpreter, where no
			     * record tells; else 0 */
	raddr frame_layout;   /* erts_frame_layout (int): 0 RA, 1 FP_RA; 0 = no such variable */
	raddr bif_table;      /* bif_table[], BEAM_BIF_* below */
	uint32_t nr_bifs;     /* its entries */
	raddr module_code;    /* module_tables[3]: IndexTables of Module, one per code index */
	raddr export_table;   /* export_tables[3]: IndexTables of Export; OTP 29 keeps exports in
				* another kind of table: 0 there */
	raddr active_code_ix; /* the_active_code_index (u32): which of the three tables is in use */
	raddr staged_exports; /* the same since OTP 28: export_tables[3] of staged entries */
	raddr staged_funs;    /* fun_tables[3], likewise; 0 up to OTP 27 */
	raddr fun_table;      /* erts_fun_table, a Hash; 0 since OTP 28 */
	raddr code_ranges;    /* r[3] of beam_ranges.c: where the code of modules stands */
	raddr code_size;      /* erts_total_code_size; hidden in OTP 29: 0 there */
	raddr ets_misc;	      /* erts_ets_misc_mem_size */
	raddr allocators;     /* erts_allctrs_info[]: ErtsAllocatorInfo_t by allocator's number */
	raddr dist_table;     /* erts_dist_table: a Hash of DistEntry */
	raddr clock; /* {Erlang time, kernel's time} in ns when the clock was last corrected;
		      * 0 with time correction off */
	raddr sched, dirty_cpu, dirty_io; /* arrays of aligned scheduler data */
	uint32_t nr_sched, nr_dirty_cpu, nr_dirty_io;
	/* By vm_counters_find() only. */
	raddr dirty_gc;	 /* dirty_gc.info: what dirty schedulers collected */
	raddr ets_limit; /* db_max_tabs (int) */
	bool counters_sought;
};

/*
 * BifEntry {Eterm module, name; int arity; BifFunction f, traced; enum kind} as
 * erts/emulator/utils/make_tables writes it, OTP 24 to 29: too plain a struct to be in the layout.
 * Before the node has booted module and name are not atoms yet.
 */
#define BEAM_BIF_SIZE	  48
#define BEAM_BIF_MODULE	  0
#define BEAM_BIF_NAME	  8
#define BEAM_BIF_ARITY	  16 /* u32 */
#define BEAM_BIF_FUNCTION 24 /* the C function that runs */

/* One line of the layout check: every check has a name, passes or says what it saw. */
struct beam_check {
	const char *name; /* "process 0 is registered as init" */
	bool ok;
	bool absent; /* ok only because the core file is cut short and may lack what it looks at */
	char seen[160];
};
#define BEAM_MAX_CHECKS 40

/* Limits of +P and +Q: the sizes that process and port tables can have. */
#define BEAM_MIN_PTAB 1024
#define BEAM_MAX_PTAB (1u << 27)

/* The texts of the first atoms, added up once: atoms stay as they are.  Of beam/vm/memory.c. */
struct beam_atom_texts {
	uint32_t nr;	  /* atoms added up */
	uint64_t used;	  /* bytes of texts that were copied */
	uint64_t buffers; /* that hold them */
	raddr end;	  /* of the last one */
};

/* Distinct objects of three tables of code, counted when they were as here.  Of
 * beam/vm/memory_code.c. */
struct beam_staged_count {
	raddr tables; /* 0 = not counted yet */
	uint32_t entries[3];
	raddr last[3]; /* the newest entries */
	uint64_t objects;
};

struct beam_node {
	int os_pid;		/* of a core file: what it had; 0 = unknown */
	int pidfd;		/* of this very process, whoever has its number now; -1 = none */
	struct core_file *core; /* NULL: a live process */
	struct mem *mem;
	struct objects *objects;
	struct elf_file *elf;	     /* the executable; owned by objects */
	char exe[OBJECTS_PATH_SIZE]; /* a path that opens it; of a core file "" */
	uint64_t bias;		     /* process address = file address + bias */
	struct beam_identity identity;
	struct beam_anchors anchors;
	struct beam_layout layout;
	unsigned int how;	 /* it was opened: enum beam_open of node_open.h */
	char layout_origin[128]; /* "DWARF of /usr/lib/debug/...", "table otp25" */
	char untested[64];	 /* "" = release and build are known; else how it is read all the
				  * same: "by DWARF, untested release" */
	struct beam_check checks[BEAM_MAX_CHECKS];
	unsigned int nr_checks;
	struct beam_atoms *atoms; /* NULL if the release has no layout */
	struct beam_atom_texts atom_texts;
	struct beam_staged_count exports_count, funs_count;
	char unsupported[512]; /* why not supported, "" = it is; see beam_node_unsupported() */
	const char *fix;       /* of that; NULL = none is known */
};

/* What is known of the process, whatever runs in it: "up 3 h, 82 MB in memory"; "" = nothing. */
const char *beam_node_process(const struct beam_node *n, char *buf, size_t size);
/* False once the process has ended: its number may belong to another since.  A core is. */
bool beam_node_is_there(const struct beam_node *n);
/* The process has ended, or ends within `timeout_ms`: its memory goes a moment before it does, by
 * far less than BEAM_NODE_EXIT_MS. */
enum { BEAM_NODE_EXIT_MS = 100 };
bool beam_node_exits(const struct beam_node *n, int timeout_ms);
/* What messages call it: "pid 4711", or the path of its core file.  buf is for the former. */
const char *beam_node_title(const struct beam_node *n, char *buf, size_t size);
/* Fills err; returns rc, negative, with which `what` ("process table") could not be read: the node
 * has exited (ERROR_KIND_NO_NODE), or why not. */
int beam_node_unreadable(const struct beam_node *n, const char *what, int rc, struct error *err);
/* Likewise: ERROR_KIND_UNSUPPORTED, as `what` was not found in this build.  -ENOTSUP. */
int beam_node_lacks(const struct beam_node *n, const char *what, struct error *err);
/* NULL if the node is supported, else why not (valid until close). */
const char *beam_node_unsupported(const struct beam_node *n);
/* The same with what would help, for people; "" if the node is supported. */
char *beam_node_refusal(const struct beam_node *n, char *buf, size_t size);
enum { BEAM_NODE_REFUSAL_SIZE = 1024 };

#endif
