/* SPDX-License-Identifier: BSD-2-Clause */
/* Where the events of the VM come from: which function, at its entry or its return, which BPF
 * program, and which registers hold the arguments that the program reads. */
#ifndef EBEAM_PROBE_SOURCES_H
#define EBEAM_PROBE_SOURCES_H

#include <stdbool.h>
#include <stdint.h>

#include "abi/record.h"
#include "abi/usdt.h"
#include "probe/site/functions.h"
#include "probe/site/placement.h"
#include "target/elf.h"
#include "target/proc.h"

/* Bit set: events of carriers, which two sets of functions can give: see carriers_by_callers. */
#define SOURCE_CARRIER_KINDS                                                                       \
	(1ull << EVENT_CARRIER_CREATE | 1ull << EVENT_CARRIER_DESTROY |                            \
	 1ull << EVENT_CARRIER_RESIZE | 1ull << EVENT_CARRIER_POOL_PUT |                           \
	 1ull << EVENT_CARRIER_POOL_GET)

#define SOURCE_MAX_POINTS  192
#define SOURCE_MAX_USDT	   96 /* as USDT_POINTS of event_usdt.bpf.h */
#define SOURCE_MAX_PATHS   8  /* files beside the node's executable */
#define SOURCE_PATH_SIZE   256
#define SOURCE_REASON_SIZE 352

/* One site to attach to: in a function (at its entry, at a cheaper instruction, or for its
 * return), or an instruction. */
struct source_point {
	const char *symbol;  /* name of the function that was found, or of the USDT probe */
	const char *program; /* BPF program */
	const char *args;    /* registers that the program reads: "di si dx"; NULL = "" */
	uint64_t kinds;	     /* bit set: kinds asked for that need the point */
	uint64_t gives;	     /* bit set: all kinds that its program can give */
	const char *path;    /* as ebeam can open it; NULL = the node's executable */
	uint64_t addr;	     /* of the function, in the file */
	bool at_return;
	bool is_instruction;	 /* not in a function: addr is not set */
	uint64_t offset;	 /* of the instruction, in the file */
	uint64_t ref_ctr_offset; /* of a USDT semaphore, in the file; 0 = none */
	uint64_t cookie;	 /* bpf_get_attach_cookie() of the program */
	struct placement site;	 /* how the instruction is probed; all zero = not known */
};

struct source_plan {
	struct source_point points[SOURCE_MAX_POINTS];
	unsigned int nr_points;
	bool carriers_by_callers;		 /* and not by pointers of allocators */
	uint64_t kinds;				 /* bit set: kinds that these points give */
	uint64_t usdt_kinds;			 /* subset of `kinds`: from USDT probes */
	struct usdt_point usdt[SOURCE_MAX_USDT]; /* by the cookie of their points */
	unsigned int nr_usdt;
	/* For kinds that were asked for and are not available: the function that they need, else
	 * NULL; and why it cannot be probed, "" if it has no symbol. */
	const char *missing[NR_EVENT_KINDS];
	char refused[NR_EVENT_KINDS][SOURCE_REASON_SIZE];
	uint64_t unsafe_kinds; /* missing kinds that are refused for a fault of the kernel */
	/* Strings that points refer to; they must live as long as copies of the points. */
	char paths[SOURCE_MAX_PATHS][SOURCE_PATH_SIZE];
	unsigned int nr_paths;
	unsigned int unwatched; /* callbacks of drivers that have no probe */
};

/* Which source to use for a kind that uprobes and USDT probes can both give. */
enum source_choice {
	SOURCE_AUTO, /* USDT if that is cheaper or richer */
	SOURCE_UPROBE,
	SOURCE_USDT,
};

/* Adds a point; its strings must live as long as the plan.  False = there are SOURCE_MAX_POINTS. */
bool source_plan_add(struct source_plan *p, const struct source_point *point);

/* Path of a mapped file, as ebeam can open it, kept in the plan; NULL if it cannot be opened, or
 * there are too many files. */
const char *source_plan_path(struct source_plan *p, int os_pid, const struct proc_map *map);
/* Removes the points of a program that the command can do without. */
void source_plan_leave_out(struct source_plan *p, const char *program);

/* Marks kinds as not available, as they need `symbol`, which must live as long as the plan;
 * `why` is copied.  Kinds that were refused before keep their reason. */
void source_plan_refuse(struct source_plan *p, uint64_t kinds, const char *symbol, const char *why);
/* Like source_plan_refuse(), and removes the points that no other kind needs. */
void source_plan_take_out(struct source_plan *p, uint64_t kinds, const char *symbol,
			  const char *why);
/* Like source_plan_take_out(), with SOURCE_TOO_MANY as reason: source_plan_add() found no room. */
#define SOURCE_TOO_MANY "too many probes"
void source_plan_full(struct source_plan *p, uint64_t kinds, const char *symbol);
/* Like source_plan_take_out(), for all kinds that need this BPF program; false: none does. */
bool source_plan_drop(struct source_plan *p, const char *program, const char *why);

/* Plans what to attach for these kinds; for drivers see driver_sources.h. */
void source_plan(struct source_plan *out, struct functions *f, uint64_t kinds,
		 enum source_choice choice);
/* A plan of uprobes as if all functions of that release were found; its points have no address. */
void source_plan_everything(struct source_plan *out, int otp);
void source_plan_of_node(struct source_plan *out, const struct beam_node *n, uint64_t kinds,
			 enum source_choice choice);
/* Removes points that are not needed to count events of all processes; `sums`: with their sizes and
 * times. */
void source_plan_count(struct source_plan *p, bool sums);
/* Why a kind is missing: "no symbol erts_a", "erts_a: WHY". */
void source_missing(const struct source_plan *p, enum event_kind kind, char *buf, size_t size);
/* PLACEMENT_* of the registers "di si dx". */
unsigned int source_arguments(const char *args);
/* A function that was found in a running node, by a pointer in a struct of its VM.  Several
 * functions may have one name, and each is probed.  Rows in sources.c whose name has a dot are for
 * such functions; their kinds are missing without them. */
struct source_found {
	const char *name; /* "Allctr_t.mseg_alloc" */
	uint64_t addr;	  /* in the file */
};
/* Adds the points at these functions for those of `kinds` that they give. */
void source_plan_found(struct source_plan *p, const struct elf_file *elf, uint64_t kinds,
		       const struct source_found *found, size_t nr);

/* Plans all that a node gives of these kinds: by symbols and recipes, by calls of drivers, and by
 * pointers in it.  Unless `force`, without return probes if they might kill it (return_trial.h). */
struct beam_node;
void source_plan_node(struct source_plan *out, struct beam_node *n, uint64_t kinds,
		      enum source_choice choice, bool force);

/* The functions that a kind needs, as a list "a, b" into buf. */
void source_functions(enum event_kind kind, char *buf, size_t size);

/* Names of the i-th function that events need, followed by NULLs, and what is needed of it; false =
 * i is past the last.  The same function may come several times. */
struct source_function {
	const char *symbols[3];
	struct placement_request request;
	bool returns; /* its return is probed too */
};
bool source_function(unsigned int i, struct source_function *out);

/* How many of these functions a node has, and how the kernel runs the instructions at their
 * sites. */
struct source_sites {
	unsigned int found, emulated, stepped, refused;
	char stepped_names[160]; /* "erts_a, erts_b"; both lists may be truncated */
	char refused_names[512]; /* with their reasons: "erts_a (why); erts_b (why)" */
};
void source_sites(struct source_sites *out, const struct beam_node *n);

#endif
