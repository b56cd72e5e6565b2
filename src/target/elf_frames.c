/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Function bounds from .eh_frame, which stripped files keep: every FDE covers one function (or one
 * part of it).  The unwind instructions are not read here.  The index is built on first use as one
 * sorted array; beam.smp has about 12,000 FDEs.
 *
 * Format: LSB Core 5.0, 10.6 "Exception Frames", and the DW_EH_PE_* encodings of 10.5.1.
 */
#include <stdlib.h>
#include <string.h>

#include "base/search.h"
#include "base/vec.h"
#include "target/elf_internal.h"

/* DW_EH_PE_*: the low four bits are the format of a value, the high four its base. */
#define PE_ABSPTR      0x00
#define PE_ULEB128     0x01
#define PE_UDATA2      0x02
#define PE_UDATA4      0x03
#define PE_UDATA8      0x04
#define PE_SLEB128     0x09
#define PE_SDATA2      0x0a
#define PE_SDATA4      0x0b
#define PE_SDATA8      0x0c
#define PE_FORMAT_MASK 0x0f
#define PE_PCREL       0x10
#define PE_BASE_MASK   0x70
#define PE_INDIRECT    0x80
#define PE_OMIT	       0xff

struct elf_frames {
	bool built;
	struct elf_range *data; /* sorted by start */
	size_t len;
};

/* A position in the section.  `bad` stays set: after a read past the end all values are 0. */
struct reader {
	const unsigned char *data;
	size_t at, end;
	bool bad;
};

struct elf_frames *elf_frames_new(void)
{
	return xcalloc(1, sizeof(struct elf_frames));
}

void elf_frames_free(struct elf_frames *f)
{
	if (!f)
		return;
	free(f->data);
	free(f);
}

static uint64_t take(struct reader *r, size_t size)
{
	uint64_t value = 0;

	if (r->bad || size > r->end - r->at) {
		r->bad = true;
		return 0;
	}
	memcpy(&value, r->data + r->at, size); /* little-endian files only */
	r->at += size;
	return value;
}

static uint64_t take_leb128(struct reader *r, bool is_signed)
{
	uint64_t value = 0;
	unsigned int shift = 0;
	uint64_t byte;

	do {
		byte = take(r, 1);
		if (shift < 64)
			value |= (byte & 0x7f) << shift;
		shift += 7;
	} while (byte & 0x80);
	if (is_signed && (byte & 0x40) && shift < 64)
		value |= ~(uint64_t)0 << shift;
	return value;
}

/* A value in the format of `encoding`, sign extended where the format is signed. */
static uint64_t take_value(struct reader *r, uint8_t encoding)
{
	switch (encoding & PE_FORMAT_MASK) {
	case PE_ABSPTR:
	case PE_UDATA8:
	case PE_SDATA8:
		return take(r, 8);
	case PE_UDATA2:
		return take(r, 2);
	case PE_SDATA2:
		return (uint64_t)(int64_t)(int16_t)take(r, 2);
	case PE_UDATA4:
		return take(r, 4);
	case PE_SDATA4:
		return (uint64_t)(int64_t)(int32_t)take(r, 4);
	case PE_ULEB128:
		return take_leb128(r, false);
	case PE_SLEB128:
		return take_leb128(r, true);
	default:
		r->bad = true;
		return 0;
	}
}

/* Reads a CIE's augmentation data, after its string: the encoding of pointers in its FDEs. */
static bool parse_augmentation(struct reader *r, const char *augmentation, uint8_t *encoding)
{
	for (const char *c = augmentation; *c; c++) {
		uint8_t personality;

		switch (*c) {
		case 'R':
			*encoding = (uint8_t)take(r, 1);
			return !r->bad;
		case 'L':
			take(r, 1);
			break;
		case 'P':
			personality = (uint8_t)take(r, 1);
			if (personality != PE_OMIT)
				take_value(r, personality);
			break;
		case 'S':
		case 'B':
		case 'G':
			break;
		default:
			return false; /* data of unknown size: what follows is lost */
		}
	}
	return !r->bad;
}

/* Reads the pointer encoding that a CIE sets for its FDEs; `r` is at the byte after the CIE id. */
static bool parse_cie(struct reader r, uint8_t *encoding)
{
	const char *augmentation;
	uint64_t version;
	size_t len;

	version = take(&r, 1);
	if (r.bad || (version != 1 && version != 3 && version != 4))
		return false;
	augmentation = (const char *)r.data + r.at;
	len = strnlen(augmentation, r.end - r.at);
	take(&r, 0);
	if (len == r.end - r.at)
		return false;
	r.at += len + 1;
	*encoding = PE_ABSPTR;
	if (*augmentation == '\0')
		return true;
	if (*augmentation != 'z')
		return false; /* augmentation "eh" of GCC 2, not in use any more */
	if (version == 4)
		take(&r, 2);	/* address and segment selector size */
	take_leb128(&r, false); /* code alignment */
	take_leb128(&r, true);	/* data alignment */
	if (version == 1)
		take(&r, 1); /* return address register */
	else
		take_leb128(&r, false);
	take_leb128(&r, false); /* size of the augmentation data */
	return !r.bad && parse_augmentation(&r, augmentation + 1, encoding);
}

