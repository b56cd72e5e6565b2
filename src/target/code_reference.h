/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Reference files: the graph (code_graph.h) of an executable that has its symbols, to name the
 * functions of stripped builds by (code_match.h).  tools/fnref writes them.
 *
 * A text, compressed by gzip.  The first line is a comment that says what was built and how.  Each
 * other line is a function, in the order of addresses: hash of the code (hex), instructions,
 * references, name ("-" = it has none), and the functions that it refers to, each as the distance
 * of its line from this one.
 */
#ifndef EBEAM_TARGET_CODE_REFERENCE_H
#define EBEAM_TARGET_CODE_REFERENCE_H

#include "base/error.h"
#include "target/code_graph.h"

/* 0, or -EINVAL: the data is no such file, or it is damaged.  Free the graph in any case. */
int code_reference_read(struct code_graph *g, const void *data, size_t size, struct error *err);
/* Writes the text, uncompressed; `about` is one line. */
void code_reference_write(const struct code_graph *g, const char *about, struct strbuf *out);

#endif
