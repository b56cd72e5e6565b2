/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The kernel that the BPF sources see when they are compiled for the host (BPF_HOST_TEST): types,
 * map declarations and helpers.  User memory is a set of segments at made-up addresses; everything
 * outside them faults, and so does what the test asks for: the nth read, or each read that touches
 * one byte.  All state is in `host`; host_reset() frees it.
 */
#ifndef BPF_HOST_H
#define BPF_HOST_H

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

/* ---- types and constants of the kernel ---------------------------------------------------- */

enum {
	BPF_MAP_TYPE_HASH = 1,
	BPF_MAP_TYPE_ARRAY = 2,
	BPF_MAP_TYPE_PROG_ARRAY = 3,
	BPF_MAP_TYPE_PERCPU_ARRAY = 6,
	BPF_MAP_TYPE_LRU_HASH = 9,
	BPF_MAP_TYPE_ARRAY_OF_MAPS = 12,
	BPF_MAP_TYPE_RINGBUF = 27,
};
enum { BPF_ANY = 0, BPF_NOEXIST = 1 };
enum { BPF_RB_NO_WAKEUP = 1 };
enum { BPF_RB_AVAIL_DATA = 0, BPF_RB_RING_SIZE = 1 };

struct pt_regs {
	unsigned long r15, r14, r13, r12, bp, bx;
	unsigned long r11, r10, r9, r8, ax, cx, dx, si, di;
	unsigned long orig_ax, ip, cs, flags, sp, ss;
};

struct bpf_perf_event_data {
	struct pt_regs regs;
	uint64_t sample_period;
	uint64_t addr;
};

struct bpf_perf_event_value {
	uint64_t counter;
	uint64_t enabled;
	uint64_t running;
};

struct thread_struct {
	unsigned long fsbase;
};

struct task_struct {
	void *stack;
	struct thread_struct thread;
};

/* ---- what libbpf's headers give ----------------------------------------------------------- */

#define SEC(name)
#define __uint(name, val)	   int(*name)[val]
#define __type(name, val)	   typeof(val) *name
#define BPF_CORE_READ(from, field) ((from)->field)
#define bpf_core_type_size(type)   sizeof(type)

/* ---- the state ---------------------------------------------------------------------------- */

#define HOST_SEGMENTS 32
#define HOST_MAPS     20
#define HOST_RECORDS  4096
#define HOST_NO_LIMIT UINT64_MAX

struct host_segment {
	uint64_t start, size;
	uint8_t *bytes; /* a block of its own: AddressSanitizer watches its ends */
};

struct host_entry {
	void *key, *value;
};

struct host_map {
	const void *map;
	uint32_t type, key_size, value_size, max_entries;
	struct host_entry *entries; /* oldest first; an array has them all */
	uint32_t nr;
};

struct host_record {
	void *bytes;
	uint32_t size;
	bool submitted;
};

struct host {
	struct host_segment segments[HOST_SEGMENTS];
	unsigned int nr_segments;
	uint64_t reads;	      /* of user memory, so far */
	uint64_t fail_read;   /* this one fails, counted from 1; 0 = none */
	uint64_t fail_addr;   /* each read that touches this byte fails; 0 = none */
	uint64_t failed_addr; /* of the last read that failed */

	struct host_map maps[HOST_MAPS];
	unsigned int nr_maps;

	struct host_record records[HOST_RECORDS];
	unsigned int nr_records;
	uint64_t ring_room; /* records that still fit, HOST_NO_LIMIT = all */
	uint64_t ring_used; /* bytes of each ring that user space has yet to take */
	uint32_t nr_rings;  /* CPUs 0..nr_rings-1 have a ring */

	uint64_t now_ns;
	uint64_t tick_ns; /* what the clock goes on by each time it is read */
	uint64_t pid_tgid;
	uint32_t cpu;
	struct task_struct task;
	struct pt_regs task_regs;
	bool old_kernel; /* that lacks the helpers of struct kernel_helpers */
	uint64_t cookie;
	uint64_t perf_count; /* of the event that is hit; 0 = cannot be read */
	uint64_t perf_on_ns; /* for so long it has been enabled */
	uint64_t kernel_stack[128];
	long kernel_stack_size; /* bytes, or a negative errno */
};

