/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Struct layouts from DWARF.  libdwfl finds the debug file; libdw maps it.  Types are indexed by
 * name, unit by unit, until the type that is asked for is found: most are in the first few units of
 * a C program, so that hundreds of megabytes need not be read.
 */
#include "target/dwarf.h"

#include <dwarf.h>
#include <elfutils/libdw.h>
#include <elfutils/libdwfl.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <uthash.h>

#include "base/xalloc.h"

/* Deepest nesting of types and typedefs that is followed; a damaged file could have a loop. */
#define MAX_DEPTH 32

/* Limit of distinct type names; beam.smp has about 6,000. */
#define MAX_TYPES (1u << 18)

/* Defined in the static program only, by static_dwarf.c. */
void *__wrap_dlopen(const char *name, int flags) __attribute__((weak));

enum type_kind { TYPE_KIND_STRUCT, TYPE_KIND_UNION, TYPE_KIND_TYPEDEF, NR_TYPE_KINDS };

struct type {
	const char *name; /* points into the mapped file */
	Dwarf_Die die;
	UT_hash_handle hh;
};

struct dwarf_info {
	Dwfl *dwfl;
	Dwfl_Callbacks callbacks;
	char *search_path;
	char *origin;
	Dwarf *dwarf;
	/* Progress of the index: the next compilation unit follows `unit` of `scanned`. */
	Dwarf *scanned;
	Dwarf_CU *unit;
	bool complete;
	struct type *types[NR_TYPE_KINDS];
	unsigned int nr_types;
};

/* ---- finding the DWARF ----------------------------------------------------------------------- */

/* Search path of libdwfl for debug files: "+" makes it check the CRC of .gnu_debuglink, ".debug" is
 * a folder beside the file. */
static char *make_search_path(const char *root)
{
	if (root && *root && strcmp(root, "/") != 0 && !strchr(root, ':'))
		return xasprintf("+:.debug:%s/usr/lib/debug:/usr/lib/debug", root);
	return xstrdup("+:.debug:/usr/lib/debug");
}

static Dwarf *find_dwarf(struct dwarf_info *d, const struct elf_file *e, struct error *err)
{
	int fd = dup(elf_file_fd(e));
	Dwfl_Module *module = NULL;
	const char *debug_file = NULL;
	Dwarf_Addr bias;
	Dwarf *dwarf;

	if (fd < 0) {
		error_set(err, ERROR_KIND_FAILED, -errno, "cannot read debug information of %s: %s",
			  elf_file_name(e), error_text(errno));
		return NULL;
	}
	dwfl_report_begin(d->dwfl);
	module = dwfl_report_offline(d->dwfl, elf_file_name(e), elf_file_name(e), fd);
	dwfl_report_end(d->dwfl, NULL, NULL);
	if (!module) {
		close(fd);
		error_set(err, ERROR_KIND_FAILED, -EINVAL,
			  "cannot read debug information of %s: %s", elf_file_name(e),
			  dwfl_errmsg(-1));
		return NULL;
	}
	dwarf = dwfl_module_getdwarf(module, &bias);
	if (!dwarf)
		return NULL;
	dwfl_module_info(module, NULL, NULL, NULL, NULL, NULL, NULL, &debug_file);
	d->origin = xstrdup(debug_file ? debug_file : "the executable");
	return dwarf;
}

int dwarf_info_open(struct dwarf_info **out, const struct elf_file *e, const char *root,
		    struct error *err)
{
	struct dwarf_info *d = xcalloc(1, sizeof(*d));
	struct error found = {0};

	d->search_path = make_search_path(root);
	d->callbacks = (Dwfl_Callbacks){
		.find_debuginfo = dwfl_standard_find_debuginfo,
		.section_address = dwfl_offline_section_address,
		.debuginfo_path = &d->search_path,
	};
	d->dwfl = dwfl_begin(&d->callbacks);
	if (!d->dwfl)
		error_set(&found, ERROR_KIND_FAILED, -EIO, "cannot start libdwfl: %s",
			  dwfl_errmsg(-1));
	else
		d->dwarf = find_dwarf(d, e, &found);
	if (!d->dwarf) {
		dwarf_info_close(d);
		if (found.code && err)
			*err = found;
		return found.code ? found.code : -ENOENT;
	}
	d->scanned = d->dwarf;
	*out = d;
	return 0;
}

void dwarf_info_close(struct dwarf_info *d)
{
	if (!d)
		return;
	for (int kind = 0; kind < NR_TYPE_KINDS; kind++) {
		struct type *t, *next;

		HASH_ITER (hh, d->types[kind], t, next) {
			HASH_DEL(d->types[kind], t);
			free(t);
		}
	}
	if (d->dwfl)
		dwfl_end(d->dwfl);
	free(d->search_path);
	free(d->origin);
	free(d);
}

