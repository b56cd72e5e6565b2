/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Records: the one format of all data, from the BPF ring buffers to the capture file.  Little
 * endian, 8-byte aligned, self-delimiting; unknown types are skipped by size.
 *
 * Types below 32 are raw: addresses and terms as they were in the node at one instant.  The
 * enricher converts them to the others: definitions (each precedes its first use) and events that
 * refer to them.  Only those reach the model and the capture.
 *
 * Vocabulary: os_pid and os_tid are the kernel's, epid is an Erlang process identifier as a raw
 * term, mfa = module, function, arity; *_ns = CLOCK_MONOTONIC nanoseconds; *_len = elements, *_size
 * = bytes; ids are dense, start at 1, and 0 means "none".
 */
#ifndef EBEAM_ABI_RECORD_H
#define EBEAM_ABI_RECORD_H

#ifndef __bpf__
#include <stdint.h>
#endif

#include "abi/event_words.h"

#define EBEAM_MAX_RECORD_SIZE 65528u /* bytes, header included; a multiple of 8 */

enum rec_type {
	/* raw, from BPF */
	REC_RAW_SAMPLE = 1,
	REC_RAW_PROCESS = 2,
	REC_RAW_CODE = 3,
	REC_RAW_CSTACK = 4,
	REC_RAW_EVENT = 5,
	REC_RAW_COVERAGE = 6, /* not from BPF: from the overhead controller */
	REC_RAW_CALL = 7,
	REC_RAW_GAP = 8,
	REC_RAW_OFF_CPU = 9,
	/* definitions */
	REC_META = 32,
	REC_STRING = 33,
	REC_FUNCTION = 34,
	REC_FRAME = 35,
	REC_STACK = 36,
	REC_PROCESS = 37,
	REC_THREAD = 38,
	/* events */
	REC_SAMPLE = 64,
	REC_COUNTER = 65,
	REC_END = 66,
	REC_EVENT = 67,
	REC_COVERAGE = 68,
	REC_CALL = 69,
	REC_SCHEDULER = 70,
};

/* Flag of a raw record that arrived after newer ones had been passed on: its time was replaced by
 * that of the newest of them. */
#define REC_LATE 1

struct rec_header {
	uint16_t type;	/* enum rec_type */
	uint16_t flags; /* REC_LATE; else 0 */
	uint32_t size;	/* bytes of the whole record, header included, multiple of 8 */
	uint64_t ts_ns; /* 0 in definitions */
};

/* ---- raw ------------------------------------------------------------------------------------- */

enum thread_type {
	THREAD_UNKNOWN = 0,
	THREAD_NORMAL = 1,    /* scheduler */
	THREAD_DIRTY_CPU = 2, /* dirty CPU scheduler */
	THREAD_DIRTY_IO = 3,  /* dirty IO scheduler */
	THREAD_OTHER = 4,     /* aux, poll, async, driver and NIF threads */
};

/* What code the user-mode instruction pointer was in. */
enum code_place {
	PLACE_OTHER = 0,       /* C code, no current process */
	PLACE_JIT = 1,	       /* in JIT code, Erlang stack pointer in rsp */
	PLACE_JIT_RUNTIME = 2, /* in JIT code, already or still on the C stack */
	PLACE_C_FROM_JIT = 3,  /* in C code that JIT code called */
	PLACE_C_PROCESS =
		4, /* in C code with a process current, not called from JIT code (dirty) */
	PLACE_INTERPRETER = 5, /* in the emulator loop of the emu flavour (no JIT); the stack is as
				* it was when Process.stop was last stored */
};

/* How the Erlang stack pointer was found. */
enum stack_source {
	STACK_NONE = 0,
	STACK_RSP = 1,	 /* the register */
	STACK_STOP = 2,	 /* Process.stop, stored by the call site */
	STACK_SAVED = 3, /* the register that the call site saved, found on the C stack */
	STACK_LAST = 4,	 /* Process.stop of an earlier store, by a BIF, a NIF or the collector */
};

#define RAW_SAMPLE_KERNEL    0x1u /* the sample interrupted the kernel */
#define RAW_SAMPLE_REGS	     0x2u /* user registers were available */
#define RAW_SAMPLE_ROOT_PART 0x4u /* nr_root frames follow nr_leaf, skipped_words between them */
#define RAW_SAMPLE_EVENT     0x8u /* not a sample: the stack of the event that comes next */
/* A system task or signal is handled while a literal area is collected. */
#define RAW_SAMPLE_LITERALS 0x10u
/* Not of a CPU: the thread as it left its CPU; a REC_RAW_OFF_CPU with its time and thread
 * follows. */
