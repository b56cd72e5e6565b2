/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Who an executable is: a BEAM or not, which release, flavour and build.  Everything is read from
 * the file itself (exported etp_* constants, the format string of system_version, the config.h text
 * that every emulator carries), never from names, paths or the command line.
 */
#ifndef EBEAM_BEAM_IDENTITY_H
#define EBEAM_BEAM_IDENTITY_H

#include <stdbool.h>
#include <stddef.h>

#include "base/strbuf.h"
#include "beam/node/node.h"

/* 0, or -ENOENT if the file is no BEAM emulator.  Cheap for other programs: they are recognised by
 * one missing symbol. */
int identity_read(struct beam_identity *id, const struct elf_file *e);

/* The emulator among the files that a process has mapped: that at `entry`, or another one, as a
 * dynamic loader can be started with the emulator as its argument.  A mapping of objects_maps(), or
 * NULL. */
const struct proc_map *identity_find(struct beam_identity *id, struct objects *o, raddr entry);

/* Parses the format string of erlang:system_info(system_version), which is not the text that
 * Erlang shows: it still has its conversions ("Erlang/OTP 29%s [erts-17.1.1] ... [jit:ns%s]").
 * False if it is another text; *id is then unchanged. */
bool identity_parse_version(struct beam_identity *id, const char *text, size_t len);

/* True if config.h, as text, defines the macro. */
bool identity_config_defines(const char *config, size_t len, const char *macro);

/* Adds the releases that ebeam knows: "OTP 25, 27 and 29". */
void identity_list_releases(struct strbuf *out);

/* True if ebeam supports such a build, of whichever release, else `why` says what it is and what to
 * do. */
bool identity_is_supported(const struct beam_identity *id, char *why, size_t size);
/* NULL, or a build whose structs differ from those of the tables: "a debug build". */
const char *identity_other_build(const struct beam_identity *id);

#endif
