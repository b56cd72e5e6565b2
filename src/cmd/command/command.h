/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * One command = one row of commands[]: dispatch, option parsing, help, completion, the man page
 * and the README list all come from it.
 */
#ifndef EBEAM_CMD_COMMAND_H
#define EBEAM_CMD_COMMAND_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "base/error.h"
#include "model/process/process_group.h"
#include "model/profile/snapshot.h"
#include "model/stats/message_stats.h"
#include "probe/attach/attach.h"
#include "probe/site/sources.h"
#include "probe/watch/sched_watch.h"
#include "view/inspect/tags_view.h"

#define OPTION_RATE_MAX 1000000 /* hits a second: --rate */

/* All options of the program; struct command names those that a command accepts. */
enum option_id {
	OPTION_PID,	     /* -p, --pid N|NAME */
	OPTION_DURATION,     /* -d, --duration T */
	OPTION_FREQ,	     /* -F, --freq HZ */
	OPTION_OUTPUT,	     /* -o, --output FILE */
	OPTION_FORMAT,	     /* -f, --format F */
	OPTION_CAPTURE,	     /* --capture FILE */
	OPTION_LIMIT,	     /* -n, --limit N */
	OPTION_SORT,	     /* -s, --sort COLUMN */
	OPTION_COLUMNS,	     /* -c, --columns A,B */
	OPTION_JSON,	     /* -j, --json */
	OPTION_QUIET,	     /* -q, --quiet */
	OPTION_VERBOSE,	     /* -v, --verbose (may repeat) */
	OPTION_COLOR,	     /* --color auto|always|never */
	OPTION_BY,	     /* --by GROUP */
	OPTION_GROUP_BY,     /* --by GROUP, of tables of events */
	OPTION_MESSAGE_BY,   /* --by GROUP: what counts as one sender or receiver */
	OPTION_TAGS_BY,	     /* --by GROUP: what of a tag the origin of blocks is */
	OPTION_ROWS,	     /* --rows pair|sender|receiver */
	OPTION_MODE,	     /* --mode cpu|wall|wait|gc|msg|sched|malloc */
	OPTION_WEIGHT,	     /* --weight time|words|bytes|leak */
	OPTION_LEAK,	     /* --leak: the same as --weight leak */
	OPTION_CALL_WEIGHT,  /* --weight calls|time, of trace */
	OPTION_LINES,	     /* --lines */
	OPTION_KINDS,	     /* --kinds: root frame per kind */
	OPTION_NATIVE,	     /* --native full|leaf|none */
	OPTION_NO_NATIVE,    /* --no-native */
	OPTION_NO_KERNEL,    /* --no-kernel */
	OPTION_SYMBOLS,	     /* --symbol-source */
	OPTION_IDLE,	     /* --idle */
	OPTION_MIN_COMPLETE, /* --min-complete PCT */
	OPTION_MAX_OVERHEAD, /* --max-overhead PCT */
	OPTION_DRY_RUN,	     /* --dry-run */
	OPTION_NO_REALTIME,  /* --no-realtime */
	OPTION_INPUT,	     /* -i, --input CAPTURE */
	OPTION_CORE,	     /* --core FILE */
	OPTION_EXE,	     /* --exe BEAM */
	OPTION_TRY_LAYOUT,   /* --try-layout */
	OPTION_WHERE,	     /* --where EXPRESSION */
	OPTION_WATCH,	     /* --watch T */
	OPTION_TREE,	     /* --tree */
	OPTION_TERMS,	     /* --terms */
	OPTION_ELIXIR,	     /* --elixir */
	OPTION_DEPTH,	     /* --depth N */
	OPTION_SIZE,	     /* --size BYTES */
	OPTION_HEAP,	     /* --heap */
	OPTION_MAILBOX,	     /* --mailbox */
	OPTION_WAITS,	     /* --waits */
	OPTION_PAUSE,	     /* --pause */
	OPTION_OLD_CODE,     /* --old-code */
	OPTION_ATOMS,	     /* --atoms */
	OPTION_CARRIERS,     /* --carriers */
	OPTION_TAGS,	     /* --tags */
	OPTION_PERSISTENT,   /* --persistent-terms */
	OPTION_SHOW_SECRETS, /* --show-secrets */
	OPTION_EVENTS,	     /* -e, --events KIND,... */
	OPTION_STACK,	     /* --stack */
	OPTION_PROCESS,	     /* --process PID|NAME */
	OPTION_LONGER_THAN,  /* --longer-than TIME */
	OPTION_INITIAL_CALL, /* --initial-call M:F/A */
	OPTION_FROM,	     /* --from PID|NAME */
	OPTION_TO,	     /* --to PID|NAME */
	OPTION_LIST,	     /* --list */
	OPTION_SOURCE,	     /* --source WHICH */
	OPTION_UPROBES,	     /* --uprobes auto|perf */
	OPTION_SCHEDULERS,   /* --schedulers auto|samples */
	OPTION_BTF,	     /* --btf FILE */
	OPTION_FORCE,	     /* --force */
	OPTION_NOW,	     /* --now */
	OPTION_IO,	     /* --io */
	OPTION_BATCH,	     /* -b, --batch */
	OPTION_PANEL,	     /* --panel NAME */
	OPTION_FRAME_FORMAT, /* -f, --format text|svg, of frames of top */
	OPTION_RATE,	     /* --rate HZ */
	OPTION_HISTOGRAM,    /* --histogram */
	OPTION_SIZES,	     /* --histogram of the sizes of blocks */
	OPTION_COUNT,	     /* --count */
	OPTION_ARGS,	     /* --args */
	OPTION_MAN,	     /* --man (help only) */
	OPTION_MARKDOWN,     /* --markdown: the tables of commands and events */
	OPTION_HELP,	     /* -h, --help */
	NR_OPTIONS
};

