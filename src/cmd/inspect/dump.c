/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * `ebeam dump`: the stacks of all processes now, equal ones merged.
 *
 * Stacks are merged twice: as addresses, so that each address of the node's code is looked up
 * once, and then as functions and lines.
 */
#include "cmd/inspect/dump.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/compiler.h"
#include "base/log.h"
#include "base/units.h"
#include "beam/code/jit_name.h"
#include "beam/locate/node_open.h"
#include "beam/term/atoms.h"
#include "beam/term/pid.h"
#include "cmd/output/outfile.h"
#include "cmd/output/render.h"
#include "cmd/run/watch.h"

/* ---- frames ---------------------------------------------------------------------------------- */

/* The frame of an address; each address is looked up once. */
struct lookup {
	uint64_t addr;
	uint32_t frame; /* 0 = no function is known there */
	bool code;	/* is in code that the JIT has listed */
};

/* Stands for the `current` of a stack that could not be read. */
#define NOT_READ 1u

struct reading {
	struct dump *d;
	struct stack_groups raw; /* items are addresses: `current`, then the frames */
	VEC(struct lookup) lookups;
	struct idmap index;
	VEC(uint64_t) items; /* addresses of the stack that is being read */
	bool synced;	     /* the list of code was read again, for code loaded meanwhile */
};

static bool lookup_equal(const void *ctx, uint32_t id, const void *key)
{
	const struct reading *r = ctx;

	return r->lookups.data[id].addr == *(const uint64_t *)key;
}

static uint32_t intern(struct names *names, const char *s, size_t len)
{
	return names_intern_string(names, s, len, NULL);
}

static uint32_t intern_location(struct names *names, const struct stack_location *l)
{
	const struct jit_function *j = &l->function;
	struct strbuf module = STRBUF_INIT, name = STRBUF_INIT;
	uint32_t m = 0, f, file = 0;
	int32_t arity;

	if (jit_name_parse(j, &module, &name, &arity)) {
		m = intern(names, module.buf, module.len);
		f = intern(names, name.buf, name.len);
	} else {
		f = intern(names, j->name, j->name_len);
		arity = -1;
	}
	strbuf_free(&module);
	strbuf_free(&name);
	f = names_intern_function(names, m, f, arity, FRAME_ERLANG, NULL);
	if (j->file)
		file = intern(names, j->file, j->file_len);
	return names_intern_frame(names, f, file, file ? j->line : 0, NULL);
}

static struct lookup look_up(struct reading *r, uint64_t addr)
{
	uint32_t hash = hash_mix(0, addr), id = idmap_find(&r->index, hash, lookup_equal, r, &addr);
	struct stack_frame f = {.addr = addr};
	struct stack_location l;
	struct lookup new = {.addr = addr};

	if (id != IDMAP_NONE)
		return r->lookups.data[id];
	stack_frame_locate(&r->d->code, &f, &l);
	new.code = jit_serial(r->d->code.jit, addr) != 0;
	if (!new.code && !r->synced) { /* it may have been loaded after the list was read */
		r->synced = true;
		jit_sync(r->d->code.jit, NULL);
		stack_frame_locate(&r->d->code, &f, &l);
		new.code = jit_serial(r->d->code.jit, addr) != 0;
	}
	if (l.known)
		new.frame = intern_location(r->d->names, &l);
	idmap_add(&r->index, hash, (uint32_t)r->lookups.len);
	vec_push(&r->lookups, new);
	return new;
}

/* The function of Process.current, which is set when a process was scheduled out at the start of a
 * function, or is in no code of a module: in a BIF that has yielded (trapped), in a NIF on a dirty
 * scheduler, in erlang:hibernate/3. */
static uint32_t frame_of_current(struct reading *r, raddr current)
{
	struct beam_node *n = r->d->n;
	struct names *names = r->d->names;
	uint64_t mfa[3];
	size_t m_len, f_len;
	const char *m, *f;
	uint32_t id;

	if (!current || mem_read(n->mem, current, mfa, sizeof(mfa)) || mfa[2] > BEAM_MAX_ARITY)
		return 0;
	m = beam_atom_text(n->atoms, mfa[0], &m_len);
	f = beam_atom_text(n->atoms, mfa[1], &f_len);
	if (!m || !f)
		return 0;
	id = names_intern_function(names, intern(names, m, m_len), intern(names, f, f_len),
				   (int32_t)mfa[2], FRAME_ERLANG, NULL);
	return names_intern_frame(names, id, 0, 0, NULL);
}

