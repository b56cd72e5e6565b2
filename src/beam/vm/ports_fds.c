/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Descriptors of the operating system that a port's driver has.  The data of a driver has no common
 * format, so it is only used if verified: both structs here begin with words that refer to the
 * port.
 */
#include <stddef.h>
#include <string.h>

#include "base/compiler.h"
#include "beam/vm/ports_internal.h"

/*
 * inet_descriptor {int s; HANDLE event; long event_mask; ErlDrvPort port; ErlDrvTermData dport; int
 * state; ...}, the head of every descriptor of tcp_inet, udp_inet and sctp_inet;
 * drivers/common/inet_drv.c, OTP 25 to 29.  ErlDrvPort is the address of the port, dport its id,
 * event the same as s.
 */
struct inet_head {
	int32_t s, pad;
	int64_t event, event_mask;
	uint64_t port, dport;
	uint32_t state, prebound;
};

/*
 * inet_descriptor further on: {Uint64 recv_oct; unsigned long recv_cnt, recv_max; double recv_avg,
 * ...}, as in inet:getstat/1.  Offsets of x86-64 builds with AF_UNIX of OTP 24 to 29 (OTP 26 has
 * added the caller's reference before).
 */
#define INET_RECEIVED_25 560
#define INET_RECEIVED_26 568
struct inet_received {
	uint64_t octets, packets, max;
	double average;
};

/*
 * struct driver_data {ErlDrvPort port_num; ErtsSysFdData *ofd, *ifd; ...}, followed in the same
 * block by one or two ErtsSysFdData {int fd; ...}; sys/unix/sys_drivers.c, OTP 25 to 29.
 */
struct stream_head {
	uint64_t port, out, in;
};
/* The largest offset of an ErtsSysFdData is below this: driver_data has 80 bytes in OTP 24 to 29,
 * ErtsSysFdData 40. */
#define STREAM_MAX_SIZE 192
#define FDS_MAX		(1 << 24)

static bool is_inet(const char *driver)
{
	return strcmp(driver, "tcp_inet") == 0 || strcmp(driver, "udp_inet") == 0 ||
	       strcmp(driver, "sctp_inet") == 0;
}

static bool is_stream(const char *driver)
{
	return strcmp(driver, "spawn") == 0 || strcmp(driver, "fd") == 0 ||
	       strcmp(driver, "vanilla") == 0;
}

uint32_t ports_inet_received(const struct beam_node *n)
{
	if (n->identity.otp == 24 || n->identity.otp == 25)
		return INET_RECEIVED_25;
	return n->identity.otp >= 26 && n->identity.otp <= 29 ? INET_RECEIVED_26 : 0;
}

/* False: the numbers are inconsistent, so the build has another struct. */
static bool read_received(struct beam_node *n, raddr descriptor, uint64_t *octets)
{
	uint32_t offset = ports_inet_received(n);
	struct inet_received r;

	if (!offset || mem_read(n->mem, descriptor + offset, &r, sizeof(r)) != 0 ||
	    (r.octets == 0) != (r.max == 0) || r.max > r.octets ||
	    !(r.average >= 0 && r.average <= (double)r.max))
		return false;
	*octets = r.octets;
	return true;
}

static void read_inet(struct beam_node *n, struct port_job *j)
{
	struct port_facts *p = &j->facts;
	struct inet_head head;

	if (mem_read(n->mem, j->drv_data, &head, sizeof(head)) != 0 || head.port != p->addr ||
	    head.dport != p->id || head.s != head.event || head.s < 0 || head.s >= FDS_MAX)
		return; /* another struct, or a closed socket */
	p->fd_kind = PORT_FD_INET;
	p->inet_state = head.state;
	p->fds[0] = p->fds[1] = head.s;
	read_received(n, j->drv_data, &p->received);
}

/* The descriptor of one direction; -1 = it is not used, -2 = no ErtsSysFdData. */
static int read_fd(struct beam_node *n, const struct port_job *j, raddr at)
{
	uint32_t fd;

	if (!at)
		return -1;
	if (at <= j->drv_data || at - j->drv_data >= STREAM_MAX_SIZE ||
	    mem_read_u32(n->mem, at, &fd) != 0 || fd >= FDS_MAX)
		return -2;
	return (int)fd;
}

static void read_stream(struct beam_node *n, struct port_job *j)
{
	struct port_facts *p = &j->facts;
	struct stream_head head;
	int in, out;

	if (mem_read(n->mem, j->drv_data, &head, sizeof(head)) != 0 || head.port != p->addr)
		return;
	in = read_fd(n, j, head.in);
	out = read_fd(n, j, head.out);
	if (in == -2 || out == -2 || (in == -1 && out == -1))
		return;
	p->fd_kind = PORT_FD_STREAM;
	p->fds[0] = in;
	p->fds[1] = out;
}

void ports_read_fds(struct beam_node *n, struct port_job *jobs, size_t nr)
{
	for (size_t i = 0; i < nr; i++) {
		if (jobs[i].gone || jobs[i].facts.torn)
			continue;
		if (is_inet(jobs[i].facts.driver))
			read_inet(n, &jobs[i]);
		else if (is_stream(jobs[i].facts.driver))
			read_stream(n, &jobs[i]);
	}
}
