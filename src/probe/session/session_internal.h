/* SPDX-License-Identifier: BSD-2-Clause */
/* Shared by session.c (load, attach, detach), session_rings.c (one ring for each CPU) and
 * session_counters.c (what was counted). */
#ifndef EBEAM_PROBE_SESSION_INTERNAL_H
#define EBEAM_PROBE_SESSION_INTERNAL_H

#include "abi/config.h"
#include "base/vec.h"
#include "ebeam.skel.h"
#include "probe/kernel/calibrate.h"
#include "probe/kernel/kernel.h"
#include "probe/kernel/uprobe.h"
#include "probe/limit/meter.h"
#include "probe/session/ring.h"
#include "probe/session/session.h"

struct sampled_cpu {
	int cpu;
	struct bpf_link *link; /* owns the perf event; NULL while the CPU is off line */
};

struct session {
	struct session_config config;
	struct kernel_features kernel;
	struct ebeam_bpf *skel;
	bool refused; /* programs could not be loaded; only session_close() is allowed */
	struct uprobe code_probe;
	struct attach *attach;	       /* of events; NULL = none */
	struct controller *controller; /* for `attach`, if its cost can be measured */
	struct calibrator *calibrator;
	struct calibration cost;
	struct error no_budget; /* why there is no controller */
	struct meter_counters work;
	int nr_cpus;
	bool *online;		      /* of nr_cpus, as of session_open() */
	VEC(int) rings;		      /* descriptors of the inner maps */
	VEC(struct sampled_cpu) cpus; /* all CPUs, if the run samples */
	unsigned int sample_weight;   /* see session_sample_less() */
	struct bpf_link *off_cpu[2];  /* tracepoints; NULL = not attached */
	int cpu_messages;	      /* socket of uevents; -1 = none */
	struct ring_set *ring_set;
	uint64_t cleaned_ns;
	unsigned int nr_alias_truncated; /* COUNTER_ALIAS_TRUNCATED, at session_stop() */
};

/* Begins to record times off CPUs; 0 or negative errno. */
int session_watch_off_cpu(struct session *s);
void session_leave_off_cpu(struct session *s);
/* From now on one of `weight` times is copied that were before. */
void session_off_cpu_less(struct session *s, unsigned int weight);
/* Which of `nr` CPUs are on line; malloc'ed. */
bool *session_online_cpus(int nr);
/* Before the load the outer map needs an inner map as a model; after the load it gets its
 * elements. */
int session_create_rings(struct session *s, struct error *err);
int session_install_rings(struct session *s, struct error *err);
/* Begins to sample; 0 or negative errno.  session_follow_cpus(), called now and then, samples CPUs
 * that have come on line, too. */
int session_sample_cpus(struct session *s);
void session_follow_cpus(struct session *s);
void session_leave_cpus(struct session *s);

#endif
