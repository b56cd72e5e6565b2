/* SPDX-License-Identifier: BSD-2-Clause */
/* See process_view.h. */
#include "view/inspect/process_view.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/compiler.h"
#include "base/units.h"
#include "names/names.h"

/* ---- fields ---------------------------------------------------------------------------------- */

static void text_trap_exit(struct strbuf *out, const void *row, const void *ctx)
{
	UNUSED(ctx);
	strbuf_addstr(out, ((const struct process_answer *)row)->trap_exit ? "true" : "false");
}

#define FIELD(name, type) TABLE_FIELD(#name, "", type, struct process_answer, name)

/* Fields that have a line of their own in text. */
static const struct table_column facts[] = {
	{FIELD(message_queue_len, COUNT)},
	{FIELD(memory, BYTES)},
	{FIELD(reductions, COUNT)},
	{FIELD(initial_call, TEXT)},
	{FIELD(parent, TEXT)},
	{FIELD(group_leader, TEXT)},
	{FIELD(priority, TEXT)},
	{FIELD(trap_exit, FLAG), .text = text_trap_exit},
	{FIELD(error_handler, TEXT)},
	{FIELD(message_queue_data, TEXT)},
	{FIELD(total_heap_size, WORDS)},
	{FIELD(heap_size, WORDS)},
	{FIELD(stack_size, WORDS)},
	{0},
};

static const struct table_column gc[] = {
	{FIELD(minor_gcs, COUNT)},
	{FIELD(fullsweep_after, COUNT)},
	{FIELD(min_heap_size, WORDS)},
	{FIELD(min_bin_vheap_size, WORDS)},
	{0},
};

static const struct table_column relations[] = {
	{FIELD(links, LIST)},	   {FIELD(monitors, LIST)},	{FIELD(monitored_by, LIST)},
	{FIELD(suspending, LIST)}, {FIELD(suspended_by, LIST)}, {0},
};

/* Fields of JSON only. */
static const struct table_column others[] = {
	{FIELD(pid, TEXT)},	      {FIELD(registered_name, NAME)},
	{FIELD(label, TEXT)},	      {FIELD(current_function, TEXT)},
	{FIELD(status, TEXT)},	      {FIELD(sequential_trace_token, TEXT)},
	{FIELD(catchlevel, COUNT)},   {FIELD(hibernating, FLAG)},
	{FIELD(stale, FLAG)},	      {FIELD(torn, FLAG)},
	{FIELD(state, TEXT)},	      {FIELD(behaviour, TEXT)},
	{FIELD(state_unknown, TEXT)}, {0}};

#define GC(name) TABLE_FIELD(#name, "", COUNT, struct process_answer, gc_info.name)

static const struct table_column gc_info[] = {{GC(old_heap_block_size)},
					      {GC(heap_block_size)},
					      {GC(mbuf_size)},
					      {GC(recent_size)},
					      {GC(stack_size)},
					      {GC(old_heap_size)},
					      {GC(heap_size)},
					      {GC(bin_vheap_size)},
					      {GC(bin_vheap_block_size)},
					      {GC(bin_old_vheap_size)},
					      {GC(bin_old_vheap_block_size)},
					      {0}};

static void json_list(struct jsonw *w, const char *name, const struct table_list *list)
{
	table_json_field(&(struct table_column){.name = name, .type = TABLE_LIST}, w, list, NULL);
}

static void json_y(struct jsonw *w, const char *name, const void *row, const void *ctx)
{
	const struct table_list *y = &((const struct process_frame *)row)->y;

	UNUSED(name);
	UNUSED(ctx);
	if (y->texts)
		json_list(w, "y", y);
}

#define OF(row, name, type, member) TABLE_FIELD(name, "", type, struct process_##row, member)

static const struct table_column frame_columns[] = {
	{OF(frame, "mfa", TEXT, mfa)},
	{OF(frame, "file", TEXT, file)},
	{OF(frame, "line", ID, line)},
	{.json = json_y},
};

static const struct table_column shape_columns[] = {
	{OF(count, "shape", TEXT, what)},
	{OF(count, "count", COUNT, count)},
	{OF(count, "words", COUNT, words)},
	{0},
};

static const struct table_column kind_columns[] = {
	{OF(count, "type", TEXT, what)},
	{OF(count, "count", COUNT, count)},
	{OF(count, "words", COUNT, words)},
	{0},
};

