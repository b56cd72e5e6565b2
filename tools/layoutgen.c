/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * layoutgen: struct layouts of one OTP release -> a C table for src/beam/otp/.
 *
 *   layoutgen BINARY --name otp27 [--source TEXT] [-o FILE]    from the DWARF of BINARY
 *   layoutgen --json FILE --name otp27 ...                     from a JSON dump of such DWARF
 *   layoutgen --check otp27 BINARY                             compares the compiled-in table
 *
 * One line per member of struct beam_layout, in its order (layout_members[]).  A field that the
 * release lacks is LAYOUT_ABSENT; a type that is missing is an error unless --allow-missing,
 * since it far more often means a wrong binary than a type that went away.
 *
 * The JSON has, per type, {"size": N, "fields": {"path": [offset, size, "type"]}}.
 */
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/strbuf.h"
#include "base/xalloc.h"
#include "beam/otp/layout.h"
#include "target/dwarf.h"

#define MAX_DEPTH 16

/* Where the numbers come from: one of the two is set. */
struct facts {
	struct dwarf_info *dwarf;
	json_t *json;
	struct elf_file *elf;
	char *source; /* what they come from, for the table's header */
};

enum {
	NO_FIELD = -1,	/* the type is there, the field is not */
	NO_TYPE = -2,	/* the type is not there */
	NO_DETAIL = -3, /* the JSON stops above this field, so it cannot tell */
};

struct options {
	const char *binary, *json, *name, *source, *output, *check;
	bool allow_missing;
};

/* ---- facts -------------------------------------------------------------------------------- */

/* Does the dump list anything below `path`? */
static bool json_has_below(json_t *fields, const char *path, size_t len)
{
	const char *key;
	json_t *value;

	json_object_foreach(fields, key, value)
	{
		if (strncmp(key, path, len) == 0 && key[len] == '.')
			return true;
	}
	return false;
}

/* A dump lists a few levels of each type; what is deeper stands under the type of a member. */
static int64_t json_field(json_t *root, const char *type, const char *path, int depth)
{
	json_t *fields = json_object_get(json_object_get(root, type), "fields");
	json_t *entry = json_object_get(fields, path);
	int64_t result = NO_FIELD;

	if (!fields || depth == MAX_DEPTH)
		return NO_TYPE;
	if (entry)
		return json_integer_value(json_array_get(entry, 0));
	for (size_t len = strlen(path); len > 0; len--) {
		const char *member_type;
		int64_t rest;

		entry = path[len] == '.' ? json_object_getn(fields, path, len) : NULL;
		if (!entry)
			continue;
		if (result == NO_FIELD && json_has_below(fields, path, len))
			return NO_FIELD; /* listed, and the field is not among them */
		result = NO_DETAIL; /* unless the type of this member, or of one around it, tells */
		member_type = json_string_value(json_array_get(entry, 2));
		if (!member_type || !json_object_get(root, member_type))
			continue;
		rest = json_field(root, member_type, path + len + 1, depth + 1);
		if (rest == NO_DETAIL)
			continue;
		return rest < 0 ? rest : json_integer_value(json_array_get(entry, 0)) + rest;
	}
	return result;
}

/* Offset or size that a member stands for, or NO_... */
static int64_t facts_value(const struct facts *f, const struct layout_member *m)
{
	int64_t size, value;

	if (f->json) {
		json_t *entry = json_object_get(json_object_get(f->json, m->type), "size");

		if (!entry)
			return NO_TYPE;
		return m->field ? json_field(f->json, m->type, m->field, 0)
				: json_integer_value(entry);
	}
	size = dwarf_type_size(f->dwarf, m->type);
	if (size < 0)
		return NO_TYPE;
	if (!m->field)
		return size;
	value = dwarf_field_offset(f->dwarf, m->type, m->field);
	return value < 0 ? NO_FIELD : value;
}

static int open_json(struct facts *f, const char *path)
{
	json_error_t where;
	const char *source;

	f->json = json_load_file(path, 0, &where);
	if (!json_is_object(f->json)) {
		fprintf(stderr, "layoutgen: %s:%d: %s\n", path, where.line, where.text);
		return -EINVAL;
	}
	source = json_string_value(json_object_get(f->json, "source"));
	f->source = xstrdup(source ? source : "a JSON dump of DWARF");
	return 0;
}

