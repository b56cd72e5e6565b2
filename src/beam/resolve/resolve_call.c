/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Calls of traced functions: copied words -> text; part of the resolver (resolve.h).  Terms are
 * read only from words copied at the call, as the heap may have been moved since.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/compiler.h"
#include "base/strbuf.h"
#include "beam/code/call_targets.h"
#include "beam/resolve/resolve_internal.h"
#include "beam/term/message_shape.h"

/* The segments copied with a call, as a struct mem. */
struct segments {
	struct mem mem;
	const struct rec_raw_call *raw;
};

static int read_segments(struct mem *m, raddr addr, void *buf, size_t size)
{
	const struct rec_raw_call *raw = CONTAINER_OF(m, struct segments, mem)->raw;
	uint32_t at = 0, nr;

	/* Larger data is in several consecutive segments. */
	while (size && at + TERM_SEGMENT_HEAD <= raw->used) {
		uint64_t from = addr - raw->words[at], part;

		nr = TERM_SEGMENT_NR(raw->words[at + 1]);
		if (nr > raw->used - at - TERM_SEGMENT_HEAD)
			return -EFAULT;
		if (from < 8ull * nr) {
			part = MIN((uint64_t)size, 8ull * nr - from);
			memcpy(buf, (const char *)&raw->words[at + TERM_SEGMENT_HEAD] + from, part);
			buf = (char *)buf + part;
			addr += part;
			size -= part;
		}
		at += TERM_SEGMENT_HEAD + nr;
	}
	return size ? -EFAULT : 0;
}

/* Limit of the texts of all terms of a call, so that they fit into a record. */
#define CALL_TEXTS_MAX 49152u
/* In effect no limit: the copy and the text have limits of their own. */
#define CALL_ELEMENTS 1000000

/* Prints one of `left` terms, which share the room that is left in CALL_TEXTS_MAX equally. */
static void add_term(struct resolved_call *out, struct term_reader *reader, uint64_t term,
		     unsigned int max, uint32_t left)
{
	size_t room = CALL_TEXTS_MAX - MIN(out->terms->len, (size_t)CALL_TEXTS_MAX);
	struct strbuf text = STRBUF_INIT;
	uint32_t len;

	reader->max_len = (unsigned int)MIN((size_t)max, room / left);
	term_print(reader, &text, term);
	out->cut |= text.len >= reader->max_len;
	len = (uint32_t)text.len;
	strbuf_add(out->terms, &len, sizeof(len));
	strbuf_add(out->terms, text.buf, text.len);
	strbuf_free(&text);
	out->nr_terms++;
}

/* Frame of the caller; 0: unknown or none, as for the function that a process starts with. */
static uint32_t caller_frame(struct beam_resolver *r, struct names *names, raddr ra)
{
	/* The call instruction is before the return address. */
	const struct cached_frame *f = ra ? frame_of_jit(r, names, ra - 1) : NULL;

	return f && !f->root ? f->frame : 0;
}

/* An applied BIF is called by a stub, a function of the same name: its caller is the stub's. */
static uint32_t caller_of(struct beam_resolver *r, struct names *names,
			  const struct rec_raw_call *raw, uint32_t function)
{
	uint32_t caller = caller_frame(r, names, raw->caller);
	const struct name_frame *f = names_frame(names, caller);
	const struct name_function *by = f ? names_function(names, f->function) : NULL;
	const struct name_function *of = names_function(names, function);

	if (raw->outer && by && of && of->kind == FRAME_BIF && by->module_id == of->module_id &&
	    by->name_id == of->name_id && by->arity == of->arity)
		return caller_frame(r, names, raw->outer);
	return caller;
}

