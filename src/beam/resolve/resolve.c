/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * See resolve.h.  A stack is put together root first:
 *
 *   root part, [... N frames ...], leaf part     Erlang, from return addresses
 *   the function of the instruction pointer      Erlang, if it stood in JIT code
 *   the BIF or NIF                               if it stood in C code called from JIT code
 *   native frames up to the leaf, kernel frames
 */
#include "beam/resolve/resolve.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "abi/vm.h"
#include "base/compiler.h"
#include "base/log.h"
#include "beam/resolve/resolve_internal.h"
#include "beam/resolve/wait_kind.h"

static bool in_ranges(const struct beam_resolver *r, raddr addr)
{
	for (unsigned int i = 0; i < r->nr_ranges; i++) {
		if (addr >= r->ranges[i].start && addr < r->ranges[i].end)
			return true;
	}
	return false;
}

/* Pushes a frame for an address in JIT code that is in no known function. */
static void push_unknown(struct names *names, struct frame_list *l)
{
	l->unresolved = true;
	frame_push(l, frame_of_name(names, NULL, "[unknown]", -1, FRAME_RUNTIME));
}

/* A return address never points into a preamble: such a word is the MFA pointer of a trace frame
 * (beam_common.c).  The root frame is not shown; nor is what lies between two JIT mappings, which
 * is no return address. */
static bool is_shown(const struct beam_resolver *r, const struct cached_frame *f, raddr ra)
{
	return f ? !f->preamble && !f->root : in_ranges(r, ra - 1);
}

static void push_found(struct names *names, struct frame_list *l, const struct cached_frame *f)
{
	if (f)
		frame_push(l, f->frame);
	else
		push_unknown(names, l);
}

void push_return(struct beam_resolver *r, struct names *names, struct frame_list *l, raddr ra)
{
	const struct cached_frame *f = frame_of_jit(r, names, ra - 1);

	if (is_shown(r, f, ra))
		push_found(names, l, f);
}

/* How often a word of the leaf part repeats the one before it. */
static uint64_t repeats(uint64_t word)
{
	return word & RAW_REPEATED ? word & RAW_REPEATED_MAX : 0;
}

uint64_t raw_leaf_frames(const struct rec_raw_sample *raw)
{
	const uint64_t *leaf = raw->addrs + raw->nr_kernel;
	uint64_t nr = 0;

	for (unsigned int i = 0; i < raw->nr_leaf; i++)
		nr += leaf[i] & RAW_REPEATED ? repeats(leaf[i]) : 1;
	return nr;
}

/* Deep recursion is not shown frame by frame if that were more than a sample can have. */
static void push_leaf_part(struct beam_resolver *r, struct names *names, struct frame_list *l,
			   const struct rec_raw_sample *raw)
{
	const uint64_t *leaf = raw->addrs + raw->nr_kernel;
	bool all = raw_leaf_frames(raw) <= EBEAM_LEAF_FRAMES;

	uint64_t more = 0;

	for (unsigned int i = raw->nr_leaf; i-- > 0; more = repeats(leaf[i])) {
		const struct cached_frame *f;

		if (leaf[i] & RAW_REPEATED)
			continue;
		f = frame_of_jit(r, names, leaf[i] - 1);
		if (!is_shown(r, f, leaf[i]))
			continue;
		/* The frame comes last: next to one of C the number would count as one, too. */
		if (more > 1 && !all) {
			frame_push_repeated(names, l, more);
			more = 0;
		}
		for (uint64_t nr = more + 1; nr > 0; nr--)
			push_found(names, l, f);
	}
}

static void push_erlang(struct beam_resolver *r, struct names *names, struct frame_list *l,
			const struct rec_raw_sample *raw)
{
	const uint64_t *root = raw->addrs + raw->nr_kernel + raw->nr_leaf;

	for (unsigned int i = 0; i < raw->nr_root; i++)
		push_return(r, names, l, root[i]);
	frame_push_elided(names, l, raw);
	push_leaf_part(r, names, l, raw);
	if (raw->status == SAMPLE_STATUS_AMBIGUOUS && raw->place != PLACE_INTERPRETER)
		resolve_saved(r, names, l, raw);
}

