/* SPDX-License-Identifier: BSD-2-Clause */
/* See term_read.h.  Bitstrings: term_bits.c; maps: term_map.c. */
#include "beam/term/term_read.h"

#include <errno.h>
#include <string.h>

#include "abi/vm.h"
#include "base/compiler.h"
#include "beam/node/node.h"
#include "beam/term/term_internal.h"

/* ErtsORefThing {header, u32 marker, u32 number[3]}; ErtsPRefThing, an alias, has one word more;
 * ErtsMRefThing {header, ErtsMagicBinary *, next}: erl_term.h, OTP 24 to 29. */
#define REF_MARKER	  0xffffffffu
#define REF_WORDS	  2 /* beside the header */
#define REF_PID_WORDS	  3
#define REF_NUMBERS	  3
#define REF_PID_NUMBERS	  5
#define MAGIC_REF_NUMBERS 16 /* offset from Binary.orig_size: behind the destructor, erl_binary.h */
#define EXTERNAL_DATA	  24 /* ExternalThing {header, ErlNode *, next, data} */
#define EXTERNAL_ID_WORDS 3
#define EXTERNAL_REF_MAX  5

/* Fun header since OTP 27: arity in bits 8 to 15, size of the environment above them (up to OTP 28
 * with a reference to the entry, so that only external funs have size 0), and since OTP 29 a bit
 * for external funs. */
#define FUN_ARITY(h)	   (((h) >> 8) & 0xff)
#define FUN_ENV_27(h)	   (((h) >> 16) & 0x1ff)
#define FUN_FREE_28(h)	   (((h) >> 16) & 0xff)
#define FUN_EXTERNAL_28(h) ((h) >> 24 != 0)

/* ErtsRecordInstance {header, definition, values...}; ErtsRecordDefinition {header of a tuple,
 * order of fields, hash, module, name, is exported, keys...}: erl_record.h, OTP 29. */
#define RECORD_VALUES	  16
#define RECORD_DEFINITION 5 /* words between header and keys */
#define RECORD_KEYS	  48
#define RECORD_MAX_FIELDS 65536

#define WALK_STEPS_MAX (1ull << 27) /* limit of cells in all walks of a reader by term_next() */

static const char *const kind_names[] = {
	[TERM_KIND_ATOM] = "atom",
	[TERM_KIND_SMALL] = "integer",
	[TERM_KIND_NIL] = "nil",
	[TERM_KIND_PID] = "pid",
	[TERM_KIND_PORT] = "port",
	[TERM_KIND_LIST] = "list",
	[TERM_KIND_TUPLE] = "tuple",
	[TERM_KIND_MAP] = "map",
	[TERM_KIND_BIG] = "big integer",
	[TERM_KIND_FLOAT] = "float",
	[TERM_KIND_BITS] = "binary",
	[TERM_KIND_FUN] = "fun",
	[TERM_KIND_EXPORT] = "external fun",
	[TERM_KIND_REF] = "reference",
	[TERM_KIND_MAGIC_REF] = "magic reference",
	[TERM_KIND_EXTERNAL_PID] = "external pid",
	[TERM_KIND_EXTERNAL_PORT] = "external port",
	[TERM_KIND_EXTERNAL_REF] = "external reference",
	[TERM_KIND_RECORD] = "record",
	[TERM_KIND_UNREADABLE] = "unreadable",
};

const char *term_kind_name(enum term_kind kind)
{
	return (unsigned int)kind < NR_TERM_KINDS ? kind_names[kind] : "unreadable";
}

int term_reader_init(struct term_reader *r, struct term_formats *formats, struct beam_node *n)
{
	const struct beam_layout *l = &n->layout;
	int otp = n->identity.otp, rc;

	*r = (struct term_reader){
		.mem = n->mem,
		.atoms = n->atoms,
		.pids = &formats->pids,
		.ports = &formats->ports,
		.otp = otp,
		.depth = 1000,
		.max_len = 16u << 20,
		.node = n,
		.max_elements = 1000000,
	};
	*formats = (struct term_formats){0};
	if (!n->atoms || !n->anchors.proc_tab)
		return -ENOENT;
	rc = id_format_read(&formats->pids, n->mem, l, n->anchors.proc_tab, otp);
	if (rc == 0 && n->anchors.port_tab)
		rc = id_format_read(&formats->ports, n->mem, l, n->anchors.port_tab, otp);
	return rc;
}

