/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Events of garbage collection.
 */
#ifndef EBEAM_BPF_EVENT_GC_H
#define EBEAM_BPF_EVENT_GC_H

#include "abi/vm.h"
#include "event_values.bpf.h"

/* ---- garbage collection ---------------------------------------------------------------------- */

/* Finds the scheduler of this thread, at its first collection; false if it cannot be read. */
INLINE bool gc_scheduler(uint64_t process, struct event_thread *t)
{
	uint64_t esdp = 0;
	uint32_t type = 0;

	if (t->esdp)
		return true;
	if (!read_u64(process + config.layout.process_scheduler_data, &esdp) || !esdp ||
	    !read_u32(esdp + config.layout.sched_type, &type))
		return false;
	t->esdp = esdp;
	t->dirty = type != 0;
	return true;
}

/* Number of collections of this scheduler, and words that they reclaimed.  All dirty schedulers
 * share one sum, in a static variable, so for them the words in use are compared instead. */
INLINE void collections(uint64_t process, struct event_thread *t, struct entered_gc *gc)
{
	uint64_t words[2];
	struct part p;

	gc->collections = gc->reclaimed = 0;
	gc->dirty = 1;
	if (!gc_scheduler(process, t) || t->dirty)
		return;
	gc->dirty = 0;
	p = part_of(t->esdp, config.layout.sched_gc_reclaimed, config.layout.sched_gc_count, words,
		    sizeof(words));
	if (part_read(&p)) {
		part_u64(&p, config.layout.sched_gc_count, &gc->collections);
		part_u64(&p, config.layout.sched_gc_reclaimed, &gc->reclaimed);
	}
}

/*
 * Words on the heap of a process since its last collection, which left the high water mark at the
 * top of the heap: those above it, and those in fragments.  Messages that a collection moves to the
 * heap come after its mark, so they count as new.  If the heap was abandoned, as its collection was
 * delayed (delay_garbage_collection(), erl_gc.c of OTP 25 to 29), words above the mark of that heap
 * count, and all of the fragment that is the heap now; from OTP 27 on that mark is in the word
 * after the end of the fragment.
 */
INLINE void gc_read_fresh(uint64_t process, struct entered_gc *gc, uint64_t mark,
			  uint64_t fragments)
{
	uint64_t start = gc->start, top = gc->htop, abandoned = 0, used = gc->heap;

	if (!read_u64(process + config.layout.process_abandoned_heap, &abandoned))
		return;
	if (abandoned) {
		if ((gc->flags & F_ABANDONED_HEAP_USE) &&
		    !read_u64(abandoned + 8 * (gc->heap - 1), &used))
			return;
		fragments += (top - start) / 8;
		start = abandoned;
		top = start + 8 * used;
		if ((mark < start || mark > top) && !read_u64(gc->hend, &mark))
			return;
	}
	if (mark < start || mark > top)
		return;
	gc->left = (mark - start) / 8;
	gc->fresh = (top - mark) / 8 + fragments;
}

/* This and gc_read_old() read a part of struct process each, into the same memory of the thread, as
 * the BPF stack is too small for both. */
INLINE void gc_read_young(uint64_t process, struct event_thread *t, struct entered_gc *gc)
{
	struct part p = part_of(process, config.layout.process_id, config.layout.process_heap_sz,
				t->process_part, sizeof(t->process_part));

	part_add(&p, config.layout.process_flags);
	part_add(&p, config.layout.process_heap);
	part_add(&p, config.layout.process_htop);
	part_add(&p, config.layout.process_hend);
	gc->epid = gc->flags = 0;
	gc->start = gc->htop = gc->hend = 0;
	gc->heap = EVENT_UNKNOWN;
	if (!part_read(&p))
		return;
	part_u64(&p, config.layout.process_id, &gc->epid);
	part_u32(&p, config.layout.process_flags, &gc->flags);
	part_u64(&p, config.layout.process_heap, &gc->start);
	part_u64(&p, config.layout.process_htop, &gc->htop);
	part_u64(&p, config.layout.process_hend, &gc->hend);
	if (!part_u64(&p, config.layout.process_heap_sz, &gc->heap))
		gc->heap = EVENT_UNKNOWN;
}

