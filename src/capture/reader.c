/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A capture file as a source (see reader.h, abi/capture.h).
 *
 * A block is accepted if its checksum is right and it inflates to exactly the size in its header;
 * then its records are returned one by one, each checked against the block's end.  If the file ends
 * within its last block, that block is used without its checksum: the whole records among the bytes
 * that inflate.  The first error ends the source and is kept as text with its position; nothing
 * after it is returned.
 */
#include "capture/reader.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "abi/capture.h"
#include "base/compiler.h"
#include "base/xalloc.h"

/* Upper bound of zlib's deflateBound() for CAPTURE_MAX_BLOCK. */
#define MAX_COMPRESSED (CAPTURE_MAX_BLOCK + CAPTURE_MAX_BLOCK / 64 + 4096)
/* A little more than CAPTURE_MAX_BLOCK: inflate() needs room to see the end of the stream, and
 * blocks that are too large must be detected. */
#define RECORDS_BUFFER (CAPTURE_MAX_BLOCK + 64)
/* Headers of later minor versions may be longer, up to this. */
#define MAX_HEADER 4096u

struct capture_reader {
	struct source source;
	FILE *f; /* borrowed */
	char *name;
	struct capture_header header;
	z_stream inflate;
	unsigned char *compressed; /* MAX_COMPRESSED bytes, from the first block on */
	uint64_t *records;	   /* RECORDS_BUFFER bytes, in words for alignment */
	uint32_t records_size;	   /* bytes of records in the current block */
	uint32_t records_at;	   /* offset of the next record */
	uint64_t file_at;	   /* bytes read from the file */
	uint64_t block_at;	   /* where the current block starts */
	uint64_t nr_blocks;
	bool saw_end;	  /* REC_END was returned */
	bool is_cut;	  /* the file ends within the current block */
	bool is_finished; /* next() returns 0 */
	char damage[256]; /* "" = none */
};

static void __attribute__((format(printf, 2, 3)))
set_damage(struct capture_reader *r, const char *fmt, ...)
{
	va_list ap;

	r->is_finished = true;
	va_start(ap, fmt);
	vsnprintf(r->damage, sizeof(r->damage), fmt, ap);
	va_end(ap);
}

/* Number of bytes read, fewer than size only at the end of the file; or negative errno. */
static ssize_t read_bytes(struct capture_reader *r, void *bytes, size_t size, struct error *err)
{
	size_t got;

	errno = 0;
	got = fread(bytes, 1, size, r->f);
	r->file_at += got;
	if (got < size && ferror(r->f))
		return error_set(err, ERROR_KIND_FAILED, errno ? -errno : -EIO,
				 "cannot read %s: %s", r->name, error_text(errno ? errno : EIO));
	return (ssize_t)got;
}

/* ---- header ------------------------------------------------------------------------------- */

static int refuse(const struct capture_reader *r, struct error *err, const char *why)
{
	return error_set(err, ERROR_KIND_FAILED, -EINVAL,
			 "cannot read %s as a capture of ebeam: %s", r->name, why);
}

static int check_header(const struct capture_reader *r, size_t got, struct error *err)
{
	const struct capture_header *h = &r->header;

	if (got < sizeof(h->magic) || memcmp(h->magic, CAPTURE_MAGIC, sizeof(h->magic)) != 0)
		return refuse(r, err, "it does not start with \"" CAPTURE_MAGIC "\"");
	if (got < sizeof(*h))
		return refuse(r, err, "it ends within its header");
	if (h->major != CAPTURE_MAJOR)
		return error_set(err, ERROR_KIND_UNSUPPORTED, -EINVAL,
				 "%s has capture format %u.%u; this ebeam reads %u.x. Use the "
				 "release of ebeam that wrote it, or a newer one",
				 r->name, h->major, h->minor, CAPTURE_MAJOR);
	if (h->crc32 != crc32(0, (const Bytef *)h, offsetof(struct capture_header, crc32)))
		return refuse(r, err, "its header is damaged (checksum)");
	if (h->header_size < sizeof(*h) || h->header_size > MAX_HEADER)
		return refuse(r, err, "its header has an impossible size");
	return 0;
}

