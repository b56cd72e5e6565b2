/* SPDX-License-Identifier: BSD-2-Clause */
/* Holders of binaries that are no processes: tables, ports, literals; and NIF resources. */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/compiler.h"
#include "base/xalloc.h"
#include "beam/code/modules.h"
#include "beam/term/atoms.h"
#include "beam/vm/ets.h"
#include "beam/vm/ets_objects.h"
#include "beam/vm/literals.h"
#include "beam/vm/nif_resources.h"
#include "beam/vm/persistent_terms.h"
#include "beam/vm/ports.h"
#include "cmd/inspect/bin.h"

/* ---- tables and ports ------------------------------------------------------------------------ */

/* Bytes of a binary that were found to be used. */
static uint64_t used_of(void *arg, const struct off_heap_binary *binary, bool *is_garbage)
{
	const struct used_bytes *used = keytab_find(&((struct holding *)arg)->used, binary->addr);

	UNUSED(is_garbage);
	return used ? MIN(used->bytes, binary->size) : 0;
}

static void add_used(struct holding *h, raddr binary, uint64_t bytes)
{
	struct used_bytes *used;

	if (!binary)
		return;
	used = keytab_find(&h->used, binary);
	if (!used)
		used = keytab_add(&h->used, binary);
	used->bytes += MIN(bytes, UINT64_MAX - used->bytes);
}

static int by_address(const void *a, const void *b)
{
	raddr x = *(const raddr *)a, y = *(const raddr *)b;

	return x < y ? -1 : x > y;
}

static void take_object(void *arg, raddr first, const uint64_t *words, size_t nr)
{
	struct holding *h = arg;
	size_t before = h->binaries.places.len, places;
	struct binary_use *use;
	raddr *list;

	off_heap_add(h->b->node, h->cached, first, false, &h->binaries);
	places = h->binaries.places.len - before;
	if (!words)
		h->use_unknown |= places > 0;
	if (!words || !places)
		return;
	use = binary_use_new(h->b->node->identity.otp, h->binaries.places.data + before, places);
	binary_use_words(use, words, nr);
	list = xcalloc(places, sizeof(*list));
	for (size_t i = 0; i < places; i++)
		list[i] = h->binaries.places.data[before + i].binary;
	qsort(list, places, sizeof(*list), by_address);
	for (size_t i = 0; i < places; i++) {
		if (i == 0 || list[i] != list[i - 1])
			add_used(h, list[i], binary_use_of(use, list[i], UINT64_MAX));
	}
	free(list);
	binary_use_free(use);
}

static const char *keep_text(struct bin *b, const char *text, size_t len)
{
	struct process_strings *strings = &b->source.strings;

	return process_strings_get(strings, process_strings_add(strings, text, len))->text;
}

int bin_take_tables(struct bin *b, struct error *err)
{
	struct mem *cached = process_source_cache(&b->source);
	struct ets_list list = {0};
	int rc = ets_read(b->node, &list, err);

	for (size_t i = 0; !rc && i < list.len; i++) {
		const struct ets_table *t = &list.data[i];
		struct bin_row row = {.type = t->compressed ? "compressed table" : "table",
				      .torn = t->torn};
		const char *name;
		struct holding h;
		size_t len;

		mem_cached_forget(cached);
		holding_begin(&h, b);
		h.cached = cached;
		h.binaries.unaligned = t->compressed;
		rc = ets_off_heap_walk(b->node, t, take_object, &h, &b->torn_objects);
		ets_id_format(t, row.id, sizeof(row.id));
		name = beam_atom_text(b->node->atoms, t->name, &len);
		if (name)
			row.name = keep_text(b, name, len);
		if (holding_add_row(&h, &row, 0) && !h.use_unknown)
			holding_sum_use(&h, used_of, &h, &b->rows.data[b->rows.len - 1]);
		holding_end(&h);
	}
	ets_list_free(&list);
	return rc;
}

static void take_queued(void *arg, raddr binary, uint64_t used)
{
	struct holding *h = arg;

	vec_push(&h->binaries.binaries, ((struct off_heap_binary){.addr = binary, .here = 1}));
	h->binaries.references++;
	add_used(h, binary, used);
}

int bin_take_ports(struct bin *b, struct error *err)
{
	struct port_list list = {0};
	int rc = ports_read(b->node, &list, err);

	for (size_t i = 0; !rc && i < list.len; i++) {
		const struct port_facts *p = &list.data[i];
		struct bin_row row = {.type = "port", .torn = p->torn};
		struct holding h;

		if (!p->queue_size)
			continue;
		holding_begin(&h, b);
		row.torn |= !port_queue_walk(b->node, p->addr, take_queued, &h);
		snprintf(row.id, sizeof(row.id), "#Port<0.%" PRIu64 ">", p->number);
		if (p->name)
			row.name = keep_text(b, p->name, strlen(p->name));
		if (holding_add_row(&h, &row, 0))
			holding_sum_use(&h, used_of, &h, &b->rows.data[b->rows.len - 1]);
		holding_end(&h);
	}
	port_list_free(&list);
	return rc;
}