static uint32_t top_frame(const struct frame_list *l)
{
	return l->out->nr_frames ? l->out->frames[l->out->nr_frames - 1] : 0;
}

/* Pushes the BIF or NIF; it replaces the frame of its own stub, if the call went through one. */
static void push_call(struct beam_resolver *r, struct names *names, struct frame_list *l,
		      const uint64_t mfa[3], enum frame_kind kind)
{
	if (frame_is_mfa(r, names, top_frame(l), mfa))
		l->out->nr_frames--;
	frame_push(l, frame_of_mfa(r, names, mfa, kind));
}

struct call_evidence {
	struct callsite_callee target;
	char fragment[64];
	char module[256], name[256];
	const char *entry; /* symbol of the C function that JIT code called */
};

static void copy_atom(struct beam_resolver *r, uint64_t term, char *buf, size_t size)
{
	size_t len;
	const char *text = beam_atom_text(r->node->atoms, term, &len);

	buf[0] = '\0';
	if (text)
		memcpy(buf, text, MIN(len, size - 1) + 1);
	buf[size - 1] = '\0';
}

static void push_c_call(struct beam_resolver *r, struct names *names, struct frame_list *l,
			const struct rec_raw_sample *raw, struct call_evidence *call)
{
	struct callsite_callee *t = &call->target;
	const struct cached_frame *caller;
	uint32_t entry;

	callsite_target(r->sites, raw->call_ra, l->saved_ra, raw->light_bif, raw->current_mfa, t);
	if (t->fragment) {
		size_t len = MIN(t->fragment_len, sizeof(call->fragment) - 1);

		memcpy(call->fragment, t->fragment, len);
		call->fragment[len] = '\0';
	}
	caller = frame_of_jit(r, names, raw->call_ra - 1);
	if (!caller)
		push_unknown(names, l);
	/* The frame of a fragment is left out if the BIF that it called is known. */
	else if (caller->kind != FRAME_RUNTIME || !t->mfa[0])
		frame_push(l, caller->frame);
	if (t->mfa[0]) {
		copy_atom(r, t->mfa[0], call->module, sizeof(call->module));
		copy_atom(r, t->mfa[1], call->name, sizeof(call->name));
		push_call(r, names, l, t->mfa, t->nif ? FRAME_NIF : FRAME_BIF);
	}
	/* Calls of neither a BIF, a NIF nor a GC keep the Erlang stack pointer in a register. */
	if (raw->stack_source == STACK_LAST && !t->mfa[0] &&
	    strcmp(call->fragment, "garbage_collect") != 0)
		l->status = SAMPLE_STATUS_AMBIGUOUS;
	if (t->function) {
		entry = frame_of_native(r, names, t->function, &call->entry);
		if (!t->mfa[0] && !r->native.nr)
			frame_push(l, entry);
	}
}

/* A dirty scheduler runs a NIF or BIF of this process: Process.current is its function
 * (erts_dirty_process_main() in beam_common.c sets it before the call). */
static void push_dirty_call(struct beam_resolver *r, struct names *names, struct frame_list *l,
			    const struct rec_raw_sample *raw, struct call_evidence *call)
{
	const struct cached_frame *next = frame_of_jit(r, names, raw->saved_ra);
	const uint64_t *mfa = raw->current_mfa;
	bool nif;

	/* The function that the process left for the dirty scheduler, as for a GC: the
	 * garbage_collect fragment stores Process.i, see erts_garbage_collect(). */
	if (next && next->kind == FRAME_ERLANG && !next->preamble)
		frame_push(l, next->frame);
	if (!mfa[0] || (raw->process_state & PSFLG_GC))
		return;
	nif = !callsite_is_bif(r->sites, mfa);
	if (!frame_of_mfa(r, names, mfa, nif ? FRAME_NIF : FRAME_BIF))
		return;
	copy_atom(r, mfa[0], call->module, sizeof(call->module));
	copy_atom(r, mfa[1], call->name, sizeof(call->name));
	call->target.nif = nif;
	push_call(r, names, l, mfa, nif ? FRAME_NIF : FRAME_BIF);
}

static bool is_dirty(enum thread_type t)
{
	return t == THREAD_DIRTY_CPU || t == THREAD_DIRTY_IO;
}

