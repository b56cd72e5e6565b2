/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * See program_trial.h.  libbpf calls a handler for the section of a program before it loads that.
 * The handlers here load each program themselves, with a log of its own, and give libbpf a program
 * of two instructions instead, which every kernel accepts.  So an object is relocated only once for
 * all its programs, and a refused program does not end the load of the others.
 */
#include "probe/kernel/kernel_btf.h"
#include "probe/session/program_trial.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/compiler.h"
#include "base/thread.h"
#include "base/xalloc.h"
#include "calibrate.skel.h"
#include "ebeam.skel.h"
#include "probe/kernel/uprobe.h"
#include "probe/session/programs.h"

#define LICENSE	      "Dual BSD/GPL" /* of all programs of ebeam */
#define LOG_STATS     4u	     /* BPF_LOG_STATS: figures, and the error */
#define LOG_ALL	      5u	     /* with instructions */
#define LOG_SIZE      (64u << 10)
#define LOG_ALL_SIZE  (15u << 20) /* kernels of before 5.17 take 16 MiB at most */
#define THREADS	      16u	  /* that maps by thread have room for */
#define HASH_ELEMENTS 256u
#define MAX_PARTS     8u
#define SOME_ADDRESS  0x7f0000000000ull
#define SOME_NS	      1000000u
#define SOME_OFFSET   128u
#define SOME_WORDS    256u /* words of terms of a call, as in trace */
#define SOME_DEPTH    5u

struct trial_run {
	struct program_trials *out;
	bool keep_logs;
	char *log;
};

static _Thread_local struct trial_run *running; /* NULL: programs are loaded normally */

/* ---- a made-up node -------------------------------------------------------------------------- */

/* Process tables of OTP 27; only the last field makes a difference for the code of programs. */
static struct id_table some_table(unsigned int otp)
{
	return (struct id_table){
		.slots = SOME_ADDRESS,
		.pix_mask = (1u << 18) - 1,
		.cl_mask = 7,
		.cli_mask = (1u << 15) - 1,
		.cl_shift = 15,
		.cli_shift = 3,
		.number_bits = 28,
		.whole_word = otp >= 26,
	};
}

void program_trials_config(struct session_config *c, struct source_plan *plan,
			   const struct beam_layout *layout, unsigned int otp)
{
	const struct dictionary_key key = {.term = PROGRAM_TRIAL_TERM,
					   .hash = PROGRAM_TRIAL_TERM >> 6};

	memset(plan, 0, sizeof(*plan));
	plan->kinds = (1ull << NR_EVENT_KINDS) - 1;
	*c = (struct session_config){
		.os_pid = 1,
		.exe = "",
		.jit_descriptor = SOME_ADDRESS,
		.initial_call = key,
		.process_label = key,
		.layout = layout,
		.events = plan,
		.processes = some_table(otp),
		.ports = some_table(otp),
		.proc_lib = PROGRAM_TRIAL_TERM,
		.longer_than_ns = SOME_NS,
		.inet_received = SOME_OFFSET,
		.calls = true,
		.otp = otp,
		.call_words = SOME_WORDS,
		.call_depth = SOME_DEPTH,
	};
}

/* ---- what the kernel made of it -------------------------------------------------------------- */

/* A loaded program as the kernel shows it. */
struct shown {
	unsigned char *machine;
	struct bpf_insn *insns;
	struct bpf_func_info *functions;
	struct bpf_prog_info info;
};

static void shown_free(struct shown *s)
{
	free(s->machine);
	free(s->insns);
	free(s->functions);
}

/* False if the kernel shows no code: without CAP_SYSLOG, with kernel.kptr_restrict 2, or if the
 * program is not compiled. */
static bool show(struct shown *s, int fd)
{
	struct bpf_prog_info *info = &s->info;
	uint32_t size = sizeof(*info);

	memset(s, 0, sizeof(*s));
	if (bpf_obj_get_info_by_fd(fd, info, &size) || !info->jited_prog_len)
		return false;
	s->machine = xcalloc(1, info->jited_prog_len);
	s->insns = xcalloc(1, info->xlated_prog_len);
	s->functions = xcalloc(MAX(info->nr_func_info, 1u), sizeof(*s->functions));
	*info = (struct bpf_prog_info){
		.jited_prog_len = info->jited_prog_len,
		.jited_prog_insns = (uint64_t)(uintptr_t)s->machine,
		.xlated_prog_len = info->xlated_prog_len,
		.xlated_prog_insns = (uint64_t)(uintptr_t)s->insns,
		.nr_func_info = info->nr_func_info,
		.func_info_rec_size = sizeof(*s->functions),
		.func_info = (uint64_t)(uintptr_t)s->functions,
	};
	size = sizeof(*info);
	return bpf_obj_get_info_by_fd(fd, info, &size) == 0 && info->jited_prog_insns &&
	       info->xlated_prog_insns;
}