static int open_binary(struct facts *f, const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC), code;
	const char *base = strrchr(path, '/');
	struct error err = {0};

	if (fd < 0) {
		fprintf(stderr, "layoutgen: cannot open %s: %s\n", path, error_text(errno));
		return -errno;
	}
	code = elf_file_open(&f->elf, fd, path, &err);
	if (!code)
		code = dwarf_info_open(&f->dwarf, f->elf, NULL, &err);
	if (code == -ENOENT && !err.code)
		fprintf(stderr,
			"layoutgen: %s has no DWARF, and no debug file for it was found under "
			"/usr/lib/debug. Build it with -g, or install its debug symbols\n",
			path);
	else if (code)
		fprintf(stderr, "layoutgen: %s\n", err.msg);
	if (!code)
		f->source = xasprintf("DWARF of %s, build id %s", base ? base + 1 : path,
				      elf_file_build_id(f->elf));
	return code;
}

static void close_facts(struct facts *f)
{
	dwarf_info_close(f->dwarf);
	elf_file_close(f->elf);
	json_decref(f->json);
	free(f->source);
}

/* ---- the table ---------------------------------------------------------------------------- */

/* "otp25" or "otp25-vmprobes". */
static bool parse_name(const char *name, int *otp, bool *vm_probes)
{
	int end = 0;

	if (sscanf(name, "otp%2d%n", otp, &end) != 1 || *otp < 1)
		return false;
	*vm_probes = strcmp(name + end, "-vmprobes") == 0;
	return *vm_probes || name[end] == '\0';
}

/* One member's line; returns false and says so if its value cannot be known. */
static bool add_member(struct strbuf *sb, const struct facts *f, const struct layout_member *m,
		       bool allow_missing)
{
	int64_t value = facts_value(f, m);

	if (value == NO_DETAIL) {
		fprintf(stderr, "layoutgen: the dump does not go as deep as %s, %s\n", m->type,
			m->field);
		return false;
	}
	if (value == NO_TYPE && !allow_missing) {
		fprintf(stderr,
			"layoutgen: there is no type %s (for %s); --allow-missing if it is so\n",
			m->type, m->member);
		return false;
	}
	if (value < 0)
		strbuf_addf(sb, "\t\t.%s = LAYOUT_ABSENT,\n", m->member);
	else
		strbuf_addf(sb, "\t\t.%s = %lld,\n", m->member, (long long)value);
	return true;
}

static bool build_table(struct strbuf *sb, const struct facts *f, const struct options *o)
{
	const char *source = o->source ? o->source : f->source;
	bool vm_probes, ok = true;
	int otp;

	if (!parse_name(o->name, &otp, &vm_probes)) {
		fprintf(stderr, "layoutgen: --name wants otpNN or otpNN-vmprobes, not %s\n",
			o->name);
		return false;
	}
	if (strpbrk(source, "\"\\\n") || strstr(source, "*/")) {
		fprintf(stderr, "layoutgen: the source text may not hold quotes, backslashes, "
				"line ends or */\n");
		return false;
	}
	strbuf_addf(
		sb,
		"/* SPDX-License-Identifier: BSD-2-Clause */\n"
		"/*\n"
		" * Generated by tools/layoutgen; do not edit.  How to make one: README.md in this "
		"folder.\n"
		" * %s\n"
		" */\n"
		"#include \"beam/otp/layout.h\"\n\n"
		"const struct layout_table layout_table_otp%d%s = {\n"
		"\t.otp = %d,\n"
		"\t.vm_probes = %s,\n"
		"\t.name = \"%s\",\n"
		"\t.source = \"%s\",\n"
		"\t.layout = {\n",
		source, otp, vm_probes ? "_vmprobes" : "", otp, vm_probes ? "true" : "false",
		o->name, source);
	for (unsigned int i = 0; i < nr_layout_members; i++)
		ok &= add_member(sb, f, &layout_members[i], o->allow_missing);
	strbuf_addstr(sb, "\t},\n};\n");
	return ok;
}

