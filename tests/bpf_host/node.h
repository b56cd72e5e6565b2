/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A made-up node for the tests of the sampler: JIT code in two mappings, one scheduler with its C
 * stack, one process with a heap block, laid out as in OTP 25.  Includes the programs themselves.
 *
 * A test builds the Erlang stack from its root with push_*(), which keep the truth beside it
 * (node.truth, root first); then runs the sampler with the registers it wants and compares.
 */
#ifndef BPF_HOST_NODE_H
#define BPF_HOST_NODE_H

#include "maps.bpf.c"
#include "sample.bpf.c"

#define NODE_CODE	   0x7f5500000000ull /* first mapping of JIT code, backed by memory */
#define NODE_CODE_SIZE	   0x200000ull
#define NODE_FRAGMENTS	   (NODE_CODE + 0x1000)
#define NODE_FRAGMENTS_END (NODE_CODE + 0x3000)
#define NODE_NORMAL_EXIT   (NODE_CODE + 0x3100)
#define NODE_FUNCTIONS	   (NODE_CODE + 0x4000)
#define NODE_CODE_2	   0x7f5500400000ull /* second mapping, after a gap in the hull */
#define NODE_CODE_2_SIZE   0x1000ull
#define NODE_HEAP	   0x7f5480000000ull
#define NODE_PROCESS	   0x7f5470000000ull
#define NODE_ESDP	   0x7f5460000000ull
#define NODE_C_STACK	   0x7f5450000000ull
#define NODE_REGISTERS	   (NODE_C_STACK + 0x8000) /* ErtsSchedulerRegisters, above the C stack */
#define NODE_PDICT	   0x7f5440000000ull
#define NODE_TERMS	   0x7f5430000000ull /* terms outside the heap, a page */
#define NODE_BEAM_TEXT	   0x5600000000ull   /* somewhere in beam.smp */
#define NODE_OS_PID	   4711u
#define NODE_OS_TID	   4720u
#define NODE_FSBASE	   0x7f5449fff6c0ull
#define NODE_EPID	   0x0000005300000a83ull

#define TERM_SMALL(n)  (((uint64_t)(n) << 4) | 0xf)
#define TERM_ATOM(n)   (((uint64_t)(n) << 6) | 0xb)
#define TERM_CATCH(n)  (((uint64_t)(n) << 6) | 0x1b)
#define LIST_AT(addr)  ((addr) | 1)
#define BOXED_AT(addr) ((addr) | 2)

struct node {
	uint64_t heap, htop, stop, hend;
	uint64_t truth[70000]; /* return addresses on the stack, root first */
	uint32_t nr_truth;
};

static struct node node;

/* ---- code --------------------------------------------------------------------------------- */

/* A return address into a function, aligned as the JIT aligns them (call sites are padded). */
static inline uint64_t return_address(uint32_t i)
{
	return NODE_FUNCTIONS + 16 + 16ull * (i % 100000);
}

static inline void put_code(uint64_t addr, const char *bytes, uint64_t size)
{
	host_put(addr, bytes, size);
}

/* The instruction that ends a call of C code, some bytes behind the return address. */
static inline void put_leave(uint64_t ra, enum site_class site)
{
	if (config.c_stack) {
		if (site == SITE_STOP) /* mov rbp (OTP 24: r12), [r13 + 0x58] */
			put_code(ra + 12,
				 config.otp == 24 ? "\x4d\x8b\x65\x58" : "\x49\x8b\x6d\x58", 4);
		put_code(ra + 20, "\x48\x8b\x63\x80", 4); /* mov rsp, [rbx - 0x80] */
		return;
	}
	if (site == SITE_STOP)
		put_code(ra + 12, "\x49\x8b\x65\x58", 4); /* mov rsp, [r13 + 0x58] */
	if (site == SITE_SAVED && config.otp == 24)
		put_code(ra + 12, "\x4c\x89\xe4", 3); /* mov rsp, r12 */
	else if (site == SITE_SAVED)
		put_code(ra + 12, "\x48\x89\xec", 3); /* mov rsp, rbp */
}

/* `call target` that returns to ra. */
static inline void put_call(uint64_t ra, uint64_t target)
{
	int32_t rel = (int32_t)(target - ra);

	put_code(ra - 5, "\xe8", 1);
	host_put(ra - 4, &rel, 4);
}

/* ---- the Erlang stack --------------------------------------------------------------------- */

static inline void set_process(uint32_t offset, uint64_t value)
{
	host_put_u64(NODE_PROCESS + offset, value);
}

/* Writes the bounds of the heap block where the VM has them. */
static inline void store_bounds(void)
{
	set_process(config.layout.process_htop, node.htop);
	set_process(config.layout.process_stop, node.stop);
	set_process(config.layout.process_heap, node.heap);
	set_process(config.layout.process_hend, node.hend);
}

