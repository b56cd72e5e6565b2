/* SPDX-License-Identifier: BSD-2-Clause */
/* The table of options, with the choices of some: see options.h. */
#include <errno.h>
#include <string.h>

#include "base/compiler.h"
#include "cmd/command/options.h"
#include "cmd/output/render.h"
#include "cmd/top/top.h"
#include "event/catalogue.h"
#include "model/profile/event_weights.h"

#define MODE_CPU "cpu"

/* ---- words ----------------------------------------------------------------------------------- */

static const char *word_color(unsigned int i)
{
	static const char *const words[] = {
		[COLOR_AUTO] = "auto", [COLOR_ALWAYS] = "always", [COLOR_NEVER] = "never"};

	return i < ARRAY_SIZE(words) ? words[i] : NULL;
}

static const char *word_by(unsigned int i)
{
	return i <= SNAPSHOT_BY_NONE ? snapshot_by_name((enum snapshot_by)i) : NULL;
}

static const char *word_native(unsigned int i)
{
	return i <= SNAPSHOT_NATIVE_NONE ? snapshot_native_name((enum snapshot_native)i) : NULL;
}

static const char *word_group_by(unsigned int i)
{
	return i < NR_PROCESS_GROUP_BY ? process_group_by_name((enum process_group_by)i) : NULL;
}

/* Words of --by of `msg`: as word_group_by(), but without functions, which messages do not have. */
static const char *word_message_by(unsigned int i)
{
	return i < PROCESS_GROUP_FUNCTION ? word_group_by(i) : NULL;
}

static const char *word_tags_by(unsigned int i)
{
	return i < NR_TAGS_BY ? tags_by_name((enum tags_by)i) : NULL;
}

static const char *word_rows(unsigned int i)
{
	return i < NR_MESSAGE_ROWS ? message_rows_name((enum message_rows)i) : NULL;
}

/* Words of --mode.  weight_modes[] has a row for each weight of a mode; these follow each other. */
static const char *word_mode(unsigned int i)
{
	const struct weight_mode *m = weight_modes;

	if (!i)
		return MODE_CPU;
	for (; m->name; m++) {
		if (!weight_mode_is_calls(m) &&
		    (m == weight_modes || strcmp(m[-1].name, m->name) != 0) && !--i)
			return m->name;
	}
	return NULL;
}

static const char *word_weight(unsigned int i)
{
	for (const struct weight_mode *m = weight_modes; m->name; m++) {
		if (m->weight && !weight_mode_is_calls(m) && !i--)
			return m->weight;
	}
	return NULL;
}

static const char *word_call_weight(unsigned int i)
{
	for (const struct weight_mode *m = weight_modes; m->name; m++) {
		if (weight_mode_is_calls(m) && !i--)
			return m->weight;
	}
	return NULL;
}

static const char *word_source(unsigned int i)
{
	static const char *const words[] = {
		[SOURCE_AUTO] = "auto", [SOURCE_UPROBE] = "uprobe", [SOURCE_USDT] = "usdt"};

	return i < ARRAY_SIZE(words) ? words[i] : NULL;
}

static const char *word_uprobes(unsigned int i)
{
	static const char *const words[] = {[ATTACH_BEST] = "auto", [ATTACH_PERF] = "perf"};

	return i < ARRAY_SIZE(words) ? words[i] : NULL;
}

static const char *word_schedulers(unsigned int i)
{
	static const char *const words[] = {
		[SCHED_WATCH_BEST] = "auto", [SCHED_WATCH_SAMPLES] = "samples"};

	return i < ARRAY_SIZE(words) ? words[i] : NULL;
}

static const char *word_panel(unsigned int i)
{
	return i < NR_TOP_PANELS ? top_panels[i].name : NULL;
}

static const char *word_frame_format(unsigned int i)
{
	static const char *const words[] = {"text", "svg"};

	return i < ARRAY_SIZE(words) ? words[i] : NULL;
}

static void values_events(struct strbuf *out, const struct command *command)
{
	uint64_t kinds = command && command->event_kinds ? command->event_kinds : UINT64_MAX;

	strbuf_addstr(out, " all");
	for (int group = 0; group < NR_EVENT_GROUPS; group++) {
		if (!(event_group_kinds((enum event_group)group) & ~kinds))
			strbuf_addf(out, " %s", event_group_name((enum event_group)group));
	}
	for (int kind = 0; kind < NR_EVENT_KINDS; kind++) {
		if (kinds >> kind & 1)
			strbuf_addf(out, " %s", event_rows[kind].name);
	}
}