uint64_t term_max_elements(const struct term_reader *r)
{
	return r->max_elements ? r->max_elements : 64;
}

/* ---- memory --------------------------------------------------------------------------------- */

bool term_window_open(struct term_reader *r, struct term_window *w)
{
	if (r->window || !r->mem)
		return false;
	memset(w->at, 0, sizeof(w->at));
	r->window = w;
	return true;
}

void term_window_close(struct term_reader *r)
{
	r->window = NULL;
}

/* The line at an address; NULL if it cannot be read as a whole. */
static const uint8_t *line_at(struct term_reader *r, raddr at)
{
	struct term_window *w = r->window;
	size_t i = at / WINDOW_LINE % WINDOW_LINES;

	if (w->at[i] == at)
		return w->lines[i];
	w->at[i] = 0;
	if (mem_read(r->mem, at, w->lines[i], WINDOW_LINE) != 0)
		return NULL;
	w->at[i] = at;
	return w->lines[i];
}

static bool windowed(struct term_reader *r, raddr addr, uint8_t *buf, size_t size)
{
	while (size > 0) {
		raddr at = addr & ~(raddr)(WINDOW_LINE - 1);
		size_t from = addr - at, part = MIN(size, WINDOW_LINE - from);
		const uint8_t *line = line_at(r, at);

		if (!line)
			return false;
		memcpy(buf, line + from, part);
		addr += part;
		buf += part;
		size -= part;
	}
	return true;
}

bool term_bytes(struct term_reader *r, raddr addr, void *buf, size_t size)
{
	uint64_t at = addr - r->copy_addr, copied = 8ull * r->copy_words;

	if (copied && addr >= r->copy_addr && at <= copied && size <= copied - at) {
		memcpy(buf, (const char *)r->copy + at, size);
		return true;
	}
	at = addr - r->made_addr;
	copied = 8ull * r->made_words;
	if (copied && at <= copied && size <= copied - at) {
		memcpy(buf, (const char *)r->made + at, size);
		return true;
	}
	if (!r->mem || addr < WINDOW_LINE || addr + size < addr)
		return false;
	if (r->window && size <= WINDOW_LINE && windowed(r, addr, buf, size))
		return true;
	return mem_read(r->mem, addr, buf, size) == 0;
}

bool term_word(struct term_reader *r, raddr addr, uint64_t *value)
{
	return term_bytes(r, addr, value, sizeof(*value));
}

/* Reads memory that is no part of a term. */
static bool vm_bytes(struct term_reader *r, raddr addr, void *buf, size_t size)
{
	return r->copied && r->node ? mem_read(r->node->mem, addr, buf, size) == 0
				    : term_bytes(r, addr, buf, size);
}

bool term_vm_word(struct term_reader *r, raddr addr, uint64_t *value)
{
	return vm_bytes(r, addr, value, sizeof(*value));
}

/* ---- identifiers ---------------------------------------------------------------------------- */

