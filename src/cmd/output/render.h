/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What `record`, `report` and `diff` share: the choice of the output's format and file, and the
 * writing of snapshots.
 *
 * The format is that of -f (or -j), else that of the suffix of -o, else html.  Without -o, text,
 * folded and json go to standard output, the others to a file that ebeam names.
 */
#ifndef EBEAM_CMD_RENDER_H
#define EBEAM_CMD_RENDER_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "base/error.h"
#include "base/strbuf.h"
#include "cmd/command/command.h"
#include "cmd/output/outfile.h"
#include "export/export.h"
#include "model/profile/diff.h"
#include "model/profile/event_profile.h"
#include "model/profile/profile.h"
#include "model/profile/snapshot.h"
#include "view/table/table.h"

struct render {
	const char *format;		 /* "html", "text", "capture" */
	const struct exporter *exporter; /* NULL for text and capture */
	bool text, capture;
	bool timeline; /* see timeline_output.h; nothing is rendered */
	bool chosen;   /* ebeam chose the name, and prints it */
	char *path;    /* "-" = standard output; NULL until render_name() if `chosen` */
};

/* Reads only the options: call it before anything costly.  Options that contradict each other and
 * formats that the command cannot write are usage errors. */
int render_choose(struct render *r, const struct command *command, const struct options *opt,
		  struct error *err);
/* If ebeam chooses the name: sets r->path to `stem` and the suffix of the format. */
void render_name(struct render *r, const char *stem);
void render_free(struct render *r);

/* Length of a capture's name without ".ebeam", or ".ebeam.partial" and the like. */
size_t render_bare_len(const char *path);

/* "ebeam-NODE-TIME", local time, without characters that are special to a shell; malloc'ed. */
char *render_stem(const char *node, uint64_t epoch_ns);

/* Writes a file into the current directory, by write(), as a whole or not at all.  Its name is that
 * of render_stem() and `suffix`.  Returns the name, malloc'ed; NULL: *err has the reason. */
char *render_save(const char *node, uint64_t epoch_ns, const char *suffix,
		  int (*write)(FILE *f, const void *what, struct error *err), const void *what,
		  struct error *err);

/* The formats of a command, a space before each, for help and completion. */
void render_formats(struct strbuf *out, const struct command *command);

/* Options of a snapshot: those that the user gave, and what the exporter needs. */
struct snapshot_options render_snapshot_options(const struct render *r, const struct options *opt,
						const struct weight_mode *mode);

/* Write to a FILE that the caller opened and will check.  Not for captures. */
int render_emit(const struct render *r, const struct options *opt, const struct snapshot *s,
		FILE *f, struct error *err);
int render_emit_diff(const struct render *r, const struct options *opt, const struct diff *d,
		     FILE *f, struct error *err);

/* Opens the output.  To be called before anything costly, so that a bad name fails early. */
int render_open(struct outfile **o, const struct render *r, FILE *out, struct error *err);
/* Writes s or d (the other one is NULL) and commits; prints the name on `out` if ebeam chose it.
 * Frees *o. */
int render_finish(struct outfile **o, const struct render *r, const struct options *opt,
		  const struct snapshot *s, const struct diff *d, FILE *out, struct error *err);
/* render_open() and render_finish(). */
int render_write(const struct render *r, const struct options *opt, const struct snapshot *s,
		 const struct diff *d, FILE *out, struct error *err);

/* True for --color always, or auto on a terminal that wants it. */
bool render_color(const struct options *opt, FILE *f);
/* Columns of the terminal that `f` is; 0: it is no terminal, so lines need not be cut. */
unsigned int render_width(FILE *f);
/* Options of a table, as the user gave them (-c, -s, -n), and whether ctx->out gets colour.
 * Without -s the table is sorted by `sort`; if that is NULL, too, it is not sorted. */
struct table_options render_table_options(const struct command_context *ctx, const char *sort);

#endif
