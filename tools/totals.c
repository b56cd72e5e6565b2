/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * totals PID [N]: what the VM of a node counts of itself, a line of JSON each, N times with a tenth
 * of a second between, and how long one pass of reads took.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/units.h"
#include "beam/node.h"
#include "beam/vm_totals.h"

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
		field(vm_total_name((enum vm_total)i), t->value[i]);
	}
	printf(",\"queues\":[");
	for (size_t i = 0; i < t->queues.len; i++) {
		printf("%s", i ? "," : "");
		queue(&t->queues.data[i]);
	}
	printf("],\"unknown\":{");
	for (size_t i = 0, nr = 0; i < NR_VM_TOTALS; i++) {
		if (t->why[i])
			printf("%s\"%s\":\"%s\"", nr++ ? "," : "", vm_total_name((enum vm_total)i),
			       t->why[i]);
	}
	printf("}}\n");
	fflush(stdout);
}

int main(int argc, char **argv)
{
	struct vm_totals_reader *r = NULL;
	struct vm_totals t = {0};
	struct beam_node *n = NULL;
	struct error err;
	int rc;

	if (argc < 2) {
		fprintf(stderr, "totals: which pid?\n");
		return 2;
	}
	rc = beam_node_open(&n, atoi(argv[1]), false, &err);
	rc = rc ? rc : vm_totals_open(&r, n, &err);
	for (int i = 0; !rc && i < (argc > 2 ? atoi(argv[2]) : 1); i++) {
		uint64_t start;

		if (i)
			usleep(100000);
		start = clock_monotonic_ns();
		rc = vm_totals_read(r, &t, &err);
		if (!rc)
			show(&t, clock_monotonic_ns() - start);
	}
	if (rc)
		fprintf(stderr, "totals: %s\n", err.msg);
	vm_totals_free(&t);
	vm_totals_close(r);
	beam_node_close(n);
	return rc ? 1 : 0;
}
