/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Colours of flame graphs, one row per sort of code, the same in SVG and HTML.  A frame's colour
 * says what sort of code it is; native and state frames, whose names say little, take the colour
 * of what the VM was doing there if all their samples agree on it.
 */
#ifndef EBEAM_EXPORT_PAINT_H
#define EBEAM_EXPORT_PAINT_H

#include "model/profile/snapshot.h"

enum paint_id {
	PAINT_ERLANG,
	PAINT_BIF,
	PAINT_NIF,
	PAINT_NATIVE,
	PAINT_GC,
	PAINT_ETS,
	PAINT_COPY,
	PAINT_PORT,
	PAINT_VM,
	PAINT_KERNEL,
	PAINT_RUNTIME,
	PAINT_STATE,
	PAINT_ELIDED,
	PAINT_GROUP,
	NR_PAINTS
};

struct paint {
	const char *title; /* for the legend */
	uint32_t light;	   /* 0xrrggbb, under dark text */
	uint32_t dark;	   /* under light text */
};

extern const struct paint paints[NR_PAINTS];

/* Shades of one paint, by which modules differ; 0 is the paint itself. */
#define NR_PAINT_SHADES 5

enum paint_id paint_of_frame(enum frame_kind kind);
/* Of a native, runtime or state frame all of whose samples are of `kind`; PAINT_NATIVE where
 * the kind says no more than the frame. */
enum paint_id paint_of_sample(enum sample_kind kind);
/* Does paint_of_sample() overrule paint_of_frame()? */
bool paint_by_sample(enum frame_kind kind);

unsigned int paint_shade_of(const char *module);
uint32_t paint_shade(uint32_t rgb, unsigned int shade);

/*
 * Red for more, blue for less, full at the largest change of the picture.  That counts as at least
 * PAINT_DELTA_FLOOR points: between two recordings of the same work there is always some noise,
 * which must not look like a fire.
 */
#define PAINT_DELTA_FLOOR 2.0
uint32_t paint_delta(double delta, double largest);

#endif