static int read_header(struct capture_reader *r, struct error *err)
{
	char rest[MAX_HEADER];
	ssize_t got = read_bytes(r, &r->header, sizeof(r->header), err);
	int ret;

	if (got < 0)
		return (int)got;
	ret = check_header(r, (size_t)got, err);
	if (ret)
		return ret;
	/* Skips what a later minor version has added to the header. */
	got = read_bytes(r, rest, r->header.header_size - sizeof(r->header), err);
	return got < 0 ? (int)got : 0;
}

/* ---- blocks ------------------------------------------------------------------------------- */

/* The file ended between blocks or in a block's header: damage, unless REC_END was read before. */
static void end_of_file(struct capture_reader *r)
{
	r->is_finished = true;
	if (!r->saw_end && !r->damage[0])
		set_damage(r, "cut short: the file ends at byte %" PRIu64 " without an end record",
			   r->file_at);
}

/* 1 if *block was read; 0 if the file has ended or is damaged; or negative errno. */
static int read_block_header(struct capture_reader *r, struct capture_block *block,
			     struct error *err)
{
	ssize_t got;

	r->block_at = r->file_at;
	got = read_bytes(r, block, sizeof(*block), err);
	if (got < 0)
		return (int)got;
	if (got && r->saw_end) {
		set_damage(r, "data after the end record, which must be the last: at byte %" PRIu64,
			   r->block_at);
		return 0;
	}
	if ((size_t)got < sizeof(*block)) {
		end_of_file(r);
		return 0;
	}
	if (block->magic != CAPTURE_BLOCK_MAGIC || !block->records_size ||
	    block->records_size % 8 || block->records_size > CAPTURE_MAX_BLOCK ||
	    !block->compressed_size || block->compressed_size > MAX_COMPRESSED) {
		set_damage(r,
			   "damaged block %" PRIu64 " at byte %" PRIu64 ": its header is not valid",
			   r->nr_blocks + 1, r->block_at);
		return 0;
	}
	return 1;
}

/* Inflates `size` bytes into records[]; returns zlib's result, and sets records_size. */
static int inflate_records(struct capture_reader *r, size_t size)
{
	int ret;

	inflateReset(&r->inflate);
	r->inflate.next_in = r->compressed;
	r->inflate.avail_in = (uInt)size;
	r->inflate.next_out = (Bytef *)r->records;
	r->inflate.avail_out = RECORDS_BUFFER;
	ret = inflate(&r->inflate, Z_SYNC_FLUSH);
	r->records_size = RECORDS_BUFFER - r->inflate.avail_out;
	r->records_at = 0;
	return ret;
}

/* The file ends within a block: keeps what inflates, up to the last whole record. */
static void use_cut_block(struct capture_reader *r, const struct capture_block *block, size_t got)
{
	int ret = inflate_records(r, got);

	r->is_cut = true;
	r->records_size = MIN(r->records_size, block->records_size);
	/* A stream that ends although bytes of the block are missing: the size in the header is
	 * wrong.  A stream with an error: its output cannot be trusted. */
	if (ret == Z_STREAM_END || (ret != Z_OK && ret != Z_BUF_ERROR)) {
		r->records_size = 0;
		set_damage(r, "damaged block %" PRIu64 " at byte %" PRIu64, r->nr_blocks,
			   r->block_at);
		return;
	}
	snprintf(r->damage, sizeof(r->damage),
		 "cut short: the file ends at byte %" PRIu64 " within block %" PRIu64, r->file_at,
		 r->nr_blocks);
}

static void use_block(struct capture_reader *r, const struct capture_block *block)
{
	const char *why = NULL;

	if (crc32(0, r->compressed, block->compressed_size) != block->crc32)
		why = "checksum mismatch";
	else if (inflate_records(r, block->compressed_size) != Z_STREAM_END)
		why = "it does not decompress";
	else if (r->records_size != block->records_size || r->inflate.avail_in)
		why = "its size is not that in its header";
	if (!why)
		return;
	r->records_size = r->records_at = 0;
	set_damage(r, "damaged block %" PRIu64 " at byte %" PRIu64 ": %s", r->nr_blocks,
		   r->block_at, why);
}

