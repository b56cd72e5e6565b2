/* SPDX-License-Identifier: BSD-2-Clause */
/* See leak_weights.h. */
#include "model/profile/leak_weights.h"

#include <math.h>
#include <stdlib.h>

#include "base/compiler.h"
#include "base/keytab.h"
#include "base/vec.h"
#include "base/xalloc.h"

/* Bins of age: the first up to 1 ms, then BINS_OF_OCTAVE for each doubling, up to 2^28 ms (three
 * days); the last has all that is older. */
#define BIN_MS		1000000ull
#define BINS_OF_OCTAVE	4u
#define OCTAVES		28u
#define NR_BINS		(1 + OCTAVES * BINS_OF_OCTAVE)
#define LEAST_PRUNED	1024
#define WINDOW_FOLLOWED 0.75 /* of a window: blocks of the rest are censored */

#define MOST_WINDOWS (1u << 16)
#define AGES_OF_BIN  4u /* at which the chance to see a free is taken, for its mean */
#define NR_CONTENTS  3

/* Bytes of one stack: all, and by age. */
struct leak_stack {
	uint64_t key; /* stack + 1 */
	double bytes, nr;
	/* The rest is of blocks that are followed: those of the last quarter of a window are not.
	 */
	double freed[NR_BINS];			  /* known to be freed by then */
	double probed[NR_BINS], squares[NR_BINS]; /* frees that were seen; of each block squared */
	double changed[NR_BINS];		  /* first seen as changed, and still in use */
	double ended[NR_BINS];			  /* in use at the end */
	/* Of what is in use at the end, by enum leak_content: bytes, and the share that was never
	 * freed. */
	double in_use[NR_CONTENTS], kept[NR_CONTENTS];
	double left;	   /* bytes of the blocks that are left */
	double oldest_age; /* ns, of these */
	double factor;	   /* what is leaked / left */
	double less, more; /* see leak_result; of what is followed */
};

/* A block that was freed while the window in which it was allocated is open. */
struct freed_block {
	uint64_t allocated_ns, freed_ns, bytes;
	uint32_t stack;
	bool seen;
};

/* The probes were enabled: from, and up to when allocations count (not censored), and frees. */
struct window {
	uint64_t on_ns, followed_ns, off_ns;
};

struct leak_weights {
	struct keytab blocks, stacks; /* struct leak_block, struct leak_stack */
	VEC(uint64_t) window;	      /* addresses allocated since window_ns, freed or not */
	VEC(struct window) windows;   /* those that have ended */
	VEC(struct freed_block) freed;
	size_t flushed;	    /* blocks in `freed` after it was last flushed */
	uint64_t window_ns; /* when the open window began, or the last one */
	bool off;
	uint32_t max_blocks;
	double seen_at[NR_BINS]; /* chance that a free at that age is seen */
	double watched;		 /* share of the time */
	struct leak_result result;
};

static unsigned int bin_of(uint64_t age_ns)
{
	uint64_t ms = age_ns / BIN_MS;
	unsigned int octave, part;

	if (!ms)
		return 0;
	octave = 63 - (unsigned int)__builtin_clzll(ms);
	part = (unsigned int)((ms << 2 >> octave) & (BINS_OF_OCTAVE - 1));
	return MIN(1 + octave * BINS_OF_OCTAVE + part, NR_BINS - 1);
}

/* Age at which a bin begins, ns. */
static double bin_start(unsigned int bin)
{
	unsigned int octave = (bin - 1) / BINS_OF_OCTAVE, part = (bin - 1) % BINS_OF_OCTAVE;

	return bin ? (double)BIN_MS * ldexp(1 + part / (double)BINS_OF_OCTAVE, (int)octave) : 0;
}

struct leak_weights *leak_weights_open(uint32_t max_blocks)
{
	struct leak_weights *l = xcalloc(1, sizeof(*l));

	l->blocks = (struct keytab)KEYTAB_INIT(struct leak_block);
	l->stacks = (struct keytab)KEYTAB_INIT(struct leak_stack);
	l->max_blocks = max_blocks;
	return l;
}

void leak_weights_close(struct leak_weights *l)
{
	if (!l)
		return;
	keytab_free(&l->blocks);
	keytab_free(&l->stacks);
	vec_free(&l->window);
	vec_free(&l->windows);
	vec_free(&l->freed);
	free(l);
}

