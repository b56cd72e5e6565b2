/* SPDX-License-Identifier: BSD-2-Clause */
/* See process_source.h. */
#include "cmd/inspect/process_source.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "abi/vm.h"
#include "base/compiler.h"
#include "beam/process/off_heap.h"
#include "beam/process/timers.h"
#include "beam/term/term_read.h"
#include "names/names.h"

/* Limits of the text of a label. */
#define LABEL_DEPTH    16
#define LABEL_SIZE     2000u
#define LABEL_ELEMENTS 1000u

/* Atoms with a larger index are looked up each time. */
#define ATOMS_MAX (1u << 22)

/* Unused strings that are tolerated before process_strings_keep() frees them. */
#define STRINGS_FEW 4096u

/* The cache of pages is emptied after so many processes: what it has is as old as these. */
#define CACHED_PROCESSES 256

/* An item of process_source.timers. */
struct receiver {
	uint64_t to, nr; /* to: the key */
};

static int open_code(struct process_source *s, char *warning, size_t warning_size)
{
	struct error err = {0};

	warning[0] = '\0';
	if (!(s->needs & PROCESS_NEEDS_FUNCTION))
		return 0;
	s->has_code = stack_code_open(&s->code, s->node, &err) == 0;
	if (!s->has_code)
		snprintf(warning, warning_size, "no current functions: %s", err.msg);
	return 0;
}

int process_source_open(struct process_source *s, struct beam_node *n, unsigned int needs,
			char *warning, size_t warning_size, struct error *err)
{
	int rc;

	*s = (struct process_source){
		.node = n, .needs = needs, .timers = KEYTAB_INIT(struct receiver)};
	rc = term_reader_init(&s->reader, &s->formats, n);
	if (rc)
		return beam_node_unreadable(n, "process table", rc, err);
	s->reader.depth = LABEL_DEPTH;
	s->reader.max_len = LABEL_SIZE;
	s->reader.max_elements = LABEL_ELEMENTS;
	return open_code(s, warning, warning_size);
}

/* Drops all that was looked up, but not the strings. */
static void forget(struct process_source *s)
{
	vec_free(&s->atoms);
	vec_free(&s->written);
	vec_free(&s->functions);
	vec_free(&s->calls);
	idmap_free(&s->function_index);
	idmap_free(&s->call_index);
	if (s->has_code)
		stack_code_close(&s->code);
	s->has_code = false;
}

void process_source_close(struct process_source *s)
{
	forget(s);
	mem_close(s->cached);
	keytab_free(&s->timers);
	process_strings_free(&s->strings);
}

void process_source_renew(struct process_source *s, struct process_row *rows, size_t nr)
{
	char warning[256];

	forget(s);
	open_code(s, warning, sizeof(warning));
	s->anew = true;
	if (s->strings.v.len < 2 * s->kept + STRINGS_FEW)
		return;
	process_strings_keep(&s->strings, rows, nr);
	s->kept = s->strings.v.len;
}

void process_source_renewed(struct process_source *s)
{
	s->anew = false;
}

static void count_timers(struct process_source *s)
{
	struct timer_totals totals = {0};

	keytab_free(&s->timers);
	timer_totals_read(s->node, &totals);
	for (size_t i = 0; i < totals.v.len; i++) {
		const struct timer_receiver *t = &totals.v.data[i];
		struct receiver *r = t->to ? keytab_find(&s->timers, t->to) : NULL;

		if (t->to && !r)
			r = keytab_add(&s->timers, t->to);
		if (r)
			r->nr += t->nr;
	}
	timer_totals_free(&totals);
}

unsigned int process_source_what(const struct process_source *s)
{
	return (s->needs & PROCESS_NEEDS_MEMORY ? PROCESS_READ_MEMORY : 0) |
	       (s->needs & PROCESS_NEEDS_COUNTS ? PROCESS_READ_COUNTS : 0) |
	       (s->needs & PROCESS_NEEDS_LABEL ? PROCESS_READ_DICTIONARY : 0);
}

int process_source_scan(struct process_source *s,
			int (*visit)(void *arg, struct process_facts *block, size_t nr), void *arg,
			struct process_totals *totals, struct error *err)
{
	if (s->needs & PROCESS_NEEDS_TIMERS)
		count_timers(s);
	return processes_scan(s->node, process_source_what(s), visit, arg, totals, err);
}

/* ---- names -------------------------------------------------------------------------------- */

static uint32_t atom_string(struct process_source *s, uint64_t term)
{
	uint64_t index = term >> 6;
	const char *text;
	size_t len;
	uint32_t id;

	if (index < s->atoms.len && s->atoms.data[index])
		return s->atoms.data[index];
	text = beam_atom_text(s->node->atoms, term, &len);
	if (!text)
		return 0;
	id = process_strings_add(&s->strings, text, len);
	if (index < ATOMS_MAX) {
		while (s->atoms.len <= index)
			vec_push(&s->atoms, 0);
		s->atoms.data[index] = id;
	}
	return id;
}

