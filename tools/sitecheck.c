/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * sitecheck PID FUNCTION...: shows on a live node that the sites of uprobes stand for the entries
 * of their functions: of all that events come from, and of others.  Puts a uprobe on both, says
 * "ready", counts until a line comes on standard input, and prints a line of JSON for each function
 * that is found, by its symbol or without one: hits of the entry, hits of the site that followed
 * one with the same arguments and the same stack, and what was otherwise.  Where the site is the
 * entry there is one probe, and nothing to compare.
 */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/compiler.h"
#include "base/vec.h"
#include "beam/node/node.h"
#include "sitecheck.skel.h"
#include "beam/locate/node_open.h"
#include "probe/kernel/multi.h"
#include "probe/site/functions.h"
#include "probe/site/sources.h"
#include "target/elf.h"

#define MAX_FUNCTIONS 128u /* as in bpf/sitecheck.bpf.c */

struct checked {
	const char *name;
	unsigned int args;
	uint64_t entry; /* file offset */
	struct placement site;
};

struct site_counts {
	uint32_t args, stack_depth;
	uint64_t entries, sites, strays, repeated, mismatches, late, lost;
};

/* All that any row of the table needs of it; of others all six arguments. */
static struct placement_request request_of(const char *name)
{
	struct placement_request request = {0};
	struct source_function f;

	for (unsigned int i = 0; source_function(i, &f); i++) {
		for (size_t k = 0; k < ARRAY_SIZE(f.symbols) && f.symbols[k]; k++) {
			if (strcmp(f.symbols[k], name) != 0)
				continue;
			request.args |= f.request.args;
			request.returns |= f.returns;
		}
	}
	if (!request.args)
		request.args = PLACEMENT_ARGS(6);
	return request;
}

static bool find(struct functions *f, const char *name, struct checked *out)
{
	struct placement_request request = request_of(name);
	struct placement_pair pair;
	uint64_t addr;

	*out = (struct checked){.name = name, .args = request.args};
	if (!functions_find(f, name, &addr))
		return false;
	if (!placement_find_pair(&pair, functions_elf(f), addr, request.args, request.returns))
		return false;
	out->site = pair.call;
	out->entry = elf_file_offset_of(functions_elf(f), addr);
	return true;
}

struct points {
	uint64_t offsets[MAX_FUNCTIONS], functions[MAX_FUNCTIONS];
	unsigned int nr;
	VEC(struct bpf_link *) links; /* one by one, or */
	int fd;			      /* all at once */
};

static void add_point(struct points *p, uint64_t offset, unsigned int function)
{
	p->offsets[p->nr] = offset;
	p->functions[p->nr++] = function;
}

static void attach(struct points *p, struct bpf_program *prog, const char *exe, int os_pid)
{
	const struct multi_points points = {
		.path = exe, .offsets = p->offsets, .cookies = p->functions, .nr = p->nr};

	p->fd = p->nr && multi_available() ? multi_link(bpf_program__fd(prog), os_pid, &points)
					   : -1;
	for (unsigned int i = 0; p->fd < 0 && i < p->nr; i++) {
		LIBBPF_OPTS(bpf_uprobe_opts, opts, .bpf_cookie = p->functions[i]);
		struct bpf_link *link =
			bpf_program__attach_uprobe_opts(prog, os_pid, exe, p->offsets[i], &opts);

		if (!link) {
			fprintf(stderr, "sitecheck: no uprobe at offset %" PRIx64 ": %s\n",
				p->offsets[i], strerror(errno));
			exit(1);
		}
		vec_push(&p->links, link);
	}
}

static void detach(struct points *p)
{
	if (p->fd >= 0)
		close(p->fd);
	while (p->links.len)
		bpf_link__destroy(p->links.data[--p->links.len]);
	vec_free(&p->links);
}

