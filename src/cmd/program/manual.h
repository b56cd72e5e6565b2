/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The pages of the manual: ebeam(1), one for each command, and those of doc/, which are built in.
 * man.c writes them as troff, topic_text.c as text.
 */
#ifndef EBEAM_CMD_MANUAL_H
#define EBEAM_CMD_MANUAL_H

#include <stdio.h>

#include "base/error.h"
#include "base/strbuf.h"
#include "cmd/command/command.h"

struct manual_topic {
	const char *name;	   /* without "ebeam-" */
	int section;		   /* 5, 7; 1: a part of the page of the command of that name */
	const unsigned char *text; /* Markdown (markdown.h), ends with NUL */
};
extern const struct manual_topic manual_topics[]; /* ends with name == NULL */

/* A page: of a command, of a topic, or of both; ebeam(1) if both are NULL. */
struct manual_page {
	const struct command *command;
	const struct manual_topic *topic;
};

/* Finds a page by section (0 = a command, else a topic) and name (NULL = ebeam(1)). */
int manual_find(int section, const char *name, struct manual_page *out, struct error *err);

/* Adds what a topic is about, from its title. */
void manual_topic_summary(const struct manual_topic *topic, struct strbuf *out);

/* Adds the arguments of 'ebeam help' that show the topic. */
void manual_topic_word(const struct manual_topic *topic, struct strbuf *out);

void manual_list(FILE *f); /* a line for each page: section, name, summary */
void man_write(FILE *f, const struct manual_page *page);
void topic_text_write(FILE *f, const struct manual_topic *topic);

#endif
