/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * One frame of `top`: the state of the node at one time, with recent history.
 *
 * Plain data, filled by the command from readings (struct top_totals) and samples
 * (model/top/top_window.h), read by the view.  What is not known is marked as such, and not 0: a
 * double is NAN, a number is TOP_UNKNOWN, a limit or scheduler is not `known`.  Texts are as in the
 * node: the view escapes them.
 */
#ifndef EBEAM_MODEL_TOP_FRAME_H
#define EBEAM_MODEL_TOP_FRAME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "abi/record.h"

#define TOP_UNKNOWN UINT64_MAX

/* ---- history --------------------------------------------------------------------------------- */

#define TOP_HISTORY 120 /* values that a sparkline can show */

struct top_ring {
	float values[TOP_HISTORY]; /* NAN = not known at that time */
	uint32_t nr, next;
};

void top_ring_push(struct top_ring *r, double value);
/* Copies the latest values, at most `max`, oldest first; returns their number. */
uint32_t top_ring_copy(const struct top_ring *r, float *out, uint32_t max);

/* ---- what is counted ------------------------------------------------------------------------- */

/* TOP_LIMIT(id, name): tables of the VM that have a limit; name in JSON and titles. */
#define TOP_LIMITS(TOP_LIMIT)                                                                      \
	TOP_LIMIT(PROCESSES, "processes")                                                          \
	TOP_LIMIT(PORTS, "ports")                                                                  \
	TOP_LIMIT(ATOMS, "atoms")                                                                  \
	TOP_LIMIT(ETS, "ets")

/* TOP_MEMORY(id, name): types of erlang:memory/0; bytes. */
#define TOP_MEMORIES(TOP_MEMORY)                                                                   \
	TOP_MEMORY(TOTAL, "total")                                                                 \
	TOP_MEMORY(PROCESSES, "processes")                                                         \
	TOP_MEMORY(SYSTEM, "system")                                                               \
	TOP_MEMORY(ATOM, "atom")                                                                   \
	TOP_MEMORY(BINARY, "binary")                                                               \
	TOP_MEMORY(CODE, "code")                                                                   \
	TOP_MEMORY(ETS, "ets")

/* TOP_RATE(id, name): counters of the node that only grow, shown per second. */
#define TOP_RATES(TOP_RATE)                                                                        \
	TOP_RATE(REDUCTIONS, "reductions")                                                         \
	TOP_RATE(CONTEXT_SWITCHES, "context_switches")                                             \
	TOP_RATE(GCS, "gcs")                                                                       \
	TOP_RATE(GC_BYTES, "gc_bytes_reclaimed")                                                   \
	TOP_RATE(MESSAGES, "messages")                                                             \
	TOP_RATE(PORT_IN, "port_in")                                                               \
	TOP_RATE(PORT_OUT, "port_out")

/* TOP_SHARE(id, name): parts of a scheduler's time; all but the last two are work. */
#define TOP_SHARES(TOP_SHARE)                                                                      \
	TOP_SHARE(ERLANG, "erlang")                                                                \
	TOP_SHARE(GC, "gc")                                                                        \
	TOP_SHARE(BIF, "bif") /* with ETS and copying of messages */                               \
	TOP_SHARE(NIF, "nif")                                                                      \
	TOP_SHARE(PORT, "port")                                                                    \
	TOP_SHARE(OTHER, "other")	  /* scheduling, polling, timers, loading of code */       \
	TOP_SHARE(BLOCKED, "blocked")	  /* at work by the VM's count, but not on a CPU */        \
	TOP_SHARE(BUSY_WAIT, "busy_wait") /* on a CPU, looking for work */                         \
	TOP_SHARE(WAITING, "waiting")	  /* asleep */

