/* SPDX-License-Identifier: BSD-2-Clause */
/* Processes that have fixed a table; see ets.h. */
#include <errno.h>
#include <string.h>

#include "abi/vm.h"
#include "base/bytes.h"
#include "beam/term/pid.h"
#include "beam/vm/ets.h"

/* DbFixation {tabs {next, prev, btid}, procs {left, right, parent, is_red, Process *p}, counter},
 * erl_db_util.h, OTP 25 to 29: a red-black tree by process. */
#define FIXATION_LEFT	 24
#define FIXATION_RIGHT	 32
#define FIXATION_PARENT	 40
#define FIXATION_PROCESS 56
#define FIXATION_COUNTER 64
#define FIXATION_SIZE	 72
/* Siblings that wait on the way down, one a level: 2 * log2 of as many nodes as fit memory. */
#define MAX_WAITING 96
/* Attempts to read a tree that changes while it is read. */
#define ATTEMPTS 8

struct place {
	raddr node, parent;
};

/* Each node must point to its parent: this ends walks in a cycle or in freed memory. */
static int read_fixation(struct beam_node *n, const struct place *at, uint8_t *bytes,
			 struct ets_fixation *out)
{
	int rc;

	if (at->node & 7)
		return -EBADMSG;
	rc = mem_read(n->mem, at->node, bytes, FIXATION_SIZE);
	if (rc)
		return rc;
	if (bytes_u64(bytes, FIXATION_PARENT) != at->parent)
		return -EBADMSG;
	out->count = bytes_u64(bytes, FIXATION_COUNTER);
	rc = mem_read_u64(n->mem, bytes_u64(bytes, FIXATION_PROCESS) + (raddr)n->layout.process_id,
			  &out->pid);
	if (rc)
		return rc;
	return TERM_IS_PID(out->pid) ? 0 : -EBADMSG;
}

static int read_tree(struct beam_node *n, raddr root, struct ets_fixation *out, size_t max,
		     size_t *nr)
{
	struct place waiting[MAX_WAITING];
	unsigned int depth = 0;

	*nr = 0;
	if (root)
		waiting[depth++] = (struct place){.node = root};
	while (depth) {
		struct place at = waiting[--depth];
		uint8_t bytes[FIXATION_SIZE];
		struct ets_fixation f;
		int rc;

		if (*nr == max)
			return -ENOSPC;
		rc = read_fixation(n, &at, bytes, &f);
		if (rc)
			return rc;
		out[(*nr)++] = f;
		if (depth + 2 > MAX_WAITING)
			return -EBADMSG;
		if (bytes_u64(bytes, FIXATION_RIGHT))
			waiting[depth++] =
				(struct place){bytes_u64(bytes, FIXATION_RIGHT), at.node};
		if (bytes_u64(bytes, FIXATION_LEFT))
			waiting[depth++] = (struct place){bytes_u64(bytes, FIXATION_LEFT), at.node};
	}
	return 0;
}

int ets_fixations(struct beam_node *n, const struct ets_table *t, struct ets_fixation *out,
		  size_t max, size_t *nr)
{
	int rc = -EBADMSG;

	*nr = 0;
	for (int nth = 0; (rc == -EBADMSG || rc == -EFAULT) && nth < ATTEMPTS; nth++) {
		raddr root;

		rc = mem_read_u64(n->mem, t->addr + (raddr)n->layout.ets_fixing_procs, &root);
		rc = rc ? rc : read_tree(n, root, out, max, nr);
	}
	return rc;
}
