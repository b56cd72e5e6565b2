# SPDX-License-Identifier: BSD-2-Clause
"""`ebeam trace -> stack`: who called, equal to what the node says of the same calls; and the flame
graphs that are made of it."""
import time
from collections import Counter

from cases_trace import Trace
from harness import case, check, check_equal, check_in

SIDE_BY_SIDE = IN_TURN = True
TIMES = 200
OLDEST = 64  # frames that the node tells at most
# What is called, and the module of the library's functions that stand before it.
KINDS = {
    "spot": ("traced:spot/1", None),
    "bif": ("ets:insert(traced, _)", None),
    "nif": ("zlib:deflateInit_nif/6", "zlib:"),
    "dirty": ("prim_file:read_info_nif/2", "prim_file:"),
}


def once(frames):
    """The node tells a place once that calls return to several times in a row."""
    return [f for n, f in enumerate(frames) if not n or f != frames[n - 1]]


def compare(ctx, kind, action="stack"):
    pattern, library = KINDS[kind]
    node = ctx.new_node(flags=("+S", "2:2"))
    node.ask("traced", "stacks", kind, 10)  # loads all of it
    trace = Trace(ctx, node, f"{pattern} -> {action}")
    truth = node.ask("traced", "stacks", kind, TIMES)
    lines = [line for line in trace.lines(truth["pid"]) if line["kind"] == "call"]
    check_equal(len(lines), TIMES, f"calls ({kind}); {trace.err}")
    check_equal(len(truth["stacks"]), TIMES, "stacks that the node tells")
    frames = 0
    for n, (line, want) in enumerate(zip(lines, truth["stacks"])):
        check(line["stack"] is not None, f"call {n} ({kind}) has a stack; {trace.err}")
        have = [[f["mfa"], f["line"]] for f in line["stack"]]
        check_equal([line["caller"], line["line"]], have[0], f"caller of call {n} ({kind})")
        while library and have[0][0].startswith(library):
            have.pop(0)
        have = once(have)
        if len(want) >= OLDEST - 1:
            check(len(have) >= len(want), f"stack of call {n} ({kind}) is as deep")
            have = have[:len(want)]
        check_equal(have, once(want), f"stack of call {n} ({kind})")
        frames += len(have)
    print(f"    {TIMES} stacks, {frames} frames are equal")
    return node


@case("stacks of calls of an Erlang function are those that the node tells")
def erlang(ctx):
    compare(ctx, "spot")


@case("stacks of calls of a BIF, with and without its end")
def bif(ctx):
    compare(ctx, "bif")
    compare(ctx, "bif", "return,stack")


@case("stacks of calls of NIFs, on dirty schedulers too")
def nif(ctx):
    compare(ctx, "nif", "return,stack")
    compare(ctx, "dirty", "return,stack")


def folded(text):
    """Stack, root first, without what they are grouped by: its weight."""
    rows = Counter()
    for line in text.splitlines():
        stack, weight = line.rsplit(" ", 1)
        rows[tuple(once(stack.split(";")))] += int(weight)
    return rows


@case("a flame graph of callers holds each stack as often as it called")
def flame_graph(ctx):
    node = ctx.new_node(flags=("+S", "2:2"))
    node.ask("traced", "stacks", "spot", 10)
    trace = Trace(ctx, node, "traced:spot/1", json_lines=False, more=("-f", "folded", "--by", "none"))
    truth = node.ask("traced", "stacks", "spot", TIMES)
    rows = folded(trace.text())
    wanted = Counter()
    for stack in truth["stacks"]:
        functions = once([mfa for mfa, _ in stack][::-1])
        if len(stack) < OLDEST - 1:
            wanted[tuple([*functions, "traced:spot/1"])] += 1
    for stack, calls in wanted.items():
        check_equal(rows[stack], calls, f"calls by {stack}")
    check_equal(sum(rows.values()), TIMES, f"all of them; {trace.err}")
    check_in(f"Traced calls: {TIMES} calls  complete 100.0%", trace.err[-1], "closing line")
    print(f"    {len(wanted)} stacks are equal")


def own_times(lines):
    """Nanoseconds that the calls of one process took, each without those that were made meanwhile."""
    total, outer = 0, []  # end and what is left of the time, outermost first

    for line in sorted(lines, key=lambda e: (e["called_ns"], -e["ts_ns"], -e["duration_ns"])):
        while outer and outer[-1][0] <= line["called_ns"]:
            total += max(0, outer.pop()[1])
        if outer:
            outer[-1][1] -= line["duration_ns"]
        outer.append([line["ts_ns"], line["duration_ns"]])
    return total + sum(max(0, left) for _, left in outer)


@case("time in calls: none of it is counted twice, however they are nested", otp="one")
def times(ctx):
    for kind, pattern in (("plain", "traced:plain/2"), ("rec", "traced:rec/1"),
                          ("tail", "traced:tail/2")):
        node = ctx.new_node(flags=("+S", "2:2"))
        path = ctx.ebeam.file(".ebeam")
        node.ask("traced", "warm", kind)
        trace = Trace(ctx, node, f"{pattern} -> return,stack", more=("--capture", path))
        node.ask("traced", "warm", kind)
        time.sleep(0.5)  # where calls return to is learned from them
        node.ask("traced", "run", kind, TIMES)
        ends = [e for e in trace.events() if e["kind"] == "return"]
        check(len(ends) >= TIMES, f"ends of calls ({kind})")
        shown = {p["pid"]: p["samples"] for p in
                 ctx.ebeam.ok("trace", "-i", path, "-f", "json", "--weight", "time").json()
                 ["data"]["processes"]}
        for pid in {e["pid"] for e in ends}:
            check_equal(shown[pid], own_times([e for e in ends if e["pid"] == pid]),
                        f"time in calls of {pid} ({kind})")
