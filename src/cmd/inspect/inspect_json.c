/* SPDX-License-Identifier: BSD-2-Clause */
/* `ebeam inspect -j`: one object, the fields of `ps -j` and those of one process alone. */
#include "abi/vm.h"
#include "cmd/inspect/inspect.h"
#include "cmd/output/envelope.h"

#include "beam/term/term_read.h"

static void put_term(struct inspect *x, struct jsonw *w, const char *key, uint64_t term)
{
	struct strbuf text = STRBUF_INIT;

	if (term)
		inspect_term(x, &text, term);
	jsonw_text(w, key, &text);
	strbuf_free(&text);
}

static void put_location(struct jsonw *w, const struct stack_location *at)
{
	if (at->known && at->function.file)
		jsonw_stringn(w, "file", at->function.file, at->function.file_len);
	else
		jsonw_null(w, "file");
	jsonw_uint_if(w, "line", at->known && at->function.line, at->function.line);
}

static void put_current(struct inspect *x, struct jsonw *w)
{
	struct strbuf mfa = STRBUF_INIT;
	struct stack_location at = {0};
	bool known = process_current_function(x->n, &x->code, &x->p, &mfa, &at);

	if (!known)
		strbuf_reset(&mfa);
	jsonw_text(w, "current_function", &mfa);
	jsonw_begin_object(w, "current_location");
	put_location(w, &at);
	jsonw_end_object(w);
	strbuf_free(&mfa);
}

static void put_facts(struct inspect *x, struct jsonw *w)
{
	const struct process_facts *p = &x->p;
	struct strbuf text = STRBUF_INIT;
	size_t len;
	const char *name = p->registered ? beam_atom_text(x->n->atoms, p->registered, &len) : NULL;

	put_term(x, w, "pid", p->epid);
	if (name)
		jsonw_stringn(w, "registered_name", name, len);
	else
		jsonw_null(w, "registered_name");
	put_term(x, w, "label", p->label);
	inspect_initial_call(x, &text);
	jsonw_text(w, "initial_call", &text);
	put_current(x, w);
	jsonw_string(w, "status", process_status_name(p->status));
	jsonw_uint(w, "reductions", p->reductions);
	jsonw_int(w, "message_queue_len", p->message_queue_len);
	jsonw_uint(w, "memory", p->memory);
	jsonw_uint(w, "total_heap_size", p->total_heap_size);
	jsonw_uint(w, "heap_size", p->heap_size);
	jsonw_uint(w, "stack_size", p->stack_size);
	put_term(x, w, "parent", TERM_IS_PID(p->parent) ? p->parent : 0);
	put_term(x, w, "group_leader", p->group_leader);
	jsonw_string(w, "priority", inspect_priority(x));
	jsonw_bool(w, "trap_exit", p->trap_exit);
	put_term(x, w, "error_handler", x->error_handler);
	jsonw_string(w, "message_queue_data", inspect_queue_data(x));
	put_term(x, w, "sequential_trace_token", x->trace_token);
	jsonw_uint(w, "catchlevel", x->catches);
	jsonw_bool(w, "hibernating", (p->flags & F_HIBERNATED) != 0);
	jsonw_bool(w, "stale", x->stale);
	jsonw_bool(w, "torn", p->torn);
	strbuf_free(&text);
}

static void put_stack(struct inspect *x, struct jsonw *w)
{
	struct strbuf text = STRBUF_INIT;

	jsonw_begin_rows(w, "current_stacktrace");
	for (size_t i = 0; x->has_stack && i < x->stack.frames.len; i++) {
		const struct stack_frame *f = &x->stack.frames.data[i];
		struct stack_location at;

		stack_frame_locate(&x->code, f, &at);
		if (!at.known || (f->repeated && !x->ctx->opt.terms))
			continue;
		jsonw_begin_object(w, NULL);
		stack_location_format(&at, &text);
		jsonw_text(w, "mfa", &text);
		put_location(w, &at);
		if (x->ctx->opt.terms) {
			jsonw_begin_array(w, "y");
			for (uint32_t k = 0; k < f->nr_y && f->y + k < x->stack.words.len; k++)
				put_term(x, w, NULL, x->stack.words.data[f->y + k]);
			jsonw_end_array(w);
		}
		jsonw_end_object(w);
	}
	jsonw_end_array(w);
	strbuf_free(&text);
}