#define RAW_SAMPLE_OFF_CPU 0x20u

/*
 * One sample.  addrs[] = kernel frames (leaf first), then Erlang return addresses (leaf first, as
 * on the stack), then the root part (ROOT first).  Addresses of Erlang frames are return addresses:
 * look up addr - 1.  A word counts as a return address by its tag and by the hull of the JIT's
 * mappings; user space drops those outside the mappings themselves.  In the leaf part a word with
 * RAW_REPEATED says how many times more the address before it stands there, as recursion does it.
 */
#define RAW_LOCK_FUTEX	 0xff
#define RAW_REPEATED	 (1ull << 63)
#define RAW_REPEATED_MAX UINT32_MAX

struct rec_raw_sample {
	struct rec_header h;
	uint32_t cpu;
	uint32_t os_tid;
	uint64_t user_ip;	 /* 0 if unknown */
	uint64_t call_ra;	 /* return address into JIT code of the running C function, or 0 */
	uint64_t process;	 /* address of struct process, or 0 */
	uint64_t epid;		 /* raw term, or 0 */
	uint64_t current_mfa[3]; /* Process.current: module, function (atoms), arity; 0 if NULL */
	uint64_t light_bif; /* TMP_MEM2: Export of a light BIF while call_ra is in its fragment */
	uint64_t port_id;   /* raw term of the port whose task runs, or 0 */
	/* Word on top of the Erlang stack at a call from a fragment, whatever it is; on a dirty
	 * scheduler Process.i, where the process will continue. */
	uint64_t saved_ra;
	uint32_t process_state; /* Process.state bits */
	uint32_t process_flags; /* Process.flags bits */
	uint32_t skipped_words; /* stack words between leaf and root part that were not walked */
	uint32_t walked_words;	/* stack words that were walked */
	uint32_t sleep_flags;	/* ErtsSchedulerSleepInfo.flags, read if no process is current */
	uint32_t syscall;	/* of an off-CPU sample: number of the system call + 1; 0 = none */
	uint16_t scheduler;	/* 1.. within its thread_type, 0 = none */
	uint16_t nr_kernel;
	uint16_t nr_leaf; /* words of addrs[], RAW_REPEATED ones included */
	uint16_t nr_root;
	uint16_t skipped_frames; /* walked but over the limit, exact unless skipped_words > 0 */
	uint8_t thread_type;	 /* enum thread_type */
	uint8_t place;		 /* enum code_place */
	uint8_t stack_source;	 /* enum stack_source */
	uint8_t status;		 /* enum sample_status */
	uint8_t flags;		 /* RAW_SAMPLE_* */
	uint8_t lock_nr;	 /* of lock_epid: number of its lock; or RAW_LOCK_FUTEX */
	/* Off a CPU, in a futex: address of the lock of the VM in whose queue the thread is, and
	 * the process whose lock it is, or 0; or address of the futex, which may be a lock. */
	uint64_t lock, lock_epid;
	uint64_t addrs[];
};

/* An Erlang process that is seen for the first time, or whose name or label has changed. */
#define RAW_LABEL_WORDS 8
struct rec_raw_process {
	struct rec_header h;
	uint64_t process; /* address of struct process */
	uint64_t epid;
	uint64_t registered;	  /* atom term, or 0 */
	uint64_t initial[3];	  /* Process.u.initial: module, function, arity; 0 if unreadable */
	uint64_t initial_call[3]; /* '$initial_call' in the dictionary: m, f (atoms), a (small); or
				     0 */
	uint64_t label;		  /* '$process_label' in the dictionary: term, or 0 */
	uint64_t label_words[RAW_LABEL_WORDS]; /* the words a boxed or list label points to */
};

/*
 * The C stack of a sample in C code, to be unwound by user space; it comes right before its sample,
 * with the same time and thread.  stack[] = the words from sp on.  If the stack is larger, or has
 * pages that were never written (they cannot be read): its two ends.  What lies between them may
 * be a single frame: PCRE2 has one of 20 KiB.
 */
