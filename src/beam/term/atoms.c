/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The atom table of a node, read on demand: term -> index -> segment -> Atom -> text.  Texts are
 * kept for ever, in segments like the VM's, as an atom never changes its text or number.  Failed
 * reads are not kept: the next call tries again.
 *
 * Reads erts_atom_table (an IndexTable) and Atom; erts/emulator/beam/{atom,index}.h, OTP 25 to 29.
 */
#include "beam/term/atoms.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "abi/vm.h"
#include "base/compiler.h"
#include "base/strbuf.h"
#include "base/vec.h"
#include "base/xalloc.h"
#include "names/elixir.h"
#include "names/names.h"

/* INDEX_PAGE_SIZE of erts/emulator/beam/index.h. */
#define SEGMENT_ATOMS 1024

/* Limit of the atoms whose text is read, others have none; the VM's own default limit (+t) is
 * 1,048,576. */
#define ATOMS_MAX (1u << 26)

/* 255 characters (MAX_ATOM_CHARACTERS) of at most four bytes of UTF-8. */
#define ATOM_MAX_SIZE 1020

/* Results that beam_atom_find() remembers; other atoms are searched again in each call. */
#define FINDS_MAX 256

/* Room for one struct Atom: 40 bytes in all releases, more in builds that are refused. */
#define ATOM_STRUCT_MAX 64

/* From OTP 28 the text is a bitstring term; erts/emulator/beam/erl_bits.h.
 *   ErlHeapBits {header, size in bits, bytes...}                         up to 64 bytes
 *   ErlSubBits  {header, address | flags, start bit, end bit, ...}       longer ones
 */
#define POINTER_TAG    7
#define HEAP_BITS_DATA 16

struct atom {
	uint16_t len;
	char text[];
};

struct atom_segment {
	struct atom *atoms[SEGMENT_ATOMS];
};

struct atom_find {
	char *text;
	uint64_t term;	   /* 0 = not found below `searched` */
	uint32_t searched; /* number of atoms that were compared */
};

struct beam_atoms {
	struct mem *mem;
	const struct beam_layout *layout;
	raddr table;
	size_t struct_size; /* bytes of an Atom that include all fields that are read */
	VEC(struct atom_segment *) segments;
	VEC(struct atom_find) finds;
};

/* Fields of an Atom. */
struct atom_head {
	uint32_t index;
	uint16_t len;
	uint64_t text; /* address of the first byte; from OTP 28 a bitstring term */
};

int beam_atoms_open(struct beam_atoms **out, struct mem *mem, const struct beam_layout *layout,
		    raddr table)
{
	int32_t name = layout->atom_u != LAYOUT_ABSENT ? layout->atom_u : layout->atom_name;
	const int32_t ends[] = {layout->atom_index + 4, layout->atom_len + 2, name + 8};
	struct beam_atoms *a;
	int32_t size = 0;

	for (size_t i = 0; i < ARRAY_SIZE(ends); i++)
		size = MAX(size, ends[i]);
	if (!table || name < 0 || layout->atom_index < 0 || layout->atom_len < 0 ||
	    size > ATOM_STRUCT_MAX || layout->index_table_entries < 0 ||
	    layout->index_table_seg_table < 0)
		return -EINVAL;
	a = xcalloc(1, sizeof(*a));
	a->mem = mem;
	a->layout = layout;
	a->table = table;
	a->struct_size = (size_t)size;
	*out = a;
	return 0;
}

void beam_atoms_close(struct beam_atoms *a)
{
	if (!a)
		return;
	for (size_t i = 0; i < a->segments.len; i++) {
		for (size_t j = 0; a->segments.data[i] && j < SEGMENT_ATOMS; j++)
			free(a->segments.data[i]->atoms[j]);
		free(a->segments.data[i]);
	}
	for (size_t i = 0; i < a->finds.len; i++)
		free(a->finds.data[i].text);
	vec_free(&a->segments);
	vec_free(&a->finds);
	free(a);
}

int64_t beam_atoms_count(struct beam_atoms *a)
{
	uint32_t entries;
	int err = mem_read_u32(a->mem, a->table + (raddr)a->layout->index_table_entries, &entries);

	if (err)
		return err;
	return entries <= INT32_MAX ? (int64_t)entries : -EBADMSG;
}

static int read_segment_address(struct beam_atoms *a, uint32_t segment, raddr *out)
{
	raddr seg_table;
	int err = mem_read_u64(a->mem, a->table + (raddr)a->layout->index_table_seg_table,
			       &seg_table);

	if (err)
		return err;
	err = mem_read_u64(a->mem, seg_table + 8 * (raddr)segment, out);
	if (!err && !*out)
		err = -ENOENT; /* the node has no such atom yet */
	return err;
}

