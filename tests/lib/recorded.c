/* SPDX-License-Identifier: BSD-2-Clause */
/* See recorded.h.  The lines are those of tests/data/images/recorded.erl. */
#include "lib/recorded.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/compiler.h"
#include "base/vec.h"
#include "base/xalloc.h"
#include "beam/code/modules.h"
#include "beam/otp/layout.h"
#include "beam/process/dictionary.h"
#include "beam/process/signals.h"
#include "beam/process/stack.h"
#include "beam/term/term.h"
#include "beam/vm/app_env.h"
#include "beam/vm/ets_objects.h"
#include "beam/vm/links.h"
#include "beam/vm/ports.h"
#include "lib/image.h"

#define OBJECTS_MAX 1000
#define NOTE_MAX    4096

/* ---- the note ------------------------------------------------------------------------------- */

/* Members that later releases of ebeam add are 0 in older images: not found. */
#define ADDRESS(member) #member, offsetof(struct beam_anchors, member), sizeof(raddr)
#define NUMBER(member)	#member, offsetof(struct beam_anchors, member), sizeof(uint32_t)
static const struct {
	const char *name;
	size_t offset, size;
} members[] = {
	{ADDRESS(proc_tab)},	  {ADDRESS(port_tab)},	     {ADDRESS(atom_table)},
	{ADDRESS(this_node_ptr)}, {ADDRESS(this_node)},	     {ADDRESS(jit_descriptor)},
	{ADDRESS(frame_layout)},  {ADDRESS(bif_table)},	     {NUMBER(nr_bifs)},
	{ADDRESS(module_code)},	  {ADDRESS(export_table)},   {ADDRESS(active_code_ix)},
	{ADDRESS(staged_funs)},	  {ADDRESS(staged_exports)}, {ADDRESS(fun_table)},
	{ADDRESS(code_ranges)},	  {ADDRESS(code_size)},	     {ADDRESS(ets_misc)},
	{ADDRESS(allocators)},	  {ADDRESS(dist_table)},     {ADDRESS(clock)},
	{ADDRESS(sched)},	  {ADDRESS(dirty_cpu)},	     {ADDRESS(dirty_io)},
	{NUMBER(nr_sched)},	  {NUMBER(nr_dirty_cpu)},    {NUMBER(nr_dirty_io)},
};

void recorded_note(const struct beam_node *n, struct strbuf *out)
{
	const struct beam_identity *id = &n->identity;

	strbuf_addf(out, "otp 0x%x\nvm_probes 0x%x\njit 0x%x\nnative_stack 0x%x\n",
		    (unsigned int)id->otp, id->vm_probes, id->jit, id->native_stack);
	for (size_t i = 0; i < ARRAY_SIZE(members); i++) {
		uint64_t value = 0;

		memcpy(&value, (const char *)&n->anchors + members[i].offset, members[i].size);
		strbuf_addf(out, "%s 0x%" PRIx64 "\n", members[i].name, value);
	}
}

static bool take_line(struct beam_node *n, const char *name, uint64_t value)
{
	if (!strcmp(name, "otp"))
		n->identity.otp = (int)value;
	else if (!strcmp(name, "vm_probes"))
		n->identity.vm_probes = value != 0;
	else if (!strcmp(name, "jit"))
		n->identity.jit = value != 0;
	else if (!strcmp(name, "native_stack"))
		n->identity.native_stack = value != 0;
	else {
		for (size_t i = 0; i < ARRAY_SIZE(members); i++) {
			if (strcmp(name, members[i].name) != 0)
				continue;
			memcpy((char *)&n->anchors + members[i].offset, &value, members[i].size);
			return true;
		}
		return false;
	}
	return true;
}

