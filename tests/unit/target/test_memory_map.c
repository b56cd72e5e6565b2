/* SPDX-License-Identifier: BSD-2-Clause */
/* Texts of smaps, recorded and damaged; smaps and pagemap of this process. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/compiler.h"
#include "target/memory_map.h"

#define KIB 1024u

static const char smaps_text[] =
	"55967b6ed000-55967b703000 rw-p 003e6000 fe:00 1097846                    "
	"/usr/lib/erlang/erts-13.1.5/bin/beam.smp\n"
	"Size:                 88 kB\n"
	"KernelPageSize:        4 kB\n"
	"Rss:                  72 kB\n"
	"Pss:                  72 kB\n"
	"Pss_Dirty:            72 kB\n"
	"AnonHugePages:         0 kB\n"
	"Swap:                  8 kB\n"
	"SwapPss:               9 kB\n"
	"THPeligible:           0\n"
	"ProtectionKey:         0\n"
	"VmFlags: rd wr mr mw me ac \n"
	"7ff701e00000-7ff702000000 rw-p 00000000 00:00 0 \n"
	"Size:               2048 kB\n"
	"Rss:                2048 kB\n"
	"AnonHugePages:      2048 kB\n"
	"Swap:                  0 kB\n"
	"VmFlags: rd wr mr mw me ac sd \n"
	"7ff7023ff000-7ff702bff000 rw-s 00000000 00:01 161848                     "
	"/memfd:vmem (deleted)\n"
	"Rss:                3760 kB\n";

static void smaps_of_a_node(void **state)
{
	struct memory_map m;

	UNUSED(state);
	assert_int_equal(memory_map_parse(&m, smaps_text, strlen(smaps_text)), 0);
	assert_int_equal(m.len, 3);
	assert_int_equal(m.data[0].rss, 72 * KIB);
	assert_int_equal(m.data[0].swap, 8 * KIB);
	assert_int_equal(m.data[0].huge, 0);
	assert_string_equal(m.data[0].map.path, "/usr/lib/erlang/erts-13.1.5/bin/beam.smp");
	assert_int_equal(m.data[1].rss, 2048 * KIB);
	assert_int_equal(m.data[1].huge, 2048 * KIB);
	assert_string_equal(m.data[1].map.path, "");
	assert_int_equal(m.data[2].rss, 3760 * KIB);
	assert_true(m.data[2].map.shared && m.data[2].map.deleted);
	memory_map_free(&m);
}

static void parse(struct memory_map *m, const char *text, int want)
{
	assert_int_equal(memory_map_parse(m, text, strlen(text)), want);
}

static void odd_texts(void **state)
{
	struct memory_map m;

	UNUSED(state);
	parse(&m, "", 0);
	assert_int_equal(m.len, 0);
	parse(&m, "Rss:  4 kB\n", -EINVAL); /* of no mapping */
	parse(&m, "1000-2000 rw-p 00000000 00:00 0 \nnonsense\n", -EINVAL);
	parse(&m, "1000-2000 rw-p 00000000 00:00 0 \n a: b\n", -EINVAL);
	/* A field without a number, one that is too large, one that a later kernel may have. */
	parse(&m,
	      "1000-2000 rw-p 00000000 00:00 0 \nRss:\nSwap: 99999999999999999999999 kB\n"
	      "NewField: x\n",
	      0);
	assert_int_equal(m.data[0].rss, 0);
	assert_true(m.data[0].swap > 0);
	memory_map_free(&m);
	/* The process changed its mappings while the kernel wrote: the later line is kept. */
	parse(&m,
	      "1000-3000 rw-p 00000000 00:00 0 \nRss: 4 kB\n"
	      "2000-4000 rw-p 00000000 00:00 0 \nRss: 8 kB\n",
	      0);
	assert_int_equal(m.len, 1);
	assert_int_equal(m.data[0].rss, 8 * KIB);
	memory_map_free(&m);
}

/* Cut anywhere, or with any byte changed: an answer without overlaps, or none. */
static void damaged_texts(void **state)
{
	char text[sizeof(smaps_text)];
	struct memory_map m;

	UNUSED(state);
	for (size_t len = 0; len < strlen(smaps_text); len++) {
		memory_map_parse(&m, smaps_text, len);
		memory_map_free(&m);
	}
	for (size_t i = 0; i < strlen(smaps_text); i++) {
		memcpy(text, smaps_text, sizeof(text));
		text[i] ^= 0x15;
		memory_map_parse(&m, text, strlen(smaps_text));
		for (size_t k = 1; k < m.len; k++)
			assert_true(m.data[k - 1].map.end <= m.data[k].map.start);
		memory_map_free(&m);
	}
}

#define PAGES 1000

