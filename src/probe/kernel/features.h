/* SPDX-License-Identifier: BSD-2-Clause */
/* What this kernel allows this caller, found by trying: the programs of bpf/features.bpf.c are
 * loaded one at a time, perf events opened and closed.  All is removed again. */
#ifndef EBEAM_PROBE_FEATURES_H
#define EBEAM_PROBE_FEATURES_H

#include <stdbool.h>

#include "target/privilege.h"

enum probe_feature_id {
	PROBE_FEATURE_BTF,	    /* of the kernel, or of a file */
	PROBE_FEATURE_BPF,	    /* bpf() is allowed and BPF ring buffers work */
	PROBE_FEATURE_USER_REGS,    /* registers of user code of a task that is in the kernel */
	PROBE_FEATURE_THREAD_BASE,  /* thread pointer of the current task through BTF */
	PROBE_FEATURE_KERNEL_STACK, /* kernel stacks from a perf event */
	PROBE_FEATURE_CPU_CLOCK,    /* the software clock on every CPU */
	PROBE_FEATURE_UPROBE,	    /* uprobes through perf events */
	NR_PROBE_FEATURES
};

struct probe_feature {
	const char *name;	/* "ring buffer" */
	const char *purpose;	/* what ebeam does with it */
	const char *fix;	/* what to do if it is missing */
	enum privilege_use use; /* which privilege may be missing */
	bool required;		/* record does not work without it */
	bool needs_btf;		/* could not be tried: there is no kernel BTF */
	bool ok;
	int err; /* negative errno of the attempt, 0 if ok */
};

struct probe_features {
	struct probe_feature feature[NR_PROBE_FEATURES];
};

/* Tries everything, which takes a few tens of ms.  Never fails: what cannot be tried is reported as
 * not ok.  `btf`: a file that btf_file_check() accepts, NULL = the kernel's own BTF. */
void probe_features(struct probe_features *out, const char *btf);

#endif