bool recorded_take_note(struct beam_node *n, const char *note)
{
	const struct layout_table *table;
	char name[32];
	uint64_t value;
	int end;

	for (; *note; note += end)
		if (sscanf(note, "%31s %" SCNx64 " %n", name, &value, &end) != 2 ||
		    !take_line(n, name, value))
			return false;
	table = layout_table_find(n->identity.otp, n->identity.vm_probes);
	if (table)
		n->layout = table->layout;
	return table && beam_atoms_open(&n->atoms, n->mem, &n->layout, n->anchors.atom_table) == 0;
}

struct beam_node *recorded_open(int otp)
{
	struct beam_node *n = xcalloc(1, sizeof(*n));
	char name[32], note[NOTE_MAX];
	bool ok;

	snprintf(name, sizeof(name), "node-otp%d.img.gz", otp);
	n->pidfd = -1;
	n->mem = image_load(name);
	ok = mem_read_string(n->mem, RECORDED_NOTE, note, sizeof(note)) == 0 &&
	     recorded_take_note(n, note) && n->identity.otp == otp;
	assert(ok);
	return n;
}

void recorded_close(struct beam_node *n)
{
	beam_atoms_close(n->atoms);
	mem_close(n->mem);
	free(n);
}

/* ---- the survey ----------------------------------------------------------------------------- */

struct survey {
	struct beam_node *n;
	struct term_reader reader;
	struct term_formats formats;
	struct stack_code code;
	struct strbuf line;
	VEC(char *) lines;
	const char *name; /* of the process that is looked at */
	unsigned int nr;  /* of its messages */
};

static void end_line(struct survey *s)
{
	vec_push(&s->lines, strbuf_detach(&s->line, NULL));
}

static const char *atom(struct survey *s, uint64_t term)
{
	const char *text = term ? beam_atom_text(s->n->atoms, term, NULL) : NULL;

	return text ? text : "undefined";
}

static const char *truth(bool b)
{
	return b ? "true" : "false";
}

static void add_mfa(struct survey *s, const uint64_t mfa[3])
{
	if (!beam_mfa_format(s->n->atoms, mfa, &s->line))
		strbuf_addstr(&s->line, "?");
}

static int add_message(void *arg, const struct signal_message *m)
{
	struct survey *s = arg;

	strbuf_addf(&s->line, "message %s %u ", s->name, ++s->nr);
	term_print(&s->reader, &s->line, m->term);
	end_line(s);
	return 0;
}

static int add_pair(void *arg, uint64_t key, uint64_t value)
{
	struct survey *s = arg;

	strbuf_addf(&s->line, "dictionary %s {", s->name);
	term_print(&s->reader, &s->line, key);
	strbuf_addch(&s->line, ',');
	term_print(&s->reader, &s->line, value);
	strbuf_addch(&s->line, '}');
	end_line(s);
	return 0;
}

static void add_frames(struct survey *s, const struct process_facts *p)
{
	struct process_stack stack = {0};
	unsigned int nr = 0;

	if (process_stack_read(s->n, &s->code, p, &stack) != 0) {
		strbuf_addf(&s->line, "frame %s: not read", s->name);
		end_line(s);
	}
	for (size_t i = 0; i < stack.frames.len; i++) {
		struct stack_location at;
		const char *slash;

		stack_frame_locate(&s->code, &stack.frames.data[i], &at);
		if (!at.known || stack.frames.data[i].repeated)
			continue;
		strbuf_addf(&s->line, "frame %s %u ", s->name, ++nr);
		stack_location_format(&at, &s->line);
		slash = at.function.file ? memrchr(at.function.file, '/', at.function.file_len)
					 : NULL;
		if (at.function.file)
			strbuf_addf(&s->line, " %.*s:%u",
				    (int)(at.function.file_len -
					  (slash ? slash + 1 - at.function.file : 0)),
				    slash ? slash + 1 : at.function.file, at.function.line);
		end_line(s);
	}
	process_stack_free(&stack);
}

