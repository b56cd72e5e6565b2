/* SPDX-License-Identifier: BSD-2-Clause */
/* The callbacks of drivers that port_io.h counts: events DRIVER_ID. */
#ifndef EBEAM_MODEL_PORT_IO_CALLS_H
#define EBEAM_MODEL_PORT_IO_CALLS_H

/* PORT_IO_CALL(ID, json name, heading) */
#define PORT_IO_CALLS(PORT_IO_CALL)                                                                \
	PORT_IO_CALL(OUTPUT, "output", "OUTPUT")                                                   \
	PORT_IO_CALL(OUTPUTV, "outputv", "OUTPUTV")                                                \
	PORT_IO_CALL(READY_INPUT, "ready_input", "READY IN")                                       \
	PORT_IO_CALL(READY_OUTPUT, "ready_output", "READY OUT")                                    \
	PORT_IO_CALL(READY_ASYNC, "ready_async", "ASYNC")                                          \
	PORT_IO_CALL(CONTROL, "control", "CONTROL")                                                \
	PORT_IO_CALL(CALL, "call", "CALL")                                                         \
	PORT_IO_CALL(TIMEOUT, "timeout", "TIMEOUT")                                                \
	PORT_IO_CALL(START, "start", "START")                                                      \
	PORT_IO_CALL(STOP, "stop", "STOP")                                                         \
	PORT_IO_CALL(FLUSH, "flush", "FLUSH")                                                      \
	PORT_IO_CALL(PROCESS_EXIT, "process_exit", "PROC EXIT")

enum port_io_call {
#define PORT_IO_CALL_ID(id, name, title) PORT_IO_##id,
	PORT_IO_CALLS(PORT_IO_CALL_ID)
#undef PORT_IO_CALL_ID
		NR_PORT_IO_CALLS
};

const char *port_io_call_name(enum port_io_call call);

#endif