static uint32_t frame_of_text(struct reading *r, const char *text)
{
	struct names *names = r->d->names;
	uint32_t f = names_intern_function(names, 0, intern(names, text, strlen(text)), -1,
					   FRAME_RUNTIME, NULL);

	return names_intern_frame(names, f, 0, 0, NULL);
}

/* The frame's function, without file and line. */
static uint32_t bare_frame(struct reading *r, uint32_t frame)
{
	struct names *names = r->d->names;

	return frame ? names_intern_frame(names, names_frame(names, frame)->function, 0, 0, NULL)
		     : 0;
}

/* Addresses of a merged stack -> frames in r->items. */
static void resolve(struct reading *r, const struct stack_group *g)
{
	const uint64_t *words = &r->raw.items.data[g->first];
	uint64_t current = g->nr ? frame_of_current(r, words[0]) : 0;

	r->items.len = 0;
	if (g->nr == 1 && words[0] == NOT_READ)
		current = frame_of_text(r, "[stack not read]");
	vec_push(&r->items, current);
	for (uint32_t i = 1; i < g->nr; i++) {
		struct lookup l = look_up(r, words[i]);
		uint32_t frame = l.frame;

		if (i == 1 && !current)
			r->items.data[0] = bare_frame(r, frame);
		if (!frame && i > 1 && !l.code) {
			frame = frame_of_text(r, "[unknown code]");
			r->d->unknown_frames += g->count;
		}
		if (frame)
			vec_push(&r->items, frame);
	}
}

/* ---- reading --------------------------------------------------------------------------------- */

/* Adds a process whose stack could not be read, mostly because it runs all the time: only its
 * status is shown. */
static void add_not_read(struct reading *r, size_t i)
{
	uint32_t what = (uint32_t)process_status_of(r->d->list.data[i].state);
	uint64_t word = NOT_READ;

	r->d->torn++;
	r->d->group_of[i] = stack_groups_add(&r->raw, what, &word, 1, (uint32_t)i);
}

static void visit(void *arg, size_t i, int rc, const struct process_stack *s)
{
	struct reading *r = arg;
	struct dump *d = r->d;
	uint32_t what, nr = 1;

	d->group_of[i] = DUMP_NO_GROUP;
	d->vanished += rc == -ESRCH;
	if (rc && rc != -ESRCH)
		add_not_read(r, i);
	if (rc)
		return;
	if (d->want_waits)
		waits_visit(&d->waits, (uint32_t)i, s);
	if (d->want_old)
		old_code_visit(&d->old, (uint32_t)i, s);
	what = (uint32_t)process_status_of(s->state) | (s->stale ? DUMP_STALE : 0);
	vec_reserve(&r->items, DUMP_MAX_FRAMES + 1u);
	r->items.data[0] = s->current;
	for (size_t k = 0; k < s->frames.len; k++) {
		const struct stack_frame *f = &s->frames.data[k];

		if (f->repeated)
			continue;
		if (nr > DUMP_MAX_FRAMES) {
			what |= DUMP_TRUNCATED;
			break;
		}
		r->items.data[nr++] = k ? f->addr - 1 : f->addr;
	}
	what |= s->cut ? DUMP_TRUNCATED : 0;
	d->stale += s->stale;
	d->cut += (what & DUMP_TRUNCATED) != 0;
	d->group_of[i] = stack_groups_add(&r->raw, what, r->items.data, nr, (uint32_t)i);
}

static void merge(struct reading *r)
{
	struct dump *d = r->d;
	uint32_t *group = xmalloc(sizeof(*group) * MAX(r->raw.groups.len, (size_t)1));

	for (size_t i = 0; i < r->raw.groups.len; i++) {
		const struct stack_group *g = &r->raw.groups.data[i];

		resolve(r, g);
		group[i] = stack_groups_merge(&d->groups, g, r->items.data, (uint32_t)r->items.len);
	}
	for (size_t i = 0; i < d->list.len; i++) {
		if (d->group_of[i] != DUMP_NO_GROUP)
			d->group_of[i] = group[d->group_of[i]];
	}
	d->order = stack_groups_order(&d->groups);
	free(group);
}

