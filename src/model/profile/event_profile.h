/* SPDX-License-Identifier: BSD-2-Clause */
/* Makes a profile from a stream of records: samples as they are, events with weights
 * (event_weights.h).  The same for a node and a capture.  The profile uses the stream's
 * dictionary. */
#ifndef EBEAM_MODEL_EVENT_PROFILE_H
#define EBEAM_MODEL_EVENT_PROFILE_H

#include "model/profile/event_weights.h"
#include "model/profile/profile.h"
#include "model/stream/event_stream.h"

struct event_profile;

/* Borrows the stream.  mode NULL: the mode of the recording, if it weighted events. */
struct event_profile *event_profile_open(struct event_stream *s, const struct weight_mode *mode);
void event_profile_close(struct event_profile *ep); /* NULL ok */

/* To be called for each record after event_stream_take(): event_profile_event() if that returned
 * true, else event_profile_other(). */
void event_profile_other(struct event_profile *ep, const struct event *ev);
void event_profile_event(struct event_profile *ep, enum event_kind kind, const struct event *ev);
/* Counts a record that the stream refused. */
void event_profile_refused(struct event_profile *ep);
/* At the end of the recording, once: times that have not ended count up to then, sampled weights
 * are scaled, and facts about the recording become meta values. */
void event_profile_finish(struct event_profile *ep);

struct profile *event_profile_profile(struct event_profile *ep);
/* NULL: events are not weighted. */
const struct weight_mode *event_profile_mode(const struct event_profile *ep);
/* Events of the VM that were not weighted, as there is no mode. */
uint64_t event_profile_ignored(const struct event_profile *ep);

#endif
