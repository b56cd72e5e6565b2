/* SPDX-License-Identifier: BSD-2-Clause */
/* See refusal.h. */
#include "probe/session/refusal.h"

#include <stdio.h>
#include <string.h>

#include "base/log.h"
#include "probe/session/programs.h"

void refusal_text(char *buf, size_t size, const struct program_trial *t)
{
	snprintf(buf, size, "the kernel refuses %s: %s", t->name,
		 t->verifier.words[0] ? t->verifier.words : error_text(t->rc));
}

static bool drop_calls(struct session_config *c, const char *program, const char *why)
{
	if (!c->calls_beside || strncmp(program, "call_", strlen("call_")) != 0)
		return false;
	if (c->calls)
		log_info("ebeam: calls of functions are not watched: %s", why);
	c->calls = false;
	return true;
}

/* Takes kinds of events and calls out of the run whose programs are refused; *dropped is the first
 * of these programs.  Returns the first refused program that the run cannot do without. */
static const struct program_trial *drop_kinds(const struct program_trials *trials,
					      struct session_config *c,
					      const struct program_trial **dropped)
{
	struct source_plan *plan = c->events;
	const struct program_trial *needed = NULL;
	char why[SOURCE_REASON_SIZE];

	for (size_t i = 0; i < trials->v.len; i++) {
		const struct program_trial *t = &trials->v.data[i];

		if (!program_trial_refused(t, c->force))
			continue;
		refusal_text(why, sizeof(why), t);
		if ((plan && source_plan_drop(plan, t->name, why)) || drop_calls(c, t->name, why))
			*dropped = *dropped ? *dropped : t;
		else
			needed = needed ? needed : t;
	}
	return needed;
}

int refusal_drop(struct session_config *c, const struct program_choice *choice, int rc,
		 struct error *err)
{
	const struct program_trial *dropped = NULL, *needed;
	struct program_trials trials = {0};
	char why[512];

	if (program_trials_run(&trials, c, choice, NULL)) {
		program_trials_free(&trials);
		return rc;
	}
	needed = drop_kinds(&trials, c, &dropped);
	/* Nothing would be left of the run. */
	if (!needed && dropped && !c->events->kinds && (!c->calls || c->calls_beside) && !c->freq)
		needed = dropped;
	if (needed && !programs_locked_down()) {
		refusal_text(why, sizeof(why), needed);
		error_set(err, ERROR_KIND_KERNEL, rc,
			  "%s (ebeam doctor shows what works here; -vv prints the log of the "
			  "verifier)",
			  why);
	} else if (dropped && !needed) {
		rc = 0;
	}
	program_trials_free(&trials);
	return rc;
}
