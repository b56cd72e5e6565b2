/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Output files: whole or not there, whatever happens: full disks, directories, links, devices,
 * signals, death.  Runs in a directory of its own.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pwd.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/compiler.h"
#include "cmd/command/signals.h"
#include "cmd/output/outfile.h"

static char *home, dir[] = "/tmp/ebeam-outfile-XXXXXX";

static int enter(void **state)
{
	UNUSED(state);
	strcpy(dir + strlen(dir) - 6, "XXXXXX");
	home = getcwd(NULL, 0);
	return mkdtemp(dir) && chdir(dir) == 0 ? 0 : -1;
}

static int leave(void **state)
{
	DIR *d = opendir(".");
	struct dirent *e;

	UNUSED(state);
	while ((e = readdir(d)))
		if (e->d_name[0] != '.' || strlen(e->d_name) > 2)
			remove(e->d_name);
	closedir(d);
	if (chdir(home) != 0 || rmdir(dir) != 0)
		return -1;
	free(home);
	return 0;
}

/* Number of files here, hidden ones too. */
static int count(void)
{
	DIR *d = opendir(".");
	struct dirent *e;
	int nr = 0;

	while ((e = readdir(d)))
		nr += strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0;
	closedir(d);
	return nr;
}

static void put(const char *path, const char *text)
{
	FILE *f = fopen(path, "w");

	assert_non_null(f);
	fputs(text, f);
	assert_int_equal(fclose(f), 0);
}

static bool read_content(const char *path, char *buf, size_t size)
{
	FILE *f = fopen(path, "r");

	if (!f)
		return false;
	buf[fread(buf, 1, size - 1, f)] = '\0';
	fclose(f);
	return true;
}

static void expect_content(const char *path, const char *want)
{
	char buf[256];

	assert_true(read_content(path, buf, sizeof(buf)));
	assert_string_equal(buf, want);
}

static struct outfile *begin(const char *path, enum outfile_mode mode)
{
	struct error err = {0};
	struct outfile *o = NULL;

	if (outfile_open(&o, path, mode, stdout, &err) != 0)
		print_error("%s\n", err.msg);
	assert_non_null(o);
	return o;
}

static void expect_refused(const char *path, int code, const char *text)
{
	struct error err = {0};
	struct outfile *o;

	assert_int_equal(outfile_open(&o, path, OUTFILE_WHOLE, stdout, &err), code);
	assert_null(o);
	assert_int_equal(err.kind, ERROR_KIND_FAILED);
	if (!strstr(err.msg, text))
		print_error("'%s'\n", err.msg);
	assert_non_null(strstr(err.msg, path));
	assert_non_null(strstr(err.msg, text));
}

/* The file system here makes files without a name, and there is a /proc to name them by. */
static bool has_nameless(void)
{
	int fd = open(".", O_WRONLY | O_TMPFILE, 0600);

	if (fd < 0 || access("/proc/self/fd", F_OK) != 0)
		return false;
	close(fd);
	return true;
}

static void the_name_appears_at_commit(void **state)
{
	struct error err = {0};
	struct outfile *o = begin("out.html", OUTFILE_WHOLE);
	struct stat st;

	UNUSED(state);
	fputs("whole", outfile_file(o));
	assert_int_equal(access("out.html", F_OK), -1);
	assert_int_equal(count(), has_nameless() ? 0 : 1);
	assert_int_equal(outfile_commit(&o, &err), 0);
	assert_null(o);
	expect_content("out.html", "whole");
	assert_int_equal(count(), 1);
	assert_int_equal(stat("out.html", &st), 0);
	assert_int_equal(st.st_mode & 0400, 0400);
}

static void the_umask_decides_the_mode(void **state)
{
	mode_t before = umask(027);
	struct error err = {0};
	struct outfile *o = begin("out", OUTFILE_WHOLE);
	struct stat st;

	UNUSED(state);
	assert_int_equal(outfile_commit(&o, &err), 0);
	umask(before);
	assert_int_equal(stat("out", &st), 0);
	assert_int_equal(st.st_mode & 0777, 0640);
}

