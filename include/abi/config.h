/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * What user space tells the BPF programs: constants of one node (rodata, set before load) and
 * the few things that change while they run (in .bss, written through the mapped section).
 */
#ifndef EBEAM_ABI_CONFIG_H
#define EBEAM_ABI_CONFIG_H

#include "abi/call_test.h"
#include "abi/layout.h"
#include "abi/limits.h"

#ifndef __bpf__
#include <stdint.h>
#endif

/* An atom that BPF looks up in process dictionaries: its term and its hash value. */
struct dictionary_key {
	uint64_t term; /* 0 = the node has no such atom */
	uint64_t hash;
};

/* How a process or port table spreads numbers over its slots (erl_ptab.h): from the numbers of an
 * identifier's text to its term and its struct. */
struct id_table {
	uint64_t slots; /* address of the array; 0 = unknown */
	uint64_t pix_mask, cl_mask, cli_mask;
	uint32_t cl_shift, cli_shift;
	uint32_t number_bits; /* of a pid, those above are its serial */
	uint32_t whole_word;  /* OTP 26 and later: the term holds slot data in 60 bits */
};

/* Whom an event must be about; what is 0 may be any.  The first two are never both set. */
struct event_who {
	uint64_t epid;	  /* raw term */
	uint64_t name;	  /* atom: who is registered by that name at that time */
	uint64_t call[3]; /* initial call: module, function (atoms), arity; that behind proc_lib */
};

/* What the kernel has; without it the programs do the same in another way
 * (src/probe/kernel/kernel.h).  The verifier removes the way that is not taken, so that a kernel
 * without a helper never sees its call.
 */
struct kernel_helpers {
	uint32_t task_btf;  /* bpf_get_current_task_btf() */
	uint32_t task_regs; /* bpf_task_pt_regs() */
	uint32_t cookies;   /* bpf_get_attach_cookie() */
	uint32_t pad;
};

struct probe_config {
	struct kernel_helpers kernel;
	uint32_t os_pid;	 /* in the initial PID namespace */
	uint32_t frame_pointers; /* FP_RA frames (+JPperf): every call site stores the stack pointer
				  */
	uint64_t jit_descriptor; /* address of __jit_debug_descriptor */
	uint64_t literal_area;	 /* address of what holds the area that is collected; 0 = unknown */
	struct dictionary_key initial_call;  /* '$initial_call' */
	struct dictionary_key process_label; /* '$process_label', OTP 27 and later */
	uint64_t event_kinds;	    /* bit set of enum event_kind: those that are emitted */
	uint64_t event_epid;	    /* only those about this process; 0 = all */
	struct event_who event_who; /* the same by what it is; its epid is not used */
	/* Of messages: sender and receiver; their calls are not used. */
	struct event_who message_from, message_to;
	uint64_t proc_lib;	    /* atom: who runs that has an initial call to come */
	uint64_t gc_longer_than_ns; /* only collections that took longer; 0 = all */
	uint64_t longer_than_ns;    /* of long_gc and long_schedule */
	uint64_t usdt_kinds;	    /* of event_kinds: those that come from USDT probes */
	struct id_table processes, ports;
	uint32_t event_stacks; /* emit the Erlang stack ahead of each event */
	uint32_t keep_returns; /* somebody walks stacks: return probes keep what they replace */
	uint32_t otp;	       /* release */
	uint32_t c_stack;      /* JIT code has no native stack: it runs on the C stack */
	uint32_t interpreted;  /* there is no JIT code: the emu flavour */
	uint32_t call_words, call_depth; /* limits of what is copied with a call */
	uint32_t chosen;		 /* not everything: any of those above says of whom */
	uint32_t counting;   /* no records of events: only their numbers, see struct event_count */
	uint32_t count_sums; /* with the sums there */
	uint32_t own_hits;   /* each probe counts its hits, as the kernel does not */
	uint32_t own_times;  /* and measures what they take */
	uint32_t inet_received; /* offset of recv_oct in inet_descriptor; 0 = not known */
	uint32_t unnamed;	/* nothing gets a name: only numbers of events */
	struct beam_layout layout;
};

struct address_range {
	uint64_t start, end;
};

