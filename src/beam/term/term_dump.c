/* SPDX-License-Identifier: BSD-2-Clause */
/* See term_dump.h. */
#include "beam/term/term_dump.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "abi/vm.h"
#include "base/compiler.h"
#include "beam/node/node.h"
#include "beam/term/term_dump_internal.h"
#include "names/secrets.h"
#include "target/objects.h"

/* Elements of a persistent term's key that may name a secret. */
#define KEY_ELEMENTS 8u
/* Elements of a tuple that are read at once. */
#define ELEMENTS 256

/* An entry of `todo` is a term, or, with these tag bits, which no list or boxed term has, the index
 * of an object that the path leaves. */
#define LEAVE	     3ull
#define IS_LEAVE(t)  (((t)&3) == LEAVE)
#define LEAVE_OF(id) ((uint64_t)(id) << 2 | LEAVE)
/* A tuple's arity is written even if the tuple is a mark. */
#define MARK_ARITY "t2:"

/* ---- sets ------------------------------------------------------------------------------------ */

static bool same_address(const void *ctx, uint32_t id, const void *key)
{
	const struct term_dump_set *s = ctx;

	return (s->items.data[id] & ~TERM_DUMP_FLAG) == *(const raddr *)key;
}

static uint32_t find(const struct term_dump_set *s, raddr at)
{
	return idmap_find(&s->index, hash_mix(0, at), same_address, s, &at);
}

bool term_dump_add(struct term_dump_set *s, raddr at, uint32_t *id)
{
	*id = find(s, at);
	if (*id != IDMAP_NONE)
		return false;
	*id = (uint32_t)s->items.len;
	idmap_add(&s->index, hash_mix(0, at), *id);
	vec_push(&s->items, at);
	return true;
}

static void empty(struct term_dump_set *s)
{
	s->items.len = 0;
	idmap_free(&s->index);
}

static void free_set(struct term_dump_set *s)
{
	vec_free(&s->items);
	idmap_free(&s->index);
}

/* ---- text ------------------------------------------------------------------------------------ */

void term_dump_hex(struct strbuf *out, uint64_t n)
{
	static const char digits[] = "0123456789ABCDEF";
	char buf[16], *at = buf + sizeof(buf);

	do {
		*--at = digits[n & 15];
		n >>= 4;
	} while (n);
	strbuf_add(out, at, (size_t)(buf + sizeof(buf) - at));
}

