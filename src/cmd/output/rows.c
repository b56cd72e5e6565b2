/* SPDX-License-Identifier: BSD-2-Clause */
/* See rows.h. */
#include "cmd/output/rows.h"

#include <stdlib.h>

#include "base/xalloc.h"

int rows_open(const struct row_source *s, void **view, struct beam_node *n, struct error *err)
{
	void *v = xcalloc(1, s->view_size);
	int rc = s->open(v, n, err);

	*view = rc ? NULL : v;
	if (rc)
		free(v);
	return rc;
}

int rows_read(const struct row_source *s, void *view, struct error *err)
{
	s->forget(view);
	return s->read(view, err);
}

void rows_close(const struct row_source *s, void *view)
{
	if (view)
		s->forget(view);
	if (s->close)
		s->close(view);
	free(view);
}
