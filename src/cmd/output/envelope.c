/* SPDX-License-Identifier: BSD-2-Clause */
/* See envelope.h. */
#include "cmd/output/envelope.h"

#include "base/units.h"
#include "base/write_error.h"

#define JSON_SCHEMA 1

void envelope_head(struct jsonw *w, const char *command)
{
	jsonw_begin_object(w, NULL);
	jsonw_int(w, "schema", JSON_SCHEMA);
	jsonw_string(w, "tool", "ebeam");
	jsonw_string(w, "version", EBEAM_VERSION);
	jsonw_string(w, "command", command);
}

void envelope_time(struct jsonw *w, uint64_t epoch_ns)
{
	char time[32];

	jsonw_string(
		w, "time",
		units_format_time(epoch_ns ? epoch_ns : clock_realtime_ns(), time, sizeof(time)));
}

static void json_text(struct jsonw *w, const char *name, const char *text)
{
	jsonw_string(w, name, text && *text ? text : NULL);
}

void envelope_begin(struct jsonw *w, const char *command, const struct envelope_node *of)
{
	envelope_head(w, command);
	if (!of) {
		jsonw_null(w, "node");
		envelope_time(w, 0);
		return;
	}
	jsonw_begin_object(w, "node");
	jsonw_uint_if(w, "os_pid", of->os_pid, (uint64_t)of->os_pid);
	json_text(w, "name", of->name);
	json_text(w, "otp", of->otp);
	json_text(w, "erts", of->erts);
	json_text(w, "flavor", of->flavor);
	json_text(w, "untested", of->untested);
	jsonw_end_object(w);
	envelope_time(w, of->epoch_ns);
}

int envelope_end(struct jsonw *w, const char *const *warnings, size_t nr_warnings,
		 const struct envelope_counter *counters, size_t nr_counters, struct error *err)
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
	return rc ? write_error_set(err, "JSON", rc) : 0;
}
