/* SPDX-License-Identifier: BSD-2-Clause */
/* See outfile.h. */
#include "cmd/output/outfile.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/capability.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/log.h"
#include "base/write_error.h"
#include "base/xalloc.h"
#include "cmd/command/signals.h"
#include "target/privilege.h"

#define OUTFILE_TRIES 100 /* names tried before giving up */

struct outfile {
	FILE *f;
	char *path;
	char *temporary; /* name until commit; NULL = nameless, or written in place */
	int nameless; /* second descriptor, to link the file after fclose(); -1 = it has a name */
	bool is_stdout;
	int slot; /* of signals_remove_file(), -1 = none */
};

static int fail(struct error *err, const char *path, int code, const char *advice)
{
	if (!*advice)
		return outfile_failed(path, code, err);
	return error_set(err, ERROR_KIND_FAILED, code, "cannot write '%s': %s. %s", path,
			 error_text(code), advice);
}

int outfile_failed(const char *path, int code, struct error *err)
{
	char *quoted = path && strcmp(path, "-") != 0 ? xasprintf("'%s'", path) : NULL;
	int rc = write_error_set(err, quoted ? quoted : "standard output", code);

	free(quoted);
	return rc;
}

static bool starts_with(const char *text, const char *prefix)
{
	return strncmp(text, prefix, strlen(prefix)) == 0;
}

/* Bytes of the directory in a path, with its slash; 0: the path has none. */
static int directory_len(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? (int)(slash + 1 - path) : 0;
}

static char *directory_of(const char *path)
{
	int len = directory_len(path);

	return len ? xasprintf("%.*s", len, path) : xstrdup(".");
}

static bool has_directory(const char *path)
{
	char *dir = directory_of(path);
	struct stat st;
	bool is = stat(dir, &st) == 0 && S_ISDIR(st.st_mode);

	free(dir);
	return is;
}

/* Advice for errors of creating a file. */
static const char *advice_on_making(const char *path, int code)
{
	switch (code) {
	case EACCES:
	case EPERM:
		return "Its directory is not writable; choose another directory with -o";
	case ENOENT:
	case ENOTDIR:
		/* In /proc and the like creating a file fails with ENOENT. */
		return has_directory(path) ? "No file can be created in its directory; choose "
					     "another directory with -o"
					   : "Its directory does not exist: create it, or choose "
					     "another one with -o";
	case EEXIST:
		return "Too many partial files of that name; remove them";
	default:
		return "";
	}
}

/* Is it a file of another user in a sticky directory such as /tmp? */
static bool owner_must_replace(const char *path, const struct statx *file)
{
	char *dir = directory_of(path);
	struct stat st;
	bool is = stat(dir, &st) == 0 && (st.st_mode & S_ISVTX) && geteuid() != st.st_uid &&
		  geteuid() != file->stx_uid && !privilege_has(CAP_FOWNER);

	free(dir);
	return is;
}

/* Checks before hours of recording, not after them, that the target may be replaced. */
static int check_replaceable(const char *path, struct error *err)
{
	struct statx st;

	if (statx(AT_FDCWD, path, AT_SYMLINK_NOFOLLOW, STATX_BASIC_STATS, &st) != 0)
		return 0;
	if (st.stx_attributes & (STATX_ATTR_IMMUTABLE | STATX_ATTR_APPEND))
		return fail(err, path, -EPERM,
			    "It is immutable or append-only (lsattr, chattr); choose another "
			    "name with -o");
	if (st.stx_attributes & STATX_ATTR_MOUNT_ROOT)
		return fail(err, path, -EBUSY,
			    "It is a mount point and so cannot be replaced; mount its directory "
			    "instead, or choose another name with -o");
	if (owner_must_replace(path, &st))
		return fail(err, path, -EPERM,
			    "It is another user's file in a sticky directory; choose another "
			    "name with -o");
	return 0;
}

/* 1 if the target has to be written in place, 0 if it can be replaced, negative errno. */
static int must_stay(const char *path, struct error *err)
{
	struct stat st, link;

	if (!*path)
		return fail(err, path, -ENOENT, "Give a file name with -o");
	if (lstat(path, &link) != 0)
		return errno == ENOENT ? 0 : fail(err, path, -errno, advice_on_making(path, errno));
	/* A dangling symbolic link is replaced, as one to a file is. */
	if (stat(path, &st) != 0)
		return errno == ENOENT ? 0 : fail(err, path, -errno, advice_on_making(path, errno));
	if (S_ISDIR(st.st_mode))
		return fail(err, path, -EISDIR, "Give a file name with -o");
	if (S_ISSOCK(st.st_mode))
		return fail(err, path, -ENXIO, "");
	if (!S_ISREG(st.st_mode) ||
	    (S_ISLNK(link.st_mode) && (starts_with(path, "/dev/") || starts_with(path, "/proc/"))))
		return 1;
	return check_replaceable(path, err);
}

