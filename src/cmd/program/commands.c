/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The table of commands, and the search in it.  To add a command: a row here, a function in a file
 * of its own, a line in command.h.  Help, completion, the manual page and the list in the README
 * are made from the row.
 *
 * Descriptions are paragraphs, with an empty line between them; they are wrapped where they are
 * shown.  A paragraph whose lines start with two spaces is shown as it stands.
 */
#include <errno.h>
#include <string.h>

#include "base/strbuf.h"
#include "cmd/command/command.h"
#include "cmd/command/options.h"
#include "cmd/program/command_texts.h"
#include "model/stats/message_stats.h"
#include "model/stats/spawn_stats.h"

#define OPTIONS_SNAPSHOT                                                                           \
	OPT(BY), OPT(LINES), OPT(KINDS), OPT(NATIVE), OPT(NO_NATIVE), OPT(NO_KERNEL), OPT(IDLE)
#define OPTIONS_RENDER OPTIONS_SNAPSHOT, OPT(OUTPUT), OPT(FORMAT), OPT(JSON), OPT(LIMIT)
#define OPTIONS_TABLE  OPT(JSON), OPT(COLUMNS), OPT(SORT), OPT(LIMIT)

#define OPTIONS_NODE OPT(PID), OPT(TRY_LAYOUT)
/* Of commands that only read memory: of a live node, a hung one, or a core file. */
#define OPTIONS_TARGET OPTIONS_NODE, OPT(CORE), OPT(EXE)
/* Of commands that make statistics of events, of a node or a capture. */
#define OPTIONS_EVENT_VIEW                                                                         \
	OPTIONS_TABLE, OPTIONS_NODE, OPT(DURATION), OPT(PROCESS), OPT(INITIAL_CALL), OPT(OUTPUT),  \
		OPT(INPUT), OPT(WATCH), OPT(MAX_OVERHEAD), OPT(DRY_RUN), OPT(SOURCE),              \
		OPTIONS_PROBES
/* How terms are shown. */
#define OPTIONS_TERM OPT(ELIXIR), OPT(DEPTH), OPT(SIZE)