static const struct table_column root_columns[] = {
	{OF(root, "where", TEXT, where)},
	{OF(root, "words", COUNT, words)},
	{OF(root, "truncated", FLAG, truncated)},
	{0},
};

TABLE_VALUE(binary_used, struct process_binary, r->used)

static const struct table_column binary_columns[] = {
	{OF(binary, "address", ID, address)},
	{OF(binary, "bytes", BYTES, bytes)},
	{TABLE_NUMBER("used", "", BYTES, binary_used)},
	{OF(binary, "garbage", FLAG, garbage)},
	{OF(binary, "refc", COUNT, refc)},
	{OF(binary, "references", COUNT, references)},
	{0},
};

/* ---- JSON ------------------------------------------------------------------------------------ */

#define ROWS(w, name, columns, v)                                                                  \
	table_json_rows(w, name,                                                                   \
			&(struct table){columns, (v).data, (v).len, sizeof(*(v).data), NULL},      \
			&(struct table_options){0})

static void json_location(struct jsonw *w, const struct process_frame *at)
{
	jsonw_begin_object(w, "current_location");
	jsonw_string(w, "file", at->file);
	jsonw_known(w, "line", at->line);
	jsonw_end_object(w);
}

static void json_wait(struct jsonw *w, const struct process_answer *a)
{
	if (!a->wait_reason) {
		jsonw_null(w, "waits_for");
		return;
	}
	jsonw_begin_object(w, "waits_for");
	jsonw_string(w, "waits_for", a->waits_for);
	jsonw_string(w, "reason", a->wait_reason);
	jsonw_known(w, "waiting_ms", a->waiting_ms);
	jsonw_string(w, "waiting_is", a->waiting_ms != UINT64_MAX ? "timer" : NULL);
	jsonw_end_object(w);
}

static void json_timers(struct jsonw *w, const struct process_answer *a)
{
	jsonw_begin_rows(w, "timers");
	for (size_t i = 0; i < a->timers.len; i++) {
		const struct process_timer *t = &a->timers.data[i];

		jsonw_begin_object(w, NULL);
		jsonw_string(w, "type", t->receive ? "receive" : "send");
		jsonw_int(w, "time_left", t->left);
		jsonw_bool(w, "paused", t->paused);
		if (!t->receive) {
			jsonw_string(w, "ref", t->ref);
			jsonw_string(w, "to", t->to);
			jsonw_string(w, "message", t->message);
		}
		jsonw_end_object(w);
	}
	jsonw_end_array(w);
}

static void json_dictionary(struct jsonw *w, const struct process_answer *a)
{
	jsonw_begin_rows(w, "dictionary");
	for (size_t i = 0; i < a->dictionary.len; i++) {
		jsonw_begin_array(w, NULL);
		jsonw_string(w, NULL, a->dictionary.data[i].key);
		jsonw_string(w, NULL, a->dictionary.data[i].value);
		jsonw_end_array(w);
	}
	jsonw_end_array(w);
}

static void json_messages(struct jsonw *w, const struct process_answer *a)
{
	jsonw_begin_object(w, "messages");
	jsonw_uint(w, "len", a->messages);
	json_list(w, "sample", &a->first);
	if (a->last.texts)
		json_list(w, "last", &a->last);
	if (a->shaped) {
		ROWS(w, "by_shape", shape_columns, a->shapes);
		jsonw_uint(w, "bytes", a->message_bytes);
		jsonw_uint(w, "on_heap", a->on_heap);
		jsonw_uint(w, "to_alias", a->to_alias);
		jsonw_uint(w, "undecoded", a->undecoded);
		jsonw_uint(w, "other_signals", a->other_signals);
	} else {
		jsonw_null(w, "by_shape");
	}
	jsonw_end_object(w);
}

static void json_gc(struct jsonw *w, const struct process_answer *a)
{
	jsonw_begin_object(w, "garbage_collection");
	jsonw_begin_object(w, "max_heap_size");
	jsonw_uint(w, "size", a->max_heap.size);
	jsonw_bool(w, "kill", a->max_heap.kill);
	jsonw_bool(w, "error_logger", a->max_heap.log);
	if (a->max_heap.has_shared)
		jsonw_bool(w, "include_shared_binaries", a->max_heap.shared);
	jsonw_end_object(w);
	table_json_fields(gc, w, a, NULL);
	jsonw_end_object(w);
	jsonw_begin_object(w, "garbage_collection_info");
	table_json_fields(gc_info, w, a, NULL);
	jsonw_end_object(w);
}

