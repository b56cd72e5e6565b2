/* SPDX-License-Identifier: BSD-2-Clause */
/* For live nodes: a source on top of a source of raw records.  Uses the resolver, emits a
 * definition before the first use of every id, and converts each raw sample to REC_SAMPLE.  Owns
 * its dictionary; borrows `inner` and `resolver`. */
#ifndef EBEAM_EVENT_ENRICH_H
#define EBEAM_EVENT_ENRICH_H

#include "event/source.h"
#include "names/resolver.h"

struct enrich;

/* inner may be NULL: then there are only records that are added. */
struct enrich *enrich_open(struct source *inner, struct resolver *resolver);
void enrich_close(struct enrich *e);
/* From from_ns on each sample stands for `weight` samples; calls in order of from_ns. */
void enrich_set_weight(struct enrich *e, uint32_t weight, uint64_t from_ns);
struct source *enrich_source(struct enrich *e);

/* Adds records of the command: next() returns them before anything newer.  Each call invalidates
 * the record that next() returned last. */
void enrich_add_meta(struct enrich *e, const char *key, const char *value);
void enrich_add_counter(struct enrich *e, enum counter_id id, uint64_t value, uint64_t ts_ns);
/* Whether events of this kind are watched from raw->h.ts_ns on; NR_EVENT_KINDS = only the work of
 * the node is reported. */
void enrich_add_coverage(struct enrich *e, enum event_kind kind,
			 const struct rec_raw_coverage *raw);
/* The same for calls of C functions (EVENT_CALLS). */
void enrich_add_call_coverage(struct enrich *e, const struct rec_raw_coverage *raw);
/* What a scheduler did: `rec`, of whose header type and size are set here. */
void enrich_add_scheduler(struct enrich *e, const struct rec_scheduler *rec);
/* See EVENT_CALL_GAPS_NAME; to be added before any record later than from_ns. */
struct enrich_call_gap {
	uint64_t site, from_ns, to_ns;
	uint32_t os_tid;
};
void enrich_add_call_gap(struct enrich *e, const struct enrich_call_gap *gap);
/* A raw record, as if from the source. */
void enrich_add_raw(struct enrich *e, const struct rec_header *raw);
/* `weight` samples without stack: a state frame (e.g. "[idle]") of a thread. */
void enrich_add_state(struct enrich *e, uint32_t thread, const char *state, enum sample_kind kind,
		      uint32_t weight, uint64_t ts_ns);
/* A sample made by the command: process, stack, thread of the dictionary, kind and status of *of,
 * which stands for `weight`. */
void enrich_add_sample(struct enrich *e, const struct rec_sample *of, uint64_t weight,
		       uint64_t ts_ns);
void enrich_add_end(struct enrich *e, uint64_t ts_ns);

/* Records that the resolver refused; names beyond the dictionary's limits. */
uint64_t enrich_bad_records(const struct enrich *e);
uint64_t enrich_overflows(const struct enrich *e);
/* The dictionary, for the command (threads seen so far). */
struct names *enrich_names(struct enrich *e);

#endif
