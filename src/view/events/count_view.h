/* SPDX-License-Identifier: BSD-2-Clause */
/* The answer of `ebeam events --count`: how often each kind of event happened. */
#ifndef EBEAM_VIEW_COUNT_VIEW_H
#define EBEAM_VIEW_COUNT_VIEW_H

#include "model/stats/event_rates.h"
#include "view/table/answer_view.h"

struct count_answer {
	const struct event_rates *rates; /* borrowed */
	bool all;			 /* text has kinds without events, too */
	uint64_t start_ns, duration_ns;	 /* start_ns is since 1970 */
};

extern const struct answer_view count_view; /* of struct count_answer */

#endif
