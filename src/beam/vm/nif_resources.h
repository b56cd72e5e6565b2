/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * NIF resources: memory that a NIF got of the VM, to which terms refer by magic references.  It is
 * a Binary for the VM, and counts as such in erlang:memory(binary).
 *
 * Other magic references are of ETS tables, atomics, compiled matches, ...: only what points to a
 * type of resources of a module is a NIF's.
 *
 * erl_binary.h, global.h, erl_nif.h, OTP 24 to 29.
 */
#ifndef EBEAM_BEAM_NIF_RESOURCES_H
#define EBEAM_BEAM_NIF_RESOURCES_H

#include "beam/node/node.h"

struct nif_resource {
	raddr addr; /* of the Binary */
	uint64_t size, refc;
	uint64_t module, type; /* atoms: who made its type, and the type's name */
};

/* Calls take() for those magic binaries that are NIF resources. */
void nif_resources_read(struct beam_node *n, const raddr *magic, size_t nr,
			void (*take)(void *arg, const struct nif_resource *r), void *arg);

#endif