static struct leak_stack *stack_of(struct leak_weights *l, uint32_t stack, bool add)
{
	struct leak_stack *s = keytab_find(&l->stacks, (uint64_t)stack + 1);

	if (!s && add && l->stacks.nr < LEAK_MAX_STACKS)
		s = keytab_add(&l->stacks, (uint64_t)stack + 1);
	return s;
}

static uint64_t age_at(const struct leak_block *b, uint64_t ts_ns)
{
	return ts_ns > b->ts_ns ? ts_ns - b->ts_ns : 0;
}

/* Forgets addresses of the window whose blocks are freed: it may be as long as the run. */
static void prune(struct leak_weights *l)
{
	size_t nr = 0;

	for (size_t i = 0; i < l->window.len; i++)
		if (keytab_find(&l->blocks, l->window.data[i]))
			l->window.data[nr++] = l->window.data[i];
	l->window.len = nr;
}

void leak_weights_alloc(struct leak_weights *l, const struct leak_block *block)
{
	struct leak_block *b = keytab_find(&l->blocks, block->address);
	struct leak_stack *s;

	/* The block there before was freed at a time that is not known. */
	if (b)
		leak_weights_free(l, block->address, block->ts_ns, false);
	l->result.sampled++;
	s = l->blocks.nr < l->max_blocks ? stack_of(l, block->stack, true) : NULL;
	if (!s) {
		l->result.overflow++;
		return;
	}
	s->bytes += (double)block->bytes;
	s->nr++;
	b = keytab_add(&l->blocks, block->address);
	*b = *block;
	b->content = LEAK_SAME;
	if (!l->window_ns)
		l->window_ns = block->ts_ns;
	if (l->window.len > LEAST_PRUNED && l->window.len / 2 > l->blocks.nr)
		prune(l);
	vec_push(&l->window, block->address);
}

static void count_freed(struct leak_weights *l, const struct freed_block *b, uint64_t changed_ns)
{
	struct leak_stack *s = stack_of(l, b->stack, false);
	uint64_t age = b->freed_ns > b->allocated_ns ? b->freed_ns - b->allocated_ns : 0;
	double bytes = (double)b->bytes;

	if (!s)
		return;
	s->freed[bin_of(changed_ns ? changed_ns - b->allocated_ns : age)] += bytes;
	if (b->seen) {
		s->probed[bin_of(age)] += bytes;
		s->squares[bin_of(age)] += bytes * bytes;
	}
}

/* From when on blocks are not followed if the open window ends at ts_ns. */
static uint64_t followed_until(const struct leak_weights *l, uint64_t ts_ns)
{
	return l->window_ns + (uint64_t)(WINDOW_FOLLOWED * (double)(ts_ns - l->window_ns));
}

/* Counts freed blocks of the open window that were allocated before until_ns. */
static void flush_freed(struct leak_weights *l, uint64_t until_ns)
{
	size_t nr = 0;

	for (size_t i = 0; i < l->freed.len; i++) {
		if (l->freed.data[i].allocated_ns < until_ns)
			count_freed(l, &l->freed.data[i], 0);
		else
			l->freed.data[nr++] = l->freed.data[i];
	}
	l->freed.len = l->flushed = nr;
}

void leak_weights_free(struct leak_weights *l, uint64_t address, uint64_t ts_ns, bool seen)
{
	const struct leak_block *b = keytab_find(&l->blocks, address);
	struct freed_block freed;

	if (!b)
		return;
	freed = (struct freed_block){b->ts_ns, ts_ns, b->bytes, b->stack, seen};
	if (l->off || b->ts_ns < l->window_ns)
		count_freed(l, &freed,
			    b->content == LEAK_CHANGED ? MAX(b->changed_ns, b->ts_ns) : 0);
	else
		vec_push(&l->freed, freed);
	if (l->freed.len > LEAST_PRUNED && l->freed.len / 2 > l->flushed)
		flush_freed(l, followed_until(l, MAX(ts_ns, l->window_ns)));
	l->result.freed++;
	keytab_remove(&l->blocks, (void *)b);
}

void leak_weights_cut(struct leak_weights *l, uint64_t address, uint64_t to, uint64_t left)
{
	struct leak_block *b = keytab_find(&l->blocks, address), cut;
	struct leak_stack *s = b ? stack_of(l, b->stack, false) : NULL;

	if (!s || left >= b->size || !to || (to != address && keytab_find(&l->blocks, to)))
		return;
	cut = *b;
	cut.bytes = (uint64_t)((double)b->bytes * (double)left / (double)b->size);
	cut.size = left;
	s->bytes -= (double)(b->bytes - cut.bytes);
	if (to != address) {
		keytab_remove(&l->blocks, b);
		b = keytab_add(&l->blocks, to);
	}
	cut.address = to;
	*b = cut;
}

