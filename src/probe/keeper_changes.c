/* SPDX-License-Identifier: BSD-2-Clause */
/* See keeper_changes.h. */
#include "probe/keeper_changes.h"

#include <string.h>

/* That nobody has fetched. */
#define MAX_CHANGES 4096u

void keeper_changes_init(struct keeper_changes *c)
{
	memset(c, 0, sizeof(*c));
	pthread_mutex_init(&c->lock, NULL);
}

void keeper_changes_free(struct keeper_changes *c)
{
	vec_free(&c->queue);
	pthread_mutex_destroy(&c->lock);
}

/* Locked. */
static void make_room(struct keeper_changes *changes, const struct keeper_change *next)
{
	size_t waiting = changes->queue.len - changes->next, from = changes->next;
	struct keeper_change *c = changes->queue.data;

	if (from && from >= waiting) {
		memmove(c, c + from, waiting * sizeof(*c));
		changes->queue.len = waiting;
		changes->next = from = 0;
	}
	/* Of work alone only the newest matters. */
	if (waiting && !next->kinds && !c[changes->queue.len - 1].kinds) {
		changes->queue.len--;
		return;
	}
	for (size_t i = from; waiting >= MAX_CHANGES && i < changes->queue.len; i++) {
		if (c[i].kinds != next->kinds)
			continue;
		memmove(c + i, c + i + 1, (changes->queue.len - i - 1) * sizeof(*c));
		changes->queue.len--;
		return;
	}
}

void keeper_changes_push(struct keeper_changes *c, const struct keeper_change *change)
{
	pthread_mutex_lock(&c->lock);
	make_room(c, change);
	vec_push(&c->queue, *change);
	pthread_mutex_unlock(&c->lock);
}

bool keeper_changes_next(struct keeper_changes *c, uint64_t until_ns, struct keeper_change *out)
{
	bool found = false;

	pthread_mutex_lock(&c->lock);
	if (c->next < c->queue.len && c->queue.data[c->next].ts_ns <= until_ns) {
		*out = c->queue.data[c->next++];
		found = true;
	} else if (c->next == c->queue.len) {
		c->queue.len = c->next = 0;
	}
	pthread_mutex_unlock(&c->lock);
	return found;
}
