/* SPDX-License-Identifier: BSD-2-Clause */
/* Shared by hot.c and hot_states.c, which writes wall-clock profiles: instead of the functions, the
 * time of each state, and the functions of each state. */
#ifndef EBEAM_VIEW_HOT_INTERNAL_H
#define EBEAM_VIEW_HOT_INTERNAL_H

#include "view/table/hot.h"

double hot_share(uint64_t part, uint64_t all); /* percent; 0 if all is 0 */
void hot_add_share(struct strbuf *out, uint64_t part, uint64_t all);
void hot_add_count(struct strbuf *out, uint64_t n);
void hot_add_time(struct strbuf *out, uint64_t ns);
const char *hot_unit(const struct snapshot *s); /* "samples", "ns", ... */
/* Writes "Functions (20 of 312)" and the table below it. */
int hot_write_section(FILE *f, const char *title, const struct table *t,
		      const struct hot_options *o, struct error *err);

bool hot_has_states(const struct snapshot *s);
int hot_write_states(FILE *f, const struct snapshot *s, const struct hot_options *o,
		     struct error *err);

#endif
