/* SPDX-License-Identifier: BSD-2-Clause */
/* See thread_stack.h. */
#include "beam/sched/thread_stack.h"

#include <stdlib.h>

#include "base/compiler.h"
#include "base/xalloc.h"

#define STACK_COPY  (64u << 10) /* at most */
#define FRAME_COPY  2048u	/* of each frame that is wanted; most have less */
#define STACK_CHUNK 4096u

static size_t copy_stack(struct mem *mem, raddr sp, uint64_t *words, size_t size)
{
	size_t done = 0, part;

	if (sp & 7)
		return 0;
	while (done < size) {
		part = MIN(STACK_CHUNK - (size_t)((sp + done) % STACK_CHUNK), size - done);
		if (mem_read(mem, sp + done, (char *)words + done, part) != 0)
			break;
		done += part;
	}
	return done / 8;
}

unsigned int thread_stack_read(struct beam_node *n, struct unwinder *u, const struct jit_code *jit,
			       const struct unwind_regs *begin, raddr *frames, unsigned int max)
{
	size_t size = MIN(STACK_COPY, (size_t)max * FRAME_COPY);
	uint64_t *words = xmalloc(MAX(size, 8u));
	struct unwind_stack stack = {.leaf = {.base = begin->sp, .words = words}};
	struct unwind_regs regs = *begin;
	struct jit_function j;
	unsigned int nr = 0;

	stack.leaf.nr = copy_stack(n->mem, regs.sp, words, size);
	while (regs.ip && nr < max) {
		raddr ip = nr ? regs.ip - 1 : regs.ip;

		if (jit_find(jit, ip, &j))
			break;
		frames[nr++] = ip;
		if (unwinder_step(u, &regs, &stack) != 0)
			break;
	}
	free(words);
	return nr;
}
