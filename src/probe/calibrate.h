/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What one hit of a uprobe costs on this host, measured: probes are placed on functions of ebeam
 * itself, which are then called often enough.
 */
#ifndef EBEAM_PROBE_CALIBRATE_H
#define EBEAM_PROBE_CALIBRATE_H

#include "base/error.h"

/* ns of CPU that the probed thread loses per hit, with a BPF program that does next to nothing. */
struct calibration {
	unsigned int emulated_ns; /* on an instruction that the kernel emulates */
	unsigned int stepped_ns;  /* on one that it single-steps */
	unsigned int return_ns;	  /* at a return, the probe at the (emulated) entry included */
};

struct calibrator;

/*
 * Measures: some 20 ms, most of it for placing the probes.  They stay until calibrator_close(), hit
 * by nobody, because the kernel takes about 0.1 s to remove each: close last.
 *   ERROR_KIND_PRIVILEGE  uprobes or BPF programs are not allowed
 *   ERROR_KIND_KERNEL     the kernel has none, or they are not hit
 * *out is set in any case (maybe to NULL).
 */
int calibrator_open(struct calibrator **out, struct calibration *result, struct error *err);
void calibrator_close(struct calibrator *c);

#endif
