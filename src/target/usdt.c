/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * See usdt.h.  The format: sourceware.org/systemtap/wiki/UserSpaceProbeImplementation; the operands
 * are what GCC and clang write in AT&T syntax.
 */
#include "target/usdt.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/compiler.h"
#include "base/vec.h"
#include "target/elf_internal.h"
#include "target/usdt_internal.h"

#define SECTION	     ".note.stapsdt"
#define BASE_SECTION ".stapsdt.base"
#define NOTE_TYPE    3

/* ---- notes --------------------------------------------------------------------------------- */

/* Reads the descriptor of one note; false: it is truncated, or has an address outside of the
 * file. */
static bool read_note(const struct elf_file *e, struct elf_bytes desc, struct usdt_site *out)
{
	const struct elf_section *base = elf_file_section(e, BASE_SECTION);
	uint64_t words[3], moved = 0; /* site, base, semaphore */
	size_t at = sizeof(words);
	uint64_t skip;

	if (desc.size < sizeof(words))
		return false;
	memcpy(words, desc.data, sizeof(words));
	out->provider = elf_bytes_string(desc, at);
	at += out->provider ? strlen(out->provider) + 1 : 0;
	out->name = out->provider ? elf_bytes_string(desc, at) : NULL;
	at += out->name ? strlen(out->name) + 1 : 0;
	out->args = out->name ? elf_bytes_string(desc, at) : NULL;
	if (!out->args || !*out->name)
		return false;
	/* Moving sections after linking (prelink) leaves the old addresses in the notes. */
	if (base && words[1])
		moved = base->addr - words[1];
	out->addr = words[0] + moved;
	out->semaphore = words[2] ? words[2] + moved : 0;
	skip = elf_file_offset_of(e, out->addr);
	if (skip == UINT64_MAX || !elf_file_is_code(e, skip))
		return false;
	return !out->semaphore || elf_file_offset_of(e, out->semaphore) != UINT64_MAX;
}

size_t usdt_sites(const struct elf_file *e, struct usdt_site **out)
{
	VEC(struct usdt_site) sites = {0};
	const struct elf_section *section = elf_file_section(e, SECTION);
	struct elf_bytes notes = {0};
	struct elf_note note;
	size_t at = 0;

	if (section && elf_file_is_x86_64(e) && !section->nobits)
		notes = elf_file_bytes(e, section->offset, section->size);
	while (sites.len < USDT_MAX_SITES && elf_note_next(notes, &at, &note)) {
		struct usdt_site site;

		if (note.type == NOTE_TYPE && elf_note_is_of(&note, "stapsdt") &&
		    read_note(e, note.desc, &site))
			vec_push(&sites, site);
	}
	*out = sites.data;
	return sites.len;
}

/* ---- arguments ----------------------------------------------------------------------------- */

/* Parses a number; false if there is none or it does not fit. */
static bool parse_number(const char *text, const char **end, int64_t *value)
{
	char *after;

	if (*text != '-' && (*text < '0' || *text > '9'))
		return false;
	errno = 0;
	*value = strtoll(text, &after, 0);
	*end = after;
	return errno == 0 && after != text;
}

/* Parses the operand behind "N@", up to a blank. */
static bool parse_operand(const char *text, struct usdt_arg *arg)
{
	const char *end = text;

	if (*text == '$') {
		arg->type = USDT_ARG_CONSTANT;
		return parse_number(text + 1, &end, &arg->offset) && (!*end || *end == ' ');
	}
	if (*text == '%') {
		arg->type = USDT_ARG_REGISTER;
		return usdt_parse_register(text, &end, arg) && (!*end || *end == ' ');
	}
	arg->type = USDT_ARG_MEMORY;
	if (*text != '(' && !parse_number(text, &end, &arg->offset))
		return false;
	if (*end != '(' || !usdt_parse_register(end + 1, &end, arg) || arg->shift)
		return false;
	return *end == ')' && (!end[1] || end[1] == ' ');
}

/* Parses one argument, as "-4@8(%rsp)". */
static bool parse_arg(const char *text, struct usdt_arg *arg)
{
	int64_t size = 8;
	const char *end = text;

	memset(arg, 0, sizeof(*arg));
	if (*text && strchr("-0123456789", *text)) {
		const char *at = text + strcspn(text, "@ ");

		/* An argument without a size is 8 bytes. */
		if (*at == '@' && (!parse_number(text, &end, &size) || *end != '@'))
			return false;
		if (*at == '@')
			text = end + 1;
	}
	arg->is_signed = size < 0;
	size = size < 0 && size >= -8 ? -size : size;
	if (size != 1 && size != 2 && size != 4 && size != 8)
		return false;
	arg->size = (uint8_t)size;
	return parse_operand(text, arg);
}

unsigned int usdt_parse_args(const char *text, struct usdt_arg *out, unsigned int max)
{
	unsigned int nr = 0;

	for (text += strspn(text, " "); *text && nr < max; nr++) {
		if (!parse_arg(text, &out[nr]))
			memset(&out[nr], 0, sizeof(out[nr]));
		text += strcspn(text, " ");
		text += strspn(text, " ");
	}
	return nr;
}
