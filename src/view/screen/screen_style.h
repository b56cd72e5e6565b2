/* SPDX-License-Identifier: BSD-2-Clause */
/* Colours and attributes of each style, for terminals and for SVGs. */
#ifndef EBEAM_VIEW_SCREEN_STYLE_H
#define EBEAM_VIEW_SCREEN_STYLE_H

#include <stdint.h>

#include "view/screen/screen.h"

enum style_attribute {
	STYLE_BOLD = 1,
	STYLE_DIM = 2,
	STYLE_REVERSE = 4,
	STYLE_UNDERLINE = 8,
};

/* Colours of text (ink) and background (ground) as numbers of a palette; -1 = the terminal's
 * default.  A style that sets the background sets both. */
struct style_colors {
	int16_t ink, ground;
};

struct cell_style {
	struct style_colors of_256; /* of xterm's palette */
	struct style_colors of_8;
	uint8_t color_attributes; /* used with colours */
	uint8_t plain_attributes; /* used without colours */
};

/* Colours and attributes of a style; of SCREEN_PLAIN if `style` is not a known number. */
const struct cell_style *screen_style_of(enum screen_style style);

/* 0xRRGGBB of a colour of xterm's palette. */
uint32_t style_rgb(int16_t color);

#endif