/* String id of an atom as code writes it: My.Worker instead of Elixir.My.Worker, and with quotes
 * where Erlang needs them. */
static uint32_t written_string(struct process_source *s, uint64_t term)
{
	uint64_t index = term >> 6;
	struct strbuf written = STRBUF_INIT;
	const char *text;
	size_t len;
	uint32_t id;

	if (index < s->written.len && s->written.data[index])
		return s->written.data[index];
	text = beam_atom_text(s->node->atoms, term, &len);
	if (!text)
		return 0;
	names_format_module(&written, text, len);
	id = written.len == len && memcmp(written.buf, text, len) == 0
		     ? atom_string(s, term)
		     : process_strings_add(&s->strings, written.buf, written.len);
	strbuf_free(&written);
	if (index < ATOMS_MAX) {
		while (s->written.len <= index)
			vec_push(&s->written, 0);
		s->written.data[index] = id;
	}
	return id;
}

static uint32_t term_string(struct process_source *s, uint64_t term)
{
	struct strbuf text = STRBUF_INIT;
	uint32_t id;

	term_print(&s->reader, &text, term);
	id = process_strings_add(&s->strings, text.buf, text.len);
	strbuf_free(&text);
	return id;
}

static bool same_call(const void *ctx, uint32_t id, const void *key)
{
	return memcmp(((const struct process_source *)ctx)->calls.data[id].mfa, key, 24) == 0;
}

/* String id of "M:F/A"; 0 = none. */
static uint32_t call_string(struct process_source *s, const uint64_t mfa[3])
{
	struct process_call new = {.mfa = {mfa[0], mfa[1], mfa[2]}};
	uint32_t hash = hash_mix(hash_mix((uint32_t)mfa[2], mfa[0]), mfa[1]), id;
	struct strbuf text = STRBUF_INIT;

	if (!mfa[0] || mfa[2] > 255)
		return 0;
	id = idmap_find(&s->call_index, hash, same_call, s, mfa);
	if (id != IDMAP_NONE)
		return s->calls.data[id].text;
	if (!beam_mfa_format(s->node->atoms, mfa, &text)) {
		/* An atom could not be read; it is tried again for the next process. */
		strbuf_free(&text);
		return 0;
	}
	new.text = process_strings_add(&s->strings, text.buf, text.len);
	strbuf_free(&text);
	idmap_add(&s->call_index, hash, (uint32_t)s->calls.len);
	vec_push(&s->calls, new);
	return new.text;
}

static bool same_function(const void *ctx, uint32_t id, const void *key)
{
	const struct process_function *f =
		&((const struct process_source *)ctx)->functions.data[id];
	const struct process_facts *p = key;

	return f->current == p->current && f->i == p->i;
}

static void find_function(struct process_source *s, const struct process_facts *p,
			  struct process_row *row)
{
	struct process_function new = {.current = p->current, .i = p->i};
	uint32_t hash = hash_mix(hash_mix(1, p->current), p->i);
	struct strbuf text = STRBUF_INIT;
	struct stack_location place;
	uint32_t id;

	if (!s->has_code || (p->state & PSFLG_EXITING))
		return;
	id = idmap_find(&s->function_index, hash, same_function, s, p);
	if (id == IDMAP_NONE) {
		memset(&place, 0, sizeof(place));
		if (process_current_function(s->node, &s->code, p, &text, &place))
			new.function = process_strings_add(&s->strings, text.buf, text.len);
		if (place.known && place.function.file && place.function.line) {
			new.file = process_strings_add(&s->strings, place.function.file,
						       place.function.file_len);
			new.line = place.function.line;
		}
		strbuf_free(&text);
		id = (uint32_t)s->functions.len;
		idmap_add(&s->function_index, hash, id);
		vec_push(&s->functions, new);
	}
	row->function = s->functions.data[id].function;
	row->file = s->functions.data[id].file;
	row->line = s->functions.data[id].line;
}

uint64_t process_source_pid(struct process_source *s, uint64_t term)
{
	unsigned int bits = s->formats.pids.whole_word ? 28 : 15;
	uint64_t data;

	if (TERM_IS_PID(term)) {
		data = id_data(&s->formats.pids, term);
		return (data >> bits) << 32 | (data & ((1ull << bits) - 1));
	}
	if (TERM_IS_BOXED(term)) /* of another node */
		return PROCESS_PID_TEXT | term_string(s, term);
	return PROCESS_PID_NONE;
}

static void find_registered(struct process_source *s, const struct process_facts *p,
			    struct process_row *row)
{
	if (!(s->needs & PROCESS_NEEDS_NAME) || !p->registered)
		return;
	row->registered = atom_string(s, p->registered);
	row->written = written_string(s, p->registered);
}

