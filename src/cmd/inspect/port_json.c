/* SPDX-License-Identifier: BSD-2-Clause */
/* `ebeam port -j`; see port.h. */
#include "abi/vm.h"
#include "cmd/inspect/port.h"

#include <inttypes.h>
#include <stdlib.h>

#include "base/compiler.h"
#include "beam/term/atoms.h"
#include "cmd/output/envelope.h"
#include "cmd/run/target.h"

static void json_refs(struct jsonw *w, const struct port_view *v, const char *key,
		      const struct port_refs *refs)
{
	jsonw_begin_array(w, key);
	for (size_t i = 0; i < refs->len; i++) {
		uint64_t term = v->ports.terms.data[refs->first + i];
		char buf[64];

		jsonw_string(w, NULL,
			     TERM_IS_PID(term) ? pid_format(&v->pids, term, buf, sizeof(buf))
					       : port_format(&v->port_ids, term, buf, sizeof(buf)));
	}
	jsonw_end_array(w);
}

static void json_fd(struct jsonw *w, const struct port_view *v, const char *key, int fd)
{
	char target[512];

	if (fd < 0) {
		jsonw_null(w, key);
		return;
	}
	jsonw_begin_object(w, key);
	jsonw_int(w, "fd", fd);
	if (v->live && proc_fd_target(v->node->os_pid, fd, target, sizeof(target)) == 0)
		jsonw_string(w, "target", target);
	else
		jsonw_null(w, "target");
	jsonw_end_object(w);
}

static void json_status(struct jsonw *w, const struct port_facts *p)
{
	jsonw_begin_array(w, "status");
	for (const struct port_inet_state *s = port_inet_states; s->name; s++)
		if (p->fd_kind == PORT_FD_INET && (p->inet_state & s->bit))
			jsonw_string(w, NULL, s->name);
	jsonw_end_array(w);
}

static void json_socket(struct jsonw *w, const struct port_row *r)
{
	const struct socket_info *s = r->socket;
	char buf[512];

	if (r->p->fd_kind != PORT_FD_INET && !s) {
		jsonw_null(w, "socket");
		return;
	}
	jsonw_begin_object(w, "socket");
	jsonw_int(w, "fd", r->p->fds[0]);
	json_status(w, r->p);
	jsonw_string(w, "protocol", s ? socket_protocol_name(s->protocol) : NULL);
	jsonw_string(w, "state", s ? socket_state_name(s) : NULL);
	jsonw_string(w, "local", s && *socket_local(s, buf, sizeof(buf)) ? buf : NULL);
	jsonw_string(w, "peer", s && *socket_peer(s, buf, sizeof(buf)) ? buf : NULL);
	if (s && s->has_queues) {
		jsonw_uint(w, "recv_q", s->recv_q);
		jsonw_uint(w, "send_q", s->send_q);
	} else {
		jsonw_null(w, "recv_q");
		jsonw_null(w, "send_q");
	}
	jsonw_end_object(w);
}

static void json_flags(struct jsonw *w, const struct port_facts *p)
{
	jsonw_bool(w, "busy", port_is_busy(p));
	jsonw_bool(w, "closing", p->state & PORT_STATE_CLOSING);
	jsonw_bool(w, "exiting", p->state & PORT_STATE_EXITING);
	jsonw_bool(w, "distribution", p->state & PORT_STATE_DISTRIBUTION);
	jsonw_string(w, "locking", port_locking(p));
	jsonw_bool(w, "parallelism", p->task_flags & PORT_TASK_PARALLELISM);
	jsonw_bool(w, "torn", p->torn);
}

static void json_row(struct jsonw *w, const struct port_view *v, const struct port_row *r)
{
	const struct port_facts *p = r->p;
	char buf[64];

	jsonw_begin_object(w, NULL);
	snprintf(buf, sizeof(buf), "#Port<0.%" PRIu64 ">", p->number);
	jsonw_string(w, "port", buf);
	jsonw_uint(w, "id", p->slot);
	jsonw_string(w, "name", p->name);
	jsonw_string(w, "connected",
		     TERM_IS_PID(p->connected)
			     ? pid_format(&v->pids, p->connected, buf, sizeof(buf))
			     : NULL);
	jsonw_uint(w, "input", p->bytes_in);
	jsonw_uint(w, "output", p->bytes_out);
	if (p->os_pid >= 0)
		jsonw_int(w, "os_pid", p->os_pid);
	else
		jsonw_null(w, "os_pid");
	jsonw_uint(w, "queue_size", p->queue_size);
	jsonw_string(w, "registered_name",
		     p->registered ? beam_atom_text(v->node->atoms, p->registered, NULL) : NULL);
	jsonw_string(w, "driver", *p->driver ? p->driver : NULL);
	json_refs(w, v, "links", &p->links);
	json_refs(w, v, "monitors", &p->monitors);
	json_refs(w, v, "monitored_by", &p->monitored_by);
	json_refs(w, v, "suspended", &p->suspended);
	jsonw_uint_if(w, "memory", p->memory_known, p->memory);
	json_flags(w, p);
	json_socket(w, r);
	json_fd(w, v, "read", p->fd_kind == PORT_FD_STREAM ? p->fds[0] : -1);
	json_fd(w, v, "write", p->fd_kind == PORT_FD_STREAM ? p->fds[1] : -1);
	jsonw_end_object(w);
}

const char *port_sockets_warning(const struct port_view *v)
{
	if (!v->live)
		return "a core file does not hold the kernel's side of sockets: no addresses, "
		       "states and queues of the operating system";
	if (v->sockets.unread)
		return "the tables of sockets in /proc could not all be read: some addresses, "
		       "states and queues of the operating system are missing";
	return NULL;
}

int port_write_json(struct command_context *ctx, const struct port_view *v, const struct table *t,
		    const struct table_options *o, struct error *err)
{
	const struct envelope_counter counters[] = {{"ports", v->ports.len},
						    {"vanished", v->ports.vanished},
						    {"torn", v->ports.torn},
						    {"truncated", v->ports.cut}};
	const char *warning = port_sockets_warning(v);
	struct jsonw w = JSONW(ctx->out);
	size_t *order, nr;
	int rc = table_order(t, o, &order, &nr, err);

	if (rc)
		return rc;
	target_json_begin(&w, ctx, v->node);
	jsonw_begin_rows(&w, "data");
	for (size_t i = 0; i < nr; i++)
		json_row(&w, v, &v->rows[order[i]]);
	jsonw_end_array(&w);
	free(order);
	return envelope_end(&w, &warning, warning ? 1 : 0, counters, ARRAY_SIZE(counters), err);
}
