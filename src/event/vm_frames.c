/* SPDX-License-Identifier: BSD-2-Clause */
/* See vm_frames.h. */
#include "event/vm_frames.h"

static bool is_of_vm(enum frame_kind kind)
{
	return kind == FRAME_NATIVE || kind == FRAME_RUNTIME || kind == FRAME_KERNEL;
}

uint32_t vm_frames_cut(const struct names *names, uint32_t stack)
{
	const struct name_stack *s;
	const struct name_frame *f;

	for (; (s = names_stack(names, stack)); stack = s->parent) {
		f = names_frame(names, s->frame);
		if (!is_of_vm(names_function(names, f->function)->kind))
			break;
	}
	return stack;
}

uint32_t vm_frames_leaf(struct names *names, uint32_t stack, uint32_t leaf)
{
	const struct name_stack *s;

	stack = vm_frames_cut(names, stack);
	s = names_stack(names, stack);
	/* a sample of a dirty scheduler has the leaf already */
	return s && s->frame == leaf ? stack : names_intern_stack(names, stack, leaf, NULL);
}