static void nobody_else_reads_a_private_file(void **state)
{
	mode_t before = umask(0);
	struct error err = {0};
	struct outfile *o = begin("out", OUTFILE_PRIVATE);
	struct stat st;

	UNUSED(state);
	umask(before);
	assert_int_equal(fstat(fileno(outfile_file(o)), &st), 0);
	assert_int_equal(st.st_mode & 0777, 0600);
	assert_int_equal(outfile_commit(&o, &err), 0);
	assert_int_equal(stat("out", &st), 0);
	assert_int_equal(st.st_mode & 0777, 0600);
}

static void an_old_file_stays_until_commit(void **state)
{
	struct error err = {0};
	struct outfile *o;

	UNUSED(state);
	put("out", "old");
	o = begin("out", OUTFILE_WHOLE);
	fputs("new", outfile_file(o));
	fflush(outfile_file(o));
	expect_content("out", "old");
	outfile_abort(&o);
	assert_null(o);
	expect_content("out", "old");
	assert_int_equal(count(), 1);

	o = begin("out", OUTFILE_WHOLE);
	fputs("new", outfile_file(o));
	assert_int_equal(outfile_commit(&o, &err), 0);
	expect_content("out", "new");
	assert_int_equal(count(), 1);
	outfile_abort(&o); /* NULL is ok */
}

static void a_long_name_still_has_room(void **state)
{
	struct error err = {0};
	char name[256];
	struct outfile *o;

	UNUSED(state);
	memset(name, 'n', 255);
	name[255] = '\0';
	o = begin(name, OUTFILE_WHOLE);
	assert_int_equal(outfile_commit(&o, &err), 0);
	assert_int_equal(access(name, F_OK), 0);
}

static void where_nothing_can_be_written_it_says_so(void **state)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	int fd = socket(AF_UNIX, SOCK_STREAM, 0);
	char name[257] = "";

	UNUSED(state);
	assert_int_equal(mkdir("sub", 0755), 0);
	expect_refused("sub", -EISDIR, "file name");
	expect_refused("", -ENOENT, "file name");
	expect_refused("none/out", -ENOENT, "does not exist");
	put("file", "");
	expect_refused("file/out", -ENOTDIR, "Not a directory");
	expect_refused("/proc/none", -ENOENT, "No file can be created in its directory");
	memset(name, 'n', sizeof(name) - 1);
	expect_refused(name, -ENAMETOOLONG, "shorter name");
	assert_true(fd >= 0);
	strcpy(address.sun_path, "socket");
	assert_int_equal(bind(fd, (struct sockaddr *)&address, sizeof(address)), 0);
	close(fd);
	expect_refused("socket", -ENXIO, "It is a socket");
}

/* As a user that may not write here: root may write everywhere. */
static void an_unwritable_directory_says_so(void **state)
{
	pid_t child;
	int status;

	UNUSED(state);
	if (geteuid() != 0)
		skip();
	assert_int_equal(chmod(".", 0755), 0);
	child = fork();
	if (child == 0) {
		struct error err = {0};
		struct outfile *o;

		if (setuid(65534) != 0)
			_exit(9);
		if (outfile_open(&o, "out", OUTFILE_WHOLE, stdout, &err) != -EACCES)
			_exit(1);
		_exit(strstr(err.msg, "not writable") ? 0 : 2);
	}
	waitpid(child, &status, 0);
	assert_int_equal(status, 0);
}

static void a_full_disk_leaves_the_old_file(void **state)
{
	struct rlimit limit = {4096, RLIM_INFINITY}, before;
	struct error err = {0};
	struct outfile *o;
	char bytes[1024];

	UNUSED(state);
	/* A file-size limit fails like a full disk, with EFBIG. */
	signal(SIGXFSZ, SIG_IGN);
	getrlimit(RLIMIT_FSIZE, &before);
	limit.rlim_max = before.rlim_max;
	put("out", "old");
	o = begin("out", OUTFILE_WHOLE);
	memset(bytes, 'x', sizeof(bytes));
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
	for (int i = 0; i < 1000; i++)
		fwrite(bytes, 1, sizeof(bytes), outfile_file(o));
	assert_int_equal(outfile_commit(&o, &err), -EFBIG);
	setrlimit(RLIMIT_FSIZE, &before);
	assert_non_null(strstr(err.msg,
			       "cannot write 'out': File too large. This process may write "
			       "files of 4096 bytes at most: raise 'ulimit -f'"));
	expect_content("out", "old");
	assert_int_equal(count(), 1);
}

