/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Applications of a node: what is loaded, with its modules, and what runs, with its application
 * master.  From the ETS table ac_tab: {{loaded, Name}, #appl{}} and {{application_master, Name},
 * Pid}.
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
	const char *text; /* of it, of the node's atoms */
	char *vsn;	  /* NULL = not known; owned */
	uint64_t master;  /* pid; 0 = it does not run, or has no processes */
	size_t first, nr; /* of struct apps.modules */
};

struct apps {
	VEC(struct app) v;	/* by name */
	VEC(uint64_t) modules;	/* atoms, application by application */
	uint64_t torn, missing; /* objects that could not be read, or were not found */
};

/* `r` comes from term_reader_init().  *table is that of the last time, zeros at first: it is not
 * looked for again while it is there.  *out is overwritten; free it with apps_free(). */
int apps_read(struct beam_node *n, struct term_reader *r, struct ets_table *table, struct apps *out,
	      struct error *err);
void apps_free(struct apps *a);

#endif
