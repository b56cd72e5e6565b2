/* SPDX-License-Identifier: BSD-2-Clause */
/* See node_wide.h. */
#include "cmd/events/node_wide.h"

#include <errno.h>
#include <stdlib.h>

#include "base/compiler.h"
#include "base/log.h"
#include "base/units.h"
#include "base/xalloc.h"
#include "beam/code/call_targets.h"
#include "beam/process/process.h"
#include "probe/session/call_probes.h"

#define TERM_SIZE 256

/* Enough for the key of a persistent term, which is the first argument; little of its value. */
const struct live_calls node_wide_calls = {.words = 64, .depth = 2, .beside = true};

#define NOT_WATCHED "literal areas, code purges and blocked schedulers are not watched"

struct node_wide_probes {
	struct call_probes *probes;
	VEC(struct call_function) named;
};

/* call_function.ends: the end of a BIF is seen if it has a probe on its return. */
static bool ends(void *ctx, uint64_t site, uint64_t ts_ns)
{
	UNUSED(site);
	UNUSED(ts_ns);
	return ((const struct node_wide_bif *)ctx)->returns;
}

static int probe(struct node_wide_probes *p, struct beam_node *n, const struct call_target *t,
		 const struct node_wide_bif *bif, struct error *err)
{
	struct call_filter filter = {.arity = t->arity};
	uint32_t point = (uint32_t)p->named.len;
	char path[OBJECTS_PATH_SIZE];
	struct call_probe probe = {
		.path = path,
		.name = bif->function,
		.point = point,
		.returns = bif->returns,
	};
	struct call_code code;
	int rc;

	if (!call_target_code(&code, n, t))
		return error_set(err, ERROR_KIND_UNSUPPORTED, -ENOENT,
				 "the code of %s:%s/%d is in no file that is mapped", bif->module,
				 bif->function, bif->arity);
	rc = objects_file_path(n->os_pid, code.map, path);
	if (rc)
		return error_set(err, ERROR_KIND_PRIVILEGE, rc, "cannot open %s of the node",
				 code.map->path);
	probe.elf = code.elf;
	probe.addr = code.addr;
	rc = call_probes_filter(p->probes, point, &filter, err);
	rc = rc ? rc : call_probes_add(p->probes, &probe, err);
	if (rc == 0)
		vec_push(&p->named, ((struct call_function){
					    .mfa = {t->module, t->function, t->arity},
					    .kind = FRAME_BIF,
					    .ends = ends,
					    .ctx = (void *)(uintptr_t)bif,
				    }));
	return rc;
}

/* Finds a BIF and adds its probe; 0 also if this release does not have it. */
static int find(struct node_wide_probes *p, struct live *l, const struct node_wide_bif *bif,
		struct error *err)
{
	struct call_query query = {bif->module, bif->function, bif->arity};
	struct call_targets targets;
	int rc = call_targets_find(&targets, l->node, beam_resolver_jit(l->resolver), &query, err);

	if (rc)
		return rc == -ENOENT ? 0 : rc;
	if (targets.v.len && targets.v.data[0].c_function)
		rc = probe(p, l->node, &targets.v.data[0], bif, err);
	call_targets_free(&targets);
	return rc;
}

void node_wide_probes_open(struct node_wide_probes **out, struct event_run *run,
			   double max_overhead)
{
	struct node_wide_probes *p = xcalloc(1, sizeof(*p));
	struct live *l = event_run_live(run);
	struct call_programs programs;
	struct session_calls calls = {.max_overhead = max_overhead};
	struct error why;
	int rc = 0;

	*out = p;
	if (!session_call_programs(l->session, &programs)) {
		live_add_warning(l, NOT_WATCHED ": the kernel refuses the programs (see -v)");
		return;
	}
	call_probes_open(&p->probes, &programs);
	for (unsigned int i = 0; i < nr_node_wide_bifs && rc == 0; i++)
		rc = find(p, l, &node_wide_bifs[i], &why);
	beam_resolver_watch_calls(l->resolver, p->named.data, (unsigned int)p->named.len, TERM_SIZE,
				  false);
	calls.points = call_probes_points(p->probes, &calls.nr);
	if (rc == 0 && calls.nr)
		rc = session_add_calls(l->session, &calls, &why);
	if (rc) {
		struct strbuf text = STRBUF_INIT;

		strbuf_addf(&text, NOT_WATCHED ": %s", why.msg);
		live_add_warning(l, text.buf);
		strbuf_free(&text);
	} else if (calls.nr)
		enrich_add_meta(l->enrich, NODE_WIDE_KEY, "watched");
}

void node_wide_probes_close(struct node_wide_probes *p)
{
	if (!p)
		return;
	call_probes_close(p->probes);
	vec_free(&p->named);
	free(p);
}

void node_wide_probes_list(FILE *out)
{
	fputs("and uprobes on BIFs whose work concerns all schedulers or processes, if this "
	      "release has them:",
	      out);
	for (unsigned int i = 0; i < nr_node_wide_bifs; i++) {
		const struct node_wide_bif *bif = &node_wide_bifs[i];

		fprintf(out, "%s %s:%s/%d", i ? "," : "", bif->module, bif->function, bif->arity);
	}
	fputc('\n', out);
}

void node_wide_check_blockers(struct node_wide *w, struct event_run *run)
{
	struct beam_node *n = event_run_node(run);
	struct process_facts facts;

	for (size_t i = w->blockers.len; n && i-- > 0;) {
		uint64_t epid = w->blockers.data[i].epid;

		if (process_read(n, epid, 0, &facts) == -ESRCH)
			node_wide_blocker_ended(w, epid, clock_monotonic_ns());
	}
}
