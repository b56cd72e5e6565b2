/* SPDX-License-Identifier: BSD-2-Clause */
/* Shared by the files of the resolver only. */
#ifndef EBEAM_BEAM_RESOLVE_INTERNAL_H
#define EBEAM_BEAM_RESOLVE_INTERNAL_H

#include "base/keytab.h"
#include "base/vec.h"
#include "beam/code/callsite.h"
#include "beam/code/jit.h"
#include "beam/resolve/kind.h"
#include "beam/resolve/resolve.h"
#include "beam/term/pid.h"
#include "beam/term/term.h"
#include "beam/vm/lock_places.h"
#include "target/kallsyms.h"
#include "target/unwind.h"

#define FRAME_CACHE_SIZE 8192 /* a power of two; direct mapped */

/* Cached frame of an address in JIT code. */
struct cached_frame {
	raddr addr;
	uint32_t serial; /* of the module instance; 0 = empty */
	uint32_t frame;	 /* id in `names` */
	enum frame_kind kind;
	bool preamble;
	bool root; /* erts_beamasm:normal_exit/0: the bottom of every stack */
};

/* Facts of an Erlang process, from the last record of it. */
struct known_process {
	uint64_t epid;
	uint32_t pid, registered, label; /* ids of strings in `names` */
	uint32_t initial_call;		 /* id of a function in `names` */
};

#define PROCESS_SET_MAX (1u << 19) /* limit of processes in `recent`, and in `older` */

struct known_thread {
	int os_tid;
	uint32_t id;
	enum thread_type type;
	uint16_t scheduler;
};

/* Reason why a native stack ends. */
enum native_end {
	NATIVE_NONE,	  /* no stack was copied */
	NATIVE_WHOLE,	  /* it reaches the call from JIT code, or the thread's start */
	NATIVE_TRUNCATED, /* deeper than the part that was copied */
	NATIVE_TOO_DEEP,  /* more frames than EBEAM_NATIVE_FRAMES */
	NATIVE_NO_CFI,	  /* code without call frame information */
	NATIVE_BROKEN,	  /* CFI that is not supported, or a wrong return address at the end */
};

struct native_stack {
	unsigned int nr;
	enum native_end end;
	raddr call_ra;			      /* return address in JIT code at its end; 0 = none */
	uint64_t saved;			      /* E, the Erlang stack pointer, saved in a register at
					   * that call */
	raddr addrs[EBEAM_NATIVE_FRAMES];     /* leaf first; an address inside of each function */
	uint32_t frames[EBEAM_NATIVE_FRAMES]; /* of these addresses, nr_named */
	unsigned int nr_named;
	struct native_kinds kinds; /* of frames[] */
};

struct beam_resolver {
	struct resolver base;
	struct beam_node *node;
	struct jit_code *jit;
	struct callsites *sites;
	struct kallsyms *kernel; /* NULL until used, or if /proc/kallsyms cannot be read */
	bool kernel_tried;
	struct id_format pids, ports;
	struct unwinder *unwinder;
	struct lock_places *locks;
	/* Copies for the next sample, if it is of the same time and thread. */
	struct rec_raw_cstack cstack;
	struct rec_raw_gap gap;
	struct native_stack native; /* of this sample */
	struct cached_frame frames[FRAME_CACHE_SIZE];
	struct keytab recent, older; /* of struct known_process; see known() */
	uint64_t label_second;	     /* second of the records' time */
	uint32_t label_waited_us;    /* time waited for labels in label_second */
	VEC(struct known_thread) threads;
	struct address_range ranges[EBEAM_JIT_RANGES];
	unsigned int nr_ranges;
	bool ranges_changed;
	const struct call_function *calls;
	unsigned int nr_calls;
	bool call_shapes;
	unsigned int call_text; /* limit of bytes of one term */
};

/* Frames of a sample while it is resolved, root first. */
struct frame_list {
	struct resolved_sample *out;
	bool unresolved;	   /* an address in JIT code is in no known function */
	enum sample_status status; /* of the raw sample, until missing frames are found */
	raddr saved_ra;		   /* of the raw sample, or found */
};

