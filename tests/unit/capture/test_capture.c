/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Captures: what is written is read again, byte for byte; a file that was cut or damaged anywhere
 * gives the records before the damage and says where it is; a disk that is full is an error.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include <cmocka.h>

#include "abi/capture.h"
#include "base/compiler.h"
#include "base/strbuf.h"
#include "capture/reader.h"
#include "capture/writer.h"
#include "lib/records.h"

/* ---- helpers ------------------------------------------------------------------------------ */

struct bytes {
	char *data;
	size_t size;
};

/* A capture of records, with a new block after every `per_block` of them. */
static struct bytes write_capture(const struct records *r, size_t per_block)
{
	struct bytes file = {0};
	FILE *f = open_memstream(&file.data, &file.size);
	struct capture_writer *w;
	const struct rec_header *h;
	struct error err = {0};
	size_t at = 0, nr = 0;

	assert_non_null(f);
	assert_int_equal(capture_writer_open(&w, f, 1111, 2222, &err), 0);
	while ((h = records_next(r, &at))) {
		assert_int_equal(capture_writer_add(w, h, &err), 0);
		if (++nr % per_block == 0)
			assert_int_equal(capture_writer_flush(w, &err), 0);
	}
	assert_int_equal(capture_writer_flush(w, &err), 0);
	assert_int_equal(capture_writer_flush(w, &err), 0); /* nothing pending: nothing written */
	capture_writer_close(w);
	assert_int_equal(fclose(f), 0);
	return file;
}

struct outcome {
	int open;	  /* of capture_reader_open() */
	size_t nr;	  /* records */
	bool is_prefix;	  /* they are the first ones of what was written */
	char damage[256]; /* "" = none */
};

/* Reads `size` bytes as a capture and compares with what was written. */
static struct outcome read_capture(const void *data, size_t size, const struct records *expect)
{
	struct outcome out = {.is_prefix = true};
	/* fmemopen() refuses 0 bytes; nothing is read from the one that stands in. */
	FILE *f = size ? fmemopen((void *)(uintptr_t)data, size, "rb") : fopen("/dev/null", "rb");
	const struct rec_header *rec, *want;
	struct capture_reader *r;
	struct error err = {0};
	struct source *s;
	size_t at = 0;
	int ret;

	assert_non_null(f);
	out.open = capture_reader_open(&r, f, "test.ebeam", &err);
	if (out.open) {
		assert_int_equal(out.open, -EINVAL);
		assert_non_null(strstr(err.msg, "test.ebeam"));
		fclose(f);
		return out;
	}
	s = capture_reader_source(r);
	while ((ret = s->next(s, &rec, &err)) == 1) {
		want = records_next(expect, &at);
		out.is_prefix = out.is_prefix && want && want->size == rec->size &&
				memcmp(want, rec, rec->size) == 0;
		out.nr++;
	}
	assert_int_equal(ret, 0);
	assert_int_equal(s->next(s, &rec, &err), 0); /* the end stays the end */
	if (capture_reader_damage(r))
		snprintf(out.damage, sizeof(out.damage), "%s", capture_reader_damage(r));
	source_close(s);
	fclose(f);
	return out;
}

/* A recording with every type of record, small enough to try each of its bits. */
static void make_small(struct records *r)
{
	uint32_t call, frame;

	records_open(r);
	records_meta(r, "node", "a@b");
	call = records_function(r, "lists", "map", 2, FRAME_ERLANG);
	frame = records_frame(r, call, "lists.erl", 1234);
	for (uint64_t i = 0; i < 4; i++)
		records_sample(r, 1000 + i, records_process(r, i, "<0.80.0>", "reg", NULL, call),
			       records_stack(r, &frame, 1),
			       records_thread(r, 4711, THREAD_NORMAL, 1, "erts_sched_1"), 1,
			       SAMPLE_ERLANG, SAMPLE_STATUS_COMPLETE);
	records_counter(r, 2000, "hits", 4);
	records_end(r, 3000);
}

