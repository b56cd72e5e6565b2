/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * placecheck PID FUNCTION...: shows on a live node that the places of uprobes stand for the entries
 * of their functions.  Puts a uprobe on both, says "ready", counts until a line comes on standard
 * input, and prints a line of JSON for each function that the node's executable has: hits of the
 * entry, hits of the place that followed one with the same arguments and the same stack, and what
 * was otherwise.  Where the place is the entry there is one probe, and nothing to compare.
 */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/compiler.h"
#include "base/vec.h"
#include "places.skel.h"
#include "probe/sources.h"
#include "target/elf.h"

#define MAX_FUNCTIONS 64u /* as in bpf/places.bpf.c */

struct checked {
	const char *name;
	unsigned int args;
	uint64_t entry; /* file offset */
	struct placement place;
	struct bpf_link *at_entry, *at_place;
};

struct place_counts {
	uint32_t args, stack_depth;
	uint64_t entries, places, strays, repeated, mismatches, late, lost;
};

/* All that any row of the table needs of it; of others all six. */
static unsigned int args_of(const char *name)
{
	struct source_function f;
	unsigned int args = 0;

	for (unsigned int i = 0; source_function(i, &f); i++) {
		for (size_t k = 0; k < ARRAY_SIZE(f.symbols) && f.symbols[k]; k++)
			if (strcmp(f.symbols[k], name) == 0)
				args |= f.request.args;
	}
	return args ? args : PLACEMENT_ARGS(6);
}

static bool find(const struct elf_file *elf, const char *name, struct checked *out)
{
	struct placement_request request = {.args = args_of(name),
					    .nops = placement_kernel_emulates_nops()};
	struct elf_symbol symbol;

	*out = (struct checked){.name = name, .args = request.args};
	if (!elf_file_symbol(elf, name, &symbol) || !symbol.function)
		return false;
	placement_find_in_elf(&out->place, elf, symbol.addr, &request);
	out->entry = elf_file_offset_of(elf, symbol.addr);
	return out->place.ok;
}

static struct bpf_link *attach(struct bpf_program *prog, const char *exe, int os_pid,
			       uint64_t offset, unsigned int function)
{
	LIBBPF_OPTS(bpf_uprobe_opts, opts, .bpf_cookie = function);
	struct bpf_link *link = bpf_program__attach_uprobe_opts(prog, os_pid, exe, offset, &opts);

	if (!link) {
		fprintf(stderr, "placecheck: no uprobe at offset %" PRIx64 ": %s\n", offset,
			strerror(errno));
		exit(1);
	}
	return link;
}

static void print_counts(struct places_bpf *skel, const struct checked *c, uint32_t function)
{
	struct place_counts n = {0};

	bpf_map_lookup_elem(bpf_map__fd(skel->maps.counts), &function, &n);
	if (!c->at_place) { /* one and the same probe */
		n.places = n.entries;
		n.repeated = 0;
	}
	printf("{\"function\": \"%s\", \"offset\": %u, \"instruction\": \"%s\", \"emulated\": %s, "
	       "\"stack_depth\": %u, \"entries\": %" PRIu64 ", \"places\": %" PRIu64
	       ", \"strays\": %" PRIu64 ", \"repeated\": %" PRIu64 ", \"mismatches\": %" PRIu64
	       ", \"late\": %" PRIu64 ", \"lost\": %" PRIu64 "}\n",
	       c->name, c->place.offset, c->place.instruction, c->place.emulated ? "true" : "false",
	       c->place.stack_depth, n.entries, n.places, n.strays, n.repeated, n.mismatches,
	       n.late, n.lost);
}

/* Places first: an entry is not hit before its place is watched. */
static void attach_all(struct places_bpf *skel, struct checked *c, unsigned int nr, const char *exe,
		       int os_pid)
{
	for (unsigned int i = 0; i < nr; i++) {
		struct place_counts n = {.args = c[i].args, .stack_depth = c[i].place.stack_depth};

		bpf_map_update_elem(bpf_map__fd(skel->maps.counts), &i, &n, BPF_ANY);
		if (c[i].place.offset)
			c[i].at_place = attach(skel->progs.at_place, exe, os_pid,
					       c[i].entry + c[i].place.offset, i);
	}
	for (unsigned int i = 0; i < nr; i++)
		c[i].at_entry = attach(skel->progs.at_entry, exe, os_pid, c[i].entry, i);
}

int main(int argc, char **argv)
{
	struct timespec a_moment = {.tv_nsec = 50 * 1000 * 1000};
	int os_pid = argc > 1 ? atoi(argv[1]) : 0;
	struct checked checked[MAX_FUNCTIONS];
	unsigned int nr = 0;
	struct places_bpf *skel;
	struct elf_file *elf;
	struct error err;
	char exe[64], line[16];

	snprintf(exe, sizeof(exe), "/proc/%d/exe", os_pid);
	if (elf_file_open(&elf, open(exe, O_RDONLY | O_CLOEXEC), exe, &err)) {
		fprintf(stderr, "placecheck: %s\n", err.msg);
		return 1;
	}
	for (int i = 2; i < argc && nr < MAX_FUNCTIONS; i++)
		nr += find(elf, argv[i], &checked[nr]);
	skel = places_bpf__open_and_load();
	if (!skel) {
		fprintf(stderr, "placecheck: %s\n", strerror(errno));
		return 1;
	}
	attach_all(skel, checked, nr, exe, os_pid);
	skel->bss->counting = true;
	puts("ready");
	fflush(stdout);
	if (!fgets(line, sizeof(line), stdin))
		line[0] = '\0';
	skel->bss->counting = false;
	nanosleep(&a_moment, NULL); /* whoever stands between an entry and its place goes on */
	for (unsigned int i = 0; i < nr; i++)
		print_counts(skel, &checked[i], i);
	fflush(stdout);
	for (unsigned int i = 0; i < nr; i++) {
		bpf_link__destroy(checked[i].at_entry);
		bpf_link__destroy(checked[i].at_place);
	}
	places_bpf__destroy(skel);
	elf_file_close(elf);
	return 0;
}
