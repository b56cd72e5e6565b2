/* SPDX-License-Identifier: BSD-2-Clause */
/* See paint.h.  Integer arithmetic only, so that every machine gives the same bytes. */
#include "export/paint.h"

#include <math.h>

#include "base/compiler.h"

const struct paint paints[NR_PAINTS] = {
	[PAINT_ERLANG] = {"Erlang", 0xf2c071, 0x855b1b},
	[PAINT_BIF] = {"BIF", 0xeaa47a, 0x8f5131},
	[PAINT_NIF] = {"NIF", 0xe2a0bd, 0x86476a},
	[PAINT_NATIVE] = {"Native", 0x9dbfe0, 0x3c6084},
	[PAINT_GC] = {"GC", 0xe8847c, 0xa03f3b},
	[PAINT_ETS] = {"ETS", 0x9ccb8d, 0x40713a},
	[PAINT_COPY] = {"Message copy", 0xd6ca72, 0x6f651f},
	[PAINT_PORT] = {"Port, driver", 0x7fc6bd, 0x2c736b},
	[PAINT_VM] = {"Timer, code, allocators", 0xc9b195, 0x6e5a44},
	[PAINT_KERNEL] = {"Kernel", 0xb8aae0, 0x5e5092},
	[PAINT_RUNTIME] = {"JIT runtime", 0xb9c6d2, 0x51606e},
	[PAINT_LOCK] = {"Locks", 0xd88fd0, 0x7d3f78},
	[PAINT_STATE] = {"Scheduler, polling", 0xd2cdc3, 0x5a5752},
	[PAINT_ELIDED] = {"Left out", 0xe8e4dc, 0x43413d},
	[PAINT_GROUP] = {"Group", 0xdde3ea, 0x3a4451},
};

enum paint_id paint_of_frame(enum frame_kind kind)
{
	static const enum paint_id of[] = {
		[FRAME_ERLANG] = PAINT_ERLANG, [FRAME_BIF] = PAINT_BIF,
		[FRAME_NIF] = PAINT_NIF,       [FRAME_NATIVE] = PAINT_NATIVE,
		[FRAME_KERNEL] = PAINT_KERNEL, [FRAME_RUNTIME] = PAINT_RUNTIME,
		[FRAME_ELIDED] = PAINT_ELIDED, [FRAME_STATE] = PAINT_STATE,
	};

	return of[kind];
}

bool paint_by_sample(enum frame_kind kind)
{
	return kind == FRAME_NATIVE || kind == FRAME_RUNTIME || kind == FRAME_STATE;
}

enum paint_id paint_of_sample(enum sample_kind kind)
{
	switch (kind) {
	case SAMPLE_GC:
	case SAMPLE_FULL_GC:
	case SAMPLE_LITERAL_GC:
		return PAINT_GC;
	case SAMPLE_ETS:
		return PAINT_ETS;
	case SAMPLE_COPY:
		return PAINT_COPY;
	case SAMPLE_PORT:
		return PAINT_PORT;
	case SAMPLE_TIMER:
	case SAMPLE_CODE:
	case SAMPLE_TASK:
	case SAMPLE_ALLOC:
		return PAINT_VM;
	case SAMPLE_SCHEDULER:
	case SAMPLE_POLL:
	case SAMPLE_WAIT:
		return PAINT_STATE;
	case SAMPLE_LOCK:
	case SAMPLE_OFF_LOCK_ETS:
	case SAMPLE_OFF_LOCK_PROCESS:
	case SAMPLE_OFF_LOCK_PORT:
	case SAMPLE_OFF_LOCK_ALLOC:
	case SAMPLE_OFF_LOCK_CODE:
	case SAMPLE_OFF_LOCK_DIST:
	case SAMPLE_OFF_LOCK:
		return PAINT_LOCK;
	case SAMPLE_TERM_FORMAT:
	case SAMPLE_REGEXP:
	case SAMPLE_BINARY:
		return PAINT_BIF;
	default:
		return PAINT_NATIVE;
	}
}

unsigned int paint_shade_of(const char *module)
{
	uint32_t hash = 2166136261u; /* FNV-1a */

	for (; *module; module++)
		hash = (hash ^ (unsigned char)*module) * 16777619u;
	return (hash >> 16 ^ hash) % NR_PAINT_SHADES;
}

/* Mixes two colours: `amount` percent of `to`, the rest of rgb. */
static uint32_t mix(uint32_t rgb, uint32_t to, unsigned int amount)
{
	uint32_t out = 0;

	for (int shift = 16; shift >= 0; shift -= 8) {
		uint32_t a = rgb >> shift & 0xff, b = to >> shift & 0xff;

		out |= (a * (100 - amount) + b * amount) / 100 << shift;
	}
	return out;
}

uint32_t paint_shade(uint32_t rgb, unsigned int shade)
{
	static const unsigned int amount[NR_PAINT_SHADES] = {0, 8, 16, 3, 7};

	return mix(rgb, shade <= 2 ? 0xffffff : 0x000000, amount[shade]);
}

uint32_t paint_delta(double delta, double largest)
{
	double strength = sqrt(fabs(delta) / MAX(largest, PAINT_DELTA_FLOOR));
	unsigned int amount = (unsigned int)(MIN(strength, 1.0) * 100 + 0.5);

	return mix(0xe9e7e3, delta > 0 ? 0xe2685f : 0x5f93d6, amount);
}
