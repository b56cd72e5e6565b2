/* SPDX-License-Identifier: BSD-2-Clause */
/* `ebeam proc`: who starts processes, how they end, how long they lived.  How it is shown:
 * proc_show.c. */
#include "cmd/events/proc.h"

#include <errno.h>

#include "base/compiler.h"
#include "view/events/proc_view.h"

static enum process_group_by proc_by(const struct options *o)
{
	return o->given.has[OPTION_GROUP_BY] ? o->group_by : PROCESS_GROUP_INITIAL_CALL;
}

/* The dictionary is there once the run has begun. */
static void open_stats(struct proc *p)
{
	if (p->opened)
		return;
	spawn_stats_open(&p->stats, event_run_stream(p->run), proc_by(&p->ctx->opt));
	p->opened = true;
}

static int on_event(void *arg, enum event_kind kind, const struct event *ev)
{
	struct proc *p = arg;

	open_stats(p);
	spawn_stats_take(&p->stats, kind, ev);
	return 0;
}

static int on_show(void *arg, bool last, struct error *err)
{
	struct proc *p = arg;
	int rc;

	open_stats(p);
	rc = proc_show(p, err);
	if (!last)
		spawn_stats_restart(&p->stats);
	return rc;
}

int cmd_proc(struct command_context *ctx, struct error *err)
{
	struct proc p = {.ctx = ctx};
	const struct table_options options = {.sort = ctx->opt.sort, .columns = ctx->opt.columns};
	struct event_consumer consumer = {.arg = &p, .event = on_event, .show = on_show};
	int rc;

	p.kinds = ctx->opt.events ? ctx->opt.events & SPAWN_KINDS : SPAWN_KINDS;
	if (!p.kinds)
		return error_set(err, ERROR_KIND_USAGE, -EINVAL,
				 "'proc' is about process_spawn, process_exit, links and names: "
				 "one of them must be among -e");
	consumer.kinds = p.kinds;
	rc = proc_view_check(proc_by(&ctx->opt), &options, err);
	rc = rc ? rc : event_run(ctx, &consumer, &p.run, err);
	spawn_stats_close(&p.stats);
	event_run_close(p.run);
	return rc;
}
