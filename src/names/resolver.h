/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Interface: raw record -> names.  Implemented by src/beam for a live node or a core file; not used
 * for replay, as captures hold definitions.
 *
 * The implementation interns into the given dictionary; the caller (event/enrich) writes definition
 * records for new entries.
 */
#ifndef EBEAM_NAMES_RESOLVER_H
#define EBEAM_NAMES_RESOLVER_H

#include <stdbool.h>
#include <stdint.h>

#include "abi/limits.h"
#include "abi/record.h"
#include "names/names.h"

/* Limit of the frames of a resolved sample: as many as a raw sample has, and 32 that the resolver
 * may add.  At most NAMES_MAX_DEPTH. */
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
	uint32_t leaf;	    /* frame of the top of its stack, where it continues; 0 = none */
	uint32_t nr_values; /* one for each field of the kind */
	uint64_t values[EVENT_MAX_FIELDS];
};

struct strbuf;
struct resolved_call {
	uint32_t process, thread, function, caller, shape; /* as in struct rec_call */
	bool ends, cut; /* sets CALL_ENDS, CALL_TRUNCATED of struct rec_call */
	uint32_t nr_terms;
	struct strbuf *terms; /* owned by the caller, empty; the terms as in struct rec_call */
};

struct resolver {
	/* Fills *out from one raw sample.  0 or negative errno: the caller counts
	 * COUNTER_BAD_RECORD and drops the sample. */
	int (*sample)(struct resolver *r, struct names *names, const struct rec_raw_sample *raw,
		      struct resolved_sample *out);
	/* Keep memory that was copied for the next sample of the thread: its C stack (cstack),
	 * words of its Erlang stack (gap).  May be NULL: such records are then dropped. */
	void (*cstack)(struct resolver *r, const struct rec_raw_cstack *raw);
	void (*gap)(struct resolver *r, const struct rec_raw_gap *raw);
	/* A process was seen for the first time or changed its name or label. */
	void (*process)(struct resolver *r, struct names *names, const struct rec_raw_process *raw);
	/* Fills *out from one event of the VM; errors as for samples.  May be NULL: such records
	 * are then rejected. */
	int (*event)(struct resolver *r, struct names *names, const struct rec_raw_event *raw,
		     struct resolved_event *out);
	/* Fills *out from one call.  0; 1 if its arguments do not match the pattern; errors as for
	 * samples.  May be NULL: such records are then rejected. */
	int (*call)(struct resolver *r, struct names *names, const struct rec_raw_call *raw,
		    struct resolved_call *out);
	/* Code was loaded or unloaded at raw->h.ts_ns. */
	void (*code)(struct resolver *r, const struct rec_raw_code *raw);
};

#endif