void leak_weights_cut_start(struct leak_weights *l, uint64_t address, uint64_t size)
{
	const struct leak_block *b = keytab_find(&l->blocks, address);

	if (b && size < b->size)
		leak_weights_cut(l, address, address + size, b->size - size);
}

void leak_weights_content(struct leak_weights *l, uint64_t address, uint64_t ts_ns,
			  enum leak_content content)
{
	struct leak_block *b = keytab_find(&l->blocks, address);

	if (!b || b->content == LEAK_CHANGED)
		return;
	b->content = (uint8_t)content;
	b->changed_ns = ts_ns;
}

void leak_weights_window(struct leak_weights *l, bool on, uint64_t ts_ns)
{
	uint64_t from;

	if (on != l->off)
		return; /* it says again what was so already */
	l->off = !on;
	if (on) {
		l->window.len = 0;
		l->window_ns = ts_ns;
		return;
	}
	if (!l->window_ns)
		l->window_ns = ts_ns; /* the first one, in which no block was sampled */
	from = followed_until(l, MAX(ts_ns, l->window_ns));
	if (l->windows.len < MOST_WINDOWS)
		vec_push(&l->windows, ((struct window){l->window_ns, from, ts_ns}));
	for (size_t i = 0; i < l->window.len; i++) {
		struct leak_block *b = keytab_find(&l->blocks, l->window.data[i]);

		if (b && b->ts_ns >= from)
			keytab_remove(&l->blocks, b);
	}
	l->window.len = 0;
	flush_freed(l, from);
	l->freed.len = l->flushed = 0;
}

/* ---- frees that were not seen ---------------------------------------------------------------- */

static double overlap(uint64_t from, uint64_t to, uint64_t on_ns, uint64_t off_ns)
{
	uint64_t start = MAX(from, on_ns), end = MIN(to, off_ns);

	return end > start ? (double)(end - start) : 0;
}

/* Chance that what is allocated in a window, and freed at that age before the end, is freed in a
 * window. */
static double chance_at(const struct leak_weights *l, uint64_t age, uint64_t end_ns)
{
	double seen = 0, all = 0;
	size_t first = 0;

	for (size_t i = 0; i < l->windows.len; i++) {
		const struct window *w = &l->windows.data[i];
		uint64_t from = w->on_ns + age, to = w->followed_ns + age;

		all += overlap(from, to, from, end_ns);
		while (first < l->windows.len && l->windows.data[first].off_ns < from)
			first++;
		for (size_t k = first; k < l->windows.len && l->windows.data[k].on_ns < to; k++)
			seen += overlap(from, to, l->windows.data[k].on_ns,
					l->windows.data[k].off_ns);
	}
	return all > 0 ? seen / all : 0;
}

static void learn_chances(struct leak_weights *l, uint64_t start_ns, uint64_t end_ns)
{
	double on = 0, run = end_ns > start_ns ? (double)(end_ns - start_ns) : 0;

	if (!l->off)
		vec_push(&l->windows, ((struct window){l->window_ns, end_ns, end_ns}));
	/* The first one began when the probes were attached; its first allocation is known. */
	if (l->windows.len && l->windows.data[0].on_ns > start_ns)
		l->windows.data[0].on_ns = start_ns;
	for (size_t i = 0; i < l->windows.len; i++)
		on += overlap(l->windows.data[i].on_ns, l->windows.data[i].off_ns, start_ns,
			      end_ns);
	l->watched = run > 0 && on > 0 ? MIN(on / run, 1) : 1;
	for (unsigned int i = 0; i < NR_BINS; i++) {
		double start = bin_start(i), step = (bin_start(i + 1) - start) / AGES_OF_BIN;

		for (unsigned int k = 0; k < AGES_OF_BIN && start < run; k++)
			l->seen_at[i] += chance_at(l, (uint64_t)(start + (k + 0.5) * step), end_ns);
		/* Few windows are that far apart: one free must not stand for all. */
		l->seen_at[i] = MIN(MAX(l->seen_at[i] / AGES_OF_BIN, l->watched / 4), 1);
	}
}

