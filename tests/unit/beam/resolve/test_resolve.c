/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * From raw samples to stacks with names: the order of frames, what is dropped, what stands for
 * what, what cannot be known, and what is refused.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "abi/vm.h"
#include "base/compiler.h"
#include "lib/mem_faulty.h"
#include "lib/resolvefix.h"

#define KERNEL(k) (0xffff800000000000ull + 0x1000u * (k) + 0x10)
#define ENTRY	  1
#define EPOLL	  2
#define TCP	  3

/* C functions of the "node"; the names of their symbols are in the expected texts. */
static int __attribute__((noinline)) helper_of_the_vm(int n)
{
	return n * 3 + 1;
}

static int __attribute__((noinline)) bif_in_c(int n)
{
	return helper_of_the_vm(n) ^ 0x55;
}

static raddr helper(void)
{
	return (raddr)(uintptr_t)helper_of_the_vm;
}

static raddr bif(void)
{
	return (raddr)(uintptr_t)bif_in_c;
}

static int open_test(void **state)
{
	assert_int_equal(bif_in_c(1), 0x51);
	*state = fix_open(27);
	return 0;
}

static int close_test(void **state)
{
	fix_close(*state);
	return 0;
}

/* ---- Erlang stacks --------------------------------------------------------------------------- */

static void test_order(void **state)
{
	struct fix *x = *state;
	union fix_sample s;

	fix_sample(x, &s);
	fix_leaf(&s, fix_return(x, 1, 2));
	fix_leaf(&s, fix_return(x, 2, 1));
	fix_leaf(&s, x->normal_exit);
	fix_assert(x, &s,
		   "lists:c/3 lists.erl:301; lists:b/2 lists.erl:202; lists:a/1 lists.erl:100",
		   SAMPLE_ERLANG, SAMPLE_STATUS_COMPLETE);
}

/* A return address stands behind its call: the last byte of a function belongs to it, and the first
 * of one, as a return address, to the one before. */
static void test_edges(void **state)
{
	struct fix *x = *state;
	raddr b = x->base + FIX_LISTS + 0x100;
	union fix_sample s;

	fix_sample(x, &s);
	s.rec.user_ip = b + 0x10; /* the instruction pointer is taken as it is */
	fix_leaf(&s, b);	  /* right behind a/1 */
	fix_assert(x, &s, "lists:a/1 lists.erl:102; lists:b/2 lists.erl:200", SAMPLE_ERLANG,
		   SAMPLE_STATUS_COMPLETE);
}

static void test_root_part(void **state)
{
	struct fix *x = *state;
	union fix_sample s;

	fix_sample(x, &s);
	fix_leaf(&s, fix_return(x, 1, 0));
	fix_leaf(&s, fix_return(x, 2, 0));
	fix_root(&s, x->normal_exit); /* root first */
	fix_root(&s, fix_return(x, 4, 0));
	fix_root(&s, fix_return(x, 3, 0));
	s.rec.flags |= RAW_SAMPLE_ROOT_PART;
	s.rec.status = SAMPLE_STATUS_TRUNCATED;
	s.rec.skipped_frames = 7;
	s.rec.walked_words = 100;
	fix_assert(x, &s,
		   "lists:e/5 lists.erl:500; lists:d/4 lists.erl:400; elided [... 7 frames ...]; "
		   "lists:c/3 lists.erl:300; lists:b/2 lists.erl:200; lists:a/1 lists.erl:100",
		   SAMPLE_ERLANG, SAMPLE_STATUS_TRUNCATED);
}

