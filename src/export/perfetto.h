/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A time line in the Chrome trace event format (JSON), which ui.perfetto.dev, chrome://tracing and
 * others open.  Written while records come, in bounded memory: a snapshot has no time, so the row
 * of exporters[] has no function that writes one.
 *
 *   tracks     threads: schedulers, dirty schedulers, others
 *   slices     a process on its scheduler, a collection inside, tasks of a port
 *   flows      a message, from its sending to its receiving
 *   instants   every other event, with its fields; samples, with their stacks
 *   counters   mailboxes that grow
 *
 * Times are microseconds since the start of the recording.
 */
#ifndef EBEAM_EXPORT_PERFETTO_H
#define EBEAM_EXPORT_PERFETTO_H

#include <stdio.h>

#include "base/error.h"
#include "model/event_stream.h"

struct perfetto;

/* Borrows both; the stream has taken what is given here. */
struct perfetto *perfetto_open(FILE *f, const struct event_stream *s);
void perfetto_event(struct perfetto *p, enum event_kind kind, const struct event *ev);
/* Any other record: samples and what was watched are looked at. */
void perfetto_other(struct perfetto *p, const struct event *ev);
/* Ends what is open, and the file.  0 or negative errno. */
int perfetto_finish(struct perfetto *p, struct error *err);
void perfetto_close(struct perfetto *p); /* NULL ok */

#endif
