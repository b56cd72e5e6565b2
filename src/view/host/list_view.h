/* SPDX-License-Identifier: BSD-2-Clause */
/* The answer of `ebeam list`: the nodes of a host. */
#ifndef EBEAM_VIEW_LIST_VIEW_H
#define EBEAM_VIEW_LIST_VIEW_H

#include "view/table/table.h"

/* Numbers: UINT32_MAX and UINT64_MAX = not known.  Texts: NULL = not known; borrowed. */
struct list_row {
	uint32_t os_pid;
	const char *name, *otp, *erts, *flavor;
	uint32_t schedulers, dirty_cpu_schedulers, dirty_io_schedulers;
	uint32_t process_count, port_count, atom_count;
	uint64_t uptime_s, rss; /* of the operating system process; rss in bytes */
	const char *exe, *container, *container_name, *pod_uid;
	bool identified; /* `stripped` and `usdt` are known */
	bool stripped, usdt;
	bool supported;
	bool stopped; /* by SIGSTOP */
	const char *untested, *unsupported_reason;
};

extern const struct table list_table; /* its columns; the caller sets the rows */

#endif
