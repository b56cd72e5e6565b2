/* SPDX-License-Identifier: BSD-2-Clause */
/* See dictionary.h.  bpf/beam.bpf.h does the same at the time of a sample. */
#include "beam/process/dictionary.h"

#include <errno.h>

#include "abi/vm.h"
#include "base/compiler.h"

/* ProcDict, erl_process_dict.h of OTP 21 to 29: u32 sizeMask, usedSlots, arraySize, splitPosition;
 * Uint numElements; Eterm data[]. */
#define DICTIONARY_DATA 24
#define MAX_CHAIN	16 /* a slot mostly has one or two keys */
#define MAX_LONG_CHAIN	100000
#define MAX_SLOTS	(1u << 27) /* MAX_HASH of erl_process_dict.c is 13,421,772 */
#define SLOTS_AT_ONCE	512

int dictionary_readable(struct mem *mem, const struct beam_layout *layout, raddr process,
			uint64_t epid)
{
	uint32_t state;
	uint64_t id;
	int rc = mem_read_u64(mem, process + (uint32_t)layout->process_id, &id);

	rc = rc ? rc : mem_read_u32(mem, process + (uint32_t)layout->process_state, &state);
	if (rc)
		return rc;
	if (id != epid || (state & (PSFLG_FREE | PSFLG_EXITING)))
		return -ESRCH;
	return state & PSFLG_GC ? -EAGAIN : 0;
}

/* Reads the slot of a key like pd_hash_get(): an atom's hash is its index. */
static int read_slot(struct mem *mem, raddr dictionary, uint64_t key, uint64_t *slot)
{
	uint32_t head[2], i; /* sizeMask, usedSlots */
	int rc = mem_read(mem, dictionary, head, sizeof(head));

	if (rc)
		return rc;
	i = (uint32_t)(key >> 6) & head[0];
	if (i >= head[1])
		i &= head[0] >> 1;
	return mem_read_u64(mem, dictionary + DICTIONARY_DATA + 8ull * i, slot);
}

int dictionary_get(struct mem *mem, const struct beam_layout *layout, raddr process, uint64_t epid,
		   uint64_t key, uint64_t *value)
{
	uint64_t dictionary, slot, cell[2], tuple[3];
	int rc = dictionary_readable(mem, layout, process, epid);

	*value = 0;
	rc = rc ? rc
		: mem_read_u64(mem, process + (uint32_t)layout->process_dictionary, &dictionary);
	if (rc || !dictionary)
		return rc;
	rc = read_slot(mem, dictionary, key, &slot);
	/* a slot is nil, a {Key, Value}, or a list of {Key, Value} */
	for (int i = 0; rc == 0 && slot != TERM_NIL; i++) {
		cell[0] = slot;
		cell[1] = TERM_NIL;
		if (TERM_IS_LIST(slot))
			rc = mem_read(mem, TERM_ADDR(slot), cell, sizeof(cell));
		if (rc == 0 && ((cell[0] & 3) != 2 || i >= MAX_CHAIN))
			return -EBADMSG;
		rc = rc ? rc : mem_read(mem, TERM_ADDR(cell[0]), tuple, sizeof(tuple));
		if (rc == 0 && tuple[0] != HEADER_TUPLE(2))
			return -EBADMSG;
		if (rc == 0 && tuple[1] == key) {
			*value = tuple[2];
			return 0;
		}
		slot = cell[1];
	}
	return rc;
}

/* Visits the pairs of a slot: nil, a {Key, Value}, or a list of {Key, Value}. */
static int each_of_slot(struct mem *mem, uint64_t slot, dictionary_pair_fn *visit, void *arg,
			uint64_t *unreadable)
{
	uint64_t cell[2], tuple[3];
	int rc = 0;

	for (int i = 0; slot != TERM_NIL && rc == 0; i++) {
		cell[0] = slot;
		cell[1] = TERM_NIL;
		if ((TERM_IS_LIST(slot) &&
		     mem_read(mem, TERM_ADDR(slot), cell, sizeof(cell)) != 0) ||
		    (cell[0] & 3) != 2 || i == MAX_LONG_CHAIN ||
		    mem_read(mem, TERM_ADDR(cell[0]), tuple, sizeof(tuple)) != 0 ||
		    tuple[0] != HEADER_TUPLE(2)) {
			++*unreadable;
			return 0;
		}
		rc = visit(arg, cell[0], tuple[1], tuple[2]);
		slot = cell[1];
	}
	return rc;
}

int dictionary_pairs(struct mem *mem, raddr dictionary, dictionary_pair_fn *visit, void *arg,
		     uint64_t *unreadable)
{
	uint64_t slots[SLOTS_AT_ONCE];
	uint32_t head[4]; /* sizeMask, usedSlots, arraySize, splitPosition */
	int rc = mem_read(mem, dictionary, head, sizeof(head));

	*unreadable = 0;
	if (rc)
		return rc;
	if (head[1] > head[2] || head[2] > MAX_SLOTS)
		return -EBADMSG;
	for (uint32_t from = 0; from < head[1] && rc == 0; from += SLOTS_AT_ONCE) {
		uint32_t nr = head[1] - from;

		nr = nr > SLOTS_AT_ONCE ? SLOTS_AT_ONCE : nr;
		rc = mem_read(mem, dictionary + DICTIONARY_DATA + 8ull * from, slots, 8ull * nr);
		for (uint32_t i = 0; i < nr && rc == 0; i++)
			rc = each_of_slot(mem, slots[i], visit, arg, unreadable);
	}
	return rc;
}

struct key_value {
	int (*visit)(void *arg, uint64_t key, uint64_t value);
	void *arg;
};

static int visit_key_value(void *arg, uint64_t pair, uint64_t key, uint64_t value)
{
	struct key_value *v = arg;

	UNUSED(pair);
	return v->visit(v->arg, key, value);
}

int dictionary_each(struct mem *mem, raddr dictionary,
		    int (*visit)(void *arg, uint64_t key, uint64_t value), void *arg,
		    uint64_t *unreadable)
{
	struct key_value v = {visit, arg};

	return dictionary_pairs(mem, dictionary, visit_key_value, &v, unreadable);
}
