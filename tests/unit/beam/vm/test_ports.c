/* SPDX-License-Identifier: BSD-2-Clause */
/* Ports of a made-up node: what is read of them, which are left out, and whatever is damaged. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "base/compiler.h"
#include "beam/vm/ports.h"
#include "lib/fakenode.h"
#include "lib/mem_faulty.h"

#define SLOTS  1024
#define PID(i) (((uint64_t)(i) << 4) | 3)

struct world {
	struct fakenode *f;
	raddr tab, driver[3];
};

static raddr text(struct fakenode *f, const char *s)
{
	raddr at = image_alloc(f->im, strlen(s) + 1);

	image_put(f->im, at, s, strlen(s) + 1);
	return at;
}

static struct world *open_world(int otp)
{
	static const char *const drivers[] = {"spawn", "tcp_inet", "forker"};
	struct world *w = calloc(1, sizeof(*w));
	const struct beam_layout *l;

	w->f = fakenode_open(otp);
	l = &w->f->node.layout;
	w->tab = image_alloc(w->f->im, 8 * SLOTS);
	fakenode_ptab(w->f, w->f->node.anchors.port_tab, 10, 3);
	image_u32(w->f->im, w->f->node.anchors.port_tab + (raddr)l->ptab_max, SLOTS);
	image_u64(w->f->im, w->f->node.anchors.port_tab + (raddr)l->ptab_tab, w->tab);
	image_u64(w->f->im, w->f->node.anchors.port_tab + (raddr)l->ptab_invalid_element, 0xdead0);
	for (size_t i = 0; i < ARRAY_SIZE(drivers); i++) {
		w->driver[i] = image_alloc(w->f->im, 64);
		image_u64(w->f->im, w->driver[i] + (raddr)l->driver_name, text(w->f, drivers[i]));
	}
	return w;
}

static void close_world(struct world *w)
{
	fakenode_close(w->f);
	free(w);
}

/* The slot and the term of #Port<0.number>. */
static uint32_t slot_of(uint64_t number)
{
	return (uint32_t)(((number & 127) << 3) | ((number >> 7) & 7));
}

static uint64_t port_term(const struct world *w, uint64_t number)
{
	if (w->f->node.identity.otp < 26)
		return ((uint64_t)slot_of(number) << 32) | number << 4 | 7;
	return ((number & ~(uint64_t)(SLOTS - 1)) | slot_of(number)) << 4 | 7;
}

static raddr add_port(struct world *w, uint64_t number, const char *name, unsigned int driver)
{
	const struct beam_layout *l = &w->f->node.layout;
	struct image *im = w->f->im;
	raddr p = image_alloc(im, (size_t)l->port_size);

	image_u64(im, p + (raddr)l->port_id, port_term(w, number));
	image_u64(im, p + (raddr)l->port_connected, PID(number + 100));
	image_u64(im, p + (raddr)l->port_bytes_in, number * 10);
	image_u64(im, p + (raddr)l->port_bytes_out, number * 20);
	image_u64(im, p + (raddr)l->port_ioq_size, number * 30);
	image_u64(im, p + (raddr)l->port_name, text(w->f, name));
	image_u64(im, p + (raddr)l->port_drv_ptr, w->driver[driver]);
	image_u64(im, p + (raddr)l->port_os_pid, UINT64_MAX);
	image_u64(im, p + (raddr)l->port_data, 0xb);
	image_u64(im, w->tab + 8 * (raddr)slot_of(number), p);
	return p;
}

static void read_ports(struct world *w, struct port_list *l)
{
	struct error err;

	assert_int_equal(ports_read(&w->f->node, l, &err), 0);
}

static raddr link_to(struct world *w, uint64_t item)
{
	const struct beam_layout *l = &w->f->node.layout;
	raddr a = image_alloc(w->f->im, (size_t)l->link_size + 8);

	image_u64(w->f->im, a + (raddr)l->link_item, item);
	image_u32(w->f->im, a + (raddr)l->link_flags,
		  w->f->node.identity.otp >= 28 ? 10 : 10 << 16);
	return a;
}

