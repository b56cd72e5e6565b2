/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What one hit of a uprobe costs on this host, measured: probes are placed on functions of ebeam
 * itself, which are then called often enough.
 */
#ifndef EBEAM_PROBE_CALIBRATE_H
#define EBEAM_PROBE_CALIBRATE_H

#include <stdbool.h>

#include "base/error.h"

/* ns of CPU that the probed thread loses per hit, with a BPF program that does next to nothing. */
struct calibration {
	unsigned int emulated_ns; /* on an instruction that the kernel emulates */
	unsigned int stepped_ns;  /* on one that it single-steps */
	unsigned int return_ns;	  /* at a return, the probe at the (emulated) entry included */
};

struct calibrator;

void calibrator_open(struct calibrator **out);
/*
 * Measures: some 10 ms, with links of many probes (`multi`, see multi.h) or with perf events, which
 * cost differently.  The probes are then removed by a thread, as the kernel takes about 0.1 s for
 * each; the next measurement waits for it, and so does calibrator_close().  Of all calibrators only
 * one may measure at a time: their probes stand on the same functions.
 *   ERROR_KIND_PRIVILEGE  uprobes or BPF programs are not allowed
 *   ERROR_KIND_KERNEL     the kernel has none, or they are not hit
 */
int calibrator_measure(struct calibrator *c, bool multi, struct calibration *out,
		       struct error *err);
void calibrator_close(struct calibrator *c); /* NULL ok */

#endif
