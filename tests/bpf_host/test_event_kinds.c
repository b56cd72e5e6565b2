/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The programs of carriers, exit signals, copies, NIFs, the distribution, and of what takes long.
 */
#include "event_node.h"

#define ALLCTR	0x7f54a0000000ull
#define CARRIER 0x7f54b0000000ull
#define DEP	0x7f54c0000000ull
#define PORT	0x7f54d0000000ull
#define SIZE_AT (HEAP + 0x800)
#define EHEAP	6

static void know_scheduler(void)
{
	struct thread_info t = {.esdp = ESDP, .scheduler = 1, .type = THREAD_NORMAL};
	uint64_t key = FSBASE;

	bpf_map_update_elem(&threads, &key, &t, BPF_ANY);
	put(ESDP, config.layout.sched_current_process, PROCESS);
}

/* ---- carriers ------------------------------------------------------------------------------ */

static void put_allocator(void)
{
	const uint64_t carriers[] = {1, 100, 2, 2000, 3, 30000};
	const uint64_t blocks[] = {7, 700};
	int32_t *l = (int32_t *)layout();

	for (size_t i = 0; i < sizeof(struct beam_layout) / 4; i++) {
		if (&l[i] >= &layout()->allctr_size && &l[i] <= &layout()->allctr_mbcs_blocks)
			l[i] = (int32_t)(0x400 + 16 * (&l[i] - &layout()->allctr_size));
	}
	layout()->allctr_mbcs = 0x1000;
	layout()->allctr_mbcs_blocks = 0x1100;
	layout()->allctr_sbcs = 0x1800;
	layout()->allctr_sbcs_blocks = 0x1900;
	layout()->carrier_chdr = 0;
	layout()->carrier_cpool_blocks = 96;
	host_add_memory(ALLCTR, 0x2000);
	host_add_memory(CARRIER, 0x1000);
	put(ALLCTR, config.layout.allctr_name_prefix, 0x5600001234);
	host_put_u32(ALLCTR + (uint64_t)config.layout.allctr_alloc_no, EHEAP);
	host_put_u32(ALLCTR + (uint64_t)config.layout.allctr_ix, 3);
	host_put(ALLCTR + 0x1000, carriers, sizeof(carriers));
	host_put(ALLCTR + 0x1100 + (EHEAP - 1) * 48, blocks, sizeof(blocks));
	host_put(ALLCTR + 0x1800, carriers, sizeof(carriers));
}

static void carriers(void **unused)
{
	const uint64_t made[] = {0x5600001234, 3, 4096,	 7, 36196, 7,
				 700,	       6, 32100, 0, 0,	   EVENT_WORD_MBC};
	const uint64_t gone[] = {0x5600001234, 3, 8192,	 6, 32100, 7,
				 700,	       6, 32100, 0, 0,	   EVENT_WORD_SBC};
	struct pt_regs ctx = {.di = ALLCTR, .si = SIZE_AT, .dx = 1};

	(void)unused;
	put_allocator();
	know_scheduler();
	event_carrier_alloc(&ctx);
	host_put_u64(SIZE_AT, 4096);
	ctx.ax = CARRIER;
	event_carrier_alloc_return(&ctx);
	assert_int_equal(event(0)->kind, EVENT_CARRIER_CREATE);
	assert_int_equal(event(0)->epid, EPID);
	assert_int_equal(event(0)->nr_values, CARRIER_VALUES);
	assert_memory_equal(event(0)->values, made, sizeof(made));
	/* One return for one entry; and none if there was no memory. */
	event_carrier_alloc_return(&ctx);
	assert_null(event(1));
	event_carrier_alloc(&ctx);
	ctx.ax = 0;
	event_carrier_alloc_return(&ctx);
	assert_null(event(1));
	ctx = (struct pt_regs){.di = ALLCTR, .si = CARRIER, .dx = 8192, .cx = 0};
	event_carrier_free(&ctx);
	assert_int_equal(event(1)->kind, EVENT_CARRIER_DESTROY);
	assert_memory_equal(event(1)->values, gone, sizeof(gone));
}