static bool view_ref(struct term_reader *r, struct term_view *v)
{
	uint32_t words = (uint32_t)MIN(HEADER_ARITY(v->header), (uint64_t)UINT32_MAX);
	uint32_t data[2 * REF_PID_WORDS], nr = REF_NUMBERS;
	const struct beam_layout *l;

	if ((words != REF_WORDS && words != REF_PID_WORDS) ||
	    !term_bytes(r, v->addr + 8, data, 8 * (size_t)words))
		return false;
	v->heap_words = words + 1;
	if (data[0] == REF_MARKER) {
		/* Up to OTP 25 the pid of an alias is not printed as one of its numbers. */
		if (words == REF_PID_WORDS && r->otp >= 26)
			nr = REF_PID_NUMBERS;
		v->kind = TERM_KIND_REF;
		v->id.nr_numbers = nr;
		memcpy(v->id.numbers, data + 1, 4 * (size_t)nr);
		return true;
	}
	v->kind = TERM_KIND_MAGIC_REF;
	v->id.nr_numbers = REF_NUMBERS;
	v->id.binary = data[0] | (uint64_t)data[1] << 32;
	l = r->node ? &r->node->layout : NULL;
	return words == REF_WORDS && l && l->binary_orig_size >= 0 &&
	       vm_bytes(r, v->id.binary + (uint32_t)l->binary_orig_size + MAGIC_REF_NUMBERS,
			v->id.numbers, 4 * REF_NUMBERS);
}

/* Node of an external identifier: name, creation, and the first number of its text: that of the
 * name's atom, or 0 for an earlier instance of this node (dist_entry_channel_no() of
 * erl_node_tables.h). */
static bool view_node(struct term_reader *r, struct term_view *v, raddr node)
{
	const struct beam_layout *l = r->node ? &r->node->layout : NULL;
	uint64_t dist, this_node = 0, this_dist = 0;

	if (!l || l->node_sysname < 0 || l->node_creation < 0 || l->node_dist_entry < 0 ||
	    !term_vm_word(r, node + (uint32_t)l->node_sysname, &v->id.node) ||
	    !vm_bytes(r, node + (uint32_t)l->node_creation, &v->id.creation, 4) ||
	    !term_vm_word(r, node + (uint32_t)l->node_dist_entry, &dist) ||
	    !TERM_IS_ATOM(v->id.node))
		return false;
	if (r->node->anchors.this_node_ptr &&
	    term_vm_word(r, r->node->anchors.this_node_ptr, &this_node))
		term_vm_word(r, this_node + (uint32_t)l->node_dist_entry, &this_dist);
	v->id.channel = dist == this_dist ? 0 : (uint32_t)(v->id.node >> 6);
	return true;
}

static bool view_external(struct term_reader *r, struct term_view *v)
{
	uint64_t subtag = HEADER_SUBTAG(v->header), words = HEADER_ARITY(v->header), node;
	uint32_t data[2 * EXTERNAL_REF_MAX + 2];

	if (words < EXTERNAL_ID_WORDS || words > EXTERNAL_ID_WORDS + EXTERNAL_REF_MAX ||
	    !term_word(r, v->addr + 8, &node) || !view_node(r, v, node) ||
	    !term_bytes(r, v->addr + EXTERNAL_DATA, data, 8 * (words - 2)))
		return false;
	v->heap_words = (uint32_t)words + 1;
	if (subtag != SUBTAG_EXTERNAL_REF) {
		v->kind = subtag == SUBTAG_EXTERNAL_PID ? TERM_KIND_EXTERNAL_PID
							: TERM_KIND_EXTERNAL_PORT;
		v->id.data = data[0] | (uint64_t)data[1] << 32;
		return words == EXTERNAL_ID_WORDS;
	}
	v->kind = TERM_KIND_EXTERNAL_REF;
	v->id.nr_numbers = data[0];
	if (data[0] == 0 || data[0] > EXTERNAL_REF_MAX || data[0] >= 2 * (words - 2))
		return false;
	memcpy(v->id.numbers, data + 1, 4 * (size_t)data[0]);
	return true;
}

/* ---- funs, records -------------------------------------------------------------------------- */

