/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * `ebeam crashdump`: an Erlang crash dump (erl_crash.dump) of a node that goes on, with sections
 * as break.c writes them.  Processes are read and written one after the other, so that any number
 * of them fits in ebeam's memory.
 */
#include "cmd/inspect/crashdump.h"

#include <errno.h>
#include <inttypes.h>

#include "base/log.h"
#include "base/units.h"
#include "beam/code/jit_name.h"
#include "cmd/output/outfile.h"
#include "cmd/run/target.h"
#include "names/names.h"
#include "names/secrets.h"

/* Limits of terms that are written as text: messages of timers, references, names. */
#define TEXT_DEPTH 30
#define TEXT_SIZE  10000

/* Bytes between ErtsCodeMFA, from which the VM counts, and a function's code: the JIT aligns it
 * (code_ix.h, beam_asm.hpp, OTP 25 to 29). */
#define MFA	24
#define MFA_JIT 32

/* ---- texts ----------------------------------------------------------------------------------- */

struct strbuf *crashdump_text_of(struct crashdump *c, enum crashdump_text_id id)
{
	strbuf_reset(&c->texts[id]);
	return &c->texts[id];
}

void crashdump_print(struct crashdump *c, struct strbuf *out, uint64_t term)
{
	size_t from = out->len;

	c->reader.max_len = (unsigned int)from + TEXT_SIZE;
	term_print(&c->reader, out, term);
	if (c->reader.is_secret)
		c->reader.masked += secrets_mask_text(out, from);
}

/* Appends a function as the VM writes it, with quoted atoms. */
static void print_function(struct strbuf *out, const struct jit_function *f)
{
	struct strbuf module = STRBUF_INIT, name = STRBUF_INIT;
	int32_t arity;

	if (jit_name_parse(f, &module, &name, &arity)) {
		names_format_atom(out, module.buf, module.len);
		strbuf_addch(out, ':');
		names_format_atom(out, name.buf, name.len);
		strbuf_addf(out, "/%d", arity);
	} else {
		names_format_text(out, f->name, f->name_len);
	}
	strbuf_free(&module);
	strbuf_free(&name);
}

void crashdump_print_counter(struct crashdump *c, struct strbuf *out, raddr at, bool is_return)
{
	struct jit_function f;

	strbuf_addf(out, "0x%" PRIx64 " (", at);
	if (c->has_code && at && at == c->code.normal_exit) {
		strbuf_addstr(out, "<terminate process normally>");
	} else if (c->has_code && jit_find(c->code.jit, is_return ? at - 1 : at, &f)) {
		print_function(out, &f);
		strbuf_addf(out, " + %" PRIu64,
			    at - f.start + (c->n->identity.jit ? MFA_JIT : MFA));
	} else {
		strbuf_addstr(out, "unknown function");
	}
	strbuf_addch(out, ')');
}

void crashdump_lacks(struct crashdump *c, const char *section)
{
	strbuf_addf(&c->missing, "%s%s", c->missing.len ? ", " : "", section);
}

/* ---- the dump -------------------------------------------------------------------------------- */

static int write_dump(struct crashdump *c, struct error *err)
{
	int rc = crashdump_check(c, err);

	if (rc)
		return rc;
	crashdump_vm(c);
	rc = crashdump_processes(c, err);
	if (rc)
		return rc;
	mem_cached_forget(c->cached);
	crashdump_tables(c);
	crashdump_persistent_terms(c);
	fputs("=literals\n", c->out);
	term_dump_literals(&c->terms);
	term_dump_binaries(&c->terms);
	crashdump_atoms(c);
	fputs("=end\n", c->out);
	return 0;
}

