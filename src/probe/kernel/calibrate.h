/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What one hit of a uprobe costs on this host, measured: probes are placed on functions of ebeam
 * itself, which are then called often enough.
 */
#ifndef EBEAM_PROBE_CALIBRATE_H
#define EBEAM_PROBE_CALIBRATE_H

#include <stdbool.h>

#include "base/error.h"

/* ns of CPU time that the probed thread loses per hit, with a BPF program that does next to
 * nothing. */
struct calibration {
	unsigned int emulated_ns; /* on an instruction that the kernel emulates */
	unsigned int stepped_ns;  /* on an instruction that the kernel single-steps */
	unsigned int return_ns;	  /* of a return probe: its two traps, at the entry and at return */
};

struct calibrator;

void calibrator_open(struct calibrator **out);
/*
 * Measures, which takes some 10 ms, with uprobe_multi links (`multi`, see multi.h) or with perf
 * events, as their costs differ.  A thread removes the probes then, as the kernel takes about 0.1 s
 * for each; the next measurement and calibrator_close() wait for that.  Only one calibrator may
 * measure at a time: all place their probes on the same functions.
 *   ERROR_KIND_PRIVILEGE  uprobes or BPF programs are not allowed
 *   ERROR_KIND_KERNEL     the kernel has none, or they are not hit
 */
int calibrator_measure(struct calibrator *c, bool multi, struct calibration *out,
		       struct error *err);
void calibrator_close(struct calibrator *c); /* NULL ok */

#endif
