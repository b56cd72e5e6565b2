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

/* Bytes of one stack: all, and by the age at which they were freed, or no longer at risk. */
struct leak_stack {
	uint64_t key; /* stack + 1 */
	double bytes;
	double freed[NR_BINS], ended[NR_BINS];
	double left;	   /* bytes of the blocks that are left */
	double oldest_age; /* ns, of these */
	double factor;	   /* what is leaked / left */
};

struct leak_weights {
	struct keytab blocks, stacks; /* struct leak_block, struct leak_stack */
	VEC(uint64_t) window;	      /* addresses allocated since window_ns, freed or not */
	uint64_t window_ns;	      /* when the open window began, or the last one */
	bool off;
	uint32_t max_blocks;
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
		leak_weights_free(l, block->address, block->ts_ns);
	l->result.sampled++;
	s = l->blocks.nr < l->max_blocks ? stack_of(l, block->stack, true) : NULL;
	if (!s) {
		l->result.overflow++;
		return;
	}
	s->bytes += (double)block->bytes;
	b = keytab_add(&l->blocks, block->address);
	*b = *block;
	if (!l->window_ns)
		l->window_ns = block->ts_ns;
	if (l->window.len > LEAST_PRUNED && l->window.len / 2 > l->blocks.nr)
		prune(l);
	vec_push(&l->window, block->address);
}

void leak_weights_free(struct leak_weights *l, uint64_t address, uint64_t ts_ns)
{
	struct leak_block *b = keytab_find(&l->blocks, address);
	struct leak_stack *s = b ? stack_of(l, b->stack, false) : NULL;

	if (!b)
		return;
	if (s) {
		s->freed[bin_of(age_at(b, ts_ns))] += (double)b->bytes;
		l->result.freed++;
	}
	keytab_remove(&l->blocks, b);
}

static void censor(struct leak_weights *l, struct leak_block *b, uint64_t ts_ns)
{
	struct leak_stack *s = stack_of(l, b->stack, false);

	if (s)
		s->ended[bin_of(age_at(b, ts_ns))] += (double)b->bytes;
	keytab_remove(&l->blocks, b);
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
	from = l->window_ns + (uint64_t)(WINDOW_FOLLOWED * (double)(ts_ns - l->window_ns));
	for (size_t i = 0; i < l->window.len; i++) {
		struct leak_block *b = keytab_find(&l->blocks, l->window.data[i]);

		if (b && b->ts_ns >= from)
			censor(l, b, ts_ns);
	}
	l->window.len = 0;
}

/* ---- the end -------------------------------------------------------------------------------- */

/* Blocks that are left are at risk up to now. */
static void end_blocks(struct leak_weights *l, uint64_t end_ns)
{
	for (const struct leak_block *b = NULL; (b = keytab_next(&l->blocks, b));) {
		struct leak_stack *s = stack_of(l, b->stack, false);
		double age = (double)age_at(b, end_ns);

		if (!s)
			continue;
		s->ended[bin_of((uint64_t)age)] += (double)b->bytes;
		s->left += (double)b->bytes;
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

void leak_weights_finish(struct leak_weights *l, uint64_t start_ns, uint64_t end_ns,
			 leak_weights_fn *emit, void *arg, struct leak_result *out)
{
	double run = end_ns > start_ns ? (double)(end_ns - start_ns) : 0;
	double bytes = 0, half = 0, squares = 0;

	end_blocks(l, end_ns);
	for (struct leak_stack *s = NULL; (s = keytab_next(&l->stacks, s));) {
		if (s->left <= 0 || s->oldest_age < LEAK_LEAST_AGE * run)
			continue;
		s->factor = s->bytes * survives(s, LEAK_SURVIVES * run) / s->left;
		bytes += s->factor * s->left;
		half += s->bytes * survives(s, LEAK_SURVIVES / 2 * run);
	}
	for (const struct leak_block *b = NULL; (b = keytab_next(&l->blocks, b));) {
		const struct leak_stack *s = stack_of(l, b->stack, false);
		double leaked = s ? (double)b->bytes * s->factor : 0;

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
