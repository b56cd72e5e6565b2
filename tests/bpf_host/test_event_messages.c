/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The programs of messages, on a made-up process: sizes, aliases, whom they are from and to.
 */
#include "abi/vm.h"
#include "event_node.h"

static void filters_of_messages(void **unused)
{
	struct pt_regs ctx = {.di = PROCESS, .si = OTHER, .cx = MESSAGE, .r8 = ATOM(1)};

	(void)unused;
	config.message_from.epid = TO;
	event_queue_proc_message(&ctx);
	config.message_from.epid = EPID;
	config.message_to.name = NAME;
	event_queue_proc_message(&ctx);
	assert_int_equal(nr_events(), 0);
	put_name(OTHER, NAME);
	event_queue_proc_message(&ctx);
	assert_int_equal(nr_events(), 2);
	assert_int_equal(event(0)->kind, EVENT_MESSAGE_SEND);
	assert_int_equal(event(1)->kind, EVENT_MESSAGE_QUEUED);
	/* Of a port, to the same. */
	ctx = (struct pt_regs){.di = OTHER, .dx = MESSAGE, .cx = ATOM(1), .r8 = 0x57};
	event_queue_message(&ctx);
	assert_int_equal(nr_events(), 2);
	config.message_from.epid = 0;
	event_queue_message(&ctx);
	assert_int_equal(nr_events(), 3);
}

/* As the rest of a copy of erts_queue_proc_message(). */
static void from_inside_send(void **unused)
{
	const uint64_t m = MESSAGE + (uint64_t)config.layout.message_m;
	struct pt_regs ctx = {
		.di = OTHER,
		.cx = MESSAGE + (uint64_t)config.layout.message_next,
		.r8 = 1,
	};

	(void)unused;
	host_put_u64(MESSAGE + 8, HEAP);
	host_put_u64(HEAP + 32, 6);
	host_put_u64(m, HEAP | 2);
	host_put_u64(m + 16, 0x57); /* of a port: with a token, no event elsewhere either */
	event_queue_messages(&ctx);
	assert_int_equal(nr_events(), 0);
	host_put_u64(m + 16, EPID);
	event_queue_messages(&ctx);
	assert_int_equal(nr_events(), 2);
	assert_int_equal(event(0)->kind, EVENT_MESSAGE_SEND);
	assert_int_equal(event(0)->epid, EPID);
	assert_int_equal(event(0)->values[0], TO);
	assert_int_equal(event(0)->values[1], 6);
	assert_int_equal(event(1)->kind, EVENT_MESSAGE_QUEUED);
	assert_int_equal(event(1)->epid, TO);
	ctx.r8 = 2; /* more than one: of a NIF */
	event_queue_messages(&ctx);
	assert_int_equal(nr_events(), 2);
}

static uint64_t size_of_message(uint64_t data, uint64_t term, uint64_t receiver)
{
	struct pt_regs ctx = {.di = PROCESS, .si = receiver, .cx = MESSAGE, .r8 = term};
	unsigned int n = 0;

	host_put_u64(MESSAGE + 8, data);
	while (event(n))
		n++;
	event_queue_proc_message(&ctx);
	assert_int_equal(event(n)->kind, EVENT_MESSAGE_SEND);
	assert_int_equal(event(n + 1)->kind, EVENT_MESSAGE_QUEUED);
	assert_true(event(n)->values[1] == event(n + 1)->values[1]);
	assert_int_equal(event(n + 1)->values[0], EPID);
	return event(n)->values[1];
}

