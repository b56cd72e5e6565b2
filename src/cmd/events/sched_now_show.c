/* SPDX-License-Identifier: BSD-2-Clause */
/* Makes the answer of `ebeam sched --now`: texts, thread progress, multi-scheduling blocks. */
#include <inttypes.h>
#include <string.h>

#include "abi/vm.h"
#include "base/compiler.h"
#include "beam/term/atoms.h"
#include "cmd/events/sched_now.h"
#include "cmd/output/envelope.h"
#include "cmd/output/render.h"
#include "cmd/run/target.h"
#include "model/stats/sched_use.h"

/* Rows show the last sample.  Time slices of at least this length that ended before it are listed
 * below them. */
#define LONGEST_NS 100000000u

/* ---- rows ------------------------------------------------------------------------------------ */

/* "idle", "process", ...; or why an idle scheduler must not run anything ("offline", "blocked"). */
static const char *doing_name(const struct now_view *v, const struct sched_one *one)
{
	const struct sched_sample *s = &one->now;
	bool normal = one->type == THREAD_NORMAL;

	static const char *const names[] = {
		[SCHED_DOING_NOTHING] = "idle",
		[SCHED_DOING_PROCESS] = "process",
		[SCHED_DOING_PORT] = "port",
		[SCHED_DOING_OTHER] = "other",
	};

	if (s->doing == SCHED_DOING_PROCESS && (s->state & PSFLG_GC))
		return "gc";
	if (s->doing == SCHED_DOING_NOTHING && v->block.blocked &&
	    (normal ? s->suspended : v->block.dirty))
		return "blocked";
	if (s->doing == SCHED_DOING_NOTHING && s->suspended)
		return "offline";
	return names[s->doing];
}

static const char *thread_of(const struct now_row *r)
{
	switch (r->last.state) {
	case 'R':
		return r->shown->runnable ? "runnable" : "on_cpu";
	case 'S':
	case 'I':
		return "sleeping";
	case 'D':
		return "uninterruptible";
	case 'T':
	case 't':
		return "stopped";
	case 'Z':
	case 'X':
		return "dead";
	default:
		return NULL;
	}
}

/* The name of the thread's system call: "read", or "syscall 999". */
static const char *syscall_of(struct now_view *v, const struct now_row *r)
{
	const char *name;
	char buf[40];
	bool fd;

	if (!r->stood || r->last.where != THREAD_IN_SYSCALL)
		return NULL;
	name = syscall_name(r->last.syscall, &fd);
	snprintf(buf, sizeof(buf), "syscall %" PRId64, r->last.syscall);
	return name ? name : arena_copy(&v->texts, buf);
}

static const char *pid_text(struct now_view *v, uint64_t epid)
{
	char buf[64];

	return arena_copy(&v->texts, pid_format(&v->pids, epid, buf, sizeof(buf)));
}

static const char *port_text(struct now_view *v, uint64_t port)
{
	char buf[64];

	return arena_copy(&v->texts, port_format(&v->ports, port, buf, sizeof(buf)));
}

static const char *atom_text(struct now_view *v, uint64_t atom)
{
	return atom ? arena_copy(&v->texts, beam_atom_text(v->node->atoms, atom, NULL)) : NULL;
}

static void add_longest(struct now_view *v, const struct now_row *r)
{
	const struct sched_sample *s = &r->one->now;
	uint64_t ns = r->longest.ns;

	if (!ns)
		return;
	r->shown->longest.ns = ns;
	r->shown->longest.pid = pid_text(v, r->longest.epid);
	r->shown->longest.name = atom_text(v, r->longest.registered);
	r->shown->longest.over =
		ns >= LONGEST_NS &&
		!(s->known && s->doing == SCHED_DOING_PROCESS && s->epid == r->longest.epid &&
		  v->last_ns - r->one->same_ns == ns);
}

static void add_lock(struct now_view *v, const struct now_row *r)
{
	struct sched_now_row *out = r->shown;
	char name[32] = "";

	if (!r->has_lock)
		return;
	out->lock.type = libc_lock_type_name(r->lock.type);
	out->lock.owner_tid = (uint32_t)r->lock.owner;
	out->lock.ended = r->lock.ended;
	for (size_t i = 0; r->lock.owner && i < v->nr; i++)
		if (v->rows[i].os_tid == r->lock.owner)
			out->lock.owner = v->rows[i].shown;
	if (r->lock.owner && v->a.live)
		proc_thread_name(v->node->os_pid, r->lock.owner, name, sizeof(name));
	out->lock.thread = *name ? arena_copy(&v->texts, name) : NULL;
}

