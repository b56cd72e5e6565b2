/* SPDX-License-Identifier: BSD-2-Clause */
/* The callbacks of drivers that port_io.h counts: events DRIVER_ID. */
#ifndef EBEAM_MODEL_PORT_IO_CALLS_H
#define EBEAM_MODEL_PORT_IO_CALLS_H

/* PORT_IO_CALL(ID, JSON name) */
#define PORT_IO_CALLS(PORT_IO_CALL)                                                                \
	PORT_IO_CALL(OUTPUT, "output")                                                             \
	PORT_IO_CALL(OUTPUTV, "outputv")                                                           \
	PORT_IO_CALL(READY_INPUT, "ready_input")                                                   \
	PORT_IO_CALL(READY_OUTPUT, "ready_output")                                                 \
	PORT_IO_CALL(READY_ASYNC, "ready_async")                                                   \
	PORT_IO_CALL(CONTROL, "control")                                                           \
	PORT_IO_CALL(CALL, "call")                                                                 \
	PORT_IO_CALL(TIMEOUT, "timeout")                                                           \
	PORT_IO_CALL(START, "start")                                                               \
	PORT_IO_CALL(STOP, "stop")                                                                 \
	PORT_IO_CALL(FLUSH, "flush")                                                               \
	PORT_IO_CALL(PROCESS_EXIT, "process_exit")

enum port_io_call {
#define PORT_IO_CALL_ID(id, name) PORT_IO_##id,
	PORT_IO_CALLS(PORT_IO_CALL_ID)
#undef PORT_IO_CALL_ID
		NR_PORT_IO_CALLS
};

const char *port_io_call_name(enum port_io_call call);

#endif
