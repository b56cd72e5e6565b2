/* SPDX-License-Identifier: BSD-2-Clause */
/* See programs.h. */
#include "probe/session/programs.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/compiler.h"
#include "base/log.h"
#include "base/strbuf.h"
#include "ebeam.skel.h"
#include "probe/kernel/kernel_btf.h"
#include "probe/kernel/libbpf_log.h"
#include "target/privilege.h"
#include "target/proc.h"

#define LOCKDOWN_SIZE 128 /* bytes of its file */

/* Kinds that come with a stack, asked for or not. */
#define STACK_KINDS (1ull << EVENT_LONG_GC | 1ull << EVENT_LONG_SCHEDULE)

/* Maps, programs and rings, an event and a ring for each CPU, and files of the node. */
#define FILES_FIXED   256u
#define FILES_PER_CPU 4u
/* One more for each point, if each uprobe is a perf event with a link of its own. */
#define FILES_OF_POINTS (2u * SOURCE_MAX_POINTS)

#define LOCKED_FIX "ulimit -l unlimited, or grant CAP_SYS_RESOURCE"

static unsigned int files_needed(void)
{
	int cpus = libbpf_num_possible_cpus();

	return FILES_FIXED + FILES_PER_CPU * (unsigned int)MAX(cpus, 1);
}

/* libbpf also returns EINVAL when it runs out of descriptors. */
bool programs_needs_files(int rc)
{
	struct rlimit limit;

	return rc == -EMFILE || (rc == -EINVAL && getrlimit(RLIMIT_NOFILE, &limit) == 0 &&
				 limit.rlim_cur < files_needed());
}

int programs_files_error(int rc, struct error *err)
{
	return error_set(err, ERROR_KIND_FAILED, rc,
			 "too many open files: raise the limit (ulimit -n) to %u",
			 files_needed() + FILES_OF_POINTS);
}

void programs_raise_limits(void)
{
	struct rlimit unlimited = {RLIM_INFINITY, RLIM_INFINITY}, memory, files;

	/* RLIMIT_MEMLOCK matters only where the kernel counts BPF memory as locked; elsewhere
	 * raising it does no harm. */
	if (setrlimit(RLIMIT_MEMLOCK, &unlimited) && getrlimit(RLIMIT_MEMLOCK, &memory) == 0) {
		memory.rlim_cur = memory.rlim_max;
		setrlimit(RLIMIT_MEMLOCK, &memory);
		programs_count_as_locked();
	}
	/* Shells have a low soft limit by default; only root can raise the hard one. */
	if (getrlimit(RLIMIT_NOFILE, &files) == 0 && files.rlim_cur < files_needed()) {
		rlim_t hard = files.rlim_max;

		files.rlim_cur = files_needed();
		files.rlim_max = MAX(hard, files.rlim_cur);
		if (setrlimit(RLIMIT_NOFILE, &files)) {
			files.rlim_cur = files.rlim_max = hard;
			setrlimit(RLIMIT_NOFILE, &files);
		}
	}
}

static bool can_create_map(void)
{
	int map = bpf_map_create(BPF_MAP_TYPE_ARRAY, "ebeam_try", 4, 4, 1, NULL);

	if (map >= 0)
		close(map);
	return map >= 0;
}

static bool counts_as_locked;

/* Finds out whether maps count as locked memory: whether one can be made with a limit of 0.  Called
 * once, before any thread loads programs, as the limit is that of the whole process. */
static void try_locked_memory(void)
{
	struct rlimit limit, none;

	if (getrlimit(RLIMIT_MEMLOCK, &limit) || !can_create_map())
		return;
	none = limit;
	none.rlim_cur = 0;
	if (setrlimit(RLIMIT_MEMLOCK, &none))
		return;
	counts_as_locked = !can_create_map();
	if (setrlimit(RLIMIT_MEMLOCK, &limit))
		log_debug("RLIMIT_MEMLOCK was set to 0 for a trial and could not be set back");
}

