/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * One run of probes on one node: load, attach, read, detach.  Owns the BPF object, its links, the
 * perf events and the rings; session_close(), or any end of the process, leaves nothing behind in
 * the kernel.
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
	const char *exe;     /* path of the node's executable; borrowed until session_close() */
	unsigned int freq;   /* Hz, 1 .. 4999; 0 = no sampling */
	bool off_cpu;	     /* samples are of times off a CPU: `freq` for each second of them */
	bool frame_pointers; /* the JIT keeps frame pointers (FP_RA frames) */
	bool c_stack;	     /* JIT code runs on the C stack */
	bool interpreted;    /* the VM has no JIT */
	bool futexes;	     /* with off_cpu: only times in futexes, and samples of CPUs, too */
	uint64_t jit_descriptor; /* 0 = code loading cannot be watched */
	uint64_t literal_area;	 /* literal_area_find(); 0 = not known */
	struct dictionary_key initial_call, process_label;
	const struct beam_layout *layout;
	/* The plan of VM events; NULL = none.  Borrowed until session_close(), as is `elf`.
	 * session_open() takes kinds out of it whose programs the kernel refuses. */
	struct source_plan *events;
	const struct elf_file *elf; /* the node's executable */
	struct mem *mem;	    /* the node's memory; `bias` of elf in it */
	uint64_t bias;
	struct id_table processes, ports; /* of the node: for USDT probes and for aliases */
	uint64_t event_epid;		  /* only events of this process; 0 = all */
	struct event_who event_who, message_from, message_to; /* see abi/config.h */
	uint64_t proc_lib;				      /* atom proc_lib; 0 = there is none */
	enum attach_way attach_way;
	const char *btf;     /* file of BTF, see programs.h; NULL = the kernel's own */
	bool force;	     /* attach uprobes even where they may not be safe */
	bool no_realtime;    /* the controller's thread keeps normal priority */
	bool event_stacks;   /* of libc_alloc with that of its C code */
	uint32_t libc_every; /* of libc_alloc one in so many bytes, at first; 0 = each */
	bool libc_frees;
	bool unnamed;	     /* neither names of processes nor terms are needed */
	bool counting;	     /* only counts of events are needed; unnamed is set */
	bool own_times;	     /* programs measure their run times, not the kernel */
	bool count_sums;     /* counts with sizes and times, see struct event_count */
	double max_overhead; /* percent of the node's own CPU, for probes; 100 = no limit */
	unsigned int rate;   /* most hits of them a second, of each scheduler; 0 = no limit */
	uint64_t gc_longer_than_ns; /* only collections that took longer; 0 = all */
	uint64_t longer_than_ns;    /* threshold of long_gc and long_schedule */
	uint32_t inet_received;	    /* ports_inet_received() */
	/* Calls of functions, by breakpoints of the caller (breakpoints.h) or by call probes. */
	bool calls;
	bool calls_beside; /* the run goes on without calls if the kernel refuses their programs */
	bool call_stacks;  /* stacks of the callers, for some calls */
	unsigned int otp;
	unsigned int call_words, call_depth; /* limits for copied terms of a call */
};

/* Delay of events, for order: the beginning of a collection is reported at its end, and must come
 * before events in between. */
#define SESSION_WINDOW_NS 100000000u
/* Delay of a run with calls alone, of which none is reported later than it was made. */
#define SESSION_CALL_WINDOW_NS 5000000u

/* Bytes of the ring of a CPU in a run with events: 300,000 events a second of one CPU, for 150 ms.
 * Smaller if there are many CPUs.  The most in a run with samples alone. */
#define SESSION_RING_SIZE (8u << 20)

struct session;
struct bpf_program;

/* Why there is no session from another PID namespace. */
#define SESSION_PID_NAMESPACE                                                                      \
	"BPF programs see the pids of the host, ebeam those of its own PID namespace. Run ebeam "  \
	"on the host, or in a container with --pid=host"

/* ERROR_KIND_PRIVILEGE, ERROR_KIND_KERNEL (what the kernel lacks) or ERROR_KIND_FAILED. */
int session_open(struct session **out, const struct session_config *config, struct error *err);
void session_close(struct session *s);

/* Places a uprobe at this file offset of the node's executable, by which loading and unloading of
 * code is seen. */
