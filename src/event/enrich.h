/* SPDX-License-Identifier: BSD-2-Clause */
/* For live nodes: a source that reads raw records from the source `inner` and returns what they
 * become with the names that the resolver finds: events, and a definition of each id before its
 * first use.  Owns its dictionary; borrows `inner` and `resolver`. */
#ifndef EBEAM_EVENT_ENRICH_H
#define EBEAM_EVENT_ENRICH_H

#include "event/source.h"
#include "names/resolver.h"

struct enrich;

/* inner NULL: the source returns only what enrich_add_*() add. */
struct enrich *enrich_open(struct source *inner, struct resolver *resolver);
void enrich_close(struct enrich *e);
/* From the time from_ns on a sample stands for `weight` samples.  To be called in order of
 * from_ns. */
void enrich_set_weight(struct enrich *e, uint32_t weight, uint64_t from_ns);
struct source *enrich_source(struct enrich *e);

/* enrich_add_*() add records that the command makes: next() returns them before it reads another
 * raw record.  Each call invalidates the record that next() returned last. */
void enrich_add_meta(struct enrich *e, const char *key, const char *value);
void enrich_add_counter(struct enrich *e, enum counter_id id, uint64_t value, uint64_t ts_ns);
/* Whether events of this kind are watched from raw->h.ts_ns on; kind NR_EVENT_KINDS: the record
 * only has the node's work (rec_coverage.work). */
void enrich_add_coverage(struct enrich *e, enum event_kind kind,
			 const struct rec_raw_coverage *raw);
/* The same for calls of C functions (EVENT_CALLS). */
void enrich_add_call_coverage(struct enrich *e, const struct rec_raw_coverage *raw);
/* Adds a copy of `rec`, whose header needs only the time. */
void enrich_add_scheduler(struct enrich *e, const struct rec_scheduler *rec);
/* Returns that may have been missed, see EVENT_CALL_GAPS_NAME; to be added before any record later
 * than from_ns. */
struct enrich_call_gap {
	uint64_t site, from_ns, to_ns;
	uint32_t os_tid;
};
void enrich_add_call_gap(struct enrich *e, const struct enrich_call_gap *gap);
/* Processes a raw record as if `inner` had returned it. */
void enrich_add_raw(struct enrich *e, const struct rec_header *raw);
/* One sample of a thread with this weight, whose stack is one state frame such as "[idle]". */
void enrich_add_state(struct enrich *e, uint32_t thread, const char *state, enum sample_kind kind,
		      uint64_t weight, uint64_t ts_ns);
/* A sample with this weight, and with process, stack, thread (ids of the dictionary), kind and
 * status of *of. */
void enrich_add_sample(struct enrich *e, const struct rec_sample *of, uint64_t weight,
		       uint64_t ts_ns);
void enrich_add_end(struct enrich *e, uint64_t ts_ns);
/* A time off a CPU, as it was emitted. */
struct enrich_off_cpu {
	uint64_t begin_ns;	  /* CLOCK_MONOTONIC */
	uint64_t ns, runnable_ns; /* its length, and the part at its end in which it was runnable */
	double stands_for;	  /* times like it, including itself: 1 / probability */
	enum sample_kind kind;
	bool copied;			 /* else there is no stack, and the kind is a general one */
	bool goes_on;			 /* it had not ended when programs were taken away */
	uint32_t process, stack, thread; /* ids of the dictionary */
	uint32_t waker;			 /* process that the waking thread ran; 0 = not known */
};
typedef void enrich_off_cpu_fn(void *arg, const struct enrich_off_cpu *t);
/* `take` is called for each, in addition to the samples that are returned. */
void enrich_on_off_cpu(struct enrich *e, enrich_off_cpu_fn *take, void *arg);
/* Variance of the sum of weights of a kind, ns^2: of times off CPUs, not all of which are seen.
 * NR_SAMPLE_KINDS: of all kinds but SAMPLE_WAIT. */
double enrich_variance(const struct enrich *e, enum sample_kind kind);

/* Number of records that were malformed or refused by the resolver; of names beyond the limits. */
uint64_t enrich_bad_records(const struct enrich *e);
uint64_t enrich_overflows(const struct enrich *e);
/* The dictionary, owned by `e`: it has the threads that were seen, for the command. */
struct names *enrich_names(struct enrich *e);

#endif