/* How many frames the words hold that were not walked is an estimate, and says so. */
static void test_elided(void **state)
{
	static const struct {
		uint32_t skipped_words, walked_words;
		uint16_t skipped_frames;
		const char *text;
	} cases[] = {
		{0, 100, 1, "elided [... 1 frames ...]; "},
		{0, 100, 12345, "elided [... 12345 frames ...]; "},
		{8, 8, 0, "elided [... ~2 frames ...]; "},
		{100, 8, 2, "elided [... ~52 frames ...]; "},	      /* 2 + 100 * 4 / 8 */
		{10000, 8, 0, "elided [... ~2500 frames ...]; "},     /* 10000 * 2 / 8 */
		{10007, 8, 254, "elided [... ~320000 frames ...]; "}, /* 320478 */
		{UINT32_MAX, 1, 65535, "elided [... ~280000000000000 frames ...]; "},
		{100, 0, 0, ""}, /* nothing to reckon with */
		{1, 100, 0, ""},
	};
	struct fix *x = *state;
	struct strbuf expect = STRBUF_INIT;
	union fix_sample s;

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		fix_sample(x, &s);
		fix_leaf(&s, fix_return(x, 1, 0));
		fix_leaf(&s, fix_return(x, 2, 0));
		s.rec.status = SAMPLE_STATUS_TRUNCATED;
		s.rec.skipped_words = cases[i].skipped_words;
		s.rec.walked_words = cases[i].walked_words;
		s.rec.skipped_frames = cases[i].skipped_frames;
		strbuf_reset(&expect);
		strbuf_addstr(&expect, cases[i].text);
		strbuf_addstr(&expect, "lists:c/3 lists.erl:300; lists:b/2 lists.erl:200; "
				       "lists:a/1 lists.erl:100");
		fix_assert(x, &s, expect.buf, SAMPLE_ERLANG, SAMPLE_STATUS_TRUNCATED);
	}
	strbuf_free(&expect);
}

/* The deepest stack that a record can hold. */
static void test_deepest(void **state)
{
	struct fix *x = *state;
	struct resolved_sample out;
	union fix_sample s;

	fix_sample(x, &s);
	for (int i = 0; i < EBEAM_KERNEL_FRAMES; i++)
		fix_kernel(&s, KERNEL(ENTRY));
	for (unsigned int i = 0; i < EBEAM_LEAF_FRAMES; i++)
		fix_leaf(&s, fix_return(x, i % 11, 0));
	for (unsigned int i = 0; i < EBEAM_ROOT_FRAMES; i++)
		fix_root(&s, fix_return(x, i % 11, 1));
	s.rec.skipped_frames = 1;
	assert_int_equal(fix_resolve(x, &s, &out), 0);
	assert_int_equal(out.nr_frames,
			 EBEAM_KERNEL_FRAMES + EBEAM_LEAF_FRAMES + EBEAM_ROOT_FRAMES + 2);
}

/* Recursion is shown frame by frame up to the limit, beyond it as one frame and a number. */
static void test_recursion(void **state)
{
	static const struct {
		uint32_t repeated;
		const char *text; /* NULL: all of them */
	} cases[] = {
		{1, NULL},
		{EBEAM_LEAF_FRAMES - 3, NULL},
		{EBEAM_LEAF_FRAMES - 2, "elided [... recursion, ~890 times ...]; "},
		{1200, "elided [... recursion, 1200 times ...]; "},
		{RAW_REPEATED_MAX, "elided [... recursion, ~4300000000 times ...]; "},
	};
	struct fix *x = *state;
	struct strbuf expect = STRBUF_INIT;
	union fix_sample s;

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		fix_sample(x, &s);
		fix_leaf(&s, fix_return(x, 1, 0));
		fix_leaf(&s, fix_return(x, 2, 0));
		fix_leaf(&s, RAW_REPEATED | cases[i].repeated);
		fix_leaf(&s, fix_return(x, 3, 0));
		strbuf_reset(&expect);
		strbuf_addstr(&expect, "lists:d/4 lists.erl:400; ");
		for (uint32_t k = 0; !cases[i].text && k < cases[i].repeated; k++)
			strbuf_addstr(&expect, "lists:c/3 lists.erl:300; ");
		if (cases[i].text)
			strbuf_addstr(&expect, cases[i].text);
		strbuf_addstr(&expect, "lists:c/3 lists.erl:300; lists:b/2 lists.erl:200; "
				       "lists:a/1 lists.erl:100");
		fix_assert(x, &s, expect.buf, SAMPLE_ERLANG, SAMPLE_STATUS_COMPLETE);
	}
	/* What is no frame is none however often; a number with nothing before it is ignored. */
	fix_sample(x, &s);
	fix_leaf(&s, RAW_REPEATED | 7);
	fix_leaf(&s, x->normal_exit);
	fix_leaf(&s, RAW_REPEATED | 5000);
	fix_assert(x, &s, "lists:a/1 lists.erl:100", SAMPLE_ERLANG, SAMPLE_STATUS_COMPLETE);
	strbuf_free(&expect);
}

