/* SPDX-License-Identifier: BSD-2-Clause */
/* See envelope.h. */
#include "cmd/output/envelope.h"

#include <errno.h>
#include <string.h>

#include "base/strbuf.h"
#include "base/units.h"
#include "base/write_error.h"

json_t *envelope_string(const char *text)
{
	json_t *json;
	struct strbuf clean = STRBUF_INIT;

	if (!text)
		return json_null();
	json = json_string(text);
	if (json)
		return json;
	/* Rare, so byte by byte: a character is kept if jansson takes it alone. */
	for (size_t at = 0, left = strlen(text); left;) {
		size_t len;

		for (len = 1; len <= 4 && len <= left; len++) {
			json = json_stringn(text + at, len);
			if (json)
				break;
		}
		if (json) {
			strbuf_add(&clean, text + at, len);
			json_decref(json);
		} else {
			strbuf_addstr(&clean, "\xef\xbf\xbd");
			len = 1;
		}
		at += len;
		left -= len;
	}
	json = json_string(clean.buf);
	strbuf_free(&clean);
	return json;
}

static json_t *node_object(const struct envelope_node *node)
{
	if (!node)
		return json_null();
	return json_pack("{s:i, s:o, s:o, s:o, s:o, s:o}", "os_pid", node->os_pid, "name",
			 envelope_string(node->name), "otp", envelope_string(node->otp), "erts",
			 envelope_string(node->erts), "flavor", envelope_string(node->flavor),
			 "untested", envelope_string(node->untested));
}

json_t *envelope_new(const char *command, const struct envelope_node *node, json_t *data)
{
	char time[32];

	units_format_time(clock_realtime_ns(), time, sizeof(time));
	return json_pack("{s:i, s:s, s:s, s:s, s:o, s:s, s:o, s:[], s:{}}", "schema",
			 ENVELOPE_SCHEMA, "tool", "ebeam", "version", EBEAM_VERSION, "command",
			 command, "node", node_object(node), "time", time, "data", data, "warnings",
			 "counters");
}

void envelope_warn(json_t *envelope, const char *text)
{
	json_array_append_new(json_object_get(envelope, "warnings"), envelope_string(text));
}

int envelope_write(FILE *f, json_t *envelope, struct error *err)
{
	int rc = 0;

	if (!envelope)
		return error_set(err, ERROR_KIND_FAILED, -ENOMEM, "cannot build the JSON text");
	errno = 0;
	if (json_dumpf(envelope, f, JSON_INDENT(2)) != 0 || fputc('\n', f) == EOF)
		rc = write_error_set(err, "JSON", errno ? -errno : -EIO);
	json_decref(envelope);
	return rc;
}
