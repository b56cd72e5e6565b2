/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Work in which all processes or schedulers of a node take part, by calls of the BIFs that do it,
 * and who asked for it.
 *
 *   literal areas   A module that was purged and a persistent term that was replaced or erased
 *                   leave terms to which processes may refer.  The literal area collector takes one
 *                   area after the other: release_area_switch/0 ends one and begins the next, for
 *                   which each process searches its heap (erts_literal_area_collector.erl).
 *   code purge      Each process searches its stack for old code, between purge_module(M, prepare)
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
	bool returns; /* its return is needed, too */
};
extern const struct node_wide_bif node_wide_bifs[];
extern const unsigned int nr_node_wide_bifs;

#define NODE_WIDE_ASKERS 64u

struct node_wide_asker {
	char *what;	   /* "persistent_term:put/2", "purge of m", "m", "block" */
	char *key;	   /* of the persistent term, as it is written, at most; else NULL */
	uint32_t process;  /* 0: not known */
	uint32_t function; /* that called the BIF; 0 = not known */
	uint64_t nr;
};

struct node_wide_holder {
	uint64_t epid; /* of the blocking process */
	uint32_t nr;   /* blocks minus unblocks */
};

struct node_wide_count {
	uint64_t nr, total_ns, max_ns;	    /* finished work */
	VEC(struct node_wide_asker) askers; /* most first, once node_wide_order() was called */
	uint64_t others;		    /* work for askers beyond NODE_WIDE_ASKERS */
	uint64_t since_ns;		    /* begin of the current work; 0 = none */
	uint64_t epid;			    /* of the process that does the work */
};

struct node_wide {
	const struct event_stream *stream;
	struct node_wide_count work[NR_NODE_WIDE];
	uint64_t last_ns; /* duration of the last literal area that ended; 0 = not known */
	uint64_t tripped; /* event_stream_calls.tripped, as last seen */
	uint64_t lost;	  /* lost events, as last seen */
	VEC(struct node_wide_holder) blockers;
	bool completes; /* the current purge has reached purge_module(M, complete) */
	bool unblocks;	/* the last system_flag() was an unblock */
};

void node_wide_open(struct node_wide *w, const struct event_stream *stream);
void node_wide_close(struct node_wide *w);
/* Resets counts for the next interval; work under way counts from now_ns on. */
void node_wide_restart(struct node_wide *w, uint64_t now_ns);
/* A call of one of the BIFs, or its return; other calls are ignored.  A literal area is
 * attributed to every caller of a BIF that may leave one, whether or not it did. */
void node_wide_take(struct node_wide *w, const struct event *ev);
/* A process (its pid term) has ended: if it blocked schedulers, it no longer does.  No call shows
 * that. */
void node_wide_blocker_ended(struct node_wide *w, uint64_t epid, uint64_t now_ns);
void node_wide_order(struct node_wide *w);
/* Share of the calls that was seen: 0 < share <= 1. */
double node_wide_share(const struct node_wide *w);

#endif