/* ---- whole files -------------------------------------------------------------------------- */

static void test_round_trip(void **state)
{
	struct records r;
	struct bytes file;
	struct outcome out;

	UNUSED(state);
	make_small(&r);
	for (size_t per_block = 1; per_block < 30; per_block += 4) {
		file = write_capture(&r, per_block);
		out = read_capture(file.data, file.size, &r);
		assert_int_equal(out.open, 0);
		assert_int_equal(out.nr, records_count(&r));
		assert_true(out.is_prefix);
		assert_string_equal(out.damage, "");
		free(file.data);
	}
	records_close(&r);
}

static void test_times(void **state)
{
	struct records r;
	struct bytes file;
	struct capture_reader *reader;
	FILE *f;

	UNUSED(state);
	make_small(&r);
	file = write_capture(&r, 100);
	f = fmemopen(file.data, file.size, "rb");
	assert_int_equal(capture_reader_open(&reader, f, "x", NULL), 0);
	assert_int_equal(capture_reader_start_epoch_ns(reader), 1111);
	assert_int_equal(capture_reader_source(reader)->fd(capture_reader_source(reader)), -1);
	capture_reader_close(reader);
	capture_reader_close(NULL);
	capture_writer_close(NULL);
	fclose(f);
	free(file.data);
	records_close(&r);
}

/* Largest records, many blocks by size alone, and a type of a later version. */
static void test_large(void **state)
{
	char *body = calloc(1, EBEAM_MAX_RECORD_SIZE);
	struct records r;
	struct bytes file;
	struct outcome out;

	UNUSED(state);
	records_open(&r);
	for (unsigned int i = 0; i < 200; i++) {
		unsigned int size = i % 3 ? i * 40 : EBEAM_MAX_RECORD_SIZE - 16;

		memset(body, (int)i, size);
		records_add(&r, i % 5 ? 40000 : REC_STRING, i, body, size);
	}
	records_end(&r, 1);
	file = write_capture(&r, SIZE_MAX);
	out = read_capture(file.data, file.size, &r);
	assert_int_equal(out.nr, 201);
	assert_true(out.is_prefix);
	assert_string_equal(out.damage, "");
	free(file.data);
	free(body);
	records_close(&r);
}

static void test_no_raw_records(void **state)
{
	static const struct rec_header bad[] = {
		{.type = REC_RAW_SAMPLE, .size = 16},
		{.type = 31, .size = 16},
		{.type = REC_END, .size = 8},
		{.type = REC_END, .size = 20},
		{.type = REC_END, .size = EBEAM_MAX_RECORD_SIZE + 8},
	};
	struct bytes file;
	FILE *f = open_memstream(&file.data, &file.size);
	struct capture_writer *w;
	struct error err;

	UNUSED(state);
	assert_int_equal(capture_writer_open(&w, f, 1, 2, NULL), 0);
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		assert_int_equal(capture_writer_add(w, &bad[i], &err), -EINVAL);
		assert_int_equal(err.code, -EINVAL);
	}
	assert_int_equal(capture_writer_flush(w, NULL), 0);
	capture_writer_close(w);
	fclose(f);
	assert_int_equal(file.size, sizeof(struct capture_header));
	free(file.data);
}

/* ---- damage ------------------------------------------------------------------------------- */

/* Records in the blocks that end at or before byte `size`. */
static size_t records_in_whole_blocks(const struct bytes *file, size_t size, size_t per_block,
				      size_t nr_records)
{
	size_t at = sizeof(struct capture_header), nr = 0;
	struct capture_block block;

	while (at + sizeof(block) <= size) {
		memcpy(&block, file->data + at, sizeof(block));
		at += sizeof(block) + block.compressed_size;
		if (at <= size)
			nr += per_block;
	}
	return MIN(nr, nr_records);
}

