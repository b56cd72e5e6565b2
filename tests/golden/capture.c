/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Makes the captures of the golden tests, before.ebeam and after.ebeam, through the real writer:
 * a made-up node with a bit of everything that a report can show.  tests/golden/remake builds and
 * runs it; the captures are committed because zlib's bytes may differ from one version to the
 * next, and because captures of this version have to stay readable.
 *
 * usage: capture before|after > FILE
 */
#include <stdio.h>
#include <string.h>

#include "capture/writer.h"
#include "lib/records.h"

#define START_EPOCH_NS 1769860800000000000u /* 2026-01-31T12:00:00Z */
#define START_NS       1000000000u

static void add_meta(struct records *r)
{
	static const char *const pairs[][2] = {
		{"version", "0.1.0"},
		{"command", "record"},
		{"mode", "cpu"},
		{"node", "shop@host"},
		{"os_pid", "4711"},
		{"otp", "27"},
		{"erts", "15.2"},
		{"flavor", "jit"},
		{"schedulers", "2"},
		{"freq", "99"},
		{"start", "2026-01-31T12:00:00Z"},
		{"start_epoch_ns", "1769860800000000000"},
		{"start_ns", "1000000000"},
	};

	for (size_t i = 0; i < sizeof(pairs) / sizeof(pairs[0]); i++)
		records_meta(r, pairs[i][0], pairs[i][1]);
}

/* A stack of (module, name, arity, kind, file, line), root first; ends with name == NULL. */
struct frame {
	const char *module, *name;
	int arity;
	enum frame_kind kind;
	const char *file;
	uint32_t line;
};

static uint32_t stack(struct records *r, const struct frame *frames)
{
	uint32_t ids[16], nr = 0;

	for (; frames->name; frames++) {
		uint32_t f = records_function(r, frames->module, frames->name, frames->arity,
					      frames->kind);

		ids[nr++] = records_frame(r, f, frames->file, frames->line);
	}
	return records_stack(r, ids, nr);
}

#define ERL(m, f, a, line)                                                                         \
	{                                                                                          \
		m, f, a, FRAME_ERLANG, m ".erl", line                                              \
	}
#define EX(m, f, a, line)                                                                          \
	{                                                                                          \
		"Elixir." m, f, a, FRAME_ERLANG, "lib/shop.ex", line                               \
	}
#define INIT ERL("proc_lib", "init_p_do_apply", 3, 241)
#define LOOP ERL("gen_server", "loop", 7, 1079)
#define END                                                                                        \
	{                                                                                          \
		NULL, NULL, 0, FRAME_ERLANG, NULL, 0                                               \
	}

static const struct frame price[] = {INIT,
				     LOOP,
				     EX("Shop.Cart", "handle_call", 3, 30),
				     EX("Enum", "map", 2, 1700),
				     EX("Shop.Cart", "-price/1-fun-0-", 1, 44),
				     END};
static const struct frame price_moved[] = {INIT,
					   LOOP,
					   EX("Shop.Cart", "handle_call", 3, 36),
					   EX("Enum", "map", 2, 1700),
					   EX("Shop.Cart", "-price/1-fun-0-", 1, 51),
					   END};
static const struct frame lookup[] = {INIT,
				      LOOP,
				      EX("Shop.Cart", "handle_call", 3, 31),
				      {"ets", "lookup", 2, FRAME_BIF, NULL, 0},
				      {"beam.smp", "ets_lookup_2", -1, FRAME_NATIVE, NULL, 0},
				      END};
static const struct frame hash[] = {INIT,
				    LOOP,
				    EX("Shop.Cart", "handle_cast", 2, 60),
				    {"crypto", "hash_nif", 4, FRAME_NIF, NULL, 0},
				    {"libcrypto.so.3", "SHA256_Update", -1, FRAME_NATIVE, NULL, 0},
				    END};
static const struct frame collect[] = {ERL("worker", "loop", 1, 12),
				       ERL("worker", "grow", 2, 20),
				       {"beam.smp", "beam.smp+0x1f00", -1, FRAME_NATIVE, NULL, 0},
				       END};
static const struct frame deep[] = {ERL("worker", "loop", 1, 12),
				    {NULL, "[... 1,024 frames ...]", -1, FRAME_ELIDED, NULL, 0},
				    ERL("worker", "down", 1, 31),
				    END};