#define TOP_ENUM_LIMIT(id, name)  TOP_LIMIT_##id,
#define TOP_ENUM_MEMORY(id, name) TOP_MEMORY_##id,
#define TOP_ENUM_RATE(id, name)	  TOP_RATE_##id,
#define TOP_ENUM_SHARE(id, name)  TOP_SHARE_##id,
enum top_limit_kind { TOP_LIMITS(TOP_ENUM_LIMIT) NR_TOP_LIMITS };
enum top_memory_kind { TOP_MEMORIES(TOP_ENUM_MEMORY) NR_TOP_MEMORIES };
enum top_rate_kind { TOP_RATES(TOP_ENUM_RATE) NR_TOP_RATES };
enum top_share_kind { TOP_SHARES(TOP_ENUM_SHARE) NR_TOP_SHARES };

/* Names above, in JSON and text. */
const char *top_limit_name(enum top_limit_kind kind);
const char *top_memory_name(enum top_memory_kind kind);
const char *top_rate_name(enum top_rate_kind kind);
const char *top_share_name(enum top_share_kind kind);

struct top_limit {
	uint64_t count, limit; /* TOP_UNKNOWN each */
};

/* Run queues: each normal scheduler has one, the dirty ones of a type share one. */
enum top_queue { TOP_QUEUE_NORMAL, TOP_QUEUE_DIRTY_CPU, TOP_QUEUE_DIRTY_IO, NR_TOP_QUEUES };

/* One run queue, in the order in which a node lists them: scheduler 1, 2, ...; dirty CPU; dirty
 * IO. */
struct top_queue_totals {
	enum top_queue queue;
	uint16_t number; /* of the scheduler, from 1; 0: a queue of dirty ones */
	uint64_t length; /* TOP_UNKNOWN each */
	uint64_t reductions, context_switches;
	uint64_t gcs; /* of this scheduler; TOP_UNKNOWN of dirty ones */
};

/* One reading of the node, made by the command; counters are since the node started. */
struct top_totals {
	struct top_limit limits[NR_TOP_LIMITS];
	uint64_t memory[NR_TOP_MEMORIES]; /* bytes, TOP_UNKNOWN */
	uint64_t counters[NR_TOP_RATES];  /* TOP_UNKNOWN */
	struct top_queue_totals *queues;  /* owned by the caller */
	uint32_t nr_queues;
	uint64_t read_ns;   /* when the counters were read */
	uint64_t os_cpu_ns; /* CPU of the node's process, user and system; TOP_UNKNOWN */
	uint64_t os_ns;	    /* when os_cpu_ns was read */
	uint64_t os_rss;    /* bytes; TOP_UNKNOWN */
};

/* All unknown, no queues. */
void top_totals_init(struct top_totals *t);

/* ---- the frame ------------------------------------------------------------------------------- */

enum top_state {
	TOP_RUNNING,
	TOP_STOPPED, /* by a signal: the kernel's state T or t */
	TOP_EXITED,
	NR_TOP_STATES
};
const char *top_state_name(enum top_state state); /* "running", "stopped", "exited" */

struct top_scheduler {
	enum thread_type type; /* THREAD_NORMAL, THREAD_DIRTY_CPU, THREAD_DIRTY_IO */
	uint16_t number;       /* 1.. within its type */
	bool known;	       /* share[] is set: there are samples */
	bool offline;	      /* not in schedulers_online, or suspended by multi-scheduling block */
	bool spare;	      /* a dirty scheduler that does nothing though processes wait */
	uint64_t at_least_ns; /* lower bound of its current time slice so far; 0 = none */
	double share[NR_TOP_SHARES]; /* parts of the window's time, sum 1 */
	uint64_t run_queue;	     /* length; dirty ones share that of their type */
	/* Per second, NAN = not known; not available for single dirty ones. */
	double reductions, context_switches, gcs;
	struct top_ring history; /* work, 0..1 */
};

/* nr schedulers of a type have run the same process (or port) for ns or longer. */
struct top_held {
	uint32_t nr, of; /* of: all of the type that are neither offline nor spare */
	uint64_t ns;
};

struct top_node {
	char name[256]; /* "rabbit@host" */
	char otp[32], erts[32], flavor[8];
	char untested[64]; /* how an unknown release is read; "" = a known release */
	int os_pid;
	uint64_t uptime_s; /* TOP_UNKNOWN */
};

