/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Reads struct beam_identity from an executable; see identity.h.
 *
 * OTP up to 28 exports etp_otp_release and other constants for its debugger scripts; OTP 29 hides
 * them.  The format string of system_version (erts/emulator/beam/erl_bif_info.c) is in the data of
 * all releases and has the variant of the build.
 */
#include "beam/locate/identity.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/compiler.h"
#include "base/strbuf.h"
#include "base/xalloc.h"
#include "beam/otp/layout.h"

/* Data sections of the emulator have 0.1 to 0.8 MB (OTP 23 to 29). */
#define SECTION_MAX_SIZE ((size_t)32 << 20)
#define VERSION_MAX_SIZE 512

/* Oldest and newest release number that is accepted. */
#define OTP_OLDEST 17
#define OTP_NEWEST 99

static const char version_start[] = "Erlang/OTP ";

static char *read_section(const struct elf_file *e, const char *name, size_t *size)
{
	return (char *)elf_file_copy_section(e, name, SECTION_MAX_SIZE, size, NULL);
}

static bool contains(const char *text, size_t len, const char *what)
{
	return memmem(text, len, what, strlen(what)) != NULL;
}

/* Copies the text up to `end`; false if it is empty or too long. */
static bool copy_until(char *buf, size_t size, const char *text, size_t len, char end)
{
	const char *stop = memchr(text, end, len);

	if (!stop || stop == text || (size_t)(stop - text) >= size)
		return false;
	memcpy(buf, text, (size_t)(stop - text));
	buf[stop - text] = '\0';
	return true;
}

/* "25" -> 25; 0 if it is no release number. */
static int parse_release(const char *text)
{
	char *end;
	long otp;

	if (!isdigit((unsigned char)text[0]))
		return 0;
	otp = strtol(text, &end, 10);
	return *end == '\0' && otp >= OTP_OLDEST && otp <= OTP_NEWEST ? (int)otp : 0;
}

bool identity_parse_version(struct beam_identity *id, const char *text, size_t len)
{
	static const char erts_start[] = " [erts-";
	struct beam_identity found = *id;
	const char *erts;

	if (len < sizeof(version_start) || memcmp(text, version_start, sizeof(version_start) - 1))
		return false;
	/* "Erlang/OTP 29%s [erts-": %s is replaced by the name of a release candidate. */
	if (!copy_until(found.otp_text, sizeof(found.otp_text), text + sizeof(version_start) - 1,
			len - (sizeof(version_start) - 1), '%'))
		return false;
	found.otp = parse_release(found.otp_text);
	erts = memmem(text, len, erts_start, sizeof(erts_start) - 1);
	if (!found.otp || !erts)
		return false;
	erts += sizeof(erts_start) - 1;
	if (!copy_until(found.erts, sizeof(found.erts), erts, len - (size_t)(erts - text), ']'))
		return false;
	found.jit = contains(text, len, "[jit");
	found.native_stack = contains(text, len, "[jit:ns");
	found.lock_counting = contains(text, len, "[lock-counting]");
	found.debug = contains(text, len, "[debug-compiled]") ||
		      contains(text, len, "[lock-checking]") ||
		      contains(text, len, "[type-assertions]");
	*id = found;
	return true;
}

static bool find_version(struct beam_identity *id, const struct elf_file *e)
{
	/* The format string is an array that is writable in some builds. */
	static const char *const sections[] = {".data", ".rodata", ".data.rel.ro"};
	bool found = false;

	for (size_t i = 0; i < ARRAY_SIZE(sections) && !found; i++) {
		size_t size;
		char *data = read_section(e, sections[i], &size);
		const char *at = data, *end = data + size;

		while (!found && at &&
		       (at = memmem(at, (size_t)(end - at), version_start,
				    sizeof(version_start) - 1))) {
			size_t len = strnlen(at, MIN((size_t)(end - at), VERSION_MAX_SIZE));

			found = identity_parse_version(id, at, len);
			at++;
		}
		free(data);
	}
	return found;
}

bool identity_config_defines(const char *config, size_t len, const char *macro)
{
	char *line = xasprintf("\n#define %s ", macro);
	bool found = len > 0 && contains(config, len, line);

	free(line);
	return found;
}

/* True for USDT notes of the emulator: a statically linked libstdc++ has notes, too. */
static bool has_erlang_notes(const struct elf_file *e)
{
	size_t size;
	char *notes = read_section(e, ".note.stapsdt", &size);
	bool found = notes && memmem(notes, size, "\0erlang", sizeof("\0erlang"));

	free(notes);
	return found;
}

static bool read_text_symbol(const struct elf_file *e, const char *name, char *buf, size_t size)
{
	struct elf_symbol sym;
	size_t len;

	if (!elf_file_symbol(e, name, &sym) || sym.function || sym.size < 2)
		return false;
	len = MIN(sym.size, size);
	if (elf_file_read(e, sym.addr, buf, len) != 0)
		return false;
	buf[len - 1] = '\0';
	return buf[0] != '\0';
}