static void test_facts(void **state)
{
	static const int releases[] = {24, 25, 27, 29};
	char long_name[1000];

	(void)state;
	memset(long_name, 'x', sizeof(long_name) - 1);
	long_name[sizeof(long_name) - 1] = '\0';
	for (size_t i = 0; i < ARRAY_SIZE(releases); i++) {
		struct world *w = open_world(releases[i]);
		const struct beam_layout *l = &w->f->node.layout;
		raddr p, reg = image_alloc(w->f->im, 64), line = image_alloc(w->f->im, 40);
		struct port_list list;

		add_port(w, 5 + 7 * SLOTS, "second time round", 2);
		p = add_port(w, 9, long_name, 2);
		image_u64(w->f->im, p + (raddr)l->port_os_pid, 4711);
		image_u64(w->f->im, p + (raddr)l->port_reg, reg);
		image_u64(w->f->im, reg + (raddr)l->regproc_pt, p);
		image_u64(w->f->im, reg + (raddr)l->regproc_name, fakenode_atom(w->f, "a_port"));
		image_u64(w->f->im, p + (raddr)l->port_linebuf, line);
		image_u64(w->f->im, line + 16, 200);
		image_u64(w->f->im, p + (raddr)l->port_links, link_to(w, PID(77)));
		image_u32(w->f->im, p + (raddr)l->port_state, PORT_STATE_CLOSING);
		image_u32(w->f->im, p + (raddr)l->port_sched_flags, PORT_TASK_BUSY_PORT_Q);
		add_port(w, 3, "", 2);
		p = add_port(w, 4, "not yet", 2);
		image_u32(w->f->im, p + (raddr)l->port_state, PORT_STATE_INITIALIZING);
		image_u64(w->f->im, w->tab + 8 * 11, 0xdead0);
		read_ports(w, &list);
		assert_int_equal(list.len, 3);
		assert_int_equal(list.vanished, 1);
		assert_int_equal(list.torn, 0);
		assert_int_equal(list.data[0].number, 3);
		assert_string_equal(list.data[0].name, "");
		assert_int_equal(list.data[0].os_pid, -1);
		assert_true(list.data[0].memory_known);
		assert_int_equal(list.data[0].memory, 0);
		assert_int_equal(list.data[1].number, 5 + 7 * SLOTS);
		assert_int_equal(list.data[1].slot, slot_of(5));
		assert_int_equal(list.data[2].number, 9);
		assert_string_equal(list.data[2].name, long_name);
		assert_string_equal(list.data[2].driver, "forker");
		assert_int_equal(list.data[2].connected, PID(109));
		assert_int_equal(list.data[2].bytes_in, 90);
		assert_int_equal(list.data[2].bytes_out, 180);
		assert_int_equal(list.data[2].queue_size, 270);
		assert_int_equal(list.data[2].os_pid, 4711);
		assert_int_equal(list.data[2].registered, fakenode_atom(w->f, "a_port"));
		assert_int_equal(list.data[2].links.len, 1);
		assert_int_equal(list.terms.data[list.data[2].links.first], PID(77));
		assert_int_equal(list.data[2].memory, 32 + 200 + (uint64_t)l->link_size);
		assert_true(port_is_busy(&list.data[2]));
		assert_int_equal(list.data[2].state, PORT_STATE_CLOSING);
		assert_int_equal(list.data[2].fd_kind, PORT_FD_NONE);
		port_list_free(&list);
		close_world(w);
	}
}

static void put_inet(struct world *w, raddr at, raddr port, uint64_t id, int fd, int event)
{
	image_u32(w->f->im, at, (uint32_t)fd);
	image_u32(w->f->im, at + 4, 0x5555); /* padding */
	image_u64(w->f->im, at + 8, (uint64_t)(int64_t)event);
	image_u64(w->f->im, at + 24, port);
	image_u64(w->f->im, at + 32, id);
	image_u32(w->f->im, at + 40, PORT_INET_OPEN | PORT_INET_LISTEN);
}

