/* SPDX-License-Identifier: BSD-2-Clause */
/* Shared by the files that write terms of crash dumps. */
#ifndef EBEAM_BEAM_TERM_DUMP_INTERNAL_H
#define EBEAM_BEAM_TERM_DUMP_INTERNAL_H

#include "beam/term/term_dump.h"
#include "beam/term/term_internal.h"

/* Bytes that are read of a binary at once; a multiple of 3, so that no padding is within. */
#define TERM_DUMP_CHUNK (3u << 14)
/* The flag of an item of a set. */
#define TERM_DUMP_FLAG 1ull

/* Can the bytes be read?  Tries one in a MiB: a size that is none reaches beyond all memory. */
bool term_dump_has_bytes(struct mem *mem, raddr at, uint64_t size);

void term_dump_hex(struct strbuf *out, uint64_t n);
/* Appends the name of an atom: A<size>:<name>. */
void term_dump_name(struct strbuf *out, const char *name, size_t len);
/* Appends a term where it stands, to `out`, and has what it refers to visited. */
void term_dump_inline(struct term_dump *d, struct strbuf *out, uint64_t term);
/* The same for the value of `key`, which may be masked. */
void term_dump_value(struct term_dump *d, struct strbuf *out, uint64_t key, uint64_t value);
/* Adds an address; false: it was there.  *id: its index. */
bool term_dump_add(struct term_dump_set *s, raddr at, uint32_t *id);

/* Appends an atom, reference, fun or bitstring in the external term format: E<size>:<base64>. */
void term_dump_external(struct term_dump *d, struct strbuf *out, const struct term_view *v);

/* Appends the object that a map is, and to d->more the lines of the nodes of a trie.  False, with
 * nothing appended: it cannot be read. */
bool term_dump_map(struct term_dump *d, struct strbuf *out, const struct term_view *v);

#endif
