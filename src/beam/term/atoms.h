/* SPDX-License-Identifier: BSD-2-Clause */
/* The atom table: index or term -> text, cached for ever because atoms are never freed. */
#ifndef EBEAM_BEAM_ATOMS_H
#define EBEAM_BEAM_ATOMS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "abi/layout.h"
#include "base/strbuf.h"
#include "target/mem.h"

struct beam_atoms;

#define BEAM_MAX_ARITY 255 /* of a function */

/* Borrows mem and layout. `table` is the address of erts_atom_table. */
int beam_atoms_open(struct beam_atoms **out, struct mem *mem, const struct beam_layout *layout,
		    raddr table);
void beam_atoms_close(struct beam_atoms *a);

/* Text of an atom term (UTF-8, NUL terminated, *len excludes the NUL), valid until close.  NULL if
 * the term is no atom or cannot be read. */
const char *beam_atom_text(struct beam_atoms *a, uint64_t term, size_t *len);
/* Reads the three words of the ErtsCodeMFA at `at`; false, and all 0: none, or unreadable. */
bool beam_mfa_read(struct mem *mem, const struct beam_layout *l, raddr at, uint64_t mfa[3]);
/* Appends an ErtsCodeMFA as M:F/A in Erlang's syntax.  False, with nothing appended: not two known
 * atoms and an arity. */
bool beam_mfa_format(struct beam_atoms *a, const uint64_t mfa[3], struct strbuf *out);
/* Is `text` a way to write this atom: its text, with or without "Elixir.", in Erlang's syntax ('my
 * name'), or with Elixir's colon? */
bool beam_atom_is(struct beam_atoms *a, uint64_t term, const char *text);
/* Number of atoms in the node now; negative errno on failure. */
int64_t beam_atoms_count(struct beam_atoms *a);
/* Term of the atom with this text; 0 if the node has none.  Searches the whole table once, then
 * remembers the result: for a few well-known atoms. */
uint64_t beam_atom_find(struct beam_atoms *a, const char *text);

#endif
