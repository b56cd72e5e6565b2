/* SPDX-License-Identifier: BSD-2-Clause */
/* What was seen of a node of which there is nothing to find. */
#ifndef EBEAM_TESTS_LIB_DIAGNOSED_H
#define EBEAM_TESTS_LIB_DIAGNOSED_H

#include <math.h>

#include "model/diagnosis/diagnosis.h"

static inline struct diagnosis nothing(void)
{
	return (struct diagnosis){.duration_ns = 5000000000ull,
				  .scheduler_samples = 250,
				  .samples = 11,
				  .cpu_wait = NAN,
				  .cpu_used = NAN,
				  .throttled = NAN,
				  .spawned_per_s = NAN,
				  .run_queue = NAN,
				  .dirty_cpu_queue = NAN,
				  .dirty_io_queue = NAN,
				  .literal_collector = NAN};
}

#endif
