/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Shared by the exporters: their functions (for exporters[]), the final check of the stream, and
 * facts that several of them show.  Private to src/export.
 */
#ifndef EBEAM_EXPORT_FORMATS_H
#define EBEAM_EXPORT_FORMATS_H

#include <stdio.h>

#include "base/error.h"
#include "base/strbuf.h"
#include "model/profile/diff.h"
#include "model/profile/snapshot.h"

int export_html(FILE *f, const struct snapshot *s, struct error *err);
int export_html_diff(FILE *f, const struct diff *d, struct error *err);
int export_svg(FILE *f, const struct snapshot *s, struct error *err);
int export_svg_diff(FILE *f, const struct diff *d, struct error *err);
int export_folded(FILE *f, const struct snapshot *s, struct error *err);
int export_folded_diff(FILE *f, const struct diff *d, struct error *err);
int export_pprof(FILE *f, const struct snapshot *s, struct error *err);
int export_speedscope(FILE *f, const struct snapshot *s, struct error *err);
int export_json(FILE *f, const struct snapshot *s, struct error *err);
int export_json_diff(FILE *f, const struct diff *d, struct error *err);

/* Shown as the only frame of a stack that has none. */
#define EXPORT_NO_STACK "[no stack]"

/* Flushes `f`.  0, or negative errno if any write to it has failed. */
int export_finish(FILE *f, struct error *err);

/* Meta value, or `fallback` if it is absent or empty. */
const char *export_meta(const struct snapshot *s, const char *key, const char *fallback);
/* Meta value as an unsigned decimal number; 0 if it is none. */
uint64_t export_meta_number(const struct snapshot *s, const char *key);
/* The unit of weights: "samples" (the default), "processes", "ns", "words", "bytes", "calls". */
const char *export_unit(const struct snapshot *s);
/* The name of the weight: "time in GC"; NULL for samples of the CPU. */
const char *export_title(const struct snapshot *s);
/* Adds a weight with its unit: "1,234 samples", "12.3 ms", "1.2 MiB". */
void export_add_amount(struct strbuf *out, const struct snapshot *s, uint64_t n);
/* Samples known to be missing from the profile. */
uint64_t export_lost(const struct snapshot *s);

/* Adds text escaped for XML, HTML and attributes.  Characters not allowed in XML become "?". */
void export_add_xml(struct strbuf *out, const char *text);

/* Adds num/den as percent with `digits` (1 or 2) decimals; "0.00" if den is 0. */
void export_add_percent(struct strbuf *out, uint64_t num, uint64_t den, int digits);

#endif
