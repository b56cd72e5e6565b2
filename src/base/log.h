/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The only writer of stderr.  Level 0 = errors and warnings and the closing
 * summary, 1 (-v) = what ebeam does, 2 (-vv) = libbpf's and the verifier's text;
 * -q (level -1) leaves errors only.  Control characters are written as \x1b.
 */
#ifndef EBEAM_BASE_LOG_H
#define EBEAM_BASE_LOG_H

#include <stdarg.h>
#include <stdio.h>

enum log_level {
	LOG_LEVEL_ERROR = -1,
	LOG_LEVEL_WARN = 0,
	LOG_LEVEL_INFO = 1,
	LOG_LEVEL_DEBUG = 2,
};

void log_set_level(int level);
int log_level(void);
void log_print(enum log_level level, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* Calls take() with each line (without its newline) instead of writing it to stderr: for the time
 * in which the terminal shows a full screen.  NULL: stderr is used again. */
typedef void log_taker(void *arg, const char *line);
void log_set_taker(log_taker *take, void *arg);

/* As log_set_taker(), for lines that the calling thread logs. */
void log_set_thread_taker(log_taker *take, void *arg);

/* A line that the next one overwrites, for a terminal; "" erases it.  Nothing if TERM=dumb. */
void log_progress(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

#define log_error(...) log_print(LOG_LEVEL_ERROR, __VA_ARGS__)
#define log_warn(...)  log_print(LOG_LEVEL_WARN, __VA_ARGS__)
#define log_info(...)  log_print(LOG_LEVEL_INFO, __VA_ARGS__)
#define log_debug(...) log_print(LOG_LEVEL_DEBUG, __VA_ARGS__)

/* Writes the text as it is to standard error, without taking memory. */
void log_plain(const char *text);

#endif
