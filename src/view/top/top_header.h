/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What `top` shows of the whole node, above its panels: figures with their history, in as many
 * columns and rows as fit, the important ones first; and how busy each scheduler is.  If schedulers
 * have been in one time slice for long, a line at the top says so.
 */
#ifndef EBEAM_VIEW_TOP_HEADER_H
#define EBEAM_VIEW_TOP_HEADER_H

#include "model/top/top_frame.h"
#include "view/screen/screen.h"

/* Rows that the header takes, at most `room`. */
unsigned top_header_height(const struct top_frame *f, unsigned room, unsigned width);
/* Draws into rows row .. row + height - 1; height as top_header_height() returned it. */
void top_header_draw(struct screen *s, unsigned row, unsigned height, unsigned width,
		     const struct top_frame *f);

#endif
