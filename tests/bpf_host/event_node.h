/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A made-up node for the programs of events: two processes, a scheduler, a page of terms, and a
 * layout of no release.  Includes the programs themselves.
 */
#ifndef BPF_HOST_EVENT_NODE_H
#define BPF_HOST_EVENT_NODE_H

#include "bpf_host.h"
#include "maps.bpf.c"
#include "events.bpf.c"

#define PROCESS	 0x7f5470000000ull
#define OTHER	 0x7f5470010000ull
#define ESDP	 0x7f5460000000ull
#define HEAP	 0x7f5480000000ull
#define MESSAGE	 0x7f5490000000ull
#define EPID	 0x283ull
#define TO	 0x293ull
#define FSBASE	 0x7f5449fff6c0ull
#define SMALL(n) (((uint64_t)(n) << 4) | 0xf)
#define ATOM(n)	 (((uint64_t)(n) << 6) | 0xb)
#define ALL	 ((1ull << NR_EVENT_KINDS) - 1)

static inline struct beam_layout *layout(void)
{
	return (struct beam_layout *)&config.layout;
}

static inline void put(uint64_t process, int32_t offset, uint64_t value)
{
	host_put_u64(process + (uint64_t)offset, value);
}

/* Offsets of no release: each field has a place of its own. */
static inline int setup(void **unused)
{
	int32_t *l = (int32_t *)layout();

	(void)unused;
	host_reset();
	memset((void *)&config, 0, sizeof(config));
	memset(&state, 0, sizeof(state));
	for (size_t i = 0; i < sizeof(struct beam_layout) / 4; i++)
		l[i] = (int32_t)(8 * i);
	layout()->message_m = 16;
	layout()->message_data = 8;
	layout()->message_hfrag = 40;
	HOST_KERNEL(true);
	config.event_kinds = ALL;
	memset(&switches, 0, sizeof(switches));
	switches.kinds = ALL;
	config.longer_than_ns = UINT64_MAX;
	HOST_ADD_RINGS(rings);
	HOST_ADD_MAP(counters);
	HOST_ADD_MAP(threads);
	HOST_ADD_MAP(sites);
	HOST_ADD_MAP(processes);
	HOST_ADD_MAP(kept_returns);
	HOST_ADD_MAP(event_counts);
	HOST_ADD_MAP(event_work);
	HOST_ADD_MAP(event_threads);
	HOST_ADD_MAP(libc_blocks);
	HOST_ADD_MAP(event_who_seen);
	HOST_ADD_MAP(event_scratches);
	HOST_ADD_MAP(event_scratch_new);
	host_add_memory(PROCESS, 0x2000);
	host_add_memory(OTHER, 0x2000);
	host_add_memory(ESDP, 0x2000);
	host_add_memory(HEAP, 0x1000);
	host_add_memory(MESSAGE, 0x100);
	host.pid_tgid = 4711ull << 32 | 4712;
	host.cpu = 1;
	host.task.thread.fsbase = FSBASE;
	put(PROCESS, config.layout.process_id, EPID);
	put(OTHER, config.layout.process_id, TO);
	put(PROCESS, config.layout.process_scheduler_data, ESDP);
	return 0;
}

/* The same with fields as near to each other as on OTP 25, so that they are read at once. */
#define NEAR_FIELDS 0x1800
static inline int setup_near(void **unused)
{
	struct beam_layout *l = layout();

	setup(unused);
	assert_true(sizeof(*l) * 2 < NEAR_FIELDS);
	l->process_id = NEAR_FIELDS;
	l->process_heap_sz = NEAR_FIELDS + 152;
	l->process_i = NEAR_FIELDS + 256;
	l->process_flags = NEAR_FIELDS + 288;
	l->process_sig_qs_len = NEAR_FIELDS + 392;
	l->process_old_hend = NEAR_FIELDS + 504;
	l->process_old_heap = NEAR_FIELDS + 520;
	l->process_gen_gcs = NEAR_FIELDS + 528;
	l->process_max_gen_gcs = NEAR_FIELDS + 530;
	l->process_state = NEAR_FIELDS + 640;
	l->process_sig_inq_len = NEAR_FIELDS + 672;
	l->process_scheduler_data = NEAR_FIELDS + 760;
	l->sched_gc_reclaimed = NEAR_FIELDS;
	l->sched_gc_count = NEAR_FIELDS + 8;
	put(PROCESS, config.layout.process_id, EPID);
	put(OTHER, config.layout.process_id, TO);
	put(PROCESS, config.layout.process_scheduler_data, ESDP);
	return 0;
}

static inline int teardown(void **unused)
{
	(void)unused;
	host_reset();
	return 0;
}

/* The nth event in the rings, NULL if there are fewer. */
static inline const struct rec_raw_event *event(unsigned int n)
{
	for (unsigned int i = 0; i < host.nr_records; i++) {
		const struct rec_header *h = host.records[i].bytes;

		if (h->type != REC_RAW_EVENT)
			continue;
		assert_true(host.records[i].submitted);
		assert_int_equal(h->size, host.records[i].size);
		if (n-- == 0)
			return host.records[i].bytes;
	}
	return NULL;
}

/* How many there are. */
static inline unsigned int nr_events(void)
{
	unsigned int n = 0;

	while (event(n))
		n++;
	return n;
}

/* The name by which a process is registered, 0 = none; one at a time. */
#define REG  (HEAP + 0x400)
#define NAME ATOM(77)
static inline void put_name(uint64_t process, uint64_t name)
{
	put(process, config.layout.process_reg, name ? REG : 0);
	host_put_u64(REG + (uint64_t)config.layout.regproc_name, name);
}

static inline struct event_count counted(enum event_kind kind)
{
	uint32_t key = kind;

	return *(struct event_count *)bpf_map_lookup_elem(&event_counts, &key);
}

#define EVENT_TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
#define EVENT_TEST_NEAR(name)                                                                      \
	{                                                                                          \
#name ", near", name, setup_near, teardown, NULL                                   \
	}

#endif
