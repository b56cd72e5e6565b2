/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * `ebeam inspect`: one process, as erlang:process_info/2 and sys:get_state/1 would show it, whether
 * it waits, runs, hangs or is in a core file.
 *
 * After the process was read, its state is read again: if it ran meanwhile, all is read again,
 * TRIES times at most.  A process that ran each time is shown as last read, and marked as stale.
 */
#include "cmd/inspect/inspect.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "abi/vm.h"
#include "base/compiler.h"
#include "base/log.h"
#include "beam/process/dictionary.h"
#include "beam/term/term_read.h"
#include "cmd/output/envelope.h"
#include "cmd/output/render.h"

#define TRIES 4
/* Slot of ErtsPSD.data: ERTS_PSD_ERROR_HANDLER (erl_process.h, OTP 25 to 29). */
#define PSD_ERROR_HANDLER 0
#define MAX_DICTIONARY	  1000000u
void inspect_warn(struct inspect *x, const char *fmt, ...)
{
	struct strbuf text = STRBUF_INIT;
	va_list ap;

	va_start(ap, fmt);
	strbuf_vaddf(&text, fmt, ap);
	va_end(ap);
	vec_push(&x->warnings, arena_text(&x->texts, &text));
	strbuf_free(&text);
}

/* ---- reading ------------------------------------------------------------------------------ */

static int keep_pair(void *arg, uint64_t key, uint64_t value)
{
	struct inspect *x = arg;
	struct inspect_pair pair = {key, value};

	if (x->dictionary.len >= MAX_DICTIONARY)
		return 1;
	vec_push(&x->dictionary, pair);
	return 0;
}

static int by_key(const void *a, const void *b)
{
	const struct inspect_pair *x = a, *y = b;

	return x->key < y->key ? -1 : x->key > y->key;
}

static void read_dictionary(struct inspect *x)
{
	uint64_t unreadable = 0;
	int rc = 0;

	x->dictionary.len = 0;
	mem_cached_forget(x->cached);
	if (x->p.dictionary)
		rc = dictionary_each(x->cached, x->p.dictionary, keep_pair, x, &unreadable);
	x->unreadable += unreadable + (rc < 0);
	if (rc > 0)
		inspect_warn(x, "the dictionary has more than %u keys: the rest is left out",
			     MAX_DICTIONARY);
	/* Sorted by key term, so that the order does not depend on the hash table: atoms first. */
	if (x->dictionary.len)
		qsort(x->dictionary.data, x->dictionary.len, sizeof(*x->dictionary.data), by_key);
}

/* Words of struct process that struct process_facts does not have. */
static void read_rest(struct inspect *x)
{
	const struct beam_layout *l = &x->n->layout;
	raddr a = x->p.addr, psd = x->p.psd;
	struct mem_range ranges[] = {
		{a + (raddr)l->process_sig_qs_flags, &x->queue_flags, 4, 0},
		{a + (raddr)l->process_seq_trace_token, &x->trace_token, 8, 0},
		{a + (raddr)l->process_off_heap_overhead, &x->a.gc_info.bin_vheap_size, 8, 0},
		{a + (raddr)l->process_bin_vheap_sz, &x->a.gc_info.bin_vheap_block_size, 8, 0},
		{a + (raddr)l->process_bin_old_vheap, &x->a.gc_info.bin_old_vheap_size, 8, 0},
		{a + (raddr)l->process_bin_old_vheap_sz, &x->a.gc_info.bin_old_vheap_block_size, 8,
		 0},
		{a + (raddr)l->process_high_water, &x->high_water, 8, 0},
	};

	if (mem_readv(x->n->mem, ranges, ARRAY_SIZE(ranges)) != ARRAY_SIZE(ranges))
		x->unreadable++;
	x->error_handler = 0;
	if (psd && mem_read_u64(x->n->mem, psd + 8 * PSD_ERROR_HANDLER, &x->error_handler) != 0)
		x->unreadable++;
	if (!x->error_handler) /* erts_proc_get_error_handler() */
		x->error_handler = beam_atom_find(x->n->atoms, "error_handler");
	x->a.catchlevel = 0;
	for (size_t i = 0; x->a.has_stack && i < x->stack.words.len; i++)
		x->a.catchlevel += TERM_IS_CATCH(x->stack.words.data[i]);
}

