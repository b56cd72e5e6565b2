/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What `top` says of the node as a whole, above its panels: figures with their history, in as many
 * columns and rows as there is room for, the important ones first; and how busy each scheduler is.
 * Above all of it, if schedulers are held by what does not give them back, a line that says so.
 */
#ifndef EBEAM_VIEW_TOP_HEADER_H
#define EBEAM_VIEW_TOP_HEADER_H

#include "model/top/top_frame.h"
#include "view/screen/screen.h"

/* Rows that it takes if it may have `room` of them. */
unsigned top_header_height(const struct top_frame *f, unsigned room, unsigned width);
/* Into the rows row .. row + height - 1, with the height that top_header_height() said. */
void top_header_draw(struct screen *s, unsigned row, unsigned height, unsigned width,
		     const struct top_frame *f);

#endif