static void test_cut_anywhere(void **state)
{
	enum { PER_BLOCK = 6 };
	struct records r;
	struct bytes file;
	size_t nr, last = 0;

	UNUSED(state);
	make_small(&r);
	nr = records_count(&r);
	file = write_capture(&r, PER_BLOCK);
	for (size_t size = 0; size < file.size; size++) {
		/* An allocation of that size, so that a read beyond the cut shows. */
		char *copy = memcpy(malloc(size ? size : 1), file.data, size);
		struct outcome out = read_capture(copy, size, &r);

		if (size < sizeof(struct capture_header)) {
			assert_int_equal(out.open, -EINVAL);
		} else {
			assert_int_equal(out.open, 0);
			assert_true(out.is_prefix);
			assert_true(out.nr >= records_in_whole_blocks(&file, size, PER_BLOCK, nr));
			assert_true(out.nr >= last); /* more bytes, never fewer records */
			assert_non_null(strstr(out.damage, "cut short: the file ends at byte"));
			last = out.nr;
		}
		free(copy);
	}
	/* Only zlib's checksum is missing: every record is there. */
	assert_int_equal(last, nr);
	free(file.data);
	records_close(&r);
}

static void test_cut_block_gives_its_records(void **state)
{
	struct records r;
	struct bytes file;
	struct outcome out;

	UNUSED(state);
	records_open(&r);
	for (unsigned int i = 0; i < 1500; i++) /* one block; what does not compress well */
		records_sample(&r, i * 2654435761u, i * 40503u, i * 2246822519u, i, 1,
			       SAMPLE_ERLANG, SAMPLE_STATUS_COMPLETE);
	records_end(&r, 1);
	file = write_capture(&r, SIZE_MAX);
	out = read_capture(file.data, file.size / 2, &r);
	assert_true(out.is_prefix);
	assert_in_range(out.nr, 500, 1000);
	free(file.data);
	records_close(&r);
}

static void test_any_bit(void **state)
{
	struct records r;
	struct bytes file;

	UNUSED(state);
	make_small(&r);
	file = write_capture(&r, 6);
	for (size_t bit = 0; bit < file.size * 8; bit++) {
		struct outcome out;

		file.data[bit / 8] ^= (char)(1 << bit % 8);
		out = read_capture(file.data, file.size, &r);
		if (bit / 8 < sizeof(struct capture_header)) {
			assert_int_equal(out.open, -EINVAL);
		} else {
			assert_int_equal(out.open, 0);
			assert_true(out.is_prefix);
			assert_true(out.nr < records_count(&r));
			assert_non_null(strstr(out.damage, "byte"));
		}
		file.data[bit / 8] ^= (char)(1 << bit % 8);
	}
	free(file.data);
	records_close(&r);
}

static void test_data_after_end(void **state)
{
	struct records r;
	struct bytes file;
	struct outcome out;
	char *twice;

	UNUSED(state);
	make_small(&r);
	file = write_capture(&r, 100);
	twice = malloc(2 * file.size);
	memcpy(twice, file.data, file.size);
	memcpy(twice + file.size, file.data, file.size);
	out = read_capture(twice, 2 * file.size, &r);
	assert_int_equal(out.nr, records_count(&r));
	assert_true(out.is_prefix);
	assert_non_null(strstr(out.damage, "data after the end record"));
	free(twice);
	free(file.data);
	records_close(&r);
}

static void test_no_end_record(void **state)
{
	struct records r;
	struct bytes file;
	struct outcome out;

	UNUSED(state);
	records_open(&r);
	records_meta(&r, "a", "b");
	file = write_capture(&r, 100);
	out = read_capture(file.data, file.size, &r);
	assert_int_equal(out.nr, 1);
	assert_non_null(strstr(out.damage, "without an end record"));
	free(file.data);
	records_close(&r);
}

static struct capture_header make_header(void)
{
	struct capture_header h = {.major = CAPTURE_MAJOR, .header_size = sizeof(h)};

	memcpy(h.magic, CAPTURE_MAGIC, sizeof(h.magic));
	h.crc32 = (uint32_t)crc32(0, (const Bytef *)&h, offsetof(struct capture_header, crc32));
	return h;
}

