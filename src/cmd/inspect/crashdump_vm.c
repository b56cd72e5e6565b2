/* SPDX-License-Identifier: BSD-2-Clause */
/* `ebeam crashdump`: what is about the VM: head, schedulers, memory, allocators, index tables. */
#include <inttypes.h>
#include <string.h>
#include <time.h>

#include "abi/vm.h"
#include "base/compiler.h"
#include "beam/code/index_table.h"
#include "beam/code/modules.h"
#include "beam/sched/sched_now.h"
#include "beam/vm/facts.h"
#include "beam/vm/memory.h"
#include "cmd/inspect/crashdump.h"
#include "cmd/output/envelope.h"
#include "target/core.h"

/* ---- head ------------------------------------------------------------------------------------ */

/* Is the module's NIF library linked into the VM?  That of zlib and of preloaded modules is
 * (erl_nif.c, OTP 24 to 29). */
static bool is_static(struct crashdump *c, uint64_t module)
{
	static const char *const names[] = {"erl_tracer", "zlib", "zstd"};
	const char *name;
	size_t len;

	name = beam_atom_text(c->n->atoms, module, &len);
	for (size_t i = 0; name && i < ARRAY_SIZE(names); i++)
		if (strcmp(name, names[i]) == 0)
			return true;
	return name && strncmp(name, "prim_", 5) == 0;
}

/* Modules with a NIF library of their own: system_info(taints). */
static void print_taints(struct crashdump *c, struct strbuf *out)
{
	struct modules modules;

	if (modules_read(&modules, c->n, NULL) != 0) {
		strbuf_addstr(out, "(not known)");
		return;
	}
	for (size_t i = 0; i < modules.v.len; i++) {
		if (!modules.v.data[i].nifs || is_static(c, modules.v.data[i].name))
			continue;
		if (out->len)
			strbuf_addch(out, ',');
		crashdump_print(c, out, modules.v.data[i].name);
	}
	if (!out->len)
		strbuf_addstr(out, "(none)");
	modules_free(&modules);
}

static void print_slogan(const struct crashdump *c, struct strbuf *out)
{
	const struct core_facts *core = c->n->core ? core_file_facts(c->n->core) : NULL;

	if (!core)
		strbuf_addf(out,
			    "Written by ebeam of a node that did not crash: pid %d was read from "
			    "outside, while it went on",
			    c->n->os_pid);
	else if (core->signal)
		strbuf_addf(out, "Written by ebeam of a core file: pid %d was ended by signal %d",
			    core->os_pid, core->signal);
	else
		strbuf_addf(out, "Written by ebeam of a core file: pid %d", core->os_pid);
}

static void write_head(struct crashdump *c)
{
	const struct beam_identity *id = &c->n->identity;
	struct strbuf slogan = STRBUF_INIT, version = STRBUF_INIT, taints = STRBUF_INIT;
	struct crashdump_head head = {.time = time(NULL), .atoms = CRASHDUMP_UNKNOWN};
	struct beam_facts facts;

	print_slogan(c, &slogan);
	print_taints(c, &taints);
	strbuf_addf(&version, "Erlang/OTP %s [erts-%s] [64-bit]", id->otp_text, id->erts);
	if (beam_node_facts(c->n, &facts, NULL) == 0) {
		head.atoms = facts.atom_count;
		strbuf_addf(&version, " [smp:%u:%u] [ds:%u:%u:%u]", facts.schedulers,
			    facts.schedulers, facts.dirty_cpu_schedulers,
			    facts.dirty_cpu_schedulers, facts.dirty_io_schedulers);
	}
	if (id->jit)
		strbuf_addf(&version, " [jit%s]", id->native_stack ? ":ns" : "");
	head.slogan = slogan.buf;
	head.system_version = version.buf;
	head.taints = taints.buf;
	crashdump_head_write(c->out, &head);
	strbuf_free(&slogan);
	strbuf_free(&version);
	strbuf_free(&taints);
}

/* ---- schedulers ------------------------------------------------------------------------------ */

/* ErtsRunQueueInfo {u32 len; int max_len, reds}: ErtsRunQueue.procs has four, behind its counters
 * of switches and reductions, since OTP 28 before these and three queues; ports.info is before
 * ports.start (erl_process.h, OTP 24 to 29). */
#define QUEUE_INFO     12
#define QUEUES_28      (4 * QUEUE_INFO + 3 * 16)
#define PORT_INFO_SIZE 16