static void put_links(struct inspect *x, struct jsonw *w)
{
	jsonw_begin_array(w, "links");
	for (size_t i = 0; i < x->links.v.len; i++) {
		if (!x->links.v.data[i].unlinking)
			put_term(x, w, NULL, x->links.v.data[i].item);
	}
	jsonw_end_array(w);
}

static void put_monitors(struct inspect *x, struct jsonw *w, const char *key,
			 bool (*wanted)(const struct monitor_item *m))
{
	struct strbuf text = STRBUF_INIT;

	jsonw_begin_array(w, key);
	for (size_t i = 0; i < x->monitors.v.len; i++) {
		if (!wanted(&x->monitors.v.data[i]))
			continue;
		inspect_monitor(x, &text, &x->monitors.v.data[i]);
		jsonw_text(w, NULL, &text);
	}
	jsonw_end_array(w);
	strbuf_free(&text);
}

static void put_wait(struct inspect *x, struct jsonw *w)
{
	const struct wait *wait = x->waits.v.len ? &x->waits.v.data[0] : NULL;

	if (!wait) {
		jsonw_null(w, "waits_for");
		return;
	}
	jsonw_begin_object(w, "waits_for");
	put_term(x, w, "waits_for", wait->item);
	jsonw_string(w, "reason", wait_reason_name(wait->reason));
	jsonw_uint_if(w, "waiting_ms", wait->waiting_ms >= 0, (uint64_t)wait->waiting_ms);
	jsonw_string(w, "waiting_is", wait->waiting_ms >= 0 ? "timer" : NULL);
	jsonw_end_object(w);
}

/* time_left: milliseconds, as erlang:read_timer/1 has them; less than 0 if it is late. */
static void put_timers(struct inspect *x, struct jsonw *w)
{
	struct strbuf ref = STRBUF_INIT;

	jsonw_begin_rows(w, "timers");
	for (size_t i = 0; i < x->timers.v.len; i++) {
		const struct timer_item *t = &x->timers.v.data[i];

		jsonw_begin_object(w, NULL);
		jsonw_string(w, "type", t->receive ? "receive" : "send");
		jsonw_int(w, "time_left", t->left);
		jsonw_bool(w, "paused", t->paused);
		if (!t->receive) {
			inspect_timer_ref(&ref, t);
			jsonw_text(w, "ref", &ref);
			put_term(x, w, "to", t->by_name ? x->p.registered : x->p.epid);
			put_term(x, w, "message", t->message);
		}
		jsonw_end_object(w);
	}
	jsonw_end_array(w);
	strbuf_free(&ref);
}

static void put_dictionary(struct inspect *x, struct jsonw *w)
{
	jsonw_begin_rows(w, "dictionary");
	for (size_t i = 0; i < x->dictionary.len; i++) {
		jsonw_begin_array(w, NULL);
		put_term(x, w, NULL, x->dictionary.data[i].key);
		put_term(x, w, NULL, x->dictionary.data[i].value);
		jsonw_end_array(w);
	}
	jsonw_end_array(w);
}

static void put_state(struct inspect *x, struct jsonw *w)
{
	struct strbuf text = STRBUF_INIT;

	if (x->state.known)
		behaviour_state_print(&x->state, &x->reader, &text);
	jsonw_text(w, "state", &text);
	jsonw_string(w, "behaviour",
		     x->state.behaviour ? behaviour_name(x->state.behaviour) : NULL);
	jsonw_string(w, "state_unknown", x->state.known ? NULL : x->state.why);
	strbuf_free(&text);
}

