/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What probes take of a node: hits as the kernel counts them, times what the traps cost on this
 * host, plus what the programs ran by the clock, corrected by what the node's CPU time shows
 * (cost_fit.h); and the CPU of ebeam's threads that put probes on and off, in which the kernel has
 * the node's other CPUs wait.  Beside it what the node did: CPU of its own, and work as it counts
 * that itself.  For one thread.
 */
#ifndef EBEAM_PROBE_METER_H
#define EBEAM_PROBE_METER_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "probe/attach.h"
#include "probe/budget.h"
#include "probe/calibrate.h"
#include "probe/keeper.h"

struct meter;

/* Since meter_start(). */
struct meter_total {
	uint64_t hits;
	double spent_ns, own_ns; /* own: CPU of the node without what probes took; never falls */
	double work;
	double factor; /* true cost: calibrated cost */
};

/* Since the last time. */
struct meter_step {
	double wall_ns, own_ns, spent_ns;
	double cost_ns[BUDGET_MAX_SOURCES]; /* of each group, part of spent_ns */
};

/* Borrows all.  ERROR_KIND_FAILED. */
int meter_open(struct meter **out, struct attach *a, int os_pid, const struct calibration *cost,
	       struct error *err);
/* Counts from here on; ns of CPU a second that the node used since meter_open(). */
double meter_start(struct meter *m, const struct keeper_work *work);
void meter_close(struct meter *m); /* NULL ok */

/* Of the groups with live[]: those that may have been hit.  */
void meter_take(struct meter *m, const bool *live, struct meter_step *out);
/* After that: something is going to be switched, which ends a stretch of the fit. */
void meter_switches(struct meter *m);
/* What it took to switch probes so far does not count. */
void meter_forget_switches(struct meter *m);
const struct meter_total *meter_total(const struct meter *m);
/* CPU of the node since the last time: probes cannot have taken more.  Cheap. */
double meter_node_since(const struct meter *m);
/* What the node has done since meter_start(), by its own count: reductions; what it was if that
 * cannot be read. */
double meter_work(const struct meter *m);

#endif