static bool read_run_queue(struct crashdump *c, raddr esdp, struct crashdump_run_queue *q)
{
	const struct beam_layout *l = &c->n->layout;
	bool old = l->runq_len < l->runq_context_switches;
	raddr at, queue;
	uint32_t len;

	if (mem_read_u64(c->n->mem, esdp + (raddr)l->sched_run_queue, &queue) != 0)
		return false;
	at = queue +
	     (old ? (raddr)l->runq_reductions + 8 : (raddr)l->runq_context_switches - QUEUES_28);
	for (int i = 0; i < CRASHDUMP_PRIORITIES; i++) {
		if (mem_read_u32(c->n->mem, at + (raddr)i * QUEUE_INFO, &len) != 0)
			return false;
		q->length[i] = len;
	}
	if (mem_read_u32(c->n->mem, queue + (raddr)l->runq_ports_start - PORT_INFO_SIZE, &len))
		return false;
	q->ports = len;
	return true;
}

static void write_scheduler(struct crashdump *c, const struct sched_one *s)
{
	const struct beam_anchors *a = &c->n->anchors;
	struct strbuf pid = STRBUF_INIT, port = STRBUF_INIT, counter = STRBUF_INIT;
	struct crashdump_run_queue queue;
	struct crashdump_scheduler out = {
		.section = s->type == THREAD_NORMAL	 ? "scheduler"
			   : s->type == THREAD_DIRTY_CPU ? "dirty_cpu_scheduler"
							 : "dirty_io_scheduler",
		/* Dirty ones are numbered on. */
		.number =
			s->number + (s->type == THREAD_NORMAL	   ? 0
				     : s->type == THREAD_DIRTY_CPU ? a->nr_sched
								   : a->nr_sched + a->nr_dirty_cpu),
		.state = s->now.state,
		.new_signals = c->n->identity.otp >= 27,
	};

	if (s->now.known && s->now.process && s->now.epid) {
		crashdump_print(c, &pid, s->now.epid);
		out.process = pid.buf;
		crashdump_print_counter(c, &counter, s->now.i, false);
		out.counter = counter.buf;
	}
	if (s->now.known && s->now.port && s->now.port_id) {
		crashdump_print(c, &port, s->now.port_id);
		out.port = port.buf;
	}
	if (s->type == THREAD_NORMAL && read_run_queue(c, s->esdp, &queue))
		out.queue = &queue;
	crashdump_scheduler_write(c->out, &out);
	strbuf_free(&pid);
	strbuf_free(&port);
	strbuf_free(&counter);
}

/* All dirty schedulers of a type share a run queue. */
static void write_dirty_queue(struct crashdump *c, const char *section, const struct sched_one *s)
{
	struct crashdump_run_queue queue;

	if (!read_run_queue(c, s->esdp, &queue))
		return;
	fprintf(c->out, "=%s\n", section);
	crashdump_run_queue_write(c->out, &queue);
}

static void write_schedulers(struct crashdump *c)
{
	struct sched_now *now;
	const struct sched_one *all;
	size_t nr;

	if (sched_now_open(&now, c->n, (struct address_range){0}) != 0) {
		crashdump_lacks(c, "schedulers");
		return;
	}
	sched_now_sample(now, 0);
	all = sched_now_all(now, &nr);
	for (size_t i = 0; i < nr; i++) {
		write_scheduler(c, &all[i]);
		if (all[i].type != THREAD_NORMAL && (i + 1 == nr || all[i + 1].type != all[i].type))
			write_dirty_queue(c,
					  all[i].type == THREAD_DIRTY_CPU ? "dirty_cpu_run_queue"
									  : "dirty_io_run_queue",
					  &all[i]);
	}
	sched_now_close(now);
}

/* ---- memory ---------------------------------------------------------------------------------- */

_Static_assert(MEMORY_UNKNOWN == CRASHDUMP_UNKNOWN, "sizes that are not known");

static void write_memory(struct crashdump *c, const struct memory *m)
{
	const struct {
		const char *name;
		uint64_t size;
	} sizes[] = {
		{"total", m->total},
		{"processes", m->processes},
		{"processes_used", m->processes_used},
		{"system", m->system},
		{"atom", m->atom},
		{"atom_used", m->atom_used},
		{"binary", m->binary},
		{"code", m->code},
		{"ets", m->ets},
	};

	fputs("=memory\n", c->out);
	for (size_t i = 0; i < ARRAY_SIZE(sizes); i++)
		crashdump_number(c->out, sizes[i].name, sizes[i].size);
}

