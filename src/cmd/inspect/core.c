/* SPDX-License-Identifier: BSD-2-Clause */
/* `ebeam core`: a core file with the memory that other commands read, from a node that lives. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include "base/compiler.h"
#include "base/log.h"
#include "base/units.h"
#include "base/xalloc.h"
#include "beam/vm/facts.h"
#include "cmd/command/command.h"
#include "cmd/output/outfile.h"
#include "cmd/output/render.h"
#include "cmd/run/target.h"
#include "target/core_writer.h"

#define BUFFER_SIZE (1u << 18)
#define GZIP_WINDOW (15 + 16) /* the largest window, with the header of gzip */

struct core_output {
	FILE *file;
	bool seeks;	/* zeros are left out: a sparse file */
	uint64_t zeros; /* skipped at the end of the file */
	bool packs;	/* by gzip */
	z_stream z;
	unsigned char *packed; /* BUFFER_SIZE */
	int failed;	       /* negative errno */
};

/* ---- writing --------------------------------------------------------------------------------- */

static int write_bytes(struct core_output *o, const void *data, size_t size)
{
	if (o->zeros && fseeko(o->file, (off_t)o->zeros, SEEK_CUR) != 0)
		return o->failed = -errno;
	o->zeros = 0;
	if (fwrite(data, 1, size, o->file) != size)
		return o->failed = -errno;
	return 0;
}

static int pack(struct core_output *o, const void *data, size_t size, int flush)
{
	o->z.next_in = (Bytef *)data;
	o->z.avail_in = (uInt)size;
	do {
		o->z.next_out = o->packed;
		o->z.avail_out = BUFFER_SIZE;
		deflate(&o->z, flush);
		if (write_bytes(o, o->packed, BUFFER_SIZE - o->z.avail_out) != 0)
			return o->failed;
	} while (o->z.avail_out == 0);
	return 0;
}

static int sink_write(void *arg, const void *data, size_t size)
{
	struct core_output *o = arg;

	for (size_t n; size > 0; data = (const char *)data + n, size -= n) {
		int rc;

		n = MIN(size, (size_t)1 << 30);
		rc = o->packs ? pack(o, data, n, Z_NO_FLUSH) : write_bytes(o, data, n);
		if (rc)
			return rc;
	}
	return 0;
}

static int sink_skip(void *arg, uint64_t size)
{
	static const char zeros[BUFFER_SIZE];
	struct core_output *o = arg;
	int rc = 0;

	if (o->seeks) {
		o->zeros += size;
		return 0;
	}
	for (uint64_t n; size > 0 && !rc; size -= n) {
		n = MIN(size, (uint64_t)sizeof(zeros));
		rc = sink_write(o, zeros, (size_t)n);
	}
	return rc;
}

/* The end of the compressed data; or the zeros at the end of a file, which give it its size. */
static int finish(struct core_output *o)
{
	static const char zero;

	if (o->packs)
		return pack(o, NULL, 0, Z_FINISH);
	if (o->zeros) {
		o->zeros--;
		write_bytes(o, &zero, 1);
	}
	if (!o->failed && fflush(o->file) != 0)
		o->failed = -errno;
	return o->failed;
}

/* `owned`: a file of its own, which is empty; else it may be a pipe, or appended to. */
static int open_output(struct core_output *o, FILE *file, bool packs, bool owned, struct error *err)
{
	*o = (struct core_output){.file = file, .packs = packs};
	o->seeks = !packs && owned && fseeko(file, 0, SEEK_CUR) == 0;
	if (!packs)
		return 0;
	o->packed = xmalloc(BUFFER_SIZE);
	if (deflateInit2(&o->z, 1, Z_DEFLATED, GZIP_WINDOW, 8, Z_DEFAULT_STRATEGY) != Z_OK) {
		free(o->packed);
		return error_set(err, ERROR_KIND_FAILED, -ENOMEM, "no memory to compress");
	}
	return 0;
}

static void close_output(struct core_output *o)
{
	if (o->packs)
		deflateEnd(&o->z);
	free(o->packed);
}

