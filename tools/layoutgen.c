/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * layoutgen: struct layouts of one OTP release -> a column of src/beam/otp/tables.h.
 *
 *   layoutgen BINARY --name otp27 [--source TEXT] [-o FILE]    from the DWARF of BINARY
 *   layoutgen BINARY --check otp27                             compares the compiled-in table
 *
 * FILE is the whole of tables.h: the other columns are those that are compiled in.  A type that is
 * missing is an error unless --allow-missing, since it far more often means a wrong binary than a
 * type that went away.
 */
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/compiler.h"
#include "base/strbuf.h"
#include "base/vec.h"
#include "base/xalloc.h"
#include "beam/locate/layout_dwarf.h"

struct options {
	const char *binary, *name, *source, *output, *check;
	bool allow_missing;
};

/* What the DWARF of a binary says. */
struct facts {
	struct beam_layout layout;
	char *source; /* where it comes from, for the list of tables */
};

static bool has_types(struct dwarf_info *d)
{
	bool ok = true;

	for (unsigned int i = 0; i < nr_layout_members; i++) {
		const struct layout_member *m = &layout_members[i];

		if (dwarf_type_size(d, m->type) >= 0)
			continue;
		fprintf(stderr,
			"layoutgen: there is no type %s (for %s); --allow-missing if it is so\n",
			m->type, m->member);
		ok = false;
	}
	return ok;
}

static bool read_facts(struct facts *f, const struct options *o)
{
	int fd = open(o->binary, O_RDONLY | O_CLOEXEC), code;
	const char *base = strrchr(o->binary, '/');
	struct dwarf_info *d = NULL;
	struct elf_file *elf = NULL;
	struct error err = {0};
	bool ok = false;

	if (fd < 0) {
		fprintf(stderr, "layoutgen: cannot open %s: %s\n", o->binary, error_text(errno));
		return false;
	}
	code = elf_file_open(&elf, fd, o->binary, &err);
	if (!code)
		code = dwarf_info_open(&d, elf, NULL, &err);
	if (code == -ENOENT && !err.code) {
		fprintf(stderr,
			"layoutgen: %s has no DWARF, and no debug file for it was found under "
			"/usr/lib/debug. Build it with -g, or install its debug symbols\n",
			o->binary);
	} else if (code) {
		fprintf(stderr, "layoutgen: %s\n", err.msg);
	} else if (o->allow_missing || has_types(d)) {
		layout_from_dwarf(&f->layout, d);
		f->source = xasprintf("DWARF of %s, build id %s", base ? base + 1 : o->binary,
				      elf_file_build_id(elf));
		ok = true;
	}
	dwarf_info_close(d);
	elf_file_close(elf);
	return ok;
}

static int32_t member_value(const struct beam_layout *l, const struct layout_member *m)
{
	return *(const int32_t *)((const char *)l + m->offset);
}

/* ---- the tables --------------------------------------------------------------------------- */

struct tables {
	VEC(const struct layout_table *) v;
};

/* "otp25" or "otp25-vmprobes". */
static bool parse_name(const char *name, int *otp, bool *vm_probes)
{
	int end = 0;

	if (sscanf(name, "otp%2d%n", otp, &end) != 1 || *otp < 1)
		return false;
	*vm_probes = strcmp(name + end, "-vmprobes") == 0;
	return *vm_probes || name[end] == '\0';
}

static int by_release(const void *a, const void *b)
{
	const struct layout_table *x = *(const struct layout_table *const *)a;
	const struct layout_table *y = *(const struct layout_table *const *)b;

	return x->otp != y->otp ? x->otp - y->otp : x->vm_probes - y->vm_probes;
}

/* Those that are compiled in, but `made` for the one of its release and variant. */
static void collect_tables(struct tables *all, const struct layout_table *made)
{
	const struct layout_table *old = layout_table_find(made->otp, made->vm_probes);

	for (size_t i = 0; layout_tables[i]; i++)
		if (layout_tables[i] != old)
			vec_push(&all->v, layout_tables[i]);
	vec_push(&all->v, made);
	qsort(all->v.data, all->v.len, sizeof(*all->v.data), by_release);
}

static void add_column(struct strbuf *sb, const struct layout_table *t)
{
	strbuf_addf(sb, "otp%d%s", t->otp, t->vm_probes ? "_vmprobes" : "");
}

static void add_list(struct strbuf *sb, const struct tables *all)
{
	strbuf_addstr(sb, "/* Column, release, USE_VM_PROBES, name, where it comes from. */\n"
			  "#define LAYOUT_TABLES(T)");
	for (size_t i = 0; i < all->v.len; i++) {
		const struct layout_table *t = all->v.data[i];

		strbuf_addstr(sb, " \\\n\tT(");
		add_column(sb, t);
		strbuf_addf(sb, ", %d, %s, \"%s\", \\\n\t  \"%s\")", t->otp,
			    t->vm_probes ? "true" : "false", t->name, t->source);
	}
}