INLINE void gc_read_old(uint64_t process, struct event_thread *t, struct entered_gc *gc)
{
	struct part p =
		part_of(process, config.layout.process_old_hend, config.layout.process_state,
			t->process_part, sizeof(t->process_part));
	uint64_t start = 0, end = 0, top = 0, mark = 0, fragments = 0;

	part_add(&p, config.layout.process_gen_gcs);
	part_add(&p, config.layout.process_max_gen_gcs);
	part_add(&p, config.layout.process_old_heap);
	part_add(&p, config.layout.process_old_htop);
	part_add(&p, config.layout.process_high_water);
	part_add(&p, config.layout.process_mbuf_sz);
	part_add(&p, config.layout.process_off_heap_overhead);
	gc->old_heap = gc->fresh = gc->left = gc->older = gc->binaries = EVENT_UNKNOWN;
	gc->state = gc->gen_gcs = gc->max_gen_gcs = 0;
	if (!part_read(&p))
		return;
	if (part_u64(&p, config.layout.process_old_heap, &start) &&
	    part_u64(&p, config.layout.process_old_hend, &end))
		gc->old_heap = start && end >= start ? (end - start) / 8 : 0;
	if (part_u64(&p, config.layout.process_high_water, &mark) &&
	    part_u64(&p, config.layout.process_mbuf_sz, &fragments))
		gc_read_fresh(process, gc, mark, fragments);
	if (part_u64(&p, config.layout.process_old_htop, &top) && gc->left != EVENT_UNKNOWN)
		gc->older = gc->left + (top - start) / 8;
	part_u64(&p, config.layout.process_off_heap_overhead, &gc->binaries);
	part_u32(&p, config.layout.process_state, &gc->state);
	part_u16(&p, config.layout.process_gen_gcs, &gc->gen_gcs);
	part_u16(&p, config.layout.process_max_gen_gcs, &gc->max_gen_gcs);
}

/* Words in use when a collection begins, including messages that it will move to the heap. */
INLINE void read_used(uint64_t process, struct event_thread *t)
{
	struct entered_gc *gc = &t->gc;
	uint64_t words = words_used(process),
		 moved = words_of_messages(process, &t->messages, &gc->last_message);

	gc->used = words == EVENT_UNKNOWN || moved == EVENT_UNKNOWN ? EVENT_UNKNOWN : words + moved;
}

INLINE uint32_t gc_epoch(void)
{
	return epoch_of(EVENT_GC_MINOR_START, EVENT_GC_MINOR_END) +
	       epoch_of(EVENT_GC_MAJOR_START, EVENT_GC_MAJOR_END);
}

/* Whether events with heap sizes are needed. */
INLINE bool heap_sizes_asked(void)
{
	return asked(EVENT_PROCESS_HEAP_GROW) || asked(EVENT_PROCESS_HEAP_SHRINK);
}

/* Reads only what distinguishes minor from major collections, and with `flags` also
 * Process.flags. */
INLINE void gc_read_kind(uint64_t process, struct event_thread *t, struct entered_gc *gc,
			 bool flags)
{
	struct part p = part_of(process, config.layout.process_gen_gcs, config.layout.process_state,
				t->process_part, sizeof(t->process_part));

	part_add(&p, config.layout.process_max_gen_gcs);
	if (flags)
		part_add(&p, config.layout.process_flags);
	gc->epid = 0;
	gc->flags = gc->state = gc->gen_gcs = gc->max_gen_gcs = 0;
	gc->heap = heap_sizes_asked() ? heap_words(process) : EVENT_UNKNOWN;
	gc->old_heap = EVENT_UNKNOWN;
	if (!part_read(&p))
		return;
	if (flags)
		part_u32(&p, config.layout.process_flags, &gc->flags);
	part_u32(&p, config.layout.process_state, &gc->state);
	part_u16(&p, config.layout.process_gen_gcs, &gc->gen_gcs);
	part_u16(&p, config.layout.process_max_gen_gcs, &gc->max_gen_gcs);
}

/* If events are only counted: takes the scheduler's counters from the end of the last collection,
 * as all functions that collect are probed. */
