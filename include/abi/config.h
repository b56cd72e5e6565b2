/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Data for the BPF programs from user space: constants of one node (rodata, set before the
 * load), and values that change during the run (in .bss, written through the mapped section). */
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

/* How a process or port table maps numbers to slots (erl_ptab.h): to convert the numbers in an
 * identifier's text to its term and its struct. */
struct id_table {
	uint64_t slots; /* address of the array; 0 = unknown */
	uint64_t pix_mask, cl_mask, cli_mask;
	uint32_t cl_shift, cli_shift;
	uint32_t number_bits; /* of a pid; higher bits of data are its serial */
	uint32_t whole_word;  /* OTP 26 and later: the term holds slot data in 60 bits */
};

/* The process that an event must be about; 0 = any.  epid and name are not both set. */
struct event_who {
	uint64_t epid;	  /* raw term */
	uint64_t name;	  /* atom: registered name at the time of the event */
	uint64_t call[3]; /* initial call, behind proc_lib: module, function (atoms), arity */
};

/* BPF helpers that this kernel has (1) or lacks (0).  Programs have a second way for each
 * (src/probe/kernel/kernel.h).  The verifier removes the branch that is not taken, so a kernel
 * without a helper never sees its call. */
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
	uint64_t literal_area;	 /* address of the VM's pointer to the literal area that is being
				* collected; 0 = unknown */
	struct dictionary_key initial_call;  /* '$initial_call' */
	struct dictionary_key process_label; /* '$process_label', OTP 27 and later */
	uint64_t event_kinds;		     /* bit set of enum event_kind: kinds to emit */
	uint64_t event_epid;		     /* only events of this process; 0 = all */
	struct event_who event_who; /* only events of processes with this name or initial call */
	/* Required sender and receiver of a message; their initial calls are not used. */
	struct event_who message_from, message_to;
	uint64_t proc_lib;	    /* atom proc_lib: its processes have '$initial_call' instead */
	uint64_t gc_longer_than_ns; /* only collections that took longer; 0 = all */
	uint64_t longer_than_ns;    /* threshold of long_gc and long_schedule */
	uint64_t usdt_kinds;	    /* subset of event_kinds: kinds that USDT probes give */
	struct id_table processes, ports;
	uint32_t event_stacks;		 /* emit the Erlang stack ahead of each event */
	uint32_t keep_returns;		 /* stack walks need return addresses that probes replace */
	uint32_t otp;			 /* release */
	uint32_t c_stack;		 /* no native stack: JIT code runs on the C stack */
	uint32_t interpreted;		 /* no JIT: the emu flavour */
	uint32_t call_words, call_depth; /* limits for copied terms of a call */
	uint32_t chosen;		 /* events of some processes only are wanted */
	uint32_t counting;	/* no records of events: only counts, see struct event_count */
	uint32_t count_sums;	/* with `counting`: also sums of sizes and durations */
	uint32_t own_hits;	/* programs count hits of their probes; 0 = the kernel does */
	uint32_t own_times;	/* programs measure their run times, too */
	uint32_t inet_received; /* offset of recv_oct in inet_descriptor; 0 = not known */
	uint32_t unnamed;	/* neither names of processes nor contents of terms are needed */
	uint32_t native_stacks; /* with the stack of an event that of its C code */
	uint32_t libc_sampled;	/* of libc_alloc one in state.libc_every bytes; 0 = each */
	uint32_t libc_frees;	/* libc_alloc of what is freed, too */
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
	uint32_t code_generation; /* incremented by the code probe: sites are classified anew */
	struct address_range jit[EBEAM_JIT_RANGES];
	/* ns that two probes at entry and return of a function add to the time between them. */
	uint64_t pair_ns;
	/* Bytes of thread data between the end of the stack and the thread pointer; 0 = not known
	 * yet. */
	uint64_t thread_data;
	uint64_t threads_known; /* all schedulers are in the map of threads */
	uint64_t libc_every;	/* a power of 2; may change during the run */
	/* Times off a CPU: of shorter ones than least_ns only some are emitted (struct
	 * rec_raw_off_cpu); of each class some so many are copied in OFF_CPU_WINDOW_NS of a CPU. */
	uint64_t off_least_ns;
	uint32_t off_copies;
	uint32_t off_classes; /* bit set of enum off_cpu_class: others are not recorded */
};
#define OFF_CPU_WINDOW_NS 50000000ull
/* Classes of times off a CPU that differ in number and length: so a flood of one class does not
 * thin out the others. */
enum off_cpu_class {
	OFF_CPU_CLASS_PREEMPTED,
	OFF_CPU_CLASS_YIELDED,
	OFF_CPU_CLASS_FUTEX,
	OFF_CPU_CLASS_OTHER,
	NR_OFF_CPU_CLASSES
};

