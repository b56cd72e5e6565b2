/* SPDX-License-Identifier: BSD-2-Clause */
/* The filters of --process, --initial-call, --from and --to: of records here, and in BPF. */
#include <errno.h>
#include <string.h>

#include "base/log.h"
#include "beam/process/process.h"
#include "beam/term/atoms.h"
#include "cmd/run/event_run_internal.h"

int event_run_filter(struct event_run *run, struct error *err)
{
	const struct options *o = &run->ctx->opt;
	struct event_filter *f = &run->filter;

	event_filter_init(f);
	f->process = o->process;
	f->from = o->from;
	f->to = o->to;
	/* Other consumers filter for themselves. */
	if (run->consumer->either || run->consumer->counts)
		f->longer_than_ns = o->longer_than_ns;
	if (o->initial_call && event_call_parse(o->initial_call, &f->call) != 0)
		return error_set(err, ERROR_KIND_USAGE, -EINVAL,
				 "--initial-call: '%s' is not a function such as my_server:init/1 "
				 "or MyApp.Worker.init/1",
				 o->initial_call);
	return 0;
}

/* The atom of a name as written in Erlang or Elixir; 0 if the node has no such atom. */
static uint64_t name_atom(struct beam_node *n, const char *name)
{
	struct strbuf elixir = STRBUF_INIT;
	uint64_t atom;

	strbuf_addf(&elixir, "Elixir.%s", name);
	atom = *name >= 'A' && *name <= 'Z' ? beam_atom_find(n->atoms, elixir.buf) : 0;
	strbuf_free(&elixir);
	return atom ? atom : beam_atom_find(n->atoms, name);
}

/* What a pid or a registered name means for the BPF filter.  A pid must be that of a process that
 * lives; a name may be registered later, or by another process. */
static int who(struct beam_node *n, const char *text, struct event_who *out, uint64_t *epid,
	       struct error *err)
{
	uint64_t now;

	if (*text == '<' || (*text >= '0' && *text <= '9'))
		return process_parse(n, text, epid, err);
	out->name = name_atom(n, text);
	if (!out->name)
		return process_parse(n, text, &now, err);
	if (process_parse(n, text, &now, err))
		log_warn("ebeam: no process is registered as %s now; waiting for one", text);
	return 0;
}

static int call_of(struct beam_node *n, const struct event_call *call, const char *text,
		   struct event_who *out, struct error *err)
{
	out->call[0] = beam_atom_find(n->atoms, call->module);
	out->call[1] = beam_atom_find(n->atoms, call->function);
	out->call[2] = (uint64_t)call->arity;
	if (!out->call[0] || !out->call[1])
		return error_set(err, ERROR_KIND_NO_NODE, -ESRCH,
				 "--initial-call: this node knows no %s: no process can have begun "
				 "with it (see ebeam ps)",
				 text);
	return 0;
}

int event_run_filter_node(struct event_run *run, struct live_config *config, struct error *err)
{
	const struct options *o = &run->ctx->opt;
	int rc = 0;

	if (o->process)
		rc = who(run->node, o->process, &config->event_who, &config->event_epid, err);
	if (rc == 0 && o->initial_call)
		rc = call_of(run->node, &run->filter.call, o->initial_call, &config->event_who,
			     err);
	if (rc == 0 && o->from)
		rc = who(run->node, o->from, &config->message_from, &config->message_from.epid,
			 err);
	if (rc == 0 && o->to)
		rc = who(run->node, o->to, &config->message_to, &config->message_to.epid, err);
	return rc;
}
