/* SPDX-License-Identifier: BSD-2-Clause */
/* See outfile.h. */
#include "cmd/outfile.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/log.h"
#include "base/xalloc.h"
#include "cmd/signals.h"

#define OUTFILE_TRIES 100 /* names tried before giving up */

struct outfile {
	FILE *f;
	char *path;
	char *temporary; /* NULL = written in place */
	bool is_stdout;
	int slot; /* of signals_remove_file(), -1 = none */
};

static int fail(struct error *err, const char *path, int code, const char *advice)
{
	return error_set(err, ERROR_KIND_FAILED, code, "cannot write '%s': %s%s", path,
			 error_text(code), advice);
}

#define STANDARD_OUTPUT "standard output"

/* Not every command has -o. */
static const char *advice_on_space(int code, const char *path)
{
	if (code != -ENOSPC && code != -EDQUOT)
		return "";
	return strcmp(path, STANDARD_OUTPUT) == 0 ? ". Make room, or send it elsewhere"
						  : ". Make room, or choose another place with -o";
}

static bool starts_with(const char *text, const char *prefix)
{
	return strncmp(text, prefix, strlen(prefix)) == 0;
}

/* 1 if the target has to be written in place, 0 if it can be replaced, negative errno. */
static int must_stay(const char *path, struct error *err)
{
	struct stat st, link;

	if (lstat(path, &link) != 0)
		return errno == ENOENT ? 0 : fail(err, path, -errno, "");
	if (stat(path, &st) != 0)
		return errno == ENOENT ? 0 : fail(err, path, -errno, "");
	if (S_ISDIR(st.st_mode))
		return fail(err, path, -EISDIR, ". Give a file name with -o");
	if (!S_ISREG(st.st_mode))
		return 1;
	return S_ISLNK(link.st_mode) && (starts_with(path, "/dev/") || starts_with(path, "/proc/"));
}

/* The n-th name (from 0) to try; malloc'ed. */
/* Bytes up to the name of the file itself; 0: it is in the working directory. */
static int directory_len(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? (int)(slash + 1 - path) : 0;
}

static char *temporary_name(const char *path, enum outfile_mode mode, int n)
{
	int len = directory_len(path);

	if (mode == OUTFILE_STREAM)
		return n ? xasprintf("%s.partial.%d", path, n + 1) : xasprintf("%s.partial", path);
	/* A name near the limit of 255 bytes must not become too long by what is added. */
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

/* Only ever done to a file that was just made by us, through its descriptor. */
static void give_to_sudo_user(int fd, const char *path)
{
	unsigned int uid, gid;

	if (geteuid() != 0 || !parse_id(getenv("SUDO_UID"), &uid) ||
	    !parse_id(getenv("SUDO_GID"), &gid))
		return;
	if (fchown(fd, uid, gid) != 0)
		log_warn("ebeam: '%s' stays owned by root: %s", path, error_text(errno));
}

/* /proc and its like are there, but say ENOENT to whoever makes a file in them. */
static bool has_directory(const char *path)
{
	int len = directory_len(path);
	char *dir = len ? xasprintf("%.*s", len, path) : xstrdup(".");
	struct stat st;
	bool is = stat(dir, &st) == 0 && S_ISDIR(st.st_mode);

	free(dir);
	return is;
}

/* Descriptor of a new file beside the target, its name in o->temporary; or negative errno. */
static int open_beside(struct outfile *o, enum outfile_mode mode, struct error *err)
{
	const char *advice = "";
	int fd = -1;

	for (int n = 0; n < OUTFILE_TRIES; n++) {
		free(o->temporary);
		o->temporary = temporary_name(o->path, mode, n);
		/* O_EXCL follows no link and so cannot be led astray. */
		fd = open(o->temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
		if (fd >= 0 || errno != EEXIST)
			break;
	}
	if (fd < 0) {
		int code = -errno;

		if (code == -EACCES || code == -EROFS || code == -EPERM)
			advice = ". Its directory is not writable; choose another with -o";
		else if ((code == -ENOENT || code == -ENOTDIR) && has_directory(o->path))
			advice = ". No file can be made in its directory; choose another with -o";
		else if (code == -ENOENT || code == -ENOTDIR)
			advice = ". Its directory does not exist";
		else if (code == -EEXIST)
			advice = ". Too many partial files of that name; remove them";
		free(o->temporary);
		o->temporary = NULL;
		return fail(err, o->path, code, advice);
	}
	give_to_sudo_user(fd, o->path);
	return fd;
}

int outfile_open(struct outfile **out, const char *path, enum outfile_mode mode, FILE *stdout_file,
		 struct error *err)
{
	struct outfile *o = xcalloc(1, sizeof(*o));
	int fd, rc = 0;

	*out = NULL;
	o->slot = -1;
	o->is_stdout = strcmp(path, "-") == 0;
	o->path = xstrdup(o->is_stdout ? STANDARD_OUTPUT : path);
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
			rc = fail(err, path, -errno, "");
			goto failed;
		}
	} else {
		fd = open_beside(o, mode, err);
		if (fd < 0) {
			rc = fd;
			goto failed;
		}
		o->slot = signals_remove_file(o->temporary, mode == OUTFILE_STREAM);
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

/* A pipe or socket that nobody reads any more. */
static bool reader_is_gone(FILE *f)
{
	struct pollfd p = {.fd = fileno(f), .events = POLLOUT};

	return poll(&p, 1, 0) == 1 && (p.revents & (POLLERR | POLLHUP)) != 0;
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

int outfile_check(FILE *f, const char *name, struct error *err)
{
	int code = -EIO;

	/* After a failed write the bytes may still be in the buffer, so that the flush fails for
	 * the same reason; if it does not, the reason is lost but the failure is not. */
	errno = 0;
	if (fflush(f) != 0)
		return fail(err, name, errno ? -errno : -EIO, advice_on_space(-errno, name));
	if (!ferror(f))
		return 0;
	if (failed_flush.f == f)
		code = failed_flush.code;
	else if (reader_is_gone(f))
		code = -EPIPE;
	return fail(err, name, code, advice_on_space(code, name));
}

static void outfile_free(struct outfile **out)
{
	struct outfile *o = *out;

	signals_release_file(o->slot);
	free(o->temporary);
	free(o->path);
	free(o);
	*out = NULL;
}

int outfile_commit(struct outfile **out, struct error *err)
{
	struct outfile *o = *out;
	int rc = outfile_check(o->f, o->path, err);

	if (rc || o->is_stdout)
		goto done;
	/* Some file systems report a full disk, or an exceeded quota, only here. */
	if (fclose(o->f) != 0)
		rc = fail(err, o->path, -errno, advice_on_space(-errno, o->path));
	o->f = NULL;
	if (!rc && o->temporary && rename(o->temporary, o->path) != 0)
		rc = fail(err, o->path, -errno, "");
	if (!rc) {
		/* It has its name now: nothing is left to remove. */
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