#define LEAK "leak" /* a weight of --mode malloc */

int options_mode(const struct options *opt, const struct weight_mode **mode, struct error *err)
{
	const char *name = opt->mode ? opt->mode : MODE_CPU;
	const char *weight = opt->leak ? LEAK : opt->weight;

	*mode = weight_mode_find(name, weight);
	if (opt->leak && (!*mode || (opt->weight && strcmp(opt->weight, LEAK) != 0)))
		return error_set(err, ERROR_KIND_USAGE, -EINVAL,
				 "--leak goes with --mode malloc, and with no other --weight");
	if (weight && !*mode)
		return error_set(err, ERROR_KIND_USAGE, -EINVAL,
				 "--weight %s does not go with --mode %s", weight, name);
	return 0;
}

/* ---- values that are none of the types ------------------------------------------------------- */

static int set_limit(struct options *opt, const char *value, struct error *err)
{
	if (strlen(value) > 9 && strspn(value, "0123456789") == strlen(value))
		value = "999999999"; /* larger numbers mean no limit, too */
	if (!option_parse_number(value, 1, 999999999, &opt->limit))
		return option_bad_value(&option_rows[OPTION_LIMIT], value, err);
	return 0;
}

static int set_quiet(struct options *opt, const char *value, struct error *err)
{
	UNUSED(value);
	UNUSED(err);
	opt->verbosity = -1;
	return 0;
}

static int set_verbose(struct options *opt, const char *value, struct error *err)
{
	UNUSED(value);
	UNUSED(err);
	opt->verbosity = opt->verbosity < 0 ? 1 : opt->verbosity + 1;
	return 0;
}

static int set_events(struct options *opt, const char *value, struct error *err)
{
	const char *names[NR_EVENT_KINDS], *bad, *near;
	char word[64];
	size_t len;

	if (event_kinds_parse(value, &opt->events, &bad, &len) == 0)
		return 0;
	for (int kind = 0; kind < NR_EVENT_KINDS; kind++)
		names[kind] = event_rows[kind].name;
	len = MIN(len, sizeof(word) - 1);
	memcpy(word, bad, len);
	word[len] = '\0';
	near = options_nearest(word, names, NR_EVENT_KINDS);
	if (near)
		return error_set(err, ERROR_KIND_USAGE, -EINVAL,
				 "--events: there is no event '%s'; did you mean '%s'? (see 'ebeam "
				 "events --list')",
				 word, near);
	return error_set(err, ERROR_KIND_USAGE, -EINVAL,
			 "--events: there is no event '%s' (see 'ebeam events --list')", word);
}

/* ---- the table ------------------------------------------------------------------------------- */

#define AT(name)		  .member = offsetof(struct options, name)
#define FLAG(name)		  .type = OPTION_FLAG, AT(name)
#define TEXT(name)		  .type = OPTION_TEXT, AT(name)
#define TIME(name)		  .type = OPTION_TIME, AT(name)
#define NAME(name, words)	  .type = OPTION_NAME, AT(name), .word = words
#define CHOICE(name, words)	  .type = OPTION_CHOICE, AT(name), .word = words
#define NUMBER(name, least, most) .type = OPTION_NUMBER, AT(name), .min = (least), .max = (most)
#define PERCENT(name)		  .type = OPTION_PERCENT, AT(name)
#define OWN(function)		  .type = OPTION_OWN, .set = (function)