static struct host host;

/* The kernel has the helpers of struct kernel_helpers, and the programs know, or not. */
#define HOST_KERNEL(recent)                                                                        \
	do {                                                                                       \
		host.old_kernel = !(recent);                                                       \
		config.kernel.task_btf = config.kernel.task_regs = config.kernel.cookies =         \
			(recent);                                                                  \
	} while (0)

/* ---- user memory -------------------------------------------------------------------------- */

static inline void host_add_memory(uint64_t start, uint64_t size)
{
	assert_true(host.nr_segments < HOST_SEGMENTS);
	host.segments[host.nr_segments++] =
		(struct host_segment){.start = start, .size = size, .bytes = calloc(1, size)};
}

/* Where these bytes of user memory stand on the host, NULL if not all are in one segment. */
static inline void *host_at(uint64_t addr, uint64_t size)
{
	for (unsigned int i = 0; i < host.nr_segments; i++) {
		struct host_segment *s = &host.segments[i];

		if (addr >= s->start && addr - s->start <= s->size &&
		    size <= s->size - (addr - s->start))
			return s->bytes + (addr - s->start);
	}
	return NULL;
}

static inline void host_put(uint64_t addr, const void *bytes, uint64_t size)
{
	void *to = host_at(addr, size);

	assert_non_null(to);
	memcpy(to, bytes, size);
}

static inline void host_put_u64(uint64_t addr, uint64_t value)
{
	host_put(addr, &value, sizeof(value));
}

static inline void host_put_u32(uint64_t addr, uint32_t value)
{
	host_put(addr, &value, sizeof(value));
}

/* As the kernel does: all or nothing, and nothing leaves zeros.  `room` is what the compiler knows
 * of the destination, SIZE_MAX = nothing. */
static inline long host_read_user(void *to, size_t room, uint64_t size, uint64_t addr)
{
	const void *from = host_at(addr, size);

	if (size > room)
		fail_msg("read of %lu bytes into %zu", (unsigned long)size, room);
	if (size == 0)
		return 0;
	host.reads++;
	if (host.fail_read && host.reads == host.fail_read)
		from = NULL;
	if (host.fail_addr >= addr && host.fail_addr - addr < size)
		from = NULL;
	if (from) {
		memcpy(to, from, size);
		return 0;
	}
	host.failed_addr = addr;
	memset(to, 0, size);
	return -EFAULT;
}

#define bpf_probe_read_user(to, size, from)                                                        \
	host_read_user((to), __builtin_object_size((to), 1), (size), (uint64_t)(from))

/* Up to and with the NUL, or `size` bytes of which the last is one; their number, or -EFAULT. */
static inline long bpf_probe_read_user_str(void *to, uint32_t size, const void *from)
{
	char *text = to;

	for (uint32_t i = 0; i < size; i++) {
		const char *c = host_at((uint64_t)from + i, 1);

		if (!c)
			return -EFAULT;
		text[i] = i + 1 < size ? *c : 0;
		if (!text[i])
			return i + 1;
	}
	return size;
}

/* ---- maps --------------------------------------------------------------------------------- */

static inline bool host_is_array(const struct host_map *m)
{
	return m->type == BPF_MAP_TYPE_ARRAY || m->type == BPF_MAP_TYPE_PERCPU_ARRAY;
}

static inline void host_append(struct host_map *m, const void *key, const void *value)
{
	struct host_entry *e;

	m->entries = realloc(m->entries, (m->nr + 1) * sizeof(*m->entries));
	e = &m->entries[m->nr++];
	e->key = malloc(m->key_size);
	e->value = calloc(1, m->value_size);
	memcpy(e->key, key, m->key_size);
	if (value)
		memcpy(e->value, value, m->value_size);
}