/* A set of options; OPTIONS(OPT(PID), OPT(JSON)) makes one. */
struct option_set {
	bool has[NR_OPTIONS]; /* index = enum option_id */
};
#define OPT(id) [OPTION_##id] = true
#define OPTIONS(...)                                                                               \
	{                                                                                          \
		{                                                                                  \
			__VA_ARGS__                                                                \
		}                                                                                  \
	}

enum color_mode { COLOR_AUTO, COLOR_ALWAYS, COLOR_NEVER };

/* Parsed options, with defaults for those not given. */
struct options {
	const char *pid;      /* NULL = not given: the only node of the host */
	uint64_t duration_ns; /* 0 = until Ctrl-C */
	unsigned int freq;    /* Hz, 1 .. 4999; default 99 */
	const char *output, *format, *capture, *sort, *columns, *input;
	const char *core, *exe, *where;
	const char *process, *initial_call, *from, *to;
	const char *mode, *weight; /* see options_mode() */
	uint64_t events;	   /* bit set of enum event_kind; 0 = not given */
	bool stack, list, now, io, batch;
	bool histogram, count, args; /* of trace: a table instead of a line per call */
	enum tags_by tags_by;
	unsigned int rate; /* probe hits a second and thread; 0 = not given */
	const char *panel; /* --panel of top */
	enum source_choice source;
	enum attach_way uprobes;
	enum sched_watch_how schedulers;
	const char *btf;
	bool no_realtime, force, try_layout;
	uint64_t watch_ns; /* interval of repeated output; 0 = output once */
	/* Limits of printed terms: levels of nesting, bytes of text; 0 = the command's default. */
	unsigned int depth, size;
	bool tree, terms, elixir, heap, mailbox, waits, pause, old_code, atoms, carriers, tags;
	bool show_secrets, persistent_terms;
	unsigned int limit; /* 0 = not given */
	bool leak, json, lines, kinds, no_native, no_kernel, symbol_source, idle, dry_run, man,
		markdown, help;
	int verbosity; /* log level: -1 = -q, n = n times -v */
	enum color_mode color;
	enum snapshot_by by;
	enum snapshot_native native;
	enum process_group_by group_by;
	uint64_t longer_than_ns; /* 0 = not given */
	enum message_rows rows;
	double min_complete; /* least percent of complete stacks; 0 = any */
	double max_overhead; /* percent of the node's CPU time; 100 = no limit */
	struct option_set given;
};

/* Do the options restrict events to some processes? */
static inline bool options_choose_processes(const struct options *opt)
{
	return opt->process || opt->initial_call;
}

/* Which values of --format a command takes; see render.h. */
enum {
	FORMATS_TEXT = 1,      /* tables of the hottest functions and processes */
	FORMATS_EXPORT = 2,    /* every exporter */
	FORMATS_DIFF = 4,      /* the exporters that can write a difference */
	FORMATS_CAPTURE = 8,   /* a capture */
	FORMATS_TIMELINE = 16, /* exporters of time lines */
	FORMATS_PAGE = 32,     /* html and json that the command writes itself */
};

