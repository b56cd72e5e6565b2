/* SPDX-License-Identifier: BSD-2-Clause */
/* See screen_style.h.  The 256 colours are readable on dark and on light backgrounds; kinds of CPU
 * time have about the same colours as in flame graphs. */
#include "view/screen/screen_style.h"

static const struct cell_style styles[NR_SCREEN_STYLES] = {
	[SCREEN_PLAIN] = {{-1, -1}, {-1, -1}, 0, 0},
	[SCREEN_DIM] = {{244, -1}, {-1, -1}, 0, STYLE_DIM},
	[SCREEN_BOLD] = {{-1, -1}, {-1, -1}, STYLE_BOLD, STYLE_BOLD},
	[SCREEN_TITLE] = {{74, -1}, {6, -1}, STYLE_BOLD, STYLE_BOLD},
	[SCREEN_HEADING] = {{252, 238}, {0, 2}, 0, STYLE_REVERSE},
	[SCREEN_SORTED] = {{231, 31}, {0, 6}, STYLE_BOLD, STYLE_REVERSE | STYLE_BOLD},
	[SCREEN_SELECTED] = {{231, 24}, {7, 4}, 0, STYLE_REVERSE},
	[SCREEN_TAB] = {{250, 236}, {-1, -1}, 0, 0},
	[SCREEN_TAB_ON] = {{231, 31}, {7, 4}, STYLE_BOLD, STYLE_REVERSE | STYLE_BOLD},
	[SCREEN_KEY] = {{74, -1}, {6, -1}, STYLE_BOLD, STYLE_BOLD},
	[SCREEN_GOOD] = {{71, -1}, {2, -1}, 0, 0},
	[SCREEN_WARN] = {{172, -1}, {3, -1}, 0, STYLE_BOLD},
	[SCREEN_BAD] = {{167, -1}, {1, -1}, STYLE_BOLD, STYLE_BOLD | STYLE_UNDERLINE},
	[SCREEN_ERLANG] = {{179, -1}, {3, -1}, 0, 0},
	[SCREEN_GC] = {{167, -1}, {1, -1}, 0, 0},
	[SCREEN_BIF] = {{173, -1}, {2, -1}, 0, 0},
	[SCREEN_NIF] = {{175, -1}, {5, -1}, 0, 0},
	[SCREEN_PORT] = {{73, -1}, {6, -1}, 0, 0},
	[SCREEN_OTHER] = {{67, -1}, {4, -1}, 0, 0},
	[SCREEN_IDLE] = {{244, -1}, {-1, -1}, 0, STYLE_DIM},
};

const struct cell_style *screen_style_of(enum screen_style style)
{
	return &styles[(unsigned)style < NR_SCREEN_STYLES ? style : SCREEN_PLAIN];
}

uint32_t style_rgb(int16_t color)
{
	static const uint32_t first[] = {0x000000, 0xcd3131, 0x0dbc79, 0xe5e510, 0x2472c8, 0xbc3fbc,
					 0x11a8cd, 0xe5e5e5, 0x666666, 0xf14c4c, 0x23d18b, 0xf5f543,
					 0x3b8eea, 0xd670d6, 0x29b8db, 0xffffff};
	static const uint8_t steps[] = {0, 95, 135, 175, 215, 255};
	unsigned c = (uint8_t)color;

	if (c < 16)
		return first[c];
	if (c >= 232) /* greys */
		return (8 + (c - 232) * 10) * 0x010101;
	c -= 16;
	return (uint32_t)steps[c / 36] << 16 | (uint32_t)steps[c / 6 % 6] << 8 | steps[c % 6];
}
