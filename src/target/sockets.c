/* SPDX-License-Identifier: BSD-2-Clause */
/* See sockets.h.  The formats: Documentation/networking/proc_net_tcp.rst, net/unix/af_unix.c. */
#include "target/sockets.h"

#include <arpa/inet.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/compiler.h"
#include "base/xalloc.h"
#include "target/proc.h"

/* 150 bytes a line: more than a million sockets. */
#define TABLE_MAX_SIZE ((size_t)256 << 20)

static const struct {
	const char *file, *name;
} protocols[NR_SOCKET_PROTOCOLS] = {
	[SOCKET_TCP] = {"tcp", "tcp"},	  [SOCKET_TCP6] = {"tcp6", "tcp"},
	[SOCKET_UDP] = {"udp", "udp"},	  [SOCKET_UDP6] = {"udp6", "udp"},
	[SOCKET_UNIX] = {"unix", "unix"},
};

/* include/net/tcp_states.h */
static const char *const tcp_states[] = {
	[1] = "established", [2] = "syn_sent",	[3] = "syn_recv", [4] = "fin_wait1",
	[5] = "fin_wait2",   [6] = "time_wait", [7] = "close",	  [8] = "close_wait",
	[9] = "last_ack",    [10] = "listen",	[11] = "closing", [12] = "new_syn_recv",
};
#define STATE_ESTABLISHED 1
#define STATE_LISTEN	  10

/* include/uapi/linux/net.h: enum socket_state, as /proc/net/unix shows it */
static const char *const unix_states[] = {"free", "unconnected", "connecting", "connected",
					  "disconnecting"};
#define UNIX_LISTENING (1u << 16) /* __SO_ACCEPTCON */

const char *socket_protocol_name(enum socket_protocol protocol)
{
	return protocols[protocol].name;
}

const char *socket_state_name(const struct socket_info *s)
{
	switch (s->protocol) {
	case SOCKET_TCP:
	case SOCKET_TCP6:
		return s->state < ARRAY_SIZE(tcp_states) ? tcp_states[s->state] : NULL;
	case SOCKET_UDP:
	case SOCKET_UDP6:
		return s->state == STATE_ESTABLISHED ? "established" : "open";
	case SOCKET_UNIX:
		if (s->listening)
			return "listen";
		return s->state < ARRAY_SIZE(unix_states) ? unix_states[s->state] : NULL;
	default:
		return NULL;
	}
}

/* ---- addresses ------------------------------------------------------------------------------ */

static bool is_v6(const struct socket_info *s)
{
	return s->protocol == SOCKET_TCP6 || s->protocol == SOCKET_UDP6;
}

static char *format_address(const struct socket_info *s, const uint8_t *ip, uint16_t port,
			    char *buf, size_t size)
{
	char text[INET6_ADDRSTRLEN] = "";

	if (is_v6(s) && inet_ntop(AF_INET6, ip, text, sizeof(text)))
		snprintf(buf, size, "[%s]:%u", text, port);
	else if (inet_ntop(AF_INET, ip, text, sizeof(text)))
		snprintf(buf, size, "%s:%u", text, port);
	return buf;
}

char *socket_local(const struct socket_info *s, char *buf, size_t size)
{
	buf[0] = '\0';
	if (s->protocol == SOCKET_UNIX) {
		snprintf(buf, size, "%s", s->path ? s->path : "");
		return buf;
	}
	return format_address(s, s->local_ip, s->local_port, buf, size);
}

char *socket_peer(const struct socket_info *s, char *buf, size_t size)
{
	static const uint8_t none[16];

	buf[0] = '\0';
	if (s->protocol == SOCKET_UNIX ||
	    (s->peer_port == 0 && memcmp(s->peer_ip, none, sizeof(none)) == 0))
		return buf;
	return format_address(s, s->peer_ip, s->peer_port, buf, size);
}

/* ---- parsing -------------------------------------------------------------------------------- */

/* Parses "0100007F:1F90": IPv4 and IPv6 addresses are 32 bit words in network order, printed as
 * numbers of the host's byte order. */
static bool parse_address(const char *text, bool v6, uint8_t *ip, uint16_t *port)
{
	unsigned int value, words = v6 ? 4 : 1;
	char word[9] = "";

	for (unsigned int i = 0; i < words; i++, text += 8) {
		uint32_t raw;
		char *end;

		if (strnlen(text, 8) < 8)
			return false;
		memcpy(word, text, 8);
		raw = (uint32_t)strtoul(word, &end, 16);
		if (*end)
			return false;
		memcpy(ip + 4 * (size_t)i, &raw, sizeof(raw));
	}
	if (sscanf(text, ":%4x", &value) != 1)
		return false;
	*port = (uint16_t)value;
	return true;
}

static void push(struct socket_table *t, const struct socket_info *s)
{
	if (t->len == t->cap) {
		t->cap = t->cap ? 2 * t->cap : 64;
		t->data = xrealloc(t->data, t->cap * sizeof(*t->data));
	}
	t->data[t->len++] = *s;
}

