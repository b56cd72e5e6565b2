/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * memsnap: records ranges of a live process as a memory image for tests (tests/lib/mem_image.h).
 *
 *   memsnap -p PID -o FILE ADDR:SIZE...
 *   memsnap -p PID -o FILE --node
 *
 * ADDR and SIZE as C writes numbers (0x7f00, 4096).  Every range must be readable as a whole; the
 * process is not stopped, so ranges that change while they are read can disagree.
 * --node: what a survey of a node reads (tests/lib/recorded.h), in whole blocks, and the note
 * that opens it; the survey goes to stdout.
 */
#include <errno.h>
#include <getopt.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/compiler.h"
#include "base/xalloc.h"
#include "beam/locate/node_open.h"
#include "beam/term/atoms.h"
#include "lib/mem_image.h"
#include "lib/recorded.h"
#include "target/mem.h"
#include "target/proc.h"

#define MAX_RANGE_SIZE ((uint64_t)256 << 20) /* as much as a recorder holds */
#define BLOCK_SIZE     128u /* as much more than what is read now, for what is read later */

static const char usage_text[] = "usage: memsnap -p PID -o FILE ADDR:SIZE...|--node\n";

static bool parse_range(const char *text, raddr *addr, size_t *size)
{
	unsigned long long n;
	char *end;

	errno = 0;
	*addr = strtoull(text, &end, 0);
	if (end == text || *end != ':')
		return false;
	text = end + 1;
	n = strtoull(text, &end, 0);
	*size = n;
	return end != text && *end == '\0' && errno == 0 && n > 0 && n <= MAX_RANGE_SIZE;
}

/* Reads one range through the recorder.  Returns false and says why not. */
static bool snap_range(struct mem *recorder, const char *text)
{
	size_t size;
	raddr addr;
	void *buf;
	int code;

	if (!parse_range(text, &addr, &size)) {
		fprintf(stderr, "memsnap: not a range: %s (wanted ADDR:SIZE, at most 256 MiB)\n",
			text);
		return false;
	}
	buf = xmalloc(size);
	code = mem_read(recorder, addr, buf, size);
	free(buf);
	if (code)
		fprintf(stderr, "memsnap: cannot read %s: %s\n", text, error_text(code));
	return code == 0;
}

/* `note` becomes a range of its own; NULL = none. */
static bool write_image(struct mem *recorder, const char *path, const struct strbuf *note)
{
	size_t size, written;
	char *image = mem_recorder_image(recorder, &size);
	FILE *f;

	if (!image) {
		fprintf(stderr, "memsnap: more than 256 MiB in all\n");
		return false;
	}
	if (note) {
		uint64_t head[2] = {RECORDED_NOTE, note->len + 1};

		image = xrealloc(image, size + sizeof(head) + note->len + 1);
		memcpy(image + size, head, sizeof(head));
		memcpy(image + size + sizeof(head), note->buf, note->len + 1);
		size += sizeof(head) + note->len + 1;
	}
	f = fopen(path, "wb");
	if (!f) {
		fprintf(stderr, "memsnap: cannot write %s: %s\n", path, error_text(errno));
		free(image);
		return false;
	}
	written = fwrite(image, 1, size, f);
	free(image);
	if (fclose(f) != 0 || written != size) {
		fprintf(stderr, "memsnap: cannot write %s: %s\n", path, error_text(errno));
		return false;
	}
	return true;
}

/* ---- a node ---------------------------------------------------------------------------------- */

/* Reads through the recorder, of each block all; but no code beside what is read of its headers. */
struct blocks {
	struct mem mem;
	struct mem *recorder;
	struct proc_maps maps;
};

static int read_blocks(struct mem *m, raddr addr, void *buf, size_t size)
{
	struct blocks *b = CONTAINER_OF(m, struct blocks, mem);
	const struct proc_map *map = proc_maps_find(&b->maps, addr);
	int code = mem_read(b->recorder, addr, buf, size);
	char block[BLOCK_SIZE];

	if (!map || map->x)
		return code;
	for (raddr at = addr & ~(raddr)(BLOCK_SIZE - 1); !code && at < addr + size;
	     at += BLOCK_SIZE)
		code = mem_read(b->recorder, at, block, sizeof(block));
	return code;
}

static bool snap_node(struct beam_node *n, struct mem *recorder, const char *output)
{
	struct blocks blocks = {.mem = {.read = read_blocks}, .recorder = recorder};
	struct strbuf text = STRBUF_INIT, note = STRBUF_INIT;
	struct mem *live = n->mem;
	struct error err = {0};
	bool ok;

	n->mem = &blocks.mem;
	beam_atoms_close(n->atoms);
	n->atoms = NULL;
	ok = proc_maps_read(&blocks.maps, n->os_pid, &err) == 0 &&
	     beam_atoms_open(&n->atoms, n->mem, &n->layout, n->anchors.atom_table) == 0 &&
	     recorded_survey(n, &text, &err) == 0;
	if (!ok)
		fprintf(stderr, "memsnap: the node cannot be read: %s\n", err.msg);
	recorded_note(n, &note);
	ok = ok && fputs(text.buf, stdout) >= 0 && write_image(recorder, output, &note);
	n->mem = live;
	proc_maps_free(&blocks.maps);
	strbuf_free(&text);
	strbuf_free(&note);
	return ok;
}

/* ---- command line ---------------------------------------------------------------------------- */

static int snap_ranges(int os_pid, char **ranges, int nr, const char *output)
{
	struct mem *live = NULL, *recorder = NULL;
	struct error err = {0};
	bool ok = true;

	if (mem_open_live(&live, os_pid, &err) != 0) {
		fprintf(stderr, "memsnap: %s\n", err.msg);
		return 1;
	}
	recorder = mem_open_recorder(live);
	for (int i = 0; i < nr; i++)
		ok &= snap_range(recorder, ranges[i]);
	ok = ok && write_image(recorder, output, NULL);
	mem_close(recorder);
	mem_close(live);
	return !ok;
}

static int open_and_snap_node(int os_pid, const char *output)
{
	struct beam_node *n = NULL;
	struct mem *recorder = NULL;
	struct error err = {0};
	bool ok;

	if (beam_node_open(&n, os_pid, 0, &err) != 0) {
		fprintf(stderr, "memsnap: %s\n", err.msg);
		return 1;
	}
	recorder = mem_open_recorder(n->mem);
	ok = snap_node(n, recorder, output);
	mem_close(recorder);
	beam_node_close(n);
	return !ok;
}

int main(int argc, char **argv)
{
	static const struct option longs[] = {{"node", no_argument, NULL, 'n'}, {NULL, 0, NULL, 0}};
	const char *output = NULL;
	bool ok = true, node = false;
	int os_pid = 0;

	for (int c; (c = getopt_long(argc, argv, "p:o:", longs, NULL)) != -1;) {
		if (c == 'p')
			os_pid = atoi(optarg);
		else if (c == 'o')
			output = optarg;
		else if (c == 'n')
			node = true;
		else
			ok = false;
	}
	if (!ok || os_pid <= 0 || !output || node != (optind == argc)) {
		fputs(usage_text, stderr);
		return 2;
	}
	return node ? open_and_snap_node(os_pid, output)
		    : snap_ranges(os_pid, argv + optind, argc - optind, output);
}
