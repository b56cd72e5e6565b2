/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * memsnap: records ranges of a live process as a memory image for tests (format: target/mem.h).
 *
 *   memsnap -p PID -o FILE ADDR:SIZE...
 *
 * ADDR and SIZE as C writes numbers (0x7f00, 4096).  Every range must be readable as a whole; the
 * process is not stopped, so ranges that change while they are read can disagree.
 */
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/xalloc.h"
#include "target/mem.h"

#define MAX_RANGE_SIZE ((uint64_t)256 << 20) /* as much as a recorder holds */

static const char usage_text[] = "usage: memsnap -p PID -o FILE ADDR:SIZE...\n";

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

static bool write_image(struct mem *recorder, const char *path)
{
	size_t size, written;
	void *image = mem_recorder_image(recorder, &size);
	FILE *f;

	if (!image) {
		fprintf(stderr, "memsnap: more than 256 MiB in all\n");
		return false;
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

int main(int argc, char **argv)
{
	struct mem *live = NULL, *recorder = NULL;
	const char *output = NULL;
	struct error err = {0};
	bool ok = true;
	int os_pid = 0;

	for (int c; (c = getopt(argc, argv, "p:o:")) != -1;) {
		if (c == 'p')
			os_pid = atoi(optarg);
		else if (c == 'o')
			output = optarg;
		else
			ok = false;
	}
	if (!ok || os_pid <= 0 || !output || optind == argc) {
		fputs(usage_text, stderr);
		return 2;
	}
	if (mem_open_live(&live, os_pid, &err) != 0) {
		fprintf(stderr, "memsnap: %s\n", err.msg);
		return 1;
	}
	mem_open_recorder(&recorder, live);
	for (int i = optind; i < argc; i++)
		ok &= snap_range(recorder, argv[i]);
	ok = ok && write_image(recorder, output);
	mem_close(recorder);
	mem_close(live);
	return !ok;
}
