/* SPDX-License-Identifier: BSD-2-Clause */
/* Reads a capture into a profile, for `report` and `diff`. */
#ifndef EBEAM_CMD_CAPTURE_LOAD_H
#define EBEAM_CMD_CAPTURE_LOAD_H

#include <stdint.h>

#include "base/error.h"
#include "model/profile/event_profile.h"

struct capture_profile {
	struct event_stream stream;
	struct event_profile *events;
	struct profile *profile;	/* the profile of `events` */
	const struct weight_mode *mode; /* NULL: samples of the CPU */
	uint64_t start_epoch_ns;
	uint64_t nr_bad;  /* records that do not decode */
	char damage[512]; /* what is wrong with the file, a phrase; "" = it is complete */
};

/* path "-" = standard input.  mode: the weight of events; NULL: as recorded.  A damaged file is
 * loaded up to the damage.  ERROR_KIND_FAILED: it cannot be opened, or is no capture. */
int capture_load(struct capture_profile *out, const char *path, const struct weight_mode *mode,
		 struct error *err);
void capture_unload(struct capture_profile *l);

#endif