/* The n-th temporary name (from 0) to try; malloc'ed. */
static char *temporary_name(const char *path, enum outfile_mode mode, int n)
{
	int len = directory_len(path);

	if (mode == OUTFILE_STREAM)
		return n ? xasprintf("%s.partial.%d", path, n + 1) : xasprintf("%s.partial", path);
	/* Truncated, as a name near the limit of 255 bytes would become too long. */
	return xasprintf("%.*s.%.200s.%d-%d.tmp", len, path, path + len, (int)getpid(), n);
}

static bool parse_id(const char *text, unsigned int *id)
{
	unsigned long value;
	char *end;

	if (!text || *text < '0' || *text > '9')
		return false;
	errno = 0;
	value = strtoul(text, &end, 10);
	*id = (unsigned int)value;
	return !errno && !*end && value < UINT_MAX; /* (uid_t)-1 means "leave as it is" */
}

/* Gives a file that ebeam has just created to the user of sudo(8): by its descriptor, as its path
 * may name another file by now. */
static void give_to_sudo_user(int fd, const char *path)
{
	unsigned int uid, gid;

	if (geteuid() != 0 || !parse_id(getenv("SUDO_UID"), &uid) ||
	    !parse_id(getenv("SUDO_GID"), &gid))
		return;
	if (fchown(fd, uid, gid) != 0)
		log_warn("ebeam: '%s' stays owned by root: %s", path, error_text(errno));
}

static void name_of_descriptor(char *out, size_t size, int fd)
{
	snprintf(out, size, "/proc/self/fd/%d", fd);
}

static mode_t bits_of(enum outfile_mode mode)
{
	return mode == OUTFILE_PRIVATE ? 0600 : 0666;
}

static void close_nameless(struct outfile *o)
{
	if (o->nameless >= 0)
		close(o->nameless);
	o->nameless = -1;
}

/*
 * Opens a new file without a name (O_TMPFILE) in the directory of the target.  -1: not supported,
 * or without /proc, which is needed to give it a name; or another error, which open_beside() will
 * meet and report.
 */
static int open_nameless(struct outfile *o, mode_t bits)
{
	char *dir = directory_of(o->path);
	int fd = open(dir, O_WRONLY | O_TMPFILE | O_CLOEXEC, bits);
	char link[64];

	free(dir);
	if (fd < 0)
		return -1;
	o->nameless = fcntl(fd, F_DUPFD_CLOEXEC, 0);
	name_of_descriptor(link, sizeof(link), o->nameless);
	if (o->nameless >= 0 && access(link, F_OK) == 0)
		return fd;
	close(fd);
	close_nameless(o);
	return -1;
}

/* Creates o->temporary in the directory of the target.  Descriptor or negative errno. */
static int open_beside(struct outfile *o, enum outfile_mode mode, struct error *err)
{
	int fd = -1, code;

	for (int n = 0; n < OUTFILE_TRIES; n++) {
		free(o->temporary);
		o->temporary = temporary_name(o->path, mode, n);
		/* O_EXCL does not follow symbolic links. */
		fd = open(o->temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, bits_of(mode));
		if (fd >= 0 || errno != EEXIST)
			break;
	}
	if (fd >= 0)
		return fd;
	code = errno;
	free(o->temporary);
	o->temporary = NULL;
	return fail(err, o->path, -code, advice_on_making(o->path, code));
}

static int open_new(struct outfile *o, enum outfile_mode mode, struct error *err)
{
	int fd = mode != OUTFILE_STREAM ? open_nameless(o, bits_of(mode)) : -1;

	if (fd < 0)
		fd = open_beside(o, mode, err);
	if (fd < 0)
		return fd;
	if (o->temporary)
		o->slot = signals_remove_file(o->temporary, mode == OUTFILE_STREAM);
	give_to_sudo_user(fd, o->path);
	return fd;
}

int outfile_open(struct outfile **out, const char *path, enum outfile_mode mode, FILE *stdout_file,
		 struct error *err)
{
	struct outfile *o = xcalloc(1, sizeof(*o));
	int fd, rc;