/* A file of one block whose checksum is right, whatever is in it. */
static struct outcome read_block(const void *records, size_t size, uint32_t claimed)
{
	struct capture_block block = {.magic = CAPTURE_BLOCK_MAGIC, .records_size = claimed};
	struct capture_header h = make_header();
	uLongf out_size = compressBound(size);
	Bytef *out = malloc(out_size);
	struct strbuf file = STRBUF_INIT;
	struct records none;
	struct outcome outcome;

	assert_int_equal(compress(out, &out_size, records, size), Z_OK);
	block.compressed_size = (uint32_t)out_size;
	block.crc32 = (uint32_t)crc32(0, out, (uInt)out_size);
	strbuf_add(&file, &h, sizeof(h));
	strbuf_add(&file, &block, sizeof(block));
	strbuf_add(&file, out, out_size);
	records_open(&none);
	outcome = read_capture(file.buf, file.len, &none);
	records_close(&none);
	strbuf_free(&file);
	free(out);
	return outcome;
}

static void test_hostile_blocks(void **state)
{
	size_t big_size = 64u << 20;
	char *big = calloc(1, big_size);
	uint64_t words[6] = {0};
	struct rec_header *h = (struct rec_header *)words;
	struct outcome out;

	UNUSED(state);
	/* A bomb: much more comes out than the header says. */
	out = read_block(big, big_size, 4096);
	assert_int_equal(out.nr, 0);
	assert_non_null(strstr(out.damage, "does not decompress"));
	out = read_block(big, CAPTURE_MAX_BLOCK + 8, CAPTURE_MAX_BLOCK);
	assert_non_null(strstr(out.damage, "its size is not that in its header"));
	out = read_block(big, CAPTURE_MAX_BLOCK, CAPTURE_MAX_BLOCK); /* zeros are no record */
	assert_non_null(strstr(out.damage, "bad record at byte 0 of its contents"));
	free(big);
	/* Records that do not fit. */
	h->type = REC_END;
	h->size = 16;
	out = read_block(words, 16, 16);
	assert_string_equal(out.damage, "");
	assert_int_equal(out.nr, 1);
	out = read_block(words, 16, 24);
	assert_non_null(strstr(out.damage, "its size is not that in its header"));
	h->type = REC_COUNTER;
	out = read_block(words, 24, 24);
	assert_int_equal(out.nr, 1);
	assert_non_null(strstr(out.damage, "bad record at byte 16 of its contents"));
	for (uint32_t size = 0; size < 56; size += 4) {
		h->size = size;
		out = read_block(words, 48, 48);
		assert_true(out.damage[0]);
		assert_true(out.nr <= 1);
	}
	h->size = 48;
	h->type = REC_RAW_SAMPLE;
	out = read_block(words, 48, 48);
	assert_int_equal(out.nr, 0);
	assert_non_null(strstr(out.damage, "bad record"));
}

static void test_versions(void **state)
{
	struct {
		struct capture_header h;
		uint64_t more; /* a later version's */
	} longer = {.h = make_header()};
	struct capture_reader *r;
	struct error err;
	FILE *f;

	UNUSED(state);
	longer.h.minor = 7;
	longer.h.header_size = sizeof(longer);
	longer.h.crc32 =
		(uint32_t)crc32(0, (const Bytef *)&longer, offsetof(struct capture_header, crc32));
	f = fmemopen(&longer, sizeof(longer), "rb");
	assert_int_equal(capture_reader_open(&r, f, "x", &err), 0);
	capture_reader_close(r);
	fclose(f);
	longer.h.major = CAPTURE_MAJOR + 1;
	f = fmemopen(&longer, sizeof(longer), "rb");
	assert_int_equal(capture_reader_open(&r, f, "new.ebeam", &err), -EINVAL);
	assert_int_equal(err.kind, ERROR_KIND_UNSUPPORTED);
	assert_non_null(strstr(err.msg, "new.ebeam has capture format 2.7"));
	fclose(f);
}

