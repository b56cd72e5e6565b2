/* SPDX-License-Identifier: BSD-2-Clause */
/* See record_windows.h. */
#include "probe/limit/record_windows.h"

#include "base/compiler.h"
#include "base/random.h"

/* CPU that the node must have used before it is judged: clocks have ticks of 10 ms. */
#define JUDGED_OWN_NS 5e7
/* What was spent too much is saved by the end of the run, so that windows stand for about as much
 * each; within this time if the end is not known, or that near. */
#define LEAST_HORIZON_NS 3e9
/* The last window is at least so much of a step: a shorter one, of which each wait would stand for
 * very many, is no sample of its span. */
#define LEAST_WINDOW 0.5
/* A window is at least so much of its span. */
#define LEAST_SHARE 0.01

void record_windows_init(struct record_windows *w, double percent, double length_ns, uint64_t seed)
{
	*w = (struct record_windows){.stands_for = 1, .length_ns = length_ns, .random = seed};
	sample_limit_init(&w->limit, percent, 1);
}

/* What part of the time can be recorded, by what it has cost in windows and what is allowed. */
static double share_of_time(const struct record_windows *w, const struct sample_clocks *now)
{
	double own_rate = w->limit.of_core ? 1 : now->own_ns / now->wall_ns;
	double horizon_ns = MAX(w->length_ns - now->wall_ns, LEAST_HORIZON_NS);
	double allowed_ns =
		w->limit.allowed / 100 * own_rate * (now->wall_ns + horizon_ns) - now->spent_ns;
	double spent_ns = now->spent_ns, on_ns = w->on_ns, cost_ns;

	/* The first window may have been long and quiet. */
	if (w->nr > 1) {
		spent_ns -= w->first_spent_ns;
		on_ns -= w->first_ns;
	}
	cost_ns = spent_ns / on_ns * horizon_ns;
	return cost_ns > 0 ? MAX(MIN(allowed_ns / cost_ns, 1.0), LEAST_SHARE) : 1;
}

static void end_window(struct record_windows *w, const struct sample_clocks *now)
{
	double length = now->wall_ns - w->window_ns;

	w->on_ns += length;
	if (!w->nr++) {
		w->first_ns = length;
		w->first_spent_ns = now->spent_ns;
	}
	w->paused = true;
	w->span_end_ns = MAX(w->span_end_ns, now->wall_ns);
	w->covered_ns = w->span_end_ns;
	w->stands_for = length > 0 ? (w->span_end_ns - w->span_ns) / length : 1;
}

double record_windows_length(const struct record_windows *w)
{
	return w->nr > 1 ? (w->on_ns - w->first_ns) / (w->nr - 1) : 0;
}

static void begin_span(struct record_windows *w, const struct sample_clocks *now, double step_ns)
{
	double length = step_ns / share_of_time(w, now);

	w->span_ns = w->span_end_ns;
	w->span_end_ns += length;
	w->window_ns = w->span_ns + (length - step_ns) * random_uniform(&w->random);
}

enum record_windows_step record_windows_step(struct record_windows *w,
					     const struct sample_clocks *now, double step_ns)
{
	bool over = sample_limit_is_over(&w->limit, now);

	w->step_ns = step_ns;
	if (w->paused) {
		if (now->wall_ns + step_ns / 2 < w->window_ns)
			return RECORD_WINDOWS_KEEP;
		w->window_ns = now->wall_ns;
		w->paused = false;
		return RECORD_WINDOWS_RESUME;
	}
	if (w->limit.percent >= 100)
		return RECORD_WINDOWS_KEEP;
	if (!w->begun && (now->own_ns + now->spent_ns < JUDGED_OWN_NS || !over))
		return RECORD_WINDOWS_KEEP;
	w->begun = true;
	end_window(w, now);
	begin_span(w, now, step_ns);
	return RECORD_WINDOWS_PAUSE;
}

bool record_windows_end(struct record_windows *w, const struct sample_clocks *now)
{
	if (w->paused)
		return false;
	if (w->begun && now->wall_ns - w->window_ns < LEAST_WINDOW * w->step_ns) {
		w->paused = true;
		w->stands_for = 0;
		return true;
	}
	w->span_end_ns = now->wall_ns;
	end_window(w, now);
	return true;
}