/* Of the pages of a mapping every third one is written to. */
static void own_memory(void **state)
{
	const size_t size = PAGES * MEMORY_PAGE;
	uint8_t *at = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	raddr start = (raddr)(uintptr_t)at;
	struct memory_pages *pages = memory_pages_open("/proc/self/pagemap");
	struct memory_map m;
	uint64_t sum = 0;

	UNUSED(state);
	assert_true(at != MAP_FAILED);
	assert_non_null(pages);
	madvise(at, size, MADV_NOHUGEPAGE);
	for (size_t i = 0; i < PAGES; i += 3)
		at[i * MEMORY_PAGE] = 1;
	assert_int_equal(memory_map_read(&m, getpid(), NULL), 0);
	for (size_t i = 0; i < m.len; i++)
		if (m.data[i].map.start <= start && m.data[i].map.end >= start + size)
			sum = m.data[i].rss;
	assert_true(sum >= (PAGES + 2) / 3 * MEMORY_PAGE);
	assert_int_equal(memory_pages_present(pages, start, start + size), (PAGES + 2) / 3);
	/* Pages count that begin in the range. */
	assert_int_equal(memory_pages_present(pages, start, start + 1), 1);
	assert_int_equal(memory_pages_present(pages, start + 1, start + MEMORY_PAGE), 0);
	assert_int_equal(memory_pages_present(pages, start + 1, start + 3 * MEMORY_PAGE + 1), 1);
	assert_true(memory_page_present(pages, start));
	assert_false(memory_page_present(pages, start + MEMORY_PAGE));
	assert_false(memory_page_present(pages, (raddr)1 << 63));
	memory_pages_close(pages);
	memory_map_free(&m);
	munmap(at, size);
}

static void a_process_that_is_not_there(void **state)
{
	struct memory_map m;
	struct error err;

	UNUSED(state);
	assert_int_equal(memory_map_read(&m, 0x7ffffff, &err), -ESRCH);
	assert_int_equal(err.kind, ERROR_KIND_NO_NODE);
	assert_null(memory_pages_open("/proc/0/pagemap"));
}

/* Of a TiB that is reserved two pages are written to: the kernel finds them at once. */
static void touched_pages_of_a_reserve(void **state)
{
	const size_t size = (size_t)1 << 40, one = (size_t)300 << 30, two = size - MEMORY_PAGE;
	struct memory_pages *pages = memory_pages_open("/proc/self/pagemap");
	char *at = mmap(NULL, size, PROT_READ | PROT_WRITE,
			MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	raddr from = (raddr)(uintptr_t)at, to = from + size;

	UNUSED(state);
	assert_non_null(pages);
	if (at == MAP_FAILED)
		skip();
	madvise(at, size, MADV_NOHUGEPAGE);
	at[one] = at[two] = 1;
	assert_int_equal(memory_pages_touched(pages, from, to), from + one);
	assert_int_equal(memory_pages_touched(pages, from + one, to), from + one);
	assert_int_equal(memory_pages_touched(pages, from + one + MEMORY_PAGE, to), from + two);
	assert_int_equal(memory_pages_touched(pages, from, from + one), from + one);
	assert_int_equal(memory_pages_touched(pages, from + 4096, from + one), from + one);
	assert_int_equal(memory_pages_touched(pages, to, to), to);
	munmap(at, size);
	memory_pages_close(pages);
}

/* What no kernel scans, as before Linux 6.7: entries are read. */
static void touched_pages_by_their_entries(void **state)
{
	char path[] = "/tmp/pagemap-XXXXXX";
	const uint64_t entries[] = {0, 0, 1ull << 62, 0, 1ull << 63, 1ull << 61};
	int fd = mkstemp(path);
	struct memory_pages *pages;

	UNUSED(state);
	assert_int_equal(write(fd, entries, sizeof(entries)), sizeof(entries));
	close(fd);
	pages = memory_pages_open(path);
	assert_non_null(pages);
	assert_int_equal(memory_pages_touched(pages, 0, 6 * MEMORY_PAGE), 2 * MEMORY_PAGE);
	assert_int_equal(memory_pages_touched(pages, 3 * MEMORY_PAGE, 6 * MEMORY_PAGE),
			 4 * MEMORY_PAGE);
	assert_int_equal(memory_pages_touched(pages, 5 * MEMORY_PAGE, 6 * MEMORY_PAGE),
			 6 * MEMORY_PAGE);
	/* The file ends before: that page may have been touched. */
	assert_int_equal(memory_pages_touched(pages, 5 * MEMORY_PAGE, 9 * MEMORY_PAGE),
			 6 * MEMORY_PAGE);
	memory_pages_close(pages);
	unlink(path);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(smaps_of_a_node),
		cmocka_unit_test(odd_texts),
		cmocka_unit_test(damaged_texts),
		cmocka_unit_test(own_memory),
		cmocka_unit_test(a_process_that_is_not_there),
		cmocka_unit_test(touched_pages_of_a_reserve),
		cmocka_unit_test(touched_pages_by_their_entries),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