static void sizes(void **unused)
{
	struct pt_regs alloc = {.di = OTHER, .cx = 17};

	(void)unused;
	assert_int_equal(size_of_message(0, ATOM(1), OTHER), 0);
	host_put_u64(MESSAGE + 40 + 32, 5); /* used_size of a fragment in the message */
	assert_int_equal(size_of_message(1, HEAP | 2, OTHER), 5);
	host_put_u64(HEAP + 32, 6); /* of a fragment of its own */
	assert_int_equal(size_of_message(HEAP, HEAP | 2, OTHER), 6);
	event_alloc_message(&alloc);
	assert_int_equal(size_of_message(0, HEAP | 1, OTHER), 17);
	/* Once only; and not for another receiver. */
	assert_true(size_of_message(0, HEAP | 1, OTHER) == EVENT_UNKNOWN);
	event_alloc_message(&alloc);
	assert_int_equal(size_of_message(0, HEAP | 1, PROCESS), 0); /* to itself */
}

/* An alias of the process `to`, and the table of processes in which it stands. */
#define TABLE (HEAP + 0x800)
static uint64_t put_alias(uint64_t process)
{
	config.processes.slots = TABLE;
	config.processes.pix_mask = 0xf;
	config.processes.whole_word = 1;
	host_put_u64(TABLE + 8 * (TO >> 4 & 0xf), process);
	host_put_u64(HEAP, PID_REF_HEADER);
	host_put_u64(HEAP + PID_REF_PID, TO);
	return HEAP | 2;
}

/* The nth event: a message of that size to an alias; the one after it says that it is queued. */
static void assert_to_alias(unsigned int n, uint64_t to, uint64_t size, bool is_queued)
{
	assert_int_equal(event(n)->kind, EVENT_MESSAGE_SEND);
	assert_int_equal(event(n)->epid, EPID);
	assert_int_equal(event(n)->values[0], to);
	assert_true(event(n)->values[1] == size);
	if (!is_queued)
		return;
	assert_int_equal(event(n + 1)->kind, EVENT_MESSAGE_QUEUED);
	assert_int_equal(event(n + 1)->epid, to);
	assert_int_equal(event(n + 1)->values[0], EPID);
	assert_true(event(n + 1)->values[1] == size);
}

/* A pid of another node. */
static uint64_t put_far_pid(uint64_t name)
{
	const uint64_t pid = HEAP + 0x400, node = HEAP + 0x100;

	host_put_u64(pid, 3 << 6 | 0x30);
	host_put_u64(pid + 8, node);
	host_put_u64(node + (uint64_t)config.layout.node_sysname, name);
	return pid | 2;
}

static void from_other_nodes(void **unused)
{
	struct pt_regs ctx = {.di = OTHER, .r9 = put_far_pid(ATOM(7))};
	struct pt_regs alias = {.si = put_alias(OTHER), .di = ctx.r9};
	uint64_t process_state = OTHER + (uint64_t)config.layout.process_state;

	(void)unused;
	event_queue_dist_message(&ctx);
	event_dist_to_alias(&alias);
	assert_int_equal(nr_events(), 2);
	for (unsigned int i = 0; i < 2; i++) {
		assert_int_equal(event(i)->kind, EVENT_MESSAGE_QUEUED);
		assert_int_equal(event(i)->epid, TO);
		assert_int_equal(event(i)->values[0], ATOM(7));
		assert_true(event(i)->values[1] == EVENT_UNKNOWN);
	}
	/* With priority, to a pid (OTP 28). */
	alias.si = TO;
	event_dist_to_alias(&alias);
	assert_int_equal(nr_events(), 3);
	/* Nobody's alias; the owner exits. */
	alias.si = HEAP | 2;
	host_put_u64(HEAP, 4 << 6 | 0x10);
	event_dist_to_alias(&alias);
	put_alias(OTHER);
	host_put_u32(process_state, PSFLG_EXITING);
	event_dist_to_alias(&alias);
	assert_int_equal(nr_events(), 3);
	/* No process of this node sent it. */
	config.message_from.epid = EPID;
	event_queue_dist_message(&ctx);
	assert_int_equal(nr_events(), 3);
	/* What cannot be read is not known. */
	config.message_from.epid = 0;
	ctx.r9 = 0x1002;
	event_queue_dist_message(&ctx);
	ctx.r9 = ATOM(3);
	event_queue_dist_message(&ctx);
	assert_int_equal(nr_events(), 5);
	assert_int_equal(event(3)->values[0], 0);
	assert_int_equal(event(4)->values[0], 0);
}

