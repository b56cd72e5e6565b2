/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * How much of a binary the terms of a heap use: a sub-binary of 80 bytes keeps a binary of 512 KiB.
 *
 * Searches the words of the heap's areas for sub-binaries and match contexts that refer to the
 * given places; no object is followed, so that a heap that changes meanwhile does no harm.  Garbage
 * that was not collected yet counts as used.  A place to which nothing refers, as its term is in a
 * register or a message, uses all of its binary.  Of a process that stands still,
 * binary_use_reached() finds what is garbage.
 *
 * erl_bits.h, OTP 25 to 29.
 */
#ifndef EBEAM_BEAM_BINARY_USE_H
#define EBEAM_BEAM_BINARY_USE_H

#include "beam/process/off_heap.h"
#include "beam/process/process.h"

struct binary_use; /* of one holder: a process, an object of an ETS table */

/* The places, with their binaries, are copied. */
struct binary_use *binary_use_new(int otp, const struct off_heap_place *places, size_t nr);
void binary_use_free(struct binary_use *u);

/* Searches words that were read from the address `at` on. */
void binary_use_words(struct binary_use *u, const uint64_t *words, size_t nr);
/* Searches [from, to) of the node's memory; false = not all of it could be read. */
bool binary_use_area(struct binary_use *u, struct beam_node *n, raddr from, raddr to);
/* Searches a chain of heap fragments. */
bool binary_use_fragments(struct binary_use *u, struct beam_node *n, raddr fragment);
/* Searches heap, stack, old heap and fragments of a process, with those of received messages. */
bool binary_use_process(struct binary_use *u, struct beam_node *n, const struct process_facts *p);
/* Instead of these: takes what is reachable, in messages, too.  A place to which only garbage
 * refers uses nothing; one that lies in none of the areas of the heap uses all.  False: it is not
 * known (heap_mark_process()), and nothing was taken. */
bool binary_use_reached(struct binary_use *u, struct beam_node *n, const struct process_facts *p);
/* What is reachable (`reach`) if that is known, else all, with the fragments of messages of *o. */
bool binary_use_holder(struct binary_use *u, struct beam_node *n, const struct process_facts *p,
		       const struct off_heap *o, bool reach);

/* Bytes of a binary of `size` bytes that are used; after all areas. */
uint64_t binary_use_of(struct binary_use *u, raddr binary, uint64_t size);
/* Is it known what is garbage? */
bool binary_use_knows_garbage(const struct binary_use *u);
/* Does only garbage refer to it?  False if that is not known. */
bool binary_use_is_garbage(struct binary_use *u, raddr binary);

#endif