/* Shape of all arguments: "{ok, _}, [_ | _]". */
static uint32_t shape_string(struct names *names, struct term_reader *reader, const uint64_t *terms,
			     uint32_t nr)
{
	struct strbuf text = STRBUF_INIT;
	struct shape_table shapes = {0};
	uint32_t id;

	for (uint32_t i = 0; i < nr; i++) {
		strbuf_addstr(&text, i ? ", " : "");
		shape_reset(&shapes);
		shape_add(&shapes, reader, terms[i], 0);
		if (shapes.v.len)
			shape_print(&shapes.v.data[0], reader, &text);
	}
	id = names_intern_string(names, text.len ? text.buf : "()", text.len ? text.len : 2, NULL);
	shape_free(&shapes);
	strbuf_free(&text);
	return id;
}

/* Does `function` begin at addr?  Its code may have been purged and the memory reused before the
 * breakpoint was removed. */
static bool is_entry(struct beam_resolver *r, struct names *names, raddr addr, uint32_t function)
{
	/* May intern new names: must come before pointers to names. */
	const struct cached_frame *c = frame_of_jit(r, names, addr);
	const struct name_frame *frame = c ? names_frame(names, c->frame) : NULL;
	const struct name_function *there = frame ? names_function(names, frame->function) : NULL;
	const struct name_function *f = names_function(names, function);
	struct jit_function j;

	if (!f || (c && !there))
		return true; /* no room for more names: assumes that it does */
	return there && there->module_id == f->module_id && there->name_id == f->name_id &&
	       there->arity == f->arity && jit_find(r->jit, addr, &j) &&
	       addr - j.start == (j.preamble ? BEAM_CODE_INFO_SIZE : 0);
}

void beam_resolver_watch_calls(struct beam_resolver *r, const struct call_function *functions,
			       unsigned int nr, unsigned int text, bool shapes)
{
	r->call_text = text;
	r->call_shapes = shapes;
	r->calls = functions;
	r->nr_calls = nr;
}

int resolve_call(struct resolver *base, struct names *names, const struct rec_raw_call *raw,
		 struct resolved_call *out)
{
	struct beam_resolver *r = CONTAINER_OF(base, struct beam_resolver, base);
	struct segments segments = {.mem.read = read_segments, .raw = raw};
	struct term_reader reader = {
		.mem = &segments.mem,
		.atoms = r->node->atoms,
		.node = r->node,
		.copied = true,
		.pids = &r->pids,
		.ports = &r->ports,
		.otp = r->node->identity.otp,
		.depth = 1000,
		.max_len = r->call_text,
		.max_elements = CALL_ELEMENTS,
	};
	const struct call_function *f = NULL;
	uint64_t terms[255];

	if (raw->nr_terms > ARRAY_SIZE(terms))
		return -EINVAL;
	if (raw->kind == CALL_KIND_CALL) {
		if (raw->point >= r->nr_calls)
			return -EINVAL;
		f = &r->calls[raw->point];
	}
	/* BPF copies no term if something else has returned to this return site. */
	if (read_segments(&segments.mem, raw->terms, terms, 8 * (size_t)raw->nr_terms))
		return -EINVAL;
	if (f)
		out->function = function_of_mfa(r, names, f->mfa, f->kind);
	if (f && raw->addr && !is_entry(r, names, raw->addr, out->function))
		return 1;
	if (f && f->accept && !f->accept(f->ctx, &reader, terms, raw->nr_terms))
		return 1;
	out->ends = f && f->ends && f->ends(f->ctx, raw->caller, raw->h.ts_ns);
	out->caller = caller_of(r, names, raw, out->function);
	out->process = process_of_epid(r, names, raw->epid);
	out->thread = thread_of_tid(r, names, (int)raw->os_tid, THREAD_UNKNOWN, 0)->id;
	if (f && r->call_shapes)
		out->shape = shape_string(names, &reader, terms, raw->nr_terms);
	for (uint32_t i = 0; i < raw->nr_terms; i++)
		add_term(out, &reader, terms[i], r->call_text, raw->nr_terms - i);
	return 0;
}