/* Reads the fields from the bytes of an Atom.  False if they are not those of the atom `index`. */
static bool parse_head(const struct beam_atoms *a, const uint8_t *bytes, uint32_t index,
		       struct atom_head *head)
{
	const struct beam_layout *l = a->layout;
	int16_t len;

	memcpy(&head->index, bytes + l->atom_index, 4);
	memcpy(&len, bytes + l->atom_len, 2);
	if (head->index != index || len < 0 || len > ATOM_MAX_SIZE)
		return false;
	head->len = (uint16_t)len;
	memcpy(&head->text, bytes + (l->atom_u == LAYOUT_ABSENT ? l->atom_name : l->atom_u), 8);
	return true;
}

static int read_head(struct beam_atoms *a, uint32_t index, struct atom_head *head)
{
	uint8_t bytes[ATOM_STRUCT_MAX];
	raddr segment, atom;
	int err = read_segment_address(a, index / SEGMENT_ATOMS, &segment);

	if (!err)
		err = mem_read_u64(a->mem, segment + 8 * (raddr)(index % SEGMENT_ATOMS), &atom);
	if (!err && !atom)
		err = -ENOENT;
	if (!err)
		err = mem_read(a->mem, atom, bytes, a->struct_size);
	if (!err && !parse_head(a, bytes, index, head))
		err = -EBADMSG;
	return err;
}

/* Address of the bytes of a bitstring term, which must have a size of `len` bytes. */
static int find_bytes(struct beam_atoms *a, uint64_t term, uint16_t len, raddr *out)
{
	raddr at = term & ~(uint64_t)POINTER_TAG;
	uint64_t start_end[2], head[2];
	int err = mem_read(a->mem, at, head, sizeof(head));

	if (err)
		return err;
	if (HEADER_SUBTAG(head[0]) == SUBTAG_HEAP_BITS && head[1] == 8u * len) {
		*out = at + HEAP_BITS_DATA;
		return 0;
	}
	if (HEADER_SUBTAG(head[0]) != SUBTAG_SUB_BITS)
		return -EBADMSG;
	err = mem_read(a->mem, at + sizeof(head), start_end, sizeof(start_end));
	if (err)
		return err;
	if (start_end[0] % 8 != 0 || start_end[1] - start_end[0] != 8u * len)
		return -EBADMSG;
	*out = (head[1] & ~SUB_BITS_FLAGS) + start_end[0] / 8;
	return 0;
}

/* Reads an atom with its text; NULL if that fails. */
static struct atom *read_atom(struct beam_atoms *a, uint32_t index)
{
	struct atom_head head;
	struct atom *atom;
	raddr text;

	if (read_head(a, index, &head) != 0)
		return NULL;
	text = head.text;
	if (a->layout->atom_u != LAYOUT_ABSENT && find_bytes(a, head.text, head.len, &text) != 0)
		return NULL;
	atom = xmalloc(sizeof(*atom) + head.len + 1u);
	atom->len = head.len;
	if (head.len > 0 && mem_read(a->mem, text, atom->text, head.len) != 0) {
		free(atom);
		return NULL;
	}
	atom->text[head.len] = '\0';
	return atom;
}

static const struct atom *get_atom(struct beam_atoms *a, uint64_t term)
{
	uint64_t index = term >> 6;
	struct atom_segment *segment;
	struct atom **slot;

	if (!TERM_IS_ATOM(term) || index >= ATOMS_MAX)
		return NULL;
	while (a->segments.len <= index / SEGMENT_ATOMS)
		vec_push(&a->segments, NULL);
	segment = a->segments.data[index / SEGMENT_ATOMS];
	if (!segment) {
		struct atom *first = read_atom(a, (uint32_t)index);

		if (!first) /* words that only look like atoms must not cost a segment */
			return NULL;
		segment = xcalloc(1, sizeof(*segment));
		segment->atoms[index % SEGMENT_ATOMS] = first;
		a->segments.data[index / SEGMENT_ATOMS] = segment;
		return first;
	}
	slot = &segment->atoms[index % SEGMENT_ATOMS];
	if (!*slot)
		*slot = read_atom(a, (uint32_t)index);
	return *slot;
}

const char *beam_atom_text(struct beam_atoms *a, uint64_t term, size_t *len)
{
	const struct atom *atom = get_atom(a, term);

	if (!atom)
		return NULL;
	if (len)
		*len = atom->len;
	return atom->text;
}