/* Bytes freed, seen or not, up to an age (the standard error of that in *error), and those known to
 * be. */
static double estimate_freed(const struct leak_weights *l, const struct leak_stack *s,
			     double age_ns, double *error)
{
	double freed = 0, variance = 0;

	for (unsigned int i = 0; i < NR_BINS && bin_start(i) < age_ns; i++) {
		double chance = s->probed[i] > 0 ? l->seen_at[i] : 1;

		freed += s->probed[i] / chance;
		variance += s->squares[i] * (1 - chance) / (chance * chance);
	}
	*error = sqrt(variance);
	return freed;
}

static double known_freed(const struct leak_stack *s, double age_ns)
{
	double freed = 0;

	for (unsigned int i = 0; i < NR_BINS && bin_start(i) < age_ns; i++)
		freed += s->freed[i];
	return freed;
}

static double within(double x, double most)
{
	return x > 0 ? MIN(x, most) : 0;
}

/*
 * Decides how much of what is in use was freed and given away again.  few: bytes that may have been
 * freed although no probe has seen any.
 */
static void find_hidden(const struct leak_weights *l, struct leak_stack *s)
{
	double error, few = 3 * (s->nr > 0 ? s->bytes / s->nr : 0) * (1 / l->watched - 1);
	double hidden = estimate_freed(l, s, INFINITY, &error) - known_freed(s, INFINITY);
	double changed = s->in_use[LEAK_CHANGED], alike = s->in_use[LEAK_ALIKE];
	double same = s->in_use[LEAK_SAME], freed[NR_CONTENTS], young, ignored, most, least;

	/* What can have been freed has been, unless the probes say otherwise. */
	freed[LEAK_CHANGED] =
		within(hidden + 2 * error + few >= changed ? changed : hidden, changed);
	hidden -= freed[LEAK_CHANGED];
	freed[LEAK_ALIKE] = within(hidden + 2 * error >= alike ? alike : hidden, alike);
	young = estimate_freed(l, s, LEAK_YOUNG_NS, &ignored) - known_freed(s, 2 * LEAK_YOUNG_NS);
	for (unsigned int i = 0; i < NR_BINS && bin_start(i) < 2 * LEAK_YOUNG_NS; i++)
		young -= s->changed[i] * (changed > 0 ? freed[LEAK_CHANGED] / changed : 0);
	freed[LEAK_SAME] = within(young, same);
	for (unsigned int i = 0; i < NR_CONTENTS; i++)
		s->kept[i] = s->in_use[i] > 0 ? 1 - freed[i] / s->in_use[i] : 0;
	hidden += freed[LEAK_CHANGED];
	most = within(hidden + 2 * error + few, changed + alike);
	least = within(hidden - 2 * error, changed + alike);
	hidden = freed[LEAK_CHANGED] + freed[LEAK_ALIKE];
	s->less = MAX(most - hidden, 0);
	s->more = MAX(hidden - least, 0);
	/* As they are not in the estimate, neither is their sampling error. */
	s->more += 1.96 * sqrt(s->more * s->bytes / MAX(s->nr, 1));
}

/* Adds what was freed and not seen to the ages at which it was. */
static void add_hidden(const struct leak_weights *l, struct leak_stack *s)
{
	double alike = s->in_use[LEAK_ALIKE] * (1 - s->kept[LEAK_ALIKE]);
	double young = s->in_use[LEAK_SAME] * (1 - s->kept[LEAK_SAME]), unseen = 0;

	for (unsigned int i = 0; i < NR_BINS; i++)
		unseen += s->probed[i] > 0 ? s->probed[i] / l->seen_at[i] : 0;
	for (unsigned int i = 0; i < NR_BINS; i++) {
		s->freed[i] += s->changed[i] * (1 - s->kept[LEAK_CHANGED]);
		if (unseen > 0 && s->probed[i] > 0)
			s->freed[i] += alike * s->probed[i] / l->seen_at[i] / unseen;
	}
	s->freed[0] += young;
}

/* ---- the end -------------------------------------------------------------------------------- */

