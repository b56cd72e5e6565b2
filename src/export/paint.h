/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Colours of flame graphs, the same in SVG and HTML.  The colour of a frame is that of its kind of
 * code; native, runtime and state frames, whose names say little, have the colour of the kind of
 * their samples (what the VM was doing), if all are of one kind.
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
	PAINT_LOCK,
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

/* Shades of a paint, for different modules; shade 0 is the paint itself. */
#define NR_PAINT_SHADES 5

enum paint_id paint_of_frame(enum frame_kind kind);
/* The paint of a native, runtime or state frame all of whose samples are of `kind`; PAINT_NATIVE if
 * the kind has no colour of its own. */
enum paint_id paint_of_sample(enum sample_kind kind);
/* True for kinds of frames that get paint_of_sample() if all their samples are of one kind. */
bool paint_by_sample(enum frame_kind kind);

unsigned int paint_shade_of(const char *module);
uint32_t paint_shade(uint32_t rgb, unsigned int shade);

/*
 * Colour of a change of `delta` percentage points: red for more, blue for less, in full colour at
 * `largest`, the largest change of the profile, which counts as at least PAINT_DELTA_FLOOR, so that
 * the noise between two recordings of the same work has pale colours.
 */
#define PAINT_DELTA_FLOOR 2.0
uint32_t paint_delta(double delta, double largest);

#endif