INLINE void gc_counting_begins(uint64_t process, struct event_thread *t)
{
	gc_read_kind(process, t, &t->gc, true);
	if (t->esdp && !t->dirty && t->gc_known.epoch == gc_epoch()) {
		t->gc.collections = t->gc_known.collections;
		t->gc.reclaimed = t->gc_known.reclaimed;
		t->gc.dirty = 0;
	} else {
		collections(process, t, &t->gc);
	}
	if (t->gc.dirty && config.count_sums)
		read_used(process, t);
}

INLINE void gc_counting_ends(struct event_thread *t, struct entered_gc *now)
{
	gc_read_kind(t->gc.process, t, now, false);
	collections(t->gc.process, t, now);
	t->gc_known.collections = now->collections;
	t->gc_known.reclaimed = now->reclaimed;
	t->gc_known.epoch = gc_epoch();
}

INLINE void gc_read_heaps(uint64_t process, struct event_thread *t, struct entered_gc *gc)
{
	gc_read_young(process, t, gc);
	gc_read_old(process, t, gc);
}

/* Reads the heaps of a process into event_thread.now, as the BPF stack of other programs is too
 * small for it.  0 = failed. */
GLOBAL_FN int heaps_read(uint64_t process)
{
	uint32_t tid = (uint32_t)bpf_get_current_pid_tgid();
	struct event_thread *t = bpf_map_lookup_elem(&event_threads, &tid);

	if (!t)
		return 0;
	gc_read_heaps(process, t, &t->now);
	return 1;
}

INLINE void gc_read(uint64_t process, struct event_thread *t, struct entered_gc *gc)
{
	gc_read_heaps(process, t, gc);
	collections(process, t, gc);
}

/* What garbage_collect() counts as reclaimed (minor_collection() and major_collection() of
 * erl_gc.c of OTP 25 to 29): words in use before, less those in use after.  Words that a minor
 * one moved to the old heap are in use. */
INLINE uint64_t gc_reclaimed(const struct entered_gc *was, const struct entered_gc *now)
{
	uint64_t used;

	if (!was->dirty)
		return now->reclaimed - was->reclaimed;
	used = words_used(was->process);
	if (was->used == EVENT_UNKNOWN || used == EVENT_UNKNOWN ||
	    !is_last_message(was->process, was->last_message))
		return EVENT_UNKNOWN;
	return was->used - used;
}

/* Whether durations of collections are needed. */
INLINE bool gc_times_wanted(void)
{
	return !config.counting || config.count_sums || config.gc_longer_than_ns ||
	       asked(EVENT_LONG_GC);
}

INLINE void gc_entered(uint64_t process, uint64_t need)
{
	struct event_thread *t = thread_here();

	if (!t)
		return;
	if (counts_all()) {
		gc_counting_begins(process, t);
		t->gc.process = process;
		t->gc.epoch = gc_epoch();
		t->gc.ts_ns = gc_times_wanted() ? bpf_ktime_get_ns() : 0;
		return;
	}
	keep_return();
	if ((config.event_epid || chosen_by_what()) && !is_about(epid_of(process))) {
		t->gc.process = 0;
		return;
	}
	gc_read(process, t, &t->gc);
	if (t->gc.dirty)
		read_used(process, t);
	t->gc.need = need;
	t->gc.process = process;
	t->gc.epoch = gc_epoch();
	t->gc.ts_ns = bpf_ktime_get_ns();
}

/* int erts_garbage_collect_nobump(Process *p, Uint need, Eterm *objv, int nobj, int fcalls),
 * int erts_garbage_collect(Process *p, Uint need, Eterm *objv, int nobj), erl_gc.c */
EVENT_ENTRY(event_gc)
{
	gc_entered(ctx->di, (uint32_t)ctx->si); /* int up to OTP 25 */
	return 0;
}

/* Eterm erts_gc_after_bif_call_lhf(Process *p, ErlHeapFragment *live_hf_end, Eterm result,
 * Eterm *regs, Uint arity), erl_gc.c: collects without a need for free words */
EVENT_ENTRY(event_gc_after_bif)
{
	gc_entered(ctx->di, 0);
	return 0;
}