static void add_relations(struct survey *s, const struct process_facts *p)
{
	struct link_list links = {0};
	struct monitor_list monitors = {0};

	links_read(s->n, p->links, &links);
	for (size_t i = 0; i < links.v.len; i++) {
		strbuf_addf(&s->line, "link %s ", s->name);
		term_print(&s->reader, &s->line, links.v.data[i].item);
		end_line(s);
	}
	monitors_read(s->n, p->monitors, p->lt_monitors, &monitors);
	for (size_t i = 0; i < monitors.v.len; i++) {
		const struct monitor_item *m = &monitors.v.data[i];

		if (m->type != MONITOR_PROC)
			continue;
		strbuf_addf(&s->line, "%s %s ", m->target ? "monitored_by" : "monitor", s->name);
		term_print(&s->reader, &s->line, m->item);
		end_line(s);
	}
	links_free(&links);
	monitors_free(&monitors);
}

static void add_process(struct survey *s, const struct process_facts *p)
{
	static const char *const priorities[] = {"max", "high", "normal", "low"};
	struct stack_location at;
	struct signal_counts counts;
	uint64_t unreadable;

	s->name = atom(s, p->registered);
	s->nr = 0;
	strbuf_addf(&s->line, "process %s ", s->name);
	term_print(&s->reader, &s->line, p->epid);
	strbuf_addf(&s->line, " %s initial=", process_status_name(p->status));
	add_mfa(s, p->initial);
	strbuf_addstr(&s->line, " current=");
	process_current_function(s->n, &s->code, p, &s->line, &at);
	strbuf_addstr(&s->line, " leader=");
	term_print(&s->reader, &s->line, p->group_leader);
	strbuf_addf(&s->line,
		    " priority=%s trap_exit=%s messages=%" PRId64 " heap=%" PRIu64
		    " total_heap=%" PRIu64 " min_heap=%" PRIu64 " stack=%" PRIu64
		    " memory=%" PRIu64,
		    priorities[p->priority & 3], truth(p->trap_exit), p->message_queue_len,
		    p->heap_size, p->total_heap_size, p->min_heap_size, p->stack_size, p->memory);
	end_line(s);
	add_frames(s, p);
	add_relations(s, p);
	signals_walk(s->n, s->n->mem, p->addr, add_message, s, &counts);
	if (p->dictionary)
		dictionary_each(s->n->mem, p->dictionary, add_pair, s, &unreadable);
}

static int add_processes(struct survey *s, struct error *err)
{
	struct process_list list = {0};
	int code = processes_read(s->n, PROCESS_READ_ALL, &list, err);

	if (code)
		return code;
	strbuf_addf(&s->line, "processes %zu", list.len);
	end_line(s);
	for (size_t i = 0; i < list.len; i++)
		if (list.data[i].registered)
			add_process(s, &list.data[i]);
	process_list_free(&list);
	return 0;
}

static void add_table(struct survey *s, const struct ets_table *t)
{
	static const char *const write_concurrency[] = {"false", "true", "auto", "locks"};
	struct ets_objects objects = {0};
	const char *name = atom(s, t->name);

	strbuf_addf(&s->line, "table %s %s %s owner=", name, ets_type_name(t->type),
		    ets_protection_name(t->protection));
	term_print(&s->reader, &s->line, t->owner);
	strbuf_addf(&s->line,
		    " size=%" PRIu64 " memory=%" PRIu64
		    " keypos=%u named=%s compressed=%s read=%s write=%s decentralized=%s heir=",
		    t->size, t->memory, t->keypos, truth(t->named), truth(t->compressed),
		    truth(t->read_concurrency), write_concurrency[t->write_concurrency],
		    truth(t->decentralized));
	if (t->heir)
		term_print(&s->reader, &s->line, t->heir);
	else
		strbuf_addstr(&s->line, "none");
	end_line(s);
	if (!t->compressed) /* their values are not decoded */
		ets_objects_read(s->n, t, OBJECTS_MAX, &objects);
	for (size_t i = 0; i < objects.v.len; i++) {
		const struct ets_object *o = &objects.v.data[i];

		strbuf_addf(&s->line, "object %s ", name);
		app_table_enter(&s->reader, o);
		term_print(&s->reader, &s->line, o->addr | 2); /* a boxed term */
		end_line(s);
	}
	app_table_enter(&s->reader, NULL);
	ets_objects_free(&objects);
}

