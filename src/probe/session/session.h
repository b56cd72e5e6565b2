/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * One run of probes on one node: load, attach, read, detach.  Owns the BPF object, its links, the
 * perf events and the rings; closing it, or the end of the process however it comes, leaves
 * nothing behind in the kernel.
 *
 * Order:  open (loads)  ->  watch_code, set_code, add_thread ...  ->  start  ->  source  ->  stop
 * ->  source until it is dry  ->  close.
 */
#ifndef EBEAM_PROBE_SESSION_H
#define EBEAM_PROBE_SESSION_H

#include <stdbool.h>
#include <stdint.h>

#include "abi/config.h"
#include "abi/record.h"
#include "base/error.h"
#include "event/source.h"
#include "probe/attach/attach.h"
#include "probe/limit/controller.h"
#include "probe/site/sources.h"

struct session_config {
	int os_pid;
	const char *exe;	 /* opens the node's executable; borrowed until session_close() */
	unsigned int freq;	 /* Hz, 1 .. 4999; 0 = no sampling */
	bool frame_pointers;	 /* the node keeps FP_RA frames */
	bool c_stack;		 /* its JIT code runs on the C stack */
	bool interpreted;	 /* it has no JIT code */
	uint64_t jit_descriptor; /* 0 = code loading cannot be watched */
	uint64_t literal_area;	 /* literal_area_find(); 0 = not known */
	struct dictionary_key initial_call, process_label;
	const struct beam_layout *layout;
	/* Events of the VM; NULL = none.  Borrowed until session_close(), as is the file.  Kinds
	 * whose programs the kernel refuses are taken out of it when it is opened. */
	struct source_plan *events;
	const struct elf_file *elf; /* the node's executable */
	struct mem *mem;	    /* its memory, and where that file is in it */
	uint64_t bias;
	struct id_table processes, ports; /* of the node: for USDT probes and for aliases */
	uint64_t event_epid;		  /* only those about this process; 0 = all */
	struct event_who event_who, message_from, message_to; /* see abi/config.h */
	uint64_t proc_lib;				      /* the atom; 0 = there is none */
	enum attach_way attach_way;
	const char *btf;  /* file, see programs.h; NULL = the kernel's own */
	bool force;	  /* uprobes even where they are not known to be safe */
	bool no_realtime; /* the budget is kept by a thread that waits its turn, as all do */
	bool event_stacks;
	bool unnamed;		    /* nobody asks for names, nor for what terms are */
	bool counting;		    /* nor for events: only for their numbers, unnamed */
	bool own_times;		    /* programs measure what they take, not the kernel */
	bool count_sums;	    /* with sizes and times, see struct event_count */
	double max_overhead;	    /* percent of the node's own CPU, for probes; 100 = no limit */
	uint64_t gc_longer_than_ns; /* only collections that took longer; 0 = all */
	uint64_t longer_than_ns;    /* of long_gc and long_schedule */
	uint32_t inet_received;	    /* ports_inet_received() */
	/* Calls of functions: for breakpoints, which are the caller's (breakpoints.h). */
	bool calls;
	bool calls_beside; /* without events they are not worth a run */
	bool call_stacks;  /* of some, the stack of the callers */
	unsigned int otp;
	unsigned int call_words, call_depth; /* limits of what is copied with a call */
};

/* Events come this much later, in order of time: the beginning of a collection is known when it
 * ends, and must come before what came between. */
#define SESSION_WINDOW_NS 100000000u
/* Calls come in no other order than they were made, of all CPUs: where they are all there is, soon
 * seen is better. */
#define SESSION_CALL_WINDOW_NS 5000000u

/* Bytes of the ring of a CPU, for events: 300,000 a second of it, for 150 ms.  Smaller where there
 * are many CPUs. */
#define SESSION_RING_SIZE (8u << 20)

struct session;
struct bpf_program;

/* Why there is none in another PID namespace. */
#define SESSION_PID_NAMESPACE                                                                      \
	"BPF programs see the pids of the host, ebeam those of its own PID namespace. Run ebeam "  \
	"on the host, or in a container with --pid=host"

/* ERROR_KIND_PRIVILEGE, ERROR_KIND_KERNEL (what the kernel lacks) or ERROR_KIND_FAILED. */
int session_open(struct session **out, const struct session_config *config, struct error *err);
void session_close(struct session *s);

/* Uprobe at a file offset of the node's executable: sees code being loaded and unloaded. */
int session_watch_code(struct session *s, uint64_t exe_offset, struct error *err);
/* Where JIT code is. */
struct session_code {
	const struct address_range *mappings; /* at most EBEAM_JIT_RANGES, more are merged */
	unsigned int nr_mappings;
	struct address_range fragments; /* the shared fragments, inside a mapping */
	uint64_t normal_exit; /* return address at the bottom of every stack; 0 = unknown */
	uint64_t thread_data; /* see struct probe_state */
};
/* May be called again while running. */
void session_set_code(struct session *s, const struct session_code *code);
/* A scheduler thread that is already known, by its thread pointer. */
int session_add_thread(struct session *s, uint64_t thread_pointer, const struct thread_info *info,
		       struct error *err);

/* To be called now and then while it runs: forgets threads that ended. */
void session_update(struct session *s);

/* What call_probes.h and breakpoints.h need; false if the session is without calls, or the kernel
 * refuses their programs (config.calls_beside). */
struct call_programs {
	int breakpoint, points, filters, site_hits; /* descriptors */
};
bool session_call_programs(struct session *s, struct call_programs *out);
/*
 * Of such a session, once, before session_start(): probes on C functions, which go on and off
 * within a budget as those of events do (EVENT_CALLS).  ERROR_KIND_FAILED.
 */
struct session_calls {
	const struct source_point *points; /* borrowed until session_stop() */
	unsigned int nr;
	double max_overhead; /* percent of the node's own CPU, for these and those of events */
	unsigned int rate;   /* hits a second and scheduler, beside that */
};
int session_add_calls(struct session *s, const struct session_calls *calls, struct error *err);
/* What a hit of one of them takes of the node, on average so far; 0 = not known. */
unsigned int session_call_hit_ns(const struct session *s);

/* Nothing newer comes out of the source until that is set again, or stopped: what is to be known
 * before it is known up to then. */
void session_hold(struct session *s, uint64_t until_ns);

/* Called with each record as soon as it is found, too: in no order, and not held. */
void session_peek(struct session *s, void (*peek)(void *ctx, const struct rec_header *rec),
		  void *ctx);

/* Sampling on every online CPU, probes of events. */
int session_start(struct session *s, struct error *err);
/* From now on one sample of `weight` that the first frequency would give is taken; while it runs.
 * Since when (CLOCK_MONOTONIC): all CPUs do. */
uint64_t session_sample_less(struct session *s, unsigned int weight);
void session_stop(struct session *s);		  /* detaches; records stay readable */
struct source *session_source(struct session *s); /* owned by the session */

/* Sum over CPUs of a counter of the BPF side; user-side ones as far as the session knows them. */
uint64_t session_counter(struct session *s, enum counter_id id);

/* What the probes of events took of the node, up to session_stop() or now; false if that is not
 * known, and the budget not kept: then *why (NULL ok) says so. */
bool session_event_cost(struct session *s, struct controller_cost *out, const char **why);

/* What of that spent_ns the probes of one kind took; *kinds (bit set) are those that need them,
 * this one among them.  0 if it is not known. */
uint64_t session_kind_ns(struct session *s, enum event_kind kind, uint64_t *kinds);

/* Sum over CPUs for one kind of event. */
void session_event_count(struct session *s, enum event_kind kind, struct event_count *out);

#endif