#define RAW_CSTACK_WORDS 1024
#define RAW_CSTACK_LEAF	 512
struct rec_raw_cstack {
	struct rec_header h;
	uint32_t os_tid;
	uint16_t nr_stack; /* words, <= RAW_CSTACK_WORDS */
	uint16_t nr_leaf;  /* words of stack[] that are contiguous, from sp on */
	uint64_t root;	   /* address of stack[RAW_CSTACK_LEAF], if nr_leaf is not nr_stack */
	uint64_t ip, sp, bp, bx, r12;
	/* End of the stack of a call from JIT code: frame address of the called function, and its
	 * return address in JIT code.  0: the stack ends where the thread began. */
	uint64_t end, call_ra;
	uint64_t stack[RAW_CSTACK_WORDS]; /* the record ends after nr_stack words */
};

/* Comes right before a sample whose Erlang stack pointer is one of several candidates: user space
 * finds out which by unwinding the C stack to the call from JIT code.  gap[] = words of the Erlang
 * stack from `low` (the lowest candidate) on; the sample's leaf part starts at `high`. */
#define RAW_GAP_WORDS 256
struct rec_raw_gap {
	struct rec_header h;
	uint32_t os_tid;
	uint32_t nr_gap; /* words, <= RAW_GAP_WORDS; up to a few words above `high` */
	uint64_t low, high;
	uint64_t gap[RAW_GAP_WORDS]; /* the record ends after nr_gap words */
};

/*
 * A thread is on a CPU again, at h.ts_ns; the raw sample before it, with its time and thread, is as
 * the thread left its CPU.  Of times shorter than least_ns one in `every` was copied, and of these
 * each was emitted with the probability (length * every / least_ns), if that is less than 1.  All
 * longer ones are emitted, with OFF_CPU_ALONE if they were not copied: then there is no sample.  Of
 * yields, one in `every` is emitted however long they are.
 */
#define OFF_CPU_PREEMPTED 0x1u /* it was runnable all the time: its CPU was taken by others */
#define OFF_CPU_YIELDED	  0x2u /* likewise, and it gave its CPU away by sched_yield() */
#define OFF_CPU_GOES_ON	  0x4u /* it is still off: up to the end of the recording */
#define OFF_CPU_ALONE	  0x8u
struct rec_raw_off_cpu {
	struct rec_header h;
	uint32_t os_tid;
	uint32_t flags;	   /* OFF_CPU_* */
	uint32_t syscall;  /* as in rec_raw_sample */
	uint32_t every;	   /* 0 = it was not copied */
	uint64_t since_ns; /* when it left its CPU */
	uint64_t woken_ns; /* when it became runnable; 0 = not seen */
	uint64_t least_ns;
	uint64_t epid;	  /* of the process that the thread ran, or 0 */
	uint64_t port_id; /* of the port whose task it ran, or 0 */
	/* If it was copied: of the process that ran on the thread of the node that woke it by a
	 * futex, or 0. */
	uint64_t waker_epid;
};

enum code_action { CODE_LOADED = 1, CODE_UNLOADED = 2 };

/* The JIT code descriptor has changed; record_size bytes of the module's record follow. */
struct rec_raw_code {
	struct rec_header h;
	uint32_t action; /* enum code_action */
	uint32_t copied; /* bytes of the record that follow (0 .. EBEAM_CODE_BYTES) */
	uint64_t entry;	 /* address of the jit_code_entry */
	uint64_t record; /* address of the module's record */
	uint64_t record_size;
	uint8_t bytes[];
};

/* ---- events of the VM: the catalogue --------------------------------------------------------- */

/* Numbers of kinds in raw records, valid for one run; captures have names instead. */
enum event_kind {
#define EVENT(kind, name, group, summary, differs) EVENT_##kind,
#define EVENT_FIELD(kind, field, name, type)
#include "abi/catalogue.def"
#undef EVENT
#undef EVENT_FIELD
	NR_EVENT_KINDS
};

/* Calls of C functions (BIFs, NIFs) as a bit of a set of kinds: not in the catalogue, but their
 * probes are enabled and disabled like those of events. */
#define EVENT_CALLS	 63
#define EVENT_CALLS_NAME "calls" /* in rec_coverage.kind: calls of C functions */
/* In rec_coverage.kind: a gap in the returns of calls.  `work` is the address of a return site
 * (0 = all sites), `missed` is a time: after it, and up to the time of the record, returns to the
 * site in thread os_tid (0 = any thread) may not have been seen. */
