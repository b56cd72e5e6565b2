/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Terms of a node in the text of Erlang's crash dumps, as crashdump_viewer reads them.
 *
 * An immediate term is written where it stands: A2:ok, I42, N, P<0.80.0>, p<0.5>.  Any other is
 * H and the address of an object, which has a line of its own, ADDRESS:OBJECT, in the section
 * =proc_heap of its process or in =literals: lI1|N, t2:...,..., F.., B16#.., Yh.. (bytes),
 * Yc.. (part of a =binary:), Mf.. and Mh.. (maps), or E.. (external term format).
 *
 * What the VM's own dumps lack is written nevertheless: bits beyond the last byte of a bitstring,
 * and free variables of funs that are immediate.  A native record (OTP 29), which no viewer reads,
 * is a tuple {'#module:name', Key, Value, ...}.  Marks of ebeam are the atoms '***' (masked),
 * '#Cut' (beyond a limit), '#Cyclic' (memory that changed: no term contains itself),
 * and the tuples {'#Cut', Address} and {'#Unreadable', Address}.
 *
 * erts/emulator/beam/erl_process_dump.c, lib/observer/src/crashdump_viewer.erl, OTP 25 to 29.
 */
#ifndef EBEAM_BEAM_TERM_DUMP_H
#define EBEAM_BEAM_TERM_DUMP_H

#include <stdio.h>

#include "base/idmap.h"
#include "base/vec.h"
#include "beam/term/term_read.h"

/* Limit of the objects of one process, and of those outside of all processes. */
#define TERM_DUMP_OBJECTS_MAX (8u << 20)
/* Limit of all bytes, if the mappings of the node are not known. */
#define TERM_DUMP_BYTES_MAX (1ull << 40)

struct term_dump_range {
	raddr from, to;
};

/* A set of addresses; the lowest bit of an item is a flag, as no object has an odd address. */
struct term_dump_set {
	VEC(raddr) items;
	struct idmap index;
};

struct term_dump {
	struct term_reader *r;
	FILE *out;
	uint64_t node; /* name of this node, an atom, and its creation: for references */
	uint32_t creation;
	size_t max_objects; /* TERM_DUMP_OBJECTS_MAX; less for tests */
	/* Bytes of the node that may still be written: none is written twice, so that more than
	 * twice what the node has is a sign of damaged memory, whose objects overlap. */
	uint64_t left;
	/* Counts, for the whole dump. */
	uint64_t objects, cut, cyclic, unreadable, binaries, binary_bytes;
	/* Internal. */
	struct strbuf line;
	struct strbuf more; /* lines of a map's nodes */
	bool in_pair;	    /* of a persistent term: an atom with '|' would break its line */
	bool outside;	    /* objects that are outside of all processes are being written */
	VEC(struct term_dump_range) own; /* memory of the process, sorted */
	struct term_dump_set seen;	 /* objects of the process; flag: now on the path */
	struct term_dump_set literals;	 /* objects outside of all processes that are referred to */
	struct term_dump_set blobs;	 /* off-heap binaries; flag: not written yet */
	VEC(uint64_t) todo;		 /* terms to visit, and objects to leave */
};

/* `node`: of the reader r, which is borrowed like `out`; r->is_secret masks. */
void term_dump_open(struct term_dump *d, struct term_reader *r, FILE *out);
void term_dump_close(struct term_dump *d);

/* Takes bytes from those that may be written.  False: there are not as many left, which is counted
 * as cut. */
bool term_dump_spend(struct term_dump *d, uint64_t bytes);

/* Begins a process.  Its memory is what term_dump_own() adds; objects elsewhere are taken for
 * literals, which all processes share. */
void term_dump_begin(struct term_dump *d);
void term_dump_own(struct term_dump *d, raddr from, raddr to);
/* To be called after the last term_dump_own(). */
void term_dump_own_end(struct term_dump *d);

/* Writes a term where it stands, without newline. */
void term_dump_element(struct term_dump *d, uint64_t term);
/* Writes the lines of all objects that the elements since term_dump_begin() refer to. */
void term_dump_heap(struct term_dump *d);
/* Writes a section =binary: for each off-heap binary that is referred to and has none yet. */
void term_dump_binaries(struct term_dump *d);
/* Writes a persistent term, KEY|VALUE; the value is masked if an element of the key is that of a
 * secret. */
void term_dump_persistent(struct term_dump *d, uint64_t key, uint64_t value);
/* Writes the lines of objects that are in no process's memory: once, at the end. */
void term_dump_literals(struct term_dump *d);

/* Appends bytes as base64. */
void term_dump_base64(struct strbuf *out, const void *bytes, size_t size);

#endif