static void resizes(void **unused)
{
	struct pt_regs mseg = {.di = ALLCTR, .dx = 100, .cx = SIZE_AT, .ax = CARRIER};
	struct pt_regs sys = {.di = ALLCTR, .dx = SIZE_AT, .cx = 100, .ax = CARRIER};

	(void)unused;
	put_allocator();
	host_put_u64(SIZE_AT, 300);
	event_carrier_mseg_realloc(&mseg);
	event_carrier_realloc_return(&mseg);
	event_carrier_sys_realloc(&sys);
	event_carrier_realloc_return(&sys);
	for (unsigned int i = 0; i < 2; i++) {
		assert_int_equal(event(i)->kind, EVENT_CARRIER_RESIZE);
		assert_int_equal(event(i)->values[1], 3);
		assert_int_equal(event(i)->values[2], 100);
		assert_int_equal(event(i)->values[3], 300);
	}
	assert_null(event(2));
}

static void pool(void **unused)
{
	struct pt_regs ctx = {.di = ALLCTR, .si = CARRIER};

	(void)unused;
	put_allocator();
	host_put_u64(CARRIER, 32768 | 5);
	/* Empty: destroyed, or new. */
	event_carrier_remove(&ctx);
	event_carrier_add(&ctx);
	assert_null(event(0));
	host_put_u64(CARRIER + 96 + 8 * 11, 1);
	event_carrier_remove(&ctx);
	event_carrier_add(&ctx);
	assert_int_equal(event(0)->kind, EVENT_CARRIER_POOL_PUT);
	assert_int_equal(event(1)->kind, EVENT_CARRIER_POOL_GET);
	assert_int_equal(event(1)->values[2], 32768);
}

/* OTP 29.  A carrier of a single block is 32 bytes in front of it; in a free block of another its
 * address is the second word. */
#define SINGLE (CARRIER + 0x400)
#define FREE   (CARRIER + 0x1b8)

static void put_single(uint64_t size, uint64_t block)
{
	host_put_u64(SINGLE - 32, size | 3);
	host_put_u64(SINGLE, block | 7);
}

static void carriers_of_29(void **unused)
{
	const uint64_t blocks[] = {2, 60000};
	const uint64_t gone[] = {0x5600001234,	3,     30000,	      6,
				 32100,		7,     700,	      6 - 1,
				 32100 - 30000, 2 - 1, 60000 - 29000, EVENT_WORD_SBC};
	struct pt_regs ctx = {.di = ALLCTR};

	(void)unused;
	put_allocator();
	know_scheduler();
	host_put(ALLCTR + 0x1900 + (EHEAP - 1) * 48, blocks, sizeof(blocks));
	put_single(30000, 29000);
	event_create_carrier(&ctx);
	ctx.ax = SINGLE;
	event_create_carrier_return(&ctx);
	assert_int_equal(event(0)->kind, EVENT_CARRIER_CREATE);
	assert_int_equal(event(0)->epid, EPID);
	assert_int_equal(event(0)->values[CARRIER_SIZE], 30000);
	assert_int_equal(event(0)->values[CARRIER_SBCS], 6);		/* is counted already */
	assert_int_equal(event(0)->values[CARRIER_SBCS_BLOCKS], 2 - 1); /* without its own */
	assert_int_equal(event(0)->values[CARRIER_SBCS_BLOCKS_SIZE], 60000 - 29000);
	assert_int_equal(event(0)->values[CARRIER_FOR], EVENT_WORD_SBC);
	/* One return for one entry; and none if there was no memory. */
	event_create_carrier_return(&ctx);
	event_create_carrier(&ctx);
	ctx.ax = 0;
	event_create_carrier_return(&ctx);
	assert_null(event(1));
	ctx.si = SINGLE;
	event_destroy_carrier(&ctx);
	assert_int_equal(event(1)->kind, EVENT_CARRIER_DESTROY);
	assert_memory_equal(event(1)->values, gone, sizeof(gone));

	host_put_u64(CARRIER, 262144 | 1);
	host_put_u64(FREE, 261000 | 1);
	host_put_u64(FREE + 8, CARRIER);
	event_create_carrier(&ctx);
	ctx.ax = FREE;
	event_create_carrier_return(&ctx);
	assert_int_equal(event(2)->kind, EVENT_CARRIER_CREATE);
	assert_int_equal(event(2)->values[CARRIER_SIZE], 262144);
	assert_int_equal(event(2)->values[CARRIER_MBCS], 6);
	assert_int_equal(event(2)->values[CARRIER_FOR], EVENT_WORD_MBC);
	ctx.si = FREE;
	event_destroy_carrier(&ctx);
	assert_int_equal(event(3)->values[CARRIER_SIZE], 262144);
	assert_int_equal(event(3)->values[CARRIER_MBCS], 5);
	assert_int_equal(event(3)->values[CARRIER_MBCS_SIZE], 32100 - 262144);
	/* It was in the pool: its allocator does not count it. */
	host_put_u64(SIZE_AT, CARRIER);
	ctx.dx = SIZE_AT;
	event_destroy_carrier(&ctx);
	assert_int_equal(event(4)->values[CARRIER_MBCS], 6);
}

