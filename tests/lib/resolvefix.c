/* SPDX-License-Identifier: BSD-2-Clause */
/* See resolvefix.h. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "lib/resolvefix.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/compiler.h"

#define FUNCTION_SIZE 0x100u
#define PREAMBLE_SIZE 0x10u
#define NR_FUNCTIONS  11

static const char *const fragments[] = {
	"call_light_bif_shared", "call_bif_shared", "call_nif_shared",
	"i_bif_body_shared",	 "garbage_collect", "process_main",
};

/* Low addresses of the kernel half, so that they cannot be those of this machine's functions. */
static const char kernel_symbols[] = "ffff800000001000 T entry_SYSCALL_64\n"
				     "ffff800000002000 T do_epoll_wait\n"
				     "ffff800000003000 T tcp_sendmsg\n"
				     "ffff800000004000 D data\n";

static void add_fragments(struct fix *x)
{
	struct jitrec r = {0};
	char name[64];

	jitrec_module(&r, "global", x->base + FIX_FRAGMENTS,
		      FUNCTION_SIZE * (uint32_t)ARRAY_SIZE(fragments));
	for (uint32_t i = 0; i < ARRAY_SIZE(fragments); i++) {
		snprintf(name, sizeof(name), "global::%s", fragments[i]);
		jitrec_range(&r, name, FUNCTION_SIZE * i, FUNCTION_SIZE * (i + 1));
	}
	jitlist_add(x->f->im, x->f->node.anchors.jit_descriptor, &r);
	jitrec_free(&r);
}

static void add_beamasm(struct fix *x)
{
	struct jitrec r = {0};

	jitrec_module(&r, "erts_beamasm", x->base + FIX_BEAMASM, 0x60);
	jitrec_range(&r, "erts_beamasm::codeHeader", 0, 0x10);
	jitrec_range(&r, "erts_beamasm:normal_exit/0-CodeInfoPrologue", 0x10, 0x20);
	jitrec_range(&r, "erts_beamasm:normal_exit/0", 0x20, 0x40);
	jitrec_range(&r, "erts_beamasm:return_trace/0", 0x40, 0x60);
	jitlist_add(x->f->im, x->f->node.anchors.jit_descriptor, &r);
	jitrec_free(&r);
	x->normal_exit = x->base + FIX_BEAMASM + 0x20;
	jitrec_emulator(&r, false, x->normal_exit);
	jitlist_add(x->f->im, x->f->node.anchors.jit_descriptor, &r);
	jitrec_free(&r);
}

static void add_lists(struct fix *x)
{
	struct jitrec r = {0};
	char name[64];

	jitrec_module(&r, "lists", x->base + FIX_LISTS, FUNCTION_SIZE * NR_FUNCTIONS);
	for (uint32_t i = 0; i < NR_FUNCTIONS; i++) {
		uint32_t start = FUNCTION_SIZE * i;

		snprintf(name, sizeof(name), "lists:%c/%u-CodeInfoPrologue", 'a' + (char)i, i + 1);
		jitrec_range(&r, name, start, start + PREAMBLE_SIZE);
		snprintf(name, sizeof(name), "lists:%c/%u", 'a' + (char)i, i + 1);
		jitrec_range(&r, name, start + PREAMBLE_SIZE, start + FUNCTION_SIZE);
		for (uint32_t line = 0; line < 3; line++)
			jitrec_line(&r, start + PREAMBLE_SIZE + 0x40 * line, 100 * (i + 1) + line,
				    "lists.erl");
	}
	jitlist_add(x->f->im, x->f->node.anchors.jit_descriptor, &r);
	jitrec_free(&r);
}

struct fix *fix_open(int otp)
{
	struct fix *x = calloc(1, sizeof(*x));
	struct address_range ranges[EBEAM_JIT_RANGES], block;
	struct beam_node *n;

