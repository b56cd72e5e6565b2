/* SPDX-License-Identifier: BSD-2-Clause */
/* model/stats/message_stats: from made-up events. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "lib/eventfix.h"
#include "model/stats/message_stats.h"

#define NONE ((uint64_t)0)

struct fixture {
	struct eventfix f;
	struct message_stats m;
};

static void open_by(struct fixture *x, enum process_group_by by)
{
	eventfix_open(&x->f);
	message_stats_open(&x->m, &x->f.stream, by, MESSAGE_KINDS);
}

static void close_all(struct fixture *x)
{
	message_stats_close(&x->m);
	eventfix_close(&x->f);
}

static void take(struct fixture *x, enum event_kind kind, struct event ev)
{
	message_stats_take(&x->m, kind, &ev);
}

static void sent(struct fixture *x, uint32_t from, uint32_t to, uint64_t words)
{
	take(x, EVENT_MESSAGE_SEND,
	     eventfix_event(&x->f, from, 5, (uint64_t)to, words, NONE, NONE, NONE));
}

static void sent_away(struct fixture *x, uint32_t from, uint32_t name, uint32_t node)
{
	take(x, EVENT_MESSAGE_SEND,
	     eventfix_event(&x->f, from, 5, NONE, EVENT_UNKNOWN, (uint64_t)name, (uint64_t)node,
			    NONE));
}

static void queued(struct fixture *x, uint32_t to, uint32_t from, uint64_t words, uint64_t len)
{
	take(x, EVENT_MESSAGE_QUEUED, eventfix_event(&x->f, to, 3, (uint64_t)from, words, len));
}

static void received(struct fixture *x, uint32_t by, uint32_t from, uint64_t len)
{
	take(x, EVENT_MESSAGE_RECEIVE, eventfix_event(&x->f, by, 2, (uint64_t)from, len));
}

/* The pair of these names, NULL if there is none. */
static const struct message_pair *pair(const struct fixture *x, const char *from, const char *to)
{
	const struct message_pair *found = NULL;
	struct strbuf a = STRBUF_INIT, b = STRBUF_INIT;

	for (size_t i = 0; i < x->m.pairs.len; i++) {
		const struct message_pair *p = &x->m.pairs.data[i];

		strbuf_reset(&a);
		strbuf_reset(&b);
		message_end_text(&x->m, p->from, &a);
		message_end_text(&x->m, p->to, &b);
		if (strcmp(a.buf, from) == 0 && strcmp(b.buf, to) == 0) {
			assert_null(found);
			found = p;
		}
	}
	strbuf_free(&a);
	strbuf_free(&b);
	return found;
}

static void pairs(void **state)
{
	struct fixture x;
	uint32_t work, a, b, server, pid_a, port, name, node;

	(void)state;
	open_by(&x, PROCESS_GROUP_INITIAL_CALL);
	work = eventfix_function(&x.f, "work", "run", 1);
	a = eventfix_process(&x.f, 1, NULL, work);
	b = eventfix_process(&x.f, 2, NULL, work);
	server = eventfix_process(&x.f, 3, "server", 0);
	pid_a = eventfix_string(&x.f, "<0.1.0>");
	port = eventfix_string(&x.f, "#Port<0.5>");
	name = eventfix_string(&x.f, "far");
	node = eventfix_string(&x.f, "a@b");
	for (uint64_t i = 0; i < 3; i++) {
		sent(&x, a, server, 10);
		queued(&x, server, pid_a, 10, i);
	}
	sent(&x, b, server, EVENT_UNKNOWN);
	queued(&x, server, port, 4, 3);
	sent_away(&x, a, name, node);
	sent_away(&x, b, 0, node);
	sent(&x, a, 0, EVENT_UNKNOWN);
	assert_int_equal(x.m.all.messages, 8);
	assert_int_equal(x.m.all.words, 34);
	assert_int_equal(x.m.all.unsized, 4);
	assert_int_equal(x.m.sizes.nr, 4);
	assert_int_equal(x.m.sizes.sum, 34);
	/* Both workers are one; the server has no initial call that is known. */
	assert_int_equal(pair(&x, "work:run/1", "far at a@b")->n.messages, 1);
	assert_int_equal(pair(&x, "work:run/1", "processes at a@b")->n.unsized, 1);
	assert_int_equal(pair(&x, "work:run/1", "[unknown]")->n.messages, 1);
	assert_int_equal(x.m.nodes.len, 2);
	assert_int_equal(x.m.nodes.data[1].messages, 2);
	message_stats_close(&x.m);
	eventfix_close(&x.f);
}

