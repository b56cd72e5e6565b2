/* SPDX-License-Identifier: BSD-2-Clause */
/* See verifier_baseline.h. */
#include "lib/verifier_baseline.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/compiler.h"

#define HEAD                                                                                       \
	"# SPDX-License-Identifier: BSD-2-Clause\n"                                                \
	"# Made by tests/kernels/run --renew: what the verifier sees of each program.\n"           \
	"# stack: bytes of the deepest chain of calls.\n"                                          \
	"# kernel\tprogram\tinstructions\tstack\tstates\n"

void baseline_kernel(char *out, size_t size, const char *release)
{
	size_t major = strcspn(release, ".");
	size_t minor = release[major] ? strspn(release + major + 1, "0123456789") : 0;

	snprintf(out, size, "%.*s", (int)(major + (minor ? 1 + minor : 0)), release);
}

bool baseline_read(struct baseline *b, FILE *f)
{
	char line[256];

	while (fgets(line, sizeof(line), f)) {
		struct baseline_row row;
		int used = 0;

		if (line[0] == '#' || line[0] == '\n')
			continue;
		if (sscanf(line, "%15s %63s %u %u %u %n", row.kernel, row.program,
			   &row.instructions, &row.stack, &row.states, &used) != 5 ||
		    line[used]) {
			errno = EINVAL;
			return false;
		}
		vec_push(&b->rows, row);
	}
	return !ferror(f);
}

/* Kernels by number, programs by name. */
static int compare_rows(const void *a, const void *b)
{
	const struct baseline_row *x = a, *y = b;
	int by_kernel = strverscmp(x->kernel, y->kernel);

	return by_kernel ? by_kernel : strcmp(x->program, y->program);
}

void baseline_write(struct baseline *b, FILE *f)
{
	if (b->rows.len)
		qsort(b->rows.data, b->rows.len, sizeof(b->rows.data[0]), compare_rows);
	fputs(HEAD, f);
	for (size_t i = 0; i < b->rows.len; i++) {
		const struct baseline_row *r = &b->rows.data[i];

		fprintf(f, "%s\t%s\t%u\t%u\t%u\n", r->kernel, r->program, r->instructions, r->stack,
			r->states);
	}
}

/* Any program, if it is NULL. */
static const struct baseline_row *find(const struct baseline *b, const char *kernel,
				       const char *program)
{
	for (size_t i = 0; i < b->rows.len; i++) {
		const struct baseline_row *r = &b->rows.data[i];

		if (strcmp(r->kernel, kernel) == 0 &&
		    (!program || strcmp(r->program, program) == 0))
			return r;
	}
	return NULL;
}

void baseline_renew(struct baseline *b, const struct baseline *fresh)
{
	size_t nr = 0;

	for (size_t i = 0; i < b->rows.len; i++)
		if (!find(fresh, b->rows.data[i].kernel, NULL))
			b->rows.data[nr++] = b->rows.data[i];
	b->rows.len = nr;
	for (size_t i = 0; i < fresh->rows.len; i++)
		vec_push(&b->rows, fresh->rows.data[i]);
}

static bool grew(unsigned int was, unsigned int is)
{
	return is > was + was / 4;
}

static unsigned int compare_row(const struct baseline_row *was, const struct baseline_row *is,
				FILE *out)
{
	const struct {
		const char *what;
		unsigned int was, is;
	} figures[] = {
		{"instructions", was->instructions, is->instructions},
		{"bytes of stack", was->stack, is->stack},
		{"states", was->states, is->states},
	};
	unsigned int failed = 0;

	for (size_t i = 0; i < ARRAY_SIZE(figures); i++) {
		if (!grew(figures[i].was, figures[i].is))
			continue;
		fprintf(out, "grew  %s: %u %s, in the table for %s %u\n", is->program,
			figures[i].is, figures[i].what, is->kernel, figures[i].was);
		failed = 1;
	}
	return failed;
}

unsigned int baseline_compare(const struct baseline *b, const struct baseline *now, bool *known,
			      FILE *out)
{
	unsigned int failed = 0;

	*known = now->rows.len && find(b, now->rows.data[0].kernel, NULL);
	for (size_t i = 0; *known && i < now->rows.len; i++) {
		const struct baseline_row *is = &now->rows.data[i];
		const struct baseline_row *was = find(b, is->kernel, is->program);

		if (!was)
			fprintf(out, "new  %s: not in the table for %s\n", is->program, is->kernel);
		failed += was ? compare_row(was, is, out) : 1;
	}
	return failed;
}
