# SPDX-License-Identifier: BSD-2-Clause
"""Events of a VM with USDT probes: the cases of the theme `events` with either source, and both
sources at once on one node."""
import time

import cases_events
from cases_events import Watch, of
from harness import CASES, case, check, check_equal

SIDE_BY_SIDE = True

BOTH = ("gc_minor_start,gc_minor_end,gc_major_start,gc_major_end,process_spawn,process_hibernate,"
        "message_receive,port_open,port_command,port_control")
AGAIN = ("messages", "aliases", "calls", "remote", "spawns", "hibernations", "collections", "ports", "stacks",
         "reclaimed",
         "one_process", "capture", "storm", "node_exits", "killed")


def with_source(function, source):
    def run(ctx):
        ctx.source = source
        function(ctx)
    run.__name__ = f"{function.__name__}_{source}"
    run.__module__ = __name__
    return run


# What takes seconds and does not depend on the source is not done again with uprobes.
ONCE = ("storm", "killed")


for entry in [c for c in CASES if c["run"] in [getattr(cases_events, n) for n in AGAIN]]:
    for which in ("usdt",) if entry["run"].__name__ in ONCE else ("uprobe", "usdt"):
        case(f"{entry['title']} ({which})", otp="usdt", timeout=entry["timeout"])(
            with_source(entry["run"], which))


def streams(ctx, questions):
    """Events of one node while it answers, by uprobes and by USDT probes; its answers."""
    watches = [Watch(ctx, ctx.node, "-e", BOTH, source=s) for s in ("uprobe", "usdt")]
    time.sleep(0.3)  # what is under way is over: both see all of what comes
    start = time.time_ns()
    answers = [ctx.node.ask("happenings", *q) for q in questions]
    time.sleep(0.3)
    end = time.time_ns()
    return answers, [[e for e in w.events() if start <= e["ts_ns"] <= end] for w in watches]


def compare(events, others, but=()):
    """As if one: when and on which CPU differ by the moment; what the one cannot tell is null."""
    check_equal([e["kind"] for e in events], [e["kind"] for e in others], "kinds")
    fields = 0
    for e, o in zip(events, others):
        for key in set(e) | set(o):
            if key in ("ts_ns", "cpu", "duration_ns", "registered_name", "label", *but):
                continue
            if key == "queue_len":  # another scheduler may add to it between the two
                check(o[key] >= e[key], f"{key} of {e}: {o[key]}")
                continue
            if key in ("allocated", "survived"):
                # The message of a trace, 5 words or so, comes between the two probes.
                check(0 <= o[key] - e[key] <= 20, f"{key} of {e}: {o[key]}")
                continue
            check_equal(o[key], e[key], f"{key} of {e}")
            fields += 1
    return fields


# The probe stands where the driver is called: of a port that is busy, later and once, and by whoever
# comes.  The ports of the workload are not, that of standard output may be.
AT_THE_DRIVER = ("port_command", "port_control")


@case("both at once: the same events with the same fields, in order for each process", otp="usdt")
def agree(ctx):
    questions = (("messages", 100, 20), ("spawns", 10), ("hibernations", 10), ("collections", 20),
                 ("ports", 5), ("aliases", 10))
    answers, (uprobe, usdt) = streams(ctx, questions)
    compared = fields = 0
    pids = {e["pid"] for e in uprobe + usdt}
    for pid in pids:
        mine, other = [[e for e in s if e["pid"] == pid and e["kind"] not in AT_THE_DRIVER]
                       for s in (uprobe, usdt)]
        fields += compare(mine, other)
        compared += len(mine)
    ports = [a["ports"] for a in answers if "ports" in a][0]
    for port in ports:
        mine, other = [[e for e in s if e["kind"] in AT_THE_DRIVER and e["port"] == port]
                       for s in (uprobe, usdt)]
        fields += compare(mine, other, but=("os_tid", "scheduler", "thread"))
        compared += len(mine)
    for kind in BOTH.split(","):
        check(of(usdt, kind) or kind == "port_control", f"some {kind}")
    print(f"{fields} fields of {compared} events of {len(pids)} processes and {len(ports)} ports "
          "compared")


@case("the list and doctor say what comes from USDT probes", otp="usdt")
def said(ctx):
    sources = {}
    for source in ("auto", "uprobe", "usdt"):
        rows = ctx.ebeam.ok("events", "--list", "-j", "-p", ctx.node.os_pid, "--source",
                            source).json()
        sources[source] = {r["kind"]: r["source"] for r in rows}
        usdt = {r["kind"] for r in rows if r["usdt"]}
    check_equal({k for k, s in sources["usdt"].items() if s == "usdt"}, usdt, "--source usdt")
    check_equal(usdt, set(BOTH.split(",")), "kinds that USDT probes give")
    check_equal(set(sources["uprobe"].values()), {"uprobe"}, "--source uprobe")
    check_equal(set(sources["auto"].values()), {"uprobe"}, "--source auto")


@case("views count the same by either source: gc", otp="usdt")
def views(ctx):
    watches = [Watch(ctx, ctx.node, "--by", "process", command="gc", source=s)
               for s in ("uprobe", "usdt")]
    truth = ctx.node.ask("happenings", "collections", 20)
    ends = [e for e in truth["events"] if e["kind"] in ("gc_minor_end", "gc_major_end")]
    rows = [[r for r in w.answer()["rows"] if r["group"] == truth["pid"]] for w in watches]
    check_equal([len(r) for r in rows], [1, 1], "rows of the process")
    for which, (row,) in zip(("uprobe", "usdt"), rows):
        check_equal((row["minor"], row["major"]),
                    tuple(len(of(ends, kind)) for kind in ("gc_minor_end", "gc_major_end")), which)
        check_equal((row["heap"], row["old_heap"]), (ends[-1]["heap"], ends[-1]["old_heap"]), which)
    check_equal(rows[1][0]["reclaimed_unknown"], 0, "a USDT probe tells it of all")
