/* SPDX-License-Identifier: BSD-2-Clause */
/* `ebeam inspect`: makes the answer of process_view.h, in texts, of what was read. */
#include <math.h>
#include <stdlib.h>

#include "abi/vm.h"
#include "base/compiler.h"
#include "beam/process/binary_use.h"
#include "beam/term/term_read.h"
#include "cmd/inspect/inspect.h"
#include "model/process/process_rows.h"

/* Without --size, bytes of the text of a term that is one of many: about three lines. */
#define BRIEF 300
/* ErtsSignalPrivQueues.flags: FS_OFF_HEAP_MSGQ, FS_ON_HEAP_MSGQ (erl_process.h, OTP 25 to 29). */
static const char *const queue_data[4] = {NULL, "off_heap", "on_heap", NULL};

void inspect_term(struct inspect *x, struct strbuf *out, uint64_t term)
{
	uint64_t before = x->reader.unreadable;

	term_print(&x->reader, out, term);
	x->unreadable += x->reader.unreadable - before;
}

size_t inspect_top(const struct inspect *x)
{
	return x->ctx->opt.limit ? x->ctx->opt.limit : INSPECT_TOP;
}

/* How many of a list's `nr` elements the answer needs: JSON has all, text PROCESS_SHOWN or -n. */
static size_t shown(const struct inspect *x, size_t nr)
{
	size_t limit = x->ctx->opt.limit ? x->ctx->opt.limit : PROCESS_SHOWN;

	return x->ctx->opt.json ? nr : MIN(nr, limit);
}

/* Adds a term to a line of limited length; returns the term's text, NULL for term 0 in JSON. */
static const char *add_term(struct inspect *x, struct strbuf *line, uint64_t term)
{
	size_t from = line->len;

	if (!term && x->ctx->opt.json)
		return NULL;
	inspect_term(x, line, term);
	return arena_strndup(&x->texts, line->buf + from, line->len - from);
}

static const char *text_of(struct inspect *x, uint64_t term)
{
	struct strbuf line = STRBUF_INIT;
	const char *text = term ? add_term(x, &line, term) : NULL;

	strbuf_free(&line);
	return text;
}

static struct process_frame frame_of(struct inspect *x, const struct stack_location *at)
{
	struct process_frame f = {.line = at->known && at->function.line ? at->function.line
									 : UINT64_MAX};
	struct strbuf text = STRBUF_INIT;

	if (!at->known)
		return f;
	stack_location_format(at, &text);
	f.mfa = arena_text(&x->texts, &text);
	if (at->function.file)
		f.file = arena_strndup(&x->texts, at->function.file, at->function.file_len);
	strbuf_free(&text);
	return f;
}

/* ---- facts ----------------------------------------------------------------------------------- */

static void add_names(struct inspect *x)
{
	const struct process_facts *p = &x->p;
	struct table_name *name = &x->a.registered_name;
	struct strbuf text = STRBUF_INIT;
	struct stack_location at = {0};

	x->a.pid = text_of(x, p->epid);
	if (p->registered)
		name->text = beam_atom_text(x->n->atoms, p->registered, &name->len);
	x->a.label = text_of(x, p->label);
	beam_mfa_format(x->n->atoms, p->initial, &text);
	if (p->initial_call && !x->ctx->opt.json) {
		strbuf_addstr(&text, "  $initial_call ");
		inspect_term(x, &text, p->initial_call);
	}
	x->a.initial_call = arena_text(&x->texts, &text);
	if (process_current_function(x->n, &x->code, p, &text, &at))
		x->a.current_function = arena_text(&x->texts, &text);
	x->a.current_location = frame_of(x, &at);
	strbuf_free(&text);
}

static void add_facts(struct inspect *x)
{
	const struct process_facts *p = &x->p;
	struct process_answer *a = &x->a;

	a->status = process_status_name(p->status);
	a->hibernating = (p->flags & F_HIBERNATED) != 0;
	a->torn = p->torn;
	a->message_queue_len = (uint64_t)MAX(p->message_queue_len, 0);
	a->memory = p->memory;
	a->reductions = p->reductions;
	a->parent = TERM_IS_PID(p->parent) ? text_of(x, p->parent) : NULL;
	a->group_leader = text_of(x, p->group_leader);
	a->priority = process_priority_names[p->priority & 3];
	a->trap_exit = p->trap_exit;
	a->error_handler = text_of(x, x->error_handler);
	a->message_queue_data = queue_data[x->queue_flags & 3];
	if (x->ctx->opt.json)
		a->sequential_trace_token = text_of(x, x->trace_token);
	a->total_heap_size = p->total_heap_size;
	a->heap_size = p->heap_size;
	a->stack_size = p->stack_size;
}

