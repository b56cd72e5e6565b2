/* SPDX-License-Identifier: BSD-2-Clause */
/* See manual.h.  To add a topic: a file in doc/, and a row here. */
#include "cmd/program/manual.h"

#include <errno.h>
#include <string.h>

#include "assets.h"
#include "cmd/program/markdown.h"
#include "cmd/command/options.h"

const struct manual_topic manual_topics[] = {
	{"trace", 1, asset_ebeam_trace_md},
	{"top", 1, asset_ebeam_top_md},
	{"json", 5, asset_ebeam_json_md},
	{"events", 7, asset_ebeam_events_md},
	{"incidents", 7, asset_ebeam_incidents_md},
	{"internals", 7, asset_ebeam_internals_md},
	{"privileges", 7, asset_ebeam_privileges_md},
	{"support", 7, asset_ebeam_support_md},
	{NULL, 0, NULL},
};

static const struct manual_topic *find_topic(int section, const char *name)
{
	for (const struct manual_topic *t = manual_topics; t->name; t++)
		if (strcmp(t->name, name) == 0 &&
		    (section ? t->section == section : t->section != 1))
			return t;
	return NULL;
}

static bool begins_a_command(const char *name)
{
	for (const struct command *c = commands; c->name; c++)
		if (strncmp(c->name, name, strlen(name)) == 0)
			return true;
	return false;
}

/* The name of the topic that `name` is most likely a misspelling of; NULL = none. */
static const char *near_topic(const char *name)
{
	const char *candidates[16];
	size_t nr = 0;

	for (const struct manual_topic *t = manual_topics; t->name; t++)
		if (t->section != 1 && nr < sizeof(candidates) / sizeof(candidates[0]))
			candidates[nr++] = t->name;
	return options_nearest(name, candidates, nr);
}

int manual_find(int section, const char *name, struct manual_page *out, struct error *err)
{
	const char *near;

	*out = (struct manual_page){0};
	if (!name)
		return 0;
	/* The names of the pages ("ebeam-record") are accepted, too. */
	if (strncmp(name, "ebeam-", strlen("ebeam-")) == 0)
		name += strlen("ebeam-");
	else if (section <= 1 && strcmp(name, "ebeam") == 0)
		return 0;
	for (const struct command *c = commands; section <= 1 && c->name; c++)
		if (strcmp(c->name, name) == 0)
			out->command = c;
	out->topic = find_topic(out->command ? 1 : section, name);
	if (out->command || (out->topic && section != 1))
		return 0;
	if (section)
		return error_set(err, ERROR_KIND_USAGE, -EINVAL,
				 "section %d of the manual has no page '%s' (see 'ebeam help "
				 "--list')",
				 section, name);
	near = begins_a_command(name) ? NULL : near_topic(name);
	if (near)
		return error_set(err, ERROR_KIND_USAGE, -EINVAL,
				 "no command and no topic '%s'; did you mean '%s'? (see 'ebeam "
				 "help')",
				 name, near);
	out->command = command_find(name, err);
	if (!out->command)
		return -EINVAL;
	out->topic = find_topic(1, out->command->name);
	return 0;
}

void manual_topic_summary(const struct manual_topic *topic, struct strbuf *out)
{
	const char *text = (const char *)topic->text, *colon;
	struct markdown_block b;

	while (markdown_next(&text, &b)) {
		if (b.kind != MARKDOWN_TITLE)
			continue;
		colon = memchr(b.text, ':', b.len);
		if (colon)
			markdown_plain(out, colon + 2, b.len - (size_t)(colon + 2 - b.text));
		return;
	}
}

void manual_topic_word(const struct manual_topic *topic, struct strbuf *out)
{
	/* Without the section a command of that name would be shown. */
	for (const struct command *c = commands; c->name; c++)
		if (strcmp(c->name, topic->name) == 0)
			strbuf_addf(out, "%d ", topic->section);
	strbuf_addstr(out, topic->name);
}

void manual_list(FILE *f)
{
	struct strbuf summary = STRBUF_INIT;

	fputs("1 ebeam           what all commands have in common\n", f);
	for (const struct command *c = commands; c->name; c++)
		fprintf(f, "1 %-15s %s\n", c->name, c->summary);
	for (const struct manual_topic *t = manual_topics; t->name; t++) {
		if (t->section == 1)
			continue;
		strbuf_reset(&summary);
		manual_topic_summary(t, &summary);
		fprintf(f, "%d %-15s %s\n", t->section, t->name, summary.buf);
	}
	strbuf_free(&summary);
}
