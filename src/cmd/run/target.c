/* SPDX-License-Identifier: BSD-2-Clause */
/* See target.h. */
#include "cmd/run/target.h"

#include <errno.h>
#include <string.h>

#include "base/log.h"
#include "base/units.h"
#include "base/write_error.h"
#include "beam/locate/find.h"
#include "beam/locate/node_open.h"
#include "beam/vm/facts.h"
#include "target/proc.h"

/* Says on stderr that a core file is read, as answers look like those of a live node; and what of
 * it is missing. */
static void report_core(const struct beam_node *n)
{
	const struct core_facts *facts = core_file_facts(n->core);
	char missing[32], size[32];

	if (facts->signal)
		log_warn("ebeam: core file of pid %d, ended by signal %d (%s)", facts->os_pid,
			 facts->signal, strsignal(facts->signal));
	else
		log_warn("ebeam: core file of pid %d%s", facts->os_pid,
			 facts->torn ? ", copied while it ran: parts are of different moments"
				     : "");
	if (facts->missing_size)
		log_warn("ebeam: %s is cut short: %s of %s are missing; the answer lacks the "
			 "memory that they held",
			 facts->path,
			 units_format_bytes(facts->missing_size, missing, sizeof(missing)),
			 units_format_bytes(facts->size, size, sizeof(size)));
}

unsigned int target_how(const struct options *opt)
{
	return opt->try_layout ? BEAM_OPEN_TRY_LAYOUT : 0;
}

const char *target_untested(const struct beam_node *n, char *buf, size_t size)
{
	bool dwarf = strncmp(n->layout_origin, "DWARF", 5) == 0;

	if (!n->untested[0])
		return NULL;
	snprintf(buf, size,
		 "%s: all checks have passed%s; what no layout describes (term tags, ids, flags, "
		 "instructions) is taken as in OTP %d",
		 n->untested, dwarf ? "" : ", but a field that no check reads may be elsewhere",
		 n->identity.otp);
	return buf;
}

static void report_untested(const struct beam_node *n)
{
	char text[TARGET_UNTESTED_SIZE];

	if (target_untested(n, text, sizeof(text)))
		log_warn("ebeam: OTP %s is read %s", n->identity.otp_text, text);
}

static void report_stopped(int os_pid)
{
	if (proc_is_stopped(os_pid))
		log_warn("ebeam: the node (pid %d) is stopped (SIGSTOP): nothing happens in it",
			 os_pid);
}

static int open_core(struct beam_node **out, const struct options *opt, unsigned int how,
		     struct error *err)
{
	int rc;

	if (opt->pid)
		return error_set(err, ERROR_KIND_USAGE, -EINVAL,
				 "-p names a running node and --core a core file: give one of "
				 "them");
	rc = beam_node_open_core(out, opt->core, opt->exe, target_how(opt) | how, err);
	if (!rc)
		report_core(*out);
	return rc;
}

int target_open_core(struct beam_node **out, const struct options *opt, struct error *err)
{
	return open_core(out, opt, BEAM_OPEN_PARTIAL, err);
}

int target_check_options(const struct options *opt, struct error *err)
{
	if (opt->exe && !opt->core)
		return error_set(err, ERROR_KIND_USAGE, -EINVAL,
				 "--exe goes with --core: a running node needs none");
	return 0;
}

int target_open(struct beam_node **out, const struct command_context *ctx, struct error *err)
{
	int os_pid, rc = target_check_options(&ctx->opt, err);

	if (rc)
		return rc;
	if (ctx->opt.core) {
		rc = open_core(out, &ctx->opt, 0, err);
	} else {
		rc = beam_find(&os_pid, ctx->opt.pid, target_how(&ctx->opt), err);
		rc = rc ? rc : beam_node_open(out, os_pid, target_how(&ctx->opt), err);
		if (!rc)
			report_stopped(os_pid);
	}
	if (!rc)
		report_untested(*out);
	return rc;
}

int target_failed(const struct beam_node *n, int rc, struct error *err)
{
	if (rc != -ESRCH || !n || !err ||
	    (err->kind != ERROR_KIND_FAILED && err->kind != ERROR_KIND_UNSUPPORTED) ||
	    !beam_node_exits(n, BEAM_NODE_EXIT_MS))
		return rc;
	return error_set(err, ERROR_KIND_NO_NODE, rc, "the node (pid %d) has exited", n->os_pid);
}

int target_close(struct beam_node *n, int rc, struct error *err)
{
	bool whole = !n || !n->core || !core_file_facts(n->core)->missing_size;
	int os_pid = n ? n->os_pid : 0;
	bool there;

	rc = target_failed(n, rc, err);
	there = !n || beam_node_is_there(n);
	beam_node_close(n);
	if (!rc && !whole)
		return ERROR_KIND_PARTIAL; /* target_open() has reported it */
	/* A process or table that was not found may be in the missing part of the core file. */
	if (rc < 0 && !whole && err &&
	    (err->kind == ERROR_KIND_FAILED || err->kind == ERROR_KIND_NO_NODE)) {
		error_prefix(err, "in what is left of this core file");
		err->kind = ERROR_KIND_FAILED;
	}
	if (rc || there)
		return rc;
	return error_set(err, ERROR_KIND_PARTIAL, -ESRCH,
			 "the node (pid %d) exited while it was read: the answer may be incomplete",
			 os_pid);
}

int target_need(const struct beam_node *n, raddr anchor, const char *table, struct error *err)
{
	return anchor ? 0 : beam_node_lacks(n, table, err);
}

static void write_core(struct jsonw *w, const struct beam_node *n)
{
	const struct core_facts *facts;

	if (!n->core) {
		jsonw_null(w, "core");
		return;
	}
	facts = core_file_facts(n->core);
	jsonw_begin_object(w, "core");
	jsonw_string(w, "file", facts->path);
	jsonw_string(w, "program", *facts->program ? facts->program : NULL);
	if (facts->signal)
		jsonw_int(w, "signal", facts->signal);
	else
		jsonw_null(w, "signal");
	jsonw_uint(w, "size", facts->size);
	jsonw_uint(w, "missing_size", facts->missing_size);
	jsonw_end_object(w);
}

void target_json_begin(struct jsonw *w, const struct command_context *ctx, struct beam_node *n)
{
	struct beam_facts facts;
	bool known = beam_node_facts(n, &facts, NULL) == 0;

	envelope_head(w, ctx->command->name);
	jsonw_begin_object(w, "node");
	jsonw_uint_if(w, "os_pid", n->os_pid, (uint64_t)n->os_pid);
	jsonw_string(w, "name", known ? facts.name : NULL);
	jsonw_string(w, "otp", n->identity.otp_text);
	jsonw_string(w, "erts", n->identity.erts);
	jsonw_string(w, "flavor", beam_flavor(&n->identity));
	jsonw_string(w, "untested", n->untested[0] ? n->untested : NULL);
	write_core(w, n);
	jsonw_end_object(w);
	envelope_time(w, 0);
}
