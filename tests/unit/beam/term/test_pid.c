/* SPDX-License-Identifier: BSD-2-Clause */
/* Identifiers: words of real nodes (OTP 25 and 27, several +P) with what those nodes printed. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <string.h>

#include "abi/vm.h"
#include "base/compiler.h"
#include "beam/term/pid.h"
#include "lib/fakenode.h"
#include "lib/mem_faulty.h"

/* Read from erts_proc and erts_port of the nodes; the text is io:format("~p") of the same node. */
static const struct {
	int otp;
	unsigned int bits; /* +P 2^bits */
	uint64_t term;
	const char *text;
} pids[] = {
	{25, 10, 0x3, "<0.0.0>"},
	{25, 10, 0x278000004f3, "<0.79.0>"},
	{25, 10, 0x940007a123, "<0.31250.0>"},
	{25, 10, 0x39f000f3f33, "<0.29683.1>"},
	{25, 18, 0x278000004f3, "<0.79.0>"},
	{25, 18, 0x21d01000c3a03, "<0.17312.1>"},
	{25, 18, 0x378b00186f13, "<0.1777.3>"},
	{25, 27, 0x24a18000494303, "<0.5168.9>"},
	{25, 27, 0x49408800928113, "<0.10257.18>"},
	{27, 10, 0x3, "<0.0.0>"},
	{27, 10, 0x2983, "<0.83.0>"},
	{27, 10, 0xa1263, "<0.41764.0>"},
	{27, 10, 0x1463c3, "<0.83527.0>"},
	{27, 11, 0x4ad343, "<0.306342.0>"},
	{27, 11, 0x95dc13, "<0.612792.0>"},
	{27, 20, 0x2983, "<0.83.0>"},
	{27, 20, 0xa14a73, "<0.1000084.0>"},
	{27, 20, 0x1427ff3, "<0.2000127.0>"},
	{27, 27, 0x2983, "<0.83.0>"},
	{27, 27, 0xc37a03, "<0.100084.0>"},
	{27, 27, 0x186ca83, "<0.200085.0>"},
	/* The serial needs 2^28 processes: not waited for.  Above the table's bits a word of
	 * OTP 26 and later holds its data as it is. */
	{27, 20, 0xa14a73 | 1ull << 32, "<0.1000084.1>"},
	{27, 20, 0xa14a73 | 5ull << 32, "<0.1000084.5>"},
};

static const struct {
	int otp;
	uint64_t term;
	const char *text;
} ports[] = {
	{25, 0x7, "#Port<0.0>"},	  {25, 0x1800000037, "#Port<0.3>"},
	{25, 0x2000000047, "#Port<0.4>"}, {25, 0x2800000057, "#Port<0.5>"},
	{25, 0x3000000067, "#Port<0.6>"}, {27, 0x7, "#Port<0.0>"},
	{27, 0x87, "#Port<0.1>"},	  {27, 0x207, "#Port<0.4>"},
	{27, 0x287, "#Port<0.5>"},
};

static void test_pids(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(pids); i++) {
		struct fakenode *f = fakenode_open(pids[i].otp);
		raddr table = f->node.anchors.proc_tab;
		struct id_format format;
		char buf[64];

		fakenode_ptab(f, table, pids[i].bits, 3);
		assert_int_equal(
			id_format_read(&format, f->node.mem, &f->node.layout, table, pids[i].otp),
			0);
		assert_true(TERM_IS_PID(pids[i].term));
		assert_string_equal(pid_format(&format, pids[i].term, buf, sizeof(buf)),
				    pids[i].text);
		fakenode_close(f);
	}
}

static void test_ports(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(ports); i++) {
		struct fakenode *f = fakenode_open(ports[i].otp);
		raddr table = f->node.anchors.port_tab;
		struct id_format format;
		char buf[64];

		fakenode_ptab(f, table, 10, 3); /* +Q 1024 */
		assert_int_equal(
			id_format_read(&format, f->node.mem, &f->node.layout, table, ports[i].otp),
			0);
		assert_true(TERM_IS_PORT(ports[i].term));
		assert_string_equal(port_format(&format, ports[i].term, buf, sizeof(buf)),
				    ports[i].text);
		fakenode_close(f);
	}
}

/* Whatever the node says, nothing is shifted too far and no buffer overflows. */
static void test_texts(void **state)
{
	static const char *const wrong[] = {"",		"<>",	     "<0.80>",	  "<1.80.0>",
					    "<0.80.0",	"0.80.0>",   "<0.80.0>>", "<0.80.0> ",
					    "<0.-1.0>", "<0. 8.0>",  "<0.80.0>1", "<0..0>",
					    "init",	"#Port<0.5>"};
	uint64_t number, serial;

	(void)state;
	assert_true(pid_parse("<0.80.7>", &number, &serial));
	assert_int_equal(number, 80);
	assert_int_equal(serial, 7);
	assert_true(pid_parse("0.0.0", &number, &serial));
	assert_int_equal(number + serial, 0);
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
		assert_false(pid_parse(wrong[i], &number, &serial));
}

static void test_garbage(void **state)
{
	struct fakenode *f = fakenode_open(27);
	raddr table = f->node.anchors.proc_tab;
	struct id_format format;
	char buf[8];

	(void)state;
	for (uint32_t i = 0; i < 320; i += 4)
		image_u32(f->im, table + i, UINT32_MAX);
	assert_int_equal(id_format_read(&format, f->node.mem, &f->node.layout, table, 27), 0);
	assert_true(format.cl_shift < 64 && format.cli_shift < 64);
	assert_int_equal(strlen(pid_format(&format, UINT64_MAX, buf, sizeof(buf))),
			 sizeof(buf) - 1);
	assert_memory_equal(buf, "<0.", 3);
	assert_string_equal(port_format(&format, UINT64_MAX, buf, sizeof(buf)), "#Port<0");
	fakenode_close(f);
}

static void test_faults(void **state)
{
	static const int releases[] = {24, 25, 27, 29};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(releases); i++) {
		struct fakenode *f = fakenode_open(releases[i]);
		raddr table = f->node.anchors.proc_tab;
		struct id_format format;
		struct mem *faulty;
		uint64_t nth = 0;
		int rc;

		do {
			faulty = mem_open_faulty(f->node.mem, 0, 0, ++nth);
			rc = id_format_read(&format, faulty, &f->node.layout, table, releases[i]);
			mem_close(faulty);
			assert_true(rc == 0 || rc == -EFAULT);
		} while (rc);
		assert_int_equal(nth, 6); /* one more than there are constants */
		fakenode_close(f);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_pids),   cmocka_unit_test(test_ports),
		cmocka_unit_test(test_texts),  cmocka_unit_test(test_garbage),
		cmocka_unit_test(test_faults),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
