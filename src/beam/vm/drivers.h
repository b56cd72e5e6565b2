/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The drivers of a node: their names, and the functions that the VM calls for their ports.
 * Includes the list that open_port/2 searches (drivers linked into the VM or loaded from a
 * library), and the drivers that are not in that list: fd, spawn, forker, vanilla.
 *
 * erts_driver_t and init_driver(), global.h and io.c of OTP 25 to 29.
 */
#ifndef EBEAM_BEAM_DRIVERS_H
#define EBEAM_BEAM_DRIVERS_H

#include <stddef.h>

#include "base/error.h"
#include "beam/node/node.h"

/* DRIVER_CALLBACK(ID, name): a member of erts_driver_t, `driver_name` in the layout. */
#define DRIVER_CALLBACKS(DRIVER_CALLBACK)                                                          \
	DRIVER_CALLBACK(START, start)                                                              \
	DRIVER_CALLBACK(STOP, stop)                                                                \
	DRIVER_CALLBACK(FINISH, finish)                                                            \
	DRIVER_CALLBACK(FLUSH, flush)                                                              \
	DRIVER_CALLBACK(OUTPUT, output)                                                            \
	DRIVER_CALLBACK(OUTPUTV, outputv)                                                          \
	DRIVER_CALLBACK(CONTROL, control)                                                          \
	DRIVER_CALLBACK(CALL, call)                                                                \
	DRIVER_CALLBACK(READY_INPUT, ready_input)                                                  \
	DRIVER_CALLBACK(READY_OUTPUT, ready_output)                                                \
	DRIVER_CALLBACK(READY_ASYNC, ready_async)                                                  \
	DRIVER_CALLBACK(TIMEOUT, timeout)                                                          \
	DRIVER_CALLBACK(PROCESS_EXIT, process_exit)                                                \
	DRIVER_CALLBACK(STOP_SELECT, stop_select)

enum driver_callback {
#define DRIVER_CALLBACK_ID(id, name) DRIVER_##id,
	DRIVER_CALLBACKS(DRIVER_CALLBACK_ID)
#undef DRIVER_CALLBACK_ID
		NR_DRIVER_CALLBACKS
};

struct driver_facts {
	raddr addr; /* address of its erts_driver_t */
	char name[64];
	raddr callbacks[NR_DRIVER_CALLBACKS]; /* 0 = none */
};

struct driver_list {
	struct driver_facts *data;
	size_t len;
};

/* ERROR_KIND_UNSUPPORTED if none is found.  Drivers that cannot be verified are left out. */
int drivers_read(const struct beam_node *n, struct driver_list *out, struct error *err);
void driver_list_free(struct driver_list *l);

#endif
