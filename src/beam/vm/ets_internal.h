/* SPDX-License-Identifier: BSD-2-Clause */
/* Bits of DbTableCommon.status and .type, erl_db_util.h, OTP 25 to 29; for ets*.c and tests. */
#ifndef EBEAM_BEAM_ETS_INTERNAL_H
#define EBEAM_BEAM_ETS_INTERNAL_H

#define ETS_STATUS_PRIVATE	    (1u << 0)
#define ETS_STATUS_PROTECTED	    (1u << 1)
#define ETS_STATUS_PUBLIC	    (1u << 2)
#define ETS_STATUS_SET		    (1u << 4)
#define ETS_STATUS_BAG		    (1u << 5)
#define ETS_STATUS_DUPLICATE_BAG    (1u << 6)
#define ETS_STATUS_ORDERED_SET	    (1u << 7)
#define ETS_STATUS_CA_ORDERED_SET   (1u << 8)
#define ETS_STATUS_FINE_LOCKED	    (1u << 9)
#define ETS_STATUS_FREQ_READ	    (1u << 10)
#define ETS_STATUS_NAMED	    (1u << 11)
#define ETS_STATUS_EXPLICIT_LOCKS   (1u << 13)
#define ETS_STATUS_FINE_LOCKED_AUTO (1u << 14)
#define ETS_STATUS_TYPES                                                                           \
	(ETS_STATUS_SET | ETS_STATUS_BAG | ETS_STATUS_DUPLICATE_BAG | ETS_STATUS_ORDERED_SET |     \
	 ETS_STATUS_CA_ORDERED_SET)

#endif