bool programs_count_as_locked(void)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	pthread_once(&once, try_locked_memory);
	return counts_as_locked;
}

/* The kernel refuses a map beyond this limit with EPERM, as if the privilege for it was missing. */
static bool lacks_locked_memory(void)
{
	struct rlimit limit;

	return getrlimit(RLIMIT_MEMLOCK, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY &&
	       programs_count_as_locked();
}

const char *programs_fix(void)
{
	return lacks_locked_memory() ? LOCKED_FIX : privilege_fix(PRIVILEGE_BPF);
}

bool programs_locked_down(void)
{
	/* All modes, the active one in brackets. */
	char *modes = proc_read_file(LOCKDOWN_SIZE, NULL, "/sys/kernel/security/lockdown");
	bool locked = modes && strstr(modes, "[confidentiality]");

	free(modes);
	return locked;
}

bool programs_are_refused(int rc)
{
	return rc != -EPERM && rc != -ENOMEM && rc != -ESRCH && !programs_needs_files(rc);
}

int programs_error(int rc, struct error *err)
{
	int btf = rc == -ESRCH ? kernel_btf_find() : 0; /* so libbpf reports that it found no BTF */

	if (rc == -ESRCH && !btf)
		btf = -ENOMEM; /* can be read alone, but not with all else that is loaded */
	if (error_limit_fix(btf))
		return error_set(err, ERROR_KIND_FAILED, btf,
				 "cannot read the BTF of this kernel: %s", error_text(btf));
	if (btf)
		return error_set(
			err, ERROR_KIND_KERNEL, rc,
			"this kernel has no BTF (/sys/kernel/btf/vmlinux): use one built "
			"with CONFIG_DEBUG_INFO_BTF=y, or name a file with the BTF of this "
			"one: --btf FILE (see ebeam doctor)");
	if (programs_locked_down())
		return error_set(err, ERROR_KIND_KERNEL, rc,
				 "the kernel is locked down (lockdown=confidentiality): nobody may "
				 "sample, and no BPF program may read memory. Boot with "
				 "lockdown=integrity, or without lockdown");
	if (rc == -EPERM && lacks_locked_memory())
		return error_set(
			err, ERROR_KIND_PRIVILEGE, rc,
			"BPF maps count as locked memory on this kernel, of which there is "
			"too little: " LOCKED_FIX " (see ebeam doctor)");
	/* EPERM: the privilege to load programs is missing.  The verifier refuses with EACCES. */
	if (rc == -EPERM)
		return error_set(err, ERROR_KIND_PRIVILEGE, rc,
				 "cannot load BPF programs: %s. %s (see ebeam doctor)",
				 error_text(rc), privilege_fix(PRIVILEGE_BPF));
	if (programs_needs_files(rc))
		return programs_files_error(rc, err);
	if (rc == -ENOMEM)
		return error_set(err, ERROR_KIND_FAILED, rc,
				 "the kernel has not enough memory for BPF maps: events, and "
				 "samples at more than 1,800 Hz, need a ring of up to %u MiB for "
				 "each CPU",
				 SESSION_RING_SIZE >> 20);
	return error_set(err, ERROR_KIND_KERNEL, rc,
			 "the kernel refuses BPF programs or maps: %s (ebeam doctor shows what "
			 "works here, -vv the messages of libbpf)",
			 error_text(rc));
}

int programs_open(struct ebeam_bpf **out, const char *btf, struct error *err)
{
	LIBBPF_OPTS(bpf_object_open_opts, opts, .btf_custom_path = btf);
	struct bpf_program *p;

	libbpf_log_open();
	*out = ebeam_bpf__open_opts(&opts);
	if (!*out)
		return programs_error(-errno, err);
	bpf_object__for_each_program(p, (*out)->obj) bpf_program__set_autoload(p, false);
	return 0;
}

static bool is_anyone(const struct event_who *who)
{
	return !who->epid && !who->name && !who->call[0];
}

static bool is_chosen(const struct session_config *c)
{
	return c->event_epid || !is_anyone(&c->event_who) || !is_anyone(&c->message_from) ||
	       !is_anyone(&c->message_to);
}

void programs_configure(struct ebeam_bpf *skel, const struct session_config *config,
			const struct kernel_features *kernel)
{
	struct probe_config *c = (void *)&skel->rodata->config;

	c->kernel = kernel->helpers;
	c->os_pid = (uint32_t)config->os_pid;
	c->frame_pointers = config->frame_pointers;
	c->jit_descriptor = config->jit_descriptor;
	c->literal_area = config->literal_area;
	c->initial_call = config->initial_call;
	c->process_label = config->process_label;
	c->layout = *config->layout;
	c->otp = config->otp;
	c->c_stack = config->c_stack;
	c->interpreted = config->interpreted;
	c->call_words = MIN(config->call_words, (unsigned int)TERM_COPY_WORDS);
	c->call_depth = config->call_depth;
	c->event_epid = config->event_epid;
	c->event_who = config->event_who;
	c->proc_lib = config->proc_lib;
	c->keep_returns = config->call_stacks;
	c->own_times = config->own_times;
	c->own_hits = (config->counting || c->own_times) && kernel->helpers.cookies;
	if (config->events) {
		c->event_kinds = config->events->kinds;
		c->message_from = config->message_from;
		c->message_to = config->message_to;
		c->event_stacks = config->event_stacks && !config->counting;
		c->native_stacks = c->event_stacks && c->event_kinds >> EVENT_LIBC_ALLOC & 1;
		c->libc_sampled = config->libc_every != 0;
		c->libc_frees = config->libc_frees;
		c->keep_returns |= config->freq || c->event_stacks ||
				   (!config->counting && c->event_kinds & STACK_KINDS);
		c->gc_longer_than_ns = config->gc_longer_than_ns;
		c->longer_than_ns = config->longer_than_ns;
		c->usdt_kinds = config->events->usdt_kinds;
		c->processes = config->processes;
		c->ports = config->ports;
		c->inet_received = config->inet_received;
		c->unnamed = config->unnamed || config->counting;
		c->counting = config->counting;
		c->count_sums = config->count_sums;
		c->chosen = is_chosen(config);
	}
}

static int size_map(struct bpf_map *map, size_t nr, struct error *err)
{
	int rc = bpf_map__set_map_flags(map, 0);

	rc = rc ? rc : bpf_map__set_max_entries(map, (uint32_t)MAX(nr, 1));
	return rc ? programs_error(rc, err) : 0;
}

bool programs_need_threads(const struct session_config *c)
{
	return c->calls || c->events || c->off_cpu;
}

/* Programs of breakpoints need maps that are allocated as a whole, other programs only where the
 * kernel requires it.  There is room for the threads of now and a quarter more, as a node starts
 * nearly all its threads at the beginning; maps that are not used have no room. */
int programs_size_maps(struct ebeam_bpf *skel, const struct session_config *c,
		       const struct kernel_features *kernel, size_t nr_threads, struct error *err)
{
	size_t nr = MIN(nr_threads + nr_threads / 4 + 16, (size_t)EBEAM_THREADS);
	bool whole = !kernel->growing_maps;
	bool stacks = c->call_stacks || c->event_stacks ||
		      (c->events && !c->counting && c->events->kinds & STACK_KINDS);
	int rc = 0;

	if (c->off_cpu) {
		rc = size_map(skel->maps.off_threads, nr, err);
		if (rc)
			return rc;
	}
	if (!c->calls && !(whole && c->events))
		return 0;
	rc = size_map(skel->maps.event_scratches, stacks ? nr : 1, err);
	rc = rc ? rc : size_map(skel->maps.call_threads, c->calls ? nr : 1, err);
	if (rc || !whole)
		return rc;
	rc = size_map(skel->maps.event_threads, nr, err);
	return rc ? rc
		  : size_map(skel->maps.libc_blocks, c->libc_frees ? EBEAM_LIBC_BLOCKS : 1, err);
}
