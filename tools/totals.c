/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * totals PID [N]: what the VM of a node counts of itself, a line of JSON each, N times with a tenth
 * of a second between, and how long one pass of reads took.
 * totals PID apps: its applications, as a line of JSON.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/units.h"
#include "beam/locate/node_open.h"
#include "beam/node/node.h"
#include "beam/term/atoms.h"
#include "beam/vm/apps.h"
#include "beam/vm/vm_totals.h"

#define NAME(id, name) name,
static const char *const names[] = {VM_TOTALS(NAME)};
#undef NAME

static void field(const char *name, uint64_t value)
{
	if (value == VM_UNKNOWN)
		printf("\"%s\":null", name);
	else
		printf("\"%s\":%" PRIu64, name, value);
}

static void queue(const struct vm_queue *q)
{
	static const char *const types[] = {"normal", "dirty_cpu", "dirty_io"};

	printf("{\"type\":\"%s\",\"scheduler\":%u,", types[q->type], q->scheduler);
	field("length", q->length);
	printf(",");
	field("reductions", q->reductions);
	printf(",");
	field("context_switches", q->context_switches);
	printf(",");
	field("garbage_collections", q->gcs);
	printf("}");
}

static void show(const struct vm_totals *t, uint64_t ns)
{
	printf("{\"read_ns\":%" PRIu64, ns);
	for (size_t i = 0; i < NR_VM_TOTALS; i++) {
		printf(",");
		field(names[i], t->value[i]);
	}
	printf(",\"queues\":[");
	for (size_t i = 0; i < t->queues.len; i++) {
		printf("%s", i ? "," : "");
		queue(&t->queues.data[i]);
	}
	printf("],\"unknown\":{");
	for (size_t i = 0, nr = 0; i < NR_VM_TOTALS; i++) {
		if (t->why[i])
			printf("%s\"%s\":\"%s\"", nr++ ? "," : "", names[i], t->why[i]);
	}
	printf("}}\n");
	fflush(stdout);
}

static void atom(struct beam_node *n, uint64_t term)
{
	size_t len;
	const char *text = beam_atom_text(n->atoms, term, &len);

	printf("\"%.*s\"", text ? (int)len : 1, text ? text : "?");
}

static void show_app(struct beam_node *n, struct term_reader *r, const struct apps *a, size_t i)
{
	const struct app *app = &a->v.data[i];
	struct strbuf master = STRBUF_INIT;

	if (app->master)
		term_print(r, &master, app->master);
	printf("%s{\"name\":\"%s\",\"vsn\":\"%s\",\"master\":\"%s\",\"modules\":[", i ? "," : "",
	       app->text, app->vsn ? app->vsn : "", master.len ? master.buf : "");
	for (size_t k = app->first; k < app->first + app->nr; k++) {
		printf("%s", k > app->first ? "," : "");
		atom(n, a->modules.data[k]);
	}
	printf("]}");
	strbuf_free(&master);
}

static int show_apps(struct beam_node *n, struct error *err)
{
	struct ets_table table = {0};
	struct term_formats formats;
	struct term_reader r;
	struct apps a;
	int rc;

	if (term_reader_init(&r, &formats, n) != 0)
		return error_set(err, ERROR_KIND_FAILED, -1, "terms cannot be read");
	rc = apps_read(n, &r, &table, &a, err);
	if (rc)
		return rc;
	printf("[");
	for (size_t i = 0; i < a.v.len; i++)
		show_app(n, &r, &a, i);
	printf("]\n");
	apps_free(&a);
	return 0;
}

static int show_totals(struct beam_node *n, int times, struct error *err)
{
	struct vm_totals_reader *r;
	struct vm_totals t = {0};
	int rc = vm_totals_open(&r, n, err);

	for (int i = 0; !rc && i < times; i++) {
		uint64_t start;

		if (i)
			usleep(100000);
		start = clock_monotonic_ns();
		rc = vm_totals_read(r, &t, err);
		if (!rc)
			show(&t, clock_monotonic_ns() - start);
	}
	vm_totals_free(&t);
	vm_totals_close(r);
	return rc;
}

int main(int argc, char **argv)
{
	struct beam_node *n = NULL;
	struct error err;
	int rc;

	if (argc < 2) {
		fprintf(stderr, "totals: which pid?\n");
		return 2;
	}
	rc = beam_node_open(&n, atoi(argv[1]), 0, &err);
	if (!rc && argc > 2 && strcmp(argv[2], "apps") == 0)
		rc = show_apps(n, &err);
	else if (!rc)
		rc = show_totals(n, argc > 2 ? atoi(argv[2]) : 1, &err);
	if (rc)
		fprintf(stderr, "totals: %s\n", err.msg);
	beam_node_close(n);
	return rc ? 1 : 0;
}
