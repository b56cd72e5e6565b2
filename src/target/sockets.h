/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Sockets and other descriptors of a process, as the kernel shows them: /proc/PID/fd and
 * /proc/PID/net, the tables of the process's network namespace.  A socket that was opened in
 * another namespace, or whose family has no table there, is not found.
 */
#ifndef EBEAM_TARGET_SOCKETS_H
#define EBEAM_TARGET_SOCKETS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum socket_protocol {
	SOCKET_TCP,
	SOCKET_TCP6,
	SOCKET_UDP,
	SOCKET_UDP6,
	SOCKET_UNIX,
	NR_SOCKET_PROTOCOLS
};
const char *socket_protocol_name(enum socket_protocol protocol); /* "tcp", "udp", "unix"  */

struct socket_info {
	uint64_t inode;
	enum socket_protocol protocol;
	uint8_t state; /* the kernel's number of the state, for socket_state_name() */
	bool listening;
	bool has_queues; /* recv_q and send_q are known */
	/* Bytes that the process has not read, and bytes that the peer has not acknowledged.  Of a
	 * listening socket recv_q is the number of connections that wait to be accepted. */
	uint64_t recv_q, send_q;
	uint8_t local_ip[16], peer_ip[16]; /* network order; IPv4 in the first 4 bytes */
	uint16_t local_port, peer_port;
	char *path; /* of a unix socket; NULL = none */
};

struct socket_table {
	struct socket_info *data; /* sorted by inode */
	size_t len, cap;
	bool unread; /* a table could not be read, or was too long */
};

/* "established", "listen", ...; UDP: "established" (connected) or "open"; NULL = unknown. */
const char *socket_state_name(const struct socket_info *s);
/* Text of an address: "127.0.0.1:4369", "[::1]:4369", path of a unix socket; "" if none. */
char *socket_local(const struct socket_info *s, char *buf, size_t size);
char *socket_peer(const struct socket_info *s, char *buf, size_t size);

/* Adds the sockets in the text of one file of /proc/PID/net.  Lines that cannot be parsed are
 * skipped; returns how many were skipped. */
size_t sockets_parse(struct socket_table *t, enum socket_protocol protocol, const char *text);
void sockets_sort(struct socket_table *t);

/* All tables of a process, sorted.  0 or negative errno if none could be read. */
int sockets_read(struct socket_table *out, int os_pid);
void socket_table_free(struct socket_table *t);
const struct socket_info *socket_find(const struct socket_table *t, uint64_t inode);

/* Target of a descriptor: "socket:[1234]", "pipe:[77]", "/dev/null".  0 or negative errno. */
int proc_fd_target(int os_pid, int fd, char *buf, size_t size);
/* The inode in "socket:[1234]"; 0 = the descriptor is no socket. */
uint64_t socket_inode(const char *target);

/* True if the process is in the network namespace of ebeam. */
bool proc_same_network(int os_pid);

#endif