static int dump_read(struct dump *d, unsigned int what, struct error *err)
{
	struct reading r = {.d = d};
	int rc = processes_read(d->n, what, &d->list, err);

	if (rc)
		return rc;
	d->vanished = d->list.vanished;
	d->group_of = xmalloc(sizeof(*d->group_of) * MAX(d->list.len, (size_t)1));
	if (d->want_waits)
		waits_begin(&d->waits, d->n, &d->code, &d->list);
	process_stacks_each(d->n, &d->code, d->list.data, d->list.len, visit, &r);
	if (d->want_waits) {
		waits_end(&d->waits);
		dump_waits_remember(d);
	}
	merge(&r);
	stack_groups_free(&r.raw);
	vec_free(&r.lookups);
	vec_free(&r.items);
	idmap_free(&r.index);
	return 0;
}

static int dump_open(struct dump *d, const struct command_context *ctx, struct error *err)
{
	int rc;

	memset(d, 0, sizeof(*d));
	rc = target_open(&d->n, ctx, err);
	rc = rc ? rc : target_need(d->n, d->n->anchors.proc_tab, "process table", err);
	rc = rc ? rc : stack_code_open(&d->code, d->n, err);
	if (rc)
		return rc;
	rc = id_format_read(&d->pids, d->n->mem, &d->n->layout, d->n->anchors.proc_tab,
			    d->n->identity.otp);
	if (rc)
		return beam_node_unreadable(d->n, "process table", rc, err);
	d->names = names_open();
	return 0;
}

/* Frees the results of one reading. */
static void dump_forget(struct dump *d)
{
	waits_free(&d->waits);
	stack_groups_free(&d->groups);
	free(d->order);
	free(d->group_of);
	process_list_free(&d->list);
	d->order = d->group_of = NULL;
	memset(&d->waits, 0, sizeof(d->waits));
	memset(&d->groups, 0, sizeof(d->groups));
	d->vanished = d->torn = d->stale = d->cut = d->unknown_frames = 0;
}

static void dump_close(struct dump *d)
{
	dump_forget(d);
	old_code_free(&d->old);
	vec_free(&d->seen);
	names_close(d->names);
	stack_code_close(&d->code);
}

/* ---- used by the other files ----------------------------------------------------------------- */

uint32_t dump_depth(const struct stack_group *g)
{
	return g->nr ? g->nr - 1 : 0;
}

const struct name_frame *dump_frame(const struct dump *d, const struct stack_group *g, uint32_t i)
{
	return i < dump_depth(g)
		       ? names_frame(d->names, (uint32_t)d->groups.items.data[g->first + 1 + i])
		       : NULL;
}

const struct name_frame *dump_current(const struct dump *d, const struct stack_group *g)
{
	return g->nr ? names_frame(d->names, (uint32_t)d->groups.items.data[g->first]) : NULL;
}

bool dump_current_is_extra(const struct dump *d, const struct stack_group *g)
{
	const struct name_frame *current = dump_current(d, g), *top = dump_frame(d, g, 0);

	return current && (!top || top->function != current->function);
}

enum process_status dump_status(const struct stack_group *g)
{
	return (enum process_status)(g->what & DUMP_STATUS_MASK);
}

void dump_pid(const struct dump *d, uint32_t member, struct strbuf *out)
{
	char buf[64];

	strbuf_addstr(out, pid_format(&d->pids, d->list.data[member].epid, buf, sizeof(buf)));
}

/* ---- the command ----------------------------------------------------------------------------- */

static int write_reading(const struct dump *d, const struct command_context *ctx,
			 const struct render *r, FILE *f, struct error *err)
{
	int (*question)(const struct dump *, const struct command_context *, FILE *, bool,
			struct error *) = d->want_waits ? dump_waits
					  : d->want_old ? dump_old
							: dump_stacks;

	return question(d, ctx, f, r->text, err);
}

static int write_own(const struct dump *d, const struct command_context *ctx,
		     const struct render *r, struct error *err)
{
	struct outfile *o;
	int rc = render_open(&o, r, ctx->out, err);

	if (rc)
		return rc;
	rc = write_reading(d, ctx, r, outfile_file(o), err);
	if (rc) {
		outfile_abort(&o);
		return rc;
	}
	return outfile_commit(&o, err);
}

static int write_export(const struct dump *d, const struct command_context *ctx, struct render *r,
			struct error *err)
{
	struct snapshot_options options = render_snapshot_options(r, &ctx->opt, NULL);
	struct snapshot *s = NULL;
	char *stem;
	int rc = dump_snapshot(d, &options, &s, err);

	if (rc)
		return rc;
	stem = render_stem(snapshot_meta(s, "node") ? snapshot_meta(s, "node") : "node",
			   clock_realtime_ns());
	render_name(r, stem);
	rc = render_write(r, &ctx->opt, s, NULL, ctx->out, err);
	free(stem);
	snapshot_close(s);
	return rc;
}

