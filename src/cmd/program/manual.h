/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The pages of the manual: ebeam(1), one for each command, and what is written in doc/ (built in).
 * man.c makes troff of them, topic_text.c text.
 */
#ifndef EBEAM_CMD_MANUAL_H
#define EBEAM_CMD_MANUAL_H

#include <stdio.h>

#include "base/error.h"
#include "base/strbuf.h"
#include "cmd/command/command.h"

struct manual_topic {
	const char *name;	   /* without "ebeam-" */
	int section;		   /* 5, 7; 1: more of the page of the command of that name */
	const unsigned char *text; /* Markdown (markdown.h), ends with NUL */
};
extern const struct manual_topic manual_topics[]; /* ends with name == NULL */

/* A page: neither = ebeam(1), else one of them or both. */
struct manual_page {
	const struct command *command;
	const struct manual_topic *topic;
};

/* By section (0 = the command of that name, else the topic) and name (NULL = ebeam(1)). */
int manual_find(int section, const char *name, struct manual_page *out, struct error *err);

/* What a topic is about, from its title. */
void manual_topic_summary(const struct manual_topic *topic, struct strbuf *out);

/* What follows 'ebeam help' to read it. */
void manual_topic_word(const struct manual_topic *topic, struct strbuf *out);

void manual_list(FILE *f); /* a line for each page: section, name, summary */
void man_write(FILE *f, const struct manual_page *page);
void topic_text_write(FILE *f, const struct manual_topic *topic);

#endif