/* ---- words that are no frames, frames without names ------------------------------------------ */

static void test_dropped_words(void **state)
{
	struct fix *x = *state;
	union fix_sample s;

	fix_sample(x, &s);
	/* MFA pointer of a trace frame: a return address never lies in a preamble. */
	fix_leaf(&s, x->base + FIX_LISTS + 0x110);
	fix_leaf(&s, fix_return(x, 2, 0));
	/* In the hull of the mappings, but in none of them. */
	fix_leaf(&s, 0x1000);
	fix_leaf(&s, x->base - 0x100000);
	fix_leaf(&s, fix_return(x, 3, 0));
	fix_leaf(&s, x->normal_exit);
	fix_assert(x, &s,
		   "lists:d/4 lists.erl:400; lists:c/3 lists.erl:300; lists:a/1 lists.erl:100",
		   SAMPLE_ERLANG, SAMPLE_STATUS_COMPLETE);
}

/* Fragments and the VM's own "module" are not Erlang. */
static void test_runtime_frames(void **state)
{
	struct fix *x = *state;
	union fix_sample s;

	fix_sample(x, &s);
	s.rec.user_ip = fix_fragment(x, "call_bif_shared") + 4;
	fix_leaf(&s, fix_return(x, 1, 0));
	fix_leaf(&s, x->base + FIX_BEAMASM + 0x50);
	fix_leaf(&s, fix_return(x, 2, 0));
	fix_assert(x, &s,
		   "lists:c/3 lists.erl:300; runtime erts_beamasm:return_trace/0; "
		   "lists:b/2 lists.erl:200; runtime global::call_bif_shared",
		   SAMPLE_ERLANG, SAMPLE_STATUS_COMPLETE);
}

static void test_unresolved(void **state)
{
	struct fix *x = *state;
	union fix_sample s;

	fix_sample(x, &s);
	fix_leaf(&s, x->base + FIX_UNKNOWN);
	fix_leaf(&s, fix_return(x, 1, 0));
	fix_assert(x, &s, "lists:b/2 lists.erl:200; runtime [unknown]; lists:a/1 lists.erl:100",
		   SAMPLE_ERLANG, SAMPLE_STATUS_UNRESOLVED);
	/* What was wrong already stays so. */
	s.rec.status = SAMPLE_STATUS_STACK_UNREADABLE;
	fix_assert(x, &s, "lists:b/2 lists.erl:200; runtime [unknown]; lists:a/1 lists.erl:100",
		   SAMPLE_ERLANG, SAMPLE_STATUS_STACK_UNREADABLE);
	/* The instruction pointer itself; no state may stand for it. */
	fix_sample(x, &s);
	s.rec.user_ip = x->base + FIX_UNKNOWN;
	fix_assert(x, &s, "runtime [unknown]", SAMPLE_ERLANG, SAMPLE_STATUS_UNRESOLVED);
	fix_sample(x, &s);
	s.rec.place = PLACE_C_FROM_JIT;
	s.rec.call_ra = x->base + FIX_UNKNOWN;
	s.rec.user_ip = helper();
	fix_assert(x, &s, "runtime [unknown]; native test_resolve:helper_of_the_vm", SAMPLE_ERLANG,
		   SAMPLE_STATUS_UNRESOLVED);
}

/* ---- C code called from JIT code ------------------------------------------------------------- */