static void find_names(struct process_source *s, const struct process_facts *p,
		       struct process_row *row)
{
	find_registered(s, p, row);
	if ((s->needs & PROCESS_NEEDS_INITIAL) && p->initial[0])
		row->initial_call = call_string(s, p->initial);
	if ((s->needs & PROCESS_NEEDS_LABEL) && p->label)
		row->label = term_string(s, p->label);
	else if (s->needs & PROCESS_NEEDS_LABEL)
		row->label = call_string(s, p->proc_lib_call);
	if (s->needs & PROCESS_NEEDS_FUNCTION)
		find_function(s, p, row);
}

struct mem *process_source_cache(struct process_source *s)
{
	if (!s->cached)
		s->cached = mem_open_cached(s->node->mem);
	if (s->nr_cached++ % CACHED_PROCESSES == 0)
		mem_cached_forget(s->cached);
	return s->cached;
}

static void find_binaries(struct process_source *s, const struct process_facts *p,
			  struct process_row *row)
{
	struct off_heap o = {0};

	off_heap_add_all(s->node, process_source_cache(s), p, &o);
	off_heap_finish(s->node, &o);
	row->binaries = o.binaries.len;
	row->binary_memory = o.bytes;
	row->binary_held = off_heap_held(&o);
	off_heap_free(&o);
}

static uint64_t timers_of(const struct process_source *s, const struct process_facts *p)
{
	const struct receiver *to_pid = keytab_find(&s->timers, p->addr);
	const struct receiver *to_name =
		p->registered ? keytab_find(&s->timers, p->registered) : NULL;

	return (to_pid ? to_pid->nr : 0) + (to_name ? to_name->nr : 0);
}

void process_source_row(struct process_source *s, const struct process_facts *p,
			const struct process_row *before, struct process_row *row)
{
	bool counted = s->needs & PROCESS_NEEDS_COUNTS;

	*row = (struct process_row){
		.pid = process_source_pid(s, p->epid),
		.parent = process_source_pid(s, p->parent),
		.group_leader = process_source_pid(s, p->group_leader),
		.slot = p->slot,
		.reductions = p->reductions,
		.memory = p->memory,
		.message_queue_len = (uint64_t)p->message_queue_len,
		.total_heap_size = p->total_heap_size,
		.heap_size = p->heap_size,
		.stack_size = p->stack_size,
		.cpu = NAN,
		.reductions_rate = NAN,
		.memory_rate = NAN,
		.messages_rate = NAN,
		.links = counted ? p->nr_links : PROCESS_COUNT_UNKNOWN,
		.monitors = counted ? p->nr_monitors : PROCESS_COUNT_UNKNOWN,
		.monitored_by = counted ? p->nr_monitored_by : PROCESS_COUNT_UNKNOWN,
		.binaries = PROCESS_NUMBER_UNKNOWN,
		.binary_memory = PROCESS_NUMBER_UNKNOWN,
		.binary_held = PROCESS_NUMBER_UNKNOWN,
		.timers =
			s->needs & PROCESS_NEEDS_TIMERS ? timers_of(s, p) : PROCESS_NUMBER_UNKNOWN,
		.status = (uint8_t)p->status,
		.priority = (uint8_t)p->priority,
		.trap_exit = p->trap_exit,
		.torn = p->torn,
		.stale = process_stack_is_stale(p->state),
	};
	s->undecoded += p->nr_undecoded;
	if (s->needs & PROCESS_NEEDS_BINARIES)
		find_binaries(s, p, row);
	/* The process has not run, so its dictionary and current function are the same. */
	if (before && !s->anew && before->pid == row->pid &&
	    before->reductions == row->reductions && p->status == PROCESS_WAITING &&
	    before->status == PROCESS_WAITING) {
		row->label = before->label;
		row->initial_call = before->initial_call;
		row->function = before->function;
		row->file = before->file;
		row->line = before->line;
		find_registered(s, p, row);
		return;
	}
	find_names(s, p, row);
}

unsigned int process_source_ancestors(struct process_source *s, const struct process_facts *p,
				      uint64_t *ancestors, unsigned int max)
{
	uint64_t list = p->ancestors, head;
	unsigned int nr = 0;

	while (nr < max && TERM_IS_LIST(list) && term_next(&s->reader, &list, &head)) {
		if (TERM_IS_PID(head))
			ancestors[nr++] = process_source_pid(s, head);
		else if (TERM_IS_ATOM(head))
			ancestors[nr++] = PROCESS_PID_TEXT | atom_string(s, head);
	}
	if (nr < max && TERM_IS_PID(p->parent))
		ancestors[nr++] = process_source_pid(s, p->parent);
	return nr;
}
