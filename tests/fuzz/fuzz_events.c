/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * libFuzzer: any events of the VM, in any order and with any values, into everything that adds
 * them up.  They refer to a small dictionary, and beyond it.  An input is a row of events: kind,
 * process, how many values, how much later (or earlier), then a byte for each value; some bytes
 * stand for numbers that a byte cannot hold.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/compiler.h"
#include "event/catalogue.h"
#include "event/event.h"
#include "model/profile/event_weights.h"
#include "model/stats/carrier_stats.h"
#include "model/stats/gc_stats.h"
#include "model/stats/message_stats.h"
#include "model/stats/port_io.h"
#include "model/stats/sched_stats.h"
#include "model/stats/spawn_stats.h"
#include "model/stream/event_stream.h"

#define MANY 4u /* processes, functions, stacks, threads */

static void must(int rc)
{
	if (rc)
		abort();
}

/* Strings 1 .. NR_EVENT_KINDS are the kinds' names, then come the words, then a few texts. */
static void define_names(struct names *n)
{
	static const char *const texts[] = {
		"<0.80.0>", "a name",	  "{badmatch,[1,2,#Ref<0.1.2>]}",
		"shutdown", "#Port<0.5>", "tcp_inet",
		"lists",    "map"};
	uint32_t id = 0, first;

	for (int kind = 0; kind < NR_EVENT_KINDS; kind++)
		must(names_define_string(n, ++id, event_rows[kind].name,
					 strlen(event_rows[kind].name)));
	for (uint64_t word = 1; word < NR_EVENT_WORDS; word++)
		must(names_define_string(n, ++id, event_word_text(word),
					 strlen(event_word_text(word))));
	first = id + 1;
	for (size_t i = 0; i < ARRAY_SIZE(texts); i++)
		must(names_define_string(n, ++id, texts[i], strlen(texts[i])));
	for (uint32_t i = 1; i <= MANY; i++) {
		must(names_define_function(n, i, first + 6, first + 7, (int32_t)i, FRAME_ERLANG));
		must(names_define_frame(n, i, i, 0, 0));
		must(names_define_stack(n, i, i - 1, i));
		must(names_define_process(n, i, i * 16 + 3, first, i % 2 ? first + 1 : 0, 0, i));
		must(names_define_thread(n, i, i, i % 4, (uint16_t)i, first));
	}
}

static uint64_t number_of(uint8_t byte)
{
	if (byte < 200)
		return byte;
	if (byte == 255)
		return EVENT_UNKNOWN;
	return 1ull << (byte - 200); /* up to bit 54 */
}

static void count_sample(void *arg, const struct event *sample)
{
	uint64_t *samples = arg;

	if (sample->type != REC_SAMPLE || !sample->u.sample.weight)
		abort();
	++*samples;
}

/* All that the views have. */
struct models {
	struct event_stream stream;
	struct gc_stats gc;
	struct sched_stats sched;
	struct carrier_stats carriers;
	struct port_io ports;
	struct message_stats messages;
	struct spawn_stats spawns;
	struct event_weights *weights;
	uint64_t samples;
};

static void take(struct models *m, const struct rec_header *rec)
{
	enum event_kind kind;
	struct event ev;

	if (!event_stream_take(&m->stream, rec, &ev, &kind))
		return;
	gc_stats_take(&m->gc, kind, &ev);
	sched_stats_take(&m->sched, kind, &ev);
	carrier_stats_take(&m->carriers, kind, &ev);
	port_io_take(&m->ports, kind, &ev);
	message_stats_take(&m->messages, kind, &ev);
	spawn_stats_take(&m->spawns, kind, &ev);
	event_weights_take(m->weights, &m->stream, kind, &ev);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	uint64_t words[sizeof(struct rec_event) / 8 + EVENT_MAX_FIELDS];
	struct rec_event *rec = (struct rec_event *)words;
	enum process_group_by by = size ? data[0] % NR_PROCESS_GROUP_BY : PROCESS_GROUP_NAME;
	const struct weight_mode *mode = &weight_modes[0];
	uint64_t now = 1000000, collections = 0, living = 0, messages = 0;
	struct models m = {0};

	for (size_t i = size > 1 ? data[1] % 8 : 0; i && mode[1].name; i--)
		mode++;
	event_stream_open(&m.stream);
	define_names(m.stream.names);
	gc_stats_open(&m.gc, &m.stream, by, 3, 0);
	sched_stats_open(&m.sched, &m.stream, by, 3, 3, now);
	carrier_stats_open(&m.carriers, &m.stream);
	port_io_open(&m.ports, &m.stream);
	m.ports.max_rows = 3;
	message_stats_open(&m.messages, &m.stream, by,
			   data && size && data[0] & 0x80 ? 1ull << EVENT_MESSAGE_QUEUED
							  : MESSAGE_KINDS);
	m.messages.groups.max = 3;
	m.messages.max_ends = m.messages.max_pairs = m.messages.max_boxes = 3;
	spawn_stats_open(&m.spawns, &m.stream, by);
	m.spawns.max_living = m.spawns.max_reasons = m.spawns.groups.max = 3;
	m.weights = event_weights_open_limited(mode, count_sample, &m.samples, 3);
	for (size_t at = 2; at + 4 <= size;) {
		uint8_t nr = data[at + 2] % (EVENT_MAX_FIELDS + 1), later = data[at + 3];

		memset(words, 0, sizeof(words));
		if (later == 0x80) {
			sched_stats_restart(&m.sched);
			message_stats_settle(&m.messages);
			message_stats_restart(&m.messages);
			spawn_stats_restart(&m.spawns);
		}
		now = later & 0x80 ? now - (later & 0x7f) : now + number_of(later);
		rec->h = (struct rec_header){.type = REC_EVENT,
					     .size = (uint32_t)(sizeof(*rec) + 8u * nr),
					     .ts_ns = now};
		rec->kind = data[at];
		rec->process = data[at + 1] % (MANY + 2);
		rec->thread = data[at + 1] / 16 % (MANY + 2);
		rec->stack = data[at + 1] / 64 % (MANY + 2);
		rec->nr_values = nr;
		at += 4;
		for (uint8_t i = 0; i < nr && at < size; i++)
			rec->values[i] = number_of(data[at++]);
		take(&m, &rec->h);
	}
	event_weights_finish(m.weights, &m.stream, now);
	sched_stats_advance(&m.sched, now, true);
	sched_stats_restart(&m.sched);
	port_io_restart(&m.ports);
	/* What stands in the groups is what stands in the total. */
	for (size_t i = 0; i < m.gc.counts.len; i++)
		collections += m.gc.counts.data[i].minor + m.gc.counts.data[i].major;
	for (size_t i = 0; i < m.spawns.rows.len; i++)
		living += m.spawns.rows.data[i].living;
	message_stats_settle(&m.messages);
	for (size_t i = 0; i < m.messages.pairs.len; i++)
		messages += m.messages.pairs.data[i].n.messages;
	if (collections != m.gc.total.minor + m.gc.total.major || living != m.spawns.all.living ||
	    living != m.spawns.living.nr || messages != m.messages.all.messages ||
	    m.samples != event_weights_counts(m.weights)->samples)
		abort();
	event_weights_close(m.weights);
	spawn_stats_close(&m.spawns);
	message_stats_close(&m.messages);
	port_io_close(&m.ports);
	carrier_stats_close(&m.carriers);
	sched_stats_close(&m.sched);
	gc_stats_close(&m.gc);
	event_stream_close(&m.stream);
	return 0;
}
