/* SPDX-License-Identifier: BSD-2-Clause */
/* Addresses -> frames of the dictionary; part of the resolver (resolve.h). */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/idmap.h"
#include "base/log.h"
#include "beam/code/jit_name.h"
#include "beam/resolve/native_function.h"
#include "beam/resolve/resolve_internal.h"
#include "target/objects.h"

void frame_push(struct frame_list *l, uint32_t frame)
{
	if (frame && l->out->nr_frames < RESOLVED_FRAMES)
		l->out->frames[l->out->nr_frames++] = frame;
}

static uint32_t intern(struct names *names, const char *s, size_t len)
{
	return names_intern_string(names, s, len, NULL);
}

uint32_t frame_of_name(struct names *names, const char *module, const char *name, int32_t arity,
		       enum frame_kind kind)
{
	uint32_t m = module ? intern(names, module, strlen(module)) : 0;
	uint32_t f = names_intern_function(names, m, intern(names, name, strlen(name)), arity, kind,
					   NULL);

	return names_intern_frame(names, f, 0, 0, NULL);
}

/* ---- names of JIT code ---------------------------------------------------------------------- */

/* "lists:map/2" -> function id.  A name that cannot be parsed is used unchanged. */
static uint32_t function_of_name(struct names *names, const struct jit_function *j,
				 enum frame_kind kind)
{
	struct strbuf module = STRBUF_INIT, name = STRBUF_INIT;
	uint32_t m = 0, n;
	int32_t arity = -1;

	if (kind != FRAME_RUNTIME && jit_name_parse(j, &module, &name, &arity)) {
		m = intern(names, module.buf, module.len);
		n = intern(names, name.buf, name.len);
	} else {
		n = intern(names, j->name, j->name_len);
	}
	strbuf_free(&module);
	strbuf_free(&name);
	return names_intern_function(names, m, n, arity, kind, NULL);
}

static bool is_module(const struct jit_function *j, const char *name)
{
	return j->module_len == strlen(name) && memcmp(j->module, name, j->module_len) == 0;
}

static bool has_name(const struct jit_function *j, const char *name)
{
	return j->name_len == strlen(name) && memcmp(j->name, name, j->name_len) == 0;
}

const struct cached_frame *frame_of_jit(struct beam_resolver *r, struct names *names, raddr addr)
{
	struct cached_frame *c = &r->frames[hash_mix(0, addr) & (FRAME_CACHE_SIZE - 1)];
	struct jit_function j;
	uint32_t function, file = 0;

	if (c->serial && c->addr == addr && jit_serial(r->jit, addr) == c->serial)
		return c;
	if (!jit_find(r->jit, addr, &j))
		return NULL;
	c->addr = addr;
	c->serial = j.serial;
	c->preamble = j.preamble;
	/* The outermost return address is the entry of normal_exit.  Return addresses are looked up
	 * by the byte before them, which here is in the preamble: both names mean the root. */
	c->root = has_name(&j, "erts_beamasm:normal_exit/0-CodeInfoPrologue") ||
		  has_name(&j, "erts_beamasm:normal_exit/0");
	/* erts_beamasm is code of the VM that looks like a module (jit/beam_jit_main.cpp). */
	c->kind = j.fragment || is_module(&j, "erts_beamasm") ? FRAME_RUNTIME : FRAME_ERLANG;
	function = function_of_name(names, &j, c->kind);
	if (j.file && c->kind == FRAME_ERLANG)
		file = intern(names, j.file, j.file_len);
	c->frame = names_intern_frame(names, function, file, file ? j.line : 0, NULL);
	return c;
}

/* ---- native and kernel frames --------------------------------------------------------------- */

const char *kernel_name(struct beam_resolver *r, uint64_t addr)
{
	struct error why;

	/* Reads /proc/kallsyms on first use, as it takes longer than all the rest of a start. */
	if (!r->kernel_tried) {
		r->kernel_tried = true;
		if (kallsyms_open(&r->kernel, &why))
			log_info("kernel functions have no names: %s", why.msg);
	}
	return r->kernel ? kallsyms_find(r->kernel, addr) : NULL;
}

uint32_t frame_of_kernel(struct beam_resolver *r, struct names *names, uint64_t addr)
{
	const char *name = kernel_name(r, addr);

	return frame_of_name(names, NULL, name ? name : "[kernel]", -1, FRAME_KERNEL);
}

uint32_t frame_of_native(struct beam_resolver *r, struct names *names, raddr addr,
			 const char **symbol)
{
	struct object_function f;
	uint32_t frame;
	char name[256];

	*symbol = NULL;
	if (native_function(r->node, addr, false, &f))
		return frame_of_name(names, NULL, "[unknown]", -1, FRAME_NATIVE);
	*symbol = f.symbol;
	frame = frame_of_name(names, f.symbol ? f.object : NULL,
			      native_function_name(&f, name, sizeof(name)), -1, FRAME_NATIVE);
	names_set_symbol_source(names, names_frame(names, frame)->function, f.source);
	return frame;
}

static uint32_t atom_string(struct beam_resolver *r, struct names *names, uint64_t term)
{
	size_t len;
	const char *text = beam_atom_text(r->node->atoms, term, &len);

	return text ? intern(names, text, len) : 0;
}

uint32_t function_of_mfa(struct beam_resolver *r, struct names *names, const uint64_t mfa[3],
			 enum frame_kind kind)
{
	uint32_t m = atom_string(r, names, mfa[0]), f = atom_string(r, names, mfa[1]);

	if (!m || !f || mfa[2] > BEAM_MAX_ARITY)
		return 0;
	return names_intern_function(names, m, f, (int32_t)mfa[2], kind, NULL);
}

uint32_t frame_of_mfa(struct beam_resolver *r, struct names *names, const uint64_t mfa[3],
		      enum frame_kind kind)
{
	uint32_t function = function_of_mfa(r, names, mfa, kind);

	return function ? names_intern_frame(names, function, 0, 0, NULL) : 0;
}

bool frame_is_mfa(struct beam_resolver *r, struct names *names, uint32_t frame,
		  const uint64_t mfa[3])
{
	const struct name_frame *f = names_frame(names, frame);

	return f && f->function == function_of_mfa(r, names, mfa, FRAME_ERLANG);
}

/* 61234 -> 61000: an estimate is shown with two significant digits. */
static uint64_t two_digits(uint64_t n)
{
	uint64_t unit = 1;

	while (n / unit >= 100)
		unit *= 10;
	return (n + unit / 2) / unit * unit;
}

void frame_push_elided(struct names *names, struct frame_list *l, const struct rec_raw_sample *raw)
{
	uint64_t frames = raw->skipped_frames, seen = raw_leaf_frames(raw) + raw->skipped_frames;
	char text[64];

	/* Assumes as many frames per skipped word as per walked word. */
	if (raw->skipped_words && raw->walked_words) {
		frames += raw->skipped_words * seen / raw->walked_words;
		frames = two_digits(frames);
	}
	if (frames == 0)
		return;
	snprintf(text, sizeof(text), "[... %s%" PRIu64 " frames ...]",
		 raw->skipped_words ? "~" : "", frames);
	frame_push(l, frame_of_name(names, NULL, text, -1, FRAME_ELIDED));
}

void frame_push_repeated(struct names *names, struct frame_list *l, uint64_t times)
{
	uint64_t shown = two_digits(times);
	char text[64];

	snprintf(text, sizeof(text), "[... recursion, %s%" PRIu64 " times ...]",
		 shown == times ? "" : "~", shown);
	frame_push(l, frame_of_name(names, NULL, text, -1, FRAME_ELIDED));
}