/* Reads the bounds of the function from an FDE; `r` is at the byte after the CIE pointer. */
static bool parse_fde(struct reader r, uint64_t section_addr, uint8_t encoding,
		      struct elf_range *out)
{
	uint64_t base = 0, start, len;

	if ((encoding & PE_BASE_MASK) == PE_PCREL)
		base = section_addr + r.at;
	else if (encoding & PE_BASE_MASK)
		return false; /* relative to text, data or function: not used for FDEs on Linux */
	if (encoding & PE_INDIRECT)
		return false;
	start = take_value(&r, encoding);
	if (r.bad || start == 0)
		return false; /* discarded by the linker */
	start += base;
	len = take_value(&r, encoding & PE_FORMAT_MASK);
	if (r.bad || len == 0 || start + len < start)
		return false;
	*out = (struct elf_range){start, start + len};
	return true;
}

/* Reads a record's length and moves `r` past it: *body is the rest of the record, *next the offset
 * of the next one.  False at the terminator, or if the record does not fit. */
static bool next_record(struct reader *r, struct reader *body, size_t *next)
{
	uint64_t len = take(r, 4);

	if (len == 0xffffffff)
		len = take(r, 8);
	if (r->bad || len == 0 || len > r->end - r->at)
		return false;
	*body = (struct reader){.data = r->data, .at = r->at, .end = r->at + (size_t)len};
	*next = body->end;
	return true;
}

/* Pointer encoding of the FDEs that refer to the CIE at offset `at`. */
static bool cie_encoding_at(struct reader section, size_t at, uint8_t *encoding)
{
	struct reader body;
	size_t next;

	section.at = at;
	section.bad = false;
	if (!next_record(&section, &body, &next) || take(&body, 4) != 0 || body.bad)
		return false;
	return parse_cie(body, encoding);
}

static int compare_frames(const void *a, const void *b)
{
	const struct elf_range *x = a, *y = b;

	if (x->start != y->start)
		return x->start < y->start ? -1 : 1;
	return x->end < y->end ? -1 : x->end > y->end;
}

/* Most files have a few CIEs, each followed by many FDEs: it is enough to keep the last CIE. */
struct cie_cache {
	size_t at;
	uint8_t encoding;
	bool ok;
};

static void parse_section(struct elf_frames *f, struct elf_bytes bytes, uint64_t section_addr)
{
	struct reader section = {.data = bytes.data, .end = bytes.size}, body;
	struct cie_cache cie = {.at = SIZE_MAX};
	VEC(struct elf_range) frames = {0};
	bool sorted = true;

	for (size_t next; next_record(&section, &body, &next) && frames.len < ELF_MAX_FRAMES;
	     section.at = next) {
		size_t id_at = body.at;
		uint64_t cie_distance = take(&body, 4);
		struct elf_range frame;

		if (body.bad || cie_distance == 0 || cie_distance > id_at)
			continue; /* a CIE, or too short for an FDE */
		if (cie.at != id_at - cie_distance) {
			cie.at = id_at - cie_distance;
			cie.ok = cie_encoding_at(section, cie.at, &cie.encoding);
		}
		if (!cie.ok || !parse_fde(body, section_addr, cie.encoding, &frame))
			continue;
		if (frames.len > 0 && compare_frames(&frames.data[frames.len - 1], &frame) > 0)
			sorted = false;
		vec_push(&frames, frame);
	}
	if (frames.len == 0)
		return;
	if (!sorted)
		qsort(frames.data, frames.len, sizeof(*frames.data), compare_frames);
	f->data = xrealloc(frames.data, frames.len * sizeof(*frames.data));
	f->len = frames.len;
}

static void build_frames(const struct elf_file *e)
{
	e->frames->built = true;
	for (size_t i = 0; e->is_64_lsb && i < e->nr_sections; i++) {
		struct elf_bytes bytes = elf_section_bytes(e, i);

		if (strcmp(e->sections[i].name, ".eh_frame") == 0 && bytes.data) {
			parse_section(e->frames, bytes, e->sections[i].addr);
			return;
		}
	}
}

bool elf_file_function_at(const struct elf_file *e, uint64_t addr, uint64_t *start, uint64_t *end)
{
	struct elf_frames *f = e->frames;
	size_t nr;

	if (!f->built)
		build_frames(e);
	nr = COUNT_UP_TO(f->len, i, f->data[i].start, addr);
	if (nr == 0 || f->data[nr - 1].end <= addr)
		return false;
	*start = f->data[nr - 1].start;
	*end = f->data[nr - 1].end;
	return true;
}

size_t elf_file_functions(const struct elf_file *e, const struct elf_range **out)
{
	if (!e->frames->built)
		build_frames(e);
	*out = e->frames->data;
	return e->frames->len;
}
