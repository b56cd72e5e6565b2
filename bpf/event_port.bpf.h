/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Events of ports.
 */
#ifndef EBEAM_BPF_EVENT_PORT_H
#define EBEAM_BPF_EVENT_PORT_H

#include "abi/vm.h"
#include "event_values.bpf.h"

/* ---- ports ----------------------------------------------------------------------------------- */

/* Port *erts_open_driver(erts_driver_t *driver, Eterm pid, char *name, SysDriverOpts *opts,
 * int *error_type_ptr, int *error_number_ptr), io.c; -1, -2, -3 on failure */
EVENT_ENTRY(event_port_open)
{
	struct event_thread *t;

	if (counts_all())
		return 0;
	t = thread_here();
	if (!t)
		return 0;
	keep_return();
	t->open.pid = ctx->si;
	t->open.entered = 1;
	t->open.epoch = switches.epoch[EVENT_PORT_OPEN];
	return 0;
}

INLINE bool is_port(uint64_t result)
{
	return result && result < (uint64_t)-3;
}

EVENT_RETURN(event_port_open_return)
{
	uint64_t ts_ns = event_now(), port = ctx->ax, name;
	struct event_thread *t;
	struct rec_raw_event *rec;

	if (counts_all())
		return is_port(port) ? count_if_wanted(EVENT_PORT_OPEN) : 0;
	t = thread_here();
	drop_return();
	if (!t || !t->open.entered)
		return 0;
	t->open.entered = 0;
	if (t->open.epoch != switches.epoch[EVENT_PORT_OPEN] || !is_port(port) ||
	    !wanted_of(EVENT_PORT_OPEN, t->open.pid))
		return 0;
	rec = event_begin(EVENT_PORT_OPEN, ts_ns, t->open.pid, 0, 0);
	if (rec) {
		rec->values[0] = port_term(port);
		driver_name(port, &rec->values[1]);
		if (read_u64(port + config.layout.port_name, &name) && name)
			bpf_probe_read_user_str(&rec->values[1 + EVENT_TEXT_WORDS],
						8 * EVENT_TEXT_WORDS, (const void *)name);
		event_end(rec, 1 + 2 * EVENT_TEXT_WORDS);
	}
	return 0;
}

/* int erts_deliver_port_exit(Port *prt, Eterm from, Eterm reason, int send_closed,
 * int drop_normal), io.c */
EVENT_ENTRY(event_port_exit)
{
	uint64_t ts_ns = event_now(), port = ctx->di, from = ctx->si;
	uint64_t epid = TERM_IS_PID(from) ? from : 0;
	struct rec_raw_event *rec;

	if (!wanted_of(EVENT_PORT_EXIT, epid))
		return 0;
	rec = event_begin_term(EVENT_PORT_EXIT, ts_ns, epid, 0);
	if (rec) {
		rec->values[0] = port_term(port);
		driver_name(port, &rec->values[1]);
		rec->values[1 + EVENT_TEXT_WORDS] = ctx->dx;
		copy_term(ctx->dx);
		event_end_term(rec, 2 + EVENT_TEXT_WORDS);
	}
	return 0;
}

/* An event of a port with one further value, or none. */
INLINE void port_event(struct pt_regs *ctx, enum event_kind kind, uint64_t process, uint64_t epid,
		       uint64_t port, uint64_t value, uint16_t nr_values)
{
	uint64_t ts_ns = event_now();
	struct rec_raw_event *rec;
	uint16_t flags;

	if (!wanted_of(kind, epid))
		return;
	event_seen(process, epid, ts_ns);
	flags = event_stack(ctx, process, ts_ns);
	rec = event_begin(kind, ts_ns, epid, flags, 0);
	if (rec) {
		rec->values[0] = port_term(port);
		driver_name(port, &rec->values[1]);
		rec->values[1 + EVENT_TEXT_WORDS] = value;
		event_end(rec, 1 + EVENT_TEXT_WORDS + nr_values);
	}
}

/* erts_port_output(Process *c_p, int flags, Port *prt, Eterm from, Eterm list, Eterm *refp),
 * io.c */
EVENT_ENTRY(event_port_output)
{
	port_event(ctx, EVENT_PORT_COMMAND, ctx->di, epid_if_wanted(ctx->di), ctx->dx, 0, 0);
	return 0;
}

/* erts_port_control(Process *c_p, Port *prt, unsigned int command, Eterm data, Eterm *retvalp) */
EVENT_ENTRY(event_port_control)
{
	port_event(ctx, EVENT_PORT_CONTROL, ctx->di, epid_if_wanted(ctx->di), ctx->si,
		   (uint32_t)ctx->dx, 1);
	return 0;
}

/* erts_port_connect(Process *c_p, int flags, Port *prt, Eterm from, Eterm connect, Eterm *refp) */
EVENT_ENTRY(event_port_connect)
{
	port_event(ctx, EVENT_PORT_CONNECT, ctx->di, epid_if_wanted(ctx->di), ctx->dx, ctx->r8, 1);
	return 0;
}

/* erts_port_link(Process *c_p, Port *prt, ErtsLink *lnk, Eterm *refp) */
EVENT_ENTRY(event_port_link)
{
	port_event(ctx, EVENT_PORT_LINK, ctx->di, epid_if_wanted(ctx->di), ctx->si, 0, 0);
	return 0;
}

/* erts_port_unlink(Process *c_p, Port *prt, ErtsSigUnlinkOp *sulnk, Eterm *refp) */
EVENT_ENTRY(event_port_unlink)
{
	port_event(ctx, EVENT_PORT_UNLINK, ctx->di, epid_if_wanted(ctx->di), ctx->si, 0, 0);
	return 0;
}

#endif