/* A heap block of so many words that ends at a word which is not on a round address. */
static inline void new_heap(uint64_t words)
{
	for (unsigned int i = 0; i < host.nr_segments; i++) {
		struct host_segment *s = &host.segments[i];

		if (s->start != NODE_HEAP)
			continue;
		free(s->bytes);
		*s = host.segments[--host.nr_segments];
		break;
	}
	host_add_memory(NODE_HEAP, words * 8);
	node.heap = NODE_HEAP;
	node.htop = NODE_HEAP + 16 * 8; /* a small heap below */
	node.hend = node.stop = NODE_HEAP + words * 8;
	node.nr_truth = 0;
	store_bounds();
}

static inline void push_word(uint64_t word)
{
	node.stop -= 8;
	assert_true(node.stop >= node.htop);
	host_put_u64(node.stop, word);
	set_process(config.layout.process_stop, node.stop);
}

static inline void push_return(uint64_t ra)
{
	push_word(ra);
	node.truth[node.nr_truth++] = ra;
}

/* The bottom of every stack. */
static inline void push_bottom(void)
{
	push_return(NODE_NORMAL_EXIT);
}

/* nr frames with `locals` Y registers each, the newest returning to return_address(nr - 1). */
static inline void push_frames(uint32_t nr, uint32_t locals)
{
	for (uint32_t i = 0; i < nr; i++) {
		push_return(return_address(i));
		for (uint32_t k = 0; k < locals; k++)
			push_word(TERM_SMALL(i + k));
	}
}

/* What the walk should find, leaf first. */
static inline uint64_t true_frame(uint32_t from_leaf)
{
	assert_true(from_leaf < node.nr_truth);
	return node.truth[node.nr_truth - 1 - from_leaf];
}

/* ---- the run ------------------------------------------------------------------------------ */

static inline uint64_t counter(enum counter_id id)
{
	uint32_t key = id;

	return *(uint64_t *)bpf_map_lookup_elem(&counters, &key);
}

/* User registers in JIT code with the Erlang stack in rsp. */
static inline struct pt_regs regs_in_jit(void)
{
	return (struct pt_regs){
		.ip = return_address(9000) + 3,
		.sp = node.stop,
		.bx = NODE_REGISTERS + 128,
		.r13 = NODE_PROCESS,
		.r15 = node.htop,
		.cs = 0x33,
	};
}

/* In C code that returns to `ra`, with so many words of C stack in use. */
static inline struct pt_regs regs_in_c(uint64_t ra, uint32_t words)
{
	struct pt_regs r = regs_in_jit();

	host_put_u64(NODE_REGISTERS - 8, ra);
	r.ip = NODE_BEAM_TEXT;
	r.sp = NODE_REGISTERS - 8ull * words;
	r.r13 = r.r15 = r.bp = r.bx = 1; /* the C code uses them */
	return r;
}

/* A word of the C stack, counted downwards: 1 = the return address into JIT code. */
static inline void put_c_word(uint32_t i, uint64_t word)
{
	host_put_u64(NODE_REGISTERS - 8ull * i, word);
}

static inline struct rec_header *last_record(uint16_t type)
{
	for (unsigned int i = host.nr_records; i-- > 0;) {
		struct rec_header *h = host.records[i].bytes;

		if (h->type != type)
			continue;
		assert_true(host.records[i].submitted);
		assert_int_equal(h->size, host.records[i].size);
		return h;
	}
	return NULL;
}

static inline unsigned int nr_records(uint16_t type)
{
	unsigned int n = 0;

	for (unsigned int i = 0; i < host.nr_records; i++)
		n += ((struct rec_header *)host.records[i].bytes)->type == type;
	return n;
}

/* Runs the sampler once; the record it made. */
static inline struct rec_raw_sample *sample(struct pt_regs regs)
{
	struct bpf_perf_event_data ctx = {.regs = regs};
	struct rec_raw_sample *s;

	host_drop_records();
	host.reads = 0;
	assert_int_equal(sample_cpu(&ctx), 0);
	assert_int_equal(nr_records(REC_RAW_SAMPLE), 1);
	s = (struct rec_raw_sample *)last_record(REC_RAW_SAMPLE);
	/* Whatever happened, the record is whole and holds what it says. */
	assert_int_equal(s->h.size, sizeof(*s) + 8u * (s->nr_kernel + s->nr_leaf + s->nr_root));
	assert_true(s->nr_kernel <= EBEAM_KERNEL_FRAMES);
	assert_true(s->nr_leaf <= EBEAM_LEAF_FRAMES);
	assert_true(s->nr_root <= EBEAM_ROOT_FRAMES);
	assert_true(s->status < NR_SAMPLE_STATUSES);
	return s;
}

static inline struct rec_raw_sample *sample_in_jit(void)
{
	return sample(regs_in_jit());
}

/* ---- comparisons -------------------------------------------------------------------------- */

/* Frame i of the leaf part, from the leaf on. */
static inline uint64_t leaf_frame(const struct rec_raw_sample *s, uint64_t i)
{
	const uint64_t *leaf = s->addrs + s->nr_kernel;

	for (uint32_t k = 0; k < s->nr_leaf; k++) {
		uint64_t nr = leaf[k] & RAW_REPEATED ? leaf[k] & RAW_REPEATED_MAX : 1;

		if (i < nr)
			return leaf[k] & RAW_REPEATED ? leaf[k - 1] : leaf[k];
		i -= nr;
	}
	fail_msg("the leaf part has fewer frames");
	return 0;
}

