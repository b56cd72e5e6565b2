/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Work of a node that all of its processes or schedulers take part in, from calls of the BIFs that
 * do it, and who asked for it.
 *
 *   literal areas   A module that was purged and a persistent term that was replaced or erased
 *                   leave terms that processes may hold.  The literal area collector takes one area
 *                   after the other: release_area_switch/0 ends one and begins the next, each
 *                   process then looks through its heap (erts_literal_area_collector.erl).
 *   code purge      Each process looks for old code on its stack, between purge_module(M, prepare)
 *                   and purge_module(M, complete) (erts_code_purger.erl).
 *   blocking        system_flag(multi_scheduling, block | block_normal): one scheduler runs.
 *
 * OTP 25 to 29.
 */
#ifndef EBEAM_MODEL_NODE_WIDE_H
#define EBEAM_MODEL_NODE_WIDE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/vec.h"

struct event;
struct event_stream;

enum node_wide_work { NODE_WIDE_LITERALS, NODE_WIDE_PURGE, NODE_WIDE_BLOCK, NR_NODE_WIDE };

struct node_wide_bif {
	const char *module, *function;
	int arity;
	bool returns; /* its end is needed, too */
};
extern const struct node_wide_bif node_wide_bifs[];
extern const unsigned int nr_node_wide_bifs;

#define NODE_WIDE_ASKERS 64u

struct node_wide_asker {
	char *what;	   /* "persistent_term:put/2", "purge of m", "m", "block" */
	uint32_t process;  /* 0: not known */
	uint32_t function; /* that called the BIF; 0 = not known */
	uint64_t nr;
};

struct node_wide_holder {
	uint64_t epid; /* of a process */
	uint32_t nr;   /* times that it blocked and did not unblock */
};

struct node_wide_count {
	uint64_t nr, total_ns, max_ns;	    /* that have ended */
	VEC(struct node_wide_asker) askers; /* most first, once node_wide_order() was called */
	uint64_t others;		    /* of more askers than NODE_WIDE_ASKERS */
	uint64_t since_ns;		    /* one is under way; 0 = none */
	uint64_t epid;			    /* of the process that does it */
};

struct node_wide {
	const struct event_stream *stream;
	struct node_wide_count work[NR_NODE_WIDE];
	uint64_t last_ns; /* of the last literal area, as far as it is known */
	uint64_t tripped; /* times that calls were not watched, so far */
	uint64_t lost;	  /* events that were lost, so far */
	VEC(struct node_wide_holder) blockers;
	bool completes; /* the purge that is under way was found to be safe */
	bool unblocks;	/* who blocks asked for the end */
};

void node_wide_open(struct node_wide *w, const struct event_stream *stream);
void node_wide_close(struct node_wide *w);
/* Forgets all but what is under way, for the next interval, which begins then. */
void node_wide_restart(struct node_wide *w, uint64_t now_ns);
/* A call of one of the BIFs, or its end; others are none of its business.  Askers of literal areas
 * are those who called what may leave one, whether it did or not. */
void node_wide_take(struct node_wide *w, const struct event *ev);
/* A process (its pid term) that blocks schedulers has ended, which no call shows: it blocks no
 * more. */
void node_wide_blocker_ended(struct node_wide *w, uint64_t epid, uint64_t now_ns);
void node_wide_order(struct node_wide *w);
/* Were all of these calls seen?  Else the part of them that was: 0 < share < 1. */
double node_wide_share(const struct node_wide *w);

#endif