/* In C, called from a fragment that b/2 called. */
static void sample_in_c(struct fix *x, union fix_sample *s, const char *fragment)
{
	fix_sample(x, s);
	s->rec.place = PLACE_C_FROM_JIT;
	s->rec.stack_source = STACK_STOP;
	s->rec.user_ip = helper();
	s->rec.call_ra = fix_fragment(x, fragment) + 0x80;
	fix_leaf(s, fix_return(x, 1, 1));
	fix_leaf(s, fix_return(x, 2, 0));
	s->rec.saved_ra = s->rec.addrs[0];
}

static void test_light_bif(void **state)
{
	struct fix *x = *state;
	union fix_sample s;

	sample_in_c(x, &s, "call_light_bif_shared");
	s.rec.light_bif = fakenode_export(x->f, "ets", "lookup", 2);
	fix_assert(x, &s,
		   "lists:c/3 lists.erl:300; lists:b/2 lists.erl:201; bif ets:lookup/2; "
		   "native test_resolve:helper_of_the_vm",
		   SAMPLE_ETS, SAMPLE_STATUS_COMPLETE);
	/* Without its Export the fragment is all that is known. */
	s.rec.light_bif = 0;
	fix_assert(x, &s,
		   "lists:c/3 lists.erl:300; lists:b/2 lists.erl:201; "
		   "runtime global::call_light_bif_shared; native test_resolve:helper_of_the_vm",
		   SAMPLE_ERLANG, SAMPLE_STATUS_COMPLETE);
}

/* The stub of a BIF is not shown beside the BIF. */
static void test_bif_replaces_its_stub(void **state)
{
	struct fix *x = *state;
	union fix_sample s;

	sample_in_c(x, &s, "call_bif_shared");
	fakenode_mfa(x->f, s.rec.current_mfa, "lists", "b", 2);
	fix_assert(x, &s,
		   "lists:c/3 lists.erl:300; bif lists:b/2; native test_resolve:helper_of_the_vm",
		   SAMPLE_BIF, SAMPLE_STATUS_COMPLETE);
	/* Another arity is another function. */
	s.rec.current_mfa[2] = 3;
	fix_assert(x, &s,
		   "lists:c/3 lists.erl:300; lists:b/2 lists.erl:201; bif lists:b/3; "
		   "native test_resolve:helper_of_the_vm",
		   SAMPLE_BIF, SAMPLE_STATUS_COMPLETE);
}

static void test_nif(void **state)
{
	struct fix *x = *state;
	union fix_sample s;

	sample_in_c(x, &s, "call_nif_shared");
	fakenode_mfa(x->f, s.rec.current_mfa, "crypto", "hash_nif", 2);
	fix_assert(x, &s,
		   "lists:c/3 lists.erl:300; lists:b/2 lists.erl:201; nif crypto:hash_nif/2; "
		   "native test_resolve:helper_of_the_vm",
		   SAMPLE_NIF, SAMPLE_STATUS_COMPLETE);
	memset(s.rec.current_mfa, 0, sizeof(s.rec.current_mfa));
	fix_assert(x, &s,
		   "lists:c/3 lists.erl:300; lists:b/2 lists.erl:201; "
		   "runtime global::call_nif_shared; native test_resolve:helper_of_the_vm",
		   SAMPLE_ERLANG, SAMPLE_STATUS_COMPLETE);
}

/* `movabs rcx, bif` and the call of the fragment before the return address into b/2. */
static void test_guard_bif(void **state)
{
	static const uint8_t movabs[] = {0x48, 0xb9}, call[] = {0xe8, 1, 2, 3, 4};
	struct fix *x = *state;
	union fix_sample s;

	fakenode_bif(x->f, "erlang", "tuple_size", 1, bif());
	callsites_close(x->r->sites);
	x->r->sites = callsites_open(&x->f->node, x->r->jit);
	sample_in_c(x, &s, "i_bif_body_shared");
	image_put(x->f->im, s.rec.saved_ra - 15, movabs, sizeof(movabs));
	image_u64(x->f->im, s.rec.saved_ra - 13, bif());
	image_put(x->f->im, s.rec.saved_ra - 5, call, sizeof(call));
	fix_assert(x, &s,
		   "lists:c/3 lists.erl:300; lists:b/2 lists.erl:201; bif erlang:tuple_size/1; "
		   "native test_resolve:helper_of_the_vm",
		   SAMPLE_BIF, SAMPLE_STATUS_COMPLETE);
	s.rec.user_ip = bif();
	fix_assert(x, &s,
		   "lists:c/3 lists.erl:300; lists:b/2 lists.erl:201; bif erlang:tuple_size/1; "
		   "native test_resolve:bif_in_c",
		   SAMPLE_BIF, SAMPLE_STATUS_COMPLETE);
}

