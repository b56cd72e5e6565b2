/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A node that was recorded: a struct beam_node over the memory image of a real, stripped node of
 * one release (tests/data/images/remake, tools/memsnap --node), and what is in that node, as text.
 * The node wrote the same text of itself when it was recorded.
 *
 * The image holds the data that a survey reads, what stands right beside it, and no code.  At an
 * address that no process has stands a note, as text: the release, its build, where its tables are.
 */
#ifndef EBEAM_TESTS_RECORDED_H
#define EBEAM_TESTS_RECORDED_H

#include "base/strbuf.h"
#include "beam/node/node.h"

#define RECORDED_NOTE 0x1000 /* its address: below any that Linux lets a process map */

/* tests/data/images/node-otpNN.img.gz. */
struct beam_node *recorded_open(int otp);
void recorded_close(struct beam_node *n);

/* The note of a node, and the opposite; false: it is damaged, or names what is not known here. */
void recorded_note(const struct beam_node *n, struct strbuf *out);
bool recorded_take_note(struct beam_node *n, const char *note);

/* Adds a line for each process, frame, message, term, table, object, port, module and function
 * (recorded.erl has the same), in order of their bytes.  0 or negative errno. */
int recorded_survey(struct beam_node *n, struct strbuf *out, struct error *err);

#endif
