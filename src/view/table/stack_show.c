/* SPDX-License-Identifier: BSD-2-Clause */
/* See stack_show.h. */
#include "view/table/stack_show.h"

#include <string.h>

void stack_show_frame(struct strbuf *out, const struct name_function *f,
		      const struct name_frame *frame)
{
	names_format_function(out, f);
	if (frame->file) {
		strbuf_addstr(out, " (");
		names_format_text(out, frame->file, strlen(frame->file));
		strbuf_addf(out, ":%u)", frame->line);
	}
}

void stack_show_text(struct strbuf *out, const struct names *names, uint32_t stack)
{
	const struct name_function *f;
	const struct name_frame *frame;

	while ((f = names_next_frame(names, &stack, &frame))) {
		strbuf_addstr(out, "                   ");
		stack_show_frame(out, f, frame);
		strbuf_addch(out, '\n');
	}
}

void stack_show_frame_json(struct jsonw *w, const struct name_function *f,
			   const struct name_frame *frame)
{
	struct strbuf text = STRBUF_INIT;

	names_format_function(&text, f);
	jsonw_begin_object(w, NULL);
	jsonw_text(w, "mfa", &text);
	jsonw_string(w, "file", frame->file);
	jsonw_uint_if(w, "line", frame->file, frame->line);
	jsonw_end_object(w);
	strbuf_free(&text);
}

void stack_show_frames_json(struct jsonw *w, const struct names *names, uint32_t stack)
{
	const struct name_function *f;
	const struct name_frame *frame;

	jsonw_begin_array(w, "stack");
	while ((f = names_next_frame(names, &stack, &frame)))
		stack_show_frame_json(w, f, frame);
	jsonw_end_array(w);
}

void stack_show_json(struct jsonw *w, const struct names *names, uint32_t stack)
{
	if (names_stack(names, stack))
		stack_show_frames_json(w, names, stack);
	else
		jsonw_null(w, "stack");
}