#define EVENT_CALL_GAPS_NAME "call_gaps"

/* Type of a value: in a raw record | in REC_EVENT. */
enum event_field_type {
	FIELD_PID,  /* term | process id; 0 unless it is a local pid */
	FIELD_PORT, /* term | string id: "#Port<0.5>" */
	FIELD_ATOM, /* term | string id: the atom's text */
	FIELD_TERM, /* term, what it points to in blocks[] | string id: Erlang text */
	FIELD_MFA,  /* module, function, arity (three words) | function id */
	FIELD_CODE, /* address in code | function id */
	FIELD_TEXT, /* EVENT_TEXT_WORDS words of characters | string id */
	FIELD_WORD, /* enum event_word | string id */
	/* address of an allocator's name without suffix, "eheap_" | string id: "eheap_alloc" */
	FIELD_ALLOCATOR,
	FIELD_STRING, /* string id of a text that user space has read | string id */
	FIELD_WORDS,  /* words of memory; this and all below are numbers */
	FIELD_BYTES,  /* bytes of memory */
	FIELD_COUNT,  /* a number */
	FIELD_NS,     /* nanoseconds */
	NR_FIELD_TYPES
};

#define EVENT_MAX_FIELDS 12
#define EVENT_TEXT_WORDS 4		       /* 32 bytes, NUL terminated if shorter */
#define EVENT_UNKNOWN	 0xffffffffffffffffull /* of a number: not known */

/* Copy of words that a list or boxed term points to.  blocks[] of a record first has those of the
 * event's own terms, then those that the copied words point to, breadth first. */
#define EVENT_BLOCK_WORDS 8
#define EVENT_BLOCKS	  32
struct term_block {
	uint64_t addr; /* of words[0] */
	uint64_t term; /* the list or boxed term */
	uint64_t words[EVENT_BLOCK_WORDS];
};

#define EVENT_RAW_WORDS 12   /* words of values; fields are adjacent, some have several words */
#define RAW_EVENT_STACK 0x1u /* a raw sample with its time and thread has its stack */
#define RAW_EVENT_TEXT	0x2u /* blocks[] has the text of its MFA, NUL terminated */
/* The stack is of an earlier moment: its leaf is where the process was then, not FIELD_CODE. */
#define RAW_EVENT_BEFORE 0x4u
/* Blocks of the text of an MFA, and bytes of text in each before its NUL.  The VM's text has up to
 * 256 bytes (DTRACE_TERM_BUF_SIZE of dtrace-wrapper.h). */
#define EVENT_TEXT_BLOCKS 4
#define EVENT_TEXT_BLOCK  63

struct rec_raw_event {
	struct rec_header h;
	uint32_t cpu;
	uint32_t os_tid;
	uint16_t kind;			  /* enum event_kind */
	uint16_t flags;			  /* RAW_EVENT_* */
	uint16_t nr_values;		  /* words, <= EVENT_RAW_WORDS */
	uint16_t nr_blocks;		  /* <= EVENT_BLOCKS */
	uint64_t epid;			  /* raw term of the process that it is about, or 0 */
	uint64_t values[EVENT_RAW_WORDS]; /* without blocks the record may end after nr_values */
	struct term_block blocks[];
};

/* A copy of terms from the node's memory, made at one instant: a sequence of segments, each of
 * TERM_SEGMENT_HEAD words (address, TERM_SEGMENT_META) and the words copied from that address.
 * What a word points to is in a later segment, breadth first, or missing if there was no room. */
#define TERM_SEGMENT_HEAD  2
#define TERM_SEGMENT_WORDS 64	/* at most */
#define TERM_COPY_WORDS	   2048 /* of all segments, with their heads */
enum term_segment_kind {
	TERM_SEGMENT_TERMS = 0, /* each word is a term */
	TERM_SEGMENT_BOXED = 1, /* the first word is a header, the others are terms */
	TERM_SEGMENT_CELLS = 2, /* cells of a list, which begins at the word `first` */
	TERM_SEGMENT_RAW = 3,	/* no terms */
};
#define TERM_SEGMENT_META(nr, kind, depth, first)                                                  \
	((uint64_t)(nr) | (uint64_t)(kind) << 16 | (uint64_t)(first) << 24 |                       \
	 (uint64_t)(depth) << 32)