static int read_process(struct inspect *x, uint64_t epid, struct error *err)
{
	char pid[64];
	int rc = process_read(x->n, epid, PROCESS_READ_ALL, &x->p);

	if (rc == -ESRCH || (rc == 0 && x->p.epid != epid))
		return error_set(err, ERROR_KIND_NO_NODE, -ESRCH, "process %s has exited",
				 pid_format(x->reader.pids, epid, pid, sizeof(pid)));
	if (rc)
		return error_set(err, ERROR_KIND_FAILED, rc, "cannot read process %s: %s",
				 pid_format(x->reader.pids, epid, pid, sizeof(pid)),
				 error_text(rc));
	return 0;
}

static void read_wait(struct inspect *x)
{
	x->alone = (struct process_list){.data = &x->p, .len = 1};
	waits_free(&x->waits);
	waits_begin(&x->waits, x->n, &x->code, &x->alone);
	if (x->a.has_stack)
		waits_visit(&x->waits, 0, &x->stack);
	waits_end(&x->waits);
}

static void read_parts(struct inspect *x)
{
	x->a.has_stack = process_stack_read(x->n, &x->code, &x->p, &x->stack) == 0;
	links_free(&x->links);
	monitors_free(&x->monitors);
	links_read(x->n, x->p.links, &x->links);
	monitors_read(x->n, x->p.monitors, x->p.lt_monitors, &x->monitors);
	timers_free(&x->timers);
	timers_read(x->n, &x->p, &x->timers);
	read_wait(x);
	read_dictionary(x);
	read_rest(x);
	memset(&x->state, 0, sizeof(x->state));
	if (x->a.has_stack)
		behaviour_state_read(x->n, &x->code, &x->p, &x->stack, &x->reader, &x->state);
	else
		snprintf(x->state.why, sizeof(x->state.why), "its stack could not be read");
}

/* Has the process not run since it was read? */
static bool stood_still(struct inspect *x)
{
	struct process_facts now;

	return process_read(x->n, x->p.epid, 0, &now) == 0 && !now.torn && !x->p.torn &&
	       now.reductions == x->p.reductions && now.htop == x->p.htop &&
	       now.stop == x->p.stop && now.i == x->p.i && now.heap == x->p.heap &&
	       now.state == x->p.state;
}

static int read_all(struct inspect *x, uint64_t epid, struct error *err)
{
	for (int i = 0; i < TRIES; i++) {
		int rc;

		x->unreadable = 0;
		rc = read_process(x, epid, err);
		if (rc)
			return rc;
		read_parts(x);
		x->a.stale = !x->a.has_stack || x->stack.stale || !stood_still(x);
		if (!x->a.stale)
			break;
	}
	inspect_mailbox(x);
	off_heap_finish(x->n, &x->binaries);
	x->unreadable += x->links.unreadable + x->monitors.unreadable + x->timers.unreadable +
			 x->binaries.unreadable + x->messages.unreadable;
	if (x->ctx->opt.heap)
		inspect_heap(x);
	return 0;
}

