/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Terms in the external term format (external.h, OTP 25 to 29), for what has no text of its own in
 * crash dumps: references, funs, bitstrings that end within a byte, atoms with newlines.
 */
#include <string.h>

#include "abi/vm.h"
#include "base/compiler.h"
#include "beam/node/node.h"
#include "beam/term/term_dump_internal.h"

#define VERSION_MAGIC	    131
#define NEW_FUN_EXT	    112
#define EXPORT_EXT	    113
#define NEWER_REFERENCE_EXT 90
#define NEW_PID_EXT	    88
#define BIT_BINARY_EXT	    77
#define SMALL_ATOM_UTF8_EXT 119
#define ATOM_UTF8_EXT	    118
#define SMALL_INTEGER_EXT   97
#define INTEGER_EXT	    98
#define SMALL_BIG_EXT	    110
#define NIL_EXT		    106

/* ErlFunEntry.uniq, the MD5 of the module, and .index, by their distance to .old_uniq behind them:
 * OTP 24 {u8 uniq[16]; int index}, 25 to 27 {int index; u8 uniq[16]}, since 28 {u8 uniq[16]; int
 * arity, index} (erl_fun.h). */
#define FUN_UNIQ_SIZE  16
#define FUN_UNIQ(otp)  ((otp) >= 28 ? 24u : (otp) >= 25 ? 16u : 20u)
#define FUN_INDEX(otp) ((otp) >= 25 && (otp) <= 27 ? 20u : 4u)
#define FREE_MAX       256
/* Limit of a bitstring; larger ones lose the bits beyond their last byte. */
#define BITS_MAX_BYTES (64u << 20)

static void add_u16(struct strbuf *out, uint32_t n)
{
	char b[2] = {(char)(n >> 8), (char)n};

	strbuf_add(out, b, sizeof(b));
}

static void add_u32(struct strbuf *out, uint32_t n)
{
	add_u16(out, n >> 16);
	add_u16(out, n & 0xffff);
}

static void add_atom(struct term_dump *d, struct strbuf *out, uint64_t term)
{
	size_t len;
	const char *name = beam_atom_text(d->r->atoms, term, &len);

	if (!name) {
		name = "#Unreadable";
		len = strlen(name);
	}
	strbuf_addch(out, (char)(len < 256 ? SMALL_ATOM_UTF8_EXT : ATOM_UTF8_EXT));
	if (len < 256)
		strbuf_addch(out, (char)len);
	else
		add_u16(out, (uint32_t)len);
	strbuf_add(out, name, len);
}

static void add_integer(struct strbuf *out, int64_t n)
{
	uint64_t left = n < 0 ? 0 - (uint64_t)n : (uint64_t)n;

	if (n >= INT32_MIN && n <= INT32_MAX) {
		strbuf_addch(out, (char)INTEGER_EXT);
		add_u32(out, (uint32_t)n);
		return;
	}
	strbuf_addch(out, (char)SMALL_BIG_EXT);
	strbuf_addch(out, 8);
	strbuf_addch(out, n < 0);
	for (int i = 0; i < 8; i++, left >>= 8)
		strbuf_addch(out, (char)(left & 0xff));
}

static void add_pid(struct term_dump *d, struct strbuf *out, uint64_t term)
{
	uint64_t data = term ? id_data(d->r->pids, term) : 0;
	unsigned int bits = pid_number_bits(d->r->pids);

	strbuf_addch(out, (char)NEW_PID_EXT);
	add_atom(d, out, d->node);
	add_u32(out, (uint32_t)(data & ((1ull << bits) - 1)));
	add_u32(out, (uint32_t)(data >> bits));
	add_u32(out, d->creation);
}

static void add_reference(struct term_dump *d, struct strbuf *out, const struct term_view *v)
{
	bool external = v->kind == TERM_KIND_EXTERNAL_REF;

	strbuf_addch(out, (char)NEWER_REFERENCE_EXT);
	add_u16(out, v->id.nr_numbers);
	add_atom(d, out, external ? v->id.node : d->node);
	add_u32(out, external ? v->id.creation : d->creation);
	for (uint32_t i = 0; i < v->id.nr_numbers; i++)
		add_u32(out, v->id.numbers[i]);
}

static void add_export(struct term_dump *d, struct strbuf *out, const struct term_view *v)
{
	strbuf_addch(out, (char)EXPORT_EXT);
	add_atom(d, out, v->fun.module);
	add_atom(d, out, v->fun.function);
	strbuf_addch(out, (char)SMALL_INTEGER_EXT);
	strbuf_addch(out, (char)v->fun.arity);
}

