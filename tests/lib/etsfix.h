/* SPDX-License-Identifier: BSD-2-Clause */
/* ETS tables in a node that does not run, with two schedulers. */
#ifndef EBEAM_TESTS_ETSFIX_H
#define EBEAM_TESTS_ETSFIX_H

#include "beam/vm/ets_internal.h"
#include "beam/vm/ets_objects.h"
#include "lib/fakenode.h"

#define NR_SCHED 2
#define OWNER	 0x2983ull
#define SMALL(i) (((uint64_t)(i) << 4) | 0xf)
#define SET	 (ETS_STATUS_SET | ETS_STATUS_PROTECTED)
#define TREE	 (ETS_STATUS_ORDERED_SET | ETS_STATUS_PUBLIC)

struct etsfix {
	struct fakenode *f;
	raddr sched[NR_SCHED];
	struct ets_list list;
	struct ets_objects objects;
};

/* Set-up and teardown of a test: *state is a struct etsfix. */
int etsfix_open_25(void **state);
int etsfix_open_27(void **state);
int etsfix_open_29(void **state);
int etsfix_close(void **state);
#define ETSFIX_TEST(test, otp)                                                                     \
	cmocka_unit_test_setup_teardown(test, etsfix_open_##otp, etsfix_close)

const struct beam_layout *etsfix_layout(const struct etsfix *w);
void etsfix_u64(struct etsfix *w, raddr base, int32_t field, uint64_t value);
void etsfix_u32(struct etsfix *w, raddr base, int32_t field, uint32_t value);
/* Where a scheduler has its list of tables, and how many there are. */
raddr etsfix_list(const struct etsfix *w, int sched);
raddr etsfix_count(const struct etsfix *w, int sched);

/* A table with key position 1, without heir, #Ref<0.11.22.33>, in no list. */
raddr etsfix_make(struct etsfix *w, const char *name, uint32_t status, int64_t size, int64_t bytes);
/* The tables of a scheduler, in a circle. */
void etsfix_link(struct etsfix *w, int sched, const raddr *tables, size_t nr);

#endif
