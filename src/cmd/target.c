/* SPDX-License-Identifier: BSD-2-Clause */
/* See target.h. */
#include "cmd/target.h"

#include <errno.h>

#include "base/units.h"
#include "cmd/envelope.h"

int target_open(struct beam_node **out, const struct command_context *ctx, struct error *err)
{
	int os_pid, rc = beam_find(&os_pid, ctx->opt.pid, err);

	return rc ? rc : beam_node_open(out, os_pid, false, err);
}

int target_need(const struct beam_node *n, raddr anchor, const char *table, struct error *err)
{
	if (anchor)
		return 0;
	return error_set(err, ERROR_KIND_UNSUPPORTED, -ENOTSUP,
			 "pid %d: the %s of this OTP %s build could not be found (see ebeam "
			 "doctor -p %d)",
			 n->os_pid, table, n->identity.otp_text, n->os_pid);
}

void target_json_begin(struct jsonw *w, const struct command_context *ctx, struct beam_node *n)
{
	struct beam_facts facts;
	char time[32];
	bool known = beam_node_facts(n, &facts, NULL) == 0;

	units_format_time(clock_realtime_ns(), time, sizeof(time));
	jsonw_begin_object(w, NULL);
	jsonw_int(w, "schema", ENVELOPE_SCHEMA);
	jsonw_string(w, "tool", "ebeam");
	jsonw_string(w, "version", EBEAM_VERSION);
	jsonw_string(w, "command", ctx->command->name);
	jsonw_begin_object(w, "node");
	jsonw_int(w, "os_pid", n->os_pid);
	jsonw_string(w, "name", known ? facts.name : NULL);
	jsonw_string(w, "otp", n->identity.otp_text);
	jsonw_string(w, "erts", n->identity.erts);
	jsonw_string(w, "flavor", n->identity.jit ? "jit" : "emu");
	jsonw_end_object(w);
	jsonw_string(w, "time", time);
}

int target_json_end(struct jsonw *w, const char *const *warnings, size_t nr_warnings,
		    const struct target_counter *counters, size_t nr_counters, struct error *err)
{
	int rc;

	jsonw_begin_array(w, "warnings");
	for (size_t i = 0; i < nr_warnings; i++)
		jsonw_string(w, NULL, warnings[i]);
	jsonw_end_array(w);
	jsonw_begin_object(w, "counters");
	for (size_t i = 0; i < nr_counters; i++)
		jsonw_uint(w, counters[i].name, counters[i].value);
	jsonw_end_object(w);
	jsonw_end_object(w);
	strbuf_addch(&w->buf, '\n');
	rc = jsonw_finish(w);
	if (rc)
		return error_set(err, ERROR_KIND_FAILED, rc, "cannot write JSON: %s",
				 error_text(rc));
	return 0;
}
