/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Events of drivers: uprobes on their callbacks, found in erts_driver_t.  A callback gets the
 * driver's own data, not the port.  The port is the one whose tasks this thread runs, or that a
 * process calls directly: for both the VM sets current_port of the scheduler (erl_port_task.c
 * erts_port_task_execute(), io.c try_imm_drv_call(), OTP 25 to 29).  Two other functions call
 * callbacks: their first argument is the port, which a probe on them keeps (event_port_kept).  If
 * these have no symbol, the port is searched in the callee-saved registers, as they need it after
 * the callback.  A port is accepted only if it has the data that the callback got.
 *
 * The cookie of a probe is the address of the driver, with EVENT_COOKIE_SHARED if other drivers
 * have the same callback: then the driver is known from the port only.
 */
#ifndef EBEAM_BPF_EVENT_DRIVER_H
#define EBEAM_BPF_EVENT_DRIVER_H

#include "abi/vm.h"
#include "event_values.bpf.h"

/* Port.sched.flags, erl_port_task.h of OTP 25 to 29 */
#define PTS_BUSY_PORT (1u << 4)

/* ErlDrvEntry, erl_driver.h: the binary interface of drivers, the same since OTP R15. */
#define DRIVER_ENTRY_INIT  0
#define DRIVER_ENTRY_NAME  48
#define DRIVER_ENTRY_MAJOR 132
#define DRIVER_ENTRY_MINOR 136
#define DRIVER_ENTRY_FLAGS 140

/* ErlIOVec {int vsize; ErlDrvSizeT size; ...}, erl_driver.h */
#define IOVEC_SIZE 8

/* Calls by the VM itself have the invalid one. */
INLINE bool is_pid(uint64_t term)
{
	return TERM_IS_PID(term) && !TERM_IS_INVALID_PID(term);
}

/* current_port of this scheduler, 0 if none. */
INLINE uint64_t current_port(void)
{
	struct thread_info *t = scheduler_here();
	uint64_t port = 0;

	if (t && t->esdp)
		read_u64(t->esdp + config.layout.sched_current_port, &port);
	return port;
}

INLINE bool has_data(uint64_t port, uint64_t data)
{
	uint64_t own;

	return port && read_u64(port + config.layout.port_drv_data, &own) && own == data;
}

/* The only candidate (struct port_search) that is a matching port, 0 if there is none or
 * several. */
GLOBAL_FN uint64_t port_search(void)
{
	uint32_t tid = (uint32_t)bpf_get_current_pid_tgid();
	struct event_thread *t = bpf_map_lookup_elem(&event_threads, &tid);
	uint64_t found = 0, at, id, data, driver;
	struct port_search *s;

	if (!t)
		return 0;
	s = &t->ports;
	for (int i = 0; i < 6; i++) {
		at = s->registers[i];
		if (!at || at & 7 ||
		    !try_read(at + config.layout.port_drv_data, &data, sizeof(data)) ||
		    data != s->data ||
		    !try_read(at + config.layout.port_drv_ptr, &driver, sizeof(driver)) ||
		    (s->driver && driver != s->driver) ||
		    !try_read(at + config.layout.port_id, &id, sizeof(id)) ||
		    table_entry(&config.ports, id) != at)
			continue;
		if (found && found != at)
			return 0;
		found = at;
	}
	return found;
}

INLINE uint64_t port_search_with(struct pt_regs *ctx, uint64_t data)
{
	uint64_t port = current_port(), cookie = EVENT_COOKIE(cookie_of(ctx));
	struct event_thread *t;

	if (has_data(port, data))
		return port;
	t = thread_here();
	if (!t)
		return 0;
	port = t->port_kept;
	if (has_data(port, data))
		return port;
	t->ports.registers[0] = ctx->bx;
	t->ports.registers[1] = ctx->bp;
	t->ports.registers[2] = ctx->r12;
	t->ports.registers[3] = ctx->r13;
	t->ports.registers[4] = ctx->r14;
	t->ports.registers[5] = ctx->r15;
	t->ports.data = data;
	t->ports.driver = cookie & EVENT_COOKIE_SHARED ? 0 : cookie;
	return port_search();
}

/* The port whose driver was called with this data, 0 if it is not known, or not needed. */
INLINE uint64_t port_with(struct pt_regs *ctx, uint64_t data)
{
	return counts_all() ? 0 : port_search_with(ctx, data);
}

