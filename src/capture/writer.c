/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Records -> blocks of a capture (abi/capture.h).  Records are collected in a buffer and a block is
 * compressed in one go, so memory is constant: the buffer, its compressed form, zlib's state.
 * After a failed write the file may end within a block (readers then use what is before it);
 * nothing more is written, and every later call fails with the first error.
 */
#include "capture/writer.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "base/write_error.h"
#include "base/xalloc.h"

/* A block is written at BLOCK_FULL; the buffer has room for one more record of any size. */
#define BLOCK_FULL   (64u << 10)
#define BLOCK_BUFFER (2 * BLOCK_FULL)
_Static_assert(BLOCK_FULL >= EBEAM_MAX_RECORD_SIZE && BLOCK_BUFFER <= CAPTURE_MAX_BLOCK,
	       "the largest record fits after a block that is not yet due");

/* Level 3 needs a third of the CPU time of level 6; files are some percent larger. */
#define DEFLATE_LEVEL 3

struct capture_writer {
	FILE *f; /* borrowed */
	z_stream deflate;
	struct error failure; /* of the first write that failed; code 0 = none */
	uint32_t pending;     /* bytes in records[] */
	uint32_t out_size;    /* of out */
	unsigned char *out;
	unsigned char records[BLOCK_BUFFER];
};

static void fail(struct capture_writer *w, int code)
{
	write_error_set(&w->failure, "the capture", -code);
}

static int write_bytes(struct capture_writer *w, const void *bytes, size_t size, struct error *err)
{
	errno = 0;
	if (fwrite(bytes, 1, size, w->f) == size)
		return 0;
	fail(w, errno ? errno : EIO);
	if (err)
		*err = w->failure;
	return w->failure.code;
}

static int check_failure(const struct capture_writer *w, struct error *err)
{
	if (w->failure.code && err)
		*err = w->failure;
	return w->failure.code;
}

int capture_writer_open(struct capture_writer **out, FILE *f, uint64_t start_epoch_ns,
			uint64_t start_ns, struct error *err)
{
	struct capture_header h = {
		.major = CAPTURE_MAJOR,
		.minor = CAPTURE_MINOR,
		.header_size = sizeof(h),
		.start_epoch_ns = start_epoch_ns,
		.start_ns = start_ns,
	};
	struct capture_writer *w = xcalloc(1, sizeof(*w));
	int ret;

	if (deflateInit(&w->deflate, DEFLATE_LEVEL) != Z_OK) {
		free(w);
		return error_set(err, ERROR_KIND_FAILED, -ENOMEM,
				 "cannot start compression: zlib gets no memory");
	}
	w->f = f;
	w->out_size = (uint32_t)deflateBound(&w->deflate, BLOCK_BUFFER);
	w->out = xmalloc(w->out_size);
	memcpy(h.magic, CAPTURE_MAGIC, sizeof(h.magic));
	h.crc32 = (uint32_t)crc32(0, (const Bytef *)&h, offsetof(struct capture_header, crc32));
	ret = write_bytes(w, &h, sizeof(h), err);
	if (ret)
		capture_writer_close(w);
	else
		*out = w;
	return ret;
}

void capture_writer_close(struct capture_writer *w)
{
	if (!w)
		return;
	deflateEnd(&w->deflate);
	free(w->out);
	free(w);
}

static int write_block(struct capture_writer *w, struct error *err)
{
	struct capture_block block = {
		.magic = CAPTURE_BLOCK_MAGIC,
		.records_size = w->pending,
	};
	int ret;

	if (!w->pending)
		return 0;
	deflateReset(&w->deflate);
	w->deflate.next_in = w->records;
	w->deflate.avail_in = w->pending;
	w->deflate.next_out = w->out;
	w->deflate.avail_out = w->out_size;
	/* Ends in one call, as out has deflateBound() bytes. */
	if (deflate(&w->deflate, Z_FINISH) != Z_STREAM_END)
		return error_set(err, ERROR_KIND_FAILED, -EIO,
				 "cannot write the capture: zlib cannot compress a block");
	block.compressed_size = w->out_size - w->deflate.avail_out;
	block.crc32 = (uint32_t)crc32(0, w->out, block.compressed_size);
	w->pending = 0;
	ret = write_bytes(w, &block, sizeof(block), err);
	return ret ? ret : write_bytes(w, w->out, block.compressed_size, err);
}

int capture_writer_add(struct capture_writer *w, const struct rec_header *rec, struct error *err)
{
	int ret = check_failure(w, err);

	if (ret)
		return ret;
	if (rec->type < REC_META || rec->size < sizeof(*rec) || rec->size % 8 ||
	    rec->size > EBEAM_MAX_RECORD_SIZE)
		return error_set(err, ERROR_KIND_FAILED, -EINVAL,
				 "a record of type %u and %u bytes does not belong in a capture",
				 rec->type, rec->size);
	memcpy(w->records + w->pending, rec, rec->size);
	w->pending += rec->size;
	return w->pending >= BLOCK_FULL ? write_block(w, err) : 0;
}

int capture_writer_flush(struct capture_writer *w, struct error *err)
{
	int ret = check_failure(w, err);

	if (!ret)
		ret = write_block(w, err);
	if (ret)
		return ret;
	errno = 0;
	if (fflush(w->f) == 0)
		return 0;
	fail(w, errno ? errno : EIO);
	return check_failure(w, err);
}