static void report(const struct crashdump *c, uint64_t ns, uint64_t bytes)
{
	struct strbuf line = STRBUF_INIT;
	char a[32], b[32];

	strbuf_addf(&line, "ebeam: %s processes", units_format_count(c->processes, a, sizeof(a)));
	if (bytes)
		strbuf_addf(&line, ", %s", units_format_bytes(bytes, a, sizeof(a)));
	strbuf_addf(&line, " in %s", units_format_ns(ns, b, sizeof(b)));
	if (c->torn)
		strbuf_addf(&line, "; %" PRIu64 " ran or changed meanwhile", c->torn);
	if (c->sensitive)
		strbuf_addf(&line, "; %" PRIu64 " sensitive, without data", c->sensitive);
	if (c->terms.cut + c->cut)
		strbuf_addf(&line, "; %" PRIu64 " terms or messages cut", c->terms.cut + c->cut);
	if (c->terms.unreadable + c->terms.cyclic + c->unreadable)
		strbuf_addf(&line, "; %" PRIu64 " unreadable",
			    c->terms.unreadable + c->terms.cyclic + c->unreadable);
	if (c->missing.len)
		strbuf_addf(&line, "; left out, as not found: %s", c->missing.buf);
	log_warn("%s", line.buf);
	if (c->reader.masked)
		log_warn("ebeam: %" PRIu64 " values under keys that look secret are masked (***); "
			 "other secrets are not: the dump holds the node's data "
			 "(--show-secrets masks nothing)",
			 c->reader.masked);
	strbuf_free(&line);
}

static int open_node(struct crashdump *c, struct error *err)
{
	int rc = target_open(&c->n, c->ctx, err);

	rc = rc ? rc : target_need(c->n, c->n->anchors.proc_tab, "process table", err);
	if (rc)
		return rc;
	c->cached = mem_open_cached(c->n->mem);
	c->view = *c->n;
	c->view.mem = c->cached;
	rc = term_reader_init(&c->reader, &c->formats, &c->view);
	if (rc)
		return error_set(err, ERROR_KIND_FAILED, rc, "cannot read the node: %s",
				 error_text(rc));
	c->reader.depth = TEXT_DEPTH;
	c->reader.is_secret = c->ctx->opt.show_secrets ? NULL : secrets_name;
	c->has_code = stack_code_open(&c->code, c->n, NULL) == 0;
	if (!c->has_code)
		crashdump_lacks(c, "stacks");
	return 0;
}

static int run(struct crashdump *c, struct error *err)
{
	uint64_t start = clock_monotonic_ns();
	struct outfile *o = NULL;
	off_t size;
	int rc = open_node(c, err);

	rc = rc ? rc : outfile_open(&o, c->ctx->opt.output, OUTFILE_PRIVATE, c->ctx->out, err);
	if (rc)
		return rc;
	c->out = outfile_file(o);
	term_dump_open(&c->terms, &c->reader, c->out);
	rc = write_dump(c, err);
	size = ftello(c->out);
	if (rc)
		outfile_abort(&o);
	else
		rc = outfile_commit(&o, err);
	if (!rc)
		report(c, clock_monotonic_ns() - start, size > 0 ? (uint64_t)size : 0);
	return rc;
}

int cmd_crashdump(struct command_context *ctx, struct error *err)
{
	struct crashdump c = {.ctx = ctx};
	int rc;

	if (!ctx->opt.output)
		return error_set(err, ERROR_KIND_USAGE, -EINVAL,
				 "crashdump needs a file: -o erl_crash.dump (-o - is standard "
				 "output)");
	strbuf_init(&c.missing);
	for (int i = 0; i < NR_CRASHDUMP_TEXTS; i++)
		strbuf_init(&c.texts[i]);
	rc = run(&c, err);
	if (c.terms.r)
		term_dump_close(&c.terms);
	if (c.has_code)
		stack_code_close(&c.code);
	mem_close(c.cached);
	process_stack_free(&c.stack);
	vec_free(&c.messages);
	for (int i = 0; i < NR_CRASHDUMP_TEXTS; i++)
		strbuf_free(&c.texts[i]);
	strbuf_free(&c.missing);
	return target_close(c.n, rc, err);
}