static unsigned int deepest(const struct shown *s, const struct verifier_log *log)
{
	uint32_t starts[VERIFIER_FUNCTIONS] = {0};
	const struct verifier_code code = {
		.insns = s->insns,
		.nr = s->info.xlated_prog_len / sizeof(*s->insns),
		.starts = starts,
	};

	/* Some kernels append functions of their own to those of the program. */
	if (MAX(s->info.nr_func_info, 1u) > log->nr_functions)
		return 0;
	for (uint32_t i = 0; i < log->nr_functions; i++)
		starts[i] = i < s->info.nr_func_info ? s->functions[i].insn_off : (uint32_t)code.nr;
	starts[0] = 0;
	return verifier_log_deepest(log, &code);
}

static void examine(struct program_trial *t, int fd)
{
	struct shown s;

	if (show(&s, fd)) {
		t->deepest = deepest(&s, &t->verifier);
		t->private_stack = kernel_uses_private_stack(s.machine, s.info.jited_prog_len);
	}
	shown_free(&s);
}

/* ---- loading --------------------------------------------------------------------------------- */

static int load(struct bpf_program *prog, const struct bpf_prog_load_opts *like,
		unsigned int log_level, char *log, size_t log_size)
{
	struct bpf_prog_load_opts opts = *like;

	opts.sz = MIN(like->sz, sizeof(opts));
	opts.log_level = log_level;
	opts.log_buf = log;
	opts.log_size = (uint32_t)log_size;
	log[0] = '\0';
	return bpf_prog_load(bpf_program__type(prog), bpf_program__name(prog), LICENSE,
			     bpf_program__insns(prog), bpf_program__insn_cnt(prog), &opts);
}

static char *whole_log(struct bpf_program *prog, const struct bpf_prog_load_opts *like)
{
	char *log = xcalloc(1, LOG_ALL_SIZE);
	int fd = load(prog, like, LOG_ALL, log, LOG_ALL_SIZE);

	if (fd >= 0)
		close(fd);
	return xrealloc(log, strlen(log) + 1);
}

static void try_program(struct trial_run *run, struct bpf_program *prog,
			const struct bpf_prog_load_opts *like)
{
	struct program_trial t = {.private_stack = -1};
	int fd = load(prog, like, LOG_STATS, run->log, LOG_SIZE);

	snprintf(t.name, sizeof(t.name), "%s", bpf_program__name(prog));
	verifier_log_read(&t.verifier, run->log);
	if (fd < 0) {
		t.rc = fd;
		if (run->keep_logs)
			t.log = whole_log(prog, like);
	} else {
		examine(&t, fd);
		close(fd);
		if (t.private_stack > 0 && bpf_program__type(prog) == BPF_PROG_TYPE_KPROBE) {
			t.rc = -ENOTSUP;
			snprintf(t.verifier.words, sizeof(t.verifier.words), "%s",
				 KERNEL_PRIVATE_STACK);
		}
	}
	vec_push(&run->out->v, t);
}

/* Of programs of typed tracepoints, "tp_btf/sched_switch": what libbpf does for its own kinds. */
#define TYPED "tp_btf+"
static int set_tracepoint(const struct bpf_program *prog, struct bpf_prog_load_opts *opts)
{
	const char *name = strchr(bpf_program__section_name(prog), '/');
	int id = name ? libbpf_find_vmlinux_btf_id(name + 1, BPF_TRACE_RAW_TP) : -EINVAL;

	opts->expected_attach_type = BPF_TRACE_RAW_TP;
	opts->attach_btf_id = id > 0 ? (uint32_t)id : 0;
	return id;
}