int session_watch_code(struct session *s, uint64_t exe_offset, struct error *err);
/* Where JIT code is. */
struct session_code {
	const struct address_range *mappings; /* at most EBEAM_JIT_RANGES, more are merged */
	unsigned int nr_mappings;
	struct address_range fragments; /* the JIT's shared fragments; inside a mapping */
	uint64_t normal_exit; /* return address at the bottom of every stack; 0 = unknown */
	uint64_t thread_data; /* see struct probe_state */
};
/* May be called again during the run. */
void session_set_code(struct session *s, const struct session_code *code);
/* Adds a scheduler thread that is known before it is seen, by its thread pointer. */
int session_add_thread(struct session *s, uint64_t thread_pointer, const struct thread_info *info,
		       struct error *err);

/* To be called now and then during the run: removes threads that ended from maps. */
void session_update(struct session *s);

/* Descriptors that call_probes.h and breakpoints.h need; false if the session has no calls, or the
 * kernel refuses their programs (config.calls_beside). */
struct call_programs {
	int breakpoint, points, filters, site_hits; /* descriptors */
};
bool session_call_programs(struct session *s, struct call_programs *out);
/* In a session with calls, once, before session_start(): adds probes on C functions, which share
 * the overhead budget of the events (EVENT_CALLS).  ERROR_KIND_FAILED. */
struct session_calls {
	const struct source_point *points; /* borrowed until session_stop() */
	unsigned int nr;
	double max_overhead; /* percent of the node's own CPU, with events */
	unsigned int rate;   /* hits a second of each scheduler, as a further limit */
};
int session_add_calls(struct session *s, const struct session_calls *calls, struct error *err);
/* Mean cost of a hit of a call probe so far, ns of the node's CPU; 0 = not known. */
unsigned int session_call_hit_ns(const struct session *s);

/* The source holds back records newer than until_ns until this is called again, or session_stop():
 * a caller does so if it must process something else up to that time first. */
void session_hold(struct session *s, uint64_t until_ns);
/* Time up to which all records are out, if the source was drained of all: they wait for older ones,
 * and may be held back. */
uint64_t session_released(const struct session *s);

/* `peek` is called with each record as soon as it is found: unordered and without delay. */
void session_peek(struct session *s, void (*peek)(void *ctx, const struct rec_header *rec),
		  void *ctx);

/* Begins to sample every online CPU, and to run the probes of events. */
int session_start(struct session *s, struct error *err);
/* In a session with off_cpu: takes its programs away, which ends all times off a CPU, and places
 * them again, to copy fewer of these.  0 or negative errno. */
void session_off_cpu_pause(struct session *s);
int session_off_cpu_resume(struct session *s);
/* In a session with off_cpu, after session_stop(): the sums of each thread, and with os_tid 0 those
 * of threads that have ended. */
typedef void session_off_cpu_fn(void *arg, uint32_t os_tid, const struct off_cpu_sums *sums);
void session_off_cpu_sums(struct session *s, session_off_cpu_fn *take, void *arg);
/* During the run: from now on only one of `weight` samples is taken.  Returns the time
 * (CLOCK_MONOTONIC) from which on all CPUs do so. */
uint64_t session_sample_less(struct session *s, unsigned int weight);
void session_stop(struct session *s);		  /* detaches; records stay readable */
struct source *session_source(struct session *s); /* owned by the session */

/* Sum over CPUs of a counter of the BPF programs; or a counter of user space that the session
 * keeps. */
uint64_t session_counter(struct session *s, enum counter_id id);

/* What the probes of events cost the node, up to session_stop() or now.  False if that is not
 * known, so that the budget is not kept: *why (NULL ok) is the reason. */
bool session_event_cost(struct session *s, struct controller_cost *out, const char **why);

/* What the probes of one kind took of controller_cost.spent_ns; *kinds (bit set): this and all
 * other kinds that need these probes.  0 if not known. */
uint64_t session_kind_ns(struct session *s, enum event_kind kind, uint64_t *kinds);

/* During the run: of libc_alloc one in so many bytes is sampled from now on; a power of 2. */
void session_sample_libc(struct session *s, uint32_t every);
/* A sampled block is known to be free: its place among those that are watched is for others. */
void session_libc_forget(struct session *s, uint64_t address);

/* Sum over CPUs of the counts of one kind of event. */
void session_event_count(struct session *s, enum event_kind kind, struct event_count *out);

#endif