/* Address of the process `epid` if it runs on this thread; else 0. */
INLINE uint64_t process_here(uint64_t epid)
{
	struct thread_info *t = scheduler_here();
	uint64_t process = 0;

	if (!epid || !t || !t->esdp ||
	    !read_u64(t->esdp + config.layout.sched_current_process, &process) || !process)
		return 0;
	return epid_of(process) == epid ? process : 0;
}

INLINE uint64_t pid_at(uint64_t addr)
{
	uint64_t pid = 0;

	read_u64(addr, &pid);
	return is_pid(pid) ? pid : 0;
}

/* Owner of a port. */
INLINE uint64_t connected_of(uint64_t port)
{
	return port && !counts_all() ? pid_at(port + config.layout.port_connected) : 0;
}

/* The process for which the driver is called; 0 if there is none. */
INLINE uint64_t caller_of(uint64_t port)
{
	return port && !counts_all() ? pid_at(port + config.layout.port_caller) : 0;
}

INLINE void name_of_driver(uint64_t driver, uint64_t *text)
{
	uint64_t name;

	if (driver && read_u64(driver + config.layout.driver_name, &name) && name)
		bpf_probe_read_user_str(text, 8 * EVENT_TEXT_WORDS, (const void *)name);
}

/* Event of a callback of a port's driver, with up to three further values. */
INLINE void driver_event(struct pt_regs *ctx, enum event_kind kind, uint64_t port, uint64_t epid,
			 uint64_t first, uint64_t second, uint64_t third, uint16_t nr_values)
{
	uint64_t ts_ns = event_now(), process, cookie = EVENT_COOKIE(cookie_of(ctx));
	struct rec_raw_event *rec;
	uint16_t flags = 0;

	if (!wanted_of(kind, epid))
		return;
	if (counts_all()) {
		count_event(kind);
		return;
	}
	process = process_here(epid);
	if (process) {
		event_seen(process, epid, ts_ns);
		flags = event_stack(ctx, process, ts_ns);
	}
	rec = event_begin(kind, ts_ns, epid, flags, 0);
	if (rec) {
		rec->values[0] = port_term(port);
		if (port)
			driver_name(port, &rec->values[1]);
		else if (!(cookie & EVENT_COOKIE_SHARED))
			name_of_driver(cookie, &rec->values[1]);
		rec->values[1 + EVENT_TEXT_WORDS] = first;
		rec->values[2 + EVENT_TEXT_WORDS] = second;
		rec->values[3 + EVENT_TEXT_WORDS] = third;
		event_end(rec, 1 + EVENT_TEXT_WORDS + nr_values);
	}
}

/* ---- ports ----------------------------------------------------------------------------------- */

/* void erts_port_task_execute(ErtsRunQueue *runq, Port **curr_port_pp), erl_port_task.c: runs the
 * first port of the queue, which is locked. */
EVENT_ENTRY(event_port_task)
{
	struct event_thread *t = thread_here();
	uint64_t port = 0;

	if (!t)
		return 0;
	read_u64(ctx->di + config.layout.runq_ports_start, &port);
	t->port_task.port = port;
	t->port_task.epoch = switches.epoch[EVENT_PORT_SCHEDULED];
	if (port)
		driver_event(ctx, EVENT_PORT_SCHEDULED, port, connected_of(port), EVENT_WORD_IN, 0,
			     0, 1);
	return 0;
}

EVENT_RETURN(event_port_task_return)
{
	struct event_thread *t = thread_here();
	uint64_t port;

	if (!t)
		return 0;
	port = t->port_task.port;
	t->port_task.port = 0;
	/* The port may be closed; its memory stays until all schedulers have made progress. */
	if (port && t->port_task.epoch == switches.epoch[EVENT_PORT_SCHEDULED])
		driver_event(ctx, EVENT_PORT_SCHEDULED, port, connected_of(port), EVENT_WORD_OUT, 0,
			     0, 1);
	return 0;
}

/* void set_busy_port(ErlDrvPort port, int on), io.c: part of the driver interface; ErlDrvPort is
 * the port's address.  Often called without a change. */
EVENT_ENTRY(event_port_busy)
{
	enum event_kind kind = (int)ctx->si ? EVENT_PORT_BUSY : EVENT_PORT_NOT_BUSY;
	uint64_t port = ctx->di;
	uint32_t flags;

	if (!port || port >= (uint64_t)-3 ||
	    !read_u32(port + config.layout.port_sched_flags, &flags))
		return 0;
	if (!(flags & PTS_BUSY_PORT) == (kind == EVENT_PORT_BUSY))
		driver_event(ctx, kind, port, connected_of(port), 0, 0, 0, 0);
	return 0;
}