static void print_counts(struct sitecheck_bpf *skel, const struct checked *c, uint32_t function)
{
	struct site_counts n = {0};

	bpf_map_lookup_elem(bpf_map__fd(skel->maps.counts), &function, &n);
	if (!c->site.offset) { /* one and the same probe */
		n.sites = n.entries;
		n.repeated = 0;
	}
	printf("{\"function\": \"%s\", \"offset\": %u, \"instruction\": \"%s\", \"emulated\": %s, "
	       "\"stack_depth\": %u, \"entries\": %" PRIu64 ", \"sites\": %" PRIu64
	       ", \"strays\": %" PRIu64 ", \"repeated\": %" PRIu64 ", \"mismatches\": %" PRIu64
	       ", \"late\": %" PRIu64 ", \"lost\": %" PRIu64 "}\n",
	       c->name, c->site.offset, c->site.instruction, c->site.emulated ? "true" : "false",
	       c->site.stack_depth, n.entries, n.sites, n.strays, n.repeated, n.mismatches, n.late,
	       n.lost);
}

/* Places first: an entry is not hit before its site is watched. */
static void attach_all(struct sitecheck_bpf *skel, struct checked *c, unsigned int nr,
		       const char *exe, int os_pid, struct points *sites, struct points *entries)
{
	for (unsigned int i = 0; i < nr; i++) {
		struct site_counts n = {.args = c[i].args, .stack_depth = c[i].site.stack_depth};

		bpf_map_update_elem(bpf_map__fd(skel->maps.counts), &i, &n, BPF_ANY);
		if (c[i].site.offset)
			add_point(sites, c[i].entry + c[i].site.offset, i);
		add_point(entries, c[i].entry, i);
	}
	attach(sites, skel->progs.at_site, exe, os_pid);
	attach(entries, skel->progs.at_entry, exe, os_pid);
}

static unsigned int add(struct checked *c, unsigned int nr, struct functions *f, const char *name)
{
	if (nr == MAX_FUNCTIONS || !find(f, name, &c[nr]))
		return nr;
	for (unsigned int i = 0; i < nr; i++) {
		if (c[i].entry == c[nr].entry) /* by another of its names, too */
			return nr;
	}
	return nr + 1;
}

static unsigned int choose(struct checked *c, struct functions *f, int nr_names, char **names)
{
	struct source_function row;
	unsigned int nr = 0;

	for (unsigned int i = 0; source_function(i, &row); i++) {
		for (size_t k = 0; k < ARRAY_SIZE(row.symbols) && row.symbols[k]; k++)
			nr = add(c, nr, f, row.symbols[k]);
	}
	for (int i = 0; i < nr_names; i++)
		nr = add(c, nr, f, names[i]);
	return nr;
}

static struct sitecheck_bpf *load(void)
{
	struct sitecheck_bpf *skel = sitecheck_bpf__open();
	struct bpf_program *p;

	if (skel && multi_available())
		bpf_object__for_each_program(p, skel->obj) bpf_program__set_expected_attach_type(
			p, (enum bpf_attach_type)MULTI_ATTACH_TYPE);
	if (skel && sitecheck_bpf__load(skel) == 0)
		return skel;
	fprintf(stderr, "sitecheck: %s\n", strerror(errno));
	exit(1);
}

int main(int argc, char **argv)
{
	struct timespec a_moment = {.tv_nsec = 50 * 1000 * 1000};
	int os_pid = argc > 1 ? atoi(argv[1]) : 0;
	struct checked checked[MAX_FUNCTIONS];
	struct points sites = {.fd = -1}, entries = {.fd = -1};
	unsigned int nr;
	struct sitecheck_bpf *skel;
	struct functions *f;
	struct beam_node *n;
	struct error err;
	char line[16];

	if (beam_node_open(&n, os_pid, 0, &err) != 0) {
		fprintf(stderr, "sitecheck: %s\n", err.msg);
		return 1;
	}
	functions_open(&f, n);
	nr = choose(checked, f, argc - 2, argv + 2);
	skel = load();
	attach_all(skel, checked, nr, n->exe, os_pid, &sites, &entries);
	skel->bss->counting = true;
	puts("ready");
	fflush(stdout);
	if (!fgets(line, sizeof(line), stdin))
		line[0] = '\0';
	skel->bss->counting = false;
	nanosleep(&a_moment, NULL); /* whoever stands between an entry and its site goes on */
	for (unsigned int i = 0; i < nr; i++)
		print_counts(skel, &checked[i], i);
	fflush(stdout);
	detach(&entries);
	detach(&sites);
	sitecheck_bpf__destroy(skel);
	functions_close(f);
	beam_node_close(n);
	return 0;
}