/* `call [rip + 0x10]` in b/2: a helper of the VM, shown with what it called. */
static void test_direct_call(void **state)
{
	static const uint8_t call[] = {0xff, 0x15, 0x10, 0, 0, 0};
	struct fix *x = *state;
	union fix_sample s;

	fix_sample(x, &s);
	s.rec.place = PLACE_C_FROM_JIT;
	s.rec.call_ra = fix_return(x, 1, 1);
	fix_leaf(&s, fix_return(x, 2, 0));
	image_put(x->f->im, s.rec.call_ra - 6, call, sizeof(call));
	image_u64(x->f->im, s.rec.call_ra + 0x10, bif());
	s.rec.user_ip = helper();
	fix_assert(
		x, &s,
		"lists:c/3 lists.erl:300; lists:b/2 lists.erl:201; native test_resolve:bif_in_c; "
		"native test_resolve:helper_of_the_vm",
		SAMPLE_ERLANG, SAMPLE_STATUS_COMPLETE);
	s.rec.user_ip = bif(); /* the helper itself is the leaf: once */
	fix_assert(x, &s,
		   "lists:c/3 lists.erl:300; lists:b/2 lists.erl:201; native test_resolve:bif_in_c",
		   SAMPLE_ERLANG, SAMPLE_STATUS_COMPLETE);
	s.rec.user_ip = 0x10; /* nothing is mapped there */
	fix_assert(
		x, &s,
		"lists:c/3 lists.erl:300; lists:b/2 lists.erl:201; native test_resolve:bif_in_c; "
		"native [unknown]",
		SAMPLE_ERLANG, SAMPLE_STATUS_COMPLETE);
}

static void test_garbage_collection(void **state)
{
	struct fix *x = *state;
	union fix_sample s;

	sample_in_c(x, &s, "garbage_collect");
	s.rec.process_state = PSFLG_GC;
	fix_assert(x, &s,
		   "lists:c/3 lists.erl:300; lists:b/2 lists.erl:201; "
		   "runtime global::garbage_collect; native test_resolve:helper_of_the_vm",
		   SAMPLE_GC, SAMPLE_STATUS_COMPLETE);
}

/* ---- dirty schedulers ------------------------------------------------------------------------ */

