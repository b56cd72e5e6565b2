/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * An overlay that makes reads fail: every read that touches one range, and the nth read of all.
 * It has no batch read, so each range of a batch counts as one read.
 */
#ifndef EBEAM_TESTS_MEM_FAULTY_H
#define EBEAM_TESTS_MEM_FAULTY_H

#include <stddef.h>
#include <stdint.h>

#include "target/mem.h"

/* Fails reads that touch [fault, fault + fault_size) with -EFAULT, and the nth read (1..) if
 * nth > 0.  Borrows `inner`. */
struct mem *mem_open_faulty(struct mem *inner, raddr fault, size_t fault_size, uint64_t nth);

#endif