static bool view_entry(struct term_reader *r, struct term_view *v, raddr entry, bool external)
{
	const struct beam_layout *l = r->node ? &r->node->layout : NULL;
	uint64_t mfa[3];
	uint32_t index, uniq;

	v->kind = external ? TERM_KIND_EXPORT : TERM_KIND_FUN;
	if (!l) /* without a node the module stays unknown */
		return true;
	if (external) {
		if (l->export_mfa < 0 ||
		    !vm_bytes(r, entry + (uint32_t)l->export_mfa, mfa, sizeof(mfa)))
			return false;
		v->fun.module = mfa[0];
		v->fun.function = mfa[1];
		v->fun.arity = mfa[2];
		return TERM_IS_ATOM(mfa[0]) && TERM_IS_ATOM(mfa[1]) && mfa[2] <= 255;
	}
	if (l->fun_entry_module < 0 || l->fun_entry_old_index < 0 || l->fun_entry_old_uniq < 0 ||
	    !term_vm_word(r, entry + (uint32_t)l->fun_entry_module, &v->fun.module) ||
	    !vm_bytes(r, entry + (uint32_t)l->fun_entry_old_index, &index, 4) ||
	    !vm_bytes(r, entry + (uint32_t)l->fun_entry_old_uniq, &uniq, 4))
		return false;
	v->fun.index = index;
	v->fun.old_uniq = uniq;
	return TERM_IS_ATOM(v->fun.module);
}

/* OTP 24: ErlFunThing {header, entry, next, arity, free, creator, environment...} (erl_fun.h). */
static bool view_fun_24(struct term_reader *r, struct term_view *v)
{
	uint64_t w[6];

	if (!term_bytes(r, v->addr, w, sizeof(w)) || w[4] > 255)
		return false;
	v->heap_words = 6 + (uint32_t)w[4];
	v->fun.arity = w[3];
	v->fun.nr_free = w[4];
	v->fun.environment = v->addr + 48;
	v->fun.creator = w[5];
	return view_entry(r, v, w[1], false);
}

/* OTP 24: an external fun is {header, export} (erl_term.h). */
static bool view_export_24(struct term_reader *r, struct term_view *v)
{
	raddr export;

	v->heap_words = 2;
	return term_word(r, v->addr + 8, &export) && view_entry(r, v, export, true);
}

/* OTP 25 and 26: ErlFunThing {header, entry, next, arity u8, free u8, creator, environment...}; the
 * creator of an external fun is the atom `external` (erl_fun.h). */
static bool view_fun_26(struct term_reader *r, struct term_view *v)
{
	uint64_t w[5];
	uint64_t nr_free;

	if (!term_bytes(r, v->addr, w, sizeof(w)))
		return false;
	nr_free = w[3] >> 8 & 0xff;
	v->heap_words = 5 + (uint32_t)nr_free;
	v->fun.arity = w[3] & 0xff;
	v->fun.nr_free = nr_free;
	v->fun.environment = v->addr + 40;
	v->fun.creator = TERM_IS_ATOM(w[4]) ? 0 : w[4];
	return view_entry(r, v, w[1], TERM_IS_ATOM(w[4]));
}

static bool view_fun(struct term_reader *r, struct term_view *v)
{
	uint64_t h = v->header, words;
	raddr entry;
	bool external;

	if (r->otp <= 26)
		return r->otp == 24 ? view_fun_24(r, v) : view_fun_26(r, v);
	words = r->otp == 27 ? FUN_ENV_27(h) : FUN_FREE_28(h);
	external = r->otp == 27 ? words == 0 : FUN_EXTERNAL_28(h);
	if (!term_word(r, v->addr + 8, &entry))
		return false;
	v->heap_words = 2 + (uint32_t)words;
	v->fun.arity = FUN_ARITY(h);
	/* In OTP 27 the last word of the environment refers to the entry. */
	v->fun.nr_free = r->otp == 27 && words ? words - 1 : words;
	v->fun.environment = v->addr + 16;
	return view_entry(r, v, entry, external);
}