INLINE void gc_start(enum event_kind kind, uint64_t ts_ns, uint64_t epid, uint16_t flags,
		     const struct entered_gc *gc)
{
	struct rec_raw_event *rec;

	if (!wanted(kind))
		return;
	rec = event_begin_short(kind, ts_ns, epid, flags, 3);
	if (!rec)
		return;
	rec->values[0] = gc->need;
	rec->values[1] = gc->heap;
	rec->values[2] = gc->old_heap;
	event_end(rec, 3);
}

/* What a collection found that was new: words, how many of them it kept; words of binaries. */
struct gc_new {
	uint64_t allocated, survived, binaries;
};

/*
 * A minor collection moves what is older than the mark to the old heap, so that all that it leaves
 * on the young heap is new.  A major one leaves both together: what is more than there was before
 * is new.  Of binaries those count that the young heap no longer refers to: they are gone, or old.
 */
INLINE struct gc_new gc_found(bool minor, const struct entered_gc *was,
			      const struct entered_gc *now)
{
	struct gc_new new = {was->fresh, EVENT_UNKNOWN, EVENT_UNKNOWN};

	if (was->fresh != EVENT_UNKNOWN && now->left != EVENT_UNKNOWN &&
	    (minor || was->older != EVENT_UNKNOWN)) {
		new.survived = now->left;
		if (!minor)
			new.survived -= was->older < now->left ? was->older : now->left;
		if (new.survived > was->fresh)
			new.survived = was->fresh;
	}
	if (was->binaries != EVENT_UNKNOWN && now->binaries != EVENT_UNKNOWN)
		new.binaries = was->binaries > now->binaries ? was->binaries - now->binaries : 0;
	return new;
}

INLINE void gc_end(enum event_kind kind, uint64_t ts_ns, uint64_t epid, uint16_t flags,
		   uint64_t reclaimed, uint64_t duration_ns, const struct entered_gc *now,
		   const struct gc_new *new)
{
	struct rec_raw_event *rec;

	if (!wanted(kind))
		return;
	count_sums(kind, reclaimed, duration_ns);
	rec = event_begin_short(kind, ts_ns, epid, flags, 8);
	if (!rec)
		return;
	rec->values[0] = reclaimed;
	rec->values[1] = now->heap;
	rec->values[2] = now->old_heap;
	rec->values[3] = duration_ns;
	rec->values[4] = EVENT_UNKNOWN; /* no margin of error */
	rec->values[5] = new->allocated;
	rec->values[6] = new->survived;
	rec->values[7] = new->binaries;
	event_end(rec, 8);
}

/* Emits process_heap_grow or process_heap_shrink if the collection changed the size of the heap. */
INLINE void gc_heap_resized(uint64_t ts_ns, uint64_t epid, uint16_t flags,
			    const struct entered_gc *was, const struct entered_gc *now)
{
	enum event_kind kind =
		now->heap > was->heap ? EVENT_PROCESS_HEAP_GROW : EVENT_PROCESS_HEAP_SHRINK;
	struct rec_raw_event *rec;

	if (now->heap == was->heap || now->heap == EVENT_UNKNOWN || was->heap == EVENT_UNKNOWN ||
	    !wanted(kind))
		return;
	rec = event_begin_short(kind, ts_ns, epid, flags, 2);
	if (rec) {
		rec->values[0] = was->heap;
		rec->values[1] = now->heap;
		event_end(rec, 2);
	}
}

INLINE void gc_took_long(struct pt_regs *ctx, uint64_t ts_ns, uint64_t epid, bool minor,
			 uint64_t ns, const struct entered_gc *was, const struct entered_gc *now)
{
	struct rec_raw_event *rec;
	uint16_t flags;

	if (!wanted(EVENT_LONG_GC) || ns < config.longer_than_ns)
		return;
	flags = event_stack_always(ctx, was->process, ts_ns);
	rec = event_begin(EVENT_LONG_GC, ts_ns, epid, flags, 0);
	if (rec) {
		rec->values[0] = minor ? EVENT_WORD_MINOR : EVENT_WORD_MAJOR;
		rec->values[1] = ns;
		rec->values[2] = was->heap;
		rec->values[3] = was->old_heap;
		rec->values[4] = now->heap;
		rec->values[5] = now->old_heap;
		event_end(rec, 6);
	}
}

