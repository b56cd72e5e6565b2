/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Memory of processes: the live back end against this process and its children (ours is the truth
 * to compare with), images byte by byte and cut at every length, recorder, injected faults.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/compiler.h"
#include "lib/mem_faulty.h"
#include "lib/mem_image.h"
#include "target/mem.h"

#define PAGE 4096u

static raddr addr_of(const void *p)
{
	return (raddr)(uintptr_t)p;
}

/* Three pages: the middle one cannot be read. */
static char *map_with_hole(void)
{
	char *p = mmap(NULL, 3 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	assert_true(p != MAP_FAILED);
	for (size_t i = 0; i < 3 * PAGE; i++)
		p[i] = (char)(1 + i % 251);
	assert_int_equal(munmap(p + PAGE, PAGE), 0);
	return p;
}

static void unmap_with_hole(char *p)
{
	munmap(p, PAGE);
	munmap(p + 2 * PAGE, PAGE);
}

static struct mem *open_self(void)
{
	struct error err = {0};
	struct mem *m = NULL;

	assert_int_equal(mem_open_live(&m, getpid(), &err), 0);
	assert_int_equal(err.code, 0);
	return m;
}

/* The reads that both ways to read a live process must answer alike. */
static void check_live_reads(struct mem *m, char *p)
{
	char buf[2 * PAGE];
	uint64_t u64;
	uint32_t u32;

	assert_int_equal(mem_read(m, addr_of(p) + 5, buf, PAGE - 5), 0);
	assert_memory_equal(buf, p + 5, PAGE - 5);
	assert_int_equal(mem_read(m, addr_of(p), buf, PAGE + 1), -EFAULT);
	assert_int_equal(mem_read(m, addr_of(p) + PAGE, buf, 1), -EFAULT);
	assert_int_equal(mem_read(m, 0, buf, 8), -EFAULT);
	assert_int_equal(mem_read(m, UINT64_MAX - 3, buf, 8), -EFAULT);
	assert_int_equal(mem_read(m, UINT64_MAX - 63, buf, 8), -EFAULT);
	assert_int_equal(mem_read(m, addr_of(p) + PAGE, buf, 0), 0);
	assert_int_equal(mem_read_u32(m, addr_of(p) + 3, &u32), 0);
	assert_memory_equal(&u32, p + 3, 4);
	assert_int_equal(mem_read_u64(m, addr_of(p) + PAGE - 8, &u64), 0);
	assert_memory_equal(&u64, p + PAGE - 8, 8);
	assert_int_equal(mem_read_u64(m, addr_of(p) + PAGE - 7, &u64), -EFAULT);
}

static void live_reads_what_is_there(void **state)
{
	struct mem *m = open_self();
	char *p = map_with_hole();

	UNUSED(state);
	check_live_reads(m, p);
	unmap_with_hole(p);
	mem_close(m);
}

static void live_strings_end_at_holes(void **state)
{
	struct mem *m = open_self();
	char *p = map_with_hole(), buf[2 * PAGE];

	UNUSED(state);
	strcpy(p + PAGE - 6, "atoms"); /* its NUL is the last byte of the page */
	assert_int_equal(mem_read_string(m, addr_of(p) + PAGE - 6, buf, sizeof(buf)), 0);
	assert_string_equal(buf, "atoms");
	assert_int_equal(mem_read_string(m, addr_of(p) + PAGE - 6, buf, 4), 0);
	assert_string_equal(buf, "ato");
	assert_int_equal(mem_read_string(m, addr_of(p) + PAGE - 6, buf, 1), 0);
	assert_string_equal(buf, "");
	assert_int_equal(mem_read_string(m, addr_of(p) + PAGE - 6, buf, 0), -EINVAL);
	p[PAGE - 1] = 'x'; /* now it runs into the hole */
	assert_int_equal(mem_read_string(m, addr_of(p) + PAGE - 6, buf, sizeof(buf)), -EFAULT);
	assert_string_equal(buf, "");
	memset(p, 'y', 1000);
	p[1000] = '\0'; /* longer than one piece */
	assert_int_equal(mem_read_string(m, addr_of(p), buf, sizeof(buf)), 0);
	assert_int_equal(strlen(buf), 1000);
	unmap_with_hole(p);
	mem_close(m);
}

/* More ranges than one call takes, every third of them bad in one way or another. */
static void check_readv(struct mem *m, char *p)
{
	enum { NR = 3000 };
	struct mem_range *r = calloc(NR, sizeof(*r));
	char *bufs = calloc(NR, 16);
	size_t nr_good = 0;

	for (size_t i = 0; i < NR; i++) {
		/* Nothing to read is no fault, wherever it is. */
		size_t size = i % 10 == 0 ? 0 : 16;

		r[i] = (struct mem_range){addr_of(p) + i % 500, bufs + i * 16, size, 1};
		if (i % 9 == 2)
			r[i].addr = addr_of(p) + PAGE - 8; /* half of it in the hole */
		else if (i % 9 == 5)
			r[i].addr = addr_of(p) + PAGE + 8;
		else if (i % 9 == 8)
			r[i].addr = UINT64_MAX - 3;
		nr_good += i % 3 != 2 || size == 0;
	}
	assert_int_equal(mem_readv(m, r, NR), nr_good);
	for (size_t i = 0; i < NR; i++) {
		if (i % 3 == 2 && r[i].size) {
			assert_int_equal(r[i].err, -EFAULT);
			continue;
		}
		assert_int_equal(r[i].err, 0);
		assert_memory_equal(r[i].buf, r[i].size ? p + i % 500 : bufs, r[i].size);
	}
	assert_int_equal(mem_readv(m, r, 0), 0);
	free(bufs);
	free(r);
}

static void live_batches_judge_every_range(void **state)
{
	struct mem *m = open_self();
	char *p = map_with_hole();

	UNUSED(state);
	check_readv(m, p);
	unmap_with_hole(p);
	mem_close(m);
}

static void live_process_that_is_gone(void **state)
{
	struct error err = {0};
	struct mem *m = NULL;
	struct mem_range ranges[3];
	char buf[8], *p = map_with_hole();
	int pipe_fds[2];
	pid_t pid;

	UNUSED(state);
	assert_int_equal(pipe(pipe_fds), 0);
	pid = fork();
	if (pid == 0) {
		close(pipe_fds[1]);
		_exit(read(pipe_fds[0], buf, 1) < 0);
	}
	close(pipe_fds[0]);
	assert_int_equal(mem_open_live(&m, pid, &err), 0);
	assert_int_equal(mem_read(m, addr_of(p), buf, sizeof(buf)), 0);
	close(pipe_fds[1]);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	assert_int_equal(mem_read(m, addr_of(p), buf, sizeof(buf)), -ESRCH);
	for (size_t i = 0; i < ARRAY_SIZE(ranges); i++)
		ranges[i] = (struct mem_range){addr_of(p), buf, sizeof(buf), 0};
	assert_int_equal(mem_readv(m, ranges, ARRAY_SIZE(ranges)), 0);
	for (size_t i = 0; i < ARRAY_SIZE(ranges); i++)
		assert_int_equal(ranges[i].err, -ESRCH);
	mem_close(m);
	assert_int_equal(mem_open_live(&m, pid, &err), -ESRCH);
	assert_int_equal(err.kind, ERROR_KIND_NO_NODE);
	assert_non_null(strstr(err.msg, "no process has pid"));
	assert_int_equal(mem_open_live(&m, 0, &err), -ESRCH);
	assert_int_equal(mem_open_live(&m, -1, &err), -ESRCH);
	unmap_with_hole(p);
}

/* Runs fn in a child, whose asserts end it with a code that is not 0. */
static int run_in_child(void (*fn)(void))
{
	pid_t pid = fork();
	int status = 0;

	if (pid == 0) {
		fn();
		_exit(0);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128;
}

#define CHILD_CHECK(cond)                                                                          \
	do {                                                                                       \
		if (!(cond))                                                                       \
			_exit(__LINE__ % 200 + 2);                                                 \
	} while (0)

static void as_nobody(void)
{
	struct error err = {0};
	struct mem *m = NULL;

	/* pid 1 is root's; so are we, perhaps. */
	if (geteuid() == 0)
		CHILD_CHECK(setresgid(65534, 65534, 65534) == 0 &&
			    setresuid(65534, 65534, 65534) == 0);
	CHILD_CHECK(mem_open_live(&m, 1, &err) == -EPERM);
	CHILD_CHECK(err.kind == ERROR_KIND_PRIVILEGE);
	CHILD_CHECK(strstr(err.msg, "Operation not permitted") &&
		    strstr(err.msg, "CAP_SYS_PTRACE"));
}

static void live_without_privilege(void **state)
{
	UNUSED(state);
	assert_int_equal(run_in_child(as_nobody), 0);
}

/* What a container runtime's filter does: process_vm_readv fails with EPERM. */
static void forbid_process_vm_readv(void)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_process_vm_readv, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = {.len = ARRAY_SIZE(code), .filter = code};

	CHILD_CHECK(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0);
	CHILD_CHECK(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0);
}

static void with_filter(void)
{
	char *p = map_with_hole(), buf[64];
	struct error err = {0};
	struct mem *m = NULL;

	forbid_process_vm_readv();
	CHILD_CHECK(mem_open_live(&m, getpid(), &err) == 0);
	CHILD_CHECK(mem_read(m, addr_of(p) + PAGE - 64, buf, 64) == 0);
	CHILD_CHECK(memcmp(buf, p + PAGE - 64, 64) == 0);
	CHILD_CHECK(mem_read(m, addr_of(p) + PAGE - 63, buf, 64) == -EFAULT);
	check_live_reads(m, p);
	check_readv(m, p);
	mem_close(m);
	unmap_with_hole(p);
}

static void live_falls_back_to_proc_mem(void **state)
{
	UNUSED(state);
	assert_int_equal(run_in_child(with_filter), 0);
}

/* ---- images ---------------------------------------------------------------------------------- */

struct image_builder {
	unsigned char bytes[512];
	size_t size;
};

static void add_bytes(struct image_builder *b, const void *data, size_t size)
{
	memcpy(b->bytes + b->size, data, size);
	b->size += size;
}

static void add_range(struct image_builder *b, uint64_t addr, const char *data, uint64_t size)
{
	if (b->size == 0)
		add_bytes(b, MEM_IMAGE_MAGIC, strlen(MEM_IMAGE_MAGIC));
	add_bytes(b, &addr, sizeof(addr));
	add_bytes(b, &size, sizeof(size));
	add_bytes(b, data, size);
}

static struct mem *open_image(const struct image_builder *b)
{
	struct error err = {0};
	struct mem *m = NULL;

	assert_int_equal(mem_open_image(&m, b->bytes, b->size, &err), 0);
	return m;
}

static void image_reads_its_ranges(void **state)
{
	struct image_builder b = {0};
	struct mem *m;
	char buf[32];

	UNUSED(state);
	add_range(&b, 0x2000, "uvwxyz", 6); /* not in order */
	add_range(&b, 0x1000, "abcdefgh", 8);
	add_range(&b, 0x1008, "ijkl", 4); /* touches the one before */
	add_range(&b, UINT64_MAX - 3, "top", 3);
	m = open_image(&b);
	memset(b.bytes, 0xff, sizeof(b.bytes)); /* the image was copied */
	assert_int_equal(mem_read(m, 0x1006, buf, 6), 0);
	assert_memory_equal(buf, "ghijkl", 6);
	assert_int_equal(mem_read(m, 0x1006, buf, 7), -EFAULT);
	assert_int_equal(mem_read(m, 0xfff, buf, 2), -EFAULT);
	assert_int_equal(mem_read(m, 0x2005, buf, 1), 0);
	assert_int_equal(buf[0], 'z');
	assert_int_equal(mem_read(m, 0x2006, buf, 1), -EFAULT);
	assert_int_equal(mem_read(m, UINT64_MAX - 3, buf, 3), 0);
	assert_int_equal(mem_read(m, UINT64_MAX - 3, buf, 8), -EFAULT);
	assert_int_equal(mem_read_string(m, 0x2000, buf, 7), 0);
	assert_string_equal(buf, "uvwxyz");
	assert_int_equal(mem_read_string(m, 0x2000, buf, 8), -EFAULT);
	mem_close(m);
}

static void image_is_refused(const struct image_builder *b, size_t size, const char *why)
{
	struct error err = {0};
	struct mem *m = NULL;
	unsigned char *exact = malloc(size ? size : 1); /* so that ASan sees reads past the end */

	memcpy(exact, b->bytes, size);
	assert_int_equal(mem_open_image(&m, exact, size, &err), -EINVAL);
	assert_non_null(strstr(err.msg, why));
	free(exact);
}

static void image_cut_at_every_length(void **state)
{
	struct image_builder b = {0};
	const size_t first = 8 + 16 + 3;
	struct mem *m = NULL;

	UNUSED(state);
	add_range(&b, 0x1000, "abc", 3);
	add_range(&b, 0x2000, "defg", 4);
	for (size_t size = 0; size < b.size; size++) {
		if (size == 8 || size == first) { /* whole ranges only: a smaller image */
			assert_int_equal(mem_open_image(&m, b.bytes, size, NULL), 0);
			mem_close(m);
		} else {
			image_is_refused(&b, size, size < 8 ? "does not start" : "ends inside");
		}
	}
}

static void image_with_bad_ranges(void **state)
{
	struct image_builder overlap = {0}, wrap = {0}, huge = {0};
	uint64_t size = UINT64_MAX;

	UNUSED(state);
	add_range(&overlap, 0x1002, "xy", 2);
	add_range(&overlap, 0x1000, "abc", 3);
	image_is_refused(&overlap, overlap.size, "overlap");
	add_range(&wrap, UINT64_MAX - 1, "abc", 3);
	image_is_refused(&wrap, wrap.size, "wraps");
	add_range(&huge, 0x1000, "abc", 3);
	memcpy(huge.bytes + 16, &size, sizeof(size));
	image_is_refused(&huge, huge.size, "ends inside");
}

/* ---- recorder and faults --------------------------------------------------------------------- */

static void recorder_replays_what_was_read(void **state)
{
	struct mem *live = open_self(), *recorder = NULL, *image = NULL;
	char *p = map_with_hole(), buf[3 * PAGE];
	struct mem_range ranges[2];
	uint64_t first_addr;
	void *bytes;
	size_t size;

	UNUSED(state);
	recorder = mem_open_recorder(live);
	assert_int_equal(mem_read(recorder, addr_of(p) + 100, buf, 50), 0);
	p[120] = '!';
	assert_int_equal(mem_read(recorder, addr_of(p) + 120, buf, 80),
			 0); /* the newer byte wins */
	assert_int_equal(mem_read(recorder, addr_of(p) + PAGE - 4, buf, 8), -EFAULT);
	ranges[0] = (struct mem_range){addr_of(p) + 2 * PAGE, buf, PAGE, 1};
	ranges[1] = (struct mem_range){addr_of(p) + PAGE, buf + PAGE, 8, 0};
	assert_int_equal(mem_readv(recorder, ranges, 2), 1);
	assert_int_equal(ranges[1].err, -EFAULT);
	bytes = mem_recorder_image(recorder, &size);
	assert_non_null(bytes);
	assert_int_equal(size, 8 + 16 + 100 + 16 + PAGE); /* two ranges, merged */
	memcpy(&first_addr, (char *)bytes + 8, sizeof(first_addr));
	assert_int_equal(first_addr, addr_of(p) + 100);
	assert_int_equal(mem_open_image(&image, bytes, size, NULL), 0);
	free(bytes);
	assert_int_equal(mem_read(image, addr_of(p) + 100, buf, 100), 0);
	assert_memory_equal(buf, p + 100, 100);
	assert_int_equal(mem_read(image, addr_of(p) + 99, buf, 1), -EFAULT);
	assert_int_equal(mem_read(image, addr_of(p) + 200, buf, 1), -EFAULT);
	assert_int_equal(mem_read(image, addr_of(p) + PAGE - 4, buf, 4), -EFAULT);
	assert_int_equal(mem_read(image, addr_of(p) + 2 * PAGE, buf, PAGE), 0);
	assert_memory_equal(buf, p + 2 * PAGE, PAGE);
	mem_close(image);
	mem_close(recorder);
	mem_close(live);
	unmap_with_hole(p);
}

static void recorder_of_nothing(void **state)
{
	struct mem *live = open_self(), *recorder = NULL, *image = NULL;
	size_t size;
	void *bytes;

	UNUSED(state);
	recorder = mem_open_recorder(live);
	bytes = mem_recorder_image(recorder, &size);
	assert_int_equal(mem_open_image(&image, bytes, size, NULL), 0);
	free(bytes);
	mem_close(image);
	mem_close(recorder);
	mem_close(live);
}

static void recorder_joins_pages(void **state)
{
	struct mem *live = open_self(), *recorder = NULL;
	char *p = map_with_hole(), *q, buf[8];
	uint64_t header[2];
	size_t size;
	void *bytes;

	UNUSED(state);
	q = mmap(p + PAGE, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED,
		 -1, 0);
	assert_ptr_equal(q, p + PAGE);
	recorder = mem_open_recorder(live);
	assert_int_equal(mem_read(recorder, addr_of(q), buf, 4), 0);
	assert_int_equal(mem_read(recorder, addr_of(q) - 4, buf, 4), 0);
	bytes = mem_recorder_image(recorder, &size);
	assert_int_equal(size, 8 + 16 + 8);
	memcpy(header, (char *)bytes + 8, sizeof(header));
	assert_int_equal(header[0], addr_of(q) - 4);
	assert_int_equal(header[1], 8);
	free(bytes);
	mem_close(recorder);
	mem_close(live);
	munmap(q, PAGE);
	unmap_with_hole(p);
}

static void faults_hit_what_they_are_set_to(void **state)
{
	struct image_builder b = {0};
	struct mem *m, *faulty = NULL;
	struct mem_range ranges[3];
	char buf[16];

	UNUSED(state);
	add_range(&b, 0x1000, "0123456789abcdef", 16);
	m = open_image(&b);
	for (raddr fault = 0xff8; fault < 0x1018; fault++) {
		faulty = mem_open_faulty(m, fault, 4, 0);
		for (raddr addr = 0x1000; addr <= 0x100c; addr++) {
			bool hit = addr < fault + 4 && fault < addr + 4;

			assert_int_equal(mem_read(faulty, addr, buf, 4), hit ? -EFAULT : 0);
		}
		mem_close(faulty);
	}
	for (uint64_t nth = 1; nth <= 4; nth++) {
		faulty = mem_open_faulty(m, 0, 0, nth);
		for (size_t i = 0; i < ARRAY_SIZE(ranges); i++)
			ranges[i] = (struct mem_range){0x1000 + i, buf, 1, 0};
		assert_int_equal(mem_readv(faulty, ranges, 3), nth <= 3 ? 2 : 3);
		for (size_t i = 0; i < ARRAY_SIZE(ranges); i++)
			assert_int_equal(ranges[i].err, i + 1 == nth ? -EFAULT : 0);
		mem_close(faulty);
	}
	mem_close(m);
	mem_close(NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(live_reads_what_is_there),
		cmocka_unit_test(live_strings_end_at_holes),
		cmocka_unit_test(live_batches_judge_every_range),
		cmocka_unit_test(live_process_that_is_gone),
		cmocka_unit_test(live_without_privilege),
		cmocka_unit_test(live_falls_back_to_proc_mem),
		cmocka_unit_test(image_reads_its_ranges),
		cmocka_unit_test(image_cut_at_every_length),
		cmocka_unit_test(image_with_bad_ranges),
		cmocka_unit_test(recorder_replays_what_was_read),
		cmocka_unit_test(recorder_of_nothing),
		cmocka_unit_test(recorder_joins_pages),
		cmocka_unit_test(faults_hit_what_they_are_set_to),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