void term_dump_base64(struct strbuf *out, const void *bytes, size_t size)
{
	static const char digits[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
	const uint8_t *in = bytes;
	char *to;

	strbuf_grow(out, (size + 2) / 3 * 4);
	to = out->buf + out->len;
	for (size_t i = 0; i < size; i += 3) {
		uint32_t b = (uint32_t)in[i] << 16 | (i + 1 < size ? (uint32_t)in[i + 1] << 8 : 0) |
			     (i + 2 < size ? in[i + 2] : 0);

		*to++ = digits[b >> 18];
		*to++ = digits[b >> 12 & 63];
		*to++ = i + 1 < size ? digits[b >> 6 & 63] : '=';
		*to++ = i + 2 < size ? digits[b & 63] : '=';
	}
	out->len = (size_t)(to - out->buf);
	out->buf[out->len] = '\0';
}

void term_dump_name(struct strbuf *out, const char *name, size_t len)
{
	strbuf_addch(out, 'A');
	term_dump_hex(out, len);
	strbuf_addch(out, ':');
	strbuf_add(out, name, len);
}

static void add_mark(struct strbuf *out, const char *name, raddr at)
{
	strbuf_addstr(out, MARK_ARITY);
	term_dump_name(out, name, strlen(name));
	strbuf_addf(out, ",I%" PRIu64, at);
}

/* ---- elements -------------------------------------------------------------------------------- */

bool term_dump_spend(struct term_dump *d, uint64_t bytes)
{
	if (bytes > d->left) {
		d->cut++;
		return false;
	}
	d->left -= bytes;
	return true;
}

/* The end of the process's memory that an address is in; 0: it is not in any. */
static raddr own_end(const struct term_dump *d, raddr at)
{
	size_t low = 0, high = d->own.len;

	while (low < high) {
		size_t mid = (low + high) / 2;
		const struct term_dump_range *o = &d->own.data[mid];

		if (at >= o->from && at < o->to)
			return o->to;
		if (at < o->from)
			high = mid;
		else
			low = mid + 1;
	}
	return 0;
}

static void add_pointer(struct term_dump *d, struct strbuf *out, uint64_t term)
{
	raddr at = TERM_ADDR(term);
	uint32_t id;

	if (!d->outside && !own_end(d, at)) {
		/* The two low bits, list or boxed, are kept beside the address. */
		if (d->literals.items.len >= TERM_DUMP_OBJECTS_MAX) {
			d->cut++;
			term_dump_name(out, "#Cut", 4);
			return;
		}
		term_dump_add(&d->literals, (term & ~4ull) << 1, &id);
	} else {
		id = find(&d->seen, at);
		if (id != IDMAP_NONE && (d->seen.items.data[id] & TERM_DUMP_FLAG)) {
			d->cyclic++;
			term_dump_name(out, "#Cyclic", 7);
			return;
		}
		if (id == IDMAP_NONE && d->seen.items.len >= d->max_objects) {
			d->cut++;
			term_dump_name(out, "#Cut", 4);
			return;
		}
		if (id == IDMAP_NONE)
			vec_push(&d->todo, term & ~4ull);
	}
	strbuf_addch(out, 'H');
	term_dump_hex(out, at);
}

static void add_atom(struct term_dump *d, struct strbuf *out, uint64_t term)
{
	const char *name;
	uint32_t id;
	size_t len;

	name = beam_atom_text(d->r->atoms, term, &len);
	if (!name) {
		d->unreadable++;
		term_dump_name(out, "#Unreadable", 11);
	} else if (memchr(name, '\n', len) || memchr(name, '\r', len) ||
		   (d->in_pair && memchr(name, '|', len))) {
		/* It would break the line: its own number stands for an address, with a line in
		 * =literals. */
		term_dump_add(&d->literals, term << 1, &id);
		strbuf_addch(out, 'H');
		term_dump_hex(out, term);
	} else {
		term_dump_name(out, name, len);
	}
}

void term_dump_inline(struct term_dump *d, struct strbuf *out, uint64_t term)
{
	char buf[64];

	if (TERM_IS_POINTER(term)) {
		add_pointer(d, out, term);
	} else if (TERM_IS_ATOM(term)) {
		add_atom(d, out, term);
	} else if (TERM_IS_SMALL(term)) {
		strbuf_addf(out, "I%" PRId64, TERM_SMALL(term));
	} else if (term == TERM_NIL) {
		strbuf_addch(out, 'N');
	} else if (TERM_IS_PID(term)) {
		strbuf_addch(out, 'P');
		strbuf_addstr(out, pid_format(d->r->pids, term, buf, sizeof(buf)));
	} else if (TERM_IS_PORT(term)) {
		strbuf_addch(out, 'p');
		/* Without the "#Port" before <0.5>. */
		port_format(d->r->ports, term, buf, sizeof(buf));
		strbuf_addstr(out, strchr(buf, '<') ? strchr(buf, '<') : "<0.0>");
	} else {
		d->unreadable++;
		term_dump_name(out, "#Unreadable", 11);
	}
}

void term_dump_element(struct term_dump *d, uint64_t term)
{
	strbuf_reset(&d->line);
	term_dump_inline(d, &d->line, term);
	fwrite(d->line.buf, 1, d->line.len, d->out);
}

/* ---- objects --------------------------------------------------------------------------------- */

static void add_big(struct term_dump *d, struct strbuf *out, const struct term_view *v)
{
	bool leading = true;

	strbuf_addstr(out, v->big.negative ? "B-16#" : "B16#");
	for (uint64_t i = v->big.nr_digits; i-- > 0;) {
		uint64_t digit = 0;

		if (!term_word(d->r, v->big.digits + 8 * i, &digit))
			d->unreadable++;
		if (!leading)
			strbuf_addf(out, "%016" PRIX64, digit);
		else if (digit || i == 0)
			term_dump_hex(out, digit);
		leading &= digit == 0;
	}
}

static void add_float(struct strbuf *out, const struct term_view *v)
{
	char buf[40];
	int len = snprintf(buf, sizeof(buf), "%.20e", v->real);

	if (!isfinite(v->real)) {
		add_mark(out, "#Unreadable", v->addr);
		return;
	}
	strbuf_addch(out, 'F');
	term_dump_hex(out, (uint64_t)len);
	strbuf_addf(out, ":%s", buf);
}

static void add_tuple(struct term_dump *d, struct strbuf *out, const struct term_view *v)
{
	uint64_t elements[ELEMENTS], arity = v->tuple.arity, nr = 0, first = TERM_NIL;
	bool secret = false;

	strbuf_addch(out, 't');
	term_dump_hex(out, arity);
	strbuf_addch(out, ':');
	for (uint64_t i = 0; i < arity; i++) {
		if (i % ELEMENTS == 0) {
			nr = MIN(arity - i, (uint64_t)ELEMENTS);
			if (!term_bytes(d->r, v->tuple.elements + 8 * i, elements, 8 * nr)) {
				d->unreadable++;
				memset(elements, 0, sizeof(elements));
			}
		}
		if (i == 0) {
			first = elements[0];
			secret = arity > 1 && term_key_is_secret(d->r, first);
		} else {
			strbuf_addch(out, ',');
		}
		if (secret && i > 0)
			term_dump_value(d, out, first, elements[i % ELEMENTS]);
		else
			term_dump_inline(d, out, elements[i % ELEMENTS]);
	}
}

static void add_record(struct term_dump *d, struct strbuf *out, const struct term_view *v)
{
	struct strbuf name = STRBUF_INIT;
	const char *part[2];
	size_t len[2];

	part[0] = beam_atom_text(d->r->atoms, v->record.module, &len[0]);
	part[1] = beam_atom_text(d->r->atoms, v->record.name, &len[1]);
	strbuf_addf(&name, "#%.*s:%.*s", part[0] ? (int)MIN(len[0], 100u) : 0,
		    part[0] ? part[0] : "", part[1] ? (int)MIN(len[1], 100u) : 0,
		    part[1] ? part[1] : "");
	for (size_t i = 0; i < name.len; i++)
		if (name.buf[i] == '\n' || name.buf[i] == '\r')
			name.buf[i] = ' ';
	strbuf_addch(out, 't');
	term_dump_hex(out, 1 + 2ull * v->record.nr_fields);
	strbuf_addch(out, ':');
	term_dump_name(out, name.buf, name.len);
	for (uint32_t i = 0; i < v->record.nr_fields; i++) {
		uint64_t key = 0, value = 0;

		term_word(d->r, v->record.keys + 8ull * i, &key);
		term_word(d->r, v->record.values + 8ull * i, &value);
		strbuf_addch(out, ',');
		term_dump_inline(d, out, key);
		strbuf_addch(out, ',');
		term_dump_value(d, out, key, value);
	}
	strbuf_free(&name);
}

static void add_cons(struct term_dump *d, struct strbuf *out, const struct term_view *v)
{
	strbuf_addch(out, 'l');
	/* The tail is visited last, so that a list's lines are in its order. */
	term_dump_inline(d, out, v->cons.head);
	strbuf_addch(out, '|');
	term_dump_inline(d, out, v->cons.tail);
}

/* Flushes what is the line so far. */
static void write_line(struct term_dump *d)
{
	fwrite(d->line.buf, 1, d->line.len, d->out);
	strbuf_reset(&d->line);
}

static void add_bytes(struct term_dump *d, struct strbuf *out, const struct term_view *v)
{
	uint64_t size = v->bits.nr_bits / 8;
	uint8_t buf[TERM_DUMP_CHUNK];

	if (!term_dump_spend(d, size)) {
		add_mark(out, "#Cut", v->addr);
		return;
	}
	strbuf_addstr(out, "Yh");
	term_dump_hex(out, size);
	strbuf_addch(out, ':');
	for (uint64_t at = 0; at < size && !ferror(d->out); at += sizeof(buf)) {
		size_t part = (size_t)MIN(size - at, (uint64_t)sizeof(buf));

		if (!term_bits(d->r, v, at, buf, part)) {
			d->unreadable++;
			memset(buf, 0, part);
		}
		term_dump_base64(out, buf, part);
		if (out == &d->line && out->len > 4 * TERM_DUMP_CHUNK)
			write_line(d);
	}
}

/* A part of an off-heap binary, of which `first` is the address of the first byte. */
static void add_part(struct term_dump *d, struct strbuf *out, const struct term_view *v,
		     raddr first)
{
	uint32_t id;

	if (term_dump_add(&d->blobs, v->bits.binary, &id))
		d->blobs.items.data[id] |= TERM_DUMP_FLAG;
	strbuf_addstr(out, "Yc");
	term_dump_hex(out, v->bits.binary);
	strbuf_addch(out, ':');
	term_dump_hex(out, v->bits.bytes - first);
	strbuf_addch(out, ':');
	term_dump_hex(out, v->bits.nr_bits / 8);
}

static void add_bits(struct term_dump *d, struct strbuf *out, const struct term_view *v)
{
	const struct beam_layout *l = &d->r->node->layout;
	raddr first = v->bits.binary + (raddr)l->binary_orig_bytes;
	uint8_t last;

	if (v->bits.nr_bits && !term_bits(d->r, v, (v->bits.nr_bits - 1) / 8, &last, 1)) {
		d->unreadable++;
		add_mark(out, "#Unreadable", v->addr);
	} else if (v->bits.nr_bits % 8) {
		term_dump_external(d, out, v);
	} else if (v->bits.binary % 8 == 0 && v->bits.binary && !v->bits.bit &&
		   v->bits.bytes >= first &&
		   v->bits.bytes + v->bits.nr_bits / 8 <= first + v->bits.binary_size) {
		add_part(d, out, v, first);
	} else {
		/* On the heap, or a driver's or NIF's, whose bytes are elsewhere. */
		add_bytes(d, out, v);
	}
}

static void add_external_id(struct strbuf *out, const struct term_view *v)
{
	if (v->kind == TERM_KIND_EXTERNAL_PID)
		strbuf_addf(out, "P<%u.%u.%u>", v->id.channel, (uint32_t)v->id.data,
			    (uint32_t)(v->id.data >> 32));
	else
		strbuf_addf(out, "p<%u.%" PRIu64 ">", v->id.channel, v->id.data);
}

static void add_object(struct term_dump *d, struct strbuf *out, const struct term_view *v)
{
	switch (v->kind) {
	case TERM_KIND_LIST:
		add_cons(d, out, v);
		break;
	case TERM_KIND_TUPLE:
		add_tuple(d, out, v);
		break;
	case TERM_KIND_MAP:
		if (d->seen.items.len >= d->max_objects) {
			d->cut++;
			add_mark(out, "#Cut", v->addr);
		} else if (!term_dump_map(d, out, v)) {
			d->unreadable++;
			add_mark(out, "#Unreadable", v->addr);
		}
		break;
	case TERM_KIND_BIG:
		add_big(d, out, v);
		break;
	case TERM_KIND_FLOAT:
		add_float(out, v);
		break;
	case TERM_KIND_BITS:
		add_bits(d, out, v);
		break;
	case TERM_KIND_FUN:
	case TERM_KIND_EXPORT:
	case TERM_KIND_REF:
	case TERM_KIND_MAGIC_REF:
	case TERM_KIND_EXTERNAL_REF:
		term_dump_external(d, out, v);
		break;
	case TERM_KIND_EXTERNAL_PID:
	case TERM_KIND_EXTERNAL_PORT:
		add_external_id(out, v);
		break;
	case TERM_KIND_RECORD:
		add_record(d, out, v);
		break;
	default:
		d->unreadable++;
		add_mark(out, "#Unreadable", v->addr);
	}
}

/* ---- walk ------------------------------------------------------------------------------------ */

/* Is all of an object where it can be?  What is no header may be read as that of a tuple of
 * megabytes. */
static bool is_whole(struct term_dump *d, const struct term_view *v)
{
	uint64_t size = 8ull * MAX(v->heap_words, 1u), word;

	/* Unused memory is zeros, and no term is 0. */
	for (int i = 1; v->kind == TERM_KIND_TUPLE && v->tuple.arity > ELEMENTS && i <= 4; i++)
		if (!term_word(d->r, v->addr + 8 * (v->tuple.arity * i / 4), &word) || !word)
			return false;

	return d->outside ? term_dump_has_bytes(d->r->node->mem, v->addr, size)
			  : v->addr + size <= own_end(d, v->addr);
}

/* Writes the line of an object that was not seen yet. */
static void visit(struct term_dump *d, uint64_t term)
{
	struct term_view v;
	uint32_t id;

	if (!term_dump_add(&d->seen, TERM_ADDR(term), &id))
		return;
	d->seen.items.data[id] |= TERM_DUMP_FLAG;
	vec_push(&d->todo, LEAVE_OF(id));
	d->objects++;
	term_view(d->r, term, &v);
	strbuf_reset(&d->line);
	strbuf_reset(&d->more);
	term_dump_hex(&d->line, TERM_ADDR(term));
	strbuf_addch(&d->line, ':');
	if (!is_whole(d, &v))
		v.kind = TERM_KIND_UNREADABLE;
	if (term_dump_spend(d, 8ull * v.heap_words))
		add_object(d, &d->line, &v);
	else
		add_mark(&d->line, "#Cut", v.addr);
	strbuf_addch(&d->line, '\n');
	write_line(d);
	fwrite(d->more.buf, 1, d->more.len, d->out);
	/* A binary of megabytes must not stay in memory. */
	if (d->line.alloc > 4 * TERM_DUMP_CHUNK)
		strbuf_free(&d->line);
}

static void walk(struct term_dump *d)
{
	struct term_window window;
	bool opened = term_window_open(d->r, &window);

	while (d->todo.len) {
		uint64_t next = d->todo.data[--d->todo.len];

		if (IS_LEAVE(next))
			d->seen.items.data[next >> 2] &= ~TERM_DUMP_FLAG;
		else
			visit(d, next);
	}
	if (opened)
		term_window_close(d->r);
}

void term_dump_heap(struct term_dump *d)
{
	walk(d);
}

/* ---- literals -------------------------------------------------------------------------------- */

static void write_atom(struct term_dump *d, uint64_t term)
{
	struct term_view v = {.kind = TERM_KIND_ATOM, .term = term};

	strbuf_reset(&d->line);
	term_dump_hex(&d->line, term);
	strbuf_addch(&d->line, ':');
	term_dump_external(d, &d->line, &v);
	strbuf_addch(&d->line, '\n');
	fwrite(d->line.buf, 1, d->line.len, d->out);
}

void term_dump_literals(struct term_dump *d)
{
	d->outside = true;
	empty(&d->seen);
	/* Literals refer to literals only, and to atoms, which are added at the end. */
	for (size_t i = 0; i < d->literals.items.len; i++) {
		uint64_t term = d->literals.items.data[i] >> 1;

		if (TERM_IS_ATOM(term)) {
			write_atom(d, term);
			continue;
		}
		vec_push(&d->todo, term);
		walk(d);
	}
}

/* ---- secrets --------------------------------------------------------------------------------- */

static void add_masked(struct term_dump *d, struct strbuf *out)
{
	d->r->masked++;
	term_dump_name(out, SECRETS_MASK, strlen(SECRETS_MASK));
}

void term_dump_value(struct term_dump *d, struct strbuf *out, uint64_t key, uint64_t value)
{
	struct term_view v;

	if (term_key_is_secret(d->r, key) && !term_is_no_secret(d->r, value, &v)) {
		add_masked(d, out);
	} else {
		term_dump_inline(d, out, value);
	}
}

/* ---- persistent terms ------------------------------------------------------------------------ */

/* Is the key, or an element of it, the name of a secret? */
static bool is_secret_key(struct term_dump *d, uint64_t key)
{
	uint64_t elements[KEY_ELEMENTS];
	uint32_t arity = 0;
	bool secret = term_key_is_secret(d->r, key);

	if (!d->r->is_secret || term_tuple(d->r, key, elements, KEY_ELEMENTS, &arity) != 0)
		return secret;
	for (uint32_t i = 0; i < MIN(arity, KEY_ELEMENTS) && !secret; i++)
		secret = term_key_is_secret(d->r, elements[i]);
	return secret;
}

void term_dump_persistent(struct term_dump *d, uint64_t key, uint64_t value)
{
	struct term_view v;

	strbuf_reset(&d->line);
	d->in_pair = true;
	term_dump_inline(d, &d->line, key);
	d->in_pair = false;
	strbuf_addch(&d->line, '|');
	if (is_secret_key(d, key) && !term_is_no_secret(d->r, value, &v))
		add_masked(d, &d->line);
	else
		term_dump_inline(d, &d->line, value);
	strbuf_addch(&d->line, '\n');
	write_line(d);
}

/* ---- a dump ---------------------------------------------------------------------------------- */

static uint64_t bytes_max(const struct beam_node *n)
{
	const struct proc_maps *maps = n->objects ? objects_maps(n->objects) : NULL;
	uint64_t sum = 0;

	for (size_t i = 0; maps && i < maps->len; i++)
		if (maps->data[i].r)
			sum += maps->data[i].end - maps->data[i].start;
	/* It may grow meanwhile. */
	return sum ? 2 * sum + (1u << 30) : TERM_DUMP_BYTES_MAX;
}

void term_dump_open(struct term_dump *d, struct term_reader *r, FILE *out)
{
	struct beam_node *n = r->node;
	const struct beam_layout *l = &n->layout;
	raddr this_node = n->anchors.this_node;

	*d = (struct term_dump){
		.r = r, .out = out, .max_objects = TERM_DUMP_OBJECTS_MAX, .left = bytes_max(n)};
	strbuf_init(&d->line);
	strbuf_init(&d->more);
	if (n->anchors.this_node_ptr)
		mem_read_u64(n->mem, n->anchors.this_node_ptr, &this_node);
	if (this_node) {
		mem_read_u64(n->mem, this_node + (raddr)l->node_sysname, &d->node);
		mem_read_u32(n->mem, this_node + (raddr)l->node_creation, &d->creation);
	}
}

void term_dump_close(struct term_dump *d)
{
	strbuf_free(&d->line);
	strbuf_free(&d->more);
	vec_free(&d->own);
	vec_free(&d->todo);
	free_set(&d->seen);
	free_set(&d->literals);
	free_set(&d->blobs);
}

void term_dump_begin(struct term_dump *d)
{
	empty(&d->seen);
	d->own.len = 0;
	d->todo.len = 0;
}

void term_dump_own(struct term_dump *d, raddr from, raddr to)
{
	if (from < to)
		vec_push(&d->own, ((struct term_dump_range){from, to}));
}

static int by_address(const void *a, const void *b)
{
	const struct term_dump_range *x = a, *y = b;

	return x->from < y->from ? -1 : x->from > y->from;
}

void term_dump_own_end(struct term_dump *d)
{
	if (d->own.len > 1)
		qsort(d->own.data, d->own.len, sizeof(*d->own.data), by_address);
}