static void add_wait(struct inspect *x)
{
	const struct wait *wait = x->waits.v.len ? &x->waits.v.data[0] : NULL;

	if (!wait)
		return;
	x->a.waits_for = text_of(x, wait->item);
	x->a.wait_reason = wait_reason_name(wait->reason);
	x->a.waiting_ms = wait->waiting_ms >= 0 ? (uint64_t)wait->waiting_ms : UINT64_MAX;
}

static void add_gc(struct inspect *x)
{
	const struct process_facts *p = &x->p;
	struct process_answer *a = &x->a;
	uint64_t max = p->max_heap_size;
	bool third = x->n->identity.otp >= 26;

	/* Kill and log in the low bits; from OTP 26 on a third flag
	 * (MAX_HEAP_SIZE_INCLUDE_OH_BINS, erl_process.h). */
	a->max_heap = (struct process_max_heap){max >> (third ? 3 : 2), max & 1, max & 2,
						third && max & 4, third};
	a->minor_gcs = p->gen_gcs;
	a->fullsweep_after = p->max_gen_gcs;
	a->min_heap_size = p->min_heap_size;
	a->min_bin_vheap_size = p->min_vheap_size;
	a->gc_info.old_heap_block_size = p->old_heap_size;
	a->gc_info.heap_block_size = p->heap_size;
	/* With heap fragments of messages, as in total_heap_size. */
	a->gc_info.mbuf_size = p->total_heap_size - p->heap_size - p->old_heap_size;
	if (x->high_water >= p->heap && x->high_water <= p->hend)
		a->gc_info.recent_size = (x->high_water - p->heap) / 8;
	a->gc_info.stack_size = p->stack_size;
	a->gc_info.old_heap_size = p->old_heap ? (p->old_htop - p->old_heap) / 8 : 0;
	a->gc_info.heap_size = (p->htop - p->heap) / 8;
}

static void add_state(struct inspect *x)
{
	struct strbuf text = STRBUF_INIT;

	if (x->state.behaviour)
		x->a.behaviour = behaviour_name(x->state.behaviour);
	if (x->state.known)
		behaviour_state_print(&x->state, &x->reader, &text);
	else
		x->a.state_unknown = x->state.why;
	x->a.state = arena_text(&x->texts, &text);
	strbuf_free(&text);
}

/* ---- lists ----------------------------------------------------------------------------------- */

static void add_messages(struct inspect *x)
{
	uint64_t most = x->ctx->opt.json ? INSPECT_SAMPLE : PROCESS_MESSAGES;
	uint64_t nr = x->nr_seen, few = MIN(nr, most);

	x->a.messages = x->a.shaped ? x->messages.messages : x->a.message_queue_len;
	for (uint64_t i = 0; i < few; i++)
		x->samples[0][i] = text_of(x, x->first[i]);
	x->a.first = (struct table_list){few, x->samples[0]};
	if (!x->ctx->opt.mailbox || (nr <= most && !x->ctx->opt.json))
		return;
	for (uint64_t i = 0; i < few; i++)
		x->samples[1][i] = text_of(x, x->last[(nr - few + i) % INSPECT_SAMPLE]);
	x->a.last = (struct table_list){few, x->samples[1]};
}

static void add_mailbox(struct inspect *x)
{
	const struct shape_table *t = &x->shapes;
	struct strbuf text = STRBUF_INIT;
	struct process_answer *a = &x->a;

	for (size_t i = 0; i < shown(x, t->v.len); i++) {
		const struct message_shape *s = &t->v.data[i];

		shape_print(s, &x->reader, &text);
		vec_push(&a->shapes, ((struct process_count){arena_text(&x->texts, &text), s->count,
							     s->words}));
	}
	strbuf_free(&text);
	a->all_shapes = t->v.len;
	a->more_shapes = a->shapes.len < t->v.len || t->other;
	if (t->other && x->ctx->opt.json)
		vec_push(&a->shapes, ((struct process_count){NULL, t->other, t->other_words}));
	a->message_bytes =
		x->messages.messages * (uint64_t)x->n->layout.message_size + 8 * x->message_words;
	a->to_alias = x->messages.alias;
	a->undecoded = x->messages.undecoded;
	a->other_signals = x->messages.others;
	add_messages(x);
}