static int add_tables(struct survey *s, struct error *err)
{
	struct ets_list list = {0};
	int code = ets_read(s->n, &list, err);

	if (code)
		return code;
	for (size_t i = 0; i < list.len; i++)
		add_table(s, &list.data[i]);
	ets_list_free(&list);
	return 0;
}

static int add_ports(struct survey *s, struct error *err)
{
	struct port_list list = {0};
	int code = ports_read(s->n, &list, err);

	if (code)
		return code;
	for (size_t i = 0; i < list.len; i++) {
		const struct port_facts *p = &list.data[i];

		strbuf_addf(&s->line,
			    "port #Port<0.%" PRIu64 "> %s registered=%s connected=", p->number,
			    p->name, atom(s, p->registered));
		term_print(&s->reader, &s->line, p->connected);
		strbuf_addf(&s->line,
			    " id=%u os_pid=%s input=%" PRIu64 " output=%" PRIu64 " queue=%" PRIu64
			    " links=%zu memory=%" PRIu64,
			    p->slot, p->os_pid < 0 ? "undefined" : "known", p->bytes_in,
			    p->bytes_out, p->queue_size, p->links.len, p->memory);
		end_line(s);
	}
	port_list_free(&list);
	return 0;
}

static int add_modules(struct survey *s, struct error *err)
{
	struct modules m = {0};
	int code = modules_read(&m, s->n, err);

	if (code)
		return code;
	for (size_t i = 0; i < m.v.len; i++) {
		const struct module *module = &m.v.data[i];

		strbuf_addf(&s->line, "module %s functions=%u md5=", atom(s, module->name),
			    module->functions);
		for (size_t k = 0; k < MODULE_MD5_SIZE; k++)
			strbuf_addf(&s->line, "%02x", module->md5[k]);
		end_line(s);
	}
	modules_free(&m);
	return 0;
}

/* All that the JIT says of the module `recorded`. */
static void add_functions(struct survey *s)
{
	static const char wanted[] = "recorded";
	struct address_range code;
	struct stack_location l = {.known = true};

	for (size_t i = 0; jit_module_at(s->code.jit, i, &code); i++) {
		for (raddr at = code.start; at < code.end; at = l.function.end) {
			while (!jit_find(s->code.jit, at, &l.function) && ++at < code.end)
				; /* what stands before the functions */
			if (at >= code.end || l.function.module_len != strlen(wanted) ||
			    memcmp(l.function.module, wanted, strlen(wanted)) != 0)
				break;
			if (l.function.preamble || l.function.fragment)
				continue;
			strbuf_addstr(&s->line, "function ");
			stack_location_format(&l, &s->line);
			end_line(s);
		}
	}
}

static int by_text(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

int recorded_survey(struct beam_node *n, struct strbuf *out, struct error *err)
{
	struct survey s = {.n = n, .line = STRBUF_INIT};
	int code = term_reader_init(&s.reader, &s.formats, n);

	if (!code)
		code = stack_code_open(&s.code, n, err);
	if (code)
		return code;
	strbuf_addf(&s.line, "atoms %" PRId64, beam_atoms_count(n->atoms));
	end_line(&s);
	code = add_processes(&s, err);
	if (!code)
		code = add_tables(&s, err);
	if (!code)
		code = add_ports(&s, err);
	if (!code)
		code = add_modules(&s, err);
	add_functions(&s);
	qsort(s.lines.data, s.lines.len, sizeof(s.lines.data[0]), by_text);
	for (size_t i = 0; i < s.lines.len; i++) {
		strbuf_addf(out, "%s\n", s.lines.data[i]);
		free(s.lines.data[i]);
	}
	vec_free(&s.lines);
	strbuf_free(&s.line);
	stack_code_close(&s.code);
	return code;
}