static void pool_of_29(void **unused)
{
	struct pt_regs ctx = {.di = ALLCTR, .ax = FREE};

	(void)unused;
	put_allocator();
	host_put_u64(CARRIER, 32768 | 1);
	host_put_u64(CARRIER + 96 + 8 * 11, 1);
	host_put_u64(FREE, 4096 | 1);
	host_put_u64(FREE + 8, CARRIER);
	event_create_carrier(&ctx);
	event_create_carrier_return(&ctx);
	assert_int_equal(event(0)->kind, EVENT_CARRIER_POOL_GET);
	assert_int_equal(event(0)->values[2], 32768);
	assert_null(event(1));
}

static void resizes_of_29(void **unused)
{
	struct pt_regs ctx = {.di = ALLCTR, .si = SINGLE, .ax = SINGLE};

	(void)unused;
	put_allocator();
	put_single(30000, 29000);
	event_resize_carrier(&ctx);
	put_single(50000, 49000);
	event_resize_carrier_return(&ctx);
	assert_int_equal(event(0)->kind, EVENT_CARRIER_RESIZE);
	assert_int_equal(event(0)->values[2], 30000);
	assert_int_equal(event(0)->values[3], 50000);
	/* It could not be resized: another is made inside, and nothing is destroyed by itself. */
	event_resize_carrier(&ctx);
	event_create_carrier(&ctx);
	put_single(60000, 59000);
	event_create_carrier_return(&ctx);
	assert_null(event(1));
	event_resize_carrier_return(&ctx);
	assert_int_equal(event(1)->kind, EVENT_CARRIER_RESIZE);
	assert_int_equal(event(1)->values[2], 50000);
	assert_int_equal(event(1)->values[3], 60000);
	/* There was no memory. */
	event_resize_carrier(&ctx);
	ctx.ax = 0;
	event_resize_carrier_return(&ctx);
	/* The next one is seen. */
	event_create_carrier(&ctx);
	ctx.ax = SINGLE;
	event_create_carrier_return(&ctx);
	assert_int_equal(event(2)->kind, EVENT_CARRIER_CREATE);
	assert_null(event(3));
}

/* Whichever read fails: the size is right, or there is no event. */
static void carrier_faults_of_29(void **unused)
{
	struct pt_regs ctx = {.di = ALLCTR, .si = SINGLE, .ax = SINGLE};

	for (uint64_t nth = 1; nth < 40; nth++) {
		teardown(unused);
		setup(unused);
		put_allocator();
		know_scheduler();
		put_single(30000, 29000);
		host.fail_read = nth;
		event_create_carrier(&ctx);
		event_create_carrier_return(&ctx);
		event_destroy_carrier(&ctx);
		event_resize_carrier(&ctx);
		event_resize_carrier_return(&ctx);
		for (unsigned int i = 0; event(i); i++)
			assert_int_equal(
				event(i)->values[2 + (event(i)->kind == EVENT_CARRIER_RESIZE)],
				30000);
	}
}