	*out = NULL;
	o->slot = o->nameless = -1;
	o->is_stdout = strcmp(path, "-") == 0;
	o->path = xstrdup(path);
	if (o->is_stdout) {
		o->f = stdout_file;
		*out = o;
		return 0;
	}
	rc = must_stay(path, err);
	if (rc < 0)
		goto failed;
	if (rc == 1) {
		fd = open(path, O_WRONLY | O_CLOEXEC | O_NOCTTY);
		if (fd < 0) {
			rc = fail(err, path, -errno,
				  errno == EACCES || errno == EPERM
					  ? "It is not writable; choose another with -o"
					  : "");
			goto failed;
		}
	} else {
		fd = rc = open_new(o, mode, err);
		if (rc < 0)
			goto failed;
	}
	o->f = fdopen(fd, "w");
	if (!o->f) {
		rc = fail(err, path, -errno, "");
		close(fd);
		goto failed;
	}
	*out = o;
	return 0;

failed:
	outfile_abort(&o);
	return rc;
}

FILE *outfile_file(struct outfile *o)
{
	return o->f;
}

const char *outfile_temporary(const struct outfile *o)
{
	return o->temporary ? o->temporary : o->path;
}

/* Why the last outfile_flush() of a file failed. */
static struct {
	FILE *f;
	int code;
} failed_flush;

int outfile_flush(FILE *f)
{
	errno = 0;
	if (fflush(f) == 0)
		return 0;
	failed_flush.f = f;
	failed_flush.code = errno ? -errno : -EIO;
	return failed_flush.code;
}

int outfile_check(FILE *f, const char *path, struct error *err)
{
	int code = write_error_of(f);

	if (code && failed_flush.f == f)
		code = failed_flush.code;
	return code ? outfile_failed(path, code, err) : 0;
}

static void outfile_free(struct outfile **out)
{
	struct outfile *o = *out;

	close_nameless(o);
	signals_release_file(o->slot);
	free(o->temporary);
	free(o->path);
	free(o);
	*out = NULL;
}

/* Gives a file without a name a temporary one, as linkat(2) cannot replace an existing file. */
static int link_beside(struct outfile *o, const char *link)
{
	int code = EEXIST;

	for (int n = 0; n < OUTFILE_TRIES && code == EEXIST; n++) {
		char *name = temporary_name(o->path, OUTFILE_WHOLE, n);

		if (linkat(AT_FDCWD, link, AT_FDCWD, name, AT_SYMLINK_FOLLOW) == 0) {
			o->temporary = name;
			o->slot = signals_remove_file(name, false);
			return 0;
		}
		code = errno;
		free(name);
	}
	return -code;
}

/* Gives the file its name, atomically: afterwards the target is the new file, or unchanged. */
static int give_name(struct outfile *o, struct error *err)
{
	char link[64];
	int rc;

	if (o->nameless >= 0) {
		name_of_descriptor(link, sizeof(link), o->nameless);
		if (linkat(AT_FDCWD, link, AT_FDCWD, o->path, AT_SYMLINK_FOLLOW) == 0)
			return 0;
		rc = errno == EEXIST ? link_beside(o, link) : -errno;
		if (rc)
			return fail(err, o->path, rc, advice_on_making(o->path, -rc));
	}
	if (!o->temporary || rename(o->temporary, o->path) == 0)
		return 0;
	return fail(err, o->path, -errno,
		    errno == EPERM || errno == EACCES || errno == EBUSY
			    ? "It exists and may not be replaced; choose another name with -o"
			    : advice_on_making(o->path, errno));
}

int outfile_commit(struct outfile **out, struct error *err)
{
	struct outfile *o = *out;
	int rc = outfile_check(o->f, o->path, err);

	if (rc || o->is_stdout)
		goto done;
	/* Some file systems report a full disk, or an exceeded quota, only here. */
	if (fclose(o->f) != 0)
		rc = outfile_failed(o->path, -errno, err);
	o->f = NULL;
	rc = rc ? rc : give_name(o, err);
	if (!rc) {
		/* The temporary name is gone: nothing is left to remove. */
		signals_release_file(o->slot);
		o->slot = -1;
		free(o->temporary);
		o->temporary = NULL;
	}
done:
	outfile_abort(out);
	return rc;
}

void outfile_abort(struct outfile **out)
{
	struct outfile *o = *out;

	if (!o)
		return;
	if (o->f && !o->is_stdout)
		fclose(o->f);
	if (o->temporary)
		unlink(o->temporary);
	outfile_free(out);
}

void outfile_leave(struct outfile **out)
{
	struct outfile *o = *out;

	if (!o)
		return;
	if (o->f && !o->is_stdout)
		fclose(o->f);
	outfile_free(out);
}
