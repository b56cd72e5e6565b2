/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * libFuzzer: any bytes as a stream of records, through the decoder and the profile into
 * snapshots.  Input: one byte of options, then the records.  The limits are small, so that the
 * overflow paths are walked as well.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "event/event.h"
#include "model/profile/profile.h"

/* Reads every string and every index of a snapshot. */
static void touch(const struct snapshot *s)
{
	size_t sum = 0, self = 0;

	for (uint32_t i = 0; i < s->nr_stack_frames; i++)
		sum += strlen(s->frames[s->stack_frames[i]].name);
	for (uint32_t i = 0; i < s->nr_stacks; i++)
		sum += strlen(s->threads[s->stacks[i].thread].display);
	for (uint32_t i = 0; i < s->nr_processes; i++)
		sum += strlen(s->processes[i].name) + strlen(s->processes[i].pid);
	for (uint32_t i = 0; i < s->nr_functions; i++) {
		sum += strlen(s->functions[i].module);
		self += s->functions[i].self;
		if (s->functions[i].self > s->functions[i].total)
			abort();
	}
	for (uint32_t i = 0; i < s->nr_meta; i++)
		sum += strlen(s->meta[i].value);
	if (self > s->samples || sum == SIZE_MAX)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct snapshot_options opts = {0};
	struct snapshot *s;
	struct profile *p;
	struct event ev;
	int ret;

	if (!size)
		return 0;
	opts.by = (enum snapshot_by)(data[0] % 5);
	opts.lines = data[0] & 8;
	opts.native = (enum snapshot_native)(data[0] / 16 % 3);
	opts.no_kernel = data[0] & 32;
	opts.idle = data[0] & 64;
	opts.kind_root = data[0] & 128;
	p = profile_open_limited(16);
	for (size_t at = 1; at < size; at += (size_t)ret) {
		ret = event_decode(&ev, data + at, size - at);
		if (ret <= 0)
			break;
		profile_apply(p, &ev);
	}
	if (profile_snapshot(p, &opts, &s, NULL) == 0) {
		touch(s);
		snapshot_close(s);
	}
	profile_close(p);
	return 0;
}