/* int async_ready(Port *p, void *data), void erts_fire_port_monitor(Port *prt, ErtsMonitor *tmon),
 * io.c */
EVENT_ENTRY(event_port_kept)
{
	struct event_thread *t = thread_here();

	if (t)
		t->port_kept = ctx->di;
	return 0;
}

/* ---- drivers --------------------------------------------------------------------------------- */

/* int erts_add_driver_entry(ErlDrvEntry *de, DE_Handle *handle, int driver_list_locked, int taint),
 * io.c; calls init() if there is one */
EVENT_ENTRY(event_driver_init)
{
	uint64_t ts_ns = event_now(), entry = ctx->di, init = 0, name, epid = 0;
	struct thread_info *t = scheduler_here();
	struct rec_raw_event *rec;
	uint32_t n[3];

	count(COUNTER_DRIVERS_LOADED);
	if (t && t->esdp && read_u64(t->esdp + config.layout.sched_current_process, &epid))
		epid = epid_of(epid);
	if (!read_u64(entry + DRIVER_ENTRY_INIT, &init) || !init ||
	    !wanted_of(EVENT_DRIVER_INIT, epid) || !read_u32(entry + DRIVER_ENTRY_MAJOR, &n[0]) ||
	    !read_u32(entry + DRIVER_ENTRY_MINOR, &n[1]) ||
	    !read_u32(entry + DRIVER_ENTRY_FLAGS, &n[2]))
		return 0;
	rec = event_begin(EVENT_DRIVER_INIT, ts_ns, epid, 0, 0);
	if (rec) {
		if (read_u64(entry + DRIVER_ENTRY_NAME, &name) && name)
			bpf_probe_read_user_str(&rec->values[0], 8 * EVENT_TEXT_WORDS,
						(const void *)name);
		for (int i = 0; i < 3; i++)
			rec->values[EVENT_TEXT_WORDS + i] = n[i];
		event_end(rec, EVENT_TEXT_WORDS + 3);
	}
	return 0;
}

/* Event of a callback that is not called for a port. */
INLINE void driver_alone(uint64_t driver, enum event_kind kind)
{
	uint64_t ts_ns = event_now();
	struct rec_raw_event *rec;

	if (!wanted_of(kind, 0))
		return;
	rec = event_begin(kind, ts_ns, 0, 0, 0);
	if (rec) {
		name_of_driver(driver, &rec->values[0]);
		event_end(rec, EVENT_TEXT_WORDS);
	}
}

/* void finish(void) */
EVENT_ENTRY(event_driver_finish)
{
	uint64_t cookie = EVENT_COOKIE(cookie_of(ctx));

	driver_alone(cookie & EVENT_COOKIE_SHARED ? 0 : cookie, EVENT_DRIVER_FINISH);
	return 0;
}

/* void stop_select(ErlDrvEvent event, void *reserved): while a port deselects, or later from
 * erts_check_io() */
EVENT_ENTRY(event_driver_stop_select)
{
	uint64_t cookie = EVENT_COOKIE(cookie_of(ctx)), driver = 0, port, one, other;

	if (!(cookie & EVENT_COOKIE_SHARED)) {
		driver = cookie;
	} else {
		port = current_port();
		cookie &= ~EVENT_COOKIE_SHARED;
		if (!port || !read_u64(port + config.layout.port_drv_ptr, &driver) ||
		    !read_u64(driver + config.layout.driver_stop_select, &one) ||
		    !read_u64(cookie + config.layout.driver_stop_select, &other) || one != other)
			driver = 0;
	}
	driver_alone(driver, EVENT_DRIVER_STOP_SELECT);
	return 0;
}

/* ErlDrvData start(ErlDrvPort port, char *command, SysDriverOpts *opts); ErlDrvPort is the port's
 * address */
EVENT_ENTRY(event_driver_start)
{
	driver_event(ctx, EVENT_DRIVER_START, ctx->di, caller_of(ctx->di), 0, 0, 0, 0);
	return 0;
}

/* A counter of bytes of a port, by its offset; EVENT_UNKNOWN if it cannot be read. */
INLINE uint64_t port_bytes(uint64_t port, int32_t counter)
{
	uint64_t bytes;

	return port && read_u64(port + counter, &bytes) ? bytes : EVENT_UNKNOWN;
}