/* Whichever read fails: what is there is as it is, the rest unknown. */
static void carrier_faults(void **unused)
{
	struct pt_regs ctx = {.di = ALLCTR, .dx = 8192, .cx = 1};

	for (uint64_t nth = 1; nth < 20; nth++) {
		teardown(unused);
		setup(unused);
		put_allocator();
		know_scheduler();
		host.fail_read = nth;
		event_carrier_free(&ctx);
		if (!event(0))
			continue;
		assert_int_equal(event(0)->values[CARRIER_SIZE], 8192);
		assert_true(event(0)->values[CARRIER_MBCS] == 6 ||
			    event(0)->values[CARRIER_MBCS] == EVENT_UNKNOWN);
		assert_true(event(0)->values[CARRIER_INSTANCE] == 3 ||
			    event(0)->values[CARRIER_INSTANCE] == EVENT_UNKNOWN);
	}
}

/* ---- signals, copies, NIFs ----------------------------------------------------------------- */

static void exit_signals(void **unused)
{
	struct pt_regs ctx = {.si = EPID, .dx = TO, .cx = ATOM(4)};

	(void)unused;
	know_scheduler();
	event_send_exit(&ctx);
	host_put_u64(HEAP + (uint64_t)config.layout.link_item, TO);
	ctx.dx = HEAP;
	event_send_link_exit(&ctx);
	/* From another node, with a reason that is not decoded yet. */
	ctx = (struct pt_regs){.si = (HEAP + 0x100) | 2, .dx = TO, .r9 = 0};
	event_send_dist_exit(&ctx);
	for (unsigned int i = 0; i < 3; i++) {
		assert_int_equal(event(i)->kind, EVENT_PROCESS_EXIT_SIGNAL);
		assert_int_equal(event(i)->epid, i < 2 ? EPID : 0);
		assert_int_equal(event(i)->values[1], TO);
		assert_int_equal(event(i)->values[2], i < 2 ? ATOM(4) : 0);
	}
	assert_int_equal(event(2)->nr_blocks, 1);
	/* Without names nothing that they point to. */
	config.unnamed = 1;
	event_send_dist_exit(&ctx);
	assert_int_equal(event(3)->nr_blocks, 0);
	assert_int_equal(event(3)->h.size, sizeof(*event(3)));
	config.unnamed = 0;
	/* Of one process: as sender, or as receiver. */
	config.event_epid = TO;
	ctx = (struct pt_regs){.si = EPID, .dx = TO, .cx = ATOM(4)};
	event_send_exit(&ctx);
	assert_non_null(event(4));
	config.event_epid = 0x2a3;
	event_send_exit(&ctx);
	assert_null(event(5));
}

static void copies(void **unused)
{
	struct pt_regs ctx = {.di = HEAP | 2, .si = 9}, object = {.di = HEAP | 1, .si = OTHER};
	struct pt_regs atom = {.di = ATOM(1), .si = 9};

	(void)unused;
	know_scheduler();
	event_copy_struct(&atom);
	event_copy_object_struct(&ctx);
	assert_null(event(0));
	event_copy_struct(&ctx);
	assert_int_equal(event(0)->kind, EVENT_COPY_STRUCT);
	assert_int_equal(event(0)->epid, EPID);
	assert_int_equal(event(0)->values[0], 9);
	event_copy_object(&object);
	event_copy_object_struct(&ctx);
	event_copy_object_struct(&ctx);
	assert_int_equal(event(1)->kind, EVENT_COPY_OBJECT);
	assert_int_equal(event(1)->epid, TO);
	assert_int_equal(event(1)->values[0], 9);
	assert_null(event(2));
	/* Of an immediate nothing is copied, and the next copy is another's. */
	event_copy_object(&object);
	object.di = ATOM(1);
	event_copy_object(&object);
	event_copy_object_struct(&ctx);
	assert_null(event(2));
}

