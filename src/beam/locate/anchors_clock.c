/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The latest correction of the node's clock: time_sup.inf.c.parmon.cdata.insts.curr, a static
 * struct of erl_time_sup.c that no release exports.  See anchors.h.
 *
 * At start a node stores the kernel's monotonic time in ns (minit) and the offset from it to Erlang
 * time, which begins at one second (moffset = 1000000000 - minit).  Two variables with such values,
 * close together, identify the struct.  Before minit are the latest corrections, {prev, curr} of
 * {erl_mtime, os_mtime, drift, error}, and 1640 bytes about the drift (OTP 25 to 29).
 */
#include "beam/locate/anchors.h"

#define CLOCK_BEGIN   1000000000
#define MINIT_INSTS   1704 /* from insts to minit */
#define INSTANCE_SIZE 32
#define OFFSET_WINDOW 4096 /* largest distance from moffset to minit */

static int64_t word_at(const struct anchor_space *s, size_t offset)
{
	return (int64_t)space_u64(s, offset);
}

/* True if the words at `at` may be a correction {erl_mtime, os_mtime, ..}: the two clocks may
 * differ by 1 % of the time since minit; 2 % and one second are accepted. */
static bool is_instance(const struct anchor_space *s, size_t at, int64_t minit)
{
	int64_t erl = word_at(s, at), os = word_at(s, at + 8), slack;

	if (erl < CLOCK_BEGIN || os < minit)
		return false;
	slack = (os - minit) / 50 + CLOCK_BEGIN;
	erl -= CLOCK_BEGIN;
	return erl >= os - minit - slack && erl <= os - minit + slack;
}

static bool is_clock(const struct anchor_space *s, size_t at, int64_t minit)
{
	size_t prev = at - MINIT_INSTS, curr = prev + INSTANCE_SIZE;

	return at >= MINIT_INSTS && is_instance(s, prev, minit) && is_instance(s, curr, minit) &&
	       word_at(s, prev + 8) <= word_at(s, curr + 8);
}

raddr shape_find_clock(const struct anchor_space *s)
{
	raddr found = 0;

	for (size_t i = 0; i + 8 <= s->data_size; i += 8) {
		int64_t offset = word_at(s, i);

		if (offset >= 0 || offset < -(INT64_MAX / 2))
			continue;
		for (size_t k = i + 8; k < i + OFFSET_WINDOW && k + 8 <= s->data_size; k += 8) {
			if (word_at(s, k) != CLOCK_BEGIN - offset ||
			    !is_clock(s, k, CLOCK_BEGIN - offset))
				continue;
			if (found)
				return 0;
			found = s->data_addr + k - MINIT_INSTS + INSTANCE_SIZE;
		}
	}
	return found;
}