static void fill_row(struct now_view *v, const struct now_row *r)
{
	static const char *const holds[][2] = {
		[PROGRESS_HOLDER_NONE] = {NULL, NULL},
		[PROGRESS_HOLDER_BEHIND] = {"behind", "has not come to confirm it"},
		[PROGRESS_HOLDER_LEADER] = {"leader", "leads it, and does not come to it"},
		[PROGRESS_HOLDER_ALONE] = {"alone", "does not come to it"},
	};
	const struct sched_sample *s = &r->one->now;
	enum progress_holder held =
		v->a.live ? sched_now_holds(v->now, r->one, v->first_ns) : PROGRESS_HOLDER_NONE;
	struct sched_now_row *out = r->shown;

	out->type = sched_type_name(r->one->type);
	out->number = r->one->number;
	out->doing = doing_name(v, r->one);
	out->rests = s->doing == SCHED_DOING_NOTHING;
	if (s->doing == SCHED_DOING_PROCESS && TERM_IS_PID(s->epid))
		out->pid = pid_text(v, s->epid);
	if (s->doing == SCHED_DOING_PROCESS)
		out->registered_name = atom_text(v, s->registered);
	if (s->doing == SCHED_DOING_PORT && v->has_ports && TERM_IS_PORT(s->port_id))
		out->port = port_text(v, s->port_id);
	out->run_queue = s->run_queue;
	out->os_tid = r->os_tid ? (uint32_t)r->os_tid : UINT32_MAX;
	out->thread_state = thread_of(r);
	out->syscall = syscall_of(v, r);
	out->wchan = r->stood ? r->last.wchan : NULL;
	out->holds_progress = holds[held][0];
	out->holds_how = holds[held][1];
	add_longest(v, r);
	add_lock(v, r);
}

/* ---- thread progress ------------------------------------------------------------------------- */

/* The kind of thread that the leader of thread progress waits for, as its data says; NULL = a
 * scheduler, or not known. */
static const char *other_holder(const struct now_view *v)
{
	size_t nr_normal = v->node->anchors.nr_sched;

	for (size_t i = 0; i < v->nr; i++) {
		const struct sched_sample *s = &v->rows[i].one->now;

		if (v->rows[i].one->type != THREAD_NORMAL || !s->known || !s->leader)
			continue;
		if (s->leader_unmanaged != -1)
			return "an unmanaged thread";
		if (s->leader_check == 0)
			return "the aux thread";
		if (s->leader_check > 0 && (size_t)s->leader_check > nr_normal)
			return "a poll thread";
	}
	return NULL;
}

static void add_progress(struct now_view *v)
{
	const struct sched_progress *p = sched_now_progress(v->now);
	struct sched_now_answer *a = &v->a;
	bool works = false, held = false;

	for (size_t i = 0; i < v->nr; i++) {
		const struct sched_one *one = v->rows[i].one;

		works |= one->type == THREAD_NORMAL && one->now.known &&
			 one->now.confirmed != PROGRESS_WAITING;
		held |= a->rows[i].holds_progress != NULL;
	}
	a->progress.value = p->known ? p->value : UINT64_MAX;
	a->progress.still_ns = UINT64_MAX;
	if (!a->live)
		return;
	if (p->known && p->moves) {
		a->progress.state = PROGRESS_MOVES;
	} else if (held) {
		a->progress.state = PROGRESS_STILL;
	} else if (!works) {
		a->progress.state = PROGRESS_NOT_NEEDED;
	} else if (p->known) {
		a->progress.state = PROGRESS_STILL;
		a->progress.waits_for = other_holder(v);
	}
	if (p->known && a->progress.state == PROGRESS_STILL && v->last_ns > p->same_ns)
		a->progress.still_ns = v->last_ns - p->same_ns;
	else if (held && v->last_ns > v->first_ns)
		a->progress.still_ns = v->last_ns - v->first_ns;
}

/* ---- the answer ------------------------------------------------------------------------------ */

int sched_now_show(struct command_context *ctx, struct now_view *v, const struct table_options *o,
		   struct error *err)
{
	const char *blockers[SCHED_BLOCKERS_MAX];
	struct sched_now_answer *a = &v->a;
	struct jsonw w = JSONW(ctx->out);

	a->duration_ns = v->last_ns - v->first_ns;
	a->all_frames = !render_width(ctx->out);
	for (size_t i = 0; i < v->nr; i++)
		fill_row(v, &v->rows[i]);
	add_progress(v);
	a->block.blocked = v->block.blocked;
	a->block.dirty = v->block.dirty;
	a->block.nr = v->block.nr;
	a->block.nr_pids = MIN(v->block.nr, SCHED_BLOCKERS_MAX);
	a->block.pids = blockers;
	for (unsigned int i = 0; i < a->block.nr_pids; i++)
		blockers[i] = pid_text(v, v->block.epid[i]);
	if (!ctx->opt.json)
		return sched_now_view_write(ctx->out, a, o, err);
	target_json_begin(&w, ctx, v->node);
	sched_now_view_json(&w, a, o);
	return envelope_end(&w, NULL, 0, NULL, 0, err);
}