/* With room for the message, for the alias (4) and for a tuple (6). */
static void aliases(void **unused)
{
	struct pt_regs ctx = {.di = PROCESS, .si = EPID, .dx = put_alias(OTHER), .r8 = TERM_NIL};
	struct pt_regs alloc = {.di = OTHER, .cx = 17};

	(void)unused;
	event_send_to_alias(&ctx);
	assert_int_equal(nr_events(), 0);
	event_alloc_message(&alloc);
	assert_int_equal(nr_events(), 2);
	assert_to_alias(0, TO, 7, true);
	assert_int_equal(event(0)->values[4], HEAP | 2);
	assert_int_equal(event(0)->nr_blocks, 1);
	assert_int_equal(event(0)->h.size, sizeof(*event(0)) + sizeof(struct term_block));
	assert_int_equal(event(0)->blocks[0].addr, HEAP);
	assert_int_equal(event(0)->blocks[0].words[0], PID_REF_HEADER);
	/* Once; and what is allocated for it is not the size of the next message. */
	assert_true(size_of_message(0, HEAP | 1, OTHER) == EVENT_UNKNOWN);
	event_alloc_message(&alloc);
	assert_int_equal(size_of_message(0, HEAP | 1, OTHER), 17);
	assert_int_equal(nr_events(), 6);
	/* A token of seq_trace is copied as well; less than the least there can be is nothing. */
	ctx.r8 = HEAP | 2;
	event_send_to_alias(&ctx);
	event_alloc_message(&alloc);
	assert_to_alias(6, TO, EVENT_UNKNOWN, true);
	ctx.r8 = TERM_NIL;
	alloc.cx = 9;
	event_send_to_alias(&ctx);
	event_alloc_message(&alloc);
	assert_to_alias(8, TO, EVENT_UNKNOWN, true);
	/* With priority, to a pid. */
	ctx.dx = TO;
	event_send_to_alias(&ctx);
	event_alloc_message(&alloc);
	assert_to_alias(10, TO, 4, true);
	assert_int_equal(event(10)->values[4], 0);
	assert_int_equal(nr_events(), 12);
}

/* The alias itself, but not what it points to. */
static void aliases_unnamed(void **unused)
{
	struct pt_regs ctx = {.di = PROCESS, .si = EPID, .dx = put_alias(OTHER), .r8 = TERM_NIL};
	struct pt_regs alloc = {.di = OTHER, .cx = 17};

	(void)unused;
	config.unnamed = 1;
	event_send_to_alias(&ctx);
	event_alloc_message(&alloc);
	assert_to_alias(0, TO, 7, true);
	assert_int_equal(event(0)->values[4], HEAP | 2);
	assert_int_equal(event(0)->nr_blocks, 0);
	assert_int_equal(event(0)->h.size, sizeof(*event(0)));
}