static void write_areas(struct crashdump *c, const struct memory_areas *a)
{
	const struct {
		const char *name;
		uint64_t size;
	} sizes[] = {
		{"atom_table", a->atom_table},	   {"module_table", a->module_table},
		{"export_table", a->export_table}, {"export_list", a->export_list},
		{"fun_table", a->fun_table},	   {"module_refs", a->module_refs},
		{"loaded_code", a->loaded_code},   {"process_table", a->process_table},
		{"ets_misc", a->ets_misc},
	};

	fputs("=allocated_areas\n", c->out);
	if (a->atom_space != MEMORY_UNKNOWN && a->atom_space_used != MEMORY_UNKNOWN)
		fprintf(c->out, "atom_space: %" PRIu64 " %" PRIu64 "\n", a->atom_space,
			a->atom_space_used);
	for (size_t i = 0; i < ARRAY_SIZE(sizes); i++)
		crashdump_number(c->out, sizes[i].name, sizes[i].size);
}

static uint64_t sum(const uint64_t by_type[ALLOCATORS_MAX])
{
	uint64_t n = 0;

	for (int i = 0; i < ALLOCATORS_MAX; i++)
		n += by_type[i];
	return n;
}

static void write_allocator(struct crashdump *c, const struct allocator *a)
{
	const struct allocator_count *counts[] = {&a->mbcs, &a->pool, &a->sbcs};
	static const char *const names[] = {"mbcs", "mbcs_pool", "sbcs"};
	struct crashdump_allocator out = {.type = a->type, .instance = a->instance};

	for (size_t i = 0; i < ARRAY_SIZE(counts); i++) {
		out.kinds[i].name = names[i];
		out.kinds[i].blocks = sum(counts[i]->blocks);
		out.kinds[i].blocks_size = sum(counts[i]->blocks_size);
		out.kinds[i].carriers = counts[i]->carriers;
		out.kinds[i].carriers_size = counts[i]->carriers_size;
	}
	crashdump_allocator_write(c->out, &out);
}

static void write_allocators(struct crashdump *c)
{
	struct allocators allocators;
	struct memory memory;

	if (!c->n->anchors.allocators || allocators_read(&allocators, c->n, NULL) != 0) {
		crashdump_lacks(c, "memory");
		return;
	}
	if (memory_read(&memory, c->n, &allocators, NULL) == 0) {
		write_memory(c, &memory);
		write_areas(c, &memory.areas);
	}
	for (size_t i = 0; i < allocators.v.len; i++)
		write_allocator(c, &allocators.v.data[i]);
	allocators_free(&allocators);
}

/* ---- index tables ---------------------------------------------------------------------------- */

static void write_index_table(struct crashdump *c, const char *name, raddr table)
{
	const struct beam_layout *l = &c->n->layout;
	struct mem *mem = c->n->mem;
	uint32_t shift, objects, slots, limit;
	struct index_table t;

	if (!table || index_table_read(&t, mem, l, table) != 0 ||
	    mem_read_u32(mem, table + (raddr)l->index_table_shift, &shift) != 0 ||
	    mem_read_u32(mem, table + (raddr)l->index_table_nobjs, &objects) != 0 ||
	    mem_read_u32(mem, table + (raddr)l->index_table_slots, &slots) != 0 ||
	    mem_read_u32(mem, table + (raddr)l->index_table_limit, &limit) != 0)
		return;
	fprintf(c->out, "=hash_table:%s\n", name);
	crashdump_number(c->out, "size", 1ull << (64 - shift));
	crashdump_number(c->out, "objs", objects);
	fprintf(c->out, "=index_table:%s\n", name);
	crashdump_number(c->out, "size", slots);
	crashdump_number(c->out, "limit", limit);
	crashdump_number(c->out, "entries", t.entries);
}

static void write_index_tables(struct crashdump *c)
{
	const struct beam_anchors *a = &c->n->anchors;
	int ix = code_index_active(c->n);
	raddr at = ix >= 0 ? (raddr)ix * (raddr)c->n->layout.index_table_size : 0;

	write_index_table(c, "atom_tab", a->atom_table);
	if (ix >= 0 && a->module_code)
		write_index_table(c, "module_code", a->module_code + at);
	if (ix >= 0 && a->export_table)
		write_index_table(c, "export_list", a->export_table + at);
}

void crashdump_vm(struct crashdump *c)
{
	write_head(c);
	write_schedulers(c);
	write_allocators(c);
	write_index_tables(c);
}