const struct command commands[] = {
	{
		.name = "list",
		.summary = "which BEAM nodes run on this host, containers included",
		.args = "",
		.description =
			"One row for each Erlang or Elixir node that can be seen from here. All "
			"facts are read from the node's executable, its memory and /proc, none "
			"from its "
			"command line. A node that ebeam cannot read is listed, too, with the "
			"reason. If ebeam does not know the release, SUPPORTED says how it is "
			"read: 'by DWARF, untested release'.",
		.options = OPTIONS(OPTIONS_TABLE, OPT(TRY_LAYOUT)),
		.run = cmd_list,
	},
	{
		.name = "doctor",
		.summary = "what works here, what does not, why, and the fix",
		.args = "",
		.description =
			"Checks the kernel, the privileges of this process and every node (or the "
			"one that -p names), without leaving anything behind. Each feature is "
			"available, degraded or missing; where it is not available the reason and "
			"the fix are given. If there are several nodes, checks that passed are "
			"only counted; -p or -v shows each.\n\n"
			"Exits 0 if 'ebeam record' will work, otherwise with the code that it "
			"would exit with: 4 (privilege), 5 (kernel) or 6 (OTP release or build).",
		.options = OPTIONS(OPTIONS_TARGET, OPT(JSON), OPT(BTF)),
		.run = cmd_doctor,
	},
	{
		.name = "diagnose",
		.summary = "what is wrong with a node: findings, with evidence, in 5 seconds",
		.args = "",
		.description = describe_diagnose,
		.options =
			OPTIONS(OPTIONS_TARGET, OPT(DURATION), OPT(JSON), OPT(OUTPUT), OPT(FORMAT)),
		.formats = FORMATS_TEXT | FORMATS_PAGE,
		.format_default = "by the suffix of -o, else text",
		.duration_default = "5s",
		.run = cmd_diagnose,
	},
	{
		.name = "record",
		.summary = "where a node spends CPU, GC, messages, time, malloc: a flame graph",
		.args = "",
		.description = describe_record,
		.options =
			OPTIONS(OPTIONS_RENDER, OPTIONS_NODE, OPT(DURATION), OPT(FREQ), OPT(MODE),
				OPT(WEIGHT), OPT(LEAK), OPT(SYMBOLS), OPT(MIN_COMPLETE),
				OPT(MAX_OVERHEAD), OPTIONS_PROBES, OPT(DRY_RUN), OPT(CAPTURE)),
		.formats = FORMATS_TEXT | FORMATS_EXPORT | FORMATS_CAPTURE | FORMATS_TIMELINE,
		.run = cmd_record,
	},
	{
		.name = "report",
		.summary = "show a capture again, in any format, with any grouping",
		.args = "FILE",
		.description =
			"Needs neither root nor the node: a capture holds all names. The result "
			"is the same, byte for byte, as if 'ebeam record' had written that "
			"format (of --mode sched: with --max-overhead 100).\n\n"
			"  ebeam report busy.ebeam\n"
			"  ebeam report busy.ebeam -f text -n 30\n"
			"  ebeam report busy.ebeam --by process --lines -o busy.svg\n\n"
			"--mode weighs the events of a capture that 'ebeam events --stack' wrote, "
			"as 'ebeam record --mode' does.\n\n"
			"Without -o the result goes to a file beside the capture, whose name is "
			"printed; text, folded and json go to standard output. A damaged or "
			"truncated "
			"capture is shown as far as it goes, with a warning and exit code 7. FILE "
			"may be - for standard input.",
		.options = OPTIONS(OPTIONS_RENDER, OPT(SYMBOLS), OPT(MIN_COMPLETE), OPT(MODE),
				   OPT(WEIGHT), OPT(LEAK)),
		.min_args = 1,
		.max_args = 1,
		.formats = FORMATS_TEXT | FORMATS_EXPORT | FORMATS_TIMELINE,
		.run = cmd_report,
	},
	{
		.name = "diff",
		.summary = "what changed between two captures: a differential flame graph",
		.args = "A B",
		.description =
			"A is before, B is after. Counts of B are scaled to those of A. Functions "
			"are compared by module, name and arity: shifted lines and renumbered "
			"funs do not count as a change.\n\n"
			"  ebeam diff before.ebeam after.ebeam\n"
			"  ebeam diff before.ebeam after.ebeam -f text",
		.options = OPTIONS(OPTIONS_RENDER, OPT(MODE), OPT(WEIGHT), OPT(LEAK)),
		.min_args = 2,
		.max_args = 2,
		.formats = FORMATS_TEXT | FORMATS_DIFF,
		.run = cmd_diff,
	},
	{
		.name = "ps",
		.summary = "the process table: memory, mailbox, reductions, what each one does",
		.args = "",
		.description =
			"One row for each Erlang process, read from the node's memory: it works "
			"the same on a node that hangs. Values are those of "
			"erlang:process_info/2; memory is in bytes, heap sizes are in words. "
			"Sorted by memory, largest first. A terminal gets the first 50 rows, "
			"unless -n says how many; a pipe all.\n\n"
			"  ebeam ps -p rabbit@host -s message_queue_len -n 20\n"
			"  ebeam ps --where 'message_queue_len > 1k and status != running'\n"
			"  ebeam ps --where 'name ~ \"^MyApp\" or memory > 10M' -j\n"
			"  ebeam ps --watch 2s -s reductions_per_s\n"
			"  ebeam ps --tree\n\n"
			"The name of a process is its registered name as it is written "
			"(My.Worker, where registered_name is Elixir.My.Worker), else its label, "
			"else its initial call. The label is that of proc_lib:set_label/1; "
			"without one, of processes that proc_lib started (gen_server and the "
			"like), what they were started to run; initial_call is what process_info "
			"says, for those proc_lib:init_p/5. Stack size and current function of a "
			"process that runs or is collected are those of its last stop, when it was "
			"last scheduled out, or a BIF or NIF that it has called since: ~ behind "
			"the function (\"stale\": true; where it is now: record). "
			"A process that changed "
			"each time it was read has ~ behind its pid (\"torn\": true).\n\n"
			"The columns binaries, binary_memory (bytes of binaries outside of its "
			"heap), binary_held (of these, to which only it refers; 'ebeam bin' says "
			"more) and timers (messages that timers will send to it) are read only if "
			"they are named.\n\n"
			"--where compares columns: numbers with == != < <= > >= (10k, 1.5M, "
			"64Ki), texts with == != and ~ (a regular expression as in Erlang's re), "
			"what is not there "
			"with == null; with and, or, not, && || ! and parentheses. --watch shows "
			"the table again and again, with rates as columns (reductions_per_s, "
			"memory_per_s, message_queue_per_s), sorted by reductions_per_s, and ends "
			"at Ctrl-C, after -d, or when the node exits; with -j it writes one "
			"object a line, the first without rates. --tree draws who started whom, "
			"by $ancestors and parents; of many equal workers three are shown (-v "
			"shows all).",
		.options = OPTIONS(OPTIONS_TARGET, OPTIONS_TABLE, OPT(WHERE), OPT(WATCH), OPT(TREE),
				   OPT(DURATION)),
		.run = cmd_ps,
	},
	{
		.name = "top",
		.summary = "live: processes, functions, schedulers, memory, ETS, ports",
		.args = "",
		.description = describe_top,
		.options = OPTIONS(OPTIONS_NODE, OPT(FREQ), OPT(DURATION), OPT(LIMIT), OPT(SORT),
				   OPT(COLUMNS), OPT(JSON), OPT(BATCH), OPT(PANEL), OPT(WATCH),
				   OPT(INPUT), OPT(MAX_OVERHEAD), OPTIONS_PROBES, OPT(OUTPUT),
				   OPT(FRAME_FORMAT)),
		.freq_default = "199",
		.run = cmd_top,
	},
	{
		.name = "inspect",
		.summary = "one process: state, stack, mailbox, links, timers, binaries",
		.args = "PID|NAME",
		.description =
			"Everything that erlang:process_info/2 and sys:get_state/1 would say of "
			"one process, read from the node's memory: the node is not asked, not "
			"paused, and may hang. A process is named as <0.80.0>, 0.80.0, or by its "
			"registered name.\n\n"
			"  ebeam inspect -p rabbit@host '<0.80.0>'\n"
			"  ebeam inspect -p 4711 MyApp.Worker --mailbox\n"
			"  ebeam inspect -p 4711 code_server --terms --heap\n\n"
			"The state is shown of processes that wait in the loop of a gen_server, "
			"gen_statem or gen_event, supervisors and Elixir's GenServer and Agent "
			"among them, and where it is known which register holds it. Mailboxes "
			"of up to 10,000 messages are always counted by shape. A process that runs "
			"is shown as of its last stop, and marked as stale. Whom it waits "
			"for, why, and since when, if it has a timer that shows it: as 'dump "
			"--waits' has "
			"it. A timer that is 'overdue' by a second or more should have gone off: "
			"its scheduler is stuck, or "
			"the node is stopped.",
		.options = OPTIONS(OPTIONS_TARGET, OPT(JSON), OPTIONS_TERM, OPT(LIMIT), OPT(TERMS),
				   OPT(HEAP), OPT(MAILBOX)),
		.min_args = 1,
		.max_args = 1,
		.run = cmd_inspect,
	},
	{
		.name = "dump",
		.summary = "the stacks of all processes now, equal ones merged",
		.args = "",
		.description =
			"What every process does, without asking it: its status and its stack, as "
			"process_info(P, current_stacktrace) would answer, read from memory. "
			"Equal stacks are merged, the most frequent first, the top of each stack "
			"first. Of a process that runs, the stack is that of its last stop.\n\n"
			"  ebeam dump -p rabbit@host\n"
			"  ebeam dump -p rabbit@host -n 5\n"
			"  ebeam dump --core core.4711 -o stacks.html\n\n"
			"A format such as html, svg or folded shows the stacks as a flame graph "
			"in which a process counts 1; --by and --lines are for those.\n\n"
			"--waits shows instead who waits for whose answer (gen_server:call and "
			"the like), and what suspended processes wait for: who is waited for most, "
			"chains, and deadlocks. A wait for an answer is proven by the monitor of "
			"the request; what suspends is a port that is busy, the connection to "
			"another node, or a process (erlang:suspend_process). Chains lead on from "
			"these to the peer of a socket or the program behind a port. ~ behind a "
			"function: the process runs, and last stopped there. WAITING are the "
			"processes that wait for it itself, BEHIND those with all who wait for "
			"these. Who waits with "
			"the reference of a monitor at hand, but maybe for something else, is "
			"listed apart.\n\n"
			"  ebeam dump -p rabbit@host --waits --watch 1s -d 5s\n\n"
			"Since when is known of calls with a timeout (by their timer); with "
			"--watch, "
			"others have been waiting at least (>=) since the first reading that saw "
			"the "
			"same wait.\n\n"
			"--old-code shows which processes "
			"still run code of a module that was loaded anew, as "
			"erlang:check_process_code/2 finds it in what they execute: the next "
			"purge would kill them.",
		.options = OPTIONS(OPTIONS_TARGET, OPT(JSON), OPT(BY), OPT(LINES), OPT(OUTPUT),
				   OPT(FORMAT), OPT(LIMIT), OPT(WAITS), OPT(WATCH), OPT(DURATION),
				   OPT(OLD_CODE)),
		.formats = FORMATS_TEXT | FORMATS_EXPORT,
		.run = cmd_dump,
	},
	{
		.name = "crashdump",
		.summary = "an Erlang crash dump (erl_crash.dump) of a node that goes on",
		.args = "",
		.description = describe_crashdump,
		.options = OPTIONS(OPTIONS_TARGET, OPT(OUTPUT), OPT(SHOW_SECRETS)),
		.run = cmd_crashdump,
	},
	{
		.name = "mem",
		.summary = "what the memory of a node consists of, by the kernel and by the VM",
		.args = "[ORIGIN]",
		.description = describe_mem,
		.limit_default = "10 instances, 50 atoms; all in JSON",
		.options = OPTIONS(OPTIONS_TARGET, OPTIONS_TABLE, OPT(ATOMS), OPT(PERSISTENT),
				   OPT(CARRIERS), OPT(TAGS), OPT(TAGS_BY), OPT(SIZES), OPT(ELIXIR),
				   OPT(WATCH), OPT(DURATION)),
		.max_args = 1,
		.run = cmd_mem,
	},
	{
		.name = "bin",
		.summary = "binaries outside of heaps: who refers to them, how much is used",
		.args = "",
		.description =
			"Binaries of more than 64 bytes are outside of heaps, shared, and counted "
			"in erlang:memory(binary) only. One row for each process (its heap, and "
			"the messages in its mailbox), ETS table, port with a queue, module (its "
			"literals) and persistent term that refers to some, and for each type of "
			"NIF resources, which count as binaries, too:\n\n"
			"  MEMORY  bytes of the binaries that it refers to\n"
			"  USED    bytes of these that its terms are: a sub-binary of 80 bytes\n"
			"          keeps one of 512 KiB\n"
			"  GARBAGE bytes of those to which only garbage on its heap refers: the\n"
			"          next collection frees them. '-': not known, as it runs, or is\n"
			"          none of the 1,000 with most bytes; garbage is then in USED\n"
			"  HELD    bytes of those to which nobody else refers: what would be\n"
			"          free without it\n\n"
			"MEMORY far above USED is the leak of sub-binaries: to keep "
			"binary:copy/1 of them is the cure. Columns of '-c': parts (binaries of "
			"which less than half is used), part_memory (their bytes), part (what "
			"is used of one, the median). The largest binaries, and a histogram "
			"of sizes, follow. Read from the node's memory, without a collection "
			"anywhere: it also works on a node that answers nobody.\n\n"
			"  ebeam bin -p rabbit@host\n"
			"  ebeam bin -p 4711 -s held -n 50\n"
			"  ebeam bin -p 4711 -j -s used",
		.options = OPTIONS(OPTIONS_TARGET, OPTIONS_TABLE),
		.run = cmd_bin,
	},
	{
		.name = "ets",
		.summary = "the ETS tables of a node, or one of them and its objects",
		.args = "[TABLE]",
		.description =
			"One row for each table: what ets:info/1 says of it, and what it takes of "
			"memory, largest first. Read from the node's memory: it also works on a "
			"node that answers nobody.\n\n"
			"  ebeam ets -p rabbit@host\n"
			"  ebeam ets -p 4711 -s size -n 20 -c name,size,owner\n"
			"  ebeam ets -p 4711 --watch 5s -s bytes_per_s\n"
			"  ebeam ets -p 4711 code_names -n 100\n\n"
			"TABLE is a name, or the id of a table ('#Ref<0.1.2.3>'). The contents of "
			"tables are the users' data: they are shown only if a table is named, and "
			"then the first -n objects (10).\n\n"
			"--watch shows the list again and again, with growth of size and memory "
			"as columns (size_per_s, bytes_per_s), and ends at Ctrl-C, after -d, or "
			"when the node exits; with -j it writes one object a line, the first "
			"without rates.",
		.options = OPTIONS(OPTIONS_TARGET, OPTIONS_TABLE, OPTIONS_TERM, OPT(WATCH),
				   OPT(DURATION)),
		.max_args = 1,
		.run = cmd_ets,
	},
	{
		.name = "port",
		.summary = "the ports of a node: traffic, queues, owners, sockets",
		.args = "",
		.description =
			"What erlang:port_info says of each port, those that hold data back "
			"first: QUEUE is what the port has taken and its driver could not write "
			"yet. Read from memory: works on a node that hangs, and with --core on "
			"one that is dead.\n\n"
			"Of a port that is a socket (gen_tcp, gen_udp, gen_sctp, distribution) "
			"the kernel's side is shown too: addresses, state, RECV-Q (bytes that the "
			"node has not read; of a listening socket: connections not accepted) and "
			"SEND-Q (bytes that the peer has not acknowledged).\n\n"
			"  ebeam port -p rabbit@host -n 20\n"
			"  ebeam port -p rabbit@host -s -input -c port,connected,input,peer\n\n"
			"Sockets of the module 'socket' (and of inet_backend socket) are no ports "
			"and are not shown. OS PID is that of the node's own PID namespace.\n\n"
			"--io watches for a while instead (with probes on the callbacks of "
			"drivers) and answers with bytes in and out, calls and busy times, by "
			"driver and by port. OUT is what drivers were given, IN what ports (of "
			"sockets: inet:getstat) have counted meanwhile; of a capture, as of the "
			"last call that reported it.\n\n"
			"  ebeam port --io -p rabbit@host -d 10\n"
			"  ebeam port --io -p 4711 --watch 2s -s in -n 5\n"
			"  ebeam port --io -p 4711 -d 10 -o ports.ebeam; ebeam port --io -i "
			"ports.ebeam",
		.options = OPTIONS(OPTIONS_TARGET, OPTIONS_TABLE, OPT(IO), OPTIONS_PORT_IO),
		.run = cmd_port,
	},
	{
		.name = "mod",
		.summary = "the modules that a node has loaded",
		.args = "",
		.description =
			"One row for each module: bytes of its code in memory, number of its "
			"functions, where its native code stands, and whether old code of it is "
			"left (erlang:check_old_code/1). Largest first.\n\n"
			"  ebeam mod -p rabbit@host\n"
			"  ebeam mod -p 4711 -s old_code -n 20\n"
			"  ebeam mod -p 4711 -s module -c module,md5",
		.options = OPTIONS(OPTIONS_TARGET, OPTIONS_TABLE),
		.run = cmd_mod,
	},
	{
		.name = "dist",
		.summary = "connections to other nodes: traffic, queues, who waits; and epmd",
		.args = "",
		.description =
			"Every node that this one knows: connected ones (visible or hidden), "
			"those that are being connected to (pending), and those that it only has "
			"terms of (idle). Read from memory: works on a node that hangs, and with "
			"--core on one that is dead.\n\n"
			"IN and OUT count the packets of the connection. QUEUE is the bytes that "
			"it has not taken yet; beyond +zdbbl (1 MiB) the connection is busy, and "
			"WAITING counts the processes that are suspended in a send because of it. "
			"PORT QUEUE, RECV-Q and SEND-Q are those of the port and socket that "
			"carry it.\n\n"
			"epmd is asked over the network, at the node's ERL_EPMD_PORT, if the node "
			"sees the same network as ebeam.",
		.options = OPTIONS(OPTIONS_TARGET, OPTIONS_TABLE),
		.run = cmd_dist,
	},
	{
		.name = "core",
		.summary = "a core file of a node that lives, small enough to keep",
		.args = "",
		.description =
			"Evidence to keep before a node is restarted: its memory as a core file, "
			"which the commands that take --core read, and gdb. Without pages of files "
			"that are installed anyway, and without those that were never touched. "
			"A name that ends in .gz compresses it (--core reads that, too). Without "
			"-o it is named after the node and the time.\n\n"
			"  ebeam core -p rabbit@host -o evidence.core\n"
			"  ebeam core -p 4711 --pause -o evidence.core.gz\n"
			"  ebeam ps --core evidence.core\n\n"
			"The node runs on meanwhile, so what it changes then is torn, as in 'ebeam "
			"ps'; registers of its threads are not in the file. --pause stops its "
			"threads while the memory is copied (a second for 1 to 2 GiB, longer on a "
			"slow disk; with .gz or -o - to a temporary file in TMPDIR), and has their "
			"registers. The file holds all of the node's data, its secrets too: only "
			"its owner can read it.",
		.options = OPTIONS(OPTIONS_NODE, OPT(OUTPUT), OPT(PAUSE)),
		.run = cmd_core,
	},
	{
		.name = "env",
		.summary = "the environment (configuration) of applications",
		.args = "[APPLICATION]...",
		.description =
			"What application:get_all_env/1 says of every application, or of those "
			"that are named. Read from the node's memory: it also works on a node "
			"that answers nobody, and with --core on one that is dead.\n\n"
			"  ebeam env -p rabbit@host\n"
			"  ebeam env -p 4711 kernel my_app --elixir\n"
			"  ebeam env -p 4711 -j | jq -r .data.kernel.logger_level\n\n"
			"Values whose keys look like passwords, tokens, keys or cookies are "
			"masked (***), also inside of values (maps, pairs, keyword lists), and so "
			"are passwords in URLs and NAME=VALUE in strings. Secrets under other keys "
			"are shown: read the output before you pass it on. --show-secrets masks "
			"nothing. "
			"true, false, undefined, nil, none and what is empty are no secrets.",
		.options = OPTIONS(OPTIONS_TARGET, OPT(JSON), OPTIONS_TERM, OPT(SHOW_SECRETS)),
		.max_args = 256,
		.run = cmd_env,
	},
	{
		.name = "events",
		.summary = "what happens in the VM, as a stream: processes, messages, GC, ports",
		.args = "",
		.description = describe_events,
		.options =
			OPTIONS(OPTIONS_NODE, OPT(DURATION), OPT(EVENTS), OPT(MAX_OVERHEAD),
				OPTIONS_PROBES, OPT(DRY_RUN), OPT(PROCESS), OPT(INITIAL_CALL),
				OPT(FROM), OPT(TO), OPT(STACK), OPT(LIMIT), OPT(JSON), OPT(OUTPUT),
				OPT(INPUT), OPT(LIST), OPT(MARKDOWN), OPT(LONGER_THAN), OPT(SOURCE),
				OPT(COUNT), OPT(WATCH), OPT(COLUMNS), OPT(SORT)),
		.run = cmd_events,
	},
	{
		.name = "trace",
		.summary = "calls of functions, with arguments and results",
		.args = "[PATTERN]...",
		.description = describe_trace,
		.options = OPTIONS(OPTIONS_NODE, OPT(DURATION), OPT(MAX_OVERHEAD), OPTIONS_PROBES,
				   OPT(LIMIT), OPT(JSON), OPT(OUTPUT), OPT(INPUT), OPT(PROCESS),
				   OPT(LONGER_THAN), OPT(INITIAL_CALL), OPT(DEPTH), OPT(SIZE),
				   OPT(RATE), OPT(HISTOGRAM), OPT(COUNT), OPT(ARGS), OPT(FORMAT),
				   OPT(CAPTURE), OPT(CALL_WEIGHT), OPT(BY), OPT(LINES)),
		.max_args = 65, /* one more than are allowed, for an error that says so */
		.formats = FORMATS_EXPORT | FORMATS_TEXT,
		.format_default = "by the suffix of -o, else lines",
		.duration_default = "15s; of a capture all",
		.limit_default = "10 calls; of tables 20; of a capture or a graph all",
		.run = cmd_trace,
	},
	{
		.name = "msg",
		.summary = "who floods whom: messages by pair, bytes copied, mailboxes that grow",
		.args = "",
		.description = describe_msg,
		.options = OPTIONS(OPTIONS_EVENT_VIEW, OPT(EVENTS), OPT(MESSAGE_BY), OPT(ROWS),
				   OPT(FROM), OPT(TO)),
		.event_kinds = MESSAGE_KINDS,
		.event_default = "message_send, message_queued; of a capture all",
		.run = cmd_msg,
	},
	{
		.name = "gc",
		.summary = "pauses of garbage collection: how long, how often, whose",
		.args = "",
		.description = describe_gc,
		.options = OPTIONS(OPTIONS_EVENT_VIEW, OPT(GROUP_BY), OPT(LONGER_THAN)),
		.run = cmd_gc,
	},
	{
		.name = "alloc",
		.summary = "carriers of the allocators: got, given back, pooled, held",
		.args = "",
		.description = describe_alloc,
		.options = OPTIONS(OPTIONS_EVENT_VIEW),
		.run = cmd_alloc,
	},
	{
		.name = "proc",
		.summary = "who starts processes, how they end: rates, crashes, lifetimes",
		.args = "",
		.description = describe_proc,
		.options = OPTIONS(OPTIONS_EVENT_VIEW, OPT(EVENTS), OPT(GROUP_BY)),
		.event_kinds = SPAWN_KINDS,
		.run = cmd_proc,
	},
	{
		.name = "sched",
		.summary = "schedulers: how busy, how long processes wait to run, what runs long",
		.args = "",
		.description = describe_sched,
		.options = OPTIONS(OPTIONS_EVENT_VIEW, OPT(NOW), OPT(CORE), OPT(EXE),
				   OPT(SCHEDULERS), OPT(GROUP_BY), OPT(LONGER_THAN)),
		.run = cmd_sched,
	},
	{
		.name = "locks",
		.summary = "which locks of the VM threads wait for, who waited, who released them",
		.args = "",
		.description = describe_locks,
		.options = OPTIONS(OPTIONS_TABLE, OPTIONS_NODE, OPT(DURATION), OPT(FREQ),
				   OPT(MAX_OVERHEAD), OPTIONS_PROBES, OPT(DRY_RUN)),
		.run = cmd_locks,
	},
	{
		.name = "version",
		.summary = "show the version of ebeam",
		.args = "",
		.description = "The version of ebeam, and with -v those of the libraries it uses.",
		.options = OPTIONS(OPT(JSON)),
		.run = cmd_version,
	},
	{
		.name = "help",
		.summary = "show how to use ebeam, one of its commands, or a page of the manual",
		.args = "[SECTION] [COMMAND|TOPIC]",
		.description =
			"Of a command the same as 'ebeam COMMAND --help', of a topic its page of "
			"the manual, built in. SECTION chooses as that of man does: 1 has the "
			"commands, with all that their pages say, 5 formats, 7 topics.\n\n"
			"  ebeam help trace\n"
			"  ebeam help 1 trace\n"
			"  ebeam help json\n"
			"  ebeam help 7 events\n"
			"  ebeam help --list\n"
			"  ebeam help --man trace | man -l -",
		.options = OPTIONS(OPT(MAN), OPT(MARKDOWN), OPT(LIST)),
		.max_args = 2,
		.run = cmd_help,
	},
	{
		.name = "completions",
		.summary = "print a completion script for bash, zsh or fish",
		.args = "SHELL",
		.description = "'make install' puts the scripts where the shells look for them. By "
			       "hand:\n\n"
			       "  ebeam completions bash > /etc/bash_completion.d/ebeam\n"
			       "  ebeam completions zsh > \"${fpath[1]}/_ebeam\"\n"
			       "  ebeam completions fish > ~/.config/fish/completions/ebeam.fish",
		.min_args = 1,
		.max_args = 1,
		.run = cmd_completions,
	},
	{.name = NULL},
};

