/* SPDX-License-Identifier: BSD-2-Clause */
/* `ebeam msg`: who floods whom, and which mailboxes grow.  How it is shown: msg_show.c. */
#include "cmd/events/msg.h"

#include <errno.h>

#include "base/compiler.h"

/* The dictionary is there once the run has begun. */
static void open_stats(struct msg *m)
{
	if (m->opened)
		return;
	message_stats_open(&m->stats, event_run_stream(m->run), m->ctx->opt.group_by, m->kinds);
	m->opened = true;
}

static int on_event(void *arg, enum event_kind kind, const struct event *ev)
{
	struct msg *m = arg;

	open_stats(m);
	message_stats_take(&m->stats, kind, ev);
	return 0;
}

static int on_show(void *arg, bool last, struct error *err)
{
	struct msg *m = arg;
	int rc;

	open_stats(m);
	message_stats_settle(&m->stats);
	rc = msg_show(m, err);
	if (!last)
		message_stats_restart(&m->stats);
	return rc;
}

int cmd_msg(struct command_context *ctx, struct error *err)
{
	const struct options *o = &ctx->opt;
	struct msg m = {.ctx = ctx};
	struct event_consumer consumer = {.arg = &m, .event = on_event, .show = on_show};
	int rc;

	m.kinds = o->events  ? o->events & MESSAGE_KINDS
		  : o->input ? MESSAGE_KINDS
			     : MESSAGE_DEFAULT_KINDS;
	if (!m.kinds)
		return error_set(err, ERROR_KIND_USAGE, -EINVAL,
				 "'msg' is about message_send, message_queued and "
				 "message_receive: one of them must be among -e");
	consumer.kinds = m.kinds;
	rc = msg_check(o, err);
	rc = rc ? rc : event_run(ctx, &consumer, &m.run, err);
	message_stats_close(&m.stats);
	event_run_close(m.run);
	return rc;
}
