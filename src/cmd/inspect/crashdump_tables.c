/* SPDX-License-Identifier: BSD-2-Clause */
/* `ebeam crashdump`: ports, ETS tables, timers, other nodes, modules, atoms. */
#include <inttypes.h>
#include <string.h>

#include "abi/vm.h"
#include "base/compiler.h"
#include "beam/code/funs.h"
#include "beam/code/modules.h"
#include "beam/process/timers.h"
#include "beam/term/atoms.h"
#include "beam/vm/dist.h"
#include "beam/vm/ets.h"
#include "beam/vm/persistent_terms.h"
#include "beam/vm/ports.h"
#include "cmd/inspect/crashdump.h"
#include "names/names.h"
#include "names/secrets.h"

/* ---- ports ----------------------------------------------------------------------------------- */

static const char *print_refs(struct crashdump *c, struct strbuf *out, const struct port_list *l,
			      const struct port_refs *refs, bool in_brackets)
{
	size_t from = out->len;

	for (size_t i = refs->first; i < refs->first + refs->len; i++) {
		if (in_brackets)
			strbuf_addch(out, '(');
		crashdump_print(c, out, l->terms.data[i]);
		if (in_brackets) /* the reference of a port's monitor is not read */
			strbuf_addstr(out, ",[])");
	}
	return out->len > from ? out->buf : NULL;
}

static const char *controls_of(const char *driver)
{
	static const char *const words[][2] = {
		{"fd", "Port is UNIX fd not opened by emulator"},
		{"vanilla", "Port is a file"},
		{"spawn", "Port controls external process"},
		{"spawn_forker", "Port controls forker process"},
	};

	for (size_t i = 0; i < ARRAY_SIZE(words); i++)
		if (strcmp(driver, words[i][0]) == 0)
			return words[i][1];
	return "Port controls linked-in driver";
}

static void write_port(struct crashdump *c, const struct port_list *l, const struct port_facts *p)
{
	struct strbuf texts[7];
	struct crashdump_port out = {
		.slot = p->slot,
		.controls = controls_of(p->driver),
		.input = p->bytes_in,
		.output = p->bytes_out,
		.queue = p->queue_size,
	};

	for (size_t i = 0; i < ARRAY_SIZE(texts); i++)
		strbuf_init(&texts[i]);
	crashdump_print(c, &texts[0], p->id);
	out.id = texts[0].buf;
	if (TERM_IS_PID(p->connected)) {
		crashdump_print(c, &texts[1], p->connected);
		out.connected = texts[1].buf;
	}
	if (p->registered) {
		crashdump_print(c, &texts[2], p->registered);
		out.name = texts[2].buf;
	}
	out.links = print_refs(c, &texts[3], l, &p->links, false);
	print_refs(c, &texts[4], l, &p->monitors, true);
	out.monitors = print_refs(c, &texts[4], l, &p->monitored_by, true);
	if (texts[4].len)
		out.monitors = texts[4].buf;
	out.suspended = print_refs(c, &texts[5], l, &p->suspended, false);
	names_format_text(&texts[6], p->name ? p->name : "", p->name ? strlen(p->name) : 0);
	if (c->reader.is_secret)
		c->reader.masked += secrets_mask_text(&texts[6], 0);
	out.program = texts[6].buf;
	crashdump_port_write(c->out, &out);
	for (size_t i = 0; i < ARRAY_SIZE(texts); i++)
		strbuf_free(&texts[i]);
}

static void write_ports(struct crashdump *c)
{
	struct port_list ports;

	if (!c->n->anchors.port_tab || ports_read(c->n, &ports, NULL) != 0) {
		crashdump_lacks(c, "ports");
		return;
	}
	for (size_t i = 0; i < ports.len; i++)
		write_port(c, &ports, &ports.data[i]);
	c->cut += ports.cut;
	c->torn += ports.torn;
	port_list_free(&ports);
}

