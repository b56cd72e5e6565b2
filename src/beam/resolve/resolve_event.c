/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Events of the VM: raw values -> ids and numbers; part of the resolver (resolve.h).  Terms are
 * printed from words that were copied with the event, as memory may have changed since.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/compiler.h"
#include "base/xalloc.h"
#include "beam/resolve/resolve_internal.h"
#include "beam/term/mfa_text.h"
#include "beam/term/term_internal.h"

/* The words copied with a term, as a struct mem. */
struct blocks {
	struct mem mem;
	const struct rec_raw_event *raw;
};

/* Bytes of a block that are of its object: fewer than the whole for a small tuple, or a list cell
 * at the end of a mapping (copy_block(), bpf/event_values.bpf.h).  The rest is 0, or of another
 * object. */
static size_t block_bytes(const struct term_block *b)
{
	uint64_t words = EVENT_BLOCK_WORDS;

	if (TERM_IS_BOXED(b->term)) {
		if (HEADER_SUBTAG(b->words[0]) == SUBTAG_TUPLE)
			words = MIN(HEADER_ARITY(b->words[0]) + 1, words);
	} else if (b->addr == TERM_ADDR(b->term)) {
		while (words > 2 && !b->words[words - 1])
			words--;
	}
	return 8 * words;
}

static int read_blocks(struct mem *m, raddr addr, void *buf, size_t size)
{
	const struct blocks *b = CONTAINER_OF(m, struct blocks, mem);

	for (unsigned int i = 0; i < b->raw->nr_blocks; i++) {
		const struct term_block *block = &b->raw->blocks[i];

		if (block->addr && addr >= block->addr &&
		    addr - block->addr <= block_bytes(block) &&
		    size <= block_bytes(block) - (addr - block->addr)) {
			memcpy(buf, (const char *)block->words + (addr - block->addr), size);
			return 0;
		}
	}
	return -EFAULT;
}

static uint32_t term_string(struct beam_resolver *r, struct names *names,
			    const struct rec_raw_event *raw, uint64_t term)
{
	struct blocks blocks = {.mem.read = read_blocks, .raw = raw};
	struct term_reader reader = {
		.mem = &blocks.mem,
		.atoms = r->node->atoms,
		.pids = &r->pids,
		.ports = &r->ports,
		.otp = r->node->identity.otp,
		.depth = 8,
		.max_len = 400,
	};
	struct strbuf text = STRBUF_INIT;
	uint32_t id;

	term_print(&reader, &text, term);
	id = names_intern_string(names, text.buf, text.len, NULL);
	strbuf_free(&text);
	return id;
}

static uint32_t atom_string(struct beam_resolver *r, struct names *names, uint64_t atom)
{
	size_t len;
	const char *text = beam_atom_text(r->node->atoms, atom, &len);

	return text ? names_intern_string(names, text, len, NULL) : 0;
}

static uint32_t port_string(struct beam_resolver *r, struct names *names, uint64_t term)
{
	char text[64];

	if (!TERM_IS_PORT(term))
		return 0;
	port_format(&r->ports, term, text, sizeof(text));
	return names_intern_string(names, text, strlen(text), NULL);
}

static uint32_t text_string(struct names *names, const uint64_t *words)
{
	const char *text = (const char *)words;
	size_t len = strnlen(text, 8 * EVENT_TEXT_WORDS);

	return len ? names_intern_string(names, text, len, NULL) : 0;
}

static uint32_t word_string(struct names *names, uint64_t word)
{
	static const char *const texts[NR_EVENT_WORDS] = {
#define EVENT_WORD_TEXT(id, text) [EVENT_WORD_##id] = text,
		EVENT_WORDS(EVENT_WORD_TEXT)
#undef EVENT_WORD_TEXT
	};
	const char *text = word < NR_EVENT_WORDS ? texts[word] : NULL;

	return text ? names_intern_string(names, text, strlen(text), NULL) : 0;
}

/* The frame of an address of code; 0 = none. */
static uint32_t code_frame(struct beam_resolver *r, struct names *names, raddr addr)
{
	const struct cached_frame *f = addr ? frame_of_jit(r, names, addr) : NULL;

	return f ? f->frame : 0;
}

/* Name of an allocator, "eheap_alloc"; the VM has its prefix, "eheap_", in constant memory. */
static uint32_t allocator_string(struct beam_resolver *r, struct names *names, uint64_t prefix)
{
	char text[32], name[sizeof(text) + 8];
	int len;

	if (!prefix || mem_read_string(r->node->mem, prefix, text, sizeof(text)) < 0)
		return 0;
	len = snprintf(name, sizeof(name), "%salloc", text);
	return names_intern_string(names, name, (size_t)len, NULL);
}

/* The function that holds an address of code. */
static uint32_t code_function(struct beam_resolver *r, struct names *names, raddr addr)
{
	const struct name_frame *frame = names_frame(names, code_frame(r, names, addr));

	return frame ? frame->function : 0;
}