/* ---- the disk ----------------------------------------------------------------------------- */

struct disk {
	size_t room;
};

static ssize_t disk_write(void *cookie, const char *bytes, size_t size)
{
	struct disk *disk = cookie;
	size_t fits = MIN(size, disk->room);

	UNUSED(bytes);
	disk->room -= fits;
	if (fits < size)
		errno = ENOSPC;
	return (ssize_t)fits; /* 0 is how a cookie says that it failed */
}

/* Full after any number of bytes: an error with its reason, and no write after it. */
static void test_disk_full(void **state)
{
	struct records r;
	struct bytes whole;

	UNUSED(state);
	make_small(&r);
	whole = write_capture(&r, 6);
	for (size_t room = 0; room < whole.size; room += 7) {
		struct disk disk = {.room = room};
		FILE *f = fopencookie(&disk, "w", (cookie_io_functions_t){.write = disk_write});
		struct capture_writer *w;
		const struct rec_header *h;
		struct error err = {0};
		size_t at = 0, nr = 0;
		int ret;

		setvbuf(f, NULL, _IONBF, 0);
		ret = capture_writer_open(&w, f, 1, 2, &err);
		while (!ret && (h = records_next(&r, &at))) {
			ret = capture_writer_add(w, h, &err);
			if (!ret && ++nr % 6 == 0)
				ret = capture_writer_flush(w, &err);
		}
		if (!ret)
			ret = capture_writer_flush(w, &err);
		assert_int_equal(ret, -ENOSPC);
		assert_int_equal(err.kind, ERROR_KIND_FAILED);
		assert_non_null(
			strstr(err.msg, "cannot write the capture: No space left on device."));
		if (room >= sizeof(struct capture_header)) {
			/* Later calls fail alike, though there is room again. */
			disk.room = 1 << 20;
			memset(&err, 0, sizeof(err));
			h = (const struct rec_header *)r.words.data;
			assert_int_equal(capture_writer_add(w, h, &err), -ENOSPC);
			assert_int_equal(err.code, -ENOSPC);
			assert_int_equal(capture_writer_flush(w, NULL), -ENOSPC);
			assert_int_equal(disk.room, 1 << 20);
			capture_writer_close(w);
		}
		fclose(f);
	}
	free(whole.data);
	records_close(&r);
}

/* With stdio's buffer between, the error shows when the buffer is flushed. */
static void test_disk_full_on_flush(void **state)
{
	struct rec_header end = {.type = REC_END, .size = sizeof(end)};
	FILE *f = fopen("/dev/full", "wb");
	struct capture_writer *w;
	struct error err = {0};

	UNUSED(state);
	assert_non_null(f);
	assert_int_equal(capture_writer_open(&w, f, 1, 2, &err), 0);
	assert_int_equal(capture_writer_add(w, &end, &err), 0);
	assert_int_equal(capture_writer_flush(w, &err), -ENOSPC);
	assert_non_null(strstr(err.msg, "No space left on device"));
	assert_int_equal(capture_writer_add(w, &end, NULL), -ENOSPC);
	capture_writer_close(w);
	fclose(f);
}

static ssize_t fail_read(void *cookie, char *bytes, size_t size)
{
	struct bytes *left = cookie;
	size_t give = MIN(size, left->size);

	if (!give) {
		errno = EIO;
		return -1;
	}
	memcpy(bytes, left->data, give);
	left->data += give;
	left->size -= give;
	return (ssize_t)give;
}