#define TERM_SEGMENT_NR(meta)	 ((uint32_t)(meta)&0xffff)
#define TERM_SEGMENT_KIND(meta)	 ((uint32_t)((meta) >> 16) & 0xff)
#define TERM_SEGMENT_FIRST(meta) ((uint32_t)((meta) >> 24) & 0xff)
#define TERM_SEGMENT_DEPTH(meta) ((uint32_t)((meta) >> 32))

enum call_kind { CALL_KIND_CALL, CALL_KIND_RETURN, NR_CALL_KINDS };

/* A call of a traced function, or its end; followed by `used` words of segments. */
#define RAW_CALL_STACK	 0x1u /* a raw sample with its time and thread has its stack */
#define RAW_CALL_GOES_ON 0x2u /* as CALL_GOES_ON */
struct rec_raw_call {
	struct rec_header h;
	uint32_t cpu;
	uint32_t os_tid;
	uint32_t kind;	   /* enum call_kind */
	uint32_t point;	   /* number of the traced function, given by user space */
	uint64_t epid;	   /* raw term of the process */
	uint64_t terms;	   /* address of the arguments, or of the result */
	uint64_t caller;   /* return address; 0 = unknown */
	uint64_t outer;	   /* of a BIF: return address on top of the stack of Erlang code */
	uint64_t height;   /* words of the stack below the return address: identifies the call */
	uint32_t nr_terms; /* arguments; 1 for a return */
	uint32_t used;	   /* words of segments, <= TERM_COPY_WORDS */
	uint32_t cut;	   /* 1: the copy was truncated by the limits */
	uint32_t flags;	   /* RAW_CALL_* */
	uint64_t addr;	   /* address of the breakpoint; 0: a C function was called */
	uint64_t slice;	   /* reductions before this slice of the process, + 1; 0 = unknown */
	uint64_t words[];
};

/* Like rec_coverage, for several kinds. */
struct rec_raw_coverage {
	struct rec_header h;
	uint64_t kinds; /* bit set of enum event_kind */
	uint32_t state; /* enum coverage_state */
	uint32_t share_ppm;
	uint64_t work, missed;
};

/* ---- definitions ----------------------------------------------------------------------------- */

/* key and value follow, not NUL terminated. */
struct rec_meta {
	struct rec_header h;
	uint32_t key_size;
	uint32_t value_size;
	char bytes[];
};

struct rec_string {
	struct rec_header h;
	uint32_t id;
	uint32_t string_size;
	char bytes[]; /* UTF-8 */
};

enum frame_kind {
	FRAME_ERLANG = 0,  /* module:name/arity */
	FRAME_BIF = 1,	   /* module:name/arity, implemented in C in the VM */
	FRAME_NIF = 2,	   /* module:name/arity, implemented in C in a library */
	FRAME_NATIVE = 3,  /* module = object file, name = symbol or object+0xoffset */
	FRAME_KERNEL = 4,  /* name = kernel symbol */
	FRAME_RUNTIME = 5, /* shared fragment of the JIT: name */
	FRAME_ELIDED = 6,  /* [... N frames ...] or the like: frames not shown */
	FRAME_STATE = 7, /* what a thread did, if it ran no Erlang code: [poll], [scheduler], ... */
};

/* Where the name of a native function comes from. */
enum symbol_source {
	SYMBOL_SOURCE_NONE = 0, /* no name, no native function, or a capture of before */
	SYMBOL_SOURCE_SYMTAB = 1,
	SYMBOL_SOURCE_DYNSYM = 2,     /* exported, of a file without .symtab */
	SYMBOL_SOURCE_DEBUG_FILE = 3, /* symbols of another file of the same build */
	SYMBOL_SOURCE_PLT = 4,	      /* a stub, named after what it calls */
	SYMBOL_SOURCE_IMPORT = 5,     /* by which the emulator imports it (IFUNC) */
	SYMBOL_SOURCE_REFERENCE = 6,  /* equal code in a build with symbols (code_match.h) */
	SYMBOL_SOURCE_PROBE = 7,      /* found for a probe, by what its code does */
	NR_SYMBOL_SOURCES
};

struct rec_function {
	struct rec_header h;
	uint32_t id;
	uint32_t module; /* string id: atom text without quotes, or object file name; 0 = none */
	uint32_t name;	 /* string id */
	int32_t arity;	 /* -1 = none */
	uint32_t kind;	 /* enum frame_kind */
	uint32_t symbol_source; /* enum symbol_source */
};