static void add_pickers(struct strbuf *sb, const struct tables *all)
{
	strbuf_addstr(sb, "\n\n/* The value that a row has in a column, as an initializer. */\n");
	for (size_t i = 0; i < all->v.len; i++) {
		strbuf_addstr(sb, "#define LAYOUT_");
		add_column(sb, all->v.data[i]);
		strbuf_addstr(sb, "(m");
		for (size_t k = 1; k <= all->v.len; k++)
			strbuf_addf(sb, ", c%zu", k);
		strbuf_addf(sb, ") .m = c%zu,\n", i + 1);
	}
}

static void add_values(struct strbuf *sb, const struct tables *all)
{
	int longest = 0;

	for (unsigned int i = 0; i < nr_layout_members; i++)
		longest = MAX(longest, (int)strlen(layout_members[i].member));
	strbuf_addf(
		sb,
		"\n/* Members of struct beam_layout, in its order; NONE: the release lacks it. */\n"
		"#define NONE LAYOUT_ABSENT\n#define LAYOUT_VALUES(V) \\\n\t/* %*s",
		longest, "");
	for (size_t k = 0; k < all->v.len; k++) {
		strbuf_addch(sb, ' ');
		add_column(sb, all->v.data[k]);
		strbuf_addch(sb, ' ');
	}
	strbuf_addstr(sb, "*/");
	for (unsigned int i = 0; i < nr_layout_members; i++) {
		const struct layout_member *m = &layout_members[i];

		strbuf_addf(sb, "%s \\\n\tV(%s,%*s", i > 0 ? " " : "", m->member,
			    longest - (int)strlen(m->member), "");
		for (size_t k = 0; k < all->v.len; k++) {
			int32_t value = member_value(&all->v.data[k]->layout, m);
			int width = (int)strlen(all->v.data[k]->name);

			if (value == LAYOUT_ABSENT)
				strbuf_addf(sb, " %*s", width, "NONE");
			else
				strbuf_addf(sb, " %*d", width, value);
			strbuf_addch(sb, k + 1 < all->v.len ? ',' : ')');
		}
	}
}

static bool build_tables(struct strbuf *sb, const struct facts *f, const struct options *o)
{
	struct layout_table made = {
		.name = o->name, .source = o->source ? o->source : f->source, .layout = f->layout};
	struct tables all = {0};

	if (!parse_name(o->name, &made.otp, &made.vm_probes)) {
		fprintf(stderr, "layoutgen: --name wants otpNN or otpNN-vmprobes, not %s\n",
			o->name);
		return false;
	}
	if (strpbrk(made.source, "\"\\\n")) {
		fprintf(stderr, "layoutgen: the source text may not hold quotes, backslashes or "
				"line ends\n");
		return false;
	}
	collect_tables(&all, &made);
	strbuf_addstr(sb, "/* SPDX-License-Identifier: BSD-2-Clause */\n"
			  "/* Generated by tools/layoutgen: README.md in this folder. */\n"
			  "#ifndef EBEAM_BEAM_OTP_TABLES_H\n"
			  "#define EBEAM_BEAM_OTP_TABLES_H\n\n"
			  "#include \"beam/otp/layout.h\"\n\n");
	add_list(sb, &all);
	add_pickers(sb, &all);
	add_values(sb, &all);
	strbuf_addstr(sb, "\n\n#endif\n");
	vec_free(&all.v);
	return true;
}

static int write_tables(const struct facts *f, const struct options *o)
{
	struct strbuf sb = STRBUF_INIT;
	FILE *out = stdout;
	int result = 1;

	if (!build_tables(&sb, f, o))
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

static void print_value(const char *of, int32_t value)
{
	if (value == LAYOUT_ABSENT)
		printf("%s absent", of);
	else
		printf("%s %d", of, value);
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
		int32_t have = member_value(&table->layout, m);
		int32_t found = member_value(&f->layout, m);

		if (have == found)
			continue;
		nr_different++;
		printf("%s (%s%s%s): ", m->member, m->field ? m->type : "size of ",
		       m->field ? ", " : "", m->field ? m->field : m->type);
		print_value("table", have);
		print_value(", DWARF", found);
		printf("\n");
	}
	printf("%s: %u of %u members differ from %s\n", table->name, nr_different,
	       nr_layout_members, f->source);
	return nr_different > 0;
}

/* ---- command line ------------------------------------------------------------------------- */

static const char usage_text[] =
	"usage: layoutgen BINARY --name otpNN[-vmprobes] [--source TEXT] [-o FILE]\n"
	"       layoutgen BINARY --check otpNN[-vmprobes]\n"
	"  --allow-missing   a type that is not there makes its fields absent\n";

static bool parse_options(struct options *o, int argc, char **argv)
{
	static const struct option longs[] = {
		{"name", required_argument, NULL, 'n'},	   {"source", required_argument, NULL, 's'},
		{"output", required_argument, NULL, 'o'},  {"check", required_argument, NULL, 'c'},
		{"allow-missing", no_argument, NULL, 'a'}, {NULL, 0, NULL, 0},
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
		case 'a':
			o->allow_missing = true;
			break;
		default:
			return false;
		}
	}
	if (optind < argc)
		o->binary = argv[optind++];
	return optind == argc && o->binary && !o->name != !o->check;
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
	if (read_facts(&f, &o))
		result = o.check ? check_table(&f, &o) : write_tables(&f, &o);
	free(f.source);
	return result;
}
