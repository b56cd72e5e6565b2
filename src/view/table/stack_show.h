/* SPDX-License-Identifier: BSD-2-Clause */
/* The Erlang stack of an event or a call, as text or JSON. */
#ifndef EBEAM_VIEW_STACK_SHOW_H
#define EBEAM_VIEW_STACK_SHOW_H

#include <stdint.h>

#include "base/jsonw.h"
#include "base/strbuf.h"
#include "names/names.h"

/* Adds a line for each frame, top first, as in Erlang's stack traces; nothing for stack 0. */
void stack_show_text(struct strbuf *out, const struct names *names, uint32_t stack);
/* "lists:map/2 (lists.erl:1239)" */
void stack_show_frame(struct strbuf *out, const struct name_function *f,
		      const struct name_frame *frame);
/* {mfa, file, line}, an element of an array. */
void stack_show_frame_json(struct jsonw *w, const struct name_function *f,
			   const struct name_frame *frame);
/* "stack":[{mfa, file, line}], top first; null for stack 0. */
void stack_show_json(struct jsonw *w, const struct names *names, uint32_t stack);
/* As stack_show_json(), but [] for stack 0: for stacks that were recorded and may be empty. */
void stack_show_frames_json(struct jsonw *w, const struct names *names, uint32_t stack);

#endif
