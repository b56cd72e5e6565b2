/* SPDX-License-Identifier: BSD-2-Clause */
/* cmd/output/outpipe over real pipes and files: nothing blocks, nothing is lost, order is kept. */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/compiler.h"
#include "cmd/output/outpipe.h"

#define LINES 200000u

static FILE *open_pipe(int *reader)
{
	int fds[2];

	assert_int_equal(pipe(fds), 0);
	*reader = fds[0];
	return fdopen(fds[1], "w");
}

/* Reads numbers to the end in a process of its own; its exit status: 0 = all of them in order. */
static pid_t read_numbers(int fd, FILE *ours)
{
	pid_t pid = fork();
	unsigned int n = 0, got;
	FILE *f;

	if (pid)
		return pid;
	close(fileno(ours));
	f = fdopen(fd, "r");
	while (fscanf(f, "%u", &got) == 1) {
		if (got != n++)
			_exit(1);
	}
	_exit(n == LINES ? 0 : 2);
}

static void waits_for_a_slow_reader(void **state)
{
	struct outpipe *o;
	int reader, status;
	FILE *target = open_pipe(&reader);
	bool full = false;
	pid_t pid;

	UNUSED(state);
	assert_int_equal(outpipe_open(&o, target, NULL), 0);
	for (unsigned int i = 0; i < LINES; i++) {
		assert_true(fprintf(outpipe_file(o), "%u\n", i) > 0); /* nobody reads, it goes on */
		if (i % 1000 == 0)
			full = outpipe_full(o);
	}
	assert_true(full);
	pid = read_numbers(reader, target);
	assert_int_equal(outpipe_finish(o), 0);
	assert_false(outpipe_full(o));
	outpipe_close(o);
	fclose(target);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	close(reader);
}

static void says_that_the_reader_is_gone(void **state)
{
	struct outpipe *o;
	int reader;
	FILE *target = open_pipe(&reader);

	UNUSED(state);
	signal(SIGPIPE, SIG_IGN);
	assert_int_equal(outpipe_open(&o, target, NULL), 0);
	fputs("one\n", outpipe_file(o));
	assert_int_equal(outpipe_error(o), 0);
	close(reader);
	fputs("two\n", outpipe_file(o));
	assert_int_equal(outpipe_error(o), -EPIPE);
	assert_int_equal(outpipe_finish(o), -EPIPE);
	outpipe_close(o);
	fclose(target);
}

static void writes_files_at_once(void **state)
{
	struct outpipe *o;
	FILE *target = tmpfile();
	char line[16] = "";

	UNUSED(state);
	assert_int_equal(outpipe_open(&o, target, NULL), 0);
	for (unsigned int i = 0; i < LINES; i++)
		fprintf(outpipe_file(o), "%u\n", i);
	assert_false(outpipe_full(o));
	assert_int_equal(outpipe_finish(o), 0);
	outpipe_close(o);
	rewind(target);
	for (unsigned int i = 0; i < LINES; i++) {
		char want[16];

		snprintf(want, sizeof(want), "%u\n", i);
		assert_non_null(fgets(line, sizeof(line), target));
		assert_string_equal(line, want);
	}
	assert_null(fgets(line, sizeof(line), target));
	fclose(target);
}

static void full_disk(void **state)
{
	struct outpipe *o;
	FILE *target = fopen("/dev/full", "w");

	UNUSED(state);
	assert_int_equal(outpipe_open(&o, target, NULL), 0);
	fputs("x\n", outpipe_file(o));
	assert_int_equal(outpipe_error(o), -ENOSPC);
	outpipe_close(o);
	fclose(target);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(waits_for_a_slow_reader),
		cmocka_unit_test(says_that_the_reader_is_gone),
		cmocka_unit_test(writes_files_at_once),
		cmocka_unit_test(full_disk),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