static void add_stack(struct inspect *x)
{
	const struct process_stack *stack = &x->stack;
	struct strbuf text = STRBUF_INIT;

	if (x->ctx->opt.terms)
		x->registers = xcalloc(stack->words.len + 1, sizeof(*x->registers));
	for (size_t i = 0; x->a.has_stack && i < stack->frames.len; i++) {
		const struct stack_frame *f = &stack->frames.data[i];
		struct process_frame frame;
		struct stack_location at;

		stack_frame_locate(&x->code, f, &at);
		if (!at.known || (f->repeated && !x->registers))
			continue;
		frame = frame_of(x, &at);
		if (x->registers)
			frame.y.texts = x->registers + f->y;
		for (size_t k = f->y; x->registers && k < MIN(f->y + f->nr_y, stack->words.len);
		     k++) {
			frame.y.texts[frame.y.nr++] = add_term(x, &text, stack->words.data[k]);
			strbuf_reset(&text);
		}
		vec_push(&x->a.frames, frame);
	}
	strbuf_free(&text);
}

/* Adds a monitor as process_info(P, monitors), (P, monitored_by) or (P, suspending) shows it. */
static void add_monitor(struct inspect *x, struct strbuf *out, const struct monitor_item *m)
{
	const char *separator = x->reader.style == TERM_STYLE_ELIXIR ? ", " : ",";

	if (m->type == MONITOR_SUSPEND && !m->target) {
		strbuf_addch(out, '{');
		inspect_term(x, out, m->item);
		strbuf_addf(out, "%s%llu%s%llu}", separator,
			    (unsigned long long)(m->suspend_active ? m->suspended : 0), separator,
			    (unsigned long long)(m->suspend_active ? 0 : m->suspended));
		return;
	}
	if (m->target) {
		if (m->type == MONITOR_RESOURCE)
			strbuf_addf(out, "#Resource<%#llx>", (unsigned long long)m->item);
		else
			inspect_term(x, out, m->item);
		return;
	}
	strbuf_addf(out, "{%s%s%s", x->reader.style == TERM_STYLE_ELIXIR ? ":" : "",
		    m->type == MONITOR_TIME_OFFSET		       ? "time_offset"
		    : m->type == MONITOR_PORT || TERM_IS_PORT(m->item) ? "port"
								       : "process",
		    separator);
	if (m->name) {
		strbuf_addch(out, '{');
		inspect_term(x, out, m->name);
		strbuf_addstr(out, separator);
		inspect_term(x, out, m->node);
		strbuf_addch(out, '}');
	} else {
		inspect_term(x, out, m->item);
	}
	strbuf_addch(out, '}');
}

/* The list that process_info/2 shows a monitor in; NULL: in none (collect_one_origin_monitor() and
 * similar functions of erl_bif_info.c). */
static struct table_list *list_of(struct process_answer *a, const struct monitor_item *m)
{
	if (m->type == MONITOR_SUSPEND)
		return m->target ? &a->suspended_by : &a->suspending;
	if (!m->target)
		return !m->pending && m->type <= MONITOR_DIST_PORT ? &a->monitors : NULL;
	return m->type == MONITOR_PROC || m->type == MONITOR_PORT || m->type == MONITOR_DIST_PROC ||
			       m->type == MONITOR_RESOURCE
		       ? &a->monitored_by
		       : NULL;
}

static void push(struct table_list *l, const char *text)
{
	if ((l->nr & (l->nr - 1)) == 0) /* full: it has room for 1, 2, 4, 8 ... */
		l->texts = xrealloc(l->texts, MAX(2 * l->nr, 1) * sizeof(*l->texts));
	l->texts[l->nr++] = text;
}

static void add_relations(struct inspect *x)
{
	struct strbuf text = STRBUF_INIT;

	for (size_t i = 0; i < x->links.v.len; i++)
		if (!x->links.v.data[i].unlinking)
			push(&x->a.links, text_of(x, x->links.v.data[i].item));
	for (size_t i = 0; i < x->monitors.v.len; i++) {
		struct table_list *l = list_of(&x->a, &x->monitors.v.data[i]);

		if (!l)
			continue;
		add_monitor(x, &text, &x->monitors.v.data[i]);
		push(l, arena_text(&x->texts, &text));
	}
	strbuf_free(&text);
}

