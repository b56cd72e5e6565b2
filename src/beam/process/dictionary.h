/* SPDX-License-Identifier: BSD-2-Clause */
/* The process dictionary of an Erlang process, read while the process may run. */
#ifndef EBEAM_BEAM_DICTIONARY_H
#define EBEAM_BEAM_DICTIONARY_H

#include "abi/layout.h"
#include "target/mem.h"

/*
 * 0: the process at this address is `epid`, and its dictionary can be read.  -ESRCH: it is another
 * process, or exits; -EAGAIN: it is being garbage collected; else errno of the failed read.
 */
int dictionary_readable(struct mem *mem, const struct beam_layout *layout, raddr process,
			uint64_t epid);

/*
 * Sets *value to the value that the key `key`, an atom, has now; 0 = no such key.  Returns 0 or a
 * negative errno: as above, or -EBADMSG if the memory is no dictionary.  The node may move or free
 * the term *value at any time.
 */
int dictionary_get(struct mem *mem, const struct beam_layout *layout, raddr process, uint64_t epid,
		   uint64_t key, uint64_t *value);

/*
 * Visits each {Key, Value} of the dictionary at this address (Process.dictionary), in no order;
 * stops if visit returns non-zero, and returns that.  -EBADMSG: it is no dictionary.  *unreadable
 * counts pairs that could not be read.
 */
int dictionary_each(struct mem *mem, raddr dictionary,
		    int (*visit)(void *arg, uint64_t key, uint64_t value), void *arg,
		    uint64_t *unreadable);

/* The same with the term of each pair, a tuple. */
typedef int dictionary_pair_fn(void *arg, uint64_t pair, uint64_t key, uint64_t value);
int dictionary_pairs(struct mem *mem, raddr dictionary, dictionary_pair_fn *visit, void *arg,
		     uint64_t *unreadable);

#endif