bool beam_mfa_read(struct mem *mem, const struct beam_layout *l, raddr at, uint64_t mfa[3])
{
	if (at && mem_read_u64(mem, at + (raddr)l->mfa_module, &mfa[0]) == 0 &&
	    mem_read_u64(mem, at + (raddr)l->mfa_function, &mfa[1]) == 0 &&
	    mem_read_u64(mem, at + (raddr)l->mfa_arity, &mfa[2]) == 0)
		return true;
	memset(mfa, 0, 3 * sizeof(mfa[0]));
	return false;
}

bool beam_mfa_format(struct beam_atoms *a, const uint64_t mfa[3], struct strbuf *out)
{
	struct name_function f = {.kind = FRAME_ERLANG, .arity = (int32_t)mfa[2]};

	f.module = beam_atom_text(a, mfa[0], NULL);
	f.name = beam_atom_text(a, mfa[1], NULL);
	if (!f.module || !f.name || mfa[2] > BEAM_MAX_ARITY)
		return false;
	names_format_function(out, &f);
	return true;
}

bool beam_atom_is(struct beam_atoms *a, uint64_t term, const char *text)
{
	size_t len;
	const char *name = beam_atom_text(a, term, &len);
	struct strbuf written = STRBUF_INIT;
	bool is;

	if (!name)
		return false;
	if (strcmp(name, text) == 0 || strcmp(elixir_bare(name), text) == 0)
		return true;
	if (*text == ':')
		return strcmp(name, text + 1) == 0;
	if (*text != '\'')
		return false;
	if (strlen(text) == len + 2 && strncmp(text + 1, name, len) == 0 && text[len + 1] == '\'')
		return true; /* the text has quotes that the name does not need */
	names_format_atom(&written, name, len);
	is = strcmp(written.buf, text) == 0;
	strbuf_free(&written);
	return is;
}

/* Searches the text among the atoms [from, from + nr) of one segment; *term is 0 if it is not
 * there.  Negative errno if some atom could not be read, so that the result is unknown. */
static int find_in_segment(struct beam_atoms *a, const char *text, uint32_t from, uint32_t nr,
			   uint64_t *term)
{
	struct mem_range ranges[SEGMENT_ATOMS];
	raddr slots[SEGMENT_ATOMS], segment;
	size_t len = strlen(text);
	uint8_t *bytes;
	int err = read_segment_address(a, from / SEGMENT_ATOMS, &segment);

	*term = 0;
	if (!err)
		err = mem_read(a->mem, segment + 8 * (raddr)(from % SEGMENT_ATOMS), slots, 8 * nr);
	if (err)
		return err;
	bytes = xmalloc(nr * a->struct_size);
	for (uint32_t i = 0; i < nr; i++)
		ranges[i] = (struct mem_range){.addr = slots[i],
					       .buf = bytes + i * a->struct_size,
					       .size = a->struct_size};
	mem_readv(a->mem, ranges, nr);
	for (uint32_t i = 0; i < nr && !*term; i++) {
		uint64_t candidate = ((uint64_t)(from + i) << 6) | 0x0b;
		struct atom_head head;
		const char *have;

		if (ranges[i].err || !parse_head(a, ranges[i].buf, from + i, &head))
			err = -EFAULT;
		else if (head.len == len && !(have = beam_atom_text(a, candidate, NULL)))
			err = -EFAULT;
		else if (head.len == len && memcmp(have, text, len) == 0)
			*term = candidate;
	}
	free(bytes);
	return *term ? 0 : err;
}

/* Continues where the last search for this text ended: atoms are only ever appended. */
static void search(struct beam_atoms *a, struct atom_find *f)
{
	int64_t count = beam_atoms_count(a);

	count = MIN(count, (int64_t)ATOMS_MAX);
	while (!f->term && f->searched < count) {
		uint32_t left_in_segment = SEGMENT_ATOMS - f->searched % SEGMENT_ATOMS;
		uint32_t nr = (uint32_t)MIN(count - f->searched, (int64_t)left_in_segment);

		if (find_in_segment(a, f->text, f->searched, nr, &f->term) != 0)
			break;
		f->searched += nr;
	}
}

uint64_t beam_atom_find(struct beam_atoms *a, const char *text)
{
	struct atom_find once = {0};

	for (size_t i = 0; i < a->finds.len; i++) {
		struct atom_find *f = &a->finds.data[i];

		if (strcmp(f->text, text) != 0)
			continue;
		if (!f->term)
			search(a, f);
		return f->term;
	}
	once.text = xstrdup(text);
	search(a, &once);
	if (a->finds.len < FINDS_MAX)
		vec_push(&a->finds, once);
	else
		free(once.text);
	return once.term;
}