static void push_top(struct beam_resolver *r, struct names *names, struct frame_list *l,
		     const struct rec_raw_sample *raw, enum thread_type thread,
		     struct call_evidence *call)
{
	const struct cached_frame *f;

	switch ((enum code_place)raw->place) {
	case PLACE_JIT:
	case PLACE_JIT_RUNTIME:
		f = frame_of_jit(r, names, raw->user_ip);
		if (f)
			frame_push(l, f->frame);
		else
			push_unknown(names, l);
		break;
	case PLACE_C_FROM_JIT:
		push_c_call(r, names, l, raw, call);
		break;
	case PLACE_C_PROCESS:
		if (is_dirty(thread))
			push_dirty_call(r, names, l, raw, call);
		break;
	case PLACE_INTERPRETER:
	case PLACE_OTHER:
		break;
	}
}

static const char *state_name(enum sample_kind kind)
{
	static const char *const names[NR_SAMPLE_KINDS] = {
		[SAMPLE_GC] = "[gc]",
		[SAMPLE_PORT] = "[port]",
		[SAMPLE_TIMER] = "[timers]",
		[SAMPLE_POLL] = "[poll]",
		[SAMPLE_WAIT] = "[wait]",
		[SAMPLE_OTHER] = "[thread]",
		[SAMPLE_ETS] = "[ets]",
		[SAMPLE_COPY] = "[messages]",
		[SAMPLE_CODE] = "[code]",
		[SAMPLE_SCHEDULER] = "[scheduler]",
		[SAMPLE_TASK] = "[system tasks]",
		[SAMPLE_LITERAL_GC] = "[literal gc]",
		[SAMPLE_FULL_GC] = "[gc]",
		[SAMPLE_LOCK] = "[locks]",
		[SAMPLE_ALLOC] = "[allocators]",
	};

	return names[kind] ? names[kind] : "[scheduler]";
}

/* Names of the kernel frames, leaf first, to determine the kind. */
static unsigned int kernel_names(struct beam_resolver *r, const struct rec_raw_sample *raw,
				 const char **out)
{
	unsigned int nr = 0;

	for (unsigned int i = 0; i < raw->nr_kernel; i++) {
		const char *name = kernel_name(r, raw->addrs[i]);

		if (name)
			out[nr++] = name;
	}
	return nr;
}

/* False: a time off a CPU of which only its length and its process are known. */
static bool was_copied(const struct rec_raw_sample *raw)
{
	return !(raw->flags & RAW_SAMPLE_OFF_CPU) || raw->flags & RAW_SAMPLE_REGS;
}

static enum sample_status final_status(const struct rec_raw_sample *raw, const struct frame_list *l,
				       enum thread_type thread)
{
	if (!was_copied(raw))
		return raw->status;
	if (raw->thread_type == THREAD_UNKNOWN)
		return thread == THREAD_OTHER ? SAMPLE_STATUS_COMPLETE
					      : SAMPLE_STATUS_UNKNOWN_THREAD;
	if (l->status == SAMPLE_STATUS_COMPLETE && l->unresolved)
		return SAMPLE_STATUS_UNRESOLVED;
	return l->status;
}

static bool raw_is_sane(const struct rec_raw_sample *raw)
{
	uint64_t nr = (uint64_t)raw->nr_kernel + raw->nr_leaf + raw->nr_root;

	return raw->nr_kernel <= EBEAM_KERNEL_FRAMES && raw->nr_leaf <= EBEAM_LEAF_FRAMES &&
	       raw->nr_root <= EBEAM_ROOT_FRAMES && raw->status < NR_SAMPLE_STATUSES &&
	       raw->place <= PLACE_INTERPRETER && raw->thread_type <= THREAD_OTHER &&
	       raw->h.size >= sizeof(*raw) + 8 * nr;
}

/* Index of the first kernel frame that is shown: as a thread leaves its CPU, the program that
 * copies it, the tracepoint and the functions that switch are the same for all. */