static void json_heap(struct jsonw *w, const struct process_answer *a)
{
	jsonw_begin_object(w, "binaries");
	jsonw_uint(w, "count", a->all_binaries);
	jsonw_uint(w, "bytes", a->binary_bytes);
	jsonw_double(w, "used", a->binary_used);
	jsonw_double(w, "garbage", a->binary_garbage);
	jsonw_uint(w, "references", a->binary_references);
	jsonw_uint(w, "in_messages", a->binaries_in_messages);
	ROWS(w, "top", binary_columns, a->binaries);
	jsonw_end_object(w);
	if (!a->counted)
		return;
	jsonw_begin_object(w, "heap");
	jsonw_uint(w, "young", a->young);
	jsonw_uint(w, "old", a->old);
	jsonw_uint(w, "fragments", a->fragments);
	jsonw_uint(w, "unknown", a->unknown);
	ROWS(w, "by_type", kind_columns, a->kinds);
	ROWS(w, "largest", root_columns, a->largest);
	jsonw_end_object(w);
}

void process_view_json(struct jsonw *w, const struct process_answer *a)
{
	jsonw_begin_object(w, "data");
	table_json_fields(others, w, a, NULL);
	json_location(w, &a->current_location);
	table_json_fields(facts, w, a, NULL);
	table_json_fields(relations, w, a, NULL);
	json_timers(w, a);
	json_wait(w, a);
	ROWS(w, "current_stacktrace", frame_columns, a->frames);
	json_dictionary(w, a);
	json_messages(w, a);
	json_gc(w, a);
	json_heap(w, a);
	jsonw_end_object(w);
}

/* ---- text ------------------------------------------------------------------------------------ */

#define COUNT(n)  units_format_count(n, (char[32]){0}, 32)
#define BYTES(n)  units_format_bytes(n, (char[32]){0}, 32)
#define NS(n)	  units_format_ns(n, (char[32]){0}, 32)
#define PLURAL(n) ((n) == 1 ? "" : "s")
#define LABEL	  "  %-20s "

#define HEADING(f, o, ...) (fputc('\n', f), table_heading(f, (o)->color, __VA_ARGS__))

/* Is the current location in the current function?  Not if the process is in a BIF, or is running:
 * the location is then the one of its last stop. */
static bool is_at(const struct process_answer *a)
{
	const char *mfa = a->current_location.mfa;

	return a->current_location.file && mfa && a->current_function &&
	       strcmp(mfa, a->current_function) == 0;
}

static void write_title(FILE *f, const struct process_answer *a)
{
	struct strbuf text = STRBUF_INIT;

	strbuf_addstr(&text, a->pid);
	if (a->registered_name.text) {
		strbuf_addstr(&text, "  ");
		names_format_module(&text, a->registered_name.text, a->registered_name.len);
	}
	strbuf_addf(&text, "%s%s  %s%s in %s", a->label ? "  " : "", a->label ? a->label : "",
		    a->status, a->hibernating ? " (hibernating)" : "",
		    a->current_function ? a->current_function : "unknown code");
	if (is_at(a))
		strbuf_addf(&text, " (%s:%" PRIu64 ")", a->current_location.file,
			    a->current_location.line);
	table_line(f, "%s", text.buf);
	strbuf_free(&text);
	if (a->wait_reason)
		table_line(f, LABEL "%s (%s)%s%s", "waits_for", a->waits_for, a->wait_reason,
			   a->waiting_ms != UINT64_MAX ? ", " : "",
			   a->waiting_ms != UINT64_MAX ? NS(a->waiting_ms * 1000000) : "");
}

static void write_facts(FILE *f, const struct table_column *c, const struct process_answer *a)
{
	struct strbuf text = STRBUF_INIT;

	for (; c->name; c++) {
		table_cell(c, &text, a, NULL);
		table_line(f, LABEL "%s", c->name, text.len ? text.buf : "-");
		strbuf_reset(&text);
	}
	strbuf_free(&text);
}