struct rec_frame {
	struct rec_header h;
	uint32_t id;
	uint32_t function; /* function id */
	uint32_t file;	   /* string id, 0 = unknown */
	uint32_t line;	   /* 0 = unknown */
};

/* A stack is its leaf frame plus the stack of its callers: a prefix tree. */
struct rec_stack {
	struct rec_header h;
	uint32_t id;
	uint32_t parent; /* stack id of the callers, 0 = frame is the root; parent < id */
	uint32_t frame;	 /* frame id */
	uint32_t pad;
};

/* What was known of a process when it was sampled; a change makes a new id. */
struct rec_process {
	struct rec_header h;
	uint32_t id;
	uint32_t pid;	       /* string id: "<0.80.0>" */
	uint32_t registered;   /* string id: atom text, 0 = none */
	uint32_t label;	       /* string id: label as Erlang text, 0 = none */
	uint32_t initial_call; /* function id, 0 = unknown; the real one behind proc_lib */
	uint32_t pad;
	uint64_t epid;
};

struct rec_thread {
	struct rec_header h;
	uint32_t id;
	uint32_t os_tid;
	uint16_t type;	    /* enum thread_type */
	uint16_t scheduler; /* 1.. within its type, 0 = none */
	uint32_t name;	    /* string id: kernel's name of the thread */
};

/* ---- events ---------------------------------------------------------------------------------- */

/* What the thread was doing; modelled on the states of microstate accounting. */
enum sample_kind {
	SAMPLE_ERLANG = 0,
	SAMPLE_BIF = 1,
	SAMPLE_NIF = 2,
	SAMPLE_GC = 3,
	SAMPLE_PORT = 4,
	SAMPLE_COPY = 5, /* copying message terms */
	SAMPLE_ETS = 6,
	SAMPLE_TIMER = 7,
	SAMPLE_CODE = 8, /* loading code */
	SAMPLE_SCHEDULER = 9,
	SAMPLE_POLL = 10,
	SAMPLE_WAIT = 11,  /* idle: spinning or going to sleep */
	SAMPLE_OTHER = 12, /* threads that are not schedulers */
	/* Of processes off schedulers: weights of `record --mode wait`. */
	SAMPLE_WAITING = 13,  /* for a message, a timer, a signal */
	SAMPLE_RUNNABLE = 14, /* for a scheduler; also in --mode wall */
	/* Of all processes: weights of `record --mode wall`. */
	SAMPLE_RUNNING = 15,	     /* on a scheduler, also a dirty one */
	SAMPLE_WAITING_RECEIVE = 16, /* in a receive without `after`, or for an answer */
	SAMPLE_WAITING_TIMER = 17,   /* in any other receive with `after` */
	SAMPLE_WAITING_PORT = 18,    /* in a receive for the reply of a port */
	SAMPLE_WAITING_DIRTY = 19,   /* for a dirty scheduler */
	SAMPLE_SUSPENDED = 20,	     /* by a busy port or connection, or erlang:suspend_process/1 */
	SAMPLE_HIBERNATING = 21,
	SAMPLE_EXITING = 22,
	/* Work for others in a process: handling signals, purging code, ... */
	SAMPLE_TASK = 23,
	SAMPLE_LITERAL_GC = 24, /* as SAMPLE_TASK, while a literal area is collected */
	/* By names of C functions, or of the BIF; without them a sample has a more general kind. */
	SAMPLE_FULL_GC = 25,	 /* full sweep; SAMPLE_GC: other collections, or not known */
	SAMPLE_LOCK = 26,	 /* taking or releasing a lock, spinning for it */
	SAMPLE_ALLOC = 27,	 /* allocators, not on behalf of one of the other kinds */
	SAMPLE_TERM_FORMAT = 28, /* external term format, also for distribution */
	SAMPLE_REGEXP = 29,
	SAMPLE_BINARY = 30, /* BIFs and helpers of binaries */
	/* Of threads off CPUs: weights of `record --mode offcpu`.  Blocked, in the queue of a lock:
	 */
	SAMPLE_OFF_LOCK_ETS = 31,
	SAMPLE_OFF_LOCK_PROCESS = 32,
	SAMPLE_OFF_LOCK_PORT = 33,
	SAMPLE_OFF_LOCK_ALLOC = 34,
	SAMPLE_OFF_LOCK_CODE = 35,
	SAMPLE_OFF_LOCK_DIST = 36,
	SAMPLE_OFF_LOCK = 37,	  /* any other */
	SAMPLE_OFF_PROGRESS = 38, /* for other threads to make progress, or to stop */
	SAMPLE_OFF_FILE = 39,
	SAMPLE_OFF_NETWORK = 40,
	SAMPLE_OFF_PIPE = 41,
	SAMPLE_OFF_FAULT = 42,	/* a page to be read or made */
	SAMPLE_OFF_MEMORY = 43, /* mmap() and its like */
	SAMPLE_OFF_SLEEP = 44,
	SAMPLE_OFF_FUTEX = 45, /* as of pthread_cond_wait(), not of a lock of the VM */
	SAMPLE_OFF_POLL = 46,
	SAMPLE_OFF_STOPPED = 47, /* by SIGSTOP or a debugger */
	SAMPLE_OFF_OTHER = 48,
	/* Runnable, but others have the CPU: it was taken away, or has yet to be given. */
	SAMPLE_OFF_PREEMPTED = 49,
	SAMPLE_OFF_WOKEN = 50,
	SAMPLE_OFF_YIELDED = 51, /* by sched_yield(), as who spins for a lock does */
	NR_SAMPLE_KINDS
};