static void test_dirty_calls(void **state)
{
	struct fix *x = *state;
	union fix_sample s;

	fakenode_bif(x->f, "erts_internal", "dirty_bif", 1, bif());
	callsites_close(x->r->sites);
	x->r->sites = callsites_open(&x->f->node, x->r->jit);
	fix_sample(x, &s);
	s.rec.place = PLACE_C_PROCESS;
	s.rec.thread_type = THREAD_DIRTY_IO;
	s.rec.user_ip = helper();
	fix_leaf(&s, fix_return(x, 1, 1));
	fakenode_mfa(x->f, s.rec.current_mfa, "prim_file", "read_nif", 2);
	fix_assert(x, &s,
		   "lists:b/2 lists.erl:201; nif prim_file:read_nif/2; "
		   "native test_resolve:helper_of_the_vm",
		   SAMPLE_NIF, SAMPLE_STATUS_COMPLETE);
	fakenode_mfa(x->f, s.rec.current_mfa, "erts_internal", "dirty_bif", 1);
	fix_assert(x, &s,
		   "lists:b/2 lists.erl:201; bif erts_internal:dirty_bif/1; "
		   "native test_resolve:helper_of_the_vm",
		   SAMPLE_BIF, SAMPLE_STATUS_COMPLETE);
	/* A dirty collection runs on behalf of a process, not of a function. */
	s.rec.process_state = PSFLG_GC;
	fix_assert(x, &s, "lists:b/2 lists.erl:201; native test_resolve:helper_of_the_vm",
		   SAMPLE_GC, SAMPLE_STATUS_COMPLETE);
	s.rec.process_state = 0;
	s.rec.current_mfa[1] = 0xffffffcb; /* no such atom */
	fix_assert(x, &s, "lists:b/2 lists.erl:201; native test_resolve:helper_of_the_vm",
		   SAMPLE_SCHEDULER, SAMPLE_STATUS_COMPLETE);
	/* On a normal scheduler the current function says nothing here. */
	fakenode_mfa(x->f, s.rec.current_mfa, "prim_file", "read_nif", 2);
	s.rec.thread_type = THREAD_NORMAL;
	fix_assert(x, &s, "lists:b/2 lists.erl:201; native test_resolve:helper_of_the_vm",
		   SAMPLE_SCHEDULER, SAMPLE_STATUS_COMPLETE);
}

/* ---- kernel, states -------------------------------------------------------------------------- */

static void test_kernel_frames(void **state)
{
	struct fix *x = *state;
	union fix_sample s;

	fix_sample(x, &s);
	s.rec.place = PLACE_C_FROM_JIT;
	s.rec.call_ra = fix_fragment(x, "call_light_bif_shared") + 0x80;
	s.rec.light_bif = fakenode_export(x->f, "erlang", "port_command", 3);
	s.rec.user_ip = helper();
	s.rec.flags |= RAW_SAMPLE_KERNEL;
	fix_kernel(&s, KERNEL(TCP)); /* leaf first */
	fix_kernel(&s, KERNEL(ENTRY));
	fix_kernel(&s, 0xffff800000000010); /* below all symbols */
	fix_leaf(&s, fix_return(x, 1, 1));
	fix_assert(
		x, &s,
		"lists:b/2 lists.erl:201; bif erlang:port_command/3; "
		"native test_resolve:helper_of_the_vm; kernel [kernel]; kernel entry_SYSCALL_64; "
		"kernel tcp_sendmsg",
		SAMPLE_PORT, SAMPLE_STATUS_COMPLETE);
	kallsyms_close(x->r->kernel);
	x->r->kernel = NULL;
	fix_assert(x, &s,
		   "lists:b/2 lists.erl:201; bif erlang:port_command/3; "
		   "native test_resolve:helper_of_the_vm; kernel [kernel]; kernel [kernel]; "
		   "kernel [kernel]",
		   SAMPLE_PORT, SAMPLE_STATUS_COMPLETE);
}

static void test_states(void **state)
{
	struct fix *x = *state;
	union fix_sample s;

	fix_sample(x, &s);
	s.rec.process = s.rec.epid = 0;
	s.rec.place = PLACE_OTHER;
	s.rec.user_ip = 0;
	fix_assert(x, &s, "state [scheduler]", SAMPLE_SCHEDULER, SAMPLE_STATUS_COMPLETE);
	s.rec.port_id = 0x87;
	fix_assert(x, &s, "state [port]", SAMPLE_PORT, SAMPLE_STATUS_COMPLETE);
	s.rec.port_id = 0;
	s.rec.user_ip = helper();
	fix_kernel(&s, KERNEL(EPOLL));
	fix_kernel(&s, KERNEL(ENTRY));
	fix_assert(x, &s,
		   "state [poll]; native test_resolve:helper_of_the_vm; kernel entry_SYSCALL_64; "
		   "kernel do_epoll_wait",
		   SAMPLE_POLL, SAMPLE_STATUS_COMPLETE);
	/* A process that could not be read has no frames, and that is reported. */
	fix_sample(x, &s);
	s.rec.place = PLACE_OTHER;
	s.rec.user_ip = 0;
	s.rec.status = SAMPLE_STATUS_STACK_UNREADABLE;
	fix_assert(x, &s, "state [scheduler]", SAMPLE_SCHEDULER, SAMPLE_STATUS_STACK_UNREADABLE);
}