static bool read_flag_symbol(const struct elf_file *e, const char *name, bool *flag)
{
	struct elf_symbol sym;
	int32_t value;

	if (!elf_file_symbol(e, name, &sym) || elf_file_read(e, sym.addr, &value, sizeof(value)))
		return false;
	*flag = value != 0;
	return true;
}

int identity_read(struct beam_identity *id, const struct elf_file *e)
{
	char release[sizeof(id->otp_text)];
	struct elf_symbol sym;
	bool known, has_text, flag;
	size_t size;
	char *rodata;

	memset(id, 0, sizeof(*id));
	/* NIF libraries need it, so every emulator since R13 exports it, and no other program. */
	if (!elf_file_symbol(e, "enif_priv_data", &sym) || !sym.function)
		return -ENOENT;
	known = has_text = find_version(id, e);
	rodata = read_section(e, ".rodata", &size);
	if (read_text_symbol(e, "etp_otp_release", release, sizeof(release)) &&
	    parse_release(release)) {
		id->otp = parse_release(release);
		memcpy(id->otp_text, release, sizeof(release));
		read_text_symbol(e, "etp_erts_version", id->erts, sizeof(id->erts));
		known = true;
	}
	if (read_flag_symbol(e, "etp_beamasm", &flag))
		id->jit = flag;
	if (read_flag_symbol(e, "etp_lock_count", &flag))
		id->lock_counting |= flag;
	if (read_flag_symbol(e, "etp_debug_compiled", &flag))
		id->debug |= flag;
	if (rodata && contains(rodata, size, "USE_VM_PROBES")) {
		id->vm_probes = identity_config_defines(rodata, size, "USE_VM_PROBES");
		id->native_stack |=
			id->jit && identity_config_defines(rodata, size, "NATIVE_ERLANG_STACK");
	} else {
		id->vm_probes = has_erlang_notes(e);
	}
	/* Without the format string this is unknown: assumes that the JIT has a native stack. */
	if (!has_text && id->jit)
		id->native_stack = true;
	id->own_otp = id->otp;
	id->stripped = elf_file_is_stripped(e);
	id->hidden = !elf_file_symbol(e, "erts_proc", &sym);
	free(rodata);
	return known ? 0 : -ENOENT;
}

static bool is_emulator(struct beam_identity *id, struct objects *o, const struct proc_map *map)
{
	uint64_t bias;
	struct elf_file *elf = objects_elf(o, map->start, &bias);

	return elf && identity_read(id, elf) == 0;
}

const struct proc_map *identity_find(struct beam_identity *id, struct objects *o, raddr entry)
{
	const struct proc_maps *maps = objects_maps(o);
	const struct proc_map *first = proc_maps_find(maps, entry);

	if (first && is_emulator(id, o, first))
		return first;
	for (size_t i = 0; i < maps->len; i++)
		if (maps->data[i].x && maps->data[i].inode && is_emulator(id, o, &maps->data[i]))
			return &maps->data[i];
	return NULL;
}

void identity_list_releases(struct strbuf *out)
{
	int releases[OTP_NEWEST];
	size_t nr = 0;

	for (size_t i = 0; layout_tables[i] && nr < ARRAY_SIZE(releases); i++)
		if (layout_knows(layout_tables[i]->otp) &&
		    (nr == 0 || releases[nr - 1] != layout_tables[i]->otp))
			releases[nr++] = layout_tables[i]->otp;
	strbuf_addstr(out, "OTP ");
	for (size_t i = 0; i < nr; i++)
		strbuf_addf(out, "%s%d", i == 0 ? "" : i + 1 == nr ? " and " : ", ", releases[i]);
}

bool identity_is_supported(const struct beam_identity *id, char *why, size_t size)
{
	struct strbuf releases = STRBUF_INIT;

	why[0] = '\0';
	/* From 27 on all JITs have a native stack, those for musl, too (configure.ac). */
	if (!id->jit || id->native_stack || id->otp <= 26)
		return true;
	identity_list_releases(&releases);
	snprintf(why, size,
		 "this node runs OTP %s (ERTS %s), built as the JIT without native stack, which "
		 "ebeam does not support after OTP 26. It supports the JIT with native stack of "
		 "%s: run the node on such a build",
		 id->otp_text, id->erts, releases.buf);
	strbuf_free(&releases);
	return false;
}

const char *identity_other_build(const struct beam_identity *id)
{
	return !id->jit		   ? "the interpreter (emu flavour)"
	       : id->debug	   ? "a debug build"
	       : id->lock_counting ? "a lock counting build"
				   : NULL;
}