/* ---- literals -------------------------------------------------------------------------------- */

/* False: there is no row, as it refers to no binaries. */
static bool take_area(struct bin *b, raddr area, struct bin_row *row)
{
	struct literal_area a;
	struct binary_use *use;
	struct holding h;
	bool found = false;

	if (!literal_area_read(b->node, area, &a) || !a.off_heap)
		return false;
	holding_begin(&h, b);
	off_heap_add(b->node, b->node->mem, a.off_heap, false, &h.binaries);
	found = holding_add_row(&h, row, 0);
	if (found) {
		use = binary_use_new(b->node->identity.otp, h.binaries.places.data,
				     h.binaries.places.len);
		if (binary_use_area(use, b->node, a.start, a.end))
			holding_use(&h, use, &b->rows.data[b->rows.len - 1]);
		else
			binary_use_free(use);
	}
	holding_end(&h);
	return found;
}

static void take_module(struct bin *b, const struct module *m, raddr code, const char *type)
{
	struct bin_row row = {.type = type};
	size_t len;
	const char *name = beam_atom_text(b->node->atoms, m->name, &len);

	if (name)
		row.name = keep_text(b, name, len);
	if (code)
		take_area(b, literal_area_of_code(b->node, code), &row);
}

static void take_persistent(struct bin *b, const struct persistent_term *t)
{
	struct bin_row row = {.type = "persistent term"};
	struct strbuf key = STRBUF_INIT;

	if (take_area(b, t->area, &row)) {
		term_print(&b->source.reader, &key, t->key);
		b->rows.data[b->rows.len - 1].name = keep_text(b, key.buf, key.len);
	}
	strbuf_free(&key);
}

void bin_take_literals(struct bin *b)
{
	struct persistent_terms terms = {0};
	struct modules modules = {0};
	struct error ignored;

	b->no_literals = modules_read(&modules, b->node, &ignored) != 0;
	for (size_t i = 0; i < modules.v.len; i++) {
		take_module(b, &modules.v.data[i], modules.v.data[i].code, "literals");
		take_module(b, &modules.v.data[i], modules.v.data[i].old_start, "old literals");
	}
	modules_free(&modules);
	b->no_persistent = persistent_terms_read(&terms, b->node, &ignored) != 0;
	for (size_t i = 0; i < terms.v.len; i++)
		take_persistent(b, &terms.v.data[i]);
	persistent_terms_free(&terms);
}

/* ---- NIF resources --------------------------------------------------------------------------- */

struct resources {
	struct bin *b;
	struct keytab rows; /* struct row_of_type */
};

struct row_of_type {
	uint64_t text; /* the key: string id of "module:type", and 1 */
	uint32_t row;
};

static uint32_t find_row(struct resources *r, const struct nif_resource *resource)
{
	struct bin *b = r->b;
	struct process_strings *strings = &b->source.strings;
	struct bin_row row = {.type = "NIF resource",
			      .used = NAN,
			      .garbage = NAN,
			      .part = NAN,
			      .held = UINT64_MAX};
	struct strbuf text = STRBUF_INIT;
	struct row_of_type *of;
	const char *atom;
	uint32_t id;
	size_t len;

	if ((atom = beam_atom_text(b->node->atoms, resource->module, &len)))
		strbuf_add(&text, atom, len);
	strbuf_addch(&text, ':');
	if ((atom = beam_atom_text(b->node->atoms, resource->type, &len)))
		strbuf_add(&text, atom, len);
	id = process_strings_add(strings, text.buf, text.len);
	strbuf_free(&text);
	of = keytab_find(&r->rows, (uint64_t)id + 1);
	if (of)
		return of->row;
	of = keytab_add(&r->rows, (uint64_t)id + 1);
	of->row = (uint32_t)b->rows.len;
	row.name = process_strings_get(strings, id)->text;
	vec_push(&b->rows, row);
	vec_push(&b->pids, 0);
	return of->row;
}

static void take_resource(void *arg, const struct nif_resource *resource)
{
	struct resources *r = arg;
	const struct magic_ref *m = keytab_find(&r->b->magic, resource->addr);
	uint32_t at = find_row(r, resource);
	struct bin_row *row = &r->b->rows.data[at];

	row->binaries++;
	row->references += m->found;
	row->memory += resource->size;
	row->share += resource->size;
	row->largest = MAX(row->largest, resource->size);
	bin_count(r->b, at, resource->addr, resource->size, resource->refc, m->found);
}

void bin_take_resources(struct bin *b)
{
	struct resources r = {.b = b, .rows = KEYTAB_INIT(struct row_of_type)};
	raddr *addrs = xcalloc(b->magic.nr + 1, sizeof(*addrs));
	size_t nr = 0;

	for (const struct magic_ref *m = keytab_next(&b->magic, NULL); m;
	     m = keytab_next(&b->magic, m))
		addrs[nr++] = m->addr;
	nif_resources_read(b->node, addrs, nr, take_resource, &r);
	free(addrs);
	keytab_free(&r.rows);
}
