/* SPDX-License-Identifier: BSD-2-Clause */
/* The dictionary of an Erlang process, read while the process goes on. */
#ifndef EBEAM_BEAM_DICTIONARY_H
#define EBEAM_BEAM_DICTIONARY_H

#include "abi/layout.h"
#include "target/mem.h"

/*
 * The process at this address is `epid` and has a dictionary that can be read: 0.  -ESRCH: it is
 * another one, or exits; -EAGAIN: it is being collected; else why it cannot be read.
 */
int dictionary_readable(struct mem *mem, const struct beam_layout *layout, raddr process,
			uint64_t epid);

/*
 * Value of an atom in the dictionary now; 0 = not there.  Negative errno as above, or -EBADMSG if
 * what was read cannot be a dictionary.  The value may be gone as soon as it is known.
 */
int dictionary_get(struct mem *mem, const struct beam_layout *layout, raddr process, uint64_t epid,
		   uint64_t key, uint64_t *value);

/*
 * Each {Key, Value} of the dictionary at this address (Process.dictionary), in no order; stops if
 * visit returns non-zero, and returns that.  -EBADMSG: it cannot be a dictionary.  *unreadable
 * counts pairs that could not be read.
 */
int dictionary_each(struct mem *mem, raddr dictionary,
		    int (*visit)(void *arg, uint64_t key, uint64_t value), void *arg,
		    uint64_t *unreadable);

#endif