/* The leaf part is the top of the stack as it was built, and the root part its bottom. */
static inline void assert_true_frames(const struct rec_raw_sample *s)
{
	const uint64_t *leaf = s->addrs + s->nr_kernel, *root = leaf + s->nr_leaf;

	assert_true(s->nr_leaf + s->nr_root <= node.nr_truth);
	for (uint32_t i = 0; i < s->nr_leaf; i++)
		assert_int_equal(leaf[i], true_frame(i));
	for (uint32_t i = 0; i < s->nr_root; i++)
		assert_int_equal(root[i], node.truth[i]);
}

/* Every frame of the stack, and nothing else. */
static inline void assert_whole(const struct rec_raw_sample *s)
{
	assert_int_equal(s->status, SAMPLE_STATUS_COMPLETE);
	assert_int_equal(s->nr_leaf + s->nr_root, node.nr_truth);
	assert_int_equal(s->skipped_frames, 0);
	assert_int_equal(s->skipped_words, 0);
	assert_true_frames(s);
}

/* ---- setup -------------------------------------------------------------------------------- */

static inline void add_maps(void)
{
	HOST_ADD_RINGS(rings);
	HOST_ADD_MAP(counters);
	HOST_ADD_MAP(threads);
	HOST_ADD_MAP(sites);
	HOST_ADD_MAP(kept_returns);
	HOST_ADD_MAP(scratch);
	HOST_ADD_MAP(processes);
}

/* Offsets of OTP 25, from the DWARF of its headers. */
static inline void set_layout(void)
{
	config.layout.process_id = 0;
	config.layout.process_reg = 48;
	config.layout.process_htop = 80;
	config.layout.process_stop = 88;
	config.layout.process_heap = 128;
	config.layout.process_hend = 136;
	config.layout.process_i = 256;
	config.layout.process_flags = 288;
	config.layout.process_dictionary = 416;
	config.layout.process_initial = 448;
	config.layout.process_current = 472;
	config.layout.process_state = 640;
	config.layout.process_scheduler_data = 760;
	config.layout.sched_registers = 0;
	config.layout.sched_current_process = 168;
	config.layout.sched_type = 176;
	config.layout.sched_no = 184;
	config.layout.sched_current_port = 224;
	config.layout.registers_tmp_mem = 8;
	config.layout.registers_x = 128;
	config.layout.regproc_name = 32;
	config.layout.port_id = 0;
}

static inline void set_code(void)
{
	state.jit[0] = (struct address_range){NODE_CODE, NODE_CODE + NODE_CODE_SIZE};
	state.jit[1] = (struct address_range){NODE_CODE_2, NODE_CODE_2 + NODE_CODE_2_SIZE};
	state.nr_jit = 2;
	state.jit_hull = (struct address_range){NODE_CODE, NODE_CODE_2 + NODE_CODE_2_SIZE};
	state.fragments = (struct address_range){NODE_FRAGMENTS, NODE_FRAGMENTS_END};
	state.normal_exit = NODE_NORMAL_EXIT;
}

static inline void know_thread(uint8_t type)
{
	struct thread_info t = {
		.esdp = NODE_ESDP, .registers = NODE_REGISTERS, .scheduler = 1, .type = type};
	uint64_t key = NODE_FSBASE;

	assert_int_equal(bpf_map_update_elem(&threads, &key, &t, BPF_ANY), 0);
}

/* cmocka setup: a node whose scheduler 1 is known and runs a process with an empty stack. */
static inline int node_setup(void **unused)
{
	(void)unused;
	host_reset();
	memset((void *)&config, 0, sizeof(config));
	memset(&state, 0, sizeof(state));
	add_maps();
	set_layout();
	set_code();
	HOST_KERNEL(true);
	config.os_pid = NODE_OS_PID;
	host.pid_tgid = (uint64_t)NODE_OS_PID << 32 | NODE_OS_TID;
	host.task.thread.fsbase = NODE_FSBASE;
	host_add_memory(NODE_CODE, NODE_CODE_SIZE);
	host_add_memory(NODE_PROCESS, 776);
	host_add_memory(NODE_ESDP, 41728);
	host_add_memory(NODE_C_STACK, NODE_REGISTERS - NODE_C_STACK + 16592);
	host_add_memory(NODE_TERMS, 4096);
	host_put_u64(NODE_ESDP + config.layout.sched_registers, NODE_REGISTERS);
	host_put_u64(NODE_ESDP + config.layout.sched_current_process, NODE_PROCESS);
	host_put_u64(NODE_ESDP + config.layout.sched_no, 1);
	set_process(config.layout.process_id, NODE_EPID);
	set_process(config.layout.process_scheduler_data, NODE_ESDP);
	new_heap(233);
	know_thread(THREAD_NORMAL);
	return 0;
}

static inline int node_teardown(void **unused)
{
	(void)unused;
	host_reset();
	return 0;
}

#define NODE_TEST(name) cmocka_unit_test_setup_teardown(name, node_setup, node_teardown)

#endif