/* A free variable: those on the heap are [], as all are in dumps of the VM. */
static void add_free(struct term_dump *d, struct strbuf *out, uint64_t term)
{
	if (TERM_IS_ATOM(term))
		add_atom(d, out, term);
	else if (TERM_IS_SMALL(term))
		add_integer(out, TERM_SMALL(term));
	else if (TERM_IS_PID(term))
		add_pid(d, out, term);
	else
		strbuf_addch(out, (char)NIL_EXT);
}

/* The MD5 of the fun's module, and its index; false if they cannot be read. */
static bool read_entry(struct term_dump *d, const struct term_view *v, uint8_t *uniq,
		       uint32_t *index)
{
	const struct beam_layout *l = &d->r->node->layout;
	raddr entry;

	if (!term_word(d->r, v->addr + 8, &entry) || l->fun_entry_old_uniq < 0)
		return false;
	entry += (raddr)l->fun_entry_old_uniq;
	return term_bytes(d->r, entry - FUN_UNIQ(d->r->otp), uniq, FUN_UNIQ_SIZE) &&
	       term_bytes(d->r, entry - FUN_INDEX(d->r->otp), index, sizeof(*index));
}

static void add_fun(struct term_dump *d, struct strbuf *out, const struct term_view *v)
{
	struct strbuf body = STRBUF_INIT;
	uint64_t free[FREE_MAX] = {0}, nr = MIN(v->fun.nr_free, (uint64_t)FREE_MAX);
	uint8_t uniq[FUN_UNIQ_SIZE] = {0};
	uint32_t index = (uint32_t)v->fun.index;

	if (!read_entry(d, v, uniq, &index) ||
	    (nr && !term_bytes(d->r, v->fun.environment, free, 8 * nr)))
		d->unreadable++;
	strbuf_addch(&body, (char)v->fun.arity);
	strbuf_add(&body, uniq, sizeof(uniq));
	add_u32(&body, index);
	add_u32(&body, (uint32_t)nr);
	add_atom(d, &body, v->fun.module);
	add_integer(&body, (int32_t)v->fun.index);
	add_integer(&body, (int32_t)v->fun.old_uniq);
	add_pid(d, &body, TERM_IS_PID(v->fun.creator) ? v->fun.creator : 0);
	for (uint64_t i = 0; i < nr; i++)
		add_free(d, &body, free[i]);
	strbuf_addch(out, (char)NEW_FUN_EXT);
	add_u32(out, (uint32_t)body.len + 4);
	strbuf_add(out, body.buf, body.len);
	strbuf_free(&body);
}

static void add_bits(struct term_dump *d, struct strbuf *out, const struct term_view *v)
{
	uint64_t bytes = MIN((v->bits.nr_bits + 7) / 8, (uint64_t)BITS_MAX_BYTES);
	bool whole = bytes == (v->bits.nr_bits + 7) / 8;
	uint8_t *buf = xcalloc(1, (size_t)bytes);

	if (!term_bits(d->r, v, 0, buf, (size_t)bytes))
		d->unreadable++;
	d->cut += !whole;
	strbuf_addch(out, (char)BIT_BINARY_EXT);
	add_u32(out, (uint32_t)bytes);
	strbuf_addch(out, (char)(whole ? v->bits.nr_bits % 8 : 8));
	strbuf_add(out, buf, (size_t)bytes);
	free(buf);
}

void term_dump_external(struct term_dump *d, struct strbuf *out, const struct term_view *v)
{
	struct strbuf ext = STRBUF_INIT;

	strbuf_addch(&ext, (char)VERSION_MAGIC);
	switch (v->kind) {
	case TERM_KIND_ATOM:
		add_atom(d, &ext, v->term);
		break;
	case TERM_KIND_BITS:
		add_bits(d, &ext, v);
		break;
	case TERM_KIND_EXPORT:
		add_export(d, &ext, v);
		break;
	case TERM_KIND_FUN:
		add_fun(d, &ext, v);
		break;
	default:
		add_reference(d, &ext, v);
	}
	strbuf_addch(out, 'E');
	term_dump_hex(out, ext.len);
	strbuf_addch(out, ':');
	term_dump_base64(out, ext.buf, ext.len);
	strbuf_free(&ext);
}
