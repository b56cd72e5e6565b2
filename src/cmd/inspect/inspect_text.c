/* SPDX-License-Identifier: BSD-2-Clause */
/* `ebeam inspect` for people: what it does first, then what it holds. */
#include <inttypes.h>
#include <string.h>

#include "abi/vm.h"
#include "base/log.h"
#include "base/units.h"
#include "beam/term/term_read.h"
#include "cmd/inspect/inspect.h"
#include "cmd/output/render.h"
#include "names/names.h"
#include "view/table/table.h"

/* Elements of a list that are shown without -n. */
#define SHOWN 20
/* Bytes of the text of one of many terms without --size: some three lines. */
#define BRIEF 300

static unsigned int shown(const struct inspect *x)
{
	return x->ctx->opt.limit ? x->ctx->opt.limit : SHOWN;
}

/* Text of a node goes to a terminal: control characters are escaped, what turns the direction of
 * text is '?'. */
static void put_clean(struct inspect *x, const struct strbuf *text)
{
	struct strbuf clean = STRBUF_INIT;

	names_format_text(&clean, text->buf, text->len);
	table_clean_text(&clean, true);
	fwrite(clean.buf, 1, clean.len, x->ctx->out);
	strbuf_free(&clean);
}

static void heading(struct inspect *x, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
static void heading(struct inspect *x, const char *fmt, ...)
{
	bool color = render_color(&x->ctx->opt, x->ctx->out);
	va_list ap;

	fputs(color ? "\n\x1b[1m" : "\n", x->ctx->out);
	va_start(ap, fmt);
	vfprintf(x->ctx->out, fmt, ap);
	va_end(ap);
	fputs(color ? "\x1b[0m\n" : "\n", x->ctx->out);
}

static void label(struct inspect *x, const char *name)
{
	fprintf(x->ctx->out, "  %-20s ", name);
}

static void line_text(struct inspect *x, const char *name, const struct strbuf *text)
{
	label(x, name);
	if (text->len)
		put_clean(x, text);
	else
		fputc('-', x->ctx->out);
	fputc('\n', x->ctx->out);
}

static void line_term(struct inspect *x, const char *name, uint64_t term)
{
	struct strbuf text = STRBUF_INIT;

	if (term)
		inspect_term(x, &text, term);
	line_text(x, name, &text);
	strbuf_free(&text);
}

static void line_count(struct inspect *x, const char *name, uint64_t n, const char *after)
{
	char buf[32];

	label(x, name);
	fprintf(x->ctx->out, "%s%s\n", units_format_count(n, buf, sizeof(buf)), after);
}

static void line_words(struct inspect *x, const char *name, uint64_t n)
{
	line_count(x, name, n, n == 1 ? " word" : " words");
}

static void put_bytes(struct inspect *x, uint64_t bytes)
{
	char buf[32];

	fputs(units_format_bytes(bytes, buf, sizeof(buf)), x->ctx->out);
}

/* ---- sections ----------------------------------------------------------------------------- */

/* "waits_for  <0.85.0> (answer), 3.2 s" */
static void put_wait(struct inspect *x)
{
	const struct wait *wait = x->waits.v.len ? &x->waits.v.data[0] : NULL;
	struct strbuf text = STRBUF_INIT;
	char buf[32];

	if (!wait)
		return;
	inspect_term(x, &text, wait->item);
	strbuf_addf(&text, " (%s)", wait_reason_name(wait->reason));
	if (wait->waiting_ms >= 0)
		strbuf_addf(
			&text, ", %s",
			units_format_ns((uint64_t)wait->waiting_ms * 1000000, buf, sizeof(buf)));
	line_text(x, "waits_for", &text);
	strbuf_free(&text);
}

/* A process in a BIF, or that runs, has stopped last in another function than it is in. */
static bool is_in(const struct stack_location *at, const char *function)
{
	struct strbuf text = STRBUF_INIT;
	bool same;

	if (!at->known)
		return false;
	stack_location_format(at, &text);
	same = strcmp(text.buf, function) == 0;
	strbuf_free(&text);
	return same;
}

static void put_title(struct inspect *x)
{
	struct strbuf text = STRBUF_INIT;
	struct stack_location at = {0};
	size_t function;
	char buf[32];

	inspect_term(x, &text, x->p.epid);
	if (x->p.registered) {
		strbuf_addstr(&text, "  ");
		inspect_name(x, &text);
	}
	if (x->p.label) {
		strbuf_addstr(&text, "  ");
		inspect_term(x, &text, x->p.label);
	}
	strbuf_addf(&text, "  %s", process_status_name(x->p.status));
	if (x->p.flags & F_HIBERNATED)
		strbuf_addstr(&text, " (hibernating)");
	strbuf_addstr(&text, " in ");
	function = text.len;
	if (!process_current_function(x->n, &x->code, &x->p, &text, &at))
		strbuf_addstr(&text, "unknown code");
	if (is_in(&at, text.buf + function) && at.function.file)
		strbuf_addf(&text, " (%.*s:%u)", (int)at.function.file_len, at.function.file,
			    at.function.line);
	put_clean(x, &text);
	fputc('\n', x->ctx->out);
	put_wait(x);
	label(x, "message_queue_len");
	fprintf(x->ctx->out, "%s\n",
		units_format_count((uint64_t)x->p.message_queue_len, buf, sizeof(buf)));
	label(x, "memory");
	put_bytes(x, x->p.memory);
	fputc('\n', x->ctx->out);
	strbuf_free(&text);
}

static void put_facts(struct inspect *x)
{
	const struct process_facts *p = &x->p;
	struct inspect_max_heap max = inspect_max_heap(x);
	struct strbuf text = STRBUF_INIT;

	line_count(x, "reductions", p->reductions, "");
	inspect_initial_call(x, &text);
	if (p->initial_call) {
		strbuf_addstr(&text, "  $initial_call ");
		inspect_term(x, &text, p->initial_call);
	}
	line_text(x, "initial_call", &text);
	line_term(x, "parent", TERM_IS_PID(p->parent) ? p->parent : 0);
	line_term(x, "group_leader", p->group_leader);
	label(x, "priority");
	fprintf(x->ctx->out, "%s\n", inspect_priority(x));
	label(x, "trap_exit");
	fprintf(x->ctx->out, "%s\n", p->trap_exit ? "true" : "false");
	line_term(x, "error_handler", x->error_handler);
	label(x, "message_queue_data");
	fprintf(x->ctx->out, "%s\n", inspect_queue_data(x) ? inspect_queue_data(x) : "-");
	line_words(x, "total_heap_size", p->total_heap_size);
	line_words(x, "heap_size", p->heap_size);
	line_words(x, "stack_size", p->stack_size);
	line_count(x, "minor_gcs", p->gen_gcs, "");
	line_count(x, "fullsweep_after", p->max_gen_gcs, "");
	line_words(x, "min_heap_size", p->min_heap_size);
	line_words(x, "min_bin_vheap_size", p->min_vheap_size);
	if (max.size) {
		strbuf_reset(&text);
		strbuf_addf(&text, " words; a larger process is %s%s",
			    max.kill && max.log ? "killed and logged"
			    : max.kill		? "killed"
			    : max.log		? "logged"
						: "neither killed nor logged",
			    max.shared ? "; off-heap binaries included" : "");
		line_count(x, "max_heap_size", max.size, text.buf);
	}
	strbuf_free(&text);
}

static void put_state(struct inspect *x)
{
	struct strbuf text = STRBUF_INIT;

	if (!x->state.known) {
		if (x->state.behaviour) {
			heading(x, "State of %s", behaviour_name(x->state.behaviour));
			fprintf(x->ctx->out, "  not known: %s\n", x->state.why);
		}
		return;
	}
	heading(x, "State of %s", behaviour_name(x->state.behaviour));
	behaviour_state_print(&x->state, &x->reader, &text);
	fputs("  ", x->ctx->out);
	put_clean(x, &text);
	fputc('\n', x->ctx->out);
	strbuf_free(&text);
}

static void put_sample(struct inspect *x, const char *name, uint64_t term)
{
	struct strbuf text = STRBUF_INIT;

	if (term)
		inspect_term(x, &text, term);
	else
		strbuf_addstr(&text, "(of another node, not decoded yet)");
	fprintf(x->ctx->out, "  %-5s ", name);
	put_clean(x, &text);
	fputc('\n', x->ctx->out);
	strbuf_free(&text);
}

static void put_mailbox(struct inspect *x)
{
	uint64_t nr = x->nr_seen, few = nr < INSPECT_SAMPLE_TEXT ? nr : INSPECT_SAMPLE_TEXT;
	uint64_t len = x->shaped ? x->messages.messages : (uint64_t)x->p.message_queue_len;
	struct strbuf text = STRBUF_INIT;
	char buf[32];

	if (!x->p.message_queue_len && !nr)
		return;
	heading(x, "Mailbox: %s message%s", units_format_count(len, buf, sizeof(buf)),
		len == 1 ? "" : "s");
	if (x->shaped) {
		fputs("  ", x->ctx->out);
		put_bytes(x, x->messages.messages * (uint64_t)x->n->layout.message_size +
				     8 * x->message_words);
		fputs(" in messages and their heap fragments\n", x->ctx->out);
	} else {
		fputs("  --mailbox counts them by shape\n", x->ctx->out);
	}
	for (size_t i = 0; i < x->shapes.v.len && i < shown(x); i++) {
		shape_print(&x->shapes.v.data[i], &x->reader, &text);
		fprintf(x->ctx->out, "  %12s  ",
			units_format_count(x->shapes.v.data[i].count, buf, sizeof(buf)));
		put_clean(x, &text);
		fputc('\n', x->ctx->out);
		strbuf_reset(&text);
	}
	if (x->shapes.v.len > shown(x) || x->shapes.other)
		fprintf(x->ctx->out, "  %zu shapes in all\n", x->shapes.v.len);
	for (uint64_t i = 0; i < few; i++)
		put_sample(x, i ? "" : "first", x->first[i]);
	for (uint64_t i = nr - few; x->keep_last && nr > INSPECT_SAMPLE_TEXT && i < nr; i++)
		put_sample(x, i == nr - few ? "last" : "", x->last[i % INSPECT_SAMPLE]);
	strbuf_free(&text);
}

static void put_stack(struct inspect *x)
{
	struct strbuf text = STRBUF_INIT;
	bool any = false;

	heading(x, "Stack%s", x->stale ? " (as of its last stop)" : "");
	if (!x->has_stack)
		fputs("  could not be read\n", x->ctx->out);
	for (size_t i = 0; x->has_stack && i < x->stack.frames.len; i++) {
		const struct stack_frame *f = &x->stack.frames.data[i];
		struct stack_location at;

		stack_frame_locate(&x->code, f, &at);
		if (!at.known || (f->repeated && !x->ctx->opt.terms))
			continue;
		any = true;
		stack_location_format(&at, &text);
		if (at.function.file)
			strbuf_addf(&text, "  %.*s:%u", (int)at.function.file_len, at.function.file,
				    at.function.line);
		fputs("  ", x->ctx->out);
		put_clean(x, &text);
		fputc('\n', x->ctx->out);
		strbuf_reset(&text);
		for (uint32_t k = 0; x->ctx->opt.terms && k < f->nr_y; k++) {
			if (f->y + k >= x->stack.words.len)
				break;
			inspect_term(x, &text, x->stack.words.data[f->y + k]);
			fprintf(x->ctx->out, "      y(%u) ", k);
			put_clean(x, &text);
			fputc('\n', x->ctx->out);
			strbuf_reset(&text);
		}
	}
	if (x->has_stack && !any)
		fputs("  empty\n", x->ctx->out);
	strbuf_free(&text);
}

/* Items in lines of about 100 columns. */
struct wrapped {
	struct inspect *x;
	const char *name;
	size_t nr, column;
};

static void wrap_item(struct wrapped *w, const struct strbuf *text)
{
	if (w->nr++ >= shown(w->x))
		return;
	if (w->nr == 1) {
		label(w->x, w->name);
		w->column = 0;
	} else if (w->column + text->len > 76) {
		fprintf(w->x->ctx->out, "\n%23s", "");
		w->column = 0;
	} else {
		fputc(' ', w->x->ctx->out);
	}
	put_clean(w->x, text);
	w->column += text->len + 1;
}

static void wrap_end(struct wrapped *w)
{
	if (w->nr > shown(w->x))
		fprintf(w->x->ctx->out, " ... %zu in all", w->nr);
	if (w->nr)
		fputc('\n', w->x->ctx->out);
}

static void put_monitors(struct inspect *x, const char *name,
			 bool (*wanted)(const struct monitor_item *m))
{
	struct wrapped w = {.x = x, .name = name};
	struct strbuf text = STRBUF_INIT;

	for (size_t i = 0; i < x->monitors.v.len; i++) {
		if (!wanted(&x->monitors.v.data[i]))
			continue;
		inspect_monitor(x, &text, &x->monitors.v.data[i]);
		wrap_item(&w, &text);
		strbuf_reset(&text);
	}
	wrap_end(&w);
	strbuf_free(&text);
}

/* Not all that stand in the trees are shown: the VM has some of its own. */
static bool has_relations(const struct inspect *x)
{
	for (size_t i = 0; i < x->links.v.len; i++)
		if (!x->links.v.data[i].unlinking)
			return true;
	for (size_t i = 0; i < x->monitors.v.len; i++) {
		const struct monitor_item *m = &x->monitors.v.data[i];

		if (inspect_is_monitor(m) || inspect_is_monitored_by(m) ||
		    inspect_is_suspending(m) || inspect_is_suspended_by(m))
			return true;
	}
	return false;
}

static void put_relations(struct inspect *x)
{
	struct wrapped w = {.x = x, .name = "links"};
	struct strbuf text = STRBUF_INIT;

	if (!has_relations(x))
		return;
	heading(x, "Links and monitors");
	for (size_t i = 0; i < x->links.v.len; i++) {
		if (x->links.v.data[i].unlinking)
			continue;
		inspect_term(x, &text, x->links.v.data[i].item);
		wrap_item(&w, &text);
		strbuf_reset(&text);
	}
	wrap_end(&w);
	put_monitors(x, "monitors", inspect_is_monitor);
	put_monitors(x, "monitored_by", inspect_is_monitored_by);
	put_monitors(x, "suspending", inspect_is_suspending);
	put_monitors(x, "suspended_by", inspect_is_suspended_by);
	strbuf_free(&text);
}

/* Schedulers look at their timers between slices: what is late by less than this is just due. */
#define TIMER_LATE_MS 10
/* So late is none whose scheduler works. */
#define TIMER_STUCK_MS 1000

/* "in 1.500 s", "due", "overdue by 20.000 s" */
static void add_timer_left(struct strbuf *out, const struct timer_item *t)
{
	if (t->paused)
		strbuf_addf(out, "paused, %.3f s", (double)t->left / 1000);
	else if (t->left > 0)
		strbuf_addf(out, "in %.3f s", (double)t->left / 1000);
	else if (t->left > -TIMER_LATE_MS)
		strbuf_addstr(out, "due");
	else
		strbuf_addf(out, "overdue by %.3f s", -(double)t->left / 1000);
}

static void put_timers(struct inspect *x)
{
	struct strbuf text = STRBUF_INIT;
	bool stuck = false;
	char buf[32];

	if (!x->timers.v.len)
		return;
	heading(x, "Timers: %s", units_format_count(x->timers.v.len, buf, sizeof(buf)));
	for (size_t i = 0; i < x->timers.v.len && i < shown(x); i++) {
		const struct timer_item *t = &x->timers.v.data[i];

		add_timer_left(&text, t);
		fprintf(x->ctx->out, "  %-17s  ", text.buf);
		strbuf_reset(&text);
		stuck |= !t->paused && t->left <= -TIMER_STUCK_MS;
		if (t->receive) {
			strbuf_addstr(&text, "its receive ends (after)");
		} else {
			inspect_timer_ref(&text, t);
			strbuf_addstr(&text, t->by_name ? "  to its name: " : "  to it: ");
			inspect_term(x, &text, t->message);
		}
		put_clean(x, &text);
		fputc('\n', x->ctx->out);
		strbuf_reset(&text);
	}
	if (x->timers.v.len > shown(x))
		fputs("  ... -n shows more\n", x->ctx->out);
	if (stuck)
		fputs("  Overdue: the scheduler that has the timer does not look at its timers; "
		      "'ebeam sched --now' shows what it does.\n",
		      x->ctx->out);
	strbuf_free(&text);
}

static void put_dictionary(struct inspect *x)
{
	struct strbuf text = STRBUF_INIT;
	char buf[32];

	if (!x->dictionary.len)
		return;
	heading(x, "Dictionary: %s", units_format_count(x->dictionary.len, buf, sizeof(buf)));
	for (size_t i = 0; i < x->dictionary.len && i < shown(x); i++) {
		inspect_term(x, &text, x->dictionary.data[i].key);
		strbuf_addstr(&text, " => ");
		inspect_term(x, &text, x->dictionary.data[i].value);
		fputs("  ", x->ctx->out);
		put_clean(x, &text);
		fputc('\n', x->ctx->out);
		strbuf_reset(&text);
	}
	if (x->dictionary.len > shown(x))
		fputs("  ... -n shows more\n", x->ctx->out);
	strbuf_free(&text);
}

static void put_binaries(struct inspect *x)
{
	const struct off_heap *o = &x->binaries;
	char a[32], b[32];

	if (!o->binaries.len)
		return;
	heading(x, "Binaries outside the heap: %s, held by %s reference%s",
		units_format_count(o->binaries.len, a, sizeof(a)),
		units_format_count(o->references, b, sizeof(b)), o->references == 1 ? "" : "s");
	fputs("  in all ", x->ctx->out);
	put_bytes(x, o->bytes);
	fputc('\n', x->ctx->out);
	for (size_t i = 0; i < o->binaries.len && i < inspect_top(x); i++) {
		const struct off_heap_binary *d = &o->binaries.data[i];

		fprintf(x->ctx->out, "  %#14" PRIx64 "  ", d->addr);
		put_bytes(x, d->size);
		fprintf(x->ctx->out, ", %" PRIu64 " reference%s, %" PRIu64 " of them here\n",
			d->refc, d->refc == 1 ? "" : "s", d->here);
	}
}

static void put_heap(struct inspect *x)
{
	char a[32], b[32];

	if (!x->counted)
		return;
	heading(x, "Heap: %s words young, %s old",
		units_format_count(x->census.young, a, sizeof(a)),
		units_format_count(x->census.old, b, sizeof(b)));
	if (x->census.fragments)
		line_words(x, "fragments", x->census.fragments);
	if (x->census.unknown)
		line_words(x, "unknown", x->census.unknown);
	for (int k = 0; k < NR_TERM_KINDS; k++) {
		const struct heap_kind *kind = &x->census.kinds[k];

		if (kind->words)
			fprintf(x->ctx->out, "  %-16s %12s  %12s words\n",
				term_kind_name((enum term_kind)k),
				units_format_count(kind->count, a, sizeof(a)),
				units_format_count(kind->words, b, sizeof(b)));
	}
	if (x->largest.len)
		fputs("  largest, parts that they share counted in each:\n", x->ctx->out);
	for (size_t i = 0; i < x->largest.len; i++) {
		struct strbuf where = STRBUF_INIT;

		strbuf_addstr(&where, x->largest.data[i].where);
		fprintf(x->ctx->out, "  %12s%s words  ",
			units_format_count(x->largest.data[i].words, a, sizeof(a)),
			x->largest.data[i].cut ? "+" : "");
		put_clean(x, &where);
		fputc('\n', x->ctx->out);
		strbuf_free(&where);
	}
}

/* Sections that list many terms. */
static void put_lists(struct inspect *x)
{
	size_t whole = x->reader.max_len;

	if (!x->ctx->opt.size)
		x->reader.max_len = BRIEF;
	put_mailbox(x);
	put_stack(x);
	put_relations(x);
	put_timers(x);
	put_dictionary(x);
	x->reader.max_len = whole;
}

void inspect_text(struct inspect *x)
{
	for (size_t i = 0; i < x->warnings.len; i++)
		log_warn("ebeam: %s", x->warnings.data[i]);
	put_title(x);
	put_facts(x);
	put_state(x);
	put_lists(x);
	put_binaries(x);
	put_heap(x);
	if (x->unreadable)
		log_warn("ebeam: %" PRIu64 " place%s in the node's memory could not be read",
			 x->unreadable, x->unreadable == 1 ? "" : "s");
}
