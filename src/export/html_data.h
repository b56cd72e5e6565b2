/* SPDX-License-Identifier: BSD-2-Clause */
/* The data of the HTML page, as JSON; assets/flame-data.js reads it. */
#ifndef EBEAM_EXPORT_HTML_DATA_H
#define EBEAM_EXPORT_HTML_DATA_H

#include "base/strbuf.h"
#include "model/profile/diff.h"
#include "model/profile/snapshot.h"

/* 0, or -EILSEQ if a name is no valid UTF-8. */
int html_data_of_snapshot(struct strbuf *out, const struct snapshot *s);
int html_data_of_diff(struct strbuf *out, const struct diff *d);

#endif