static const struct frame send_file[] = {ERL("worker", "loop", 1, 14),
					 {"erlang", "port_command", 3, FRAME_BIF, NULL, 0},
					 {NULL, "ksys_write", -1, FRAME_KERNEL, NULL, 0},
					 END};
static const struct frame fragment[] = {ERL("worker", "loop", 1, 12),
					{NULL, "i_func_info_shared", -1, FRAME_RUNTIME, NULL, 0},
					END};
static const struct frame idle[] = {{NULL, "[idle]", -1, FRAME_STATE, NULL, 0}, END};
static const struct frame poll[] = {{NULL, "[poll]", -1, FRAME_STATE, NULL, 0},
				    {NULL, "do_epoll_wait", -1, FRAME_KERNEL, NULL, 0},
				    END};

static void fill(struct records *r, bool after)
{
	uint32_t cart_init = records_function(r, "Elixir.Shop.Cart", "init", 1, FRAME_ERLANG);
	uint32_t worker_init = records_function(r, "worker", "init", 1, FRAME_ERLANG);
	uint32_t cart = records_process(r, 1, "<0.80.0>", "Elixir.Shop.Cart", NULL, cart_init);
	uint32_t worker = records_process(r, 2, "<0.91.0>", NULL, "worker 1", worker_init);
	uint32_t other = records_process(r, 3, "<0.92.0>", NULL, NULL, worker_init);
	uint32_t nobody = records_process(r, 4, "<0.93.0>", NULL, NULL, 0);
	uint32_t one = records_thread(r, 101, THREAD_NORMAL, 1, "1_scheduler");
	uint32_t two = records_thread(r, 102, THREAD_NORMAL, 2, "2_scheduler");
	uint32_t dirty = records_thread(r, 111, THREAD_DIRTY_CPU, 1, "1_dirty_cpu_sch");
	uint32_t aux = records_thread(r, 120, THREAD_OTHER, 0, "aux");
	const struct {
		const struct frame *frames;
		uint32_t process, thread, weight;
		enum sample_kind kind;
		enum sample_status status;
	} samples[] = {
		{after ? price_moved : price, cart, one, after ? 10 : 30, SAMPLE_ERLANG,
		 SAMPLE_STATUS_COMPLETE},
		{lookup, cart, one, 12, SAMPLE_ETS, SAMPLE_STATUS_COMPLETE},
		{hash, cart, dirty, after ? 40 : 20, SAMPLE_NIF, SAMPLE_STATUS_COMPLETE},
		{collect, worker, two, 15, SAMPLE_GC, SAMPLE_STATUS_COMPLETE},
		{deep, worker, two, 2, SAMPLE_ERLANG, SAMPLE_STATUS_TRUNCATED},
		{send_file, other, two, 6, SAMPLE_PORT, SAMPLE_STATUS_COMPLETE},
		{fragment, other, one, 3, SAMPLE_ERLANG, SAMPLE_STATUS_BAD_BOUNDS},
		{collect, nobody, one, 4, SAMPLE_GC, SAMPLE_STATUS_COMPLETE},
		{poll, 0, aux, 5, SAMPLE_POLL, SAMPLE_STATUS_COMPLETE},
		{idle, 0, two, 900, SAMPLE_WAIT, SAMPLE_STATUS_COMPLETE},
	};

	for (size_t i = 0; i < sizeof(samples) / sizeof(samples[0]); i++)
		records_sample(r, START_NS + i * 10101010u, samples[i].process,
			       stack(r, samples[i].frames), samples[i].thread, samples[i].weight,
			       samples[i].kind, samples[i].status);
	records_counter(r, START_NS + 2000000000u, "hits", 100);
	records_counter(r, START_NS + 2000000000u, "ring_full", after ? 0 : 3);
	records_meta(r, "duration_ns", "2000000000");
	records_end(r, START_NS + 2000000000u);
}

int main(int argc, char **argv)
{
	const struct rec_header *rec;
	struct capture_writer *w;
	struct error err = {0};
	struct records r;
	size_t at = 0;
	int rc;

	if (argc != 2)
		return 2;
	records_open(&r);
	add_meta(&r);
	fill(&r, strcmp(argv[1], "after") == 0);
	rc = capture_writer_open(&w, stdout, START_EPOCH_NS, START_NS, &err);
	while (rc == 0 && (rec = records_next(&r, &at)))
		rc = capture_writer_add(w, rec, &err);
	if (rc == 0)
		rc = capture_writer_flush(w, &err);
	capture_writer_close(w);
	records_close(&r);
	return rc ? 1 : 0;
}