static int before_load(struct bpf_program *prog, struct bpf_prog_load_opts *opts, long cookie)
{
	struct bpf_insn nothing[] = {
		{.code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = BPF_REG_0},
		{.code = BPF_JMP | BPF_EXIT},
	};
	int rc;

	UNUSED(cookie);
	if (bpf_program__type(prog) == BPF_PROG_TYPE_TRACING) {
		rc = set_tracepoint(prog, opts);
		if (rc < 0)
			return rc;
	}
	if (!running)
		return 0;
	try_program(running, prog, opts);
	opts->func_info_cnt = opts->line_info_cnt = 0;
	return bpf_program__set_insns(prog, nothing, ARRAY_SIZE(nothing));
}

/* ---- objects --------------------------------------------------------------------------------- */

static const struct {
	const char *section;
	enum bpf_prog_type type;
} kinds[] = {
	{"uprobe", BPF_PROG_TYPE_KPROBE},	  {"uretprobe", BPF_PROG_TYPE_KPROBE},
	{"perf_event", BPF_PROG_TYPE_PERF_EVENT}, {"raw_tp", BPF_PROG_TYPE_RAW_TRACEPOINT},
	{TYPED, BPF_PROG_TYPE_TRACING},
};

/* Programs that one of several threads tries. */
struct part {
	const struct session_config *config;
	const struct kernel_features *kernel;
	const struct program_choice *choice;
	enum attach_way way;
	unsigned int nr, of; /* every of-th of the wanted programs, from the nr-th on */
	struct program_trials out;
	int rc;
	struct error err;
};

static bool is_wanted(const struct program_choice *choice, const char *program)
{
	return !choice->wants || choice->wants(choice->arg, program);
}

/* Programs of type perf event (samples, breakpoints) are never attached by uprobe_multi. */
static bool is_multi(const struct part *part, const struct bpf_program *p)
{
	return part->way == ATTACH_MULTI && bpf_program__type(p) == BPF_PROG_TYPE_KPROBE;
}

/* A program that libbpf would refuse together with all others. */
static bool lacks_btf(struct part *part, const struct bpf_program *p, const char *name)
{
	struct program_trial t = {.rc = -ENOENT, .private_stack = -1};

	if (bpf_program__type(p) != BPF_PROG_TYPE_TRACING || kernel_btf_is_own())
		return false;
	snprintf(t.name, sizeof(t.name), "%s", name);
	snprintf(t.verifier.words, sizeof(t.verifier.words), "%s", KERNEL_LACKS_OWN_BTF);
	if (part->nr == 0 && is_wanted(part->choice, name))
		vec_push(&part->out.v, t);
	return true;
}

static void choose(struct ebeam_bpf *skel, struct part *part)
{
	unsigned int wanted = 0;
	struct bpf_program *p;

	bpf_object__for_each_program(p, skel->obj)
	{
		const char *name = bpf_program__name(p);

		if (lacks_btf(part, p, name))
			bpf_program__set_autoload(p, false);
		else if (is_wanted(part->choice, name))
			bpf_program__set_autoload(p, wanted++ % part->of == part->nr);
		uprobe_prepare(p, is_multi(part, p));
	}
}

/* The programs are not run, so maps can be small. */
static void shrink_hashes(struct bpf_object *obj)
{
	struct bpf_map *map;

	bpf_object__for_each_map(map, obj)
	{
		enum bpf_map_type type = bpf_map__type(map);

		if (type == BPF_MAP_TYPE_HASH || type == BPF_MAP_TYPE_LRU_HASH)
			bpf_map__set_max_entries(map,
						 MIN(bpf_map__max_entries(map), HASH_ELEMENTS));
	}
}

/* Creates the inner map that is the model of all rings; descriptor or negative errno. */
static int set_ring(struct ebeam_bpf *skel)
{
	int ring = bpf_map_create(BPF_MAP_TYPE_RINGBUF, "ebeam_ring", 0, 0,
				  (uint32_t)sysconf(_SC_PAGESIZE), NULL);
	int rc = ring < 0 ? ring : bpf_map__set_inner_map_fd(skel->maps.rings, ring);

	if (rc && ring >= 0)
		close(ring);
	return rc ? rc : ring;
}

static int try_object(struct part *part, struct error *err)
{
	const struct session_config *c = part->config;
	struct ebeam_bpf *skel;
	int rc = programs_open(&skel, c->btf, err), ring;

	if (rc)
		return rc;
	choose(skel, part);
	programs_configure(skel, c, part->kernel);
	rc = programs_size_maps(skel, c, part->kernel, THREADS, err);
	shrink_hashes(skel->obj);
	ring = rc ? rc : set_ring(skel);
	if (rc == 0 && ring < 0)
		rc = programs_error(ring, err);
	if (rc == 0) {
		rc = ebeam_bpf__load(skel);
		close(ring);
		rc = rc ? programs_error(rc, err) : 0;
	}
	ebeam_bpf__destroy(skel);
	return rc;
}

