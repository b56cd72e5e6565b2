# SPDX-License-Identifier: BSD-2-Clause
"""`ebeam trace` where it is hard: deep, wide, moving, and somebody goes away in the middle."""
import os
import re
import signal
import time

from cases_trace import Trace, compare
from harness import case, check, check_equal, check_in

DEEP = 100000
FOUR = ("traced:step/1", "traced:plain/2", "traced:rec/1", "traced:tail/2")


def all_free(ctx, node):
    """Another ebeam gets all four debug registers of each scheduler."""
    node.ask("traced", "warm", "none")
    ctx.ebeam.ok("trace", "-p", node.os_pid, *FOUR, "-d", "200ms", "-j")
    rows = ctx.ebeam.ok("doctor", "-p", node.os_pid, "-j").json()["data"]["features"]
    row, = [r for r in rows if r["feature"] == "debug registers"]
    check_equal(row["state"], "available", str(row))


@case("recursion 100,000 deep: each call has its own end, or is counted as one without")
def deep(ctx):
    node = ctx.new_node(flags=("+S", "2:2"))
    for _ in range(3):
        # Of results that grow a few words: the ring then holds a few hundred ms.
        trace = Trace(ctx, node, "traced:rec/1 -> return", more=("--size", "8"))
        node.ask("traced", "run", "down", 8)  # shows where the calls return to
        time.sleep(0.5)
        pid = node.ask("traced", "run", "down", DEEP)["pid"]
        lines = [line for line in trace.events() if line["pid"] == pid]
        lost = int(re.search(r"calls_lost ([\d,]+)|$", trace.err[-1])[1] or 0)
        if not lost:
            break
    calls = [line for line in lines if line["kind"] == "call"]
    ends = [line for line in lines if line["kind"] == "return"]
    depths = [int(line["args"][0]) for line in calls]
    check_equal(depths, sorted(set(depths), reverse=True), "arguments, no call twice")
    check(len(calls) + lost > DEEP, f"a call neither seen nor lost: {len(calls)}; {trace.err}")
    # The last one to be called is the first one to return.
    called = {line["ts_ns"]: depth for line, depth in zip(calls, depths)}
    ended = [called[line["called_ns"]] for line in ends]
    check_equal(ended, sorted(set(ended)), "which calls ended")
    if not lost:
        check_equal(len(ends), DEEP + 1, f"ends; {trace.err}")
        check_equal(ends[0]["result"], "[]", "the innermost result")
        return
    # A host without a CPU for ebeam: the ring was full.  Then no end is guessed.
    unknown, = re.findall(r"how (\d+) calls ended is not known", " ".join(trace.err))
    check_equal(int(unknown), len(calls) - len(ends), f"ends that are not known; {trace.err}")


@case("64 schedulers on two cores: no call twice, none missing")
def wide(ctx):
    node = ctx.new_node(flags=("+S", "64:64"))
    trace = Trace(ctx, node, "traced:plain/2")
    node.ask("traced", "run", "wide", 50)
    seen = {}
    for line in trace.events():
        seen.setdefault(line["pid"], []).append(int(line["args"][0]))
    check_equal(len(seen), 64, "processes")
    for pid, args in seen.items():
        check_equal(args, list(range(1, 51)), f"calls of {pid}")


@case("calls that return on another scheduler than they were made on")
def hopping(ctx):
    compare(ctx, "hop", "traced:hop/1")


@case("code that is loaded a hundred times: nothing is seen twice, and the last code is traced")
def reloaded(ctx):
    node = ctx.new_node(flags=("+S", "2:2"))
    trace = Trace(ctx, node, "traced:plain/2 -> return")
    pids = []
    for _ in range(100):
        node.ask("traced", "reload")
        pids.append(node.ask("traced", "run", "plain", 2)["pid"])
    before = -1
    while before < len(trace.err):  # it says nothing more of those
        before = len(trace.err)
        time.sleep(2)
    node.ask("traced", "reload")
    trace.wait_for(lambda: any("its calls are seen again" in line for line in trace.err[before:]),
                   "the code that was loaded last is traced")
    last = node.ask("traced", "run", "plain", 20)["pid"]
    events = trace.events()
    for pid in pids:
        seen = [int(line["args"][0]) for line in events
                if line["pid"] == pid and line["kind"] == "call"]
        check(seen in ([], [1], [2], [1, 2]), f"calls of {pid}: {seen}")
    seen = [int(line["args"][0]) for line in events if line["pid"] == last and line["kind"] == "call"]
    check_equal(seen, list(range(1, 21)), f"calls of the last code; {len(events)} lines in all; {trace.err}")
    all_free(ctx, node)


@case("ebeam is killed: no breakpoint and no probe is left")
def ebeam_killed(ctx):
    node = ctx.new_node(flags=("+S", "2:2"))
    trace = Trace(ctx, node, *FOUR, "ets:insert/2 -> return")
    trace.process.send_signal(signal.SIGKILL)
    trace.process.wait(30)
    node.ask("traced", "inserts", 100)
    node.ask("traced", "run", "plain", 100)
    all_free(ctx, node)


@case("whoever reads goes away: ebeam ends, and no breakpoint is left")
def reader_gone(ctx):
    node = ctx.new_node(flags=("+S", "2:2"))
    node.ask("traced", "spin")
    process = ctx.ebeam.popen("trace", "-p", node.os_pid, "traced:step/1", "-n", 1000000, "-d", 60)
    check_in(b"traced:step", process.stdout.readline(), "a line")
    process.stdout.close()
    check(process.wait(30) in (0, 1, 141, -signal.SIGPIPE), f"exit code {process.returncode}")
    process.stderr.close()
    all_free(ctx, node)


@case("the node is killed while it is traced: what was seen is shown, exit 0")
def node_killed(ctx):
    node = ctx.new_node(flags=("+S", "2:2"))
    trace = Trace(ctx, node, "traced:plain/2 -> return", "ets:insert/2 -> return")
    pid = node.ask("traced", "run", "plain", 50)["pid"]
    node.ask("traced", "inserts", 5)
    os.kill(node.os_pid, signal.SIGKILL)
    check_equal(trace.process.wait(30), 0, f"exit code; {trace.err}")
    check(any("exited" in line for line in trace.err), f"{trace.err}")
    seen = [int(line["args"][0]) for line in trace.lines(pid) if line["kind"] == "call"]
    check_equal(seen, list(range(1, 51)), "calls before the end")