static void test_inet(void **state)
{
	struct world *w = open_world(27);
	const struct beam_layout *l = &w->f->node.layout;
	raddr p = add_port(w, 1, "tcp_inet", 1), d = image_alloc(w->f->im, 48);
	const struct {
		raddr port;
		uint64_t id;
		int fd, event;
		bool ok;
	} cases[] = {
		{p, port_term(w, 1), 17, 17, true},	 {p, port_term(w, 2), 17, 17, false},
		{p + 8, port_term(w, 1), 17, 17, false}, {p, port_term(w, 1), 17, 18, false},
		{p, port_term(w, 1), -1, -1, false},
	};

	(void)state;
	image_u64(w->f->im, p + (raddr)l->port_drv_data, d);
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct port_list list;

		put_inet(w, d, cases[i].port, cases[i].id, cases[i].fd, cases[i].event);
		read_ports(w, &list);
		assert_int_equal(list.len, 1);
		assert_int_equal(list.data[0].fd_kind, cases[i].ok ? PORT_FD_INET : PORT_FD_NONE);
		assert_int_equal(list.data[0].fds[0], cases[i].ok ? 17 : -1);
		if (cases[i].ok)
			assert_int_equal(list.data[0].inet_state,
					 PORT_INET_OPEN | PORT_INET_LISTEN);
		port_list_free(&list);
	}
	image_u64(w->f->im, p + (raddr)l->port_drv_data, 0x1000);
	{
		struct port_list list;

		read_ports(w, &list);
		assert_int_equal(list.data[0].fd_kind, PORT_FD_NONE);
		assert_false(list.data[0].torn);
		port_list_free(&list);
	}
	close_world(w);
}

static void test_streams(void **state)
{
	struct world *w = open_world(25);
	const struct beam_layout *l = &w->f->node.layout;
	raddr p = add_port(w, 1, "cat", 0), d = image_alloc(w->f->im, 160), far;
	const struct {
		raddr port, out, in;
		int fds[2];
	} cases[] = {
		{p, d + 120, d + 80, {5, 6}}, {p, 0, d + 80, {5, -1}},
		{p, d + 120, 0, {-1, 6}},     {p, d + 80, d + 80, {5, 5}},
		{p, 0, 0, {-1, -1}},	      {p + 8, d + 120, d + 80, {-1, -1}},
		{p, d + 500, 0, {-1, -1}},    {p, d - 8, d + 80, {-1, -1}},
	};

	(void)state;
	far = image_alloc(w->f->im, 8);
	assert_true(far > d);
	image_u64(w->f->im, p + (raddr)l->port_drv_data, d);
	image_u32(w->f->im, d + 80, 5);
	image_u32(w->f->im, d + 120, 6);
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct port_list list;

		image_u64(w->f->im, d, cases[i].port);
		image_u64(w->f->im, d + 8, cases[i].out);
		image_u64(w->f->im, d + 16, cases[i].in);
		read_ports(w, &list);
		assert_int_equal(list.data[0].fds[0], cases[i].fds[0]);
		assert_int_equal(list.data[0].fds[1], cases[i].fds[1]);
		port_list_free(&list);
	}
	close_world(w);
}

static void test_suspended(void **state)
{
	struct world *w = open_world(29);
	const struct beam_layout *l = &w->f->node.layout;
	raddr p = add_port(w, 1, "cat", 0), a = image_alloc(w->f->im, 32),
	      b = image_alloc(w->f->im, 32);
	struct port_list list;

	(void)state;
	image_u64(w->f->im, p + (raddr)l->port_suspended, a);
	image_u64(w->f->im, a, PID(9));
	image_u64(w->f->im, a + 16, b);
	image_u64(w->f->im, b, PID(8));
	image_u64(w->f->im, b + 16, a);
	read_ports(w, &list);
	assert_int_equal(list.data[0].suspended.len, 2);
	assert_int_equal(list.terms.data[list.data[0].suspended.first], PID(9));
	assert_int_equal(list.terms.data[list.data[0].suspended.first + 1], PID(8));
	port_list_free(&list);
	image_u64(w->f->im, b + 16, b); /* a ring that does not lead back */
	read_ports(w, &list);
	assert_int_equal(list.data[0].suspended.len, 1000);
	assert_int_equal(list.cut, 1);
	port_list_free(&list);
	image_u64(w->f->im, b, 0x1234);
	read_ports(w, &list);
	assert_true(list.data[0].torn);
	assert_int_equal(list.torn, 1);
	port_list_free(&list);
	close_world(w);
}