static bool view_record(struct term_reader *r, struct term_view *v)
{
	uint64_t words = HEADER_ARITY(v->header), definition, w[6]; /* definition, with its
								     * header */

	if (words < 1 || words > RECORD_MAX_FIELDS || !term_word(r, v->addr + 8, &definition) ||
	    !TERM_IS_BOXED(definition) || !term_bytes(r, TERM_ADDR(definition), w, sizeof(w)) ||
	    w[0] != (RECORD_DEFINITION + words - 1) << 6)
		return false;
	v->kind = TERM_KIND_RECORD;
	v->heap_words = (uint32_t)words + 1;
	v->record.order = w[1];
	v->record.module = w[3];
	v->record.name = w[4];
	v->record.nr_fields = (uint32_t)words - 1;
	v->record.keys = TERM_ADDR(definition) + RECORD_KEYS;
	v->record.values = v->addr + RECORD_VALUES;
	return TERM_IS_ATOM(w[3]) && TERM_IS_ATOM(w[4]);
}

/* ---- view ----------------------------------------------------------------------------------- */

static bool view_tuple(struct term_view *v)
{
	v->kind = TERM_KIND_TUPLE;
	v->tuple.arity = HEADER_ARITY(v->header);
	v->tuple.elements = v->addr + 8;
	v->heap_words = (uint32_t)v->tuple.arity + 1;
	return v->tuple.arity <= TUPLE_MAX_ARITY;
}

static bool view_big(struct term_view *v)
{
	v->kind = TERM_KIND_BIG;
	v->big.nr_digits = HEADER_ARITY(v->header);
	v->big.digits = v->addr + 8;
	v->big.negative = HEADER_SUBTAG(v->header) == SUBTAG_BIG_NEGATIVE;
	v->heap_words = (uint32_t)v->big.nr_digits + 1;
	return v->big.nr_digits > 0 && v->big.nr_digits <= BIG_MAX_DIGITS;
}

static bool view_boxed(struct term_reader *r, struct term_view *v)
{
	uint64_t raw;

	if (!term_word(r, v->addr, &v->header) || (v->header & 3))
		return false; /* not mapped, or moved by a GC */
	switch (HEADER_SUBTAG(v->header)) {
	case SUBTAG_TUPLE:
		return view_tuple(v);
	case SUBTAG_BIG_POSITIVE:
	case SUBTAG_BIG_NEGATIVE:
		return view_big(v);
	case SUBTAG_REF:
		return view_ref(r, v);
	case SUBTAG_FUN:
		return view_fun(r, v);
	case SUBTAG_FLOAT:
		v->kind = TERM_KIND_FLOAT;
		v->heap_words = 2;
		if (HEADER_ARITY(v->header) != 1 || !term_word(r, v->addr + 8, &raw))
			return false;
		memcpy(&v->real, &raw, sizeof(v->real));
		return true;
	case SUBTAG_RECORD:
		return r->otp == 24 ? view_export_24(r, v) : r->otp >= 29 && view_record(r, v);
	case SUBTAG_PROC_BIN: /* these subtags include the bitstrings of all releases */
	case SUBTAG_HEAP_BIN:
	case SUBTAG_SUB_BIN:
		return term_view_bits(r, v);
	case SUBTAG_MAP:
	case SUBTAG_MAP_26:
		return term_view_map(r, v);
	case SUBTAG_EXTERNAL_PID:
	case SUBTAG_EXTERNAL_PORT:
	case SUBTAG_EXTERNAL_REF:
		return view_external(r, v);
	default:
		return false;
	}
}

static bool view_cons(struct term_reader *r, struct term_view *v)
{
	uint64_t cell[2];

	if (!term_bytes(r, v->addr, cell, sizeof(cell)))
		return false;
	v->kind = TERM_KIND_LIST;
	v->heap_words = 2;
	v->cons.head = cell[0];
	v->cons.tail = cell[1];
	return cell[0] != 0; /* 0: moved by a GC */
}

static bool view_immediate(struct term_view *v, uint64_t term)
{
	if (TERM_IS_ATOM(term)) {
		v->kind = TERM_KIND_ATOM;
	} else if (TERM_IS_SMALL(term)) {
		v->kind = TERM_KIND_SMALL;
		v->small = TERM_SMALL(term);
	} else if (term == TERM_NIL) {
		v->kind = TERM_KIND_NIL;
	} else if (TERM_IS_PID(term)) {
		v->kind = TERM_KIND_PID;
	} else if (TERM_IS_PORT(term)) {
		v->kind = TERM_KIND_PORT;
	} else {
		return false;
	}
	return true;
}