/* The text of an MFA, which the VM wrote by "%T:%T/%d"; malloc'ed; NULL: the record has none. */
static char *mfa_text(const struct rec_raw_event *raw)
{
	char *text;
	size_t len = 0;

	if (!(raw->flags & RAW_EVENT_TEXT))
		return NULL;
	text = xmalloc((size_t)raw->nr_blocks * EVENT_TEXT_BLOCK + 1);
	for (unsigned int i = 0; i < raw->nr_blocks; i++) {
		const char *part = (const char *)raw->blocks[i].words;
		size_t part_len = strnlen(part, EVENT_TEXT_BLOCK);

		memcpy(text + len, part, part_len);
		len += part_len;
		if (part_len < EVENT_TEXT_BLOCK)
			break;
	}
	text[len] = '\0';
	return text;
}

/* Function of the record's text; 0 = it has none, or a truncated one. */
static uint32_t text_function(struct names *names, const struct rec_raw_event *raw)
{
	char *text = mfa_text(raw);
	struct mfa_parts parts;
	uint32_t module, name, id = 0;

	if (text && mfa_parse(text, &parts)) {
		module = names_intern_string(names, parts.module, strlen(parts.module), NULL);
		name = names_intern_string(names, parts.function, strlen(parts.function), NULL);
		id = names_intern_function(names, module, name, parts.arity, FRAME_ERLANG, NULL);
	}
	free(text);
	return id;
}

static uint32_t mfa_function(struct beam_resolver *r, struct names *names,
			     const struct rec_raw_event *raw, const uint64_t *words)
{
	if (raw->flags & RAW_EVENT_TEXT)
		return text_function(names, raw);
	/* Arity -1: the arguments are no list of a possible length. */
	return words[2] <= 255 ? function_of_mfa(r, names, words, FRAME_ERLANG) : 0;
}

static uint64_t value_of(struct beam_resolver *r, struct names *names,
			 const struct rec_raw_event *raw, enum event_field_type type,
			 const uint64_t *words)
{
	switch (type) {
	case FIELD_PID:
		return process_of_epid(r, names, words[0]);
	case FIELD_PORT:
		return port_string(r, names, words[0]);
	case FIELD_ATOM:
		return words[0] ? atom_string(r, names, words[0]) : 0;
	case FIELD_TERM:
		return words[0] ? term_string(r, names, raw, words[0]) : 0;
	case FIELD_MFA:
		return mfa_function(r, names, raw, words);
	case FIELD_CODE:
		return code_function(r, names, words[0]);
	case FIELD_TEXT:
		return text_string(names, words);
	case FIELD_WORD:
		return word_string(names, words[0]);
	case FIELD_ALLOCATOR:
		return allocator_string(r, names, words[0]);
	case FIELD_STRING:
	case FIELD_WORDS:
	case FIELD_BYTES:
	case FIELD_COUNT:
	case FIELD_NS:
	case NR_FIELD_TYPES:
		break;
	}
	return words[0];
}

/* Value of a field that the record lacks: 0 for ids, "unknown" for numbers. */
static uint64_t no_value(enum event_field_type type)
{
	return type >= FIELD_WORDS ? EVENT_UNKNOWN : 0;
}

static const struct {
	uint16_t kind;
	uint8_t type, words;
} fields[] = {
#define FIELD_WORDS_OF(type) ((type) == FIELD_MFA ? 3 : (type) == FIELD_TEXT ? EVENT_TEXT_WORDS : 1)
#define EVENT(kind, text, group, summary, differs)
#define EVENT_FIELD(of, field, text, is) {EVENT_##of, FIELD_##is, FIELD_WORDS_OF(FIELD_##is)},
#include "abi/catalogue.def"
#include "abi/vm.h"
#undef EVENT
#undef EVENT_FIELD
};

/* For a process that was just spawned: stores the function that it starts with. */
static void know_child(struct beam_resolver *r, struct names *names,
		       const struct rec_raw_event *raw)
{
	uint32_t entry = 0;

	if (raw->kind == EVENT_PROCESS_SPAWN && raw->nr_values >= 4)
		entry = mfa_function(r, names, raw, &raw->values[1]);
	if (entry)
		process_starts_with(r, names, raw->epid, entry);
}

int resolve_event(struct resolver *base, struct names *names, const struct rec_raw_event *raw,
		  struct resolved_event *out)
{
	struct beam_resolver *r = CONTAINER_OF(base, struct beam_resolver, base);
	unsigned int at = 0, nr = 0;

	if (raw->kind >= NR_EVENT_KINDS || raw->nr_values > EVENT_RAW_WORDS ||
	    raw->nr_blocks > EVENT_BLOCKS ||
	    raw->h.size < sizeof(*raw) + raw->nr_blocks * sizeof(raw->blocks[0]))
		return -EINVAL;
	out->leaf = 0;
	know_child(r, names, raw);
	for (size_t i = 0; i < ARRAY_SIZE(fields); i++) {
		enum event_field_type type = (enum event_field_type)fields[i].type;

		if (fields[i].kind != raw->kind)
			continue;
		out->values[nr++] = at + fields[i].words <= raw->nr_values
					    ? value_of(r, names, raw, type, &raw->values[at])
					    : no_value(type);
		if (fields[i].type == FIELD_CODE && at < raw->nr_values &&
		    !(raw->flags & RAW_EVENT_BEFORE))
			out->leaf = code_frame(r, names, raw->values[at]);
		at += fields[i].words;
	}
	out->nr_values = nr;
	out->process = raw->epid ? process_of_epid(r, names, raw->epid) : 0;
	out->thread = thread_of_tid(r, names, (int)raw->os_tid, THREAD_UNKNOWN, 0)->id;
	return 0;
}