/* Nothing will be allocated where that is seen. */
static void aliases_at_once(void **unused)
{
	struct pt_regs ctx = {.di = PROCESS, .si = EPID, .dx = put_alias(OTHER), .r8 = TERM_NIL};
	uint64_t process_state = OTHER + (uint64_t)config.layout.process_state;

	(void)unused;
	host_put_u32(process_state, PSFLG_OFF_HEAP_MSGQ);
	event_send_to_alias(&ctx);
	assert_int_equal(nr_events(), 2);
	assert_to_alias(0, TO, EVENT_UNKNOWN, true);
	host_put_u32(process_state, PSFLG_EXITING);
	event_send_to_alias(&ctx);
	assert_to_alias(2, TO, EVENT_UNKNOWN, false);
	host_put_u32(process_state, 0);
	put_alias(0);
	event_send_to_alias(&ctx);
	put_alias(PROCESS); /* its slot is another's by now */
	event_send_to_alias(&ctx);
	put_alias(OTHER);
	config.processes.slots = 0;
	event_send_to_alias(&ctx);
	assert_int_equal(nr_events(), 6);
	assert_to_alias(5, TO, EVENT_UNKNOWN, false);
	/* A reference that is nobody's. */
	put_alias(OTHER);
	host_put_u64(HEAP, 2 << 6 | 0x10);
	event_send_to_alias(&ctx);
	assert_to_alias(6, 0, EVENT_UNKNOWN, false);
	assert_int_equal(nr_events(), 7);
	/* Up to OTP 25 the slot is the upper half. */
	put_alias(PROCESS);
	config.processes.whole_word = 0;
	put(OTHER, config.layout.process_id, 3ull << 32 | TO);
	host_put_u64(TABLE + 8 * 3, OTHER);
	host_put_u64(HEAP + PID_REF_PID, 3ull << 32 | TO);
	host_put_u32(process_state, PSFLG_OFF_HEAP_MSGQ);
	event_send_to_alias(&ctx);
	assert_int_equal(nr_events(), 9);
	assert_to_alias(7, 3ull << 32 | TO, EVENT_UNKNOWN, true);
}

/* Its receiver is gone before room is made; it was made in another slice of time; filters. */
static void aliases_left(void **unused)
{
	struct pt_regs ctx = {.di = PROCESS, .si = EPID, .dx = put_alias(OTHER), .r8 = TERM_NIL};
	struct pt_regs alloc = {.di = OTHER, .cx = 17}, another = {.di = PROCESS, .cx = 3};

	(void)unused;
	event_send_to_alias(&ctx);
	event_send_to_alias(&ctx);
	assert_int_equal(nr_events(), 1);
	assert_to_alias(0, TO, EVENT_UNKNOWN, false);
	event_alloc_message(&another);
	assert_int_equal(nr_events(), 2);
	assert_to_alias(1, TO, EVENT_UNKNOWN, false);
	event_alloc_message(&alloc);
	event_send_to_alias(&ctx);
	switches.epoch[EVENT_MESSAGE_QUEUED]++;
	event_alloc_message(&alloc);
	assert_int_equal(nr_events(), 2);
	config.message_to.epid = EPID;
	event_send_to_alias(&ctx);
	event_alloc_message(&alloc);
	config.message_to.epid = 0;
	config.message_to.name = NAME;
	event_send_to_alias(&ctx);
	event_alloc_message(&alloc);
	assert_int_equal(nr_events(), 2);
	put_name(OTHER, NAME);
	event_send_to_alias(&ctx);
	event_alloc_message(&alloc);
	assert_int_equal(nr_events(), 4);
	assert_to_alias(2, TO, 7, true);
}

/* The size of a message that was seen being made before is not that of one that is queued now. */
static void cut_message(void **unused)
{
	struct pt_regs alloc = {.di = OTHER, .cx = 17};

	(void)unused;
	event_alloc_message(&alloc);
	switches.epoch[EVENT_MESSAGE_SEND]++;
	assert_true(size_of_message(0, HEAP | 1, OTHER) == EVENT_UNKNOWN);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		EVENT_TEST(filters_of_messages),
		EVENT_TEST(sizes),
		EVENT_TEST(from_other_nodes),
		EVENT_TEST(aliases),
		EVENT_TEST(aliases_at_once),
		EVENT_TEST(aliases_left),
		EVENT_TEST(cut_message),
		EVENT_TEST(from_inside_send),
		EVENT_TEST_NEAR(filters_of_messages),
		EVENT_TEST_NEAR(sizes),
		EVENT_TEST_NEAR(aliases),
		EVENT_TEST(aliases_unnamed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