static unsigned int first_kernel_frame(struct beam_resolver *r, const struct rec_raw_sample *raw)
{
	unsigned int first = 0;

	for (unsigned int i = 0; raw->flags & RAW_SAMPLE_OFF_CPU && i < raw->nr_kernel; i++) {
		const char *name = kernel_name(r, raw->addrs[i]);

		if (name && (strncmp(name, "schedule", 8) == 0 || strcmp(name, "__schedule") == 0 ||
			     strncmp(name, "preempt_schedule", 16) == 0))
			first = i + 1;
	}
	return first;
}

static bool can_have_cstack(const struct rec_raw_sample *raw)
{
	return raw->flags & RAW_SAMPLE_REGS && !(raw->flags & RAW_SAMPLE_EVENT);
}

static int resolve_sample(struct resolver *base, struct names *names,
			  const struct rec_raw_sample *raw, struct resolved_sample *out)
{
	struct beam_resolver *r = CONTAINER_OF(base, struct beam_resolver, base);
	struct frame_list l = {.out = out};
	struct call_evidence call = {0};
	const char *kernel[EBEAM_KERNEL_FRAMES], *native = NULL;
	const struct known_thread *thread;
	struct kind_evidence evidence;
	enum sample_kind task;
	uint32_t leaf = 0;

	if (!raw_is_sane(raw))
		return -EINVAL;
	out->nr_frames = 0;
	l.status = raw->status;
	l.saved_ra = raw->saved_ra;
	unwind_native(r, raw);
	name_native(r, names, raw->process != 0);
	thread = thread_of_tid(r, names, (int)raw->os_tid, raw->thread_type, raw->scheduler);
	out->thread = thread->id;
	out->process = raw->epid ? process_of_epid(r, names, raw->epid) : 0;
	if (raw->process)
		push_erlang(r, names, &l, raw);
	task = kind_of_task(raw, thread->type);
	if (task != NR_SAMPLE_KINDS)
		frame_push(&l, frame_of_name(names, NULL, state_name(task), -1, FRAME_STATE));
	else
		push_top(r, names, &l, raw, thread->type, &call);
	if (!r->native.nr && raw->user_ip && raw->place != PLACE_JIT &&
	    raw->place != PLACE_JIT_RUNTIME)
		leaf = frame_of_native(r, names, raw->user_ip, &native);
	if (!r->native.nr)
		native_kinds_add(&r->native.kinds, native);
	evidence = (struct kind_evidence){
		.raw = raw,
		.thread = thread->type,
		.bif_module = call.module[0] ? call.module : NULL,
		.bif_name = call.name,
		.nif = call.target.nif,
		.fragment = call.fragment[0] ? call.fragment : NULL,
		.native = r->native.kinds,
		.entry = call.entry,
		.kernel = kernel,
		.nr_kernel = kernel_names(r, raw, kernel),
	};
	out->kind = raw->flags & RAW_SAMPLE_OFF_CPU ? kind_of_wait(&evidence)
						    : kind_of_sample(&evidence);
	if (out->nr_frames == 0)
		frame_push(&l, frame_of_name(names, NULL,
					     was_copied(raw) ? state_name(out->kind)
							     : "[stack not copied]",
					     -1, FRAME_STATE));
	/* If the leaf is the C function that JIT code called, it was pushed already. */
	if (r->native.nr || (can_have_cstack(raw) && leaf && leaf != top_frame(&l)))
		push_native(r, names, &l);
	if (!r->native.nr && leaf && leaf != top_frame(&l))
		frame_push(&l, leaf);
	for (unsigned int i = raw->nr_kernel; i-- > first_kernel_frame(r, raw);)
		frame_push(&l, frame_of_kernel(r, names, raw->addrs[i]));
	if (raw->lock)
		resolve_lock(r, names, &l, raw, &evidence.native);
	out->status = final_status(raw, &l, thread->type);
	forget_native(r);
	return 0;
}

/* If new code is in a mapping that the BPF programs do not have, they must get the ranges again. */
static void check_range(struct beam_resolver *r, raddr entry)
{
	struct address_range code;

	if (jit_module_of(r->jit, entry, &code) && !in_ranges(r, code.start))
		r->ranges_changed = true;
}

