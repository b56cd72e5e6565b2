/* SPDX-License-Identifier: BSD-2-Clause */
/* See crashdump_view.h.  break.c, erl_process.c, io.c, erl_db.c, dist.c, OTP 25 to 29. */
#include "view/inspect/crashdump_view.h"

#include <inttypes.h>
#include <string.h>

#include "base/compiler.h"

void crashdump_number(FILE *f, const char *name, uint64_t value)
{
	if (value != CRASHDUMP_UNKNOWN)
		fprintf(f, "%s: %" PRIu64 "\n", name, value);
}

void crashdump_text(FILE *f, const char *name, const char *value)
{
	if (value)
		fprintf(f, "%s: %s\n", name, value);
}

void crashdump_head_write(FILE *f, const struct crashdump_head *h)
{
	struct tm tm;
	char time[64] = "";

	if (localtime_r(&h->time, &tm))
		strftime(time, sizeof(time), "%a %b %e %H:%M:%S %Y", &tm);
	fprintf(f, "=erl_crash_dump:0.5\n%s\n", time);
	crashdump_text(f, "Slogan", h->slogan);
	crashdump_text(f, "System version", h->system_version);
	crashdump_text(f, "Taints", h->taints);
	crashdump_number(f, "Atoms", h->atoms);
}

void crashdump_allocator_write(FILE *f, const struct crashdump_allocator *a)
{
	fprintf(f, "=allocator:%s[%u]\noption e: true\n", a->type, a->instance);
	for (size_t i = 0; i < ARRAY_SIZE(a->kinds); i++) {
		const char *name = a->kinds[i].name;

		fprintf(f, "%s blocks: %" PRIu64 "\n", name, a->kinds[i].blocks);
		fprintf(f, "%s blocks size: %" PRIu64 "\n", name, a->kinds[i].blocks_size);
		fprintf(f, "%s carriers: %" PRIu64 "\n", name, a->kinds[i].carriers);
		fprintf(f, "%s carriers size: %" PRIu64 "\n", name, a->kinds[i].carriers_size);
	}
}

/* ---- Process.state --------------------------------------------------------------------------- */

static const char *const priorities[] = {"MAX", "HIGH", "NORMAL", "LOW"};

/* From bit 6 on: erl_process.h, OTP 24 to 29. */
static const char *const state_bits[] = {
	"IN_PRQ_MAX",
	"IN_PRQ_HIGH",
	"IN_PRQ_NORMAL",
	"IN_PRQ_LOW",
	"FREE",
	"EXITING",
	"MAYBE_SELF_SIGS",
	"ACTIVE",
	"IN_RUNQ",
	"RUNNING",
	"SUSPENDED",
	"GC",
	"SYS_TASKS",
	"SIG_IN_Q",
	"ACTIVE_SYS",
	"RUNNING_SYS",
	"PROXY",
	"DELAYED_SYS",
	"OFF_HEAP_MSGQ",
	"SIG_Q",
	"DIRTY_CPU_PROC",
	"DIRTY_IO_PROC",
	"DIRTY_ACTIVE_SYS",
	"DIRTY_RUNNING",
	"DIRTY_RUNNING_SYS",
};
#define STATE_FIRST_BIT 6
#define BIT_MESSAGES	12
#define BIT_OTHERS	19

static void write_state(FILE *f, const char *name, uint32_t state, bool new_signals)
{
	fprintf(f, "%s: ACT_PRIO_%s | USR_PRIO_%s | PRQ_PRIO_%s", name, priorities[state & 3],
		priorities[state >> 2 & 3], priorities[state >> 4 & 3]);
	for (unsigned int bit = STATE_FIRST_BIT; bit < 31; bit++) {
		if (!(state & 1u << bit))
			continue;
		fprintf(f, " | %s",
			new_signals && bit == BIT_MESSAGES ? "MSG_SIG_IN_Q"
			: new_signals && bit == BIT_OTHERS ? "NMSG_SIG_IN_Q"
							   : state_bits[bit - STATE_FIRST_BIT]);
	}
	fputc('\n', f);
}

static const char *state_word(const char *status)
{
	static const char *const words[][2] = {
		{"exiting", "Exiting"},	   {"garbage_collecting", "Garbing"},
		{"running", "Running"},	   {"suspended", "Suspended"},
		{"runnable", "Scheduled"}, {"waiting", "Waiting"},
	};

	for (size_t i = 0; i < ARRAY_SIZE(words); i++)
		if (strcmp(status, words[i][0]) == 0)
			return words[i][1];
	return "Undefined";
}

/* ---- schedulers ------------------------------------------------------------------------------ */

