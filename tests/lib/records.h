/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Streams of records made by hand, for tests of what reads records: the decoder, the capture,
 * the profile.  Each helper appends the definitions that are still missing and returns the id;
 * equal arguments give the same id.  Texts are C strings, NULL = none.
 */
#ifndef EBEAM_TESTS_RECORDS_H
#define EBEAM_TESTS_RECORDS_H

#include <stddef.h>
#include <stdint.h>

#include "abi/record.h"
#include "base/vec.h"
#include "model/profile/profile.h"
#include "names/names.h"

struct records {
	VEC(uint64_t) words; /* whole records */
	struct names *names; /* who has which id */
};

void records_open(struct records *r);
void records_close(struct records *r);

/* Any record: header, then `body` (may be NULL = zeros), padded to 8. */
void records_add(struct records *r, uint16_t type, uint64_t ts_ns, const void *body, size_t size);

void records_meta(struct records *r, const char *key, const char *value);
uint32_t records_string(struct records *r, const char *text);
uint32_t records_function(struct records *r, const char *module, const char *name, int32_t arity,
			  enum frame_kind kind);
uint32_t records_frame(struct records *r, uint32_t function, const char *file, uint32_t line);
uint32_t records_stack(struct records *r, const uint32_t *frames, uint32_t nr); /* root first */
/* "lists:map/2 erlang:'+'/2": Erlang frames without files, root first; names hold no blanks.
 * "[idle]" makes a state frame. */
uint32_t records_stack_text(struct records *r, const char *text);
uint32_t records_process(struct records *r, uint64_t epid, const char *pid, const char *registered,
			 const char *label, uint32_t initial_call);
uint32_t records_thread(struct records *r, uint32_t os_tid, enum thread_type type,
			uint16_t scheduler, const char *name);

void records_sample(struct records *r, uint64_t ts_ns, uint32_t process, uint32_t stack,
		    uint32_t thread, uint32_t weight, enum sample_kind kind,
		    enum sample_status status);
void records_counter(struct records *r, uint64_t ts_ns, const char *name, uint64_t value);
void records_end(struct records *r, uint64_t ts_ns);

/* The record at word *at, which moves on; NULL at the end. */
const struct rec_header *records_next(const struct records *r, size_t *at);
size_t records_count(const struct records *r);

/* Decode all and apply them to the profile; every event must be accepted. */
void records_apply(const struct records *r, struct profile *p);

#endif