/* 1 if records[] was filled (maybe with no whole record); 0 at the end; or negative errno. */
static int next_block(struct capture_reader *r, struct error *err)
{
	struct capture_block block;
	ssize_t got;
	int ret;

	if (r->is_cut) {
		r->is_finished = true;
		return 0;
	}
	ret = read_block_header(r, &block, err);
	if (ret <= 0)
		return ret;
	r->nr_blocks++;
	if (!r->compressed) {
		r->compressed = xmalloc(MAX_COMPRESSED);
		r->records = xmalloc(RECORDS_BUFFER);
	}
	got = read_bytes(r, r->compressed, block.compressed_size, err);
	if (got < 0)
		return (int)got;
	if ((size_t)got < block.compressed_size)
		use_cut_block(r, &block, (size_t)got);
	else
		use_block(r, &block);
	return r->is_finished ? 0 : 1;
}

/* ---- source ------------------------------------------------------------------------------- */

/* The next record of the block; NULL at its end, or if the record is damaged. */
static const struct rec_header *next_record(struct capture_reader *r)
{
	uint32_t left = r->records_size - r->records_at;
	const struct rec_header *h;

	if (!left)
		return NULL;
	h = (const struct rec_header *)((const char *)r->records + r->records_at);
	if (left >= sizeof(*h) && h->size >= sizeof(*h) && h->size % 8 == 0 &&
	    h->size <= EBEAM_MAX_RECORD_SIZE && h->type >= REC_META && !r->saw_end) {
		if (h->size <= left) {
			r->records_at += h->size;
			r->saw_end = h->type == REC_END;
			return h;
		}
		if (r->is_cut) /* the file ends within this record */
			return NULL;
	} else if (r->is_cut && left < sizeof(*h)) {
		return NULL;
	}
	set_damage(r,
		   "damaged block %" PRIu64 " at byte %" PRIu64
		   ": bad record at byte %u of its contents",
		   r->nr_blocks, r->block_at, r->records_at);
	r->records_at = r->records_size;
	return NULL;
}

static int reader_next(struct source *s, const struct rec_header **rec, struct error *err)
{
	struct capture_reader *r = CONTAINER_OF(s, struct capture_reader, source);
	int ret = 1;

	/* Terminates: every iteration but the last reads another block. */
	while (!r->is_finished && ret > 0) {
		*rec = next_record(r);
		if (*rec)
			return 1;
		if (!r->is_finished)
			ret = next_block(r, err);
	}
	*rec = NULL;
	if (ret < 0)
		r->is_finished = true;
	return ret < 0 ? ret : 0;
}

static int reader_fd(struct source *s)
{
	UNUSED(s);
	return -1;
}

static void reader_close(struct source *s)
{
	capture_reader_close(CONTAINER_OF(s, struct capture_reader, source));
}

int capture_reader_open(struct capture_reader **out, FILE *f, const char *name, struct error *err)
{
	struct capture_reader *r = xcalloc(1, sizeof(*r));
	int ret;

	r->source.next = reader_next;
	r->source.fd = reader_fd;
	r->source.close = reader_close;
	r->f = f;
	r->name = xstrdup(name);
	ret = read_header(r, err);
	if (!ret && inflateInit(&r->inflate) != Z_OK)
		ret = error_set(err, ERROR_KIND_FAILED, -ENOMEM,
				"cannot start decompression: zlib gets no memory");
	if (ret)
		capture_reader_close(r);
	else
		*out = r;
	return ret;
}

void capture_reader_close(struct capture_reader *r)
{
	if (!r)
		return;
	inflateEnd(&r->inflate);
	free(r->compressed);
	free(r->records);
	free(r->name);
	free(r);
}

struct source *capture_reader_source(struct capture_reader *r)
{
	return &r->source;
}

uint64_t capture_reader_start_epoch_ns(const struct capture_reader *r)
{
	return r->header.start_epoch_ns;
}

const char *capture_reader_damage(const struct capture_reader *r)
{
	return r->damage[0] ? r->damage : NULL;
}
