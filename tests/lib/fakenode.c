/* SPDX-License-Identifier: BSD-2-Clause */
/* See fakenode.h. */
#include "lib/fakenode.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/xalloc.h"
#include "beam/otp/layout.h"

#define SEGMENT_ATOMS 1024 /* of the one segment there is */
#define MAX_BIFS      64
#define PTAB_SIZE     512
#define INDEX_SIZE    128
#define ATOM_SIZE     64

static raddr at(const struct fakenode *f, raddr base, int32_t offset)
{
	assert(f->node.layout.process_size > 0 && offset >= 0);
	return base + (raddr)offset;
}

static void open_atoms(struct fakenode *f)
{
	const struct beam_layout *l = &f->node.layout;
	raddr table = image_alloc(f->im, INDEX_SIZE), seg_table = image_alloc(f->im, 8);
	int rc;

	f->atoms = image_alloc(f->im, 8 * SEGMENT_ATOMS);
	image_u64(f->im, at(f, table, l->index_table_seg_table), seg_table);
	image_u64(f->im, seg_table, f->atoms);
	f->node.anchors.atom_table = table;
	rc = beam_atoms_open(&f->node.atoms, f->node.mem, l, table);
	assert(rc == 0);
}

struct fakenode *fakenode_open(int otp)
{
	struct fakenode *f = xcalloc(1, sizeof(*f));

	f->node.pidfd = -1;
	struct beam_node *n = &f->node;

	f->im = image_open();
	n->mem = image_mem(f->im);
	n->layout = layout_table_find(otp, false)->layout;
	n->identity.otp = otp;
	n->identity.jit = n->identity.native_stack = true;
	open_atoms(f);
	n->anchors.jit_descriptor = jitlist_open(f->im);
	n->anchors.bif_table = image_alloc(f->im, (size_t)MAX_BIFS * BEAM_BIF_SIZE);
	n->anchors.proc_tab = image_alloc(f->im, PTAB_SIZE);
	n->anchors.port_tab = image_alloc(f->im, PTAB_SIZE);
	fakenode_ptab(f, n->anchors.proc_tab, otp >= 26 ? 20 : 18, 3);
	fakenode_ptab(f, n->anchors.port_tab, 16, 3);
	return f;
}

void fakenode_close(struct fakenode *f)
{
	beam_atoms_close(f->node.atoms);
	image_close(f->im);
	free(f);
}

/* The text behind a pointer, or in a heap bitstring since OTP 28. */
static void put_text(struct fakenode *f, raddr atom, const char *text)
{
	const struct beam_layout *l = &f->node.layout;
	size_t len = strlen(text);
	raddr bytes;

	if (l->atom_u == LAYOUT_ABSENT) {
		bytes = image_alloc(f->im, len + 1);
		image_u64(f->im, at(f, atom, l->atom_name), bytes);
	} else {
		raddr bits = image_alloc(f->im, 16 + len + 1);

		image_u64(f->im, bits, (1 + (len + 7) / 8) << 6 | 0x20);
		image_u64(f->im, bits + 8, 8 * len);
		image_u64(f->im, at(f, atom, l->atom_u), bits | 2);
		bytes = bits + 16;
	}
	image_put(f->im, bytes, text, len);
}

uint64_t fakenode_atom(struct fakenode *f, const char *text)
{
	const struct beam_layout *l = &f->node.layout;
	uint64_t term = beam_atom_find(f->node.atoms, text);
	uint32_t i = f->nr_atoms;
	raddr atom;

	if (term)
		return term;
	assert(i < SEGMENT_ATOMS);
	atom = image_alloc(f->im, ATOM_SIZE);
	image_u32(f->im, at(f, atom, l->atom_index), i);
	image_u16(f->im, at(f, atom, l->atom_len), (uint16_t)strlen(text));
	put_text(f, atom, text);
	image_u64(f->im, f->atoms + 8 * (raddr)i, atom);
	image_u32(f->im, at(f, f->node.anchors.atom_table, l->index_table_entries), i + 1);
	f->nr_atoms++;
	return ((uint64_t)i << 6) | 0x0b;
}

void fakenode_mfa(struct fakenode *f, uint64_t mfa[3], const char *module, const char *function,
		  uint64_t arity)
{
	mfa[0] = fakenode_atom(f, module);
	mfa[1] = fakenode_atom(f, function);
	mfa[2] = arity;
}

void fakenode_bif(struct fakenode *f, const char *module, const char *function, uint32_t arity,
		  raddr c_function)
{
	struct beam_anchors *a = &f->node.anchors;
	raddr entry = a->bif_table + (raddr)a->nr_bifs * BEAM_BIF_SIZE;

	assert(a->nr_bifs < MAX_BIFS);
	image_u64(f->im, entry + BEAM_BIF_MODULE, fakenode_atom(f, module));
	image_u64(f->im, entry + BEAM_BIF_NAME, fakenode_atom(f, function));
	image_u32(f->im, entry + BEAM_BIF_ARITY, arity);
	image_u64(f->im, entry + BEAM_BIF_FUNCTION, c_function);
	a->nr_bifs++;
}

raddr fakenode_export(struct fakenode *f, const char *module, const char *function, uint64_t arity)
{
	const struct beam_layout *l = &f->node.layout;
	raddr export = image_alloc(f->im, (size_t)l->export_size);
	uint64_t mfa[3];

	fakenode_mfa(f, mfa, module, function, arity);
	image_put(f->im, at(f, export, l->export_mfa), mfa, sizeof(mfa));
	return export;
}

void fakenode_ptab(struct fakenode *f, raddr table, unsigned int bits, unsigned int line_bits)
{
	const struct beam_layout *l = &f->node.layout;
	uint64_t pix = (1ull << bits) - 1, cl = (1ull << (bits - line_bits)) - 1,
		 cli = (1ull << line_bits) - 1;

	if (f->node.identity.otp >= 26) {
		image_u64(f->im, at(f, table, l->ptab_pix_mask), pix);
		image_u64(f->im, at(f, table, l->ptab_pix_cl_mask), cl);
		image_u64(f->im, at(f, table, l->ptab_pix_cli_mask), cli);
	} else {
		image_u32(f->im, at(f, table, l->ptab_pix_mask), (uint32_t)pix);
		image_u32(f->im, at(f, table, l->ptab_pix_cl_mask), (uint32_t)cl);
		image_u32(f->im, at(f, table, l->ptab_pix_cli_mask), (uint32_t)cli);
	}
	image_u32(f->im, at(f, table, l->ptab_pix_cl_shift), line_bits);
	image_u32(f->im, at(f, table, l->ptab_pix_cli_shift), bits - line_bits);
}
