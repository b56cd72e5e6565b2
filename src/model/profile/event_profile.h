/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A stream of records -> a profile: samples as they are, and events weighed (event_weights.h).  The
 * same of a node and of a capture.  The profile uses the stream's dictionary.
 */
#ifndef EBEAM_MODEL_EVENT_PROFILE_H
#define EBEAM_MODEL_EVENT_PROFILE_H

#include "model/profile/event_weights.h"
#include "model/profile/profile.h"
#include "model/stream/event_stream.h"

struct event_profile;

/* Borrows the stream.  mode NULL: that which the recording was made with, if events were weighed
 * there. */
struct event_profile *event_profile_open(struct event_stream *s, const struct weight_mode *mode);
void event_profile_close(struct event_profile *ep); /* NULL ok */

/* After event_stream_take(): a record that is no event, or an event of the VM. */
void event_profile_other(struct event_profile *ep, const struct event *ev);
void event_profile_event(struct event_profile *ep, enum event_kind kind, const struct event *ev);
/* A record that the stream refused. */
void event_profile_refused(struct event_profile *ep);
/* The recording has ended: what had not is counted until then, what was sampled is scaled, and the
 * facts about it become meta values.  Once. */
void event_profile_finish(struct event_profile *ep);

struct profile *event_profile_profile(struct event_profile *ep);
/* NULL: nothing is weighed. */
const struct weight_mode *event_profile_mode(const struct event_profile *ep);
/* Events of the VM that were taken and not weighed, because nobody said how. */
uint64_t event_profile_ignored(const struct event_profile *ep);

#endif
