/* SPDX-License-Identifier: BSD-2-Clause */
/* Places of locks in made-up memory: of tables, ports and their drivers, allocators. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "base/compiler.h"
#include "beam/vm/lock_places.h"
#include "beam/vm/ports.h"
#include "lib/etsfix.h"
#include "lib/mem_faulty.h"

#define PORT_SLOTS 1024

static const char *name_at(struct lock_places *l, raddr at)
{
	const struct lock_place *p = lock_places_find(l, at);

	return p ? p->name : "-";
}

static raddr add_text(struct etsfix *w, const char *s)
{
	raddr at = image_alloc(w->f->im, strlen(s) + 1);

	image_put(w->f->im, at, s, strlen(s) + 1);
	return at;
}

/* #Port<0.number>, with a lock of its own or with that of its driver. */
static void add_port(struct etsfix *w, raddr tab, uint64_t number, raddr driver, raddr lock,
		     uint32_t state)
{
	const struct beam_layout *l = etsfix_layout(w);
	uint64_t slot = ((number & 127) << 3) | ((number >> 7) & 7);
	raddr p = image_alloc(w->f->im, (size_t)l->port_size);

	etsfix_u64(w, p, l->port_id,
		   w->f->node.identity.otp < 26 ? slot << 32 | number << 4 | 7 : slot << 4 | 7);
	etsfix_u64(w, p, l->port_connected, 0x43);
	etsfix_u64(w, p, l->port_drv_ptr, driver);
	etsfix_u64(w, p, l->port_name, add_text(w, "name"));
	etsfix_u64(w, p, l->port_data, 0xb);
	etsfix_u32(w, p, l->port_state, state);
	etsfix_u64(w, p, l->port_lock, lock);
	image_u64(w->f->im, tab + 8 * slot, p);
}

static void add_ports(struct etsfix *w, raddr own, raddr of_driver)
{
	const struct beam_layout *l = etsfix_layout(w);
	raddr tab = image_alloc(w->f->im, 8 * PORT_SLOTS), driver = image_alloc(w->f->im, 64);

	fakenode_ptab(w->f, w->f->node.anchors.port_tab, 10, 3);
	etsfix_u32(w, w->f->node.anchors.port_tab, l->ptab_max, PORT_SLOTS);
	etsfix_u64(w, w->f->node.anchors.port_tab, l->ptab_tab, tab);
	etsfix_u64(w, w->f->node.anchors.port_tab, l->ptab_invalid_element, 0xdead0);
	etsfix_u64(w, driver, l->driver_name, add_text(w, "tcp_inet"));
	add_port(w, tab, 5, driver, own, PORT_STATE_PORT_SPECIFIC_LOCK);
	add_port(w, tab, 6, driver, of_driver, 0);
}

static void test_names(void **state)
{
	struct etsfix *w = *state;
	const struct beam_layout *l = etsfix_layout(w);
	raddr own = image_alloc(w->f->im, 64), of_driver = image_alloc(w->f->im, 64);
	raddr fine_locks = image_alloc(w->f->im, 4 * 128), tables[3];
	struct lock_places *p;

	tables[0] = etsfix_make(w, "named", SET | ETS_STATUS_NAMED, 0, 0);
	tables[1] = etsfix_make(w, "fine", SET | ETS_STATUS_NAMED | ETS_STATUS_FINE_LOCKED, 0, 0);
	tables[2] = etsfix_make(w, "other", SET, 0, 0);
	etsfix_u32(w, tables[1], l->ets_hash_nlocks, 4);
	etsfix_u64(w, tables[1], l->ets_hash_locks, fine_locks);
	etsfix_link(w, 0, tables, 3);
	add_ports(w, own, of_driver);
	p = lock_places_open(&w->f->node);

	assert_string_equal(name_at(p, tables[0] + (raddr)l->ets_rwlock), "ets table named");
	assert_string_equal(name_at(p, tables[0] + (raddr)l->ets_fixlock), "ets table named");
	assert_string_equal(name_at(p, tables[0] + (raddr)l->ets_rwlock - 8), "-");
	assert_string_equal(name_at(p, fine_locks), "ets table fine");
	assert_string_equal(name_at(p, fine_locks + 3 * 128 + 48), "ets table fine");
	assert_string_equal(name_at(p, fine_locks + 4 * 128), "-");
	assert_string_equal(name_at(p, tables[2] + (raddr)l->ets_rwlock),
			    "ets table other #Ref<0.11.22.33>");
	assert_int_equal(lock_places_find(p, fine_locks)->lock_class, LOCK_CLASS_ETS);
	assert_string_equal(name_at(p, own), "port #Port<0.5> tcp_inet");
	assert_string_equal(name_at(p, of_driver), "driver tcp_inet");
	assert_int_equal(lock_places_find(p, own)->lock_class, LOCK_CLASS_PORT);
	assert_string_equal(name_at(p, 0), "-");
	assert_string_equal(name_at(p, UINT64_MAX), "-");
	lock_places_close(p);
}

/* What cannot be read has no place; all else has. */
static void test_damage(void **state)
{
	struct etsfix *w = *state;
	const struct beam_layout *l = etsfix_layout(w);
	raddr table =
		etsfix_make(w, "named", SET | ETS_STATUS_NAMED | ETS_STATUS_FINE_LOCKED, 0, 0);
	struct mem *whole = w->f->node.mem;
	struct lock_places *p;

	etsfix_u32(w, table, l->ets_hash_nlocks, UINT32_MAX);
	etsfix_u64(w, table, l->ets_hash_locks, UINT64_MAX - 64);
	etsfix_link(w, 0, &table, 1);
	p = lock_places_open(&w->f->node);
	assert_string_equal(name_at(p, table + (raddr)l->ets_rwlock), "ets table named");
	assert_string_equal(name_at(p, UINT64_MAX - 32), "-");
	lock_places_close(p);
	for (uint64_t nth = 1; nth < 200; nth++) {
		w->f->node.mem = mem_open_faulty(whole, 0, 0, nth);
		p = lock_places_open(&w->f->node);
		name_at(p, table + (raddr)l->ets_rwlock);
		lock_places_close(p);
		mem_close(w->f->node.mem);
	}
	w->f->node.mem = whole;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		ETSFIX_TEST(test_names, 25),
		ETSFIX_TEST(test_names, 27),
		ETSFIX_TEST(test_names, 29),
		ETSFIX_TEST(test_damage, 27),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
