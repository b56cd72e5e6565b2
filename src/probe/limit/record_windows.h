/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Keeps what programs cost a node below a share of its own CPU time, where to take less in them
 * saves too little: they are in place in windows only, as short as the caller's steps.  Pure logic:
 * it is given what was used so far.  Time is cut into spans, as long as the cost demands; each has
 * one window, at a random place, which stands for all of it: so windows do not keep in step with
 * what the node does.
 */
#ifndef EBEAM_PROBE_RECORD_WINDOWS_H
#define EBEAM_PROBE_RECORD_WINDOWS_H

#include <stdint.h>

#include "probe/limit/sample_limit.h"

enum record_windows_step { RECORD_WINDOWS_KEEP, RECORD_WINDOWS_PAUSE, RECORD_WINDOWS_RESUME };

/* Times are those of sample_clocks.wall_ns. */
struct record_windows {
	struct sample_limit limit;
	bool begun, paused; /* begun: the share was exceeded, until then it was one window */
	double stands_for;  /* of the window that ended last: >= 1; 0 = leave it out */
	double on_ns;	    /* length of all windows */
	unsigned int nr;    /* of windows that ended */
	double first_ns, first_spent_ns; /* the first one: its length, and what it has cost */
	double span_ns, span_end_ns, window_ns; /* begin and end of the span, begin of its window */
	double covered_ns;			/* end of the last span whose window has ended */
	double step_ns, length_ns;
	uint64_t random;
};

/* percent: as sample_limit_init(); length_ns: of the run, 0 = not known; seed: not 0. */
void record_windows_init(struct record_windows *w, double percent, double length_ns, uint64_t seed);
/* step_ns: from one call to the next, about. */
enum record_windows_step record_windows_step(struct record_windows *w,
					     const struct sample_clocks *now, double step_ns);
/* At the end: ends the window under way, if there is one, and its span; true = it did. */
bool record_windows_end(struct record_windows *w, const struct sample_clocks *now);
/* Length of a window but the first, on average; 0 = there was none. */
double record_windows_length(const struct record_windows *w);

#endif