static inline void host_free_entries(struct host_map *m)
{
	for (uint32_t i = 0; i < m->nr; i++) {
		free(m->entries[i].key);
		free(m->entries[i].value);
	}
	free(m->entries);
	m->entries = NULL;
	m->nr = 0;
}

static inline struct host_map *host_map(const void *map)
{
	for (unsigned int i = 0; i < host.nr_maps; i++) {
		if (host.maps[i].map == map)
			return &host.maps[i];
	}
	fail_msg("the test does not know this map");
	return NULL;
}

static inline void host_add_map(struct host_map m)
{
	assert_true(host.nr_maps < HOST_MAPS);
	host.maps[host.nr_maps] = m;
	for (uint32_t i = 0; host_is_array(&m) && i < m.max_entries; i++)
		host_append(&host.maps[host.nr_maps], &i, NULL);
	host.nr_maps++;
}

/* Makes a map of the program known, as its declaration says. */
#define HOST_ADD_MAP(m)                                                                            \
	host_add_map((struct host_map){.map = &(m),                                                \
				       .type = sizeof(*(m).type) / sizeof(int),                    \
				       .key_size = sizeof(*(m).key),                               \
				       .value_size = sizeof(*(m).value),                           \
				       .max_entries = sizeof(*(m).max_entries) / sizeof(int)})

/* The array of rings: its values are maps. */
#define HOST_ADD_RINGS(m)                                                                          \
	host_add_map((struct host_map){.map = &(m),                                                \
				       .type = sizeof(*(m).type) / sizeof(int),                    \
				       .key_size = sizeof(*(m).key_size) / sizeof(int)})

static inline struct host_entry *host_find(struct host_map *m, const void *key)
{
	for (uint32_t i = 0; i < m->nr; i++) {
		if (memcmp(m->entries[i].key, key, m->key_size) == 0)
			return &m->entries[i];
	}
	return NULL;
}

static inline void *bpf_map_lookup_elem(const void *map, const void *key)
{
	struct host_map *m = host_map(map);
	struct host_entry *e;

	if (m->type == BPF_MAP_TYPE_ARRAY_OF_MAPS)
		return *(const uint32_t *)key < host.nr_rings ? &host : NULL;
	e = host_find(m, key);
	return e ? e->value : NULL;
}

static inline long bpf_map_update_elem(const void *map, const void *key, const void *value,
				       uint64_t flags)
{
	struct host_map *m = host_map(map);
	struct host_entry *e = host_find(m, key);

	assert_int_equal(flags, BPF_ANY);
	if (e) {
		memcpy(e->value, value, m->value_size);
		return 0;
	}
	if (m->nr == m->max_entries && m->type == BPF_MAP_TYPE_LRU_HASH) {
		free(m->entries[0].key);
		free(m->entries[0].value);
		m->nr--;
		memmove(m->entries, m->entries + 1, m->nr * sizeof(*m->entries));
	}
	if (m->nr == m->max_entries)
		return -E2BIG;
	host_append(m, key, value);
	return 0;
}

static inline long bpf_map_delete_elem(const void *map, const void *key)
{
	struct host_map *m = host_map(map);
	struct host_entry *e = host_find(m, key);

	if (!e)
		return -ENOENT;
	free(e->key);
	free(e->value);
	*e = m->entries[--m->nr];
	return 0;
}

/* ---- ring buffers ------------------------------------------------------------------------- */

#define HOST_RING_SIZE (256u << 10)

static inline uint64_t bpf_ringbuf_query(void *ring, uint64_t what)
{
	assert_ptr_equal(ring, &host);
	assert_true(what == BPF_RB_AVAIL_DATA || what == BPF_RB_RING_SIZE);
	return what == BPF_RB_AVAIL_DATA ? host.ring_used : HOST_RING_SIZE;
}