static void note_limits(struct inspect *x)
{
	if (x->a.stale)
		inspect_warn(
			x,
			"the process ran while it was read: stack, dictionary, binaries and heap "
			"are those of its last stop, or parts of them do not belong together");
	if (x->links.cut || x->monitors.cut)
		inspect_warn(x, "more than %u links or monitors: the rest is left out", LINKS_MAX);
	if (x->timers.cut)
		inspect_warn(x, "more than %u timers: the rest is left out", TIMERS_MAX);
	if (x->timers.v.len && !x->timers.clock_known)
		inspect_warn(x, "the node's clock is not known: the times that timers have left "
				"count from when a scheduler last checked them");
	if (x->binaries.cut)
		inspect_warn(x, "more than %u off-heap terms: the rest is left out", OFF_HEAP_MAX);
	if (x->messages.cut)
		inspect_warn(x, "more than %u messages: the rest is left out", SIGNALS_MAX);
	if (x->messages.moved)
		inspect_warn(x, "messages came and went while they were counted");
	if (x->messages.buffers)
		inspect_warn(
			x,
			"its parallel message buffers are in use; messages in them are not shown");
	if (x->p.nr_undecoded)
		inspect_warn(x,
			     "%u messages of other nodes are not decoded yet; memory does not "
			     "include them",
			     x->p.nr_undecoded);
}

/* ---- the command -------------------------------------------------------------------------- */

static int open_all(struct inspect *x, struct error *err)
{
	const struct options *opt = &x->ctx->opt;
	int rc = target_need(x->n, x->n->anchors.proc_tab, "process table", err);

	rc = rc ? rc : stack_code_open(&x->code, x->n, err);
	if (rc)
		return rc;
	rc = term_reader_init(&x->reader, &x->formats, x->n);
	if (rc)
		return error_set(err, ERROR_KIND_FAILED, rc, "cannot read the node: %s",
				 error_text(rc));
	x->reader.style = opt->elixir ? TERM_STYLE_ELIXIR : TERM_STYLE_ERLANG;
	if (!opt->json) {
		x->reader.depth = 30;
		x->reader.max_len = 2000;
	}
	if (opt->depth)
		x->reader.depth = (int)opt->depth;
	if (opt->size)
		x->reader.max_len = opt->size;
	x->cached = mem_open_cached(x->n->mem);
	return 0;
}

static void close_all(struct inspect *x)
{
	process_stack_free(&x->stack);
	links_free(&x->links);
	monitors_free(&x->monitors);
	timers_free(&x->timers);
	waits_free(&x->waits);
	off_heap_free(&x->binaries);
	shape_free(&x->shapes);
	vec_free(&x->dictionary);
	inspect_answer_free(x);
	vec_free(&x->warnings);
	mem_close(x->cached);
	stack_code_close(&x->code);
}

static void write_text(struct inspect *x)
{
	const struct table_options o = {.limit = x->ctx->opt.limit,
					.color = render_color(&x->ctx->opt, x->ctx->out)};

	for (size_t i = 0; i < x->warnings.len; i++)
		log_warn("ebeam: %s", x->warnings.data[i]);
	process_view_write(x->ctx->out, &x->a, &o);
	if (x->unreadable)
		log_warn("ebeam: %" PRIu64 " read%s of the node's memory failed", x->unreadable,
			 x->unreadable == 1 ? "" : "s");
}

int inspect_process(struct command_context *ctx, struct beam_node *n, const char *what,
		    struct error *err)
{
	struct inspect x = {.ctx = ctx, .n = n};
	struct envelope_counter counter = {"unreadable", 0};
	struct jsonw w = JSONW(ctx->out);
	uint64_t epid;
	int rc = open_all(&x, err);

	rc = rc ? rc : process_parse(x.n, what, &epid, err);
	rc = rc ? rc : read_all(&x, epid, err);
	if (rc == 0) {
		note_limits(&x);
		x.reader.mem = x.cached; /* many small reads close to each other */
		inspect_answer(&x);
		counter.value = x.unreadable;
	}
	if (rc == 0 && ctx->opt.json) {
		target_json_begin(&w, ctx, n);
		process_view_json(&w, &x.a);
		rc = envelope_end(&w, x.warnings.data, x.warnings.len, &counter, 1, err);
	} else if (rc == 0) {
		write_text(&x);
	}
	close_all(&x);
	return rc;
}

int cmd_inspect(struct command_context *ctx, struct error *err)
{
	struct beam_node *n = NULL;
	int rc = target_open(&n, ctx, err);

	rc = rc ? rc : inspect_process(ctx, n, ctx->args[0], err);
	return target_close(n, rc, err);
}
