/* SPDX-License-Identifier: BSD-2-Clause */
/* See capture_input.h. */
#include "cmd/run/capture_input.h"

#include <errno.h>
#include <string.h>

#include "base/log.h"

int capture_input_open(struct capture_input *in, const char *path, struct error *err)
{
	bool is_stdin = strcmp(path, "-") == 0;
	int rc;

	in->reader = NULL;
	in->name = is_stdin ? "standard input" : path;
	in->f = is_stdin ? stdin : fopen(path, "re");
	if (!in->f)
		return error_set(err, ERROR_KIND_FAILED, -errno, "cannot open '%s': %s", path,
				 error_text(errno));
	rc = capture_reader_open(&in->reader, in->f, in->name, err);
	if (rc)
		capture_input_close(in);
	return rc;
}

void capture_input_close(struct capture_input *in)
{
	capture_reader_close(in->reader);
	if (in->f && in->f != stdin)
		fclose(in->f);
	in->reader = NULL;
	in->f = NULL;
}

int capture_input_warn(const char *path, const char *damage, const char *done)
{
	if (!damage || !*damage)
		return 0;
	log_warn("ebeam: '%s' is damaged: %s. All that could be read is %s", path, damage, done);
	return ERROR_KIND_PARTIAL;
}