bool dwarf_may_fetch(void)
{
	return !__wrap_dlopen;
}

const char *dwarf_info_origin(const struct dwarf_info *d)
{
	return d->origin;
}

/* ---- the index of types ---------------------------------------------------------------------- */

static bool has_flag(Dwarf_Die *die, unsigned int name)
{
	Dwarf_Attribute attr;
	bool flag;

	return dwarf_attr(die, name, &attr) && dwarf_formflag(&attr, &flag) == 0 && flag;
}

static struct type *find_indexed(const struct dwarf_info *d, enum type_kind kind, const char *name)
{
	struct type *t;

	HASH_FIND_STR(d->types[kind], name, t);
	return t;
}

/* Skips declarations without a body: the definition may come in a later unit. */
static void add_type(struct dwarf_info *d, Dwarf_Die *die)
{
	enum type_kind kind;
	const char *name;
	struct type *t;

	switch (dwarf_tag(die)) {
	case DW_TAG_structure_type:
	case DW_TAG_class_type:
		kind = TYPE_KIND_STRUCT;
		break;
	case DW_TAG_union_type:
		kind = TYPE_KIND_UNION;
		break;
	case DW_TAG_typedef:
		kind = TYPE_KIND_TYPEDEF;
		break;
	default:
		return;
	}
	name = dwarf_diename(die);
	if (!name || d->nr_types >= MAX_TYPES || has_flag(die, DW_AT_declaration) ||
	    find_indexed(d, kind, name))
		return;
	t = xcalloc(1, sizeof(*t));
	t->name = name;
	t->die = *die;
	HASH_ADD_KEYPTR(hh, d->types[kind], t->name, strlen(t->name), t);
	d->nr_types++;
}

/* Indexes one more unit.  False when there are no more. */
static bool index_next_unit(struct dwarf_info *d)
{
	Dwarf_Die unit, child, next;
	Dwarf_Off last = 0;

	if (d->complete)
		return false;
	while (dwarf_get_units(d->scanned, d->unit, &d->unit, NULL, NULL, &unit, NULL) != 0) {
		/* dwz moves types that several files share into a second file. */
		Dwarf *shared = d->scanned == d->dwarf ? dwarf_getalt(d->dwarf) : NULL;

		if (!shared) {
			d->complete = true;
			return false;
		}
		d->scanned = shared;
		d->unit = NULL;
	}
	if (dwarf_child(&unit, &child) != 0)
		return true;
	for (;;) {
		/* A damaged DW_AT_sibling could lead back to earlier DIEs. */
		if (dwarf_dieoffset(&child) <= last)
			break;
		last = dwarf_dieoffset(&child);
		add_type(d, &child);
		if (dwarf_siblingof(&child, &next) != 0)
			break;
		child = next;
	}
	return true;
}

static bool find_type(struct dwarf_info *d, enum type_kind kind, const char *name, Dwarf_Die *out)
{
	struct type *t;

	do {
		t = find_indexed(d, kind, name);
	} while (!t && index_next_unit(d));
	if (t)
		*out = t->die;
	return t != NULL;
}

/* Finds a type by "struct x", "union x" or the name of a typedef. */
static bool find_type_by_text(struct dwarf_info *d, const char *text, Dwarf_Die *out)
{
	if (strncmp(text, "struct ", 7) == 0)
		return find_type(d, TYPE_KIND_STRUCT, text + 7, out);
	if (strncmp(text, "union ", 6) == 0)
		return find_type(d, TYPE_KIND_UNION, text + 6, out);
	return find_type(d, TYPE_KIND_TYPEDEF, text, out);
}

/* ---- fields ---------------------------------------------------------------------------------- */

static bool type_of(Dwarf_Die *die, Dwarf_Die *out)
{
	Dwarf_Attribute attr;

	return dwarf_attr_integrate(die, DW_AT_type, &attr) && dwarf_formref_die(&attr, out);
}