INLINE bool gc_from_usdt(void)
{
	return from_usdt(EVENT_GC_MINOR_START) || from_usdt(EVENT_GC_MINOR_END) ||
	       from_usdt(EVENT_GC_MAJOR_START) || from_usdt(EVENT_GC_MAJOR_END);
}

/*
 * What garbage_collect() did, from values before and after (erl_gc.c of OTP 25 to 29): a minor
 * collection if gen_gcs < max_gen_gcs and no full sweep is asked for, which adds 1 to gen_gcs.  A
 * major one sets it to 0, also after a minor one that did not free enough.  A collection that was
 * delayed, or left to a dirty scheduler, is not counted here.
 */
INLINE void collected(struct pt_regs *ctx, struct event_thread *t, uint64_t ts_ns)
{
	const struct entered_gc *was = &t->gc;
	struct entered_gc *now = &t->now;
	const struct gc_new none = {0, 0, 0};
	struct gc_new new;
	uint64_t epid = was->epid, reclaimed, ns = between_probes(was->ts_ns, ts_ns);
	bool minor, done, killed, fell;
	uint16_t flags = 0;

	if (config.gc_longer_than_ns && ns <= config.gc_longer_than_ns)
		return;
	if (counts_all())
		gc_counting_ends(t, now);
	else
		gc_read(was->process, t, now);
	minor = was->gen_gcs < was->max_gen_gcs && !(was->flags & F_NEED_FULLSWEEP);
	killed = (now->state & ~was->state) & PSFLG_EXITING;
	if (was->dirty)
		done = !killed && !(was->flags & (F_DISABLE_GC | F_DELAY_GC)) &&
		       !(was->state & PSFLG_EXITING);
	else
		done = now->collections != was->collections;
	if (counts_all() && !done && minor && !was->dirty)
		read_u32(was->process + config.layout.process_flags, &now->flags);
	/* The minor collection did not free enough, and a dirty scheduler is to do a major one. */
	fell = !done && minor && !was->dirty && (now->flags & F_DIRTY_MAJOR_GC) &&
	       (now->flags & ~was->flags & F_NEED_FULLSWEEP);
	if (!done && !fell && !killed)
		return;
	event_seen(was->process, epid, ts_ns);
	if (!gc_from_usdt())
		gc_start(minor ? EVENT_GC_MINOR_START : EVENT_GC_MAJOR_START, was->ts_ns, epid, 0,
			 was);
	if (!done && !fell)
		return; /* killed as its heap would exceed the limit: no end */
	flags = event_stack(ctx, was->process, ts_ns);
	reclaimed = !config.counting || config.count_sums ? gc_reclaimed(was, now) : EVENT_UNKNOWN;
	if (gc_from_usdt()) {
		/* USDT probes give start and end; only the events at the end of this function are
		 * needed. */
	} else if (fell) {
		gc_end(EVENT_GC_MINOR_END, ts_ns, epid, flags, 0, ns, now, &none);
	} else if (minor && now->gen_gcs != 0) {
		new = gc_found(true, was, now);
		gc_end(EVENT_GC_MINOR_END, ts_ns, epid, flags, reclaimed, ns, now, &new);
	} else {
		if (minor) {
			/* When the minor collection ended and the major one began is not seen. */
			gc_end(EVENT_GC_MINOR_END, ts_ns, epid, flags, 0, EVENT_UNKNOWN, was,
			       &none);
			gc_start(EVENT_GC_MAJOR_START, ts_ns, epid, 0, was);
		}
		new = gc_found(false, was, now);
		gc_end(EVENT_GC_MAJOR_END, ts_ns, epid, flags, reclaimed, ns, now, &new);
	}
	gc_heap_resized(ts_ns, epid, flags, was, now);
	gc_took_long(ctx, ts_ns, epid, minor && now->gen_gcs != 0, ns, was, now);
}

EVENT_RETURN(event_gc_return)
{
	struct event_thread *t = thread_here();
	uint64_t ts_ns;

	drop_return();
	if (!t || !t->gc.process)
		return 0;
	ts_ns = gc_times_wanted() ? bpf_ktime_get_ns() : 0;
	if (t->gc.epoch == gc_epoch())
		collected(ctx, t, ts_ns);
	t->gc.process = 0;
	return 0;
}

#endif