/* Parses a line "sl local remote st tx:rx tr:when retransmits uid timeout inode ...". */
static bool parse_inet(struct socket_info *s, const char *line)
{
	char local[64], peer[64];
	unsigned int state;

	if (sscanf(line, " %*u: %63s %63s %x %" SCNx64 ":%" SCNx64 " %*s %*s %*u %*u %" SCNu64,
		   local, peer, &state, &s->send_q, &s->recv_q, &s->inode) != 6 ||
	    state > UINT8_MAX)
		return false;
	s->state = (uint8_t)state;
	s->has_queues = true;
	s->listening = s->state == STATE_LISTEN &&
		       (s->protocol == SOCKET_TCP || s->protocol == SOCKET_TCP6);
	return parse_address(local, is_v6(s), s->local_ip, &s->local_port) &&
	       parse_address(peer, is_v6(s), s->peer_ip, &s->peer_port);
}

/* Parses a line "Num: refcount protocol flags type state inode [path]". */
static bool parse_unix(struct socket_info *s, const char *line)
{
	unsigned int flags, state;
	int end = 0;

	if (sscanf(line, " %*x: %*x %*x %x %*x %x %" SCNu64 "%n", &flags, &state, &s->inode,
		   &end) != 3 ||
	    state > UINT8_MAX)
		return false;
	s->state = (uint8_t)state;
	s->listening = flags & UNIX_LISTENING;
	if (line[end] == ' ' && line[end + 1])
		s->path = xstrdup(line + end + 1);
	return true;
}

size_t sockets_parse(struct socket_table *t, enum socket_protocol protocol, const char *text)
{
	size_t bad = 0;
	bool heading = true;

	while (*text) {
		size_t len = strcspn(text, "\n");
		struct socket_info s = {.protocol = protocol};
		char line[512];

		if (!heading && len > 0) {
			snprintf(line, sizeof(line), "%.*s", (int)MIN(len, sizeof(line) - 1), text);
			if (protocol == SOCKET_UNIX ? parse_unix(&s, line) : parse_inet(&s, line))
				push(t, &s);
			else
				bad++;
		}
		heading = false;
		text += len + (text[len] == '\n');
	}
	return bad;
}

static int by_inode(const void *a, const void *b)
{
	const struct socket_info *x = a, *y = b;

	return x->inode < y->inode ? -1 : x->inode > y->inode;
}

void sockets_sort(struct socket_table *t)
{
	if (t->len > 0)
		qsort(t->data, t->len, sizeof(*t->data), by_inode);
}

const struct socket_info *socket_find(const struct socket_table *t, uint64_t inode)
{
	struct socket_info key = {.inode = inode};

	/* Sockets that no file refers to any more (TIME_WAIT, say) have inode 0. */
	if (!inode || t->len == 0)
		return NULL;
	return bsearch(&key, t->data, t->len, sizeof(*t->data), by_inode);
}

/* ---- /proc ---------------------------------------------------------------------------------- */

int sockets_read(struct socket_table *out, int os_pid)
{
	int rc = -ENOENT;

	*out = (struct socket_table){0};
	for (int i = 0; i < NR_SOCKET_PROTOCOLS; i++) {
		char *text = proc_read_file(TABLE_MAX_SIZE, NULL, "/proc/%d/net/%s", os_pid,
					    protocols[i].file);

		if (!text) {
			/* A kernel without IPv6 has no such files. */
			if (errno != ENOENT)
				out->unread = true;
			rc = rc == 0 ? 0 : -errno;
			continue;
		}
		sockets_parse(out, (enum socket_protocol)i, text);
		free(text);
		rc = 0;
	}
	sockets_sort(out);
	return rc;
}

void socket_table_free(struct socket_table *t)
{
	for (size_t i = 0; i < t->len; i++)
		free(t->data[i].path);
	free(t->data);
	*t = (struct socket_table){0};
}

int proc_fd_target(int os_pid, int fd, char *buf, size_t size)
{
	char path[64];
	ssize_t n;

	snprintf(path, sizeof(path), "/proc/%d/fd/%d", os_pid, fd);
	n = readlink(path, buf, size - 1);
	if (n < 0) {
		buf[0] = '\0';
		return -errno;
	}
	buf[n] = '\0';
	return 0;
}

uint64_t socket_inode(const char *target)
{
	uint64_t inode;
	char end;

	return sscanf(target, "socket:[%" SCNu64 "%c", &inode, &end) == 2 && end == ']' ? inode : 0;
}

bool proc_same_network(int os_pid)
{
	struct stat mine, theirs;
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/ns/net", os_pid);
	return stat("/proc/self/ns/net", &mine) == 0 && stat(path, &theirs) == 0 &&
	       mine.st_dev == theirs.st_dev && mine.st_ino == theirs.st_ino;
}