static void groups(void **state)
{
	struct fixture x;
	uint32_t a, b, port;

	(void)state;
	open_by(&x, PROCESS_GROUP_PROCESS);
	a = eventfix_process(&x.f, 1, NULL, 0);
	b = eventfix_process(&x.f, 2, "b", 0);
	port = eventfix_string(&x.f, "#Port<0.5>");
	sent(&x, a, b, 2);
	sent(&x, b, a, 3);
	sent(&x, b, b, 0);
	queued(&x, b, port, 7, 0);
	assert_int_equal(pair(&x, "<0.1.0>", "<0.2.0>")->n.words, 2);
	assert_int_equal(pair(&x, "<0.2.0>", "<0.1.0>")->n.words, 3);
	assert_int_equal(pair(&x, "<0.2.0>", "<0.2.0>")->n.messages, 1);
	assert_int_equal(pair(&x, "#Port<0.5>", "<0.2.0>")->n.words, 7);
	assert_int_equal(x.m.ends.data[pair(&x, "<0.1.0>", "<0.2.0>")->to].received.messages, 3);
	assert_int_equal(x.m.ends.data[pair(&x, "<0.2.0>", "<0.1.0>")->from].sent.messages, 2);
	close_all(&x);
}

static void mailboxes(void **state)
{
	struct fixture x;
	uint32_t a, text;
	struct mailbox *box;

	(void)state;
	open_by(&x, PROCESS_GROUP_NAME);
	a = eventfix_process(&x.f, 1, NULL, 0);
	text = eventfix_string(&x.f, "<0.2.0>");
	for (uint64_t i = 0; i < 100; i++)
		queued(&x, a, text, 10, 50 + i);
	assert_int_equal(x.m.boxes.len, 1);
	box = &x.m.boxes.data[0];
	assert_int_equal(box->first_len, 50);
	assert_int_equal(box->len, 150);
	assert_int_equal(mailbox_growth(box), 100);
	/* 999,850 more at 100 a second. */
	assert_int_equal(mailbox_full_in_ns(box, 1000000000u), 9998500000000ull);
	received(&x, a, text, 150);
	assert_int_equal(box->len, 149);
	assert_int_equal(box->max_len, 150);
	assert_int_equal(box->received, 1);
	assert_int_equal(x.m.received, 1);
	/* Messages are sent by nobody that was seen, but none is reported twice. */
	assert_int_equal(x.m.all.messages, 0);
	/* The same process under another name is the same mailbox. */
	a = eventfix_process(&x.f, 1, "named", 0);
	queued(&x, a, text, 10, 149);
	assert_int_equal(x.m.boxes.len, 1);
	assert_int_equal(box->process, a);
	message_stats_restart(&x.m);
	box = &x.m.boxes.data[0];
	assert_int_equal(mailbox_growth(box), 0);
	assert_true(mailbox_full_in_ns(box, 1) == UINT64_MAX);
	mailbox_set(box, false, 140);
	assert_int_equal(mailbox_growth(box), -10);
	assert_true(mailbox_full_in_ns(box, 1) == UINT64_MAX);
	mailbox_set(box, true, 0);
	message_stats_restart(&x.m);
	assert_int_equal(x.m.boxes.len, 0);
	close_all(&x);
}

/* Large messages fill 1 GiB before there are a million of them. */
static void full_by_bytes(void **state)
{
	struct mailbox box = {.first_len = 0,
			      .len = 1024,
			      .queued = {.messages = 1024, .words = 1024 * 65536ull}};

	(void)state;
	/* 512 KiB each: 2048 fit. */
	assert_int_equal(mailbox_full_in_ns(&box, 1000000000u), 1000000000u);
	box.len = 2048;
	assert_int_equal(mailbox_full_in_ns(&box, 1000000000u), 0);
	box.gone = true;
	assert_true(mailbox_full_in_ns(&box, 1000000000u) == UINT64_MAX);
}

static void bounds(void **state)
{
	struct fixture x;
	uint32_t of[20], text;
	uint64_t sum = 0;

	(void)state;
	open_by(&x, PROCESS_GROUP_PROCESS);
	x.m.max_ends = 5;
	x.m.max_pairs = 7;
	x.m.max_boxes = 3;
	text = eventfix_string(&x.f, "<0.2.0>");
	for (uint32_t i = 0; i < 20; i++)
		of[i] = eventfix_process(&x.f, 10 + i, NULL, 0);
	for (uint32_t i = 0; i < 20; i++) {
		for (uint32_t k = 0; k < 20; k++)
			sent(&x, of[i], of[k], 1);
		queued(&x, of[i], text, 1, 0);
	}
	assert_int_equal(x.m.ends.len, 5);
	assert_int_equal(x.m.pairs.len, 7);
	assert_int_equal(x.m.boxes.len, 3);
	assert_int_equal(x.m.lost_boxes, 17);
	for (size_t i = 0; i < x.m.pairs.len; i++)
		sum += x.m.pairs.data[i].n.messages;
	assert_int_equal(sum, 400);
	assert_true(x.m.pairs.data[0].n.messages > 0);
	sum = 0;
	for (size_t i = 0; i < x.m.ends.len; i++)
		sum += x.m.ends.data[i].sent.messages;
	assert_int_equal(sum, 400);
	message_stats_restart(&x.m);
	assert_int_equal(x.m.all.messages, 0);
	assert_int_equal(x.m.pairs.len, 1);
	sent(&x, of[0], of[1], 1);
	assert_int_equal(pair(&x, "<0.10.0>", "<0.11.0>")->n.messages, 1);
	close_all(&x);
}

