# SPDX-License-Identifier: BSD-2-Clause
"""Captures of `ebeam trace`: what they show is what was shown of the same calls live."""
import json
import time

from cases_trace import Trace
from harness import case, check, check_equal, check_in

SIDE_BY_SIDE = IN_TURN = True
TIMES = 100
KINDS = {"plain": "traced:plain/2", "rec": "traced:rec/1", "tail": "traced:tail/2",
         "boom": "traced:boom/1", "deep": "traced:deep/1"}


def live(ctx, kind, *more, pattern=None, action=" -> return,stack", json_lines=True):
    """What a run shows, its closing trace, and the capture that was kept of it."""
    node = ctx.node
    path = ctx.ebeam.file(".ebeam")
    node.ask("traced", "warm", kind)
    trace = Trace(ctx, node, (pattern or KINDS[kind]) + action, json_lines=json_lines,
                  more=("--capture", path, *more))
    node.ask("traced", "warm", kind)
    time.sleep(0.2)  # where calls return to is learned from them
    node.ask("traced", "run", kind, TIMES)
    out = trace.text()
    check(out, f"there is output ({kind} {more}); {trace.err}")
    return out, trace, path


@case("lines of a capture are those of the run: text and JSON, calls, ends and stacks")
def lines(ctx):
    compared = 0
    for kind in KINDS:
        out, _, path = live(ctx, kind)
        check_equal(ctx.ebeam.ok("trace", "-i", path, "-j").out, out, f"JSON of {kind}")
        named = ctx.ebeam.file(".json")
        ctx.ebeam.ok("trace", "-i", path, "-o", named)
        with open(named, encoding="utf-8") as f:
            check_equal(f.read(), out, f"JSON of {kind}, by the name of the file")
        compared += len(out.splitlines())
        out, _, path = live(ctx, kind, json_lines=False)
        check_equal(ctx.ebeam.ok("trace", "-i", path).out, out, f"text of {kind}")
        compared += len(out.splitlines())
    print(f"    {compared} lines are equal")


@case("of a capture without ends nothing is said of ends")
def without_ends(ctx):
    out, _, path = live(ctx, "plain", action="")
    again = ctx.ebeam.ok("trace", "-i", path, "-j")
    check_equal(again.out, out, "lines")
    check_equal(len(again.err.splitlines()), 1, f"nothing but the closing line: {again.err}")
    text = ctx.ebeam.ok("trace", "-i", path, "--histogram").out
    check_in("traced:plain/2: no durations, as no call was seen to return", text, "histogram")


@case("tables of a capture are those of the run: callers, durations, shapes of arguments",
      long=True)
def tables(ctx):
    for kind in KINDS:
        for table in ("--count", "--histogram", "--args"):
            out, _, path = live(ctx, kind, table, json_lines=False)
            again = ctx.ebeam.ok("trace", "-i", path, table, "-n", 1000000).out
            check_equal(again, out, f"{table} of {kind}")
    # Of any capture, whatever was asked for then.
    _, _, path = live(ctx, "plain")
    text = ctx.ebeam.ok("trace", "-i", path, "--args").out
    check_in("traced:plain/2  integer(), integer()", text, "shapes")
    for limit in (1, 3, 15):
        text = ctx.ebeam.ok("trace", "-i", path, "--args", "-n", limit).out
        slowest = text.split("\nThe slowest\n")[1].split("\n\n")[0].splitlines()
        check_equal(len(slowest), limit, f"the slowest with -n {limit}")
        said = json.loads(ctx.ebeam.ok("trace", "-i", path, "--args", "-j", "-n", limit).out)["data"]
        check_equal([row["args"] for row in said["slowest"]], [line.split("  ")[-1] for line in slowest],
                    "the slowest in JSON")
    # Rows of every table.
    _, _, path = live(ctx, "rec")
    every = json.loads(ctx.ebeam.ok("trace", "-i", path, "--count", "-j").out)["data"]
    check(len(every["callers"]) > 1 and not every["slowest"], f"{every}")
    some = json.loads(ctx.ebeam.ok("trace", "-i", path, "--count", "-j", "-n", 1).out)["data"]
    check_equal(some["callers"], every["callers"][:1], "--count -j -n 1")


@case("flame graphs of a capture are those of the run, in every format, and those of report",
      otp="one")
def profiles(ctx):
    for weight in ("calls", "time"):
        for fmt in ("folded", "json", "html", "svg", "speedscope", "pprof"):
            shown = ctx.ebeam.file(f".{weight}.{fmt}")
            node, path = ctx.node, ctx.ebeam.file(".ebeam")
            node.ask("traced", "warm", "rec")
            trace = Trace(ctx, node, "traced:rec/1", json_lines=False,
                          more=("--capture", path, "-f", fmt, "-o", shown, "--weight", weight))
            node.ask("traced", "warm", "rec")
            time.sleep(0.2)
            node.ask("traced", "run", "rec", 20)
            trace.text()
            with open(shown, "rb") as f:
                want = f.read()
            # Of calls of a microsecond little time is left without that of their tracing.
            check(len(want) > 100 or weight == "time", f"{fmt} of {weight}: {want}; {trace.err}")
            for args in (("trace", "-i", path), ("report", path)):
                again = ctx.ebeam.file(f".{weight}.again")
                ctx.ebeam.ok(*args, "-f", fmt, "-o", again)
                with open(again, "rb") as f:
                    check_equal(f.read(), want, f"{args[0]}: {fmt} of {weight}")


def said(ctx, path, *args):
    out = ctx.ebeam.ok("trace", "-i", path, "-j", *args).out
    return [json.loads(line) for line in out.splitlines()]


@case("of a capture, calls are chosen by function and process")
def chosen(ctx):
    _, _, path = live(ctx, "rec")
    everything = said(ctx, path)
    pids = {line["pid"] for line in everything}
    for pid in pids:
        check_equal(said(ctx, path, "--process", pid),
                    [line for line in everything if line["pid"] == pid], f"calls of {pid}")
    check_equal(said(ctx, path, "traced:rec/1"), everything,
                "calls of the function")
    check_equal(said(ctx, path, "traced:plain/2"), [], "calls of another one")
    calls = [line for line in everything if line["kind"] == "call"]
    check_equal([line for line in said(ctx, path, "-n", "5") if line["kind"] == "call"], calls[:5],
                "the first five")
    r = ctx.ebeam.run("trace", "-i", path, "traced:rec(3)")
    check_equal(r.code, 2, str(r))
    check_in("module:function/arity", r.err, "what is said of arguments")


@case("a limited run keeps the calls that it shows, and no more")
def limited(ctx):
    node, path = ctx.node, ctx.ebeam.file(".ebeam")
    node.ask("traced", "warm", "plain")
    trace = Trace(ctx, node, "traced:plain/2 -> stack", more=("--capture", path, "-n", "7"))
    node.ask("traced", "run", "plain", TIMES)
    out = trace.text()
    check_equal(len(out.splitlines()), 7, "calls")
    check_equal(ctx.ebeam.ok("trace", "-i", path, "-j").out, out, "those of the capture")


@case("captures of other commands hold no calls", otp="one")
def others(ctx):
    path = ctx.ebeam.file(".ebeam")
    ctx.ebeam.ok("record", "-p", ctx.node.os_pid, "-d", 1, "-o", path)
    r = ctx.ebeam.run("trace", "-i", path)
    check_equal(r.code, 1, str(r))
    check_in("holds no calls", r.err, "what is said")