struct top_frame {
	struct top_node node;
	enum top_state state;
	uint64_t epoch_ns; /* time of the reading */
	uint64_t frames;   /* top_frame_update() calls */
	double interval_s; /* between the last two readings; NAN: there is one only */
	double window_s;   /* time that samples cover; NAN: no samples */

	struct top_limit limits[NR_TOP_LIMITS];
	struct top_ring limits_history[NR_TOP_LIMITS]; /* counts */
	uint64_t memory[NR_TOP_MEMORIES];
	struct top_ring memory_history[NR_TOP_MEMORIES];
	double rates[NR_TOP_RATES]; /* per second */
	struct top_ring rates_history[NR_TOP_RATES];
	uint64_t run_queue; /* sum of all queues; TOP_UNKNOWN */
	uint64_t run_queues[NR_TOP_QUEUES];
	struct top_ring run_queue_history;

	struct top_scheduler *schedulers; /* normal 1.., dirty CPU 1.., dirty IO 1.. */
	uint32_t nr_schedulers;
	uint32_t nr_of_type[NR_TOP_QUEUES];
	double work[NR_TOP_QUEUES];   /* share of the time of all schedulers of a type, 0..1, NAN */
	struct top_ring work_history; /* of the normal ones */
	double shares[NR_TOP_QUEUES][NR_TOP_SHARES]; /* mean of the schedulers of a type; NAN */

	double os_cpu; /* percent of one CPU, NAN */
	struct top_ring os_cpu_history;
	uint64_t os_rss;

	/* Of ebeam itself. */
	double own_cpu;	    /* percent of one CPU, NAN */
	uint64_t own_rss;   /* bytes, TOP_UNKNOWN */
	uint64_t samples;   /* in the window */
	uint64_t lost;	    /* lost samples and events, since the start */
	uint64_t refused;   /* damaged records, or with undefined ids, since the start */
	double probes_cost; /* percent of the node's own CPU; NAN = no probes, or not known */
};

/* Sets all to unknown.  top_frame_free() leaves such a frame. */
void top_frame_init(struct top_frame *f);
void top_frame_free(struct top_frame *f);

/* Most schedulers of a type in a node: ERTS_MAX_NO_OF_SCHEDULERS, erl_process.h of OTP 25 to 29. */
#define TOP_SCHEDULERS_MAX 1024u
/* Sets the numbers of schedulers, bounded by TOP_SCHEDULERS_MAX; those that stay keep their
 * history. */
void top_frame_set_schedulers(struct top_frame *f, uint32_t normal, uint32_t dirty_cpu,
			      uint32_t dirty_io);
/* NULL = there is none. */
struct top_scheduler *top_frame_scheduler(struct top_frame *f, enum thread_type type,
					  uint16_t number);

/* Takes a reading: sets current values, and rates since the reading `before` (NULL = none).  The
 * rate of a counter that decreased or was not known is NAN.  Advances all histories but those of
 * schedulers. */
void top_frame_update(struct top_frame *f, const struct top_totals *before,
		      const struct top_totals *now);
/* Sets what is derived from samples to unknown, as there are none any more. */
void top_frame_forget_samples(struct top_frame *f);
/* Sets a rate that the readings do not show, but another source does; NAN is ignored. */
void top_frame_learn_rate(struct top_frame *f, enum top_rate_kind kind, double value);
/* To be called when the shares of schedulers are set (model/top/top_window.h does): sets work[],
 * shares[] and the histories of schedulers. */
void top_frame_sum_schedulers(struct top_frame *f);

/* worked: part of the window in which the scheduler worked by the VM's count (NAN = not known).
 * Work that samples do not show becomes BLOCKED instead of WAITING. To be called before
 * top_frame_sum_schedulers(). */
void top_scheduler_worked(struct top_scheduler *s, double worked);

/* True if long time slices hold schedulers of a type: any normal one, as no Erlang code runs that
 * long; or all dirty ones of a type, as these are for long work. */
bool top_frame_held(const struct top_frame *f, enum top_queue queue, struct top_held *out);

/* Part of its time that is work; NAN if not known. */
double top_scheduler_work(const struct top_scheduler *s);

#endif