static void test_read_error(void **state)
{
	struct records r;
	struct bytes file;

	UNUSED(state);
	make_small(&r);
	file = write_capture(&r, 6);
	for (size_t size = 0; size < file.size; size += 11) {
		struct bytes left = {.data = file.data, .size = size};
		FILE *f = fopencookie(&left, "r", (cookie_io_functions_t){.read = fail_read});
		struct capture_reader *reader;
		const struct rec_header *rec;
		struct error err = {0};
		struct source *s;
		int ret;

		ret = capture_reader_open(&reader, f, "disk.ebeam", &err);
		if (!ret) {
			s = capture_reader_source(reader);
			while ((ret = s->next(s, &rec, &err)) == 1)
				assert_non_null(rec);
			assert_int_equal(s->next(s, &rec, NULL), 0);
			source_close(s);
		}
		assert_int_equal(ret, -EIO);
		assert_string_equal(err.msg, "cannot read disk.ebeam: Input/output error");
		fclose(f);
	}
	free(file.data);
	records_close(&r);
}

/* ---- size --------------------------------------------------------------------------------- */

/*
 * Ten minutes at 99 Hz of two busy schedulers: 120,000 samples, 300 stacks of 20 frames, 50
 * processes, a block every second.
 */
static void test_bytes_per_sample(void **state)
{
	enum { NR_SAMPLES = 120000, NR_STACKS = 300, DEPTH = 20, NR_PROCESSES = 50 };
	uint32_t frames[DEPTH], stacks[NR_STACKS], processes[NR_PROCESSES], threads[2];
	struct records r;
	struct bytes file;
	uint32_t random = 1;
	char text[64];

	UNUSED(state);
	records_open(&r);
	for (uint32_t i = 0; i < NR_STACKS; i++) {
		for (uint32_t j = 0; j < DEPTH; j++) {
			/* Callers are shared, the deeper the fewer. */
			uint32_t which = i >> (DEPTH - 1 - j) / 2;

			snprintf(text, sizeof(text), "handle_some_request_%u_%u", which, j);
			frames[j] = records_frame(
				&r, records_function(&r, "my_worker", text, 3, FRAME_ERLANG),
				"src/my_worker.erl", 10 + which + j);
		}
		stacks[i] = records_stack(&r, frames, DEPTH);
	}
	for (uint32_t i = 0; i < NR_PROCESSES; i++) {
		snprintf(text, sizeof(text), "<0.%u.0>", 80 + i);
		processes[i] =
			records_process(&r, 0x100 + i * 16, text, i % 5 ? NULL : "reg", NULL, 1);
	}
	for (uint32_t i = 0; i < 2; i++) {
		snprintf(text, sizeof(text), "erts_sched_%u", i + 1);
		threads[i] = records_thread(&r, 5000 + i, THREAD_NORMAL, (uint16_t)(i + 1), text);
	}
	for (uint64_t i = 0; i < NR_SAMPLES; i++) {
		random = random * 1103515245 + 12345;
		/* The timer's ticks, some microseconds late. */
		records_sample(&r, i / 2 * 10101010 + (random >> 8) % 30000,
			       processes[(random >> 16) % NR_PROCESSES],
			       stacks[(random >> 20) % NR_STACKS], threads[i % 2], 1,
			       (enum sample_kind)((random >> 10) % 7), SAMPLE_STATUS_COMPLETE);
	}
	records_end(&r, 1);
	file = write_capture(&r, 198);
	assert_true(file.size / NR_SAMPLES <= 60);
	print_message("%.1f bytes per sample\n", (double)file.size / NR_SAMPLES);
	free(file.data);
	records_close(&r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_round_trip),
		cmocka_unit_test(test_times),
		cmocka_unit_test(test_large),
		cmocka_unit_test(test_no_raw_records),
		cmocka_unit_test(test_cut_anywhere),
		cmocka_unit_test(test_cut_block_gives_its_records),
		cmocka_unit_test(test_any_bit),
		cmocka_unit_test(test_data_after_end),
		cmocka_unit_test(test_no_end_record),
		cmocka_unit_test(test_hostile_blocks),
		cmocka_unit_test(test_versions),
		cmocka_unit_test(test_disk_full),
		cmocka_unit_test(test_disk_full_on_flush),
		cmocka_unit_test(test_read_error),
		cmocka_unit_test(test_bytes_per_sample),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
