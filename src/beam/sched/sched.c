/* SPDX-License-Identifier: BSD-2-Clause */
/* See sched.h. */
#include "beam/sched/sched.h"

#include <stdlib.h>
#include <string.h>

#include "base/compiler.h"
#include "base/vec.h"

static int read_one(struct beam_node *n, raddr esdp, enum thread_type type, uint32_t number,
		    struct sched_thread *out)
{
	int rc;

	*out = (struct sched_thread){
		.info = {.esdp = esdp, .type = (uint8_t)type, .scheduler = (uint16_t)number}};
	rc = mem_read_u64(n->mem, esdp + n->layout.sched_tid, &out->thread_pointer);
	return rc ? rc
		  : mem_read_u64(n->mem, esdp + n->layout.sched_registers, &out->info.registers);
}

int sched_threads(struct beam_node *n, struct sched_thread **out)
{
	const struct {
		raddr array;
		uint32_t nr;
		enum thread_type type;
	} arrays[] = {
		{n->anchors.sched, n->anchors.nr_sched, THREAD_NORMAL},
		{n->anchors.dirty_cpu, n->anchors.nr_dirty_cpu, THREAD_DIRTY_CPU},
		{n->anchors.dirty_io, n->anchors.nr_dirty_io, THREAD_DIRTY_IO},
	};
	VEC(struct sched_thread) v = {0};

	for (int a = 0; a < 3; a++) {
		for (uint32_t i = 0; arrays[a].array && i < arrays[a].nr; i++) {
			struct sched_thread t;
			raddr esdp =
				arrays[a].array + (uint64_t)i * (uint32_t)n->layout.sched_stride;
			int rc = read_one(n, esdp, arrays[a].type, i + 1, &t);

			if (rc) {
				vec_free(&v);
				*out = NULL;
				return rc;
			}
			if (t.thread_pointer)
				vec_push(&v, t);
		}
	}
	*out = v.data;
	return (int)v.len;
}

int sched_is_busy(struct beam_node *n, const struct thread_info *scheduler)
{
	uint64_t process, port;
	int rc = mem_read_u64(n->mem, scheduler->esdp + n->layout.sched_current_process, &process);

	rc = rc ? rc : mem_read_u64(n->mem, scheduler->esdp + n->layout.sched_current_port, &port);
	return rc ? rc : process || port;
}

int sched_run_queue_flags(struct mem *mem, const struct beam_layout *l, raddr esdp, uint32_t *flags)
{
	uint64_t queue;
	int rc = mem_read_u64(mem, esdp + (raddr)l->sched_run_queue, &queue);

	return rc ? rc : mem_read_u32(mem, queue + (raddr)l->runq_flags, flags);
}

/* The kernel truncates names of threads to 15 bytes. */
#define THREAD_NAME_LEN 15

/* Is `text`, the end of a thread's name, equal to `whole`, or to a truncated `whole`? */
static bool is_rest_of_name(const char *name, const char *text, const char *whole)
{
	return strcmp(text, whole) == 0 || (strlen(name) == THREAD_NAME_LEN && text[0] &&
					    strncmp(text, whole, strlen(text)) == 0);
}

enum thread_type sched_type_of_name(const char *name, uint16_t *number)
{
	/* erl_process.c: "%d_scheduler" up to OTP 25, "erts_sched_%d" since OTP 26. */
	static const struct {
		const char *before, *after;
		enum thread_type type;
	} names[] = {
		{"", "_scheduler", THREAD_NORMAL},
		{"", "_dirty_cpu_scheduler", THREAD_DIRTY_CPU},
		{"", "_dirty_io_scheduler", THREAD_DIRTY_IO},
		{"erts_sched_", "", THREAD_NORMAL},
		{"erts_dcpus_", "", THREAD_DIRTY_CPU},
		{"erts_dios_", "", THREAD_DIRTY_IO},
	};

	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		size_t len = strlen(names[i].before), digits;
		unsigned long nr;

		if (strncmp(name, names[i].before, len) != 0)
			continue;
		digits = strspn(name + len, "0123456789");
		nr = strtoul(name + len, NULL, 10);
		if (digits == 0 || nr == 0 || nr > UINT16_MAX ||
		    !is_rest_of_name(name, name + len + digits, names[i].after))
			continue;
		*number = (uint16_t)nr;
		return names[i].type;
	}
	*number = 0;
	return THREAD_OTHER;
}

int sched_find_tids(int os_pid,
		    void (*found)(void *arg, enum thread_type type, uint16_t number, int os_tid),
		    void *arg, struct error *err)
{
	struct proc_thread *threads;
	ssize_t nr = proc_threads_read(&threads, os_pid, err);

	if (nr < 0)
		return (int)nr;
	for (ssize_t i = 0; i < nr; i++) {
		uint16_t number;
		enum thread_type type = sched_type_of_name(threads[i].name, &number);

		if (type != THREAD_OTHER)
			found(arg, type, number, threads[i].os_tid);
	}
	free(threads);
	return 0;
}