static int write_table(const struct facts *f, const struct options *o)
{
	struct strbuf sb = STRBUF_INIT;
	FILE *out = stdout;
	int result = 1;

	if (!build_table(&sb, f, o))
		goto done;
	if (o->output && strcmp(o->output, "-") != 0)
		out = fopen(o->output, "w");
	if (!out) {
		fprintf(stderr, "layoutgen: cannot write %s: %s\n", o->output, error_text(errno));
		goto done;
	}
	fwrite(sb.buf, 1, sb.len, out);
	result = ferror(out) != 0;
	if ((out == stdout ? fflush(out) : fclose(out)) != 0 || result) {
		fprintf(stderr, "layoutgen: cannot write %s\n", o->output ? o->output : "output");
		result = 1;
	}
done:
	strbuf_free(&sb);
	return result;
}

/* ---- --check ------------------------------------------------------------------------------ */

static const struct layout_table *find_table(const char *name)
{
	for (size_t i = 0; layout_tables[i]; i++)
		if (strcmp(layout_tables[i]->name, name) == 0)
			return layout_tables[i];
	return NULL;
}

static void print_value(int64_t value)
{
	if (value == NO_TYPE)
		printf("no such type");
	else if (value == NO_DETAIL)
		printf("not in the dump");
	else if (value < 0)
		printf("absent");
	else
		printf("%lld", (long long)value);
}

static int check_table(const struct facts *f, const struct options *o)
{
	const struct layout_table *table = find_table(o->check);
	unsigned int nr_different = 0;

	if (!table) {
		fprintf(stderr, "layoutgen: there is no table %s\n", o->check);
		return 2;
	}
	for (unsigned int i = 0; i < nr_layout_members; i++) {
		const struct layout_member *m = &layout_members[i];
		int64_t found = facts_value(f, m);
		int32_t have;

		memcpy(&have, (const char *)&table->layout + m->offset, sizeof(have));
		if (have == found ||
		    (have == LAYOUT_ABSENT && found == NO_TYPE && o->allow_missing))
			continue;
		nr_different++;
		printf("%s (%s%s%s): table ", m->member, m->field ? m->type : "size of ",
		       m->field ? ", " : "", m->field ? m->field : m->type);
		print_value(have);
		printf(", %s ", f->json ? "dump" : "DWARF");
		print_value(found);
		printf("\n");
	}
	printf("%s: %u of %u members differ from %s\n", table->name, nr_different,
	       nr_layout_members, f->source);
	return nr_different > 0;
}

/* ---- command line ------------------------------------------------------------------------- */

static const char usage_text[] =
	"usage: layoutgen BINARY --name otpNN[-vmprobes] [--source TEXT] [-o FILE]\n"
	"       layoutgen --json FILE --name otpNN[-vmprobes] [--source TEXT] [-o FILE]\n"
	"       layoutgen --check otpNN[-vmprobes] BINARY|--json FILE\n"
	"  --allow-missing   a type that is not there makes its fields absent\n";

static bool parse_options(struct options *o, int argc, char **argv)
{
	static const struct option longs[] = {
		{"name", required_argument, NULL, 'n'},
		{"source", required_argument, NULL, 's'},
		{"output", required_argument, NULL, 'o'},
		{"check", required_argument, NULL, 'c'},
		{"json", required_argument, NULL, 'j'},
		{"allow-missing", no_argument, NULL, 'a'},
		{NULL, 0, NULL, 0},
	};

	for (int c; (c = getopt_long(argc, argv, "o:", longs, NULL)) != -1;) {
		switch (c) {
		case 'n':
			o->name = optarg;
			break;
		case 's':
			o->source = optarg;
			break;
		case 'o':
			o->output = optarg;
			break;
		case 'c':
			o->check = optarg;
			break;
		case 'j':
			o->json = optarg;
			break;
		case 'a':
			o->allow_missing = true;
			break;
		default:
			return false;
		}
	}
	if (optind < argc)
		o->binary = argv[optind++];
	return optind == argc && !o->binary != !o->json && !o->name != !o->check;
}

int main(int argc, char **argv)
{
	struct options o = {0};
	struct facts f = {0};
	int result = 1;

	if (!parse_options(&o, argc, argv)) {
		fputs(usage_text, stderr);
		return 2;
	}
	if ((o.json ? open_json(&f, o.json) : open_binary(&f, o.binary)) == 0)
		result = o.check ? check_table(&f, &o) : write_table(&f, &o);
	close_facts(&f);
	return result;
}