static void write_state(FILE *f, const struct process_answer *a, const struct table_options *o)
{
	if (!a->behaviour)
		return;
	HEADING(f, o, "State of %s", a->behaviour);
	table_line(f, "  %s%s",
		   a->state ? "" : "not known: ", a->state ? a->state : a->state_unknown);
}

static void write_messages(FILE *f, const char *name, const struct table_list *l)
{
	for (uint64_t i = 0; i < l->nr; i++)
		table_line(f, "  %-5s %s", i ? "" : name,
			   l->texts[i] ? l->texts[i] : "(of another node, not decoded yet)");
}

static void write_mailbox(FILE *f, const struct process_answer *a, const struct table_options *o)
{
	if (!a->message_queue_len && !a->first.nr)
		return;
	HEADING(f, o, "Mailbox: %s message%s", COUNT(a->messages), PLURAL(a->messages));
	if (a->shaped)
		table_line(f, "  %s in messages and their heap fragments", BYTES(a->message_bytes));
	else
		table_line(f, "  --mailbox counts them by shape");
	for (size_t i = 0; i < a->shapes.len; i++)
		table_line(f, "  %12s  %s", COUNT(a->shapes.data[i].count), a->shapes.data[i].what);
	if (a->more_shapes)
		table_line(f, "  %zu shapes in all", a->all_shapes);
	write_messages(f, "first", &a->first);
	write_messages(f, "last", &a->last);
}

static void write_stack(FILE *f, const struct process_answer *a, const struct table_options *o)
{
	HEADING(f, o, "Stack%s", a->stale ? " (as of its last stop)" : "");
	if (!a->frames.len)
		table_line(f, a->has_stack ? "  empty" : "  could not be read");
	for (size_t i = 0; i < a->frames.len; i++) {
		const struct process_frame *at = &a->frames.data[i];

		if (at->file)
			table_line(f, "  %s  %s:%" PRIu64, at->mfa, at->file, at->line);
		else
			table_line(f, "  %s", at->mfa);
		for (uint64_t k = 0; k < at->y.nr; k++)
			table_line(f, "      y(%" PRIu64 ") %s", k, at->y.texts[k]);
	}
}

/* Writes a list in lines of about 100 columns. */
static void write_list(FILE *f, const char *name, const struct table_list *l, size_t limit)
{
	size_t column = 0;

	for (size_t i = 0; i < MIN(l->nr, limit); i++) {
		size_t len = strlen(l->texts[i]);

		if (i == 0) {
			fprintf(f, LABEL, name);
		} else if (column + len > 76) {
			fprintf(f, "\n%23s", "");
			column = 0;
		} else {
			fputc(' ', f);
		}
		table_write_escaped(f, l->texts[i]);
		column += len + 1;
	}
	if (l->nr > limit)
		fprintf(f, " ... %" PRIu64 " in all", l->nr);
	if (l->nr)
		fputc('\n', f);
}

static void write_relations(FILE *f, const struct process_answer *a, const struct table_options *o)
{
	bool any = false;

	for (const struct table_column *c = relations; c->name; c++) {
		const struct table_list *l = (const void *)((const char *)a + c->offset);

		if (l->nr && !any)
			HEADING(f, o, "Links and monitors");
		any |= l->nr > 0;
		write_list(f, c->name, l, o->limit ? o->limit : PROCESS_SHOWN);
	}
}

/* Schedulers check their timers between slices: a timer that is late by less than this is due. */
#define TIMER_LATE_MS 10
/* A timer is later than this only if its scheduler does not check its timers. */
#define TIMER_STUCK_MS 1000

/* Adds "in 1.500 s", "due" or "overdue by 20.000 s". */
static void add_timer_left(struct strbuf *out, const struct process_timer *t)
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

static void write_timers(FILE *f, const struct process_answer *a, const struct table_options *o)
{
	struct strbuf text = STRBUF_INIT;
	bool stuck = false;

	if (!a->all_timers)
		return;
	HEADING(f, o, "Timers: %s%s", a->timers_cut ? ">= " : "", COUNT(a->all_timers));
	for (size_t i = 0; i < a->timers.len; i++) {
		const struct process_timer *t = &a->timers.data[i];

		add_timer_left(&text, t);
		if (t->receive)
			table_line(f, "  %-17s  timeout (after) of its receive", text.buf);
		else
			table_line(f, "  %-17s  %s  to %s: %s", text.buf, t->ref ? t->ref : "",
				   t->by_name ? "its name" : "it", t->message ? t->message : "");
		strbuf_reset(&text);
		stuck |= !t->paused && t->left <= -TIMER_STUCK_MS;
	}
	strbuf_free(&text);
	if (a->timers.len < a->all_timers)
		table_line(f, "  ... -n shows more");
	if (stuck)
		table_line(
			f,
			"  Overdue: the scheduler that owns the timer does not check its timers; "
			"'ebeam sched --now' shows what it is doing.");
}

