/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Identifies an executable: is it a BEAM, of which release, flavour and build?  Everything is read
 * from the file itself (exported etp_* constants, the format string of system_version, the config.h
 * text that every emulator contains), never from names, paths or the command line.
 */
#ifndef EBEAM_BEAM_IDENTITY_H
#define EBEAM_BEAM_IDENTITY_H

#include <stdbool.h>
#include <stddef.h>

#include "base/strbuf.h"
#include "beam/node/node.h"

/* 0, or -ENOENT if the file is no BEAM emulator.  Fast for other programs: a symbol is missing. */
int identity_read(struct beam_identity *id, const struct elf_file *e);

/* Finds the emulator among the files that a process has mapped: the file at `entry`, or another
 * one, as a dynamic loader can be started with the emulator as its argument.  Returns a mapping of
 * objects_maps(), or NULL. */
const struct proc_map *identity_find(struct beam_identity *id, struct objects *o, raddr entry);

/* Parses the format string of erlang:system_info(system_version), which still has conversions
 * ("Erlang/OTP 29%s [erts-17.1.1] ... [jit:ns%s]").  False, with *id unchanged: another text. */
bool identity_parse_version(struct beam_identity *id, const char *text, size_t len);

/* True if config.h, as text, defines the macro. */
bool identity_config_defines(const char *config, size_t len, const char *macro);

/* Appends the releases that ebeam supports: "OTP 25, 27 and 29". */
void identity_list_releases(struct strbuf *out);

/* True if ebeam supports this kind of build, provided that it has a layout for the release; else
 * `why` has a text of what the build is and what to do. */
bool identity_is_supported(const struct beam_identity *id, char *why, size_t size);
/* NULL, or the kind of a build whose structs differ from those of the tables: "a debug build". */
const char *identity_other_build(const struct beam_identity *id);

#endif
