/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A node that does not run: a struct beam_node over an image that holds what src/beam reads of one,
 * laid out as the generated tables say.  Atoms, BIFs, exports and code are added as a test goes on.
 */
#ifndef EBEAM_TESTS_FAKENODE_H
#define EBEAM_TESTS_FAKENODE_H

#include "beam/node/node.h"
#include "beam/term/atoms.h"
#include "lib/image.h"
#include "lib/jitrec.h"

struct fakenode {
	struct image *im;
	struct beam_node
		node; /* anchors: atom_table, proc_tab, port_tab, bif_table, jit_descriptor */
	raddr atoms;  /* the segment of the atom table */
	uint32_t nr_atoms;
};

/* Of a release that has a layout table.  Process and port tables are those of default limits. */
struct fakenode *fakenode_open(int otp);
void fakenode_close(struct fakenode *f);

uint64_t fakenode_atom(struct fakenode *f, const char *text); /* term; the same for the same text */
void fakenode_mfa(struct fakenode *f, uint64_t mfa[3], const char *module, const char *function,
		  uint64_t arity);
/* Before anything reads the table. */
void fakenode_bif(struct fakenode *f, const char *module, const char *function, uint32_t arity,
		  raddr c_function);
raddr fakenode_export(struct fakenode *f, const char *module, const char *function, uint64_t arity);

/* The constants of a table with 2^bits slots, of which 2^line_bits share a cache line
 * (erl_ptab.c). */
void fakenode_ptab(struct fakenode *f, raddr table, unsigned int bits, unsigned int line_bits);

#endif