static void write_dictionary(FILE *f, const struct process_answer *a, const struct table_options *o)
{
	if (a->all_keys)
		HEADING(f, o, "Dictionary: %s", COUNT(a->all_keys));
	for (size_t i = 0; i < a->dictionary.len; i++)
		table_line(f, "  %s => %s", a->dictionary.data[i].key, a->dictionary.data[i].value);
	if (a->dictionary.len < a->all_keys)
		table_line(f, "  ... -n shows more");
}

static void write_binaries(FILE *f, const struct process_answer *a, const struct table_options *o)
{
	if (!a->all_binaries)
		return;
	HEADING(f, o, "Binaries outside the heap: %s, held by %s reference%s",
		COUNT(a->all_binaries), COUNT(a->binary_references), PLURAL(a->binary_references));
	table_line(f, "  in all %s%s%s%s%s", BYTES(a->binary_bytes),
		   isnan(a->binary_used) ? "" : ", of which its terms use ",
		   isnan(a->binary_used) ? "" : BYTES((uint64_t)a->binary_used),
		   a->binary_garbage > 0 ? "; only garbage on its heap refers to " : "",
		   a->binary_garbage > 0 ? BYTES((uint64_t)a->binary_garbage) : "");
	for (size_t i = 0; i < a->binaries.len; i++) {
		const struct process_binary *b = &a->binaries.data[i];

		table_line(f,
			   "  %#14" PRIx64 "  %s%s%s, %" PRIu64 " reference%s, %" PRIu64
			   " of them in this process",
			   b->address, BYTES(b->bytes),
			   b->garbage	    ? ", garbage"
			   : isnan(b->used) ? ""
					    : ", used ",
			   b->garbage || isnan(b->used) ? "" : BYTES((uint64_t)b->used), b->refc,
			   PLURAL(b->refc), b->references);
	}
}

static void write_heap(FILE *f, const struct process_answer *a, const struct table_options *o)
{

	if (!a->counted)
		return;
	HEADING(f, o, "Heap: %s words young, %s old", COUNT(a->young), COUNT(a->old));
	if (a->fragments)
		table_line(f, LABEL "%s word%s", "fragments", COUNT(a->fragments),
			   PLURAL(a->fragments));
	if (a->unknown)
		table_line(f, LABEL "%s word%s", "unknown", COUNT(a->unknown), PLURAL(a->unknown));
	for (size_t i = 0; i < a->kinds.len; i++) {
		const struct process_count *k = &a->kinds.data[i];

		table_line(f, "  %-16s %12s  %12s words", k->what, COUNT(k->count),
			   COUNT(k->words));
	}
	if (a->largest.len)
		table_line(f, "  largest terms (a part that several share is counted in each):");
	for (size_t i = 0; i < a->largest.len; i++) {
		const struct process_root *r = &a->largest.data[i];

		table_line(f, "  %12s%s words  %s", COUNT(r->words), r->truncated ? "+" : "",
			   r->where);
	}
}

void process_view_write(FILE *f, const struct process_answer *a, const struct table_options *o)
{
	write_title(f, a);
	write_facts(f, facts, a);
	write_facts(f, gc, a);
	if (a->max_heap.size)
		table_line(f, LABEL "%s words; a larger process is %s%s", "max_heap_size",
			   COUNT(a->max_heap.size),
			   a->max_heap.kill && a->max_heap.log ? "killed and logged"
			   : a->max_heap.kill		       ? "killed"
			   : a->max_heap.log		       ? "logged"
							       : "neither killed nor logged",
			   a->max_heap.shared ? "; off-heap binaries included" : "");
	write_stack(f, a, o);
	write_state(f, a, o);
	write_mailbox(f, a, o);
	write_relations(f, a, o);
	write_timers(f, a, o);
	write_dictionary(f, a, o);
	write_binaries(f, a, o);
	write_heap(f, a, o);
}
