/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Applications of a node: the loaded ones with their modules, and the running ones with their
 * application masters.  From the ETS table ac_tab: {{loaded, Name}, #appl{}} and
 * {{application_master, Name}, Pid}.
 *
 * application:get_application(Pid) is the application whose master is the group leader of the
 * process; application:get_application(Module) the one whose modules it is among.
 *
 * application_controller.erl, application_master.hrl, OTP 25 to 29.
 */
#ifndef EBEAM_BEAM_APPS_H
#define EBEAM_BEAM_APPS_H

#include "base/vec.h"
#include "beam/term/term.h"
#include "beam/vm/ets.h"

struct app {
	uint64_t name;	  /* atom */
	const char *text; /* its text, from the node's atoms */
	char *vsn;	  /* NULL = unknown; owned */
	uint64_t master;  /* pid; 0 = not running, or without processes */
	size_t first, nr; /* range in struct apps.modules */
};

struct apps {
	VEC(struct app) v;	/* sorted by name */
	VEC(uint64_t) modules;	/* atoms, by application */
	uint64_t torn, missing; /* number of objects that could not be read; that were not found */
};

/* `r` must be from term_reader_init().  *table is a cache, zeros before the first call: ac_tab is
 * only searched again if it is gone.  *out is overwritten; free it with apps_free(). */
int apps_read(struct beam_node *n, struct term_reader *r, struct ets_table *table, struct apps *out,
	      struct error *err);
void apps_free(struct apps *a);

#endif
