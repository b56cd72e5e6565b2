/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Parts of process.c: a block of processes is read in one go, then what hangs on them is walked,
 * for all of them at once, one batch of reads for each level (process_walk.c).
 */
#ifndef EBEAM_BEAM_PROCESS_INTERNAL_H
#define EBEAM_BEAM_PROCESS_INTERNAL_H

#include <string.h>

#include "base/bytes.h"
#include "base/vec.h"
#include "beam/process/process.h"
#include "beam/term/pid.h"

#define PROCESS_BATCH 1024u /* ranges of one read */

enum process_found {
	PROCESS_FOUND,
	PROCESS_VANISHED,
	PROCESS_BAD, /* does not hold together: changed while it was read */
};

/* What of a process only its reading needs. */
struct process_pending {
	raddr reg;
	raddr queues[3]; /* first signals of the inner, middle and outer queue */
	raddr queue_buffers;
	raddr nmsigs[2]; /* where pointers to the first signals that are no messages stand */
	uint64_t slot;
	int64_t raw_len;      /* sum of the queues' own lengths */
	uint64_t nr_messages; /* walked so far */
	uint64_t message_words;
	bool on_heap_messages;
	bool queues_bad; /* changed while they were walked */
	bool doubtful;	 /* its dictionary holds what it need not, unless its heap has moved */
	enum process_found found;
};

struct process_reader {
	struct beam_node *n;
	struct mem *mem;
	const struct beam_layout *l;
	unsigned int what;
	struct id_format format;
	raddr tab;					     /* the table's slots */
	uint64_t key_label, key_initial_call, key_ancestors; /* atoms; 0 = the node has none such */
	uint8_t *bytes;					     /* PROCESS_BATCH structs */
	struct mem_range *ranges;			     /* PROCESS_BATCH */
};

struct process_block {
	struct process_facts *facts;
	struct process_pending *pending;
	size_t nr;
};

/* ERROR_KIND_UNSUPPORTED, ERROR_KIND_FAILED; close it also then. */
int process_reader_open(struct process_reader *r, struct beam_node *n, unsigned int what,
			struct error *err);
void process_reader_close(struct process_reader *r);

/* The table of processes: `max` addresses, or 0, or `invalid`, at `tab`. */
struct process_slots {
	raddr tab, invalid;
	uint32_t max;
};
int process_slots_open(struct process_slots *s, struct process_reader *r, struct error *err);

/* The struct of a process; NULL: it cannot be read.  Says what was found of it. */
void process_take(const struct process_reader *r, struct process_facts *p,
		  struct process_pending *q, const uint8_t *bytes);
/* The bytes of structs, in order of their addresses, which places must have; NULL: it cannot be
 * read.  take() reads nothing with the same reader. */
struct process_address {
	raddr addr;
	uint32_t index; /* the caller's */
};
typedef void process_struct_fn(void *arg, uint32_t index, const uint8_t *bytes);
void process_addresses_sort(struct process_address *places, size_t nr);
void process_structs_each(struct process_reader *r, const struct process_address *places, size_t nr,
			  process_struct_fn *take, void *arg);
/* Those of the block, by their addresses. */
void process_read_structs(struct process_reader *r, struct process_block *b);
/* Fills in what r->what asks for, of those that are PROCESS_FOUND; sets PROCESS_BAD. */
void process_walk(struct process_reader *r, struct process_block *b);

/* The slot of a pid: up to OTP 25 in the high half of the word, later in its low bits. */
static inline uint64_t process_slot_of(const struct id_format *f, uint64_t epid)
{
	return f->whole_word ? (epid >> 4) & f->pix_mask : epid >> 32;
}

/* Of OTP 27 and later. */
static inline bool process_has_mlenoffs(const struct beam_layout *l)
{
	return l->process_sig_inq_mlenoffs != LAYOUT_ABSENT;
}

/* Of the queues of a process; `s` are the bytes of its struct. */
static inline int64_t process_raw_length(const struct beam_layout *l, const uint8_t *s)
{
	if (process_has_mlenoffs(l))
		return (int64_t)(bytes_u64(s, l->process_sig_qs_mq_len) +
				 bytes_u64(s, l->process_sig_qs_mlenoffs) +
				 bytes_u64(s, l->process_sig_inq_mlenoffs));
	return (int64_t)(bytes_u64(s, l->process_sig_qs_len) +
			 bytes_u64(s, l->process_sig_inq_len));
}

#endif