/* ---- resolve_frames.c ---- */
void frame_push(struct frame_list *l, uint32_t frame);
/* A frame without line: module and name as strings, kind and arity. */
uint32_t frame_of_name(struct names *names, const char *module, const char *name, int32_t arity,
		       enum frame_kind kind);
/* Frame of the JIT code at addr (not of a return address); NULL if no code is there. */
const struct cached_frame *frame_of_jit(struct beam_resolver *r, struct names *names, raddr addr);
/* Name of a kernel function, NULL if there is none. */
const char *kernel_name(struct beam_resolver *r, uint64_t addr);
uint32_t frame_of_kernel(struct beam_resolver *r, struct names *names, uint64_t addr);
/* The native function at addr; *symbol is its name if a symbol covers it, else NULL. */
uint32_t frame_of_native(struct beam_resolver *r, struct names *names, raddr addr,
			 const char **symbol);
uint32_t frame_of_mfa(struct beam_resolver *r, struct names *names, const uint64_t mfa[3],
		      enum frame_kind kind);
uint32_t function_of_mfa(struct beam_resolver *r, struct names *names, const uint64_t mfa[3],
			 enum frame_kind kind);
/* True if frame is the Erlang function mfa. */
bool frame_is_mfa(struct beam_resolver *r, struct names *names, uint32_t frame,
		  const uint64_t mfa[3]);
void frame_push_elided(struct names *names, struct frame_list *l, const struct rec_raw_sample *raw);

/* Before a frame: that it is there so many times more, with two significant digits. */
void frame_push_repeated(struct names *names, struct frame_list *l, uint64_t times);

/* ---- resolve.c ---- */
/* Frames of the leaf part, repeated ones included. */
uint64_t raw_leaf_frames(const struct rec_raw_sample *raw);
/* Pushes the frame of a word that BPF took for a return address, as it is between the lowest and
 * the highest address of JIT code; pushes nothing if it is none. */
void push_return(struct beam_resolver *r, struct names *names, struct frame_list *l, raddr ra);

/* ---- resolve_lock.c ---- */
/* The lock that a thread off its CPU waited for: pushes a frame with its name, and makes the kind
 * that of its class.  k: what the functions of its stack say. */
void resolve_lock(struct beam_resolver *r, struct names *names, struct frame_list *l,
		  const struct rec_raw_sample *raw, const struct native_kinds *k);

/* ---- resolve_event.c ---- */
int resolve_event(struct resolver *base, struct names *names, const struct rec_raw_event *raw,
		  struct resolved_event *out);

/* ---- resolve_call.c ---- */
int resolve_call(struct resolver *base, struct names *names, const struct rec_raw_call *raw,
		 struct resolved_call *out);

/* ---- resolve_native.c ---- */
void resolve_cstack(struct resolver *base, const struct rec_raw_cstack *raw);
/* Unwinds the C stack of the sample to r->native. */
void unwind_native(struct beam_resolver *r, const struct rec_raw_sample *raw);
/* Names its frames.  process: leaves out the loop that runs processes and its callers, if they have
 * names. */
void name_native(struct beam_resolver *r, struct names *names, bool process);
/* Drops the copied stack after its sample: a late record of its thread may have the same time. */
void forget_native(struct beam_resolver *r);
/* Pushes the named frames; if the stack is not complete, first a frame with the reason. */
void push_native(struct beam_resolver *r, struct names *names, struct frame_list *l);

/* ---- resolve_saved.c ---- */
void resolve_gap(struct resolver *base, const struct rec_raw_gap *raw);
/* Adds the frames between the actual stack pointer and the leaf part; sets saved_ra and status.  No
 * change if the stack pointer is not found. */
void resolve_saved(struct beam_resolver *r, struct names *names, struct frame_list *l,
		   const struct rec_raw_sample *raw);

/* ---- resolve_process.c ---- */
void resolve_process_record(struct resolver *base, struct names *names,
			    const struct rec_raw_process *raw);
uint32_t process_of_epid(struct beam_resolver *r, struct names *names, uint64_t epid);
/* Sets the function that a process starts with, until its initial call is known. */
void process_starts_with(struct beam_resolver *r, struct names *names, uint64_t epid,
			 uint32_t function);
const struct known_thread *thread_of_tid(struct beam_resolver *r, struct names *names, int os_tid,
					 enum thread_type type, uint16_t scheduler);

#endif