/* Where message_send is not watched, or none comes, all are counted where they are queued. */
static void queued_only(void **state)
{
	struct fixture x;
	uint32_t a, b, text;

	(void)state;
	for (int known = 0; known < 2; known++) {
		eventfix_open(&x.f);
		message_stats_open(&x.m, &x.f.stream, PROCESS_GROUP_NAME,
				   known ? 1ull << EVENT_MESSAGE_QUEUED : MESSAGE_KINDS);
		a = eventfix_process(&x.f, 1, "a", 0);
		b = eventfix_process(&x.f, 2, "b", 0);
		text = eventfix_string(&x.f, "<0.2.0>");
		for (uint32_t i = 0; i < MESSAGE_UNDECIDED_MAX + 10; i++)
			queued(&x, a, text, 6, i);
		message_stats_settle(&x.m);
		message_stats_settle(&x.m);
		assert_int_equal(x.m.all.messages, MESSAGE_UNDECIDED_MAX + 10);
		assert_int_equal(pair(&x, "<0.2.0>", "a")->n.messages, MESSAGE_UNDECIDED_MAX + 10);
		close_all(&x);
	}
	/* What was left open is reported by message_send. */
	open_by(&x, PROCESS_GROUP_NAME);
	a = eventfix_process(&x.f, 1, "a", 0);
	b = eventfix_process(&x.f, 2, "b", 0);
	text = eventfix_string(&x.f, "<0.2.0>");
	queued(&x, a, text, 6, 0);
	sent(&x, b, a, 6);
	queued(&x, a, text, 6, 1);
	message_stats_settle(&x.m);
	assert_int_equal(x.m.all.messages, 1);
	assert_int_equal(x.m.sizes.max, 6);
	close_all(&x);
}

/* A message or two is no growth; nor are 20 at once. */
static void notable(void **state)
{
	struct mailbox box = {.len = 2, .first_ns = 10, .last_ns = 900};

	(void)state;
	assert_false(mailbox_is_notable(&box, 1000));
	box.len = MAILBOX_GROWN;
	assert_true(mailbox_is_notable(&box, 1000));
	box.last_ns = 300;
	assert_false(mailbox_is_notable(&box, 1000));
	box.first_len = box.len = MAILBOX_LONG;
	assert_true(mailbox_is_notable(&box, 1000));
	box.gone = true;
	assert_false(mailbox_is_notable(&box, 1000));
	/* 10 a second: full in 28 hours, which says nothing. */
	box = (struct mailbox){.len = 10};
	assert_true(mailbox_full_in_ns(&box, 1000000000u) == UINT64_MAX);
	box.len = 100;
	assert_int_equal(mailbox_full_in_ns(&box, 1000000000u), 9999000000000ull);
}

/* However many groups there were: each interval has room for its own. */
static void intervals(void **state)
{
	struct fixture x;
	uint32_t a, b;

	(void)state;
	open_by(&x, PROCESS_GROUP_PROCESS);
	x.m.groups.max = 4;
	for (uint32_t i = 0; i < 10; i++) {
		a = eventfix_process(&x.f, 10 + 2 * i, NULL, 0);
		b = eventfix_process(&x.f, 11 + 2 * i, NULL, 0);
		sent(&x, a, b, 1);
		assert_int_equal(x.m.pairs.data[1].n.messages, 1);
		assert_int_equal(message_stats_overflows(&x.m), 0);
		message_stats_restart(&x.m);
	}
	for (uint32_t i = 0; i < 5; i++)
		sent(&x, eventfix_process(&x.f, 50 + i, NULL, 0), b, 1);
	/* b and two more have groups. */
	assert_int_equal(message_stats_overflows(&x.m), 3);
	assert_int_equal(x.m.all.messages, 5);
	close_all(&x);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(pairs),     cmocka_unit_test(groups),
		cmocka_unit_test(mailboxes), cmocka_unit_test(full_by_bytes),
		cmocka_unit_test(bounds),    cmocka_unit_test(queued_only),
		cmocka_unit_test(notable),   cmocka_unit_test(intervals),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