const struct command *command_find(const char *name, struct error *err)
{
	const char *candidates[64], *near;
	const struct command *found = NULL;
	struct strbuf matches = STRBUF_INIT;
	size_t nr = 0, nr_matches = 0;

	for (const struct command *c = commands; c->name; c++) {
		if (strcmp(c->name, name) == 0) {
			strbuf_free(&matches);
			return c;
		}
		if (*name && strncmp(c->name, name, strlen(name)) == 0) {
			found = c;
			strbuf_addf(&matches, "%s%s", nr_matches++ ? ", " : "", c->name);
		}
		if (nr < sizeof(candidates) / sizeof(candidates[0]))
			candidates[nr++] = c->name;
	}
	near = options_nearest(name, candidates, nr);
	if (nr_matches > 1) {
		error_set(err, ERROR_KIND_USAGE, -EINVAL, "command '%s' is ambiguous: %s", name,
			  matches.buf);
		found = NULL;
	} else if (!nr_matches && near) {
		error_set(err, ERROR_KIND_USAGE, -EINVAL,
			  "unknown command '%s'; did you mean '%s'? (see 'ebeam help')", name,
			  near);
	} else if (!nr_matches) {
		error_set(err, ERROR_KIND_USAGE, -EINVAL, "unknown command '%s' (see 'ebeam help')",
			  name);
	}
	strbuf_free(&matches);
	return found;
}