enum term_kind term_view(struct term_reader *r, uint64_t term, struct term_view *v)
{
	bool ok;

	memset(v, 0, sizeof(*v));
	v->term = term;
	if (TERM_IS_POINTER(term)) {
		v->addr = TERM_ADDR(term);
		ok = TERM_IS_LIST(term) ? view_cons(r, v) : view_boxed(r, v);
	} else {
		ok = view_immediate(v, term);
	}
	if (!ok) {
		v->kind = TERM_KIND_UNREADABLE;
		v->heap_words = 0;
		r->unreadable++;
	}
	return v->kind;
}

/* ---- tuples, lists ---------------------------------------------------------------- */

static int tuple_at(struct term_reader *r, uint64_t term, raddr *elements, uint32_t *arity)
{
	uint64_t header;

	if (!TERM_IS_BOXED(term))
		return -EINVAL;
	if (!term_word(r, TERM_ADDR(term), &header))
		return -EFAULT;
	if (HEADER_SUBTAG(header) != SUBTAG_TUPLE || HEADER_ARITY(header) > TUPLE_MAX_ARITY)
		return -EINVAL;
	*elements = TERM_ADDR(term) + 8;
	*arity = (uint32_t)HEADER_ARITY(header);
	return 0;
}

int term_tuple(struct term_reader *r, uint64_t term, uint64_t *elements, uint32_t max,
	       uint32_t *arity)
{
	raddr at;
	int rc = tuple_at(r, term, &at, arity);

	if (rc)
		return rc;
	max = MIN(max, *arity);
	return max == 0 || term_bytes(r, at, elements, 8 * (size_t)max) ? 0 : -EFAULT;
}

int term_element(struct term_reader *r, uint64_t term, uint32_t i, uint64_t *value)
{
	uint32_t arity;
	raddr at;
	int rc = tuple_at(r, term, &at, &arity);

	if (rc)
		return rc;
	if (i >= arity)
		return -ERANGE;
	return term_word(r, at + 8ull * i, value) ? 0 : -EFAULT;
}

bool term_is_tagged(struct term_reader *r, uint64_t term, uint64_t atom, uint32_t arity)
{
	uint32_t have;
	uint64_t first;

	return arity > 0 && term_tuple(r, term, &first, 1, &have) == 0 && have == arity &&
	       first == atom;
}

/* The walk whose rest is `list`, of several the one used last; else a new one, in place of a walk
 * that has ended or of the shortest. */
static struct term_walk *walk_at(struct term_reader *r, uint64_t list)
{
	struct term_walk *place = &r->walks[0], *found = NULL;

	for (size_t i = 0; i < ARRAY_SIZE(r->walks); i++) {
		struct term_walk *w = &r->walks[i];

		if (w->last && w->list == list && (!found || w->last > found->last))
			found = w;
		if (!w->last || (place->last && w->done < place->done))
			place = w;
	}
	if (!found) {
		*place = (struct term_walk){.list = list};
		found = place;
	}
	found->last = ++r->steps;
	return found;
}

bool term_next(struct term_reader *r, uint64_t *list, uint64_t *head)
{
	struct term_walk *w;
	uint64_t cell[2];

	if (!TERM_IS_LIST(*list))
		return false;
	w = walk_at(r, *list);
	if (w->done >= term_max_elements(r) || r->steps >= WALK_STEPS_MAX) {
		w->last = 0;
		return false;
	}
	if (!term_bytes(r, TERM_ADDR(*list), cell, sizeof(cell)) || cell[0] == 0) {
		w->last = 0;
		r->unreadable++;
		return false;
	}
	*head = cell[0];
	*list = cell[1];
	w->list = cell[1];
	w->done++;
	if (!TERM_IS_LIST(cell[1]))
		w->last = 0;
	return true;
}