/* A message that is not decoded yet is null. */
static void put_samples(struct inspect *x, struct jsonw *w)
{
	uint64_t nr = x->nr_seen, shown = nr < INSPECT_SAMPLE ? nr : INSPECT_SAMPLE;

	jsonw_begin_array(w, "sample");
	for (uint64_t i = 0; i < shown; i++)
		put_term(x, w, NULL, x->first[i]);
	jsonw_end_array(w);
	if (!x->keep_last)
		return;
	jsonw_begin_array(w, "last");
	for (uint64_t i = nr - shown; i < nr; i++)
		put_term(x, w, NULL, x->last[i % INSPECT_SAMPLE]);
	jsonw_end_array(w);
}

static void put_shapes(struct inspect *x, struct jsonw *w)
{
	struct strbuf text = STRBUF_INIT;

	if (!x->shaped) {
		jsonw_null(w, "by_shape");
		return;
	}
	jsonw_begin_rows(w, "by_shape");
	for (size_t i = 0; i < x->shapes.v.len; i++) {
		const struct message_shape *s = &x->shapes.v.data[i];

		jsonw_begin_object(w, NULL);
		shape_print(s, &x->reader, &text);
		jsonw_text(w, "shape", &text);
		jsonw_uint(w, "count", s->count);
		jsonw_uint(w, "words", s->words);
		jsonw_end_object(w);
	}
	if (x->shapes.other) {
		jsonw_begin_object(w, NULL);
		jsonw_null(w, "shape");
		jsonw_uint(w, "count", x->shapes.other);
		jsonw_uint(w, "words", x->shapes.other_words);
		jsonw_end_object(w);
	}
	jsonw_end_array(w);
	strbuf_free(&text);
}

static void put_messages(struct inspect *x, struct jsonw *w)
{
	jsonw_begin_object(w, "messages");
	jsonw_uint(w, "len", x->shaped ? x->messages.messages : (uint64_t)x->p.message_queue_len);
	put_samples(x, w);
	put_shapes(x, w);
	if (x->shaped) {
		/* What they take: their own structs and heap fragments. */
		jsonw_uint(w, "bytes",
			   x->messages.messages * (uint64_t)x->n->layout.message_size +
				   8 * x->message_words);
		jsonw_uint(w, "on_heap", x->on_heap);
		jsonw_uint(w, "to_alias", x->messages.alias);
		jsonw_uint(w, "undecoded", x->messages.undecoded);
		jsonw_uint(w, "other_signals", x->messages.others);
	}
	jsonw_end_object(w);
}

static void put_gc(struct inspect *x, struct jsonw *w)
{
	const struct process_facts *p = &x->p;
	struct inspect_max_heap max = inspect_max_heap(x);

	jsonw_begin_object(w, "garbage_collection");
	jsonw_begin_object(w, "max_heap_size");
	jsonw_uint(w, "size", max.size);
	jsonw_bool(w, "kill", max.kill);
	jsonw_bool(w, "error_logger", max.log);
	if (max.has_shared)
		jsonw_bool(w, "include_shared_binaries", max.shared);
	jsonw_end_object(w);
	jsonw_uint(w, "min_bin_vheap_size", p->min_vheap_size);
	jsonw_uint(w, "min_heap_size", p->min_heap_size);
	jsonw_uint(w, "fullsweep_after", p->max_gen_gcs);
	jsonw_uint(w, "minor_gcs", p->gen_gcs);
	jsonw_end_object(w);
	jsonw_begin_object(w, "garbage_collection_info");
	jsonw_uint(w, "old_heap_block_size", p->old_heap_size);
	jsonw_uint(w, "heap_block_size", p->heap_size);
	/* With what messages hold, as in total_heap_size. */
	jsonw_uint(w, "mbuf_size", p->total_heap_size - p->heap_size - p->old_heap_size);
	jsonw_uint(w, "recent_size",
		   x->high_water >= p->heap && x->high_water <= p->hend
			   ? (x->high_water - p->heap) / 8
			   : 0);
	jsonw_uint(w, "stack_size", p->stack_size);
	jsonw_uint(w, "old_heap_size", p->old_heap ? (p->old_htop - p->old_heap) / 8 : 0);
	jsonw_uint(w, "heap_size", (p->htop - p->heap) / 8);
	jsonw_uint(w, "bin_vheap_size", x->gc[0]);
	jsonw_uint(w, "bin_vheap_block_size", x->gc[1]);
	jsonw_uint(w, "bin_old_vheap_size", x->gc[2]);
	jsonw_uint(w, "bin_old_vheap_block_size", x->gc[3]);
	jsonw_end_object(w);
}

