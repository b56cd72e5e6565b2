/* SPDX-License-Identifier: BSD-2-Clause */
/* See capture_load.h. */
#include "cmd/record/capture_load.h"

#include <errno.h>
#include <string.h>

#include "base/compiler.h"
#include "cmd/run/capture_input.h"
#include "event/event.h"

/* Adds a record to the profile; counts records that do not decode. */
static int take(void *arg, const struct rec_header *rec, struct error *err)
{
	struct capture_profile *l = arg;
	uint64_t refused = l->stream.refused;
	enum event_kind kind;
	struct event ev;

	UNUSED(err);
	if (event_decode(&ev, rec, rec->size) < 0)
		l->nr_bad++;
	else if (event_stream_take(&l->stream, rec, &ev, &kind)) {
		coverage_seen(&l->stream.coverage, kind);
		event_profile_event(l->events, kind, &ev);
	} else if (l->stream.refused == refused)
		event_profile_other(l->events, &ev);
	else
		event_profile_refused(l->events);
	return 0;
}

/* Can a capture that was recorded with the mode `recorded` be shown with `mode`?  Samples cannot,
 * as their weights are fixed, and events cannot become a wall-clock profile. */
static bool can_weigh(const char *recorded, const struct weight_mode *mode)
{
	bool samples = strcmp(recorded, "cpu") == 0 || strcmp(recorded, "wall") == 0;

	if (strcmp(recorded, "wall") == 0 && mode &&
	    (mode->source == WEIGHT_OFF || mode->source == WEIGHT_ON))
		return true; /* these modes show a part of a wall-clock profile */
	return !mode || strcmp(recorded, mode->name) == 0 ||
	       !(samples || mode->source == WEIGHT_WALL);
}

static int load(struct capture_profile *l, const struct capture_input *in,
		const struct weight_mode *mode, struct error *err)
{
	const char *damage;
	const struct source_consumer consumer = {.take = take, .arg = l};
	int rc;

	event_stream_open(&l->stream);
	l->events = event_profile_open(&l->stream, mode);
	l->profile = event_profile_profile(l->events);
	l->start_epoch_ns = capture_reader_start_epoch_ns(in->reader);
	rc = source_drain(capture_reader_source(in->reader), SOURCE_DRAIN_ALL, &consumer, err);
	event_profile_finish(l->events);
	if (rc)
		return rc;
	if (!can_weigh(l->stream.mode, mode))
		return error_set(err, ERROR_KIND_USAGE, -EINVAL,
				 "'%s' was not recorded with --mode %s, but with --mode %s",
				 in->name, mode->name, l->stream.mode);
	if (mode && mode->source == WEIGHT_LEAK && strcmp(l->stream.weight, mode->weight) != 0)
		return error_set(
			err, ERROR_KIND_USAGE, -EINVAL,
			"'%s' was not recorded with --leak: it does not say what was freed",
			in->name);
	l->mode = event_profile_mode(l->events);
	damage = capture_reader_damage(in->reader);
	if (damage)
		snprintf(l->damage, sizeof(l->damage), "%s", damage);
	else if (l->nr_bad)
		snprintf(l->damage, sizeof(l->damage), "%llu records cannot be decoded",
			 (unsigned long long)l->nr_bad);
	if (event_profile_ignored(l->events) && !profile_samples(l->profile))
		rc = error_set(
			err, ERROR_KIND_USAGE, -EINVAL,
			"'%s' holds events, not samples: see them with 'ebeam events -i', or "
			"weigh them with --mode gc, msg, sched, wait or malloc",
			in->name);
	return rc;
}

int capture_load(struct capture_profile *out, const char *path, const struct weight_mode *mode,
		 struct error *err)
{
	struct capture_input in;
	int rc;

	memset(out, 0, sizeof(*out));
	rc = capture_input_open(&in, path, err);
	if (rc)
		return rc;
	rc = load(out, &in, mode, err);
	capture_input_close(&in);
	if (rc)
		capture_unload(out);
	return rc;
}

void capture_unload(struct capture_profile *l)
{
	event_profile_close(l->events);
	event_stream_close(&l->stream);
	l->events = NULL;
	l->profile = NULL;
}