/* ---- malformed, faults ----------------------------------------------------------------------- */

static void test_malformed(void **state)
{
	struct fix *x = *state;
	struct resolved_sample out;
	union fix_sample good, s;

	fix_sample(x, &good);
	fix_kernel(&good, KERNEL(ENTRY));
	fix_leaf(&good, fix_return(x, 1, 0));
	fix_root(&good, fix_return(x, 2, 0));
	assert_int_equal(fix_resolve(x, &good, &out), 0);
#define REFUSED(member, value)                                                                     \
	s = good;                                                                                  \
	s.rec.member = value;                                                                      \
	assert_int_equal(fix_resolve(x, &s, &out), -EINVAL)
	REFUSED(h.size, good.rec.h.size - 8);
	REFUSED(h.size, sizeof(s.rec) - 8);
	REFUSED(h.size, 0);
	REFUSED(nr_kernel, 2);
	REFUSED(nr_leaf, 2);
	REFUSED(nr_root, 2);
	REFUSED(nr_leaf, 65535);
	REFUSED(status, NR_SAMPLE_STATUSES);
	REFUSED(place, PLACE_INTERPRETER + 1);
	REFUSED(thread_type, THREAD_OTHER + 1);
	good.rec.h.size = EBEAM_MAX_RECORD_SIZE; /* large enough, but more than a walk keeps */
	REFUSED(nr_kernel, EBEAM_KERNEL_FRAMES + 1);
	REFUSED(nr_leaf, EBEAM_LEAF_FRAMES + 1);
	REFUSED(nr_root, EBEAM_ROOT_FRAMES + 1);
#undef REFUSED
}

/* Every read of the node may fail: a stack loses names, never its order, and gains nothing. */
static void test_faults(void **state)
{
	struct fix *x = *state;
	struct mem *whole = x->f->node.mem;
	union fix_sample s;
	uint64_t nth;

	sample_in_c(x, &s, "call_light_bif_shared");
	s.rec.light_bif = fakenode_export(x->f, "erlang", "send", 2);
	for (nth = 1; nth < 50; nth++) {
		struct resolved_sample out;
		struct callsites *sites;

		sites = callsites_open(&x->f->node, x->r->jit);
		x->f->node.mem = mem_open_faulty(whole, 0, 0, nth);
		callsites_close(x->r->sites);
		x->r->sites = sites;
		assert_int_equal(fix_resolve(x, &s, &out), 0);
		mem_close(x->f->node.mem);
		x->f->node.mem = whole;
		assert_int_equal(out.nr_frames, 4);
		assert_true(out.kind == SAMPLE_BIF || out.kind == SAMPLE_ERLANG);
		if (out.kind == SAMPLE_BIF && nth > 4)
			break;
	}
	assert_in_range(nth, 2, 20);
	fix_assert(x, &s,
		   "lists:c/3 lists.erl:300; lists:b/2 lists.erl:201; bif erlang:send/2; "
		   "native test_resolve:helper_of_the_vm",
		   SAMPLE_BIF, SAMPLE_STATUS_COMPLETE);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, open_test, close_test)
	const struct CMUnitTest tests[] = {
		TEST(test_order),
		TEST(test_edges),
		TEST(test_root_part),
		TEST(test_elided),
		TEST(test_deepest),
		TEST(test_recursion),
		TEST(test_dropped_words),
		TEST(test_runtime_frames),
		TEST(test_unresolved),
		TEST(test_light_bif),
		TEST(test_bif_replaces_its_stub),
		TEST(test_nif),
		TEST(test_guard_bif),
		TEST(test_direct_call),
		TEST(test_garbage_collection),
		TEST(test_dirty_calls),
		TEST(test_kernel_frames),
		TEST(test_states),
		TEST(test_malformed),
		TEST(test_faults),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
