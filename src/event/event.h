/* SPDX-License-Identifier: BSD-2-Clause */
/* One decoded record.  Its strings point into the bytes of the record, so they are valid until the
 * next record is read from the source. */
#ifndef EBEAM_EVENT_EVENT_H
#define EBEAM_EVENT_EVENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "abi/record.h"

struct event {
	enum rec_type type;
	uint64_t ts_ns;
	union {
		struct {
			const char *key;
			uint32_t key_len;
			const char *value;
			uint32_t value_len;
		} meta;
		struct {
			uint32_t id;
			const char *s;
			uint32_t len;
		} string;
		struct {
			uint32_t id, module, name;
			int32_t arity;
			uint32_t kind, symbol_source;
		} function;
		struct {
			uint32_t id, function, file, line;
		} frame;
		struct {
			uint32_t id, parent, frame;
		} stack;
		struct {
			uint32_t id, pid, registered, label, initial_call;
			uint64_t epid;
		} process;
		struct {
			uint32_t id, os_tid, type;
			uint16_t scheduler;
			uint32_t name;
		} thread;
		struct {
			uint32_t process, stack, thread;
			uint64_t weight; /* in the unit of the recording's mode; > 0 */
			enum sample_kind kind;
			enum sample_status status;
		} sample;
		struct {
			uint32_t name;
			uint64_t value;
		} counter;
		struct {
			uint32_t kind; /* string id */
			uint32_t process, thread, stack, cpu;
			enum sample_status status;
			/* Values in the record, EVENT_MAX_FIELDS at most. */
			unsigned int nr_values;
			uint64_t values[EVENT_MAX_FIELDS];
		} vm;
		struct {
			uint32_t kind; /* string id */
			enum coverage_state state;
			uint32_t share_ppm;    /* <= 1,000,000 */
			uint32_t os_tid;       /* see EVENT_CALL_GAPS_NAME; 0 = any thread */
			uint64_t work, missed; /* see struct rec_coverage; 0 = not known */
		} coverage;
		struct {
			enum thread_type type; /* of the scheduler */
			uint16_t number;       /* not 0 */
			uint64_t duration_ns;
			/* <= duration_ns, or SCHEDULER_UNKNOWN */
			uint64_t working_ns, on_cpu_ns, cpu_wait_ns;
			/* process + port <= working <= samples */
			uint32_t samples, working, process, port;
			bool offline;
			uint32_t gc_samples, gc; /* gc <= gc_samples <= samples */
		} scheduler;
		struct {
			enum call_kind kind;
			uint32_t process, thread, function, caller, cpu, flags, nr_terms, shape;
			uint32_t stack;
			enum sample_status status;
			uint32_t slice; /* see struct rec_call */
			uint64_t height, site;
			const char *terms; /* see event_call_term() */
			uint32_t terms_size;
		} call;
	} u;
};

/*
 * Decodes the record at `bytes`, of which `size` are readable.  Returns the record's size (> 0) and
 * fills *ev; -EAGAIN if the record is longer than `size`; -EINVAL if it is malformed (size not a
 * multiple of 8, too small for its type, inner lengths beyond its end, enum out of range).  Unknown
 * types decode to their header: ev->type is the number, the union is zero.
 */
int event_decode(struct event *ev, const void *bytes, size_t size);

/* True if the event is a REC_META record with this key. */
bool event_is_meta(const struct event *ev, const char *key);

/* Sets *text and *len to the next term (argument or result) of a call.  *at is its offset: 0 before
 * the first call, advanced by each.  False after the last term. */
bool event_call_term(const struct event *ev, uint32_t *at, const char **text, uint32_t *len);

/* Adds a definition (string, function, frame, stack, process, thread) to a dictionary that is
 * filled from records.  Returns 1; 0 if the event is not a definition; or the negative errno of
 * names_define_*(). */
struct names;
int event_define(struct names *n, const struct event *ev);

#endif
