/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Events of the distribution.
 */
#ifndef EBEAM_BPF_EVENT_DIST_H
#define EBEAM_BPF_EVENT_DIST_H

#include "event_alloc.bpf.h"
#include "event_message.bpf.h"

/* ErtsPrtSD.data[ERTS_PRTSD_DIST_ENTRY], erl_port.h of OTP 25 to 29 */
#define PORT_SD_DIST_ENTRY 8
/* erts_driver_t.outputv, global.h of OTP 24 to 29 */
#define DRIVER_OUTPUTV 112
/* dist.h of OTP 25 to 29 */
#define DFLAG_PUBLISHED	 1
#define DSIG_CONTEXT_CID 128 /* see DSIG_CONTEXT_DEP */

/* Name of the node at the other end of a connection, an atom; 0 = not known. */
INLINE uint64_t node_of_dist(uint64_t dep)
{
	uint64_t node = 0;

	if (dep)
		read_u64(dep + config.layout.dist_sysname, &node);
	return node;
}

INLINE uint64_t node_of_port(uint64_t port)
{
	uint64_t psd, dep;

	if (!read_u64(port + config.layout.port_psd, &psd) || !psd ||
	    !read_u64(psd + PORT_SD_DIST_ENTRY, &dep))
		return 0;
	return node_of_dist(dep);
}

INLINE void node_event(uint64_t dep, enum event_word what, uint64_t flags, uint64_t reason)
{
	uint64_t ts_ns = event_now(), epid = epid_of(running_if_wanted());
	struct rec_raw_event *rec;

	if (!wanted_of(EVENT_DIST_MONITOR, epid))
		return;
	rec = event_begin_term(EVENT_DIST_MONITOR, ts_ns, epid, 0);
	if (rec) {
		rec->values[0] = what;
		rec->values[1] = node_of_dist(dep);
		rec->values[2] = flags & DFLAG_PUBLISHED ? EVENT_WORD_VISIBLE : EVENT_WORD_HIDDEN;
		rec->values[3] = reason;
		copy_term(reason);
		event_end_term(rec, 4);
	}
}

/* void erts_set_dist_entry_connected(DistEntry *dep, Eterm cid, Uint64 flags), erl_node_tables.c */
EVENT_ENTRY(event_node_up)
{
	node_event(ctx->di, EVENT_WORD_NODEUP, ctx->dx, 0);
	return 0;
}

/* int erts_do_net_exits(DistEntry *dep, Eterm reason), dist.c */
EVENT_ENTRY(event_node_down)
{
	uint64_t flags = 0;

	read_u64(ctx->di + config.layout.dist_dflags, &flags);
	node_event(ctx->di, EVENT_WORD_NODEDOWN, flags, ctx->si);
	return 0;
}

/* ---- output ---------------------------------------------------------------------------------- */

/* Bytes that this scheduler has written to ports of all kinds. */
INLINE uint64_t bytes_out(void)
{
	struct thread_info *t = scheduler_here();
	uint64_t bytes = 0;

	if (t)
		read_u64(t->esdp + config.layout.sched_io_out, &bytes);
	return bytes;
}

/* int erts_dist_command(Port *prt, int reds), dist.c: passes queued data to the driver */
EVENT_ENTRY(event_dist_command)
{
	struct event_thread *t = thread_here();

	if (t) {
		t->dist.port = ctx->di;
		t->dist.bytes = bytes_out();
		t->dist.epoch = epoch_of(EVENT_DIST_OUTPUT, EVENT_DIST_OUTPUTV);
	}
	return 0;
}

EVENT_RETURN(event_dist_command_return)
{
	uint64_t ts_ns = event_now(), port, size, driver = 0, outputv = 0;
	struct event_thread *t = thread_here();
	enum event_kind kind = EVENT_DIST_OUTPUTV;
	struct rec_raw_event *rec;

	if (!t || !t->dist.port)
		return 0;
	port = t->dist.port;
	t->dist.port = 0;
	size = bytes_out() - t->dist.bytes;
	if (!size || t->dist.epoch != epoch_of(EVENT_DIST_OUTPUT, EVENT_DIST_OUTPUTV))
		return 0;
	if (read_u64(port + config.layout.port_drv_ptr, &driver) && driver &&
	    read_u64(driver + DRIVER_OUTPUTV, &outputv) && !outputv)
		kind = EVENT_DIST_OUTPUT;
	if (!wanted_of(kind, 0))
		return 0;
	count_sums(kind, size, EVENT_UNKNOWN);
	rec = event_begin(kind, ts_ns, 0, 0, 0);
	if (rec) {
		rec->values[0] = port_term(port);
		rec->values[1] = node_of_port(port);
		rec->values[2] = size;
		event_end(rec, 3);
	}
	return 0;
}

/* ---- busy ------------------------------------------------------------------------------------ */

/* int erts_dsig_send(ErtsDSigSendContext *ctx), dist.c */
EVENT_ENTRY(event_dsig_send)
{
	struct event_thread *t = thread_here();

	if (t) {
		t->dist.context = ctx->di;
		t->dist.context_epoch = switches.epoch[EVENT_DIST_PORT_BUSY];
	}
	return 0;
}

EVENT_RETURN(event_dsig_send_return)
{
	struct event_thread *t = thread_here();

	(void)ctx;
	if (t)
		t->dist.context = 0;
	return 0;
}

/* void erts_suspend(Process *c_p, ErtsProcLocks locks, Port *busy_port), erl_process.c: called by
 * erts_dsig_send() for a process that has to wait */
EVENT_ENTRY(event_suspend)
{
	uint64_t ts_ns = event_now(), process = ctx->di, epid, dep = 0, port = 0;
	struct event_thread *t = thread_here();
	struct rec_raw_event *rec;
	uint16_t flags;

	if (!t || !t->dist.context || t->dist.context_epoch != switches.epoch[EVENT_DIST_PORT_BUSY])
		return 0;
	epid = epid_of(process);
	if (!wanted_of(EVENT_DIST_PORT_BUSY, epid))
		return 0;
	read_u64(t->dist.context + DSIG_CONTEXT_CID, &port);
	read_u64(t->dist.context + DSIG_CONTEXT_DEP, &dep);
	event_seen(process, epid, ts_ns);
	flags = event_stack(ctx, process, ts_ns);
	rec = event_begin(EVENT_DIST_PORT_BUSY, ts_ns, epid, flags, 0);
	if (rec) {
		rec->values[0] = port;
		rec->values[1] = node_of_dist(dep);
		event_end(rec, 2);
	}
	return 0;
}

/* void erts_dist_port_not_busy(Port *prt), dist.c */
EVENT_ENTRY(event_dist_not_busy)
{
	uint64_t ts_ns = event_now();
	struct rec_raw_event *rec;

	if (!wanted_of(EVENT_DIST_PORT_NOT_BUSY, 0))
		return 0;
	rec = event_begin(EVENT_DIST_PORT_NOT_BUSY, ts_ns, 0, 0, 0);
	if (rec) {
		rec->values[0] = port_term(ctx->di);
		rec->values[1] = node_of_port(ctx->di);
		event_end(rec, 2);
	}
	return 0;
}

#endif