static void nifs(void **unused)
{
	const uint64_t mfa[] = {ATOM(7), ATOM(8), 2};
	struct pt_regs ctx = {.di = PROCESS, .si = HEAP + 24},
		       dirty = {.si = PROCESS, .dx = HEAP + 24};

	(void)unused;
	host_put(HEAP, mfa, sizeof(mfa));
	host.tick_ns = 1000;
	event_nif(&ctx);
	event_nif_return(&ctx);
	event_nif_return(&ctx);
	event_dirty_nif(&dirty);
	/* What is called next stands there already. */
	host_put_u64(HEAP, ATOM(9));
	event_nif_return(&dirty);
	for (unsigned int i = 0; i < 4; i++) {
		assert_int_equal(event(i)->kind, i % 2 ? EVENT_NIF_RETURN : EVENT_NIF_ENTRY);
		assert_memory_equal(event(i)->values, mfa, sizeof(mfa));
		assert_true(i % 2 == 0 || event(i)->values[3] >= 1000);
	}
	assert_null(event(4));
	dirty.dx = 0x1000;
	event_dirty_nif(&dirty);
	assert_true(event(4)->values[2] == EVENT_UNKNOWN);
}

/* ---- distribution -------------------------------------------------------------------------- */

static void put_connection(void)
{
	host_add_memory(DEP, 0x2000);
	host_add_memory(PORT, 0x2000);
	put(DEP, config.layout.dist_sysname, ATOM(33));
	put(DEP, config.layout.dist_dflags, 0x11);
	put(PORT, config.layout.port_id, 0x57);
	put(PORT, config.layout.port_psd, HEAP + 0x400);
	put(PORT, config.layout.port_drv_ptr, HEAP + 0x500);
	host_put_u64(HEAP + 0x400 + PORT_SD_DIST_ENTRY, DEP);
	host_put_u64(HEAP + 0x500 + DRIVER_OUTPUTV, 0x5600000000);
}

static void nodes(void **unused)
{
	struct pt_regs up = {.di = DEP, .si = 0x57, .dx = 0}, down = {.di = DEP, .si = ATOM(2)};

	(void)unused;
	put_connection();
	event_node_up(&up);
	event_node_down(&down);
	assert_int_equal(event(0)->values[0], EVENT_WORD_NODEUP);
	assert_int_equal(event(0)->values[1], ATOM(33));
	assert_int_equal(event(0)->values[2], EVENT_WORD_HIDDEN);
	assert_int_equal(event(1)->values[0], EVENT_WORD_NODEDOWN);
	assert_int_equal(event(1)->values[2], EVENT_WORD_VISIBLE);
	assert_int_equal(event(1)->values[3], ATOM(2));
}

static void outputs(void **unused)
{
	struct pt_regs ctx = {.di = PORT};

	(void)unused;
	put_connection();
	know_scheduler();
	put(ESDP, config.layout.sched_io_out, 1000);
	event_dist_command(&ctx);
	event_dist_command_return(&ctx);
	assert_null(event(0));
	for (unsigned int i = 0; i < 2; i++) {
		event_dist_command(&ctx);
		put(ESDP, config.layout.sched_io_out, 1000 + 10 * (i + 1));
		event_dist_command_return(&ctx);
		assert_int_equal(event(i)->kind, i ? EVENT_DIST_OUTPUT : EVENT_DIST_OUTPUTV);
		assert_int_equal(event(i)->values[0], 0x57);
		assert_int_equal(event(i)->values[1], ATOM(33));
		assert_int_equal(event(i)->values[2], 10);
		host_put_u64(HEAP + 0x500 + DRIVER_OUTPUTV, 0);
	}
	event_dist_not_busy(&ctx);
	assert_int_equal(event(2)->kind, EVENT_DIST_PORT_NOT_BUSY);
	assert_int_equal(event(2)->values[1], ATOM(33));
}

