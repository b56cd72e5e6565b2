/* SPDX-License-Identifier: BSD-2-Clause */
/* Tables of sockets as the kernel writes them, and lines that are none; sockets of this process. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/compiler.h"
#include "target/sockets.h"

#define HEADING                                                                                    \
	"  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid\n"

static const char tcp[] = HEADING "   0: 0100007F:1F90 00000000:0000 0A 00000000:00000003 "
				  "00:00000000 00000000     0        0 "
				  "501 1 0000000000000000 100 0 0 10 0\n"
				  "   1: 0100007F:1F90 0200007F:C350 01 000004D2:0000FFFF "
				  "01:00000014 00000000  1000        0 "
				  "500 2 0000000000000000 20 4 31 10 -1\n"
				  "   2: 0100007F:1F90 0200007F:C351 06 00000000:00000000 "
				  "03:00000ABC 00000000     0        0 "
				  "0 3 0000000000000000\n";
static const char tcp6[] = HEADING
	"   0: 00000000000000000000000001000000:1F90 00000000000000000000000000000000:0000 0A "
	"00000000:00000000 00:00000000 00000000     0        0 600 1 0000000000000000 100 0 0 10 "
	"0\n"
	"   1: 0000000000000000FFFF00000100007F:1F90 0000000000000000FFFF00000200007F:0001 08 "
	"00000000:00000001 00:00000000 00000000     0        0 601 1 0000000000000000 20 0 0 10 "
	"-1\n";
static const char udp[] = HEADING " 1234: 00000000:14E9 00000000:0000 07 00000000:00000340 "
				  "00:00000000 00000000   105        0 "
				  "700 2 0000000000000000 0\n"
				  " 1235: 0100007F:14E9 0100007F:0035 01 00000000:00000000 "
				  "00:00000000 00000000   105        0 "
				  "701 2 0000000000000000 0\n";
static const char unix_table[] =
	"Num       RefCount Protocol Flags    Type St Inode Path\n"
	"0000000000000000: 00000002 00000000 00010000 0001 01   800 /run/a b.sock\n"
	"0000000000000000: 00000003 00000000 00000000 0001 03   801\n"
	"0000000000000000: 00000002 00000000 00000000 0002 01   802 @abstract\n";

struct expect {
	uint64_t inode;
	const char *state, *local, *peer;
	uint64_t recv_q, send_q;
	bool has_queues;
};

static void check(const struct socket_table *t, const struct expect *e)
{
	const struct socket_info *s = socket_find(t, e->inode);
	char buf[128];

	assert_non_null(s);
	assert_string_equal(socket_state_name(s), e->state);
	assert_string_equal(socket_local(s, buf, sizeof(buf)), e->local);
	assert_string_equal(socket_peer(s, buf, sizeof(buf)), e->peer);
	assert_int_equal(s->has_queues, e->has_queues);
	assert_int_equal(s->recv_q, e->recv_q);
	assert_int_equal(s->send_q, e->send_q);
}

static void test_tables(void **state)
{
	static const struct expect all[] = {
		{501, "listen", "127.0.0.1:8080", "", 3, 0, true},
		{500, "established", "127.0.0.1:8080", "127.0.0.2:50000", 65535, 1234, true},
		{600, "listen", "[::1]:8080", "", 0, 0, true},
		{601, "close_wait", "[::ffff:127.0.0.1]:8080", "[::ffff:127.0.0.2]:1", 1, 0, true},
		{700, "open", "0.0.0.0:5353", "", 832, 0, true},
		{701, "established", "127.0.0.1:5353", "127.0.0.1:53", 0, 0, true},
		{800, "listen", "/run/a b.sock", "", 0, 0, false},
		{801, "connected", "", "", 0, 0, false},
		{802, "unconnected", "@abstract", "", 0, 0, false},
	};
	struct socket_table t = {0};

	(void)state;
	assert_int_equal(sockets_parse(&t, SOCKET_TCP, tcp), 0);
	assert_int_equal(sockets_parse(&t, SOCKET_TCP6, tcp6), 0);
	assert_int_equal(sockets_parse(&t, SOCKET_UDP, udp), 0);
	assert_int_equal(sockets_parse(&t, SOCKET_UNIX, unix_table), 0);
	sockets_sort(&t);
	assert_int_equal(t.len, 10);
	for (size_t i = 0; i < ARRAY_SIZE(all); i++)
		check(&t, &all[i]);
	/* One that only waits for its end belongs to nobody. */
	assert_null(socket_find(&t, 0));
	assert_null(socket_find(&t, 502));
	assert_string_equal(socket_protocol_name(socket_find(&t, 600)->protocol), "tcp");
	socket_table_free(&t);
	assert_null(socket_find(&t, 500));
}