/* What is in use is at risk up to now. */
static void end_blocks(struct leak_weights *l, uint64_t end_ns)
{
	for (const struct leak_block *b = NULL; (b = keytab_next(&l->blocks, b));) {
		struct leak_stack *s = stack_of(l, b->stack, false);

		if (!s)
			continue;
		s->in_use[b->content] += (double)b->bytes;
		if (b->content == LEAK_CHANGED)
			s->changed[bin_of(age_at(b, b->changed_ns))] += (double)b->bytes;
	}
	for (struct leak_stack *s = NULL; (s = keytab_next(&l->stacks, s));) {
		find_hidden(l, s);
		add_hidden(l, s);
	}
	for (const struct leak_block *b = NULL; (b = keytab_next(&l->blocks, b));) {
		struct leak_stack *s = stack_of(l, b->stack, false);
		double age = (double)age_at(b, end_ns), bytes;

		if (!s || s->kept[b->content] <= 0)
			continue;
		bytes = (double)b->bytes * s->kept[b->content];
		s->ended[bin_of((uint64_t)age)] += bytes;
		s->left += bytes;
		s->oldest_age = MAX(s->oldest_age, age);
	}
}

/* Share of the bytes of a stack that survives the age. */
static double survives(const struct leak_stack *s, double age_ns)
{
	double at_risk = 0, share = 1;

	for (unsigned int i = 0; i < NR_BINS; i++)
		at_risk += s->freed[i] + s->ended[i];
	for (unsigned int i = 0; i < NR_BINS && bin_start(i) < age_ns; i++) {
		/* Those that are no longer at risk were so for half of the bin, on average. */
		double exposed = at_risk - s->ended[i] / 2;

		if (exposed > 0)
			share *= MAX(1 - s->freed[i] / exposed, 0);
		at_risk -= s->freed[i] + s->ended[i];
		/* None got older, mostly as they were freed, not as the run ended. */
		if (at_risk < 0.5 && s->freed[i] > s->ended[i])
			return 0;
	}
	return share;
}

/* Sets what is leaked of each stack; returns the bytes of all, and in *half those that survive half
 * as long. */
static double find_leaks(struct leak_weights *l, double run, double *half)
{
	double bytes = 0, less = 0, more = 0;

	for (struct leak_stack *s = NULL; (s = keytab_next(&l->stacks, s));) {
		double followed = known_freed(s, INFINITY) + s->left;
		double scale = followed > 0 ? s->bytes / followed : 1;

		more += s->more * s->more * scale * scale;
		if (s->left <= 0 || s->oldest_age < LEAK_LEAST_AGE * run)
			continue;
		s->factor = s->bytes * survives(s, LEAK_SURVIVES * run) / s->left;
		bytes += s->factor * s->left;
		*half += s->bytes * survives(s, LEAK_SURVIVES / 2 * run);
		less += s->less * s->less * scale * scale;
	}
	l->result.less = MIN(sqrt(less), bytes);
	l->result.more = sqrt(more);
	return bytes;
}

void leak_weights_finish(struct leak_weights *l, uint64_t start_ns, uint64_t end_ns,
			 leak_weights_fn *emit, void *arg, struct leak_result *out)
{
	double run = end_ns > start_ns ? (double)(end_ns - start_ns) : 0;
	double bytes, half = 0, squares = 0;

	flush_freed(l, UINT64_MAX);
	learn_chances(l, start_ns, end_ns);
	end_blocks(l, end_ns);
	bytes = find_leaks(l, run, &half);
	for (const struct leak_block *b = NULL; (b = keytab_next(&l->blocks, b));) {
		const struct leak_stack *s = stack_of(l, b->stack, false);
		double leaked = s ? (double)b->bytes * s->kept[b->content] * s->factor : 0;

		if (leaked < 0.5)
			continue;
		emit(arg, b, (uint64_t)(leaked + 0.5));
		l->result.left++;
		squares += leaked * leaked;
	}
	l->result.bytes = (uint64_t)(bytes + 0.5);
	l->result.error = bytes > 0 ? 1.96 * sqrt(squares) / bytes : 0;
	l->result.settled = half > 0 ? bytes / half : 1;
	*out = l->result;
}

bool leak_weights_interval(const struct leak_result *r, double windows, double *low, double *high)
{
	double of_windows = log(windows), bytes = (double)r->bytes;
	double factor = exp(sqrt(of_windows * of_windows + r->error * r->error));
	double below = bytes - bytes / factor, above = bytes * factor - bytes;

	*low = *high = 0;
	if (windows <= 0)
		return false;
	*low = MAX(bytes - sqrt(below * below + r->less * r->less), 0);
	*high = bytes + sqrt(above * above + r->more * r->more);
	return true;
}
