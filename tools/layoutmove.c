/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * layoutmove PID|CORE [EXE]: moves each field of the layout by eight bytes, one after the other,
 * and prints which check notices it, or "-": such a field is as right as the layout's source is.
 * For maintainers, and for the end-to-end tests (theme unknown).
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "beam/locate/checks.h"
#include "beam/locate/node_open.h"
#include "beam/node/node.h"
#include "beam/otp/layout.h"

#define MOVE 8

static const struct beam_check *move(struct beam_node *n, const struct layout_member *m)
{
	int32_t *value = layout_at(&n->layout, m);

	*value += MOVE;
	snprintf(n->untested, sizeof(n->untested), "moved");
	beam_node_fits(n);
	*value -= MOVE;
	return checks_failed(n);
}

int main(int argc, char **argv)
{
	struct beam_node *n;
	struct error err;
	int rc;

	if (argc < 2 || argc > 3) {
		fprintf(stderr, "usage: layoutmove PID|CORE [EXE]\n");
		return 2;
	}
	if (argv[1][strspn(argv[1], "0123456789")])
		rc = beam_node_open_core(&n, argv[1], argv[2], 0, &err);
	else
		rc = beam_node_open(&n, atoi(argv[1]), 0, &err);
	if (rc) {
		fprintf(stderr, "layoutmove: %s\n", err.msg);
		return 1;
	}
	for (unsigned int i = 0; i < nr_layout_members; i++) {
		const struct layout_member *m = &layout_members[i];
		const struct beam_check *failed;

		if (*layout_at(&n->layout, m) == LAYOUT_ABSENT)
			continue;
		failed = move(n, m);
		printf("%s\t%s\n", m->member, failed ? failed->name : "-");
	}
	beam_node_close(n);
	return 0;
}
