/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Interface: raw record -> names.  Implemented by src/beam over a live node (or a core file);
 * on replay nobody implements it, because captures hold definitions.
 *
 * The implementation interns into the dictionary it is given; the caller (event/enrich) turns
 * what is new there into definition records.
 */
#ifndef EBEAM_NAMES_RESOLVER_H
#define EBEAM_NAMES_RESOLVER_H

#include <stdbool.h>
#include <stdint.h>

#include "abi/limits.h"
#include "abi/record.h"
#include "names/names.h"

/* Everything a sample can carry, and what the resolver adds of its own; NAMES_MAX_DEPTH at most. */
#define RESOLVED_FRAMES                                                                            \
	(EBEAM_LEAF_FRAMES + EBEAM_ROOT_FRAMES + EBEAM_NATIVE_FRAMES + EBEAM_KERNEL_FRAMES + 32)

struct resolved_sample {
	enum sample_kind kind;
	enum sample_status status;
	uint32_t process; /* names_intern_process id, 0 = none */
	uint32_t thread;  /* names_intern_thread id */
	uint32_t nr_frames;
	uint32_t frames[RESOLVED_FRAMES]; /* names_intern_frame ids, root first */
};

struct resolved_event {
	uint32_t process;   /* names_intern_process id, 0 = none */
	uint32_t thread;    /* names_intern_thread id */
	uint32_t leaf;	    /* frame at which the process goes on, the top of its stack; 0 = none */
	uint32_t nr_values; /* one for each field of the kind */
	uint64_t values[EVENT_MAX_FIELDS];
};

struct strbuf;
struct resolved_call {
	uint32_t process, thread, function, caller, shape; /* as in struct rec_call */
	bool ends, cut;					   /* as CALL_ENDS */
	uint32_t nr_terms;
	struct strbuf *terms; /* the caller's, empty: as the bytes of struct rec_call */
};

struct resolver {
	/* Fill *out from one raw sample.  0 or negative errno (the sample is then counted as
	 * COUNTER_BAD_RECORD and dropped). */
	int (*sample)(struct resolver *r, struct names *names, const struct rec_raw_sample *raw,
		      struct resolved_sample *out);
	/* What was copied for the sample that comes next: its C stack, and words of its Erlang
	 * stack.  May be NULL: such records are then dropped. */
	void (*cstack)(struct resolver *r, const struct rec_raw_cstack *raw);
	void (*gap)(struct resolver *r, const struct rec_raw_gap *raw);
	/* A process was seen for the first time or changed its name or label. */
	void (*process)(struct resolver *r, struct names *names, const struct rec_raw_process *raw);
	/* Fill *out from one event of the VM; errors as with samples.  May be NULL: such records
	 * are then refused. */
	int (*event)(struct resolver *r, struct names *names, const struct rec_raw_event *raw,
		     struct resolved_event *out);
	/* Fill *out from one call.  0; 1 if nobody wants it (its arguments do not match); errors as
	 * with samples.  May be NULL: such records are then refused. */
	int (*call)(struct resolver *r, struct names *names, const struct rec_raw_call *raw,
		    struct resolved_call *out);
	/* Code was loaded or unloaded at raw->h.ts_ns. */
	void (*code)(struct resolver *r, const struct rec_raw_code *raw);
};

#endif