/* Follows typedefs and qualifiers, and a declaration to its definition. */
static bool resolve_type(struct dwarf_info *d, Dwarf_Die *die)
{
	for (int depth = 0; depth < MAX_DEPTH; depth++) {
		int tag = dwarf_tag(die);
		const char *name;
		Dwarf_Die next;

		switch (tag) {
		case DW_TAG_typedef:
		case DW_TAG_const_type:
		case DW_TAG_volatile_type:
		case DW_TAG_restrict_type:
		case DW_TAG_atomic_type:
			if (!type_of(die, &next))
				return false;
			*die = next;
			break;
		case DW_TAG_structure_type:
		case DW_TAG_class_type:
		case DW_TAG_union_type:
			if (!has_flag(die, DW_AT_declaration))
				return true;
			name = dwarf_diename(die);
			return name && find_type(d,
						 tag == DW_TAG_union_type ? TYPE_KIND_UNION
									  : TYPE_KIND_STRUCT,
						 name, die);
		default:
			return tag != DW_TAG_invalid;
		}
	}
	return false;
}

static bool number_of(Dwarf_Die *die, unsigned int name, Dwarf_Word *number)
{
	Dwarf_Attribute attr;

	return dwarf_attr(die, name, &attr) && dwarf_formudata(&attr, number) == 0;
}

/* Bytes of the storage unit that are below the first byte of a bit field with DW_AT_bit_offset (up
 * to DWARF 3, and clang), which counts bits from the highest one; 0 for other members. */
static Dwarf_Word bytes_before(Dwarf_Die *member)
{
	Dwarf_Word above, bits, storage;

	if (!number_of(member, DW_AT_bit_offset, &above) ||
	    !number_of(member, DW_AT_bit_size, &bits) ||
	    !number_of(member, DW_AT_byte_size, &storage) || above + bits > 8 * storage)
		return 0;
	return (8 * storage - above - bits) / 8;
}

/* Offset of a member in its struct; of a bit field, of the byte in which it starts. */
static bool member_offset(Dwarf_Die *member, int64_t *offset)
{
	Dwarf_Attribute attr;
	Dwarf_Word value;
	Dwarf_Op *ops;
	size_t nr_ops;

	*offset = 0; /* members of a union have no location */
	if (dwarf_attr(member, DW_AT_data_member_location, &attr)) {
		if (dwarf_formudata(&attr, &value) != 0) {
			if (dwarf_getlocation(&attr, &ops, &nr_ops) != 0 || nr_ops != 1 ||
			    ops[0].atom != DW_OP_plus_uconst)
				return false;
			value = ops[0].number;
		}
		value += bytes_before(member);
	} else if (dwarf_attr(member, DW_AT_data_bit_offset, &attr)) {
		if (dwarf_formudata(&attr, &value) != 0)
			return false;
		value /= 8;
	} else {
		return true;
	}
	if (value > INT32_MAX)
		return false;
	*offset = (int64_t)value;
	return true;
}

/* The member `name` of the struct or union `die`, also inside anonymous members.  Adds its offset
 * to *offset and sets *type. */
static bool find_member(struct dwarf_info *d, Dwarf_Die *die, const char *name, size_t name_len,
			int64_t *offset, Dwarf_Die *type, int depth)
{
	Dwarf_Die member, inner, next;
	Dwarf_Off last = 0;

	if (depth == MAX_DEPTH || dwarf_child(die, &member) != 0)
		return false;
	while (dwarf_dieoffset(&member) > last) {
		const char *member_name = dwarf_diename(&member);
		int64_t at;

		last = dwarf_dieoffset(&member);
		if (dwarf_tag(&member) == DW_TAG_member && member_offset(&member, &at) &&
		    type_of(&member, type)) {
			if (member_name && strncmp(member_name, name, name_len) == 0 &&
			    member_name[name_len] == '\0') {
				*offset += at;
				return true;
			}
			inner = *type;
			if (!member_name && resolve_type(d, &inner) &&
			    find_member(d, &inner, name, name_len, &at, type, depth + 1)) {
				*offset += at;
				return true;
			}
		}
		if (dwarf_siblingof(&member, &next) != 0)
			break;
		member = next;
	}
	return false;
}

int64_t dwarf_field_offset(struct dwarf_info *d, const char *type, const char *field)
{
	Dwarf_Die die, member_type;
	int64_t offset = 0;

	if (!find_type_by_text(d, type, &die))
		return -ENOENT;
	for (const char *p = field;; p++) {
		size_t len = strcspn(p, ".");

		if (len == 0 || !resolve_type(d, &die) ||
		    !find_member(d, &die, p, len, &offset, &member_type, 0))
			return -ENOENT;
		p += len;
		if (*p == '\0')
			return offset;
		die = member_type;
	}
}

int64_t dwarf_type_size(struct dwarf_info *d, const char *type)
{
	Dwarf_Die die;
	Dwarf_Word size;

	if (!find_type_by_text(d, type, &die) || !resolve_type(d, &die) ||
	    dwarf_aggregate_size(&die, &size) != 0 || size > INT32_MAX)
		return -ENOENT;
	return (int64_t)size;
}