enum sample_status {
#define STATUS(name, json, text) SAMPLE_STATUS_##name,
#include "abi/status.def"
#undef STATUS
	NR_SAMPLE_STATUSES
};

struct rec_sample {
	struct rec_header h;
	uint32_t process; /* process id, 0 = none */
	uint32_t stack;	  /* stack id, 0 = empty */
	uint32_t thread;  /* thread id */
	uint32_t weight;  /* low 32 bits: samples that this one stands for, or ns, bytes, words */
	uint8_t kind;	  /* enum sample_kind */
	uint8_t status;	  /* enum sample_status */
	uint16_t pad;
	uint32_t weight_high; /* high 32 bits of the weight */
};

/* An event of the VM.  Values are those of its fields, in the order of the catalogue; another
 * version may have written fewer or more.  Where a value is not known, ids are 0 and numbers are
 * EVENT_UNKNOWN. */
struct rec_event {
	struct rec_header h;
	uint32_t kind;	  /* string id: name in catalogue.def */
	uint32_t process; /* process id, 0 = none */
	uint32_t thread;  /* thread id */
	uint32_t stack;	  /* stack id, 0 = none */
	uint32_t cpu;
	uint8_t status; /* enum sample_status, of the stack */
	uint8_t nr_values;
	uint16_t pad;
	uint64_t values[];
};

/* Whether the probes of a kind of event are enabled from the time of the record on, as throttling
 * may disable them for a while.  Kinds without such a record are watched all the time. */
enum coverage_state {
	COVERAGE_OFF = 0,
	COVERAGE_ON = 1,
	COVERAGE_DROPPED = 2, /* off for good: too expensive */
	COVERAGE_FAILED = 3,  /* off for good: the probes could not be attached again */
	NR_COVERAGE_STATES
};

/* No share is derived from fewer steps of rec_coverage.work. */
#define COVERAGE_LEAST_STEPS 10000u

struct rec_coverage {
	struct rec_header h;
	uint32_t kind;	    /* string id: name in catalogue.def */
	uint32_t state;	    /* enum coverage_state */
	uint32_t share_ppm; /* estimated share of all events so far that was seen */
	uint32_t os_tid;    /* see EVENT_CALL_GAPS_NAME */
	/*
	 * work: what the node has done since the start, in steps (reductions, or 100 ns of CPU).
	 * missed: steps of these in which the kind was not watched.  The share missed in an
	 * interval is the growth of `missed` divided by that of `work`.  Without a kind (id 0)
	 * only `work` is reported.
	 */
	uint64_t work, missed;
};

/* What one scheduler did in the duration_ns up to ts_ns. */
#define SCHEDULER_UNKNOWN UINT64_MAX
struct rec_scheduler {
	struct rec_header h;
	uint32_t type;	 /* enum thread_type */
	uint32_t number; /* 1.. of its type */
	uint64_t duration_ns;
	/* At work, as the VM measures it; its thread on a CPU; its thread runnable, but without a
	 * CPU.  At most duration_ns each, or SCHEDULER_UNKNOWN. */
	uint64_t working_ns, on_cpu_ns, cpu_wait_ns;
	/* Samples at random moments; samples of these in which the scheduler worked; in which it
	 * ran a process; in which it ran a port task. */
	uint32_t samples, working, process, port;
	/* Samples for which ERTS_PSFLG_GC of the process could be read, and samples of these in a
	 * collection; 0 in captures from before these were recorded. */
	uint32_t gc_samples, gc;
	/* 1: its run queue is suspended at the end, as it is not in schedulers_online, or as
	 * multi-scheduling is blocked.  0 in captures from before this was recorded. */
	uint32_t offline;
	uint32_t reserved;
};