	x->mapping = mmap(NULL, FIX_MAPPING_SIZE, PROT_READ | PROT_EXEC,
			  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	assert_true(x->mapping != MAP_FAILED);
	x->base = (raddr)(uintptr_t)x->mapping;
	x->f = fakenode_open(otp);
	n = &x->f->node;
	n->os_pid = getpid();
	assert_int_equal(objects_open(&n->objects, n->os_pid, NULL), 0);
	image_map(x->f->im, x->base, FIX_MAPPING_SIZE);
	add_fragments(x);
	add_beamasm(x);
	add_lists(x);
	x->names = names_open();
	assert_int_equal(beam_resolver_open(&x->r, n, NULL), 0);
	assert_int_equal(beam_resolver_sync(x->r, NULL), 0);
	assert_in_range(beam_resolver_code_ranges(x->r, ranges, EBEAM_JIT_RANGES, &block), 1, 2);
	x->r->kernel_tried = true; /* not this machine's */
	assert_int_equal(
		kallsyms_parse(&x->r->kernel, kernel_symbols, strlen(kernel_symbols), NULL), 0);
	return x;
}

void fix_close(struct fix *x)
{
	struct objects *objects = x->f->node.objects;

	beam_resolver_close(x->r);
	names_close(x->names);
	fakenode_close(x->f);
	objects_close(objects);
	munmap(x->mapping, FIX_MAPPING_SIZE);
	free(x);
}

raddr fix_fragment(const struct fix *x, const char *name)
{
	for (size_t i = 0; i < ARRAY_SIZE(fragments); i++) {
		if (strcmp(fragments[i], name) == 0)
			return x->base + FIX_FRAGMENTS + FUNCTION_SIZE * i;
	}
	fail_msg("no fragment %s", name);
	return 0;
}

raddr fix_return(const struct fix *x, unsigned int nth, unsigned int line)
{
	assert_true(nth < NR_FUNCTIONS && line < 3);
	return x->base + FIX_LISTS + FUNCTION_SIZE * nth + PREAMBLE_SIZE + 0x40 * line + 0x20;
}

void fix_load(struct fix *x, raddr entry, struct jitrec *r)
{
	size_t size = sizeof(struct rec_raw_code) + r->bytes.len;
	struct rec_raw_code *raw = calloc(1, size + 8);

	raw->h = (struct rec_header){.type = REC_RAW_CODE, .size = (uint32_t)(size + 7) & ~7u};
	raw->action = CODE_LOADED;
	raw->entry = entry;
	raw->record_size = r->bytes.len;
	raw->copied = (uint32_t)r->bytes.len;
	memcpy(raw->bytes, r->bytes.data, r->bytes.len);
	x->r->base.code(&x->r->base, raw);
	free(raw);
	jitrec_free(r);
}

/* ---- raw samples ---------------------------------------------------------------------------- */

void fix_sample(const struct fix *x, union fix_sample *s)
{
	memset(s, 0, sizeof(*s));
	s->rec = (struct rec_raw_sample){
		.h = {.type = REC_RAW_SAMPLE, .size = sizeof(s->rec), .ts_ns = 1},
		.os_tid = (uint32_t)getpid(),
		.user_ip = fix_return(x, 0, 0),
		.process = 0x7f0000001000,
		.epid = 0x2983,
		.thread_type = THREAD_NORMAL,
		.scheduler = 1,
		.place = PLACE_JIT,
		.stack_source = STACK_RSP,
	};
}

static void push(union fix_sample *s, uint64_t addr)
{
	s->rec.addrs[s->rec.nr_kernel + s->rec.nr_leaf + s->rec.nr_root] = addr;
	s->rec.h.size += 8;
}

void fix_kernel(union fix_sample *s, uint64_t addr)
{
	assert_int_equal(s->rec.nr_leaf + s->rec.nr_root, 0);
	push(s, addr);
	s->rec.nr_kernel++;
}

void fix_leaf(union fix_sample *s, uint64_t addr)
{
	assert_int_equal(s->rec.nr_root, 0);
	push(s, addr);
	s->rec.nr_leaf++;
}

void fix_root(union fix_sample *s, uint64_t addr)
{
	push(s, addr);
	s->rec.nr_root++;
}

int fix_resolve(struct fix *x, const union fix_sample *s, struct resolved_sample *out)
{
	return x->r->base.sample(&x->r->base, x->names, &s->rec, out);
}

static void add_frame(struct strbuf *text, const struct names *names, uint32_t id)
{
	static const char *const kinds[] = {
		[FRAME_ERLANG] = "",	    [FRAME_BIF] = "bif ",
		[FRAME_NIF] = "nif ",	    [FRAME_NATIVE] = "native ",
		[FRAME_KERNEL] = "kernel ", [FRAME_RUNTIME] = "runtime ",
		[FRAME_ELIDED] = "elided ", [FRAME_STATE] = "state ",
	};
	const struct name_frame *frame = names_frame(names, id);
	const struct name_function *function;

	assert_non_null(frame);
	function = names_function(names, frame->function);
	strbuf_addstr(text, text->len ? "; " : "");
	strbuf_addstr(text, kinds[function->kind]);
	names_format_function(text, function);
	if (frame->line)
		strbuf_addf(text, " %s:%u", frame->file, frame->line);
}

void fix_assert(struct fix *x, const union fix_sample *s, const char *frames, enum sample_kind kind,
		enum sample_status status)
{
	struct strbuf text = STRBUF_INIT;
	struct resolved_sample out;

	assert_int_equal(fix_resolve(x, s, &out), 0);
	for (uint32_t i = 0; i < out.nr_frames; i++)
		add_frame(&text, x->names, out.frames[i]);
	assert_string_equal(text.buf, frames);
	assert_int_equal(out.kind, kind);
	assert_int_equal(out.status, status);
	strbuf_free(&text);
}
