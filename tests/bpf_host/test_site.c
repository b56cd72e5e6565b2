/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * How a call site treats the Erlang stack pointer: found in the code behind the call, remembered
 * until code changes, never guessed from code that cannot be read.
 */
#include "node.h"

#define SITE (NODE_FUNCTIONS + 0x100)

/* Real code behind calls of C functions (OTP 25): reload the heap top, then leave. */
static const char code_stop[] = "\x4d\x8b\x75\x10"	/* mov r14, [r13 + 0x10] */
				"\x4d\x8b\x7d\x50"	/* mov r15, [r13 + 0x50] */
				"\x49\x8b\x65\x58"	/* mov rsp, [r13 + 0x58] */
				"\x48\x85\xc0\x74\x10"; /* test rax, rax; je */
static const char code_saved[] = "\x48\x89\xec"		/* mov rsp, rbp */
				 "\x48\x83\xf8\x0b\x75\x20";

static void both_instructions(void **unused)
{
	(void)unused;
	put_code(SITE, code_stop, sizeof(code_stop) - 1);
	assert_int_equal(site_classify(SITE), SITE_STOP);
	put_code(SITE, code_saved, sizeof(code_saved) - 1);
	assert_int_equal(site_classify(SITE), SITE_SAVED);
	assert_int_equal(counter(COUNTER_READ_FAULT), 0);
}

/* The first of them belongs to this call, what follows to the next one. */
static void first_one_decides(void **unused)
{
	(void)unused;
	put_code(SITE + 40, code_stop, sizeof(code_stop) - 1);
	put_code(SITE + 90, code_saved, sizeof(code_saved) - 1);
	assert_int_equal(site_classify(SITE), SITE_STOP);
	assert_int_equal(site_classify(SITE + 60), SITE_SAVED);
}

static void neither(void **unused)
{
	(void)unused;
	assert_int_equal(site_classify(SITE), SITE_UNKNOWN); /* zeros */
	/* Nearly: another base register, another displacement, another direction. */
	put_code(SITE, "\x49\x8b\x66\x58", 4);	    /* mov rsp, [r14 + 0x58] */
	put_code(SITE + 8, "\x49\x8b\x65\x50", 4);  /* mov rsp, [r13 + 0x50] */
	put_code(SITE + 16, "\x48\x89\xe5", 3);	    /* mov rbp, rsp */
	put_code(SITE + 24, "\x4c\x89\xe4", 3);	    /* mov rsp, r12: OTP 24 */
	put_code(SITE + 32, "\x49\x89\x65\x58", 4); /* mov [r13 + 0x58], rsp */
	assert_int_equal(site_classify(SITE), SITE_UNKNOWN);
}

/* The displacement is that of Process.stop in this node. */
static void stop_of_the_layout(void **unused)
{
	(void)unused;
	put_code(SITE, "\x49\x8b\x65\x60", 4);
	assert_int_equal(site_classify(SITE), SITE_UNKNOWN);
	config.layout.process_stop = 0x60;
	assert_int_equal(site_classify(SITE), SITE_STOP);
}

/* At each offset up to the last at which the instruction is whole, and not beyond. */
static void every_offset(void **unused)
{
	(void)unused;
	for (uint32_t at = 0; at < EBEAM_SITE_BYTES + 8; at++) {
		bool whole = at <= EBEAM_SITE_BYTES - 4;

		memset(host_at(SITE, 1024), 0x90, 1024);
		put_code(SITE + at, "\x49\x8b\x65\x58", 4);
		assert_int_equal(site_classify(SITE), whole ? SITE_STOP : SITE_UNKNOWN);
		memset(host_at(SITE, 1024), 0x90, 1024);
		put_code(SITE + at, "\x48\x89\xec", 3);
		assert_int_equal(site_classify(SITE), whole ? SITE_SAVED : SITE_UNKNOWN);
	}
}

static void unreadable(void **unused)
{
	(void)unused;
	put_leave(SITE, SITE_SAVED);
	host.fail_addr = SITE;
	assert_int_equal(site_classify(SITE), SITE_UNREADABLE);
	host.fail_addr = SITE + EBEAM_SITE_BYTES - 1;
	assert_int_equal(site_classify(SITE), SITE_UNREADABLE);
	assert_int_equal(counter(COUNTER_READ_FAULT), 2);
	host.fail_addr = SITE + EBEAM_SITE_BYTES;
	assert_int_equal(site_classify(SITE), SITE_SAVED);
	assert_int_equal(site_classify(0), SITE_UNREADABLE);
	assert_int_equal(site_classify(UINT64_MAX), SITE_UNREADABLE);
}

/* Code is read once per site, and again when code has changed. */
static void remembered(void **unused)
{
	uint64_t reads;

	(void)unused;
	put_leave(SITE, SITE_SAVED);
	assert_int_equal(site_class_of(SITE), SITE_SAVED);
	put_leave(SITE, SITE_STOP);
	reads = host.reads;
	assert_int_equal(site_class_of(SITE), SITE_SAVED);
	assert_int_equal(host.reads, reads);
	state.code_generation++;
	assert_int_equal(site_class_of(SITE), SITE_STOP);
	assert_int_equal(host.reads, reads + 1);
	assert_int_equal(site_class_of(SITE), SITE_STOP);
	assert_int_equal(host.reads, reads + 1);
}

/* A page that was not there is not held against the site. */
static void unreadable_is_not_remembered(void **unused)
{
	(void)unused;
	put_leave(SITE, SITE_SAVED);
	host.fail_addr = SITE + 200;
	assert_int_equal(site_class_of(SITE), SITE_UNREADABLE);
	host.fail_addr = 0;
	assert_int_equal(site_class_of(SITE), SITE_SAVED);
}

/* More sites than the cache holds are read again, and right. */
static void more_sites_than_fit(void **unused)
{
	(void)unused;
	for (int round = 0; round < 2; round++) {
		for (uint32_t i = 0; i < 9000; i += round ? 500 : 1) {
			put_leave(SITE + 16ull * i, i % 2 ? SITE_SAVED : SITE_STOP);
			assert_int_equal(site_class_of(SITE + 16ull * i),
					 i % 2 ? SITE_SAVED : SITE_STOP);
		}
	}
	assert_int_equal(host_map(&sites)->nr, 8192);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		NODE_TEST(both_instructions),
		NODE_TEST(first_one_decides),
		NODE_TEST(neither),
		NODE_TEST(stop_of_the_layout),
		NODE_TEST(every_offset),
		NODE_TEST(unreadable),
		NODE_TEST(remembered),
		NODE_TEST(unreadable_is_not_remembered),
		NODE_TEST(more_sites_than_fit),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
