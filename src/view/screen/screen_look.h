/* SPDX-License-Identifier: BSD-2-Clause */
/* How styles look: one row for each, for terminals and pictures alike. */
#ifndef EBEAM_VIEW_SCREEN_LOOK_H
#define EBEAM_VIEW_SCREEN_LOOK_H

#include <stdint.h>

#include "view/screen/screen.h"

enum look_attribute {
	LOOK_BOLD = 1,
	LOOK_DIM = 2,
	LOOK_REVERSE = 4,
	LOOK_UNDERLINE = 8,
};

/* Numbers of colours; -1 = the terminal's own.  A style that has a background has both. */
struct look_colors {
	int16_t ink, ground;
};

struct screen_look {
	struct look_colors of_256; /* of xterm's palette */
	struct look_colors of_8;
	uint8_t color_attributes; /* beside colours */
	uint8_t plain_attributes; /* instead of colours */
};

/* What is no style is SCREEN_PLAIN. */
const struct screen_look *screen_look(enum screen_style style);

/* 0xRRGGBB of a colour of xterm's palette. */
uint32_t look_rgb(int16_t color);

#endif