/* Only those that are suspended while they send. */
static void busy(void **unused)
{
	struct pt_regs send = {.di = HEAP + 0x600}, suspend = {.di = PROCESS};

	(void)unused;
	put_connection();
	host_put_u64(HEAP + 0x600 + DSIG_CONTEXT_DEP, DEP);
	host_put_u64(HEAP + 0x600 + DSIG_CONTEXT_CID, 0x57);
	event_suspend(&suspend);
	event_dsig_send(&send);
	event_dsig_send_return(&send);
	event_suspend(&suspend);
	assert_null(event(0));
	event_dsig_send(&send);
	event_suspend(&suspend);
	assert_int_equal(event(0)->kind, EVENT_DIST_PORT_BUSY);
	assert_int_equal(event(0)->epid, EPID);
	assert_int_equal(event(0)->values[0], 0x57);
	assert_int_equal(event(0)->values[1], ATOM(33));
}

/* ---- what takes long, heaps ---------------------------------------------------------------- */

static void long_slices(void **unused)
{
	struct pt_regs in = {.ax = PROCESS}, out = {.si = PROCESS, .dx = 17};

	(void)unused;
	config.event_kinds = 1ull << EVENT_LONG_SCHEDULE;
	config.longer_than_ns = 5000;
	event_schedule_return(&in);
	host.now_ns += 4999;
	event_schedule(&out);
	assert_null(event(0));
	event_schedule_return(&in);
	host.now_ns += 6000;
	event_schedule(&out);
	assert_int_equal(event(0)->kind, EVENT_LONG_SCHEDULE);
	assert_int_equal(event(0)->values[0], 6000);
	assert_int_equal(event(0)->values[2], 17);
	/* Another process than the one that came; and once only. */
	event_schedule(&out);
	event_schedule_return(&in);
	host.now_ns += 6000;
	out.si = OTHER;
	event_schedule(&out);
	assert_null(event(1));
}

/* What was entered before a kind went on again says nothing of what is left now. */
static void cut_slices(void **unused)
{
	struct pt_regs in = {.ax = PROCESS}, out = {.si = PROCESS};

	(void)unused;
	config.event_kinds = 1ull << EVENT_LONG_SCHEDULE;
	config.longer_than_ns = 5000;
	event_schedule_return(&in);
	host.now_ns += 1000000000;
	switches.epoch[EVENT_LONG_SCHEDULE]++;
	event_schedule(&out);
	assert_null(event(0));
	/* And that it came in again is seen. */
	event_schedule_return(&in);
	host.now_ns += 6000;
	event_schedule(&out);
	assert_int_equal(event(0)->values[0], 6000);
	assert_null(event(1));
}

static void cut_calls(void **unused)
{
	struct pt_regs nif = {.di = PROCESS, .si = HEAP + 24};
	struct pt_regs object = {.di = HEAP | 1, .si = OTHER}, copy = {.di = HEAP | 2, .si = 9};

	(void)unused;
	config.event_kinds = 1ull << EVENT_NIF_RETURN | 1ull << EVENT_COPY_OBJECT;
	for (int kind = EVENT_NIF_ENTRY; kind <= EVENT_NIF_RETURN; kind++) {
		event_nif(&nif);
		switches.epoch[kind]++;
		event_nif_return(&nif);
		assert_null(event(0));
	}
	event_copy_object(&object);
	switches.epoch[EVENT_COPY_OBJECT]++;
	event_copy_object_struct(&copy);
	assert_null(event(0));
}

static void cut_carriers(void **unused)
{
	struct pt_regs ctx = {.di = ALLCTR, .si = SIZE_AT, .dx = 1, .cx = SIZE_AT, .ax = CARRIER};

	(void)unused;
	put_allocator();
	host_put_u64(SIZE_AT, 4096);
	event_carrier_alloc(&ctx);
	switches.epoch[EVENT_CARRIER_CREATE]++;
	event_carrier_alloc_return(&ctx);
	event_carrier_mseg_realloc(&ctx);
	switches.epoch[EVENT_CARRIER_RESIZE]++;
	event_carrier_realloc_return(&ctx);
	assert_null(event(0));
}

