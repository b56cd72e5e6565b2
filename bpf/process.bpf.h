/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Emits what user space needs of a process, which may have exited before user space can read it:
 * registered name, initial call, label.  Does so when a process is seen for the first time, and
 * when one of the three has changed. */
#ifndef EBEAM_BPF_PROCESS_H
#define EBEAM_BPF_PROCESS_H

#include "abi/vm.h"
#include "maps.bpf.h"
#include "sample.bpf.h"

/* Time for which dictionary entries of a process are not read again. */
#define PROCESS_RECHECK_NS 50000000ull

/* '$initial_call' is {M, F, A} (proc_lib.erl); A is a small integer there. */
INLINE void read_initial_call(uint64_t term, uint64_t mfa[3])
{
	uint64_t tuple[4];

	if (!TERM_IS_BOXED(term) || !read_user(TERM_ADDR(term), tuple, sizeof(tuple)) ||
	    tuple[0] != HEADER_TUPLE(3))
		return;
	mfa[0] = tuple[1];
	mfa[1] = tuple[2];
	mfa[2] = tuple[3];
}

INLINE bool process_emit(const struct process_view *p, uint64_t ts_ns,
			 const struct process_value *v)
{
	struct rec_raw_process *rec = 0;
	void *rb = ring();

	if (rb)
		rec = bpf_ringbuf_reserve(rb, sizeof(*rec), 0);
	if (!rec) {
		count(COUNTER_RING_FULL);
		return false;
	}
	__builtin_memset(rec, 0, sizeof(*rec));
	rec->h.type = REC_RAW_PROCESS;
	rec->h.size = sizeof(*rec);
	rec->h.ts_ns = ts_ns;
	rec->process = p->addr;
	rec->epid = p->id;
	rec->registered = v->registered;
	rec->label = v->label;
	read_user(p->addr + config.layout.process_initial, rec->initial, sizeof(rec->initial));
	read_initial_call(v->initial_call, rec->initial_call);
	if (TERM_IS_BOXED(v->label) || TERM_IS_LIST(v->label))
		read_user(TERM_ADDR(v->label), rec->label_words, sizeof(rec->label_words));
	bpf_ringbuf_submit(rec, BPF_RB_NO_WAKEUP);
	return true;
}

/* Updates *v; fields that cannot be read keep their values. */
INLINE void process_read_value(const struct process_view *p, struct process_value *v)
{
	uint64_t reg, name = 0, dictionary;

	if (read_u64(p->addr + config.layout.process_reg, &reg) &&
	    (!reg || read_u64(reg + config.layout.regproc_name, &name)))
		v->registered = name;
	/* During a collection the dictionary may point to freed memory. */
	if (p->process_state & PSFLG_GC)
		return;
	if (!read_u64(p->addr + config.layout.process_dictionary, &dictionary))
		return;
	dictionary_get(dictionary, &config.initial_call, &v->initial_call);
	dictionary_get(dictionary, &config.process_label, &v->label);
}

/* True if the process was read less than PROCESS_RECHECK_NS ago. */
INLINE bool process_known(uint64_t epid, uint64_t ts_ns)
{
	struct process_value *v = bpf_map_lookup_elem(&processes, &epid);

	return v && ts_ns - v->checked_ns < PROCESS_RECHECK_NS;
}

INLINE void process_seen(const struct process_view *p, uint64_t ts_ns)
{
	uint64_t key = p->id;
	struct process_value *old = bpf_map_lookup_elem(&processes, &key), now = {};

	/* An exiting process has other data in the place of name and initial call (erl_process.h,
	 * u.terminate and u.release). */
	if (p->process_state & (PSFLG_EXITING | PSFLG_FREE))
		return;
	if (old && ts_ns - old->checked_ns < PROCESS_RECHECK_NS)
		return;
	if (old)
		now = *old;
	/* During a collection not all can be read: 0, so that the next sample reads it again. */
	now.checked_ns = p->process_state & PSFLG_GC ? 0 : ts_ns;
	process_read_value(p, &now);
	/* A term may have moved to an equal copy: emitting it again does no harm.  If the ring is
	 * full the process stays unknown, so that the next sample tries again. */
	if ((!old || old->registered != now.registered || old->initial_call != now.initial_call ||
	     old->label != now.label) &&
	    !process_emit(p, ts_ns, &now))
		return;
	bpf_map_update_elem(&processes, &key, &now, BPF_ANY);
}

#endif
