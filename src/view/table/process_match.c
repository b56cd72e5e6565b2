/* SPDX-License-Identifier: BSD-2-Clause */
/* See process_match.h. */
#include "view/table/process_match.h"

#include <string.h>

#include "view/screen/characters.h"
#include "view/table/process_columns.h"

enum { NOT_MATCHED, NO, YES };

void process_match_free(struct process_match *m)
{
	vec_free(&m->names);
}

static void begin(struct process_match *m, const struct process_strings *s, const char *text,
		  size_t len)
{
	vec_reserve(&m->names, s->v.len + 1);
	m->names.len = s->v.len;
	memset(m->names.data, NOT_MATCHED, m->names.len);
	m->in_pids = true;
	for (size_t i = 0; i < len; i++)
		m->in_pids = m->in_pids && strchr("<0123456789.>", text[i]);
}

static bool name_matches(struct process_match *m, const struct process_strings *s, uint32_t id,
			 const char *text, size_t len)
{
	const struct process_string *name;

	if (!id || id >= m->names.len)
		return false;
	if (m->names.data[id] == NOT_MATCHED) {
		name = process_strings_get(s, id);
		m->names.data[id] = characters_contain(name->text, name->len, text, len) ? YES : NO;
	}
	return m->names.data[id] == YES;
}

static bool pid_matches(struct process_match *m, const struct process_strings *s, uint64_t pid,
			const char *text, size_t len)
{
	char buf[PROCESS_PID_SIZE];
	int size = process_pid_format(pid, buf);

	if (size < 0) /* a pid of another node: its text is a string */
		return name_matches(m, s, (uint32_t)pid, text, len);
	return characters_contain(buf, (size_t)size, text, len);
}

bool process_row_matches(const void *row, const void *ctx, const char *text, size_t len)
{
	const struct process_columns_ctx *c = ctx;
	const struct process_row *r = row;
	struct process_match *m = c->match;

	if (!row) {
		begin(m, c->strings, text, len);
		return false;
	}
	return name_matches(m, c->strings, process_row_name(r), text, len) || /* as shown */
	       name_matches(m, c->strings, r->registered, text, len) ||
	       name_matches(m, c->strings, r->label, text, len) ||
	       name_matches(m, c->strings, r->initial_call, text, len) ||
	       name_matches(m, c->strings, r->function, text, len) ||
	       (m->in_pids && pid_matches(m, c->strings, r->pid, text, len));
}
