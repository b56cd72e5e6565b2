/* SPDX-License-Identifier: BSD-2-Clause */
/* Part of event_run: which probes a command needs, and which of them the node can have. */
#include <errno.h>
#include <string.h>

#include "base/log.h"
#include "cmd/run/event_run_internal.h"
#include "probe/site/libc_sources.h"

/* Kinds that have a least duration even without --longer-than. */
#define LONG_KINDS (1ull << EVENT_LONG_SCHEDULE | 1ull << EVENT_LONG_GC)

void event_run_report_refused(const struct source_plan *plan, uint64_t kinds, int kind)
{
	struct strbuf names = STRBUF_INIT;

	for (int k = 0; k < NR_EVENT_KINDS; k++) {
		if (!(kinds >> k & 1) || !plan->missing[k] ||
		    strcmp(plan->missing[k], plan->missing[kind]) != 0 ||
		    strcmp(plan->refused[k], plan->refused[kind]) != 0)
			continue;
		if (k < kind)
			break;
		strbuf_addf(&names, "%s%s", names.len ? ", " : "", event_rows[k].name);
	}
	if (names.len)
		log_warn("ebeam: no %s: %s cannot be probed: %s", names.buf, plan->missing[kind],
			 plan->refused[kind]);
	strbuf_free(&names);
}

void event_run_plan_unprobed(struct event_run *run)
{
	const struct options *o = &run->ctx->opt;
	uint64_t kinds = LONG_KINDS;

	if (o->given.has[OPTION_LONGER_THAN])
		kinds |= event_filter_lasting_kinds();
	if (!run->consumer->counts && o->source == SOURCE_AUTO &&
	    event_run_longer_than(run) >= SLICE_WATCH_LEAST_NS && live_sees_slices(run->node))
		run->unprobed = run->consumer->kinds & kinds;
}

int event_run_plan(struct event_run *run, struct error *err)
{
	const char *why = NULL, *otp = run->node->identity.otp_text;
	struct strbuf names = STRBUF_INIT;

	source_plan_node(&run->plan, run->node, run->consumer->kinds & ~run->unprobed,
			 run->ctx->opt.source, run->ctx->opt.force);
	if (run->consumer->libc_every && !run->consumer->libc_frees)
		source_plan_leave_out(&run->plan, LIBC_SOURCES_FREE);
	for (int kind = 0; kind < NR_EVENT_KINDS; kind++) {
		if (!run->plan.missing[kind])
			continue;
		if (run->plan.refused[kind][0]) {
			event_run_report_refused(&run->plan, UINT64_MAX, kind);
			continue;
		}
		why = why ? why : run->plan.missing[kind];
		strbuf_addf(&names, "%s%s", names.len ? ", " : "", event_rows[kind].name);
	}
	if (!run->plan.kinds && !why) {
		strbuf_free(&names);
		return error_set(err, ERROR_KIND_UNSUPPORTED, -ENOTSUP,
				 "pid %d: no function of these events can be probed",
				 run->node->os_pid);
	}
	if (!run->plan.kinds) {
		error_set(err, ERROR_KIND_UNSUPPORTED, -ENOTSUP,
			  "pid %d: no events of this OTP %s build: its functions have no symbols "
			  "(%s and others), as %s",
			  run->node->os_pid, otp, why ? why : "all",
			  run->node->identity.hidden ? "OTP 29 hides them"
						     : "it was stripped of them");
		strbuf_free(&names);
		return -ENOTSUP;
	}
	if (names.len)
		log_warn("ebeam: not in this OTP %s build: %s (no symbol %s)", otp, names.buf, why);
	strbuf_free(&names);
	return 0;
}
