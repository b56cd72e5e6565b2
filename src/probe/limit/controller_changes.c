/* SPDX-License-Identifier: BSD-2-Clause */
/* See controller_changes.h. */
#include "probe/limit/controller_changes.h"

#include <string.h>

/* Most changes that wait for controller_changes_next(). */
#define MAX_CHANGES 4096u
/* At most so many changes of work alone are kept in a row.  More than one, as they are fetched only
 * when they have a certain age: if each replaced the one before, none would get that old. */
#define MAX_WORK 16u

void controller_changes_init(struct controller_changes *c)
{
	memset(c, 0, sizeof(*c));
	pthread_mutex_init(&c->lock, NULL);
}

void controller_changes_free(struct controller_changes *c)
{
	vec_free(&c->queue);
	pthread_mutex_destroy(&c->lock);
}

/* True if the last `nr` changes are of work alone. */
static bool is_work(const struct controller_changes *c, size_t nr)
{
	bool is = c->queue.len - c->next >= nr;

	for (size_t i = 1; is && i <= nr; i++)
		is = !c->queue.data[c->queue.len - i].kinds;
	return is;
}

/* With the lock held. */
static void make_room(struct controller_changes *changes, const struct controller_change *next)
{
	size_t waiting = changes->queue.len - changes->next, from = changes->next;
	struct controller_change *c = changes->queue.data;

	if (from && from >= waiting) {
		memmove(c, c + from, waiting * sizeof(*c));
		changes->queue.len = waiting;
		changes->next = from = 0;
	}
	/* Of changes that report work alone only the newest is needed. */
	if (!next->kinds && is_work(changes, MAX_WORK)) {
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

void controller_changes_push(struct controller_changes *c, const struct controller_change *change)
{
	pthread_mutex_lock(&c->lock);
	make_room(c, change);
	vec_push(&c->queue, *change);
	pthread_mutex_unlock(&c->lock);
}

bool controller_changes_next(struct controller_changes *c, uint64_t until_ns,
			     struct controller_change *out)
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
