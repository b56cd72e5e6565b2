/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Shared by process.c and process_*.c.  The structs of a block of processes are read at once; data
 * that they point to is then read for all of them together, in a batch for each level
 * (process_walk.c).
 */
#ifndef EBEAM_BEAM_PROCESS_INTERNAL_H
#define EBEAM_BEAM_PROCESS_INTERNAL_H

#include <string.h>

#include "base/bytes.h"
#include "base/vec.h"
#include "beam/process/process.h"
#include "beam/term/pid.h"

#define PROCESS_BATCH 1024u /* limit of ranges in one read */

enum process_found {
	PROCESS_FOUND,
	PROCESS_VANISHED,
	PROCESS_BAD, /* inconsistent: changed while it was read */
};

/* State of a process that is needed only while it is read. */
struct process_pending {
	raddr reg;
	raddr queues[3]; /* first signals of the inner, middle and outer queues */
	raddr queue_buffers;
	raddr nmsigs[2]; /* addresses of the pointers to the first signals that are no messages */
	uint64_t slot;
	int64_t raw_len;      /* sum of the lengths in the queues' structs */
	uint64_t nr_messages; /* number counted so far */
	uint64_t message_words;
	bool on_heap_messages;
	bool queues_bad; /* the queues changed while they were walked */
	bool doubtful;	 /* implausible dictionary: PROCESS_BAD if a GC moves the heap meanwhile */
	enum process_found found;
};

struct process_reader {
	struct beam_node *n;
	struct mem *mem;
	const struct beam_layout *l;
	unsigned int what;
	struct id_format format;
	raddr tab;					     /* address of the table's slots */
	uint64_t key_label, key_initial_call, key_ancestors; /* atoms; 0 = unknown to the node */
	uint8_t *bytes;					     /* room for PROCESS_BATCH structs */
	struct mem_range *ranges;			     /* room for PROCESS_BATCH ranges */
};

struct process_block {
	struct process_facts *facts;
	struct process_pending *pending;
	size_t nr;
};

/* ERROR_KIND_UNSUPPORTED, ERROR_KIND_FAILED; the reader must be closed even then. */
int process_reader_open(struct process_reader *r, struct beam_node *n, unsigned int what,
			struct error *err);
void process_reader_close(struct process_reader *r);

/* The slots of the process table: `max` words at `tab`, each an address, 0 or `invalid`. */
struct process_slots {
	raddr tab, invalid;
	uint32_t max;
};
int process_slots_open(struct process_slots *s, struct process_reader *r, struct error *err);

/* Fills the facts of a process from its struct (NULL: it could not be read) and sets q->found. */
void process_take(const struct process_reader *r, struct process_facts *p,
		  struct process_pending *q, const uint8_t *bytes);
/* Reads structs at `places`, which are sorted by address, and passes the bytes to take(), NULL if
 * they cannot be read.  take() must not read with the same reader. */
struct process_address {
	raddr addr;
	uint32_t index; /* of the caller: passed to take() */
};
typedef void process_struct_fn(void *arg, uint32_t index, const uint8_t *bytes);
void process_addresses_sort(struct process_address *places, size_t nr);
void process_structs_each(struct process_reader *r, const struct process_address *places, size_t nr,
			  process_struct_fn *take, void *arg);
/* Reads the structs of the block, in order of their addresses. */
void process_read_structs(struct process_reader *r, struct process_block *b);
/* Reads what r->what asks for, for processes that are PROCESS_FOUND; may set PROCESS_BAD. */
void process_walk(struct process_reader *r, struct process_block *b);

/* The slot of a pid: up to OTP 25 in the high half of the word, later in its low bits. */
static inline uint64_t process_slot_of(const struct id_format *f, uint64_t epid)
{
	return f->whole_word ? (epid >> 4) & f->pix_mask : epid >> 32;
}

/* Has each signal that is no message the number of messages before it (since OTP 27)? */
static inline bool process_has_mlenoffs(const struct beam_layout *l)
{
	return l->process_sig_inq_mlenoffs != LAYOUT_ABSENT;
}

/* Sum of the lengths that the queues of a process have; `s`: bytes of its struct. */
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