struct command_context {
	const struct command *command;
	struct options opt;
	int nr_args;
	char **args; /* arguments that are not options */
	FILE *out;   /* stdout; flushed and checked by the caller */
};

struct command {
	const char *name;
	const char *summary;	   /* one line */
	const char *args;	   /* "FILE", "A B", "[COMMAND]", "" */
	const char *description;   /* paragraphs for help and man page */
	struct option_set options; /* -q -v -h --color are always there */
	int min_args, max_args;
	unsigned int formats; /* bit set of FORMATS_*; 0 if -f is not among the options */
	/* Kinds of events that -e accepts, 0 = all; and the default of -e, NULL = all of these. */
	uint64_t event_kinds;
	const char *event_default;
	const char *format_default; /* of -f, as shown in help; NULL = that in option_rows[] */
	const char *freq_default;   /* of -F, likewise */
	/* Of -d and -n, likewise; for commands that end by themselves. */
	const char *duration_default, *limit_default;
	/* 0, or negative errno with *err set: err->kind is the exit code.  A positive number is an
	 * exit code of its own (7, 130) with nothing more to print. */
	int (*run)(struct command_context *ctx, struct error *err);
};

extern const struct command commands[]; /* ends with name == NULL */

/* Finds a command by name or unambiguous prefix; else NULL, *err has the nearest name. */
const struct command *command_find(const char *name, struct error *err);

/* Options of all commands with probes: how probes are attached on this host. */
#define OPTIONS_PROBES OPT(NO_REALTIME), OPT(UPROBES), OPT(BTF), OPT(FORCE)
/* Options of 'port' that need --io. */
#define OPTIONS_PORT_IO                                                                            \
	OPT(DURATION), OPT(WATCH), OPT(PROCESS), OPT(INPUT), OPT(OUTPUT), OPT(MAX_OVERHEAD),       \
		OPT(DRY_RUN), OPT(SOURCE), OPTIONS_PROBES

int cmd_list(struct command_context *ctx, struct error *err);
int cmd_doctor(struct command_context *ctx, struct error *err);
int cmd_record(struct command_context *ctx, struct error *err);
int cmd_report(struct command_context *ctx, struct error *err);
int cmd_diagnose(struct command_context *ctx, struct error *err);
int cmd_dist(struct command_context *ctx, struct error *err);
int cmd_locks(struct command_context *ctx, struct error *err);
int cmd_crashdump(struct command_context *ctx, struct error *err);
int cmd_dump(struct command_context *ctx, struct error *err);
int cmd_diff(struct command_context *ctx, struct error *err);
int cmd_env(struct command_context *ctx, struct error *err);
int cmd_events(struct command_context *ctx, struct error *err);
int cmd_alloc(struct command_context *ctx, struct error *err);
int cmd_gc(struct command_context *ctx, struct error *err);
int cmd_core(struct command_context *ctx, struct error *err);
int cmd_bin(struct command_context *ctx, struct error *err);
int cmd_ets(struct command_context *ctx, struct error *err);
int cmd_inspect(struct command_context *ctx, struct error *err);
int cmd_mem(struct command_context *ctx, struct error *err);
int cmd_mem_carriers(struct command_context *ctx, struct error *err); /* mem --carriers */
int cmd_mem_tags(struct command_context *ctx, struct error *err);     /* mem --tags */
int cmd_msg(struct command_context *ctx, struct error *err);
int cmd_mod(struct command_context *ctx, struct error *err);
int cmd_port(struct command_context *ctx, struct error *err);
int cmd_proc(struct command_context *ctx, struct error *err);
int cmd_port_io(struct command_context *ctx, struct error *err); /* port --io */
int cmd_ps(struct command_context *ctx, struct error *err);
int cmd_trace(struct command_context *ctx, struct error *err);
int cmd_top(struct command_context *ctx, struct error *err);
int cmd_sched(struct command_context *ctx, struct error *err);
int cmd_sched_now(struct command_context *ctx, struct error *err); /* sched --now */
int cmd_version(struct command_context *ctx, struct error *err);
int cmd_help(struct command_context *ctx, struct error *err);
int cmd_completions(struct command_context *ctx, struct error *err);

#endif