/* clang-format off */
const struct option_row option_rows[NR_OPTIONS] = {
	[OPTION_PID] = {'p', "pid", "NODE",
		"os pid or name of the node (rabbit@host or rabbit)",
		"the only node of this host", TEXT(pid)},
	[OPTION_DURATION] = {'d', "duration", "TIME",
		"how long: 10, 10s, 500ms, 2m, 1h, 1d",
		"until Ctrl-C", TIME(duration_ns),
		.want = "a time such as 10, 500ms, 10s, 2m, 1h or 1d"},
	[OPTION_FREQ] = {'F', "freq", "HZ",
		"samples a second on each CPU, 1 to 4999", "99", NUMBER(freq, 1, OPTIONS_MAX_FREQ),
		.want = "a number of samples a second, 1 to 4999"},
	[OPTION_OUTPUT] = {'o', "output", "FILE",
		"where to write; - is standard output", NULL, TEXT(output)},
	[OPTION_FORMAT] = {'f', "format", "FORMAT", /* checked by render_choose() */
		"format of the output", "by the suffix of -o, else html", TEXT(format),
		.values = render_formats},
	[OPTION_CAPTURE] = {0, "capture", "FILE",
		"also keep the recording itself, for 'ebeam report'", NULL, TEXT(capture)},
	[OPTION_LIMIT] = {'n', "limit", "N",
		"show at most N rows", NULL, OWN(set_limit), .want = "a number of rows, 1 or more"},
	[OPTION_SORT] = {'s', "sort", "COLUMN",
		"order by this column; -COLUMN reverses", NULL, TEXT(sort)},
	[OPTION_COLUMNS] = {'c', "columns", "A,B",
		"show these columns, in this order", NULL, TEXT(columns)},
	[OPTION_JSON] = {'j', "json", NULL,
		"JSON instead of text; 'ebeam help json' has its fields", NULL, FLAG(json)},
	[OPTION_QUIET] = {'q', "quiet", NULL,
		"errors only on standard error", NULL, OWN(set_quiet)},
	[OPTION_VERBOSE] = {'v', "verbose", NULL,
		"say what is being done; -vv says more", NULL, OWN(set_verbose)},
	[OPTION_COLOR] = {0, "color", "WHEN",
		"colours in text; NO_COLOR is honoured", "auto", CHOICE(color, word_color)},
	[OPTION_BY] = {0, "by", "GROUP",
		"what stacks are grouped by", "name", CHOICE(by, word_by)},
	[OPTION_GROUP_BY] = {0, "by", "GROUP",
		"what a row of the table is about", "name; of proc initial-call",
		CHOICE(group_by, word_group_by)},
	[OPTION_MESSAGE_BY] = {0, "by", "GROUP",
		"how processes are grouped", "name", CHOICE(group_by, word_message_by)},
	[OPTION_TAGS_BY] = {0, "by", "GROUP",
		"with --tags: what of a tag blocks are added up by", "module",
		CHOICE(tags_by, word_tags_by)},
	[OPTION_ROWS] = {0, "rows", "SIDE",
		"what a row of the table is about", "pair", CHOICE(rows, word_rows)},
	[OPTION_MODE] = {0, "mode", "MODE",
		"what is recorded", "cpu", NAME(mode, word_mode)},
	[OPTION_WEIGHT] = {0, "weight", "WHAT",
		"of --mode gc: time, or words that it reclaimed; of alloc: words that are "
		"allocated, or that survived, or bytes of large binaries; of malloc: bytes, or "
		"leak", "the first of these", NAME(weight, word_weight)},
	[OPTION_LEAK] = {0, "leak", NULL,
		"of --mode malloc: only what is never freed; the same as --weight leak", NULL,
		FLAG(leak)},
	[OPTION_CALL_WEIGHT] = {0, "weight", "WHAT",
		"of a flame graph: how many calls, or the time that they took", "calls",
		NAME(weight, word_call_weight)},
	[OPTION_LINES] = {0, "lines", NULL,
		"line numbers in frames", NULL, FLAG(lines)},
	[OPTION_KINDS] = {0, "kinds", NULL,
		"a root frame for what the thread was doing: gc, bif, poll, ...",
		NULL, FLAG(kinds)},
	[OPTION_NATIVE] = {0, "native", "FRAMES",
		"of C code: all frames, the innermost of each stack, or none", "full",
		CHOICE(native, word_native)},
	[OPTION_NO_NATIVE] = {0, "no-native", NULL,
		"the same as --native none", NULL, FLAG(no_native)},
	[OPTION_NO_KERNEL] = {0, "no-kernel", NULL,
		"leave out frames of the kernel", NULL, FLAG(no_kernel)},
	[OPTION_SYMBOLS] = {0, "symbol-source", NULL,
		"-f text: where the names of C functions come from", NULL, FLAG(symbol_source)},
	[OPTION_IDLE] = {0, "idle", NULL,
		"show waiting schedulers too", NULL, FLAG(idle)},
	[OPTION_MIN_COMPLETE] = {0, "min-complete", "PCT",
		"exit 7 if a smaller part of the samples has a complete stack",
		NULL, PERCENT(min_complete), .want = "a percentage, 0 to 100"},
	[OPTION_MAX_OVERHEAD] = {0, "max-overhead", "PCT",
		"the most CPU that probes and samples may cost the node", "1",
		PERCENT(max_overhead), .min = 1,
		.want = "a percentage above 0, up to 100"},
	[OPTION_DRY_RUN] = {0, "dry-run", NULL,
		"show what would be attached and its cost, then stop",
		NULL, FLAG(dry_run)},
	[OPTION_NO_REALTIME] = {0, "no-realtime", NULL,
		"no thread of ebeam is real-time or at nice -20",
		NULL, FLAG(no_realtime)},
	[OPTION_INPUT] = {'i', "input", "CAPTURE",
		"read this capture instead of a node", NULL, TEXT(input)},
	[OPTION_CORE] = {0, "core", "FILE",
		"look into this core file instead of a running node", NULL, TEXT(core)},
	[OPTION_EXE] = {0, "exe", "BEAM",
		"the beam.smp that left the core file", "found by its build id", TEXT(exe)},
	[OPTION_TRY_LAYOUT] = {0, "try-layout", NULL,
		"read an unknown release with the nearest known layout, if it passes all checks",
		NULL, FLAG(try_layout)},
	[OPTION_WHERE] = {0, "where", "EXPRESSION",
		"only rows for which this holds: 'message_queue_len > 1000'",
		NULL, TEXT(where)},
	[OPTION_WATCH] = {0, "watch", "TIME",
		"repeat the answer at this interval", NULL, TIME(watch_ns),
		.want = "a time such as 1, 500ms or 10s"},
	[OPTION_TREE] = {0, "tree", NULL,
		"as a tree: who was started by whom", NULL, FLAG(tree)},
	[OPTION_TERMS] = {0, "terms", NULL,
		"the Y registers of each frame too", NULL, FLAG(terms)},
	[OPTION_ELIXIR] = {0, "elixir", NULL,
		"terms as Elixir writes them", NULL, FLAG(elixir)},
	[OPTION_DEPTH] = {0, "depth", "N",
		"terms to this depth; deeper is ...", NULL, NUMBER(depth, 1, 1000000),
		.want = "a number of levels, 1 to 1000000"},
	[OPTION_SIZE] = {0, "size", "BYTES",
		"text of one term; more is ...", NULL, NUMBER(size, 1, 999999999),
		.want = "a number of bytes, 1 to 999999999"},
	[OPTION_HEAP] = {0, "heap", NULL,
		"what the heap is full of, by type and by largest terms",
		NULL, FLAG(heap)},
	[OPTION_MAILBOX] = {0, "mailbox", NULL,
		"what the mailbox is full of, by the shape of messages",
		NULL, FLAG(mailbox)},
	[OPTION_PAUSE] = {0, "pause", NULL,
		"stop all threads of the node while its memory is copied", NULL, FLAG(pause)},
	[OPTION_WAITS] = {0, "waits", NULL,
		"who waits for whom, and who is waited for most", NULL, FLAG(waits)},
	[OPTION_OLD_CODE] = {0, "old-code", NULL,
		"which processes still run old code", NULL, FLAG(old_code)},
	[OPTION_ATOMS] = {0, "atoms", NULL,
		"the newest atoms", NULL, FLAG(atoms)},
	[OPTION_CARRIERS] = {0, "carriers", NULL,
		"how full the allocators' carriers are, and who has the blocks in them", NULL,
		FLAG(carriers)},
	[OPTION_TAGS] = {0, "tags", NULL,
		"blocks by who allocated them, and type", NULL,
		FLAG(tags)},
	[OPTION_PERSISTENT] = {0, "persistent-terms", NULL,
		"keys of persistent terms, and what each takes", NULL, FLAG(persistent_terms)},
	[OPTION_SHOW_SECRETS] = {0, "show-secrets", NULL,
		"do not mask values whose keys look like passwords or tokens",
		NULL, FLAG(show_secrets)},
	[OPTION_EVENTS] = {'e', "events", "KIND,...",
		"which events, by name or group", "all", OWN(set_events), .values = values_events},
	[OPTION_STACK] = {0, "stack", NULL,
		"the Erlang stack with each event", NULL, FLAG(stack)},
	[OPTION_PROCESS] = {0, "process", "PID",
		"only events of this process: <0.80.0>, or its registered name",
		NULL, TEXT(process)},
	[OPTION_LONGER_THAN] = {0, "longer-than", "TIME",
		"only what took longer: 1ms, 500us, 2s", NULL, TIME(longer_than_ns),
		.want = "a time such as 1ms, 500us, 2s"},
	[OPTION_INITIAL_CALL] = {0, "initial-call", "M:F/A",
		"only events of processes that began with this function",
		NULL, TEXT(initial_call)},
	[OPTION_FROM] = {0, "from", "PID",
		"only messages from this process: <0.80.0>, or its registered name",
		NULL, TEXT(from)},
	[OPTION_TO] = {0, "to", "PID",
		"only messages to this process, or to this name of other nodes",
		NULL, TEXT(to)},
	[OPTION_LIST] = {0, "list", NULL,
		"list the events with their fields, or the pages of the manual", NULL,
		FLAG(list)},
	[OPTION_SOURCE] = {0, "source", "WHICH",
		"which probes to use for events that a VM has as USDT probes, too",
		"auto", CHOICE(source, word_source)},
	[OPTION_UPROBES] = {0, "uprobes", "HOW",
		"how uprobes are placed: many by one link where the kernel can, or each by a perf "
		"event", "auto", CHOICE(uprobes, word_uprobes)},
	[OPTION_SCHEDULERS] = {0, "schedulers", "HOW",
		"utilization as the VM counts it, where it does, or by samples alone",
		"auto", CHOICE(schedulers, word_schedulers)},
	[OPTION_BTF] = {0, "btf", "FILE",
		"file with the BTF of this kernel (its types), if the kernel does not provide it",
		"/sys/kernel/btf/vmlinux", TEXT(btf)},
	[OPTION_FORCE] = {0, "force", NULL,
		"use probes even where ebeam refuses them because they are not known to be safe",
		NULL, FLAG(force)},
	[OPTION_NOW] = {0, "now", NULL,
		"what each scheduler does at this moment, by memory and /proc alone",
		NULL, FLAG(now)},
	[OPTION_IO] = {0, "io", NULL,
		"watch traffic for a while: bytes and calls, by port and driver",
		NULL, FLAG(io)},
	[OPTION_BATCH] = {'b', "batch", NULL,
		"plain frames one after the other, -n of them", NULL, FLAG(batch)},
	[OPTION_RATE] = {0, "rate", "HZ",
		"limit of probe hits per second and scheduler", "10000",
		NUMBER(rate, 1, OPTION_RATE_MAX),
		.want = "a number of hits a second, 1 to 1000000"},
	[OPTION_HISTOGRAM] = {0, "histogram", NULL,
		"how long the calls took, instead of lines", NULL, FLAG(histogram)},
	[OPTION_SIZES] = {0, "histogram", NULL,
		"with --tags: the sizes of blocks, instead of the table", NULL, FLAG(histogram)},
	[OPTION_COUNT] = {0, "count", NULL,
		"how many calls, by caller, or events, by kind, instead of lines", NULL,
		FLAG(count)},
	[OPTION_ARGS] = {0, "args", NULL,
		"shapes of arguments, most frequent first, and the slowest, instead of lines",
		NULL, FLAG(args)},
	[OPTION_PANEL] = {0, "panel", "NAME",
		"the panel that is shown first", "processes", NAME(panel, word_panel)},
	[OPTION_FRAME_FORMAT] = {'f', "format", "FORMAT",
		"frames as text, or the last one as a picture (svg)",
		"by the suffix of -o, else text", NAME(format, word_frame_format)},
	[OPTION_MAN] = {0, "man", NULL,
		"a page of the manual, as troff source", NULL, FLAG(man)},
	[OPTION_MARKDOWN] = {0, "markdown", NULL,
		"as a Markdown table: the commands, or the events", NULL, FLAG(markdown)},
	[OPTION_HELP] = {'h', "help", NULL,
		"show this help", NULL, FLAG(help)},
};
/* clang-format on */