static void put_binaries(struct inspect *x, struct jsonw *w)
{
	const struct off_heap *o = &x->binaries;

	jsonw_begin_object(w, "binaries");
	jsonw_uint(w, "count", o->binaries.len);
	jsonw_uint(w, "bytes", o->bytes);
	jsonw_uint(w, "references", o->references);
	jsonw_uint(w, "in_messages", o->in_messages);
	jsonw_begin_rows(w, "top");
	for (size_t i = 0; i < o->binaries.len && i < inspect_top(x); i++) {
		const struct off_heap_binary *b = &o->binaries.data[i];

		jsonw_begin_object(w, NULL);
		jsonw_uint(w, "address", b->addr);
		jsonw_uint(w, "bytes", b->size);
		jsonw_uint(w, "refc", b->refc);
		jsonw_uint(w, "references", b->here);
		jsonw_end_object(w);
	}
	jsonw_end_array(w);
	jsonw_end_object(w);
}

static void put_heap(struct inspect *x, struct jsonw *w)
{
	struct strbuf text = STRBUF_INIT;

	if (!x->counted)
		return;
	jsonw_begin_object(w, "heap");
	jsonw_uint(w, "young", x->census.young);
	jsonw_uint(w, "old", x->census.old);
	jsonw_uint(w, "fragments", x->census.fragments);
	jsonw_uint(w, "unknown", x->census.unknown);
	jsonw_begin_rows(w, "by_type");
	for (int k = 0; k < NR_TERM_KINDS; k++) {
		if (!x->census.kinds[k].words)
			continue;
		jsonw_begin_object(w, NULL);
		jsonw_string(w, "type", term_kind_name((enum term_kind)k));
		jsonw_uint(w, "count", x->census.kinds[k].count);
		jsonw_uint(w, "words", x->census.kinds[k].words);
		jsonw_end_object(w);
	}
	jsonw_end_array(w);
	jsonw_begin_rows(w, "largest");
	for (size_t i = 0; i < x->largest.len; i++) {
		jsonw_begin_object(w, NULL);
		jsonw_string(w, "where", x->largest.data[i].where);
		jsonw_uint(w, "words", x->largest.data[i].words);
		jsonw_bool(w, "truncated", x->largest.data[i].cut);
		jsonw_end_object(w);
	}
	jsonw_end_array(w);
	jsonw_end_object(w);
	strbuf_free(&text);
}

int inspect_json(struct inspect *x, struct error *err)
{
	struct jsonw w = JSONW(x->ctx->out);
	struct envelope_counter counters[] = {{"unreadable", 0}};

	target_json_begin(&w, x->ctx, x->n);
	jsonw_begin_object(&w, "data");
	put_facts(x, &w);
	put_links(x, &w);
	put_monitors(x, &w, "monitors", inspect_is_monitor);
	put_monitors(x, &w, "monitored_by", inspect_is_monitored_by);
	put_monitors(x, &w, "suspending", inspect_is_suspending);
	put_monitors(x, &w, "suspended_by", inspect_is_suspended_by);
	put_timers(x, &w);
	put_wait(x, &w);
	put_stack(x, &w);
	put_dictionary(x, &w);
	put_state(x, &w);
	put_messages(x, &w);
	put_gc(x, &w);
	put_binaries(x, &w);
	put_heap(x, &w);
	jsonw_end_object(&w);
	counters[0].value = x->unreadable;
	return envelope_end(&w, (const char *const *)x->warnings.data, x->warnings.len, counters, 1,
			    err);
}
