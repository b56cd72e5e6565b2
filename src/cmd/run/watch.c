/* SPDX-License-Identifier: BSD-2-Clause */
/* See watch.h. */
#include "cmd/run/watch.h"

#include <errno.h>
#include <unistd.h>

#include "base/log.h"
#include "base/units.h"
#include "beam/locate/node_open.h"
#include "cmd/command/loop.h"
#include "cmd/output/outfile.h"
#include "cmd/run/target.h"

void watch_begin_screen(FILE *f, FILE *target, int os_pid, bool again)
{
	char time[40];

	if (isatty(fileno(target)))
		fputs("\033[H\033[2J", f);
	else if (again)
		fputc('\n', f);
	units_format_time(clock_realtime_ns(), time, sizeof(time));
	fprintf(f, "%s  pid %d", time, os_pid);
}

static int answer(void *arg, struct error *err)
{
	struct watch *w = arg;
	int rc = w->read(w->arg, err);

	if (rc == 0 && w->text) {
		watch_begin_screen(w->out, w->out, w->node->os_pid, w->nr > 0);
		fputc('\n', w->out);
	}
	rc = rc ? rc : w->write(w->arg, err);
	if (rc == -ESRCH)
		return LOOP_END_STOPPED; /* the node has exited; the loop will see it, too */
	if (rc)
		return rc;
	w->nr++;
	return outfile_flush(w->out) != 0 ? LOOP_END_STOPPED : 0; /* the caller reports it */
}

int watch_run(struct watch *w, struct error *err)
{
	struct loop *loop;
	int rc = loop_open(&loop, err);

	if (rc)
		return rc;
	rc = loop_watch_pid(loop, w->node->os_pid, err);
	if (rc == 0 && w->opt->duration_ns)
		rc = loop_set_deadline(loop, w->opt->duration_ns, err);
	rc = rc ? rc : loop_add_timer(loop, w->opt->watch_ns, answer, w, err);
	rc = rc ? rc : answer(w, err);
	rc = rc ? rc : loop_run(loop, err);
	loop_close(loop);
	if (rc == LOOP_END_EXITED || (rc == LOOP_END_STOPPED && !ferror(w->out)))
		log_warn("ebeam: the node (pid %d) has exited", w->node->os_pid);
	return rc < 0 ? rc : 0;
}

int watch_check_options(const struct options *opt, struct error *err)
{
	if (opt->watch_ns && opt->core)
		return error_set(err, ERROR_KIND_USAGE, -EINVAL,
				 "--watch needs a node that runs; a core file does not change");
	if (opt->duration_ns && !opt->watch_ns)
		return error_set(err, ERROR_KIND_USAGE, -EINVAL, "-d needs --watch");
	return 0;
}

int watch_close(const struct options *opt, struct beam_node *n, int rc, struct error *err)
{
	if (!opt->watch_ns)
		return target_close(n, rc, err);
	beam_node_close(n); /* it may have exited: watch_run() has reported it */
	return rc;
}