static void resolve_code(struct resolver *base, const struct rec_raw_code *raw)
{
	struct beam_resolver *r = CONTAINER_OF(base, struct beam_resolver, base);

	if (raw->h.size < sizeof(*raw) || raw->copied > raw->h.size - sizeof(*raw))
		return;
	if (raw->action == CODE_LOADED) {
		jit_loaded(r->jit, raw->entry, raw->record, raw->record_size, raw->bytes,
			   raw->copied);
		check_range(r, raw->entry);
	} else {
		jit_unloaded(r->jit, raw->entry);
	}
	callsites_forget(r->sites);
}

int beam_resolver_open(struct beam_resolver **out, struct beam_node *n, struct error *err)
{
	struct beam_resolver *r = xcalloc(1, sizeof(*r));
	int rc;

	*out = NULL;
	r->node = n;
	r->base.sample = resolve_sample;
	r->base.process = resolve_process_record;
	r->base.code = resolve_code;
	r->base.cstack = resolve_cstack;
	r->base.gap = resolve_gap;
	r->base.event = resolve_event;
	r->base.call = resolve_call;
	r->recent = r->older = (struct keytab)KEYTAB_INIT(struct known_process);
	jit_open_node(&r->jit, n);
	r->sites = callsites_open(n, r->jit);
	unwinder_open(&r->unwinder, n->objects);
	r->locks = lock_places_open(n);
	rc = id_format_read(&r->pids, n->mem, &n->layout, n->anchors.proc_tab, n->identity.otp);
	if (rc == 0 && n->anchors.port_tab)
		rc = id_format_read(&r->ports, n->mem, &n->layout, n->anchors.port_tab,
				    n->identity.otp);
	if (rc) {
		beam_resolver_close(r);
		return error_set(err, ERROR_KIND_FAILED, rc, "cannot read the process table: %s",
				 error_text(rc));
	}
	*out = r;
	return 0;
}

void beam_resolver_close(struct beam_resolver *r)
{
	if (!r)
		return;
	unwinder_close(r->unwinder);
	lock_places_close(r->locks);
	callsites_close(r->sites);
	jit_close(r->jit);
	kallsyms_close(r->kernel);
	keytab_free(&r->recent);
	keytab_free(&r->older);
	vec_free(&r->threads);
	free(r);
}

struct resolver *beam_resolver(struct beam_resolver *r)
{
	return &r->base;
}

int beam_resolver_sync(struct beam_resolver *r, struct error *err)
{
	return jit_sync(r->jit, err);
}

const struct jit_code *beam_resolver_jit(const struct beam_resolver *r)
{
	return r->jit;
}

/* Adds a mapping to the list; joins adjacent ones. */
static void add_range(struct beam_resolver *r, const struct proc_map *m)
{
	for (unsigned int i = 0; i < r->nr_ranges; i++) {
		if (r->ranges[i].end == m->start) {
			r->ranges[i].end = m->end;
			return;
		}
	}
	if (r->nr_ranges < EBEAM_JIT_RANGES)
		r->ranges[r->nr_ranges++] = (struct address_range){m->start, m->end};
	else if (m->end > r->ranges[EBEAM_JIT_RANGES - 1].end)
		r->ranges[EBEAM_JIT_RANGES - 1].end = m->end;
}

unsigned int beam_resolver_code_ranges(struct beam_resolver *r, struct address_range *ranges,
				       unsigned int max, struct address_range *fragments)
{
	size_t nr = jit_modules(r->jit);
	const struct proc_maps *maps;
	struct error ignored;

	objects_refresh(r->node->objects, &ignored);
	maps = objects_maps(r->node->objects);
	r->nr_ranges = 0;
	r->ranges_changed = false;
	for (size_t i = 0; i < nr; i++) {
		struct address_range code;
		const struct proc_map *m;

		if (!jit_module_at(r->jit, i, &code) || in_ranges(r, code.start))
			continue;
		m = proc_maps_find(maps, code.start);
		if (m && (m->x || !r->node->identity.jit))
			add_range(r, m);
	}
	*fragments = jit_fragments(r->jit);
	memcpy(ranges, r->ranges, MIN(max, r->nr_ranges) * sizeof(*ranges));
	return MIN(max, r->nr_ranges);
}

bool beam_resolver_ranges_changed(struct beam_resolver *r)
{
	return r->ranges_changed;
}
