/* SPDX-License-Identifier: BSD-2-Clause */
/* Pages are in memory before a probe is placed there, also that which an instruction ends in. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/compiler.h"
#include "probe/attach/page_cache.h"

#define PAGE  4096u
#define PAGES 64u /* beyond what is read ahead of a few pages */

static unsigned char resident[PAGES];

/* Which pages of the file are in memory. */
static void read_resident(int fd)
{
	void *map = mmap(NULL, PAGES * PAGE, PROT_READ, MAP_SHARED, fd, 0);

	assert_ptr_not_equal(map, MAP_FAILED);
	assert_int_equal(mincore(map, PAGES * PAGE, resident), 0);
	munmap(map, PAGES * PAGE);
}

/* A file of which no page is in memory; skips the test where they cannot be thrown out. */
static int make_cold(char *path)
{
	static const char page[PAGE] = "";
	int fd = mkstemp(path);

	assert_true(fd >= 0);
	for (unsigned int i = 0; i < PAGES; i++)
		assert_int_equal(write(fd, page, PAGE), PAGE);
	fsync(fd);
	posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
	read_resident(fd);
	for (unsigned int i = 0; i < PAGES; i++) {
		if (resident[i] & 1) {
			close(fd);
			unlink(path);
			skip();
		}
	}
	return fd;
}

static void test_both_pages(void **state)
{
	char path[] = "/tmp/ebeam-page-cache-XXXXXX";
	int fd = make_cold(path);

	UNUSED(state);
	/* No reading ahead that would bring all of them. */
	posix_fadvise(fd, 0, 0, POSIX_FADV_RANDOM);
	page_cache_read(path, 41 * PAGE - 4);
	read_resident(fd);
	unlink(path);
	close(fd);
	assert_true(resident[40] & 1);
	assert_true(resident[41] & 1);
	assert_false(resident[0] & 1);
}

static void test_nothing_there(void **state)
{
	UNUSED(state);
	page_cache_read("/nonexistent", 0);
	page_cache_read("/", 0);
	page_cache_read("/proc/self/exe", UINT64_MAX);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_both_pages),
		cmocka_unit_test(test_nothing_there),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