void crashdump_run_queue_write(FILE *f, const struct crashdump_run_queue *q)
{
	static const char *const names[] = {"Run Queue Max Length", "Run Queue High Length",
					    "Run Queue Normal Length", "Run Queue Low Length"};

	for (int i = 0; i < CRASHDUMP_PRIORITIES; i++)
		crashdump_number(f, names[i], q->length[i]);
	crashdump_number(f, "Run Queue Port Length", q->ports);
}

void crashdump_scheduler_write(FILE *f, const struct crashdump_scheduler *s)
{
	fprintf(f, "=%s:%u\n", s->section, s->number);
	if (strcmp(s->section, "scheduler") == 0)
		fprintf(f, "Current Port: %s\n", s->port ? s->port : "");
	if (s->queue)
		crashdump_run_queue_write(f, s->queue);
	fprintf(f, "Current Process: %s\n", s->process ? s->process : "");
	if (!s->process)
		return;
	write_state(f, "Current Process Internal State", s->state, s->new_signals);
	crashdump_text(f, "Current Process Program counter", s->counter);
}

/* ---- processes ------------------------------------------------------------------------------- */

void crashdump_process_write(FILE *f, const struct crashdump_process *p)
{
	fprintf(f, "=proc:%s\n", p->pid);
	crashdump_text(f, "State", state_word(p->status));
	crashdump_text(f, "Name", p->name);
	crashdump_text(f, "Spawned as", p->spawned_as);
	crashdump_text(f, p->running ? "Last scheduled in for" : "Current call", p->current);
	crashdump_text(f, "Spawned by", p->spawned_by);
	fprintf(f, "Message queue length: %" PRId64 "\n", p->messages);
	crashdump_number(f, "Number of heap fragments", p->fragments);
	crashdump_number(f, "Heap fragment data", p->fragments_size);
	if (*p->links)
		fprintf(f, "Link list: [%s]\n", p->links);
	crashdump_number(f, "Reductions", p->reductions);
	crashdump_number(f, "Stack+heap", p->heap);
	crashdump_number(f, "OldHeap", p->old_heap);
	crashdump_number(f, "Heap unused", p->heap_unused);
	crashdump_number(f, "OldHeap unused", p->old_heap_unused);
	crashdump_number(f, "BinVHeap", p->vheap);
	crashdump_number(f, "OldBinVHeap", p->old_vheap);
	crashdump_number(f, "BinVHeap unused", p->vheap_unused);
	crashdump_number(f, "OldBinVHeap unused", p->old_vheap_unused);
	crashdump_number(f, "Memory", p->memory);
	crashdump_text(f, "Program counter", p->counter);
	if (p->arity != CRASHDUMP_UNKNOWN)
		fprintf(f, "arity = %" PRIu64 "\n", p->arity);
	write_state(f, "Internal State", p->state, p->new_signals);
}

/* ---- ports, tables, nodes -------------------------------------------------------------------- */

void crashdump_port_write(FILE *f, const struct crashdump_port *p)
{
	fprintf(f, "=port:%s\n", p->id);
	crashdump_number(f, "Slot", p->slot);
	crashdump_text(f, "Connected", p->connected);
	crashdump_text(f, "Links", p->links);
	crashdump_text(f, "Monitors", p->monitors);
	crashdump_text(f, "Suspended", p->suspended);
	crashdump_text(f, "Registered as", p->name);
	crashdump_text(f, p->controls, p->program);
	crashdump_number(f, "Input", p->input);
	crashdump_number(f, "Output", p->output);
	crashdump_number(f, "Queue", p->queue);
}

static void write_bool(FILE *f, const char *name, bool is)
{
	crashdump_text(f, name, is ? "true" : "false");
}

void crashdump_table_write(FILE *f, const struct crashdump_table *t)
{
	fprintf(f, "=ets:%s\n", t->owner);
	crashdump_number(f, "Slot", t->slot);
	crashdump_text(f, "Table", t->id);
	crashdump_text(f, "Name", t->name);
	crashdump_number(f, t->tree ? "Ordered set (AVL tree), Elements" : "Buckets",
			 t->tree ? t->objects : t->buckets);
	/* How many deleted objects a fixed table keeps is not known. */
	if (!t->tree && !t->fixed)
		write_bool(f, "Fixed", false);
	crashdump_number(f, "Objects", t->objects);
	crashdump_number(f, "Words", t->words);
	crashdump_text(f, "Type", t->type);
	crashdump_text(f, "Protection", t->protection);
	write_bool(f, "Compressed", t->compressed);
	crashdump_text(f, "Write Concurrency", t->write_concurrency);
	write_bool(f, "Read Concurrency", t->read_concurrency);
}

void crashdump_node_write(FILE *f, const struct crashdump_node *n)
{
	fprintf(f, "=%s:%" PRIu64 "\n", n->section, n->channel);
	crashdump_text(f, "Name", n->name);
	crashdump_text(f, "Controller", n->controller);
	crashdump_number(f, "Creation", n->creation);
}