static inline void *bpf_ringbuf_reserve(void *ring, uint64_t size, uint64_t flags)
{
	struct host_record *r;

	assert_ptr_equal(ring, &host);
	assert_int_equal(flags, 0);
	assert_int_equal(size % 8, 0);
	if (host.ring_room == 0)
		return NULL;
	if (host.ring_room != HOST_NO_LIMIT)
		host.ring_room--;
	assert_true(host.nr_records < HOST_RECORDS);
	r = &host.records[host.nr_records++];
	*r = (struct host_record){.bytes = malloc(size), .size = (uint32_t)size};
	memset(r->bytes, 0xa5, size); /* what the kernel gives is not zeroed */
	return r->bytes;
}

static inline void bpf_ringbuf_submit(void *bytes, uint64_t flags)
{
	struct host_record *r = &host.records[host.nr_records - 1];

	assert_int_equal(flags, BPF_RB_NO_WAKEUP);
	assert_true(host.nr_records > 0);
	assert_ptr_equal(r->bytes, bytes);
	assert_false(r->submitted);
	r->submitted = true;
}

static inline long bpf_ringbuf_output(void *ring, const void *bytes, uint64_t size, uint64_t flags)
{
	void *to = bpf_ringbuf_reserve(ring, size, 0);

	if (!to)
		return -EAGAIN;
	memcpy(to, bytes, size);
	bpf_ringbuf_submit(to, flags);
	return 0;
}

static inline void host_drop_records(void)
{
	for (unsigned int i = 0; i < host.nr_records; i++)
		free(host.records[i].bytes);
	host.nr_records = 0;
}

/* ---- the other helpers -------------------------------------------------------------------- */

/* The same numbers in each run. */
static inline uint32_t bpf_get_prandom_u32(void)
{
	static uint64_t at = 1;

	at = at * 6364136223846793005ull + 1442695040888963407ull;
	return (uint32_t)(at >> 32);
}

static inline uint64_t bpf_ktime_get_ns(void)
{
	uint64_t now = host.now_ns;

	host.now_ns += host.tick_ns;
	return now;
}

static inline uint32_t bpf_get_smp_processor_id(void)
{
	return host.cpu;
}

static inline uint64_t bpf_get_current_pid_tgid(void)
{
	return host.pid_tgid;
}

/* No program is there that could be called. */
static inline void bpf_tail_call(void *ctx, const void *map, uint32_t index)
{
	(void)ctx;
	(void)map;
	(void)index;
}

static inline uint64_t bpf_get_current_task(void)
{
	return (uint64_t)&host.task;
}

static inline struct task_struct *bpf_get_current_task_btf(void)
{
	assert_false(host.old_kernel);
	return &host.task;
}

static inline long bpf_perf_prog_read_value(void *ctx, struct bpf_perf_event_value *out,
					    uint32_t size)
{
	(void)ctx;
	memset(out, 0, size);
	out->counter = host.perf_count;
	out->enabled = host.perf_on_ns;
	return host.perf_count ? 0 : -EINVAL;
}

static inline uint64_t bpf_get_attach_cookie(void *ctx)
{
	(void)ctx;
	assert_false(host.old_kernel);
	return host.cookie;
}

static inline struct pt_regs *bpf_task_pt_regs(struct task_struct *task)
{
	assert_ptr_equal(task, &host.task);
	assert_false(host.old_kernel);
	return &host.task_regs;
}

static inline long bpf_get_stack(void *ctx, void *to, uint32_t size, uint64_t flags)
{
	assert_non_null(ctx);
	assert_int_equal(flags, 0);
	if (host.kernel_stack_size < 0)
		return host.kernel_stack_size;
	if (size > host.kernel_stack_size)
		size = (uint32_t)host.kernel_stack_size;
	memcpy(to, host.kernel_stack, size);
	return size;
}

/* ---- beginning and end -------------------------------------------------------------------- */

static inline void host_reset(void)
{
	host_drop_records();
	for (unsigned int i = 0; i < host.nr_segments; i++)
		free(host.segments[i].bytes);
	for (unsigned int i = 0; i < host.nr_maps; i++)
		host_free_entries(&host.maps[i]);
	memset(&host, 0, sizeof(host));
	host.ring_room = HOST_NO_LIMIT;
	host.nr_rings = 4;
	host.now_ns = 1000000000;
}

#endif