/* Sums of a thread's times off a CPU, all of them, ns. */
struct off_cpu_sums {
	uint64_t idle_ns;     /* asleep: a scheduler without work, a thread that polls */
	uint64_t blocked_ns;  /* other waits in the kernel */
	uint64_t runnable_ns; /* without a CPU: preempted, or woken */
	uint64_t woken_ns;    /* of runnable_ns: after idle times */
	uint64_t idle;	      /* how often */
	uint64_t times;	      /* other times, of all classes */
	uint64_t copied;      /* of these */
};
/* The thread's current time off a CPU; since_ns 0: it is on one. */
#define OFF_CPU_IDLE   0x100u /* beside OFF_CPU_* of abi/record.h */
#define OFF_CPU_COPIED 0x200u
struct off_cpu_now {
	uint64_t since_ns, woken_ns, epid, port_id, waker_epid;
	uint32_t syscall, every, flags, pad;
};
/* An element of the map of threads begins with it. */
struct off_thread_head {
	uint64_t copied_ns; /* when it was last copied */
	uint64_t esdp;	    /* ErtsSchedulerData of the thread; 0 = not known yet */
	uint64_t ssi;	    /* its ErtsSchedulerSleepInfo; 0 = not known yet */
	struct off_cpu_now now;
	struct off_cpu_sums sums;
};

/* Kinds that are enabled now.  A kind gets a new epoch each time it is enabled, so that the return
 * of a function is not paired with an entry from before its probes were disabled. */
#define EBEAM_EVENT_KINDS 64
struct event_switches {
	uint64_t kinds; /* bit set of enum event_kind */
	uint32_t epoch[EBEAM_EVENT_KINDS];
};
_Static_assert(EBEAM_EVENT_KINDS == 8 * sizeof(uint64_t), "kinds are bits of a word");

/* What is known of a thread; the key is its thread pointer (fs base). */
struct thread_info {
	uint64_t esdp;	    /* ErtsSchedulerData */
	uint64_t registers; /* ErtsSchedulerRegisters; on the C stack of a normal scheduler */
	uint16_t scheduler; /* 1.. within its type */
	uint8_t type;	    /* enum thread_type */
	uint8_t pad[5];
};

/* Meaning of an address with a breakpoint. */
struct call_point {
	uint32_t point; /* number of the function */
	uint32_t kind;	/* enum call_kind: an entry, or a return site */
	uint32_t arity;
	uint32_t pad;
};
#define EBEAM_BREAKPOINTS 4 /* debug address registers of x86-64 */
/* Key of the map of hits: the site of a breakpoint, and a thread.  If the map is full, neither
 * times nor numbers of hits are known of a further thread. */
struct call_site_thread {
	uint64_t addr;
	uint32_t os_tid;
	uint32_t pad;
};
#define BEAM_CONTEXT_REDS 4000 /* reductions of a time slice; erl_vm.h of OTP 25 to 29 */
/* When a thread hit an entry, by two clocks that stop while the thread does not run. */
struct call_moment {
	uint64_t on_ns;	     /* since its perf event was enabled; includes the cost of hits */
	uint64_t reductions; /* of the scheduler, from an arbitrary start; 0 = unknown */
};
struct call_site_hit {
	uint64_t last_ns;		/* time of the last hit; 0 = not hit yet */
	uint64_t nr;			/* the perf event's counter at the last hit */
	struct call_moment first, last; /* first and last hit of the current perf event */
};
#define EBEAM_CALL_SITE_HITS 4096

/* The cookie of a probe on a C function that Erlang code calls. */
#define CALL_COOKIE(point, nif) ((uint64_t)(point) | (uint64_t)(nif) << 32)
#define CALL_COOKIE_POINT(c)	((uint32_t)(c))
#define CALL_COOKIE_IS_NIF(c)	((c) >> 32 & 1)
#define EBEAM_CALL_FUNCTIONS	64 /* traced at once */
/* Offset of the Process * in struct enif_environment_t (ErlNifEnv), erts/emulator/beam/global.h of
 * OTP 25 to 29. */
#define BEAM_NIF_ENV_PROC 8

/* Conditions for calls of one function to be reported (nr = 0: none), and what is reported. */
struct call_filter {
	uint32_t nr;
	uint32_t arity;
	uint32_t stack; /* with the stack of the callers */
	uint32_t pad;
	struct call_test tests[CALL_TESTS_MAX];
};

/* Counts of one kind of event on one CPU. */
struct event_count {
	uint64_t produced; /* events to be emitted, or counted */
	uint64_t lost;	   /* of these, lost as the ring buffer was full */
	/* If only counts are needed: sums of fields, see event_fields[].  Of libc_alloc, if it is
	 * sampled: bytes and number of all allocations. */
	uint64_t size, ns;
	uint64_t longest_ns; /* the greatest duration */
};

/* The cookie of an event's probe: the low EVENT_COOKIE_BITS are a value for its program, the bits
 * above it are the index of its point in the plan, by which hits are counted. */
#define EVENT_COOKIE_BITS 48
/* Flag in the cookie of a driver's callback, whose value is the address of the driver: several
 * drivers share the callback. */
#define EVENT_COOKIE_SHARED   (1ull << 47)
#define EVENT_COOKIE(c)	      ((c) & ((1ull << EVENT_COOKIE_BITS) - 1))
#define EVENT_COOKIE_POINT(c) ((uint32_t)((c) >> EVENT_COOKIE_BITS))
#define EBEAM_EVENT_POINTS    256

/* Hits and run time of a probe of events, by point and CPU. */
struct event_work {
	uint64_t hits, ns; /* ns: run time of the program; 0 without own_times */
	uint64_t since_ns; /* time of the last hit */
};

#endif