/* inet_descriptor, inet_drv.c of OTP 25 to 29: {int s; HANDLE event; long event_mask; ErlDrvPort
 * port; ErlDrvTermData dport; ...}: the port's address and id */
#define INET_PORT 24

/* Bytes that a port has received.  For a socket of inet_drv the driver's own counter, as that of
 * the port lacks data that was delivered as messages. */
INLINE uint64_t port_received(uint64_t port)
{
	uint64_t data, head[2], n[3]; /* recv_oct, recv_cnt, recv_max */

	if (port && config.inet_received && read_u64(port + config.layout.port_drv_data, &data) &&
	    try_read(data + INET_PORT, head, sizeof(head)) && head[0] == port &&
	    head[1] == port_term(port) && try_read(data + config.inet_received, n, sizeof(n)) &&
	    !n[0] == !n[2] && n[2] <= n[0])
		return n[0];
	return port_bytes(port, config.layout.port_bytes_in);
}

/* void stop(ErlDrvData) */
EVENT_ENTRY(event_driver_stop)
{
	uint64_t port = port_with(ctx, ctx->di);

	driver_event(ctx, EVENT_DRIVER_STOP, port, connected_of(port), port_received(port),
		     port_bytes(port, config.layout.port_bytes_out), 0, 2);
	return 0;
}

/* void ready_input(ErlDrvData, ErlDrvEvent) */
EVENT_ENTRY(event_driver_ready_input)
{
	uint64_t port = port_with(ctx, ctx->di);

	driver_event(ctx, EVENT_DRIVER_READY_INPUT, port, connected_of(port), port_received(port),
		     0, 0, 1);
	return 0;
}

/* A callback whose event has no further values. */
INLINE int called(struct pt_regs *ctx, enum event_kind kind)
{
	uint64_t port = port_with(ctx, ctx->di);

	driver_event(ctx, kind, port, connected_of(port), 0, 0, 0, 0);
	return 0;
}

EVENT_ENTRY(event_driver_ready_output)
{
	return called(ctx, EVENT_DRIVER_READY_OUTPUT);
}

EVENT_ENTRY(event_driver_ready_async)
{
	return called(ctx, EVENT_DRIVER_READY_ASYNC);
}

EVENT_ENTRY(event_driver_timeout)
{
	return called(ctx, EVENT_DRIVER_TIMEOUT);
}

EVENT_ENTRY(event_driver_process_exit)
{
	return called(ctx, EVENT_DRIVER_PROCESS_EXIT);
}

EVENT_ENTRY(event_driver_flush)
{
	return called(ctx, EVENT_DRIVER_FLUSH);
}

/* void output(ErlDrvData, char *buf, ErlDrvSizeT len) */
EVENT_ENTRY(event_driver_output)
{
	uint64_t port = port_with(ctx, ctx->di);

	driver_event(ctx, EVENT_DRIVER_OUTPUT, port, caller_of(port), ctx->dx, 0, 0, 1);
	return 0;
}

/* void outputv(ErlDrvData, ErlIOVec *ev) */
EVENT_ENTRY(event_driver_outputv)
{
	uint64_t port = port_with(ctx, ctx->di), size;

	if (!read_u64(ctx->si + IOVEC_SIZE, &size))
		size = EVENT_UNKNOWN;
	driver_event(ctx, EVENT_DRIVER_OUTPUTV, port, caller_of(port), size, 0, 0, 1);
	return 0;
}

/* ErlDrvSSizeT control(ErlDrvData, unsigned int command, char *buf, ErlDrvSizeT len, char **rbuf,
 * ErlDrvSizeT rlen); call() has one more parameter, a pointer */
INLINE int commanded(struct pt_regs *ctx, enum event_kind kind, bool may_read)
{
	uint64_t port = port_with(ctx, ctx->di);

	driver_event(ctx, kind, port, caller_of(port), (uint32_t)ctx->si, ctx->cx,
		     may_read ? port_received(port) : 0, 2 + may_read);
	return 0;
}

EVENT_ENTRY(event_driver_control)
{
	return commanded(ctx, EVENT_DRIVER_CONTROL, true);
}

EVENT_ENTRY(event_driver_call)
{
	return commanded(ctx, EVENT_DRIVER_CALL, false);
}

#endif
