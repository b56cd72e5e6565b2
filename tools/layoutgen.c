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
#include "base/vec.h"
#include "base/xalloc.h"
#include "beam/locate/layout_dwarf.h"

struct options {
	const char *binary, *output;
	bool check, allow_missing;
	struct layout_table made; /* its layout is read from the binary */
};

struct tables {
	VEC(const struct layout_table *) v;
};

/* ---- DWARF -------------------------------------------------------------------------------- */

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

static bool read_layout(struct options *o)
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
		layout_from_dwarf(&o->made.layout, d);
		if (!o->made.source)
			o->made.source =
				xasprintf("DWARF of %s, build id %s", base ? base + 1 : o->binary,
					  elf_file_build_id(elf));
		ok = true;
	}
	dwarf_info_close(d);
	elf_file_close(elf);
	return ok;
}

/* ---- the tables --------------------------------------------------------------------------- */

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

static void print_column(const char *before, const struct layout_table *t)
{
	printf("%sotp%d%s", before, t->otp, t->vm_probes ? "_vmprobes" : "");
}

static void print_list(const struct tables *all)
{
	printf("/* Column, release, USE_VM_PROBES, name, where it comes from. */\n"
	       "#define LAYOUT_TABLES(T)");
	for (size_t i = 0; i < all->v.len; i++) {
		const struct layout_table *t = all->v.data[i];

		print_column(" \\\n\tT(", t);
		printf(", %d, %s, \"%s\", \\\n\t  \"%s\")", t->otp, t->vm_probes ? "true" : "false",
		       t->name, t->source);
	}
}

static void print_pickers(const struct tables *all)
{
	printf("\n\n/* The value that a row has in a column, as an initializer. */\n");
	for (size_t i = 0; i < all->v.len; i++) {
		print_column("#define LAYOUT_", all->v.data[i]);
		printf("(m");
		for (size_t k = 1; k <= all->v.len; k++)
			printf(", c%zu", k);
		printf(") .m = c%zu,\n", i + 1);
	}
}

static void print_values(const struct tables *all)
{
	int longest = 0;

	for (unsigned int i = 0; i < nr_layout_members; i++)
		longest = MAX(longest, (int)strlen(layout_members[i].member));
	printf("\n/* Members of struct beam_layout, in its order; NONE: the release lacks it. */\n"
	       "#define NONE LAYOUT_ABSENT\n"
	       "#define LAYOUT_VALUES(V) \\\n\t/*%*s",
	       longest, "");
	for (size_t k = 0; k < all->v.len; k++)
		print_column("  ", all->v.data[k]);
	printf(" */");
	for (unsigned int i = 0; i < nr_layout_members; i++) {
		const struct layout_member *m = &layout_members[i];

		printf("%s \\\n\tV(%s,%*s", i > 0 ? " " : "", m->member,
		       longest - (int)strlen(m->member), "");
		for (size_t k = 0; k < all->v.len; k++) {
			int32_t value = *layout_at(&all->v.data[k]->layout, m);
			int width = (int)strlen(all->v.data[k]->name);

			if (value == LAYOUT_ABSENT)
				printf(" %*s", width, "NONE");
			else
				printf(" %*d", width, value);
			putchar(k + 1 < all->v.len ? ',' : ')');
		}
	}
}

static int write_tables(const struct options *o)
{
	struct tables all = {0};

	if (strpbrk(o->made.source, "\"\\\n")) {
		fprintf(stderr, "layoutgen: the source text may not hold quotes, backslashes or "
				"line ends\n");
		return 1;
	}
	if (o->output && !freopen(o->output, "w", stdout)) {
		fprintf(stderr, "layoutgen: cannot write %s: %s\n", o->output, error_text(errno));
		return 1;
	}
	collect_tables(&all, &o->made);
	printf("/* SPDX-License-Identifier: BSD-2-Clause */\n"
	       "/* Generated by tools/layoutgen: README.md in this folder. */\n"
	       "#ifndef EBEAM_BEAM_OTP_TABLES_H\n"
	       "#define EBEAM_BEAM_OTP_TABLES_H\n\n"
	       "#include \"beam/otp/layout.h\"\n\n");
	print_list(&all);
	print_pickers(&all);
	print_values(&all);
	printf("\n\n#endif\n");
	vec_free(&all.v);
	if (fflush(stdout) == 0 && !ferror(stdout))
		return 0;
	fprintf(stderr, "layoutgen: cannot write %s\n", o->output ? o->output : "output");
	return 1;
}

/* ---- --check ------------------------------------------------------------------------------ */

static void print_value(const char *of, int32_t value)
{
	if (value == LAYOUT_ABSENT)
		printf("%s absent", of);
	else
		printf("%s %d", of, value);
}

static int check_table(const struct options *o)
{
	const struct layout_table *table = layout_table_find(o->made.otp, o->made.vm_probes);
	unsigned int nr_different = 0;

	if (!table) {
		fprintf(stderr, "layoutgen: there is no table %s\n", o->made.name);
		return 2;
	}
	for (unsigned int i = 0; i < nr_layout_members; i++) {
		const struct layout_member *m = &layout_members[i];
		int32_t have = *layout_at(&table->layout, m);
		int32_t found = *layout_at(&o->made.layout, m);

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
	       nr_layout_members, o->made.source);
	return nr_different > 0;
}

/* ---- command line ------------------------------------------------------------------------- */

static const char usage_text[] =
	"usage: layoutgen BINARY --name otpNN[-vmprobes] [--source TEXT] [-o FILE]\n"
	"       layoutgen BINARY --check otpNN[-vmprobes]\n"
	"  --allow-missing   a type that is not there makes its fields absent\n";

/* "otp25" or "otp25-vmprobes". */
static bool parse_name(struct layout_table *t)
{
	int end = 0;

	if (!t->name || sscanf(t->name, "otp%2d%n", &t->otp, &end) != 1 || t->otp < 1)
		return false;
	t->vm_probes = strcmp(t->name + end, "-vmprobes") == 0;
	return t->vm_probes || t->name[end] == '\0';
}

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
		case 'c':
			o->made.name = optarg;
			o->check = c == 'c';
			break;
		case 's':
			o->made.source = optarg;
			break;
		case 'o':
			o->output = optarg;
			break;
		case 'a':
			o->allow_missing = true;
			break;
		default:
			return false;
		}
	}
	if (optind + 1 != argc)
		return false;
	o->binary = argv[optind];
	return parse_name(&o->made);
}

int main(int argc, char **argv)
{
	struct options o = {0};

	if (!parse_options(&o, argc, argv)) {
		fputs(usage_text, stderr);
		return 2;
	}
	if (!read_layout(&o))
		return 1;
	return o.check ? check_table(&o) : write_tables(&o);
}
