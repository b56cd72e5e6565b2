/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Where the events of the VM come from: which function of which symbol, at its entry or its return,
 * which BPF program, and which registers hold what that program reads.
 */
#ifndef EBEAM_PROBE_SOURCES_H
#define EBEAM_PROBE_SOURCES_H

#include <stdbool.h>
#include <stdint.h>

#include "abi/record.h"
#include "abi/usdt.h"
#include "probe/site/functions.h"
#include "probe/site/placement.h"
#include "target/elf.h"

#define SOURCE_MAX_POINTS  192
#define SOURCE_MAX_USDT	   96 /* as USDT_POINTS of event_usdt.bpf.h */
#define SOURCE_MAX_PATHS   8  /* files beside the node's executable */
#define SOURCE_PATH_SIZE   256
#define SOURCE_REASON_SIZE 352

/*
 * One site to attach to: a function (its entry, or where it is cheap, or its return), or an
 * instruction.
 */
struct source_point {
	const char *symbol;  /* as found; for an instruction, the name of what it is */
	const char *program; /* BPF program */
	const char *args;    /* registers that it reads: "di si dx"; NULL = "" */
	uint64_t kinds;	     /* bit set: those asked for that need it; source_plan() sets it */
	uint64_t gives;	     /* all that its program can give, asked for or not */
	const char *path;    /* as ebeam can open it; NULL = the node's executable */
	uint64_t addr;	     /* of the function, in the file */
	bool at_return;
	bool is_instruction;	 /* no function: there is no addr */
	uint64_t offset;	 /* of the instruction, from the beginning of the file */
	uint64_t ref_ctr_offset; /* of a USDT semaphore, in the file; 0 = none */
	uint64_t cookie;	 /* bpf_get_attach_cookie() of the program */
	struct placement site;	 /* what is known of the instruction; all zero = nothing */
};

struct source_plan {
	struct source_point points[SOURCE_MAX_POINTS];
	unsigned int nr_points;
	uint64_t kinds;				 /* bit set: those that these points give */
	uint64_t usdt_kinds;			 /* of these, those that come from USDT probes */
	struct usdt_point usdt[SOURCE_MAX_USDT]; /* by the cookie of their points */
	unsigned int nr_usdt;
	/* Of kinds that were asked for and are not given: the function that they need, and why it
	 * cannot be probed, "" if it has no symbol.  Else NULL. */
	const char *missing[NR_EVENT_KINDS];
	char refused[NR_EVENT_KINDS][SOURCE_REASON_SIZE];
	uint64_t unsafe_kinds; /* of these, those for which a fault of the kernel is why */
	/* What points refer to, which live as long as this plan: a copy refers to them, too. */
	char paths[SOURCE_MAX_PATHS][SOURCE_PATH_SIZE];
	unsigned int nr_paths;
	unsigned int unwatched; /* callbacks of drivers that cannot be watched */
};

/* Where a kind comes from that both can give. */
enum source_choice {
	SOURCE_AUTO, /* USDT if that is cheaper or richer */
	SOURCE_UPROBE,
	SOURCE_USDT,
};

/* Adds a point, whose strings live as long as the plan; false = there are SOURCE_MAX_POINTS. */
bool source_plan_add(struct source_plan *p, const struct source_point *point);

/* These kinds are not given: symbol is what they need.  Both live as long as the plan; `why` is
 * copied.  What was refused before keeps its reason. */
void source_plan_refuse(struct source_plan *p, uint64_t kinds, const char *symbol, const char *why);
/* The same, and points that only they need go. */
void source_plan_take_out(struct source_plan *p, uint64_t kinds, const char *symbol,
			  const char *why);
/* That, when source_plan_add() found no room. */
#define SOURCE_TOO_MANY "too many probes"
void source_plan_full(struct source_plan *p, uint64_t kinds, const char *symbol);
/* The same for kinds that need this BPF program; false: none does. */
bool source_plan_drop(struct source_plan *p, const char *program, const char *why);

/* What to attach for these kinds; for calls of drivers see driver_sources.h. */
void source_plan(struct source_plan *out, struct functions *f, uint64_t kinds,
		 enum source_choice choice);
/* As of a node of that release in which all is found, by uprobes: points that stand nowhere. */
void source_plan_everything(struct source_plan *out, int otp);
void source_plan_of_node(struct source_plan *out, const struct beam_node *n, uint64_t kinds,
			 enum source_choice choice);
/* Leaves out the points that nobody needs who only counts events, of all processes; with sums of
 * their sizes and times or without. */
void source_plan_count(struct source_plan *p, bool sums);
/* Why a kind is missing: "no symbol erts_a", "erts_a: WHY". */
void source_missing(const struct source_plan *p, enum event_kind kind, char *buf, size_t size);
/* PLACEMENT_* of the registers "di si dx". */
unsigned int source_arguments(const char *args);
/*
 * A function that was found in a running node, as a struct of its VM points to it; several may have
 * one name, and each is probed.  Rows whose name has a dot are of such functions; without them
 * their kinds are missing.
 */
struct source_found {
	const char *name; /* "Allctr_t.mseg_alloc" */
	uint64_t addr;	  /* in the file */
};
/* Adds to a plan what of these kinds such functions give. */
void source_plan_found(struct source_plan *p, const struct elf_file *elf, uint64_t kinds,
		       const struct source_found *found, size_t nr);

/* All that a node gives of these kinds: by symbol, calls of drivers, found in it; unless `force`,
 * without what might be its end (return_trial.h). */
struct beam_node;
void source_plan_node(struct source_plan *out, struct beam_node *n, uint64_t kinds,
		      enum source_choice choice, bool force);

/* The functions that a kind needs, as a list "a, b" into buf. */
void source_functions(enum event_kind kind, char *buf, size_t size);

/* Names of the i-th function of the table, NULLs behind them, and what is needed of it; false =
 * there are no more.  The same function may come several times. */
struct source_function {
	const char *symbols[3];
	struct placement_request request;
	bool returns; /* its return is probed too */
};
bool source_function(unsigned int i, struct source_function *out);

/* How many functions of the table a node has, and what a uprobe on them costs there. */
struct source_sites {
	unsigned int found, emulated, stepped, refused;
	char stepped_names[160]; /* "erts_a, erts_b"; both lists may be cut */
	char refused_names[512]; /* with their reasons: "erts_a (why); erts_b (why)" */
};
void source_sites(struct source_sites *out, const struct beam_node *n);

#endif