/* ---- ETS tables ------------------------------------------------------------------------------ */

static void write_table(struct crashdump *c, const struct ets_table *t)
{
	static const char *const concurrency[] = {
		[ETS_WRITE_FALSE] = "false",
		[ETS_WRITE_TRUE] = "true",
		[ETS_WRITE_AUTO] = "auto",
		[ETS_WRITE_LOCKS] = "true",
	};
	struct strbuf owner = STRBUF_INIT, name = STRBUF_INIT;
	char id[64];
	struct crashdump_table out = {
		.slot = t->addr,
		.tree = t->store != ETS_STORE_HASH,
		.buckets = t->nr_buckets,
		.objects = t->size,
		.words = t->memory,
		.type = ets_type_name(t->type),
		.protection = ets_protection_name(t->protection),
		.write_concurrency = concurrency[t->write_concurrency],
		.compressed = t->compressed,
		.read_concurrency = t->read_concurrency,
		.fixed = t->fixed,
	};

	crashdump_print(c, &owner, t->owner);
	crashdump_print(c, &name, t->name);
	out.owner = owner.buf;
	out.name = name.buf;
	out.id = t->named ? name.buf : ets_id_format(t, id, sizeof(id));
	crashdump_table_write(c->out, &out);
	strbuf_free(&owner);
	strbuf_free(&name);
}

static void write_tables(struct crashdump *c)
{
	struct ets_list tables;

	if (!c->n->anchors.sched || ets_read(c->n, &tables, NULL) != 0) {
		crashdump_lacks(c, "ETS tables");
		return;
	}
	for (size_t i = 0; i < tables.len; i++)
		write_table(c, &tables.data[i]);
	c->torn += tables.torn;
	ets_list_free(&tables);
}

/* ---- timers ---------------------------------------------------------------------------------- */

static void write_timer(void *arg, const struct timer_any *t)
{
	struct crashdump *c = arg;
	struct strbuf *text = crashdump_text_of(c, CRASHDUMP_TEXT_PID);

	if (!t->to) {
		c->unreadable++;
		return;
	}
	crashdump_print(c, text, t->to);
	fprintf(c->out, "=timer:%s\n", text->buf);
	strbuf_reset(text);
	crashdump_print(c, text, t->message);
	fprintf(c->out, "Message: %s\nTime left: %" PRId64 "\n", text->buf, t->left);
}

/* ---- other nodes ----------------------------------------------------------------------------- */

static void write_other(struct crashdump *c, const struct dist_facts *d)
{
	struct strbuf *name = crashdump_text_of(c, CRASHDUMP_TEXT_NAME);
	struct strbuf *controller = crashdump_text_of(c, CRASHDUMP_TEXT_PID);
	struct crashdump_node out = {
		.section = d->type == DIST_VISIBLE  ? "visible_node"
			   : d->type == DIST_HIDDEN ? "hidden_node"
						    : "not_connected",
		.channel = d->name >> 6,
		.creation = d->type == DIST_NONE ? CRASHDUMP_UNKNOWN : d->creation,
	};

	if (d->type == DIST_THIS || !TERM_IS_ATOM(d->name))
		return;
	crashdump_print(c, name, d->name);
	out.name = name->buf;
	if (d->type != DIST_NONE && d->controller) {
		crashdump_print(c, controller, d->controller);
		out.controller = controller->buf;
	}
	crashdump_node_write(c->out, &out);
}

static void write_nodes(struct crashdump *c)
{
	struct strbuf *name = crashdump_text_of(c, CRASHDUMP_TEXT_NAME);
	struct dist_list dist;

	if (!c->n->anchors.dist_table || dist_read(c->n, &dist, NULL) != 0) {
		crashdump_lacks(c, "nodes");
		return;
	}
	names_format_atom(name, dist.name, strlen(dist.name));
	fprintf(c->out, "=node:%s\n", name->buf);
	if (!dist.alive)
		fputs("=no_distribution\n", c->out);
	for (size_t i = 0; i < dist.v.len; i++)
		write_other(c, &dist.v.data[i]);
	dist_list_free(&dist);
}