static void test_bad_lines(void **state)
{
	static const char *const lines[] = {
		"garbage\n",
		"   0: 0100007F:1F90 00000000:0000 0A\n",
		"   0: 0100007:1F90 00000000:0000 0A 0:3 00:0 0 0 0 501 1\n",
		"   0: 0100007G:1F90 00000000:0000 0A 0:3 00:0 0 0 0 501 1\n",
		"   0: 0100007F1F90 00000000:0000 0A 0:3 00:0 0 0 0 501 1\n",
		"   0: 0100007F:1F90 00000000:0000 FFFF 0:3 00:0 0 0 0 501 1\n",
	};
	struct socket_table t = {0};
	char text[512];

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(lines); i++) {
		snprintf(text, sizeof(text), "%s%s", HEADING, lines[i]);
		assert_int_equal(sockets_parse(&t, SOCKET_TCP, text), 1);
		assert_int_equal(sockets_parse(&t, SOCKET_UNIX, text), 1);
	}
	assert_int_equal(t.len, 0);
	assert_int_equal(sockets_parse(&t, SOCKET_TCP, ""), 0);
	/* every length of a good table: no crash, and never more sockets than lines */
	for (size_t len = 0; len <= strlen(tcp); len++) {
		char *cut = strndup(tcp, len);

		sockets_parse(&t, SOCKET_TCP, cut);
		free(cut);
	}
	socket_table_free(&t);
}

static void test_inode(void **state)
{
	(void)state;
	assert_int_equal(socket_inode("socket:[1234]"), 1234);
	assert_int_equal(socket_inode("socket:[1234"), 0);
	assert_int_equal(socket_inode("pipe:[1234]"), 0);
	assert_int_equal(socket_inode("socket:[x]"), 0);
	assert_int_equal(socket_inode(""), 0);
}

static void test_own_sockets(void **state)
{
	struct sockaddr_in addr = {.sin_family = AF_INET};
	socklen_t len = sizeof(addr);
	const struct socket_info *s;
	struct socket_table t;
	char target[64], expect[64], got[64];
	int fd = socket(AF_INET, SOCK_STREAM, 0);

	(void)state;
	addr.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	if (fd < 0 || bind(fd, (struct sockaddr *)&addr, len) != 0 || listen(fd, 1) != 0 ||
	    access("/proc/self/net/tcp", R_OK) != 0)
		skip();
	assert_int_equal(getsockname(fd, (struct sockaddr *)&addr, &len), 0);
	assert_int_equal(proc_fd_target(getpid(), fd, target, sizeof(target)), 0);
	assert_int_equal(sockets_read(&t, getpid()), 0);
	s = socket_find(&t, socket_inode(target));
	assert_non_null(s);
	snprintf(expect, sizeof(expect), "127.0.0.1:%u", ntohs(addr.sin_port));
	assert_string_equal(socket_local(s, got, sizeof(got)), expect);
	assert_string_equal(socket_state_name(s), "listen");
	assert_true(s->listening);
	assert_true(proc_same_network(getpid()));
	socket_table_free(&t);
	close(fd);
	assert_int_not_equal(proc_fd_target(getpid(), fd, target, sizeof(target)), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_tables),
		cmocka_unit_test(test_bad_lines),
		cmocka_unit_test(test_inode),
		cmocka_unit_test(test_own_sockets),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