static bool is_own(const struct render *r)
{
	return r->text || strcmp(r->format, "json") == 0;
}

static void warn(const struct dump *d)
{
	if (d->torn)
		log_warn("ebeam: %llu process%s %s: [stack not read]", (unsigned long long)d->torn,
			 d->torn == 1 ? "" : "es",
			 d->n->core ? "could not be read completely" : "ran whenever it was read");
	if (d->unknown_frames)
		log_warn("ebeam: %llu frames are in code that is not in the node's list of code: "
			 "[unknown code]",
			 (unsigned long long)d->unknown_frames);
	if (d->groups.overflows)
		log_warn("ebeam: too many different stacks: some are shown empty");
}

/* The answers of --waits and --old-code have no stacks: they cannot be exported. */
static int check_options(const struct options *opt, const struct render *r, struct error *err)
{
	static const char *const partners[] = {"watch", "duration"};
	const char *name = opt->waits ? "--waits" : opt->old_code ? "--old-code" : NULL;

	if (opt->waits && opt->old_code)
		return error_set(err, ERROR_KIND_USAGE, -EINVAL,
				 "--waits and --old-code are two questions: ask one at a time");
	if (name && !is_own(r))
		return error_set(err, ERROR_KIND_USAGE, -EINVAL,
				 "%s is text or JSON: it cannot be written as %s", name, r->format);
	for (int i = 0; i < 2; i++) {
		if (i ? opt->duration_ns && !opt->watch_ns : opt->watch_ns && !opt->waits)
			return error_set(err, ERROR_KIND_USAGE, -EINVAL, "--%s needs --%s",
					 partners[i], i ? "watch" : "waits");
	}
	if (opt->watch_ns && opt->core)
		return error_set(
			err, ERROR_KIND_USAGE, -EINVAL,
			"--watch cannot be combined with --core: a core file does not change");
	return 0;
}

/* ---- --watch --------------------------------------------------------------------------------- */

struct watching {
	struct dump *d;
	const struct command_context *ctx;
	const struct render *render;
	FILE *f;
};

static int read_again(void *arg, struct error *err)
{
	struct watching *w = arg;
	int rc;

	dump_forget(w->d);
	rc = dump_read(w->d, 0, err);
	if (rc == 0)
		warn(w->d);
	return rc;
}

static int write_again(void *arg, struct error *err)
{
	struct watching *w = arg;

	return write_reading(w->d, w->ctx, w->render, w->f, err);
}

static int watch_waits(struct dump *d, const struct command_context *ctx, const struct render *r,
		       struct error *err)
{
	struct watching watching = {d, ctx, r, NULL};
	struct watch w = {.node = d->n,
			  .opt = &ctx->opt,
			  .text = r->text,
			  .read = read_again,
			  .write = write_again,
			  .arg = &watching};
	struct outfile *o;
	int rc = render_open(&o, r, ctx->out, err);

	if (rc)
		return rc;
	w.out = watching.f = outfile_file(o);
	rc = watch_run(&w, err);
	if (rc) {
		outfile_abort(&o);
		return rc;
	}
	return outfile_commit(&o, err);
}

int cmd_dump(struct command_context *ctx, struct error *err)
{
	struct options opt = ctx->opt;
	struct render render;
	struct dump d;
	int rc;

	/* Text is the default of this command. */
	if (!opt.format && !opt.output && !opt.json)
		opt.format = "text";
	rc = render_choose(&render, ctx->command, &opt, err);
	if (rc)
		return rc;
	rc = check_options(&opt, &render, err);
	if (rc) {
		render_free(&render);
		return rc;
	}
	rc = dump_open(&d, ctx, err);
	d.want_waits = opt.waits;
	d.want_old = opt.old_code;
	if (!rc && d.want_old)
		rc = old_code_read(&d.old, d.n, err);
	if (!rc && opt.watch_ns) {
		rc = watch_waits(&d, ctx, &render, err);
		goto out;
	}
	rc = rc ? rc : dump_read(&d, is_own(&render) ? 0 : PROCESS_READ_DICTIONARY, err);
	if (!rc) {
		warn(&d);
		rc = is_own(&render) ? write_own(&d, ctx, &render, err)
				     : write_export(&d, ctx, &render, err);
	}
out:
	dump_close(&d);
	render_free(&render);
	if (!rc && opt.watch_ns) { /* the node may have exited: the answers are complete */
		beam_node_close(d.n);
		return 0;
	}
	return target_close(d.n, rc, err);
}