/* Copies the file `from` to the output: what was written while the node was paused. */
static int copy_file(struct core_output *to, FILE *from)
{
	char *buf = xmalloc(BUFFER_SIZE);
	size_t n;
	int rc = fseeko(from, 0, SEEK_SET) == 0 ? 0 : -errno;

	while (!rc && (n = fread(buf, 1, BUFFER_SIZE, from)) > 0)
		rc = sink_write(to, buf, n);
	if (!rc && ferror(from))
		rc = to->failed = -EIO;
	free(buf);
	return rc ? rc : finish(to);
}

/* A file without a name, to which the memory goes while the node is paused: compressing takes
 * longer than copying. */
static FILE *open_spool(struct error *err)
{
	const char *dir = getenv("TMPDIR");
	int fd = open(dir && *dir ? dir : "/var/tmp", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
	FILE *f = fd >= 0 ? fdopen(fd, "w+") : NULL;

	if (!f)
		error_set(err, ERROR_KIND_FAILED, -errno,
			  "cannot make a temporary file in %s: %s. TMPDIR names another directory",
			  dir && *dir ? dir : "/var/tmp", error_text(errno));
	return f;
}

/* ---- the command ----------------------------------------------------------------------------- */

static void say(const struct core_written *w, const char *path)
{
	char copied[32], unreadable[32], paused[32];

	log_warn("%s of memory%s%s  -> %s", units_format_bytes(w->copied, copied, sizeof(copied)),
		 w->paused_ns ? "; paused for " : "; not paused, it may have changed meanwhile",
		 w->paused_ns ? units_format_ns(w->paused_ns, paused, sizeof(paused)) : "", path);
	if (w->unreadable)
		log_warn("ebeam: %s could not be read and are zeros",
			 units_format_bytes(w->unreadable, unreadable, sizeof(unreadable)));
}

static int write_core(struct beam_node *n, bool pause, struct core_output *o, const char *path,
		      struct core_written *written, struct error *err)
{
	struct core_output spool;
	bool spools = pause && !o->seeks;
	struct core_sink sink = {sink_write, sink_skip, spools ? &spool : o};
	FILE *file = spools ? open_spool(err) : NULL;
	int rc = spools && !file ? -EIO : 0;

	if (!rc && spools)
		rc = open_output(&spool, file, false, true, err);
	rc = rc ? rc : core_write(n->mem, n->os_pid, pause, &sink, written, err);
	rc = rc ? rc : finish(sink.arg);
	if (spools && !rc)
		rc = copy_file(o, file);
	if (spools && file && spool.failed)
		rc = outfile_failed("the temporary file (TMPDIR)", spool.failed, err);
	if (file)
		fclose(file);
	return o->failed ? outfile_failed(path, o->failed, err) : rc;
}

int cmd_core(struct command_context *ctx, struct error *err)
{
	struct core_written written = {0};
	struct outfile *out = NULL;
	struct core_output output;
	struct beam_node *n = NULL;
	char *path = NULL;
	struct stat st;
	int rc = target_open(&n, ctx, err);

	if (rc)
		return rc;
	path = ctx->opt.output ? xstrdup(ctx->opt.output) : NULL;
	if (!path) {
		struct beam_facts facts;
		char *stem =
			render_stem(beam_node_facts(n, &facts, NULL) == 0 ? facts.name : "node",
				    clock_realtime_ns());

		path = xasprintf("%s.core", stem);
		free(stem);
	}
	if (strcmp(path, "-") == 0 && isatty(fileno(ctx->out)))
		rc = error_set(err, ERROR_KIND_USAGE, -EINVAL,
			       "a core is no text for a terminal: -o names a file, or pipe it");
	rc = rc ? rc : outfile_open(&out, path, OUTFILE_PRIVATE, ctx->out, err);
	if (!rc) {
		FILE *file = outfile_file(out);
		size_t len = strlen(path);
		bool packs = len > 3 && strcmp(path + len - 3, ".gz") == 0;
		bool owned =
			file != ctx->out && fstat(fileno(file), &st) == 0 && S_ISREG(st.st_mode);

		rc = open_output(&output, file, packs, owned, err);
		if (!rc) {
			rc = write_core(n, ctx->opt.pause, &output, path, &written, err);
			close_output(&output);
		}
		if (!rc)
			rc = outfile_commit(&out, err);
		else
			outfile_abort(&out);
	}
	if (!rc)
		say(&written, path);
	free(path);
	return target_close(n, rc, err);
}
