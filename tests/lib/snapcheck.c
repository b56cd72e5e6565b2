/* SPDX-License-Identifier: BSD-2-Clause */
/* See snapcheck.h. */
#include "lib/snapcheck.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "names/utf8.h"

/* A snapshot as text, everything in it but its options. */
char *snapcheck_dump(const struct snapshot *s)
{
	struct strbuf out = STRBUF_INIT;

	strbuf_addf(&out, "samples %lu dropped %lu span %lu-%lu ended %d\n",
		    (unsigned long)s->samples, (unsigned long)s->dropped_unknown,
		    (unsigned long)s->first_ns, (unsigned long)s->last_ns, s->ended);
	for (int i = 0; i < NR_SAMPLE_KINDS; i++)
		strbuf_addf(&out, "%lu ", (unsigned long)s->by_kind[i]);
	for (int i = 0; i < NR_SAMPLE_STATUSES; i++)
		strbuf_addf(&out, " %lu", (unsigned long)s->by_status[i]);
	for (uint32_t i = 0; i < s->nr_frames; i++)
		strbuf_addf(&out, "\nframe %s|%s|%s|%u|%s|%d", s->frames[i].name,
			    s->frames[i].module, s->frames[i].file ? s->frames[i].file : "-",
			    s->frames[i].line, frame_kind_name(s->frames[i].kind),
			    (int)s->frames[i].function);
	for (uint32_t i = 0; i < s->nr_functions; i++)
		strbuf_addf(
			&out, "\nfunction %s|%s|%s|%lu|%lu", s->functions[i].name,
			s->functions[i].module, s->functions[i].file ? s->functions[i].file : "-",
			(unsigned long)s->functions[i].self, (unsigned long)s->functions[i].total);
	for (uint32_t i = 0; i < s->nr_processes; i++)
		strbuf_addf(&out, "\nprocess %s|%s|%lu", s->processes[i].pid, s->processes[i].name,
			    (unsigned long)s->processes[i].samples);
	for (uint32_t i = 0; i < s->nr_threads; i++)
		strbuf_addf(&out, "\nthread %s|%u|%lu", s->threads[i].display, s->threads[i].os_tid,
			    (unsigned long)s->threads[i].samples);
	for (uint32_t i = 0; i < s->nr_stacks; i++) {
		strbuf_addf(&out, "\nstack %d %u %s %lu", (int)s->stacks[i].process,
			    s->stacks[i].thread, sample_kind_name(s->stacks[i].kind),
			    (unsigned long)s->stacks[i].count);
		for (uint32_t j = 0; j < s->stacks[i].nr_frames; j++)
			strbuf_addf(&out, ";%u", s->stack_frames[s->stacks[i].first_frame + j]);
	}
	for (uint32_t i = 0; i < s->nr_meta; i++)
		strbuf_addf(&out, "\nmeta %s=%s", s->meta[i].key, s->meta[i].value);
	for (uint32_t i = 0; i < s->nr_counters; i++)
		strbuf_addf(&out, "\ncounter %s=%lu", s->counters[i].name,
			    (unsigned long)s->counters[i].value);
	return strbuf_detach(&out, NULL);
}

/* "a;b;c" of one stack. */
void assert_stack(const struct snapshot *s, uint32_t at, const char *expect, uint64_t count)
{
	struct strbuf out = STRBUF_INIT;

	assert_true(at < s->nr_stacks);
	for (uint32_t j = 0; j < s->stacks[at].nr_frames; j++)
		strbuf_addf(&out, "%s%s", j ? ";" : "",
			    s->frames[s->stack_frames[s->stacks[at].first_frame + j]].name);
	assert_string_equal(out.buf, expect);
	assert_int_equal(s->stacks[at].count, count);
	strbuf_free(&out);
}

void assert_clean_text(const char *text)
{
	size_t len = strlen(text);
	uint32_t c;

	for (size_t i = 0, size; i < len; i += size) {
		size = utf8_decode(text + i, len - i, &c);
		assert_true(c >= 0x20 && (c < 0x7f || c >= 0xa0));
		assert_true(c != UTF8_REPLACEMENT || size == 3);
	}
}

/* What must hold for every snapshot. */
static void assert_invariants(const struct snapshot *s)
{
	uint64_t stacks = 0, kinds = 0, statuses = 0, threads = 0, self = 0;

	for (uint32_t i = 0; i < s->nr_stacks; i++) {
		const struct snap_stack *stack = &s->stacks[i];

		assert_true(stack->first_frame + stack->nr_frames <= s->nr_stack_frames);
		assert_true(stack->thread < s->nr_threads);
		assert_true(stack->process < s->nr_processes || stack->process == SNAPSHOT_NONE);
		assert_true(stack->count > 0);
		stacks += stack->count;
	}
	for (uint32_t i = 0; i < s->nr_stack_frames; i++)
		assert_true(s->stack_frames[i] < s->nr_frames);
	for (int i = 0; i < NR_SAMPLE_KINDS; i++)
		kinds += s->by_kind[i];
	for (int i = 0; i < NR_SAMPLE_STATUSES; i++)
		statuses += s->by_status[i];
	for (uint32_t i = 0; i < s->nr_threads; i++) {
		threads += s->threads[i].samples;
		assert_clean_text(s->threads[i].display);
	}
	for (uint32_t i = 0; i < s->nr_functions; i++) {
		assert_true(s->functions[i].self <= s->functions[i].total);
		assert_true(s->functions[i].total > 0);
		self += s->functions[i].self;
	}
	for (uint32_t i = 0; i < s->nr_frames; i++) {
		assert_clean_text(s->frames[i].name);
		assert_clean_text(s->frames[i].module);
		assert_true(s->frames[i].function < s->nr_functions ||
			    s->frames[i].function == SNAPSHOT_NONE);
	}
	for (uint32_t i = 0; i < s->nr_processes; i++) {
		assert_clean_text(s->processes[i].name);
		assert_true(s->processes[i].samples > 0);
	}
	assert_int_equal(stacks, s->samples);
	assert_int_equal(kinds, s->samples);
	assert_int_equal(statuses, s->samples);
	assert_int_equal(threads, s->samples);
	assert_true(self <= s->samples);
}

struct snapshot *take_snapshot(const struct profile *p, struct snapshot_options opts)
{
	struct snapshot *s;

	assert_int_equal(profile_snapshot(p, &opts, &s, NULL), 0);
	assert_invariants(s);
	return s;
}

struct profile *apply_records(struct records *r)
{
	struct profile *p;

	p = profile_open();
	records_apply(r, p);
	records_close(r);
	return p;
}

const struct snap_function *find_function(const struct snapshot *s, const char *name)
{
	for (uint32_t i = 0; i < s->nr_functions; i++) {
		if (strcmp(s->functions[i].name, name) == 0)
			return &s->functions[i];
	}
	return NULL;
}