static void add_timers(struct inspect *x)
{
	struct strbuf line = STRBUF_INIT;

	x->a.all_timers = x->timers.v.len;
	x->a.timers_cut = x->timers.cut;
	for (size_t i = 0; i < shown(x, x->timers.v.len); i++) {
		const struct timer_item *t = &x->timers.v.data[i];
		struct process_timer new = {t->receive, .by_name = t->by_name, .paused = t->paused,
					    .left = t->left};

		if (!t->receive) {
			/* As erlang:start_timer/3 returned it. */
			if (t->ref[0] || t->ref[1] || t->ref[2])
				strbuf_addf(&line, "#Ref<0.%u.%u.%u>", t->ref[2], t->ref[1],
					    t->ref[0]);
			new.ref = arena_copy(&x->texts, line.buf);
			if (x->ctx->opt.json)
				strbuf_reset(&line);
			else
				strbuf_addstr(&line, t->by_name ? "  to its name: " : "  to it: ");
			if (x->ctx->opt.json)
				new.to = text_of(x, t->by_name ? x->p.registered : x->p.epid);
			new.message = add_term(x, &line, t->message);
			strbuf_reset(&line);
		}
		vec_push(&x->a.timers, new);
	}
	strbuf_free(&line);
}

static void add_dictionary(struct inspect *x)
{
	struct strbuf line = STRBUF_INIT;

	x->a.all_keys = x->dictionary.len;
	for (size_t i = 0; i < shown(x, x->dictionary.len); i++) {
		struct process_pair pair = {add_term(x, &line, x->dictionary.data[i].key), NULL};

		if (x->ctx->opt.json)
			strbuf_reset(&line);
		else
			strbuf_addstr(&line, " => ");
		pair.value = add_term(x, &line, x->dictionary.data[i].value);
		vec_push(&x->a.dictionary, pair);
		strbuf_reset(&line);
	}
	strbuf_free(&line);
}

/* ---- memory ---------------------------------------------------------------------------------- */

/* What its terms use of its binaries; NULL = not known. */
static struct binary_use *find_use(struct inspect *x)
{
	const struct off_heap *o = &x->binaries;
	struct binary_use *use = binary_use_new(x->n->identity.otp, o->places.data, o->places.len);

	if (binary_use_holder(use, x->n, &x->p, o, true))
		return use;
	binary_use_free(use);
	return NULL;
}

static void add_binaries(struct inspect *x)
{
	struct binary_use *use = x->binaries.binaries.len ? find_use(x) : NULL;
	const struct off_heap *o = &x->binaries;

	x->a.all_binaries = o->binaries.len;
	x->a.binary_bytes = o->bytes;
	x->a.binary_references = o->references;
	x->a.binaries_in_messages = o->in_messages;
	x->a.binary_used = use || !o->binaries.len ? 0 : NAN;
	x->a.binary_garbage = !use || binary_use_knows_garbage(use) ? x->a.binary_used : NAN;
	for (size_t i = 0; i < o->binaries.len; i++) {
		const struct off_heap_binary *b = &o->binaries.data[i];
		struct process_binary row = {b->addr, b->size, b->refc, b->here, NAN, false};

		if (use) {
			row.used = (double)binary_use_of(use, b->addr, b->size);
			row.garbage = binary_use_is_garbage(use, b->addr);
			x->a.binary_used += row.used;
			x->a.binary_garbage += row.garbage ? (double)b->size : 0;
		}
		if (i < inspect_top(x))
			vec_push(&x->a.binaries, row);
	}
	binary_use_free(use);
}

static void add_heap(struct inspect *x)
{
	x->a.young = x->census.young;
	x->a.old = x->census.old;
	x->a.fragments = x->census.fragments;
	x->a.unknown = x->census.unknown;
	for (int k = 0; x->a.counted && k < NR_TERM_KINDS; k++) {
		const struct heap_kind *kind = &x->census.kinds[k];

		if (kind->words)
			vec_push(&x->a.kinds,
				 ((struct process_count){term_kind_name((enum term_kind)k),
							 kind->count, kind->words}));
	}
}

void inspect_answer(struct inspect *x)
{
	unsigned int whole = x->reader.max_len;

	add_names(x);
	add_facts(x);
	add_wait(x);
	add_gc(x);
	add_state(x);
	if (!x->ctx->opt.json && !x->ctx->opt.size)
		x->reader.max_len = BRIEF;
	add_mailbox(x);
	add_stack(x);
	add_relations(x);
	add_timers(x);
	add_dictionary(x);
	x->reader.max_len = whole;
	add_binaries(x);
	add_heap(x);
}

void inspect_answer_free(struct inspect *x)
{
	struct process_answer *a = &x->a;

	free(x->registers);
	free(a->links.texts);
	free(a->monitors.texts);
	free(a->monitored_by.texts);
	free(a->suspending.texts);
	free(a->suspended_by.texts);
	vec_free(&a->shapes);
	vec_free(&a->frames);
	vec_free(&a->timers);
	vec_free(&a->dictionary);
	vec_free(&a->binaries);
	vec_free(&a->kinds);
	vec_free(&a->largest);
	arena_free(&x->texts);
}