/* erts_dsig_send() was left while nobody watched: what it was called with is gone. */
static void cut_connections(void **unused)
{
	struct pt_regs send = {.di = HEAP + 0x600}, suspend = {.di = PROCESS}, port = {.di = PORT};

	(void)unused;
	put_connection();
	know_scheduler();
	host_put_u64(HEAP + 0x600 + DSIG_CONTEXT_DEP, DEP);
	event_dsig_send(&send);
	switches.epoch[EVENT_DIST_PORT_BUSY]++;
	event_suspend(&suspend);
	assert_null(event(0));
	for (int i = 0; i < 2; i++) {
		event_dist_command(&port);
		put(ESDP, config.layout.sched_io_out, 1000 + i);
		switches.epoch[i ? EVENT_DIST_OUTPUT : EVENT_DIST_OUTPUTV]++;
		event_dist_command_return(&port);
		assert_null(event(0));
	}
	/* The one does not touch the other. */
	event_dsig_send(&send);
	switches.epoch[EVENT_DIST_OUTPUT]++;
	event_suspend(&suspend);
	assert_int_equal(event(0)->kind, EVENT_DIST_PORT_BUSY);
}

static void heaps(void **unused)
{
	struct pt_regs ctx = {.di = PROCESS};
	const uint64_t sizes[] = {100, 200, 200, 50};

	(void)unused;
	config.event_kinds = 1ull << EVENT_PROCESS_HEAP_GROW | 1ull << EVENT_PROCESS_HEAP_SHRINK |
			     1ull << EVENT_LONG_GC;
	put(PROCESS, config.layout.process_heap_sz, sizes[0]);
	for (unsigned int i = 1; i < 4; i++) {
		host_put_u64(ESDP + (uint64_t)config.layout.sched_gc_count, i - 1);
		event_gc(&ctx);
		host.now_ns += 1000 * i;
		config.longer_than_ns = i == 3 ? 3000 : UINT64_MAX;
		put(PROCESS, config.layout.process_heap_sz, sizes[i]);
		host_put_u64(ESDP + (uint64_t)config.layout.sched_gc_count, i);
		event_gc_return(&ctx);
	}
	assert_int_equal(event(0)->kind, EVENT_PROCESS_HEAP_GROW);
	assert_int_equal(event(0)->values[0], 100);
	assert_int_equal(event(0)->values[1], 200);
	assert_int_equal(event(1)->kind, EVENT_PROCESS_HEAP_SHRINK);
	assert_int_equal(event(1)->values[1], 50);
	assert_int_equal(event(2)->kind, EVENT_LONG_GC);
	assert_int_equal(event(2)->values[1], 3000);
	assert_int_equal(event(2)->values[2], 200);
	assert_int_equal(event(2)->values[4], 50);
	assert_null(event(3));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		EVENT_TEST(carriers),	    EVENT_TEST(resizes),
		EVENT_TEST(pool),	    EVENT_TEST(carrier_faults),
		EVENT_TEST(carriers_of_29), EVENT_TEST(pool_of_29),
		EVENT_TEST(resizes_of_29),  EVENT_TEST(carrier_faults_of_29),
		EVENT_TEST(exit_signals),   EVENT_TEST(copies),
		EVENT_TEST(nifs),	    EVENT_TEST(nodes),
		EVENT_TEST(outputs),	    EVENT_TEST(busy),
		EVENT_TEST(long_slices),    EVENT_TEST(heaps),
		EVENT_TEST(cut_slices),	    EVENT_TEST(cut_calls),
		EVENT_TEST(cut_carriers),   EVENT_TEST(cut_connections),
		EVENT_TEST_NEAR(heaps),	    EVENT_TEST_NEAR(long_slices),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