static int try_calibrate(const struct part *part, struct error *err)
{
	struct calibrate_bpf *skel = calibrate_bpf__open();
	int rc;

	if (!skel)
		return programs_error(-errno, err);
	uprobe_prepare(skel->progs.calibrate_hit, part->way == ATTACH_MULTI);
	rc = calibrate_bpf__load(skel);
	calibrate_bpf__destroy(skel);
	return rc ? programs_error(rc, err) : 0;
}

static void *try_part(void *arg)
{
	struct part *part = arg;
	struct trial_run run = {.out = &part->out, .keep_logs = part->choice->keep_logs};

	run.log = xcalloc(1, LOG_SIZE);
	running = &run;
	part->rc = try_object(part, &part->err);
	if (part->rc == 0 && part->nr == 0 && is_wanted(part->choice, PROGRAM_CALIBRATE))
		part->rc = try_calibrate(part, &part->err);
	running = NULL;
	free(run.log);
	return NULL;
}

/* Called once, never undone: libbpf 1.1 frees its list of handlers twice when the last is
 * removed. */
static int register_handlers(void)
{
	LIBBPF_OPTS(libbpf_prog_handler_opts, opts, .prog_prepare_load_fn = before_load);
	static bool registered;

	for (size_t i = 0; !registered && i < ARRAY_SIZE(kinds); i++) {
		int rc = libbpf_register_prog_handler(kinds[i].section, kinds[i].type,
						      (enum bpf_attach_type)0, &opts);

		if (rc < 0)
			return rc;
	}
	registered = true;
	return 0;
}

/* The verifier takes most of the time, and runs in parallel for threads that load at the same
 * time. */
static unsigned int nr_parts(void)
{
	long cpus = sysconf(_SC_NPROCESSORS_ONLN);

	return (unsigned int)MAX(1, MIN(cpus, (long)MAX_PARTS));
}

static int run_trials(struct program_trials *out, const struct session_config *c,
		      const struct program_choice *choice, struct error *err)
{
	struct kernel_features kernel;
	const struct part like = {
		.config = c,
		.kernel = &kernel,
		.choice = choice,
		.way = c->attach_way == ATTACH_BEST ? attach_way() : c->attach_way,
		.of = nr_parts(),
	};
	struct part parts[MAX_PARTS];
	pthread_t threads[MAX_PARTS];
	bool started[MAX_PARTS];
	int rc = register_handlers();

	if (rc)
		return programs_error(rc, err);
	programs_raise_limits();
	kernel_features(&kernel);
	for (unsigned int i = 0; i < like.of; i++) {
		parts[i] = like;
		parts[i].nr = i;
		started[i] = i && thread_start(&threads[i], try_part, &parts[i]);
	}
	for (unsigned int i = 0; i < like.of; i++) {
		if (started[i])
			pthread_join(threads[i], NULL);
		else
			try_part(&parts[i]);
		if (parts[i].rc && rc == 0) {
			rc = parts[i].rc;
			if (err)
				*err = parts[i].err;
		}
		for (size_t k = 0; k < parts[i].out.v.len; k++)
			vec_push(&out->v, parts[i].out.v.data[k]);
		vec_free(&parts[i].out.v);
	}
	return rc;
}

int program_trials_run(struct program_trials *out, const struct session_config *c,
		       const struct program_choice *choice, struct error *err)
{
	/* libbpf has one global list of handlers. */
	static pthread_mutex_t one_at_a_time = PTHREAD_MUTEX_INITIALIZER;
	int rc;

	pthread_mutex_lock(&one_at_a_time);
	rc = run_trials(out, c, choice, err);
	pthread_mutex_unlock(&one_at_a_time);
	return rc;
}

void program_trials_free(struct program_trials *t)
{
	for (size_t i = 0; i < t->v.len; i++)
		free(t->v.data[i].log);
	vec_free(&t->v);
}

bool program_trial_refused(const struct program_trial *t, bool force)
{
	return t->rc != 0 && !(force && t->private_stack > 0);
}