static void test_damage(void **state)
{
	struct world *w = open_world(27);
	const struct beam_layout *l = &w->f->node.layout;
	raddr a = add_port(w, 1, "a", 0), b = add_port(w, 2, "b", 0), c = add_port(w, 3, "c", 0),
	      d = add_port(w, 4, "d", 0), e = add_port(w, 5, "e", 0);
	struct port_list list;

	(void)state;
	image_u64(w->f->im, a + (raddr)l->port_id, port_term(w, 7)); /* of another slot */
	image_u64(w->f->im, b + (raddr)l->port_id, PID(2));
	image_u64(w->f->im, c + (raddr)l->port_name, 0x1000);
	image_u64(w->f->im, d + (raddr)l->port_drv_ptr, 0x1000);
	image_u64(w->f->im, e + (raddr)l->port_reg, 0x1000);
	image_u64(w->f->im, w->tab + 8 * 77, 0x1000); /* a slot that leads nowhere */
	read_ports(w, &list);
	assert_int_equal(list.len, 3);
	assert_int_equal(list.torn, 3);
	assert_int_equal(list.vanished, 3);
	for (size_t i = 0; i < list.len; i++)
		assert_int_equal(list.data[i].number, 3 + i);
	port_list_free(&list);
	image_u64(w->f->im, w->f->node.anchors.port_tab + (raddr)l->ptab_tab, 0x1000);
	assert_int_not_equal(ports_read(&w->f->node, &list, NULL), 0);
	image_u32(w->f->im, w->f->node.anchors.port_tab + (raddr)l->ptab_max, UINT32_MAX);
	assert_int_not_equal(ports_read(&w->f->node, &list, NULL), 0);
	close_world(w);
}

/* Whichever read fails: no crash, no port twice, and none that is wrong without a mark. */
static void test_faults(void **state)
{
	struct world *w = open_world(25);
	const struct beam_layout *l = &w->f->node.layout;
	raddr p = add_port(w, 1, "cat", 0), d = image_alloc(w->f->im, 160);
	struct mem *whole = w->f->node.mem;
	struct port_list list;
	uint64_t nth = 0;
	int rc;
	bool same;

	(void)state;
	add_port(w, 2, "other", 2);
	image_u64(w->f->im, p + (raddr)l->port_links, link_to(w, PID(77)));
	image_u64(w->f->im, p + (raddr)l->port_drv_data, d);
	image_u64(w->f->im, d, p);
	image_u64(w->f->im, d + 16, d + 80);
	do {
		w->f->node.mem = mem_open_faulty(whole, 0, 0, ++nth);
		rc = ports_read(&w->f->node, &list, NULL);
		mem_close(w->f->node.mem);
		w->f->node.mem = whole;
		assert_true(list.len <= 2);
		same = rc == 0 && list.len == 2 && !list.torn;
		for (size_t i = 0; i < list.len; i++)
			assert_true(list.data[i].torn || strlen(list.data[i].name) > 2);
		port_list_free(&list);
	} while (nth < 40);
	assert_true(same); /* there are not so many reads */
	close_world(w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_facts),	cmocka_unit_test(test_inet),
		cmocka_unit_test(test_streams), cmocka_unit_test(test_suspended),
		cmocka_unit_test(test_damage),	cmocka_unit_test(test_faults),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
