/* SPDX-License-Identifier: BSD-2-Clause */
/* The table of `ebeam mod`: modules that a node has loaded. */
#ifndef EBEAM_VIEW_MOD_VIEW_H
#define EBEAM_VIEW_MOD_VIEW_H

#include "view/table/table.h"

struct mod_row {
	const char *name; /* in the syntax of Erlang or Elixir */
	bool old_code, nifs, on_load, torn;
	uint32_t functions;
	uint64_t size, old_size; /* bytes */
	uint64_t native_address; /* 0 = only old code is left */
	char md5[33];
};

extern const struct table mod_table; /* its columns; the caller sets the rows */

#endif