/* In a mount namespace of its own; 0 if `as_it_should_be` says so there. */
static void in_a_namespace(int (*as_it_should_be)(void))
{
	pid_t child;
	int status;

	child = fork();
	if (child == 0) {
		if (unshare(CLONE_NEWNS) != 0 ||
		    mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0)
			_exit(99); /* not root, or not allowed to */
		_exit(as_it_should_be());
	}
	waitpid(child, &status, 0);
	if (status == 99 << 8)
		skip();
	assert_int_equal(status, 0);
}

/* Whether or not anything of it is left to flush at the end: the reason is reported. */
static int on_a_full_disk(void)
{
	static char bytes[100000], now[256];
	struct error err = {0};
	struct outfile *o;

	if (mount("none", ".", "tmpfs", 0, "size=32k") != 0 || chdir(dir) != 0)
		return 1;
	put("out", "old");
	for (int i = 0; i < 3; i++) {
		memset(&err, 0, sizeof(err));
		if (outfile_open(&o, "out", OUTFILE_WHOLE, stdout, &err) != 0)
			return 2;
		fwrite(bytes, 1, i == 0 ? sizeof(bytes) : 4096 * 16, outfile_file(o));
		if (i == 2)
			fputs("more", outfile_file(o));
		if (outfile_commit(&o, &err) != -ENOSPC || !strstr(err.msg, "Make room"))
			return 3 + i;
		if (!read_content("out", now, sizeof(now)) || strcmp(now, "old") != 0 ||
		    count() != 1)
			return 7;
	}
	return 0;
}

/* Without /proc nothing could give it a name at the end. */
static int without_proc(void)
{
	static char now[256];
	struct error err = {0};
	struct outfile *o;

	if (umount2("/proc", MNT_DETACH) != 0)
		return 1;
	put("out", "old");
	if (outfile_open(&o, "out", OUTFILE_WHOLE, stdout, &err) != 0 || count() != 2)
		return 2;
	fputs("new", outfile_file(o));
	if (!read_content("out", now, sizeof(now)) || strcmp(now, "old"))
		return 3;
	if (outfile_commit(&o, &err) != 0 || count() != 1)
		return 4;
	return !read_content("out", now, sizeof(now)) || strcmp(now, "new");
}

static void a_file_is_made_without_proc(void **state)
{
	UNUSED(state);
	in_a_namespace(without_proc);
}

static void a_full_disk_is_said(void **state)
{
	UNUSED(state);
	in_a_namespace(on_a_full_disk);
}

/* What could not take its name after an hour of recording is refused before. */
static int what_cannot_be_replaced(void)
{
	struct error err = {0};
	struct outfile *o;

	put("other", "");
	put("mounted", "");
	if (mount("other", "mounted", NULL, MS_BIND, NULL) != 0)
		return 1;
	if (outfile_open(&o, "mounted", OUTFILE_WHOLE, stdout, &err) != -EBUSY ||
	    !strstr(err.msg, "It is a mount point"))
		return 2;
	if (chmod(".", 01777) != 0 || setgid(65534) != 0 || setuid(65534) != 0)
		return 3;
	if (outfile_open(&o, "other", OUTFILE_WHOLE, stdout, &err) != -EPERM ||
	    !strstr(err.msg, "another user's file in a sticky directory"))
		return 4;
	return outfile_open(&o, "new", OUTFILE_WHOLE, stdout, &err) == 0 &&
			       outfile_commit(&o, &err) == 0
		       ? 0
		       : 5;
}

static void a_file_that_cannot_be_replaced_says_so(void **state)
{
	UNUSED(state);
	in_a_namespace(what_cannot_be_replaced);
}

