/* SPDX-License-Identifier: BSD-2-Clause */
/* Shared by diagnosis_work.c (rules about what waits and what runs), diagnosis_cpu.c (what uses
 * CPUs, and waits for locks) and diagnosis_memory.c (growth and limits).  Each call of a rule adds
 * no finding, one or more.  Private. */
#ifndef EBEAM_MODEL_DIAGNOSIS_INTERNAL_H
#define EBEAM_MODEL_DIAGNOSIS_INTERNAL_H

#include "model/diagnosis/diagnosis.h"

#define MIB		    (1024.0 * 1024)
#define FINDING_NAMES_SHOWN 5u /* entries shown of a list */
#define SAMPLES_LEAST	    4u /* with fewer samples growth is not judged */

struct making {
	struct findings *f;
	const struct diagnosis *d;
};

/* A function rule_NAME() for each row; diagnosis.c calls them all. */
#define DIAGNOSIS_RULES(RULE)                                                                      \
	RULE(stopped)                                                                              \
	RULE(multi_scheduling)                                                                     \
	RULE(deadlock)                                                                             \
	RULE(long_slices)                                                                          \
	RULE(overdue)                                                                              \
	RULE(dirty_pools)                                                                          \
	RULE(mailboxes)                                                                            \
	RULE(bottleneck)                                                                           \
	RULE(connections)                                                                          \
	RULE(ports)                                                                                \
	RULE(restarts)                                                                             \
	RULE(host_cpu)                                                                             \
	RULE(run_queues)                                                                           \
	RULE(busiest)                                                                              \
	RULE(gc)                                                                                   \
	RULE(locks)                                                                                \
	RULE(literals)                                                                             \
	RULE(spawns)                                                                               \
	RULE(processes_grow)                                                                       \
	RULE(numbers_grow)                                                                         \
	RULE(memory_grows)                                                                         \
	RULE(malloc)                                                                               \
	RULE(beyond_vm)                                                                            \
	RULE(fragmentation)                                                                        \
	RULE(binaries)                                                                             \
	RULE(atoms)                                                                                \
	RULE(tables)                                                                               \
	RULE(timers)                                                                               \
	RULE(limits)                                                                               \
	RULE(few_samples)

#define DIAGNOSIS_RULE(name) void rule_##name(struct making *m);
DIAGNOSIS_RULES(DIAGNOSIS_RULE)
#undef DIAGNOSIS_RULE

/* Begins a finding; its severity follows from the weight.  The pointer is valid until the next
 * call. */
struct finding *finding_begin(struct making *m, const char *id, double weight,
			      enum finding_certainty certainty, const char *title, ...)
	__attribute__((format(printf, 5, 6)));
void finding_evidence(struct finding *f, const char *text, ...)
	__attribute__((format(printf, 2, 3)));
void finding_command(struct finding *f, const char *text, ...)
	__attribute__((format(printf, 2, 3)));

/* "<0.80.0> my_server"; malloc'ed.  NULL: "a process". */
char *finding_process_text(const struct diagnosed_process *p);
/* True if several schedulers wait for locks: one alone may wait for something of its own. */
bool diagnosis_locks_are_contended(const struct diagnosis *d);
/* True if the scheduler has run the same for nearly all of the time, and still does. */
bool diagnosed_is_stuck(const struct diagnosis *d, const struct diagnosed_scheduler *s);
/* Adds what the process does now, as evidence. */
void finding_report_process(struct making *m, struct finding *f, const struct diagnosed_process *p);

double diagnosis_seconds(const struct diagnosis *d); /* never 0 */
const struct diagnosed_process *diagnosed_at(const struct diagnosis *d, uint32_t i);

/* Buffers for the numbers of one call of printf(), which has six at most. */
struct texts {
	char buf[6][40];
	unsigned int nr;
};
const char *text_count(struct texts *t, double n);
const char *text_bytes(struct texts *t, double n);
const char *text_time(struct texts *t, double ns);

#endif