/* ---- modules --------------------------------------------------------------------------------- */

static void write_modules(struct crashdump *c)
{
	struct strbuf *name = crashdump_text_of(c, CRASHDUMP_TEXT_NAME);
	struct modules modules;
	uint64_t current = 0, old = 0;

	if (modules_read(&modules, c->n, NULL) != 0) {
		crashdump_lacks(c, "modules");
		return;
	}
	for (size_t i = 0; i < modules.v.len; i++) {
		current += modules.v.data[i].size;
		old += modules.v.data[i].old_size;
	}
	fprintf(c->out, "=loaded_modules\nCurrent code: %" PRIu64 "\nOld code: %" PRIu64 "\n",
		current, old);
	for (size_t i = 0; i < modules.v.len; i++) {
		const struct module *m = &modules.v.data[i];

		strbuf_reset(name);
		crashdump_print(c, name, m->name);
		fprintf(c->out, "=mod:%s\n", name->buf);
		crashdump_number(c->out, "Current size", m->size);
		if (m->old_code)
			crashdump_number(c->out, "Old size", m->old_size);
	}
	modules_free(&modules);
}

static void write_funs(struct crashdump *c)
{
	struct strbuf *name = crashdump_text_of(c, CRASHDUMP_TEXT_NAME);
	struct funs funs;

	if (funs_read(&funs, c->n) != 0) {
		crashdump_lacks(c, "funs");
		return;
	}
	for (size_t i = 0; i < funs.v.len; i++) {
		const struct fun *f = &funs.v.data[i];

		strbuf_reset(name);
		crashdump_print(c, name, f->module);
		fprintf(c->out,
			"=fun\nModule: %s\nUniq: %" PRId32 "\nIndex: %" PRId32
			"\nAddress: 0x%" PRIx64 "\nRefc: %" PRIu64 "\n",
			name->buf, f->uniq, f->index, f->address, f->references);
	}
	c->unreadable += funs.unreadable;
	funs_free(&funs);
}

void crashdump_tables(struct crashdump *c)
{
	uint64_t missed;

	write_ports(c);
	write_tables(c);
	missed = timers_each(c->n, write_timer, c);
	c->unreadable += missed;
	write_nodes(c);
	write_modules(c);
	write_funs(c);
}

/* ---- persistent terms ------------------------------------------------------------------------ */

void crashdump_persistent_terms(struct crashdump *c)
{
	struct persistent_terms terms;

	if (persistent_terms_read(&terms, c->n, NULL) != 0) {
		crashdump_lacks(c, "persistent terms");
		return;
	}
	fputs("=persistent_terms\n", c->out);
	term_dump_begin(&c->terms);
	for (size_t i = 0; i < terms.v.len; i++)
		term_dump_persistent(&c->terms, terms.v.data[i].key, terms.v.data[i].value);
	persistent_terms_free(&terms);
}

/* ---- atoms ----------------------------------------------------------------------------------- */

void crashdump_atoms(struct crashdump *c)
{
	struct strbuf *text = crashdump_text_of(c, CRASHDUMP_TEXT_NAME);
	int64_t nr = beam_atoms_count(c->n->atoms);

	fputs("=atoms\n", c->out);
	/* The one created last first: viewers count from the end. */
	while (nr-- > 0) {
		const char *name;
		size_t len;

		name = beam_atom_text(c->n->atoms, (uint64_t)nr << 6 | 0x0b, &len);
		strbuf_reset(text);
		if (name)
			names_format_atom(text, name, len);
		else
			strbuf_addstr(text, "'#Unreadable'");
		strbuf_addch(text, '\n');
		fwrite(text->buf, 1, text->len, c->out);
	}
}