/* /dev/full: a write that fits into the buffer fails at the flush, a longer one earlier. */
static void devices_are_written_in_place(void **state)
{
	struct error err = {0};
	struct stat st;

	UNUSED(state);
	for (int i = 0; i < 2; i++) {
		struct outfile *o = begin("/dev/full", OUTFILE_WHOLE);

		for (int n = i ? 100000 : 1; n > 0; n--)
			fputc('x', outfile_file(o));
		assert_string_equal(outfile_temporary(o), "/dev/full");
		assert_int_equal(outfile_commit(&o, &err), -ENOSPC);
		assert_non_null(strstr(err.msg, "No space left on device. Make room"));
		assert_int_equal(stat("/dev/full", &st), 0);
		assert_true(S_ISCHR(st.st_mode));
	}
}

/* The reason outlives the flush that found it; and who cannot say -o is not told to. */
static void a_failed_flush_is_remembered(void **state)
{
	struct error err = {0};
	FILE *f = fopen("/dev/full", "w");

	UNUSED(state);
	fputs("a", f);
	assert_int_equal(outfile_flush(f), -ENOSPC);
	assert_int_equal(outfile_check(f, NULL, &err), -ENOSPC);
	assert_non_null(strstr(err.msg, "cannot write standard output: No space left on device. "
					"Make room (df, df -i), or write it elsewhere"));
	fclose(f);
}

static void standard_output_stays_open(void **state)
{
	struct error err = {0};
	struct outfile *o;
	FILE *f = fopen("stdout", "w");

	UNUSED(state);
	assert_int_equal(outfile_open(&o, "-", OUTFILE_WHOLE, f, &err), 0);
	assert_ptr_equal(outfile_file(o), f);
	fputs("a", f);
	assert_int_equal(outfile_commit(&o, &err), 0);
	expect_content("stdout", "a"); /* flushed */
	assert_int_equal(outfile_open(&o, "-", OUTFILE_STREAM, f, &err), 0);
	outfile_abort(&o);
	fputs("b", f);
	assert_int_equal(fclose(f), 0);
	expect_content("stdout", "ab");
	assert_int_equal(count(), 1);
}

/* A link may lead anywhere: it is replaced, what it points to is not touched. */
static void a_link_is_replaced_not_followed(void **state)
{
	struct error err = {0};
	struct outfile *o;
	struct stat st;

	UNUSED(state);
	put("precious", "precious");
	assert_int_equal(symlink("precious", "link"), 0);
	assert_int_equal(symlink("nowhere", "dangling"), 0);
	for (int i = 0; i < 2; i++) {
		const char *name = i ? "dangling" : "link";

		o = begin(name, OUTFILE_WHOLE);
		fputs("new", outfile_file(o));
		assert_int_equal(outfile_commit(&o, &err), 0);
		assert_int_equal(lstat(name, &st), 0);
		assert_true(S_ISREG(st.st_mode));
	}
	expect_content("precious", "precious");
	assert_int_equal(access("nowhere", F_OK), -1);
}

/* Unless it is one of those that name our own descriptors. */
static void dev_fd_is_written_through(void **state)
{
	struct error err = {0};
	struct outfile *o;
	char name[64];
	int fd = open("target", O_WRONLY | O_CREAT, 0600);

	UNUSED(state);
	snprintf(name, sizeof(name), "/dev/fd/%d", fd);
	if (access(name, F_OK) != 0)
		skip();
	o = begin(name, OUTFILE_WHOLE);
	fputs("through", outfile_file(o));
	assert_int_equal(outfile_commit(&o, &err), 0);
	close(fd);
	expect_content("target", "through");
}

static void a_partial_capture_has_a_name_of_its_own(void **state)
{
	struct error err = {0};
	struct outfile *o;

	UNUSED(state);
	put("x.ebeam.partial", "of an earlier crash");
	o = begin("x.ebeam", OUTFILE_STREAM);
	assert_string_equal(outfile_temporary(o), "x.ebeam.partial.2");
	fputs("data", outfile_file(o));
	outfile_leave(&o);
	assert_null(o);
	expect_content("x.ebeam.partial.2", "data");

	o = begin("x.ebeam", OUTFILE_STREAM);
	assert_string_equal(outfile_temporary(o), "x.ebeam.partial.3");
	fputs("whole", outfile_file(o));
	assert_int_equal(outfile_commit(&o, &err), 0);
	expect_content("x.ebeam", "whole");
	expect_content("x.ebeam.partial", "of an earlier crash");
	assert_int_equal(count(), 3);

	o = begin("x.ebeam", OUTFILE_STREAM);
	outfile_abort(&o);
	assert_int_equal(count(), 3);
}

