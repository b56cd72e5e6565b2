/* SPDX-License-Identifier: BSD-2-Clause */
/* Shared by session.c (load, attach, detach) and session_counters.c (what was counted). */
#ifndef EBEAM_PROBE_SESSION_INTERNAL_H
#define EBEAM_PROBE_SESSION_INTERNAL_H

#include "abi/config.h"
#include "base/vec.h"
#include "ebeam.skel.h"
#include "probe/calibrate.h"
#include "probe/meter.h"
#include "probe/ring.h"
#include "probe/session.h"

struct sampled_cpu {
	int cpu;
	struct bpf_link *link; /* owns the perf event; NULL until session_start() */
};

struct session {
	struct session_config config;
	struct ebeam_bpf *skel;
	struct bpf_link *code_link;
	struct attach *attach; /* of events; NULL = none */
	struct keeper *keeper; /* of them, if it can be known what they cost */
	struct calibrator *calibrator;
	struct calibration cost;
	struct error no_budget; /* why there is no keeper */
	struct meter_counters work;
	VEC(int) rings; /* descriptors of the inner maps */
	VEC(struct sampled_cpu) cpus;
	struct ring_set *ring_set;
	uint64_t cleaned_ns;
	unsigned int nr_alias_cut; /* COUNTER_ALIAS_CUT; once it is stopped */
};

#endif