enum counter_id {
#define COUNTER(name, json, text, advice)      COUNTER_##name,
#define COUNTER_USER(name, json, text, advice) COUNTER_##name,
#include "abi/counters.def"
#undef COUNTER
#undef COUNTER_USER
	NR_COUNTERS
};

/* Value of a counter since the start; the last record of a counter has the final value.  Counters
 * have names, not numbers, so that captures of other versions stay readable. */
struct rec_counter {
	struct rec_header h;
	uint32_t name; /* string id: json name of counters.def */
	uint32_t pad;
	uint64_t value;
};

/* The recording ended as intended.  A capture without it was cut short. */
struct rec_end {
	struct rec_header h;
};

#ifndef __bpf__
_Static_assert(sizeof(struct rec_header) == 16, "ABI");
_Static_assert(sizeof(struct rec_raw_sample) == 160, "ABI");
_Static_assert(sizeof(struct rec_raw_process) % 8 == 0, "ABI");
_Static_assert(sizeof(struct rec_raw_code) == 48, "ABI");
_Static_assert(sizeof(struct rec_raw_gap) == 40 + 8 * RAW_GAP_WORDS, "ABI");
_Static_assert(sizeof(struct rec_raw_cstack) == 88 + 8 * RAW_CSTACK_WORDS, "ABI");
_Static_assert(sizeof(struct rec_raw_off_cpu) == 80, "ABI");
_Static_assert(sizeof(struct rec_function) == 40, "ABI");
_Static_assert(sizeof(struct rec_process) == 48, "ABI");
_Static_assert(sizeof(struct rec_thread) == 32, "ABI");
_Static_assert(sizeof(struct rec_sample) == 40, "ABI");
_Static_assert(sizeof(struct rec_counter) == 32, "ABI");
_Static_assert(sizeof(struct rec_raw_event) == 40 + 8 * EVENT_RAW_WORDS, "ABI");
_Static_assert(sizeof(struct rec_event) == 40, "ABI");
_Static_assert(sizeof(struct rec_coverage) == 48, "ABI");
_Static_assert(sizeof(struct rec_scheduler) == 88, "ABI");
_Static_assert(NR_EVENT_KINDS <= EVENT_CALLS && EVENT_CALLS < 64, "kinds are bits of a word");
#endif

/* A call of a traced function, or its end. */
#define CALL_TRUNCATED 0x1u /* arguments or result were larger than the limits */
#define CALL_STACK     0x2u /* `stack` has all callers, not only the last */
#define CALL_ENDS      0x4u /* the end, if there is one, is in the recording */
/* In the record of an end: the C function continued as another function (a trap), or may have, so
 * that the call has not ended yet. */
#define CALL_GOES_ON 0x8u
struct rec_call {
	struct rec_header h;
	uint32_t process, thread;
	uint32_t kind;	   /* enum call_kind */
	uint32_t function; /* function id; 0 in an end: as in the call with this height */
	uint32_t caller;   /* frame of the caller, 0 = unknown */
	uint32_t cpu;
	uint64_t height;    /* of the stack at the call, words: equal in a call and its end */
	uint64_t site;	    /* return site */
	uint32_t flags;	    /* CALL_* */
	uint32_t nr_terms;  /* arguments; 1 for a return */
	uint32_t text_size; /* of bytes[] */
	uint32_t shape;	    /* string: shape of its arguments; 0 = not recorded */
	uint32_t stack;	    /* stack id, of a call: its leaf is the function; 0 = not known */
	uint8_t status;	    /* enum sample_status, of the stack */
	/* Equal in two records of a process if it has not left its scheduler in between (or has
	 * made no call since); 24 bits, 0 = not known. */
	uint8_t slice_high;
	uint16_t slice;
	char bytes[]; /* for each term: size as u32, then Erlang text in UTF-8 */
};

#endif
