/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * One exporter = one row of exporters[].  An exporter writes a snapshot to a FILE, and uses nothing
 * else (clock, environment), so that the same snapshot gives the same bytes.
 */
#ifndef EBEAM_EXPORT_EXPORT_H
#define EBEAM_EXPORT_EXPORT_H

#include <stdbool.h>
#include <stdio.h>

#include "base/error.h"
#include "model/profile/diff.h"
#include "model/profile/snapshot.h"

struct findings;

struct exporter {
	const char *name;   /* for --format */
	const char *suffix; /* of file names, with its dot */
	const char *summary;
	int (*write)(FILE *f, const struct snapshot *s, struct error *err);
	int (*write_diff)(FILE *f, const struct diff *d, struct error *err); /* NULL = none */
	bool wants_lines; /* needs a snapshot with options.lines: merges lines itself */
	bool timeline; /* written from records, not a snapshot: `write` is NULL, see perfetto.h */
};

extern const struct exporter exporters[]; /* ends with name == NULL */

const struct exporter *exporter_find(const char *name);		 /* NULL = unknown */
const struct exporter *exporter_by_suffix(const char *filename); /* longest match, NULL = none */

/* Writes the findings of `diagnose` as HTML. */
void export_findings_html(FILE *f, const struct findings *findings, const char *heading);

#endif