/* What is left after a child has opened both kinds and then ends in some way. */
static void run_child(int how, int expected_status)
{
	pid_t child = fork();
	int status;

	if (child == 0) {
		struct error err = {0};
		struct outfile *whole, *stream;

		signals_setup();
		if (outfile_open(&whole, "whole", OUTFILE_WHOLE, stdout, &err) ||
		    outfile_open(&stream, "stream", OUTFILE_STREAM, stdout, &err))
			_exit(99);
		fputs("x", outfile_file(stream));
		fflush(outfile_file(stream));
		if (how < 0)
			exit(1); /* as when memory runs out */
		raise(how);
		for (;;)
			pause();
	}
	waitpid(child, &status, 0);
	assert_int_equal(status, expected_status);
}

static void signals_leave_nothing(void **state)
{
	UNUSED(state);
	run_child(SIGINT, 130 << 8);
	assert_int_equal(count(), 0);
	run_child(SIGTERM, 143 << 8);
	assert_int_equal(count(), 0);
}

static void exit_leaves_the_capture(void **state)
{
	UNUSED(state);
	run_child(-1, 1 << 8);
	assert_int_equal(count(), 1);
	expect_content("stream.partial", "x");
}

static void kill_leaves_what_was_written(void **state)
{
	UNUSED(state);
	run_child(SIGKILL, SIGKILL);
	expect_content("stream.partial", "x");
	assert_int_equal(count(), has_nameless() ? 1 : 2);
	assert_int_equal(access("stream", F_OK), -1);
	assert_int_equal(access("whole", F_OK), -1);
}

static void files_of_sudo_belong_to_the_user(void **state)
{
	struct error err = {0};
	struct outfile *o;
	struct stat st;

	UNUSED(state);
	if (geteuid() != 0)
		skip();
	setenv("SUDO_UID", "12345", 1);
	setenv("SUDO_GID", "12346", 1);
	o = begin("out", OUTFILE_WHOLE);
	assert_int_equal(outfile_commit(&o, &err), 0);
	assert_int_equal(stat("out", &st), 0);
	assert_int_equal(st.st_uid, 12345);
	assert_int_equal(st.st_gid, 12346);

	/* Nonsense changes nothing. */
	setenv("SUDO_UID", "-1", 1);
	o = begin("other", OUTFILE_WHOLE);
	assert_int_equal(outfile_commit(&o, &err), 0);
	unsetenv("SUDO_UID");
	unsetenv("SUDO_GID");
	assert_int_equal(stat("other", &st), 0);
	assert_int_equal(st.st_uid, 0);
}

static void a_closed_pipe_is_epipe(void **state)
{
	struct error err = {0};
	int fds[2];
	FILE *f;

	UNUSED(state);
	signal(SIGPIPE, SIG_IGN);
	assert_int_equal(pipe(fds), 0);
	close(fds[0]);
	f = fdopen(fds[1], "w");
	fputs("x", f);
	assert_int_equal(outfile_check(f, "standard output", &err), -EPIPE);
	fclose(f);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, enter, leave)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(the_name_appears_at_commit),
		TEST(the_umask_decides_the_mode),
		TEST(nobody_else_reads_a_private_file),
		TEST(an_old_file_stays_until_commit),
		TEST(a_long_name_still_has_room),
		TEST(where_nothing_can_be_written_it_says_so),
		TEST(an_unwritable_directory_says_so),
		TEST(a_full_disk_leaves_the_old_file),
		TEST(a_full_disk_is_said),
		TEST(a_file_that_cannot_be_replaced_says_so),
		TEST(a_file_is_made_without_proc),
		TEST(devices_are_written_in_place),
		TEST(a_failed_flush_is_remembered),
		TEST(standard_output_stays_open),
		TEST(a_link_is_replaced_not_followed),
		TEST(dev_fd_is_written_through),
		TEST(a_partial_capture_has_a_name_of_its_own),
		TEST(signals_leave_nothing),
		TEST(exit_leaves_the_capture),
		TEST(kill_leaves_what_was_written),
		TEST(files_of_sudo_belong_to_the_user),
		TEST(a_closed_pipe_is_epipe),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
