/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * private_stack [SECONDS]: two threads on one CPU run the programs of private_stack.bpf.c, one
 * after the other, each for that long; prints for each how often it ran, and in how many runs
 * another thread wrote where it keeps its own.  Needs root.  Exit code: 0, or 2 if a program did
 * not run.
 */
#include <bpf/libbpf.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "private_stack.skel.h"

#define THREADS 2

static atomic_bool stop;

void private_stack_hit(void);

__attribute__((noinline)) void private_stack_hit(void)
{
	__asm__ volatile("nop");
}

static void *run_hits(void *arg)
{
	while (!stop)
		private_stack_hit();
	return arg;
}

/* Threads that are made later inherit it. */
static int stay_on_one_cpu(void)
{
	cpu_set_t one;

	CPU_ZERO(&one);
	CPU_SET(sched_getcpu(), &one);
	return sched_setaffinity(0, sizeof(one), &one);
}

static int run_threads(unsigned int seconds)
{
	pthread_t threads[THREADS];
	int made = 0;

	stop = false;
	while (made < THREADS && pthread_create(&threads[made], NULL, run_hits, NULL) == 0)
		made++;
	sleep(made == THREADS ? seconds : 0);
	stop = true;
	for (int i = 0; i < made; i++)
		pthread_join(threads[i], NULL);
	return made == THREADS ? 0 : -1;
}

static int run_program(struct private_stack_bpf *skel, struct bpf_program *program,
		       unsigned int seconds)
{
	LIBBPF_OPTS(bpf_uprobe_opts, opts, .func_name = "private_stack_hit");
	struct bpf_link *link;

	skel->bss->runs = skel->bss->overwritten = 0;
	link = bpf_program__attach_uprobe_opts(program, getpid(), "/proc/self/exe", 0, &opts);
	if (!link || run_threads(seconds)) {
		fprintf(stderr, "private_stack: %s cannot run\n", bpf_program__name(program));
		bpf_link__destroy(link);
		return -1;
	}
	bpf_link__destroy(link);
	printf("%s: %llu of %llu overwritten\n", bpf_program__name(program),
	       (unsigned long long)skel->bss->overwritten, (unsigned long long)skel->bss->runs);
	return skel->bss->runs ? 0 : -1;
}

int main(int argc, char **argv)
{
	unsigned int seconds = argc > 1 ? (unsigned int)strtoul(argv[1], NULL, 10) : 10;
	struct private_stack_bpf *skel = private_stack_bpf__open_and_load();
	int rc = 0;

	if (!skel || stay_on_one_cpu()) {
		fputs("private_stack: the programs cannot be loaded\n", stderr);
		return 2;
	}
	setvbuf(stdout, NULL, _IOLBF, 0);
	rc |= run_program(skel, skel->progs.in_frame, seconds);
	rc |= run_program(skel, skel->progs.in_frame_with_tail_call, seconds);
	rc |= run_program(skel, skel->progs.in_map_by_cpu, seconds);
	private_stack_bpf__destroy(skel);
	return rc ? 2 : 0;
}