struct probe_state {
	struct address_range jit_hull;	/* from the lowest to the highest JIT address */
	uint64_t normal_exit;		/* return address at the bottom of every stack */
	struct address_range fragments; /* the JIT's shared fragments, one block of code */
	uint32_t nr_jit;
	uint32_t code_generation; /* bumped by the code probe: call sites are learned again */
	struct address_range jit[EBEAM_JIT_RANGES];
	/* ns that probes at a function's entry and return add to what is measured between them. */
	uint64_t pair_ns;
	/* Bytes of a thread's own data, between where its stack began and its thread pointer; 0 =
	 * not known yet. */
	uint64_t thread_data;
};

/*
 * What is on now.  A kind that goes on gets a new epoch, so that what a thread had entered before
 * is not taken for what it leaves now.
 */
#define EBEAM_EVENT_KINDS 64
struct event_switches {
	uint64_t kinds; /* bit set of enum event_kind */
	uint32_t epoch[EBEAM_EVENT_KINDS];
};
_Static_assert(EBEAM_EVENT_KINDS == 8 * sizeof(uint64_t), "kinds are bits of a word");

/* What is known of a thread, by its thread pointer (fs base). */
struct thread_info {
	uint64_t esdp;	    /* ErtsSchedulerData */
	uint64_t registers; /* ErtsSchedulerRegisters; on the C stack of a normal scheduler */
	uint16_t scheduler; /* 1.. within its type */
	uint8_t type;	    /* enum thread_type */
	uint8_t pad[5];
};

/* What an address of code means that has a breakpoint. */
struct call_point {
	uint32_t point; /* number of the function */
	uint32_t kind;	/* enum call_kind: its entry, or a site that it returns to */
	uint32_t arity;
	uint32_t pad;
};
#define EBEAM_BREAKPOINTS 4 /* debug address registers of x86-64 */
/* A site with a breakpoint, and a thread that comes there.  Beyond so many it is only known since
 * when a thread was watched at all. */
struct call_site_thread {
	uint64_t addr;
	uint32_t os_tid;
	uint32_t pad;
};
#define BEAM_CONTEXT_REDS 4000 /* reductions of a time slice; erl_vm.h of OTP 25 to 29 */
/* When an entry was hit, by clocks that stand still while its thread does not run. */
struct call_moment {
	uint64_t on_ns;	     /* for so long its event had been on; holds what hits cost */
	uint64_t reductions; /* that the scheduler had done, from some start; 0 = unknown */
};
struct call_site_hit {
	uint64_t last_ns;		/* 0 = not yet */
	uint64_t nr;			/* of its event, as the kernel counts them */
	struct call_moment first, last; /* of its event's hits */
};
#define EBEAM_CALL_SITE_HITS 4096

/* What stands in the cookie of a probe on a C function that Erlang code calls. */
#define CALL_COOKIE(point, nif) ((uint64_t)(point) | (uint64_t)(nif) << 32)
#define CALL_COOKIE_POINT(c)	((uint32_t)(c))
#define CALL_COOKIE_IS_NIF(c)	((c) >> 32 & 1)
#define EBEAM_CALL_FUNCTIONS	64 /* traced at once */
/* Its Process *; struct enif_environment_t, erts/emulator/beam/global.h, OTP 25 to 29. */
#define BEAM_NIF_ENV_PROC 8

/* Of one function: what its calls must fulfil to be reported (nr = 0: all are), and with what. */
struct call_filter {
	uint32_t nr;
	uint32_t arity;
	uint32_t stack; /* with the stack of its callers */
	uint32_t pad;
	struct call_test tests[CALL_TESTS_MAX];
};

/* Of one kind of event on one CPU. */
struct event_count {
	uint64_t produced; /* that were to be emitted, or that were counted */
	uint64_t lost;	   /* of those: the ring buffer was full */
	/* Where only numbers are wanted, sums of what events tell, see event_fields[]. */
	uint64_t size, ns;
	uint64_t longest_ns; /* the greatest duration */
};

/*
 * The cookie of a probe of events: for its program, and above that which point of the plan it is,
 * whose hits it counts.
 */
#define EVENT_COOKIE_BITS 48
/* Of callbacks of drivers, whose cookie is the driver's address: several drivers have it. */
#define EVENT_COOKIE_SHARED   (1ull << 47)
#define EVENT_COOKIE(c)	      ((c) & ((1ull << EVENT_COOKIE_BITS) - 1))
#define EVENT_COOKIE_POINT(c) ((uint32_t)((c) >> EVENT_COOKIE_BITS))
#define EBEAM_EVENT_POINTS    256

/* What a probe of events did, by its point, on one CPU. */
struct event_work {
	uint64_t hits, ns; /* ns: in its program; 0 without own_times */
	uint64_t since_ns; /* when it was hit */
};

#endif
