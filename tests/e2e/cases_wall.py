# SPDX-License-Identifier: BSD-2-Clause
"""`ebeam record --mode wall` and wait: what processes do, all of the time, without probes."""
import os
import re
import signal
import time
from collections import Counter

from harness import case, check, check_equal, check_in

IN_PAIRS = True

SECONDS = 5
# What a process does -> where its time goes, and the function on top.
STILL = {
    "receiving": ("waiting: receive", "spells:receiving/0"),
    "receiving_for": ("waiting: timer", "spells:receiving_for/0"),
    "calling": ("waiting: receive", "gen:do_call/4"),
    "hibernating": ("hibernating", "erlang:hibernate/3"),
    "accepting": ("waiting: port", "prim_inet:accept0/3"),
    "deep": ("waiting: receive", "spells:receiving/0"),
    "suspended": ("suspended", "spells:suspended/0"),
}


class Wall:
    """A recording of a node while `during` runs."""

    def __init__(self, ctx, node, *args, during=None, seconds=SECONDS):
        self.path = ctx.ebeam.file(".ebeam")
        process = ctx.ebeam.popen("record", "-p", node.os_pid, "-d", seconds,
                                  *(args if "--mode" in args else ("--mode", "wall", *args)),
                                  "-o", self.path)
        self.truth = during() if during else None
        out, err = process.communicate(timeout=120)
        self.err = err.decode()
        check_equal((process.returncode, out), (0, b""), f"exit code and output; {self.err}")
        self.report = ctx.ebeam.ok("report", self.path, "-f", "json", "--by", "process").json()
        self.data = self.report["data"]
        check_equal(self.data["unit"], "ns", "unit")

    def stacks(self, pid):
        return [s for s in self.data["stacks"] if s["pid"] == pid]

    def kinds(self, pid):
        sums = Counter()
        for s in self.stacks(pid):
            sums[s["kind"]] += s["count"]
        return sums


def top_of(stack):
    return stack["frames"][-1]


@case("each process for all of the time, in the state and at the function that it is in")
def still(ctx):
    node = ctx.new_node()
    pids = node.ask("spells", "still")
    before = node.facts()["process_count"]
    wall = Wall(ctx, node)
    check_equal(node.facts()["process_count"], before, "processes before and after")
    duration = sum(wall.kinds(pids["receiving"]).values())
    check(SECONDS <= duration / 1e9 < 2 * SECONDS, f"{duration / 1e9} s")
    for what, pid in pids.items():
        kind, function = STILL[what]
        check_equal(dict(wall.kinds(pid)), {kind: duration}, what)
        check_equal({top_of(s) for s in wall.stacks(pid)}, {function}, f"top of {what}")
    deep, = wall.stacks(pids["deep"])
    check_equal([f for f in deep["frames"] if f.startswith("spells:")],
                ["spells:deep/1", "spells:receiving/0"], "recursion is shown once, as the node does")
    off = wall.data["samples"] / (before * duration) - 1
    check(abs(off) < 0.01, f"{before} processes for {duration / 1e9:.3f} s: "
          f"{wall.data['samples'] / 1e9:.3f} s ({100 * off:+.2f} %)")
    check_equal(wall.data["complete"], wall.data["samples"], f"complete; {wall.data['by_status']}")


@case("a process that sleeps and works in turn: shares within 3 points of what it logs", long=True)
def turns(ctx):
    node = ctx.new_node()
    pid, = node.start("spells")["pids"]
    wall = Wall(ctx, node, "-F", "100", seconds=10)
    truth = node.stop("spells")["asleep"]
    kinds = wall.kinds(pid)
    share = kinds["waiting: timer"] / sum(kinds.values())
    print(f"asleep {truth:.4f}, shown {share:.4f}; {dict(kinds)}")
    check(abs(share - truth) < 0.03, f"asleep for {truth:.3f} of the time, shown {share:.3f}")
    asleep = [s for s in wall.stacks(pid) if s["kind"] == "waiting: timer"]
    check_equal({top_of(s) for s in asleep}, {"timer:sleep/1"}, "where it waits")
    check(all("spells:step/1" in s["frames"] for s in asleep), f"callers: {asleep}")


@case("short work after long sleep: its share is what they log, not less", long=True)
def rarely(ctx):
    node = ctx.new_node()
    pids = node.start("spells", "rarely")["pids"]
    wall = Wall(ctx, node, "-F", "100", seconds=20)
    truth = 1 - node.stop("spells")["asleep"]
    kinds = sum((wall.kinds(pid) for pid in pids), Counter())
    share = 1 - kinds["waiting: timer"] / sum(kinds.values())
    # Some 600 samples see one of them at work: four standard deviations are a sixth of the share.
    print(f"at work {truth:.4f}, shown {share:.4f}; {dict(kinds)}")
    check(abs(share / truth - 1) < 1 / 6, f"at work for {truth:.4f} of the time, shown {share:.4f}")


@case("processes that come and go: their time is as long as they lived, within 5 %",
      alone=True, long=True)
def lives(ctx):
    node = ctx.new_node()
    wall = Wall(ctx, node, during=lambda: (time.sleep(0.5), node.ask("spells", "lives", 4000))[1],
                seconds=6)
    children = [p for p in wall.data["processes"] if p["initial_call"] == "spells:child/2"]
    shown = sum(p["samples"] for p in children)
    print(f"lived {wall.truth['lived_ns'] / 1e9:.2f} s, shown {shown / 1e9:.2f} s, of "
          f"{len(children)} processes")
    check(abs(shown / wall.truth["lived_ns"] - 1) < 0.05,
          f"{wall.truth['lived_ns'] / 1e9:.2f} s lived, {shown / 1e9:.2f} s shown")


@case("the node ends meanwhile: what was seen until then, exit 0 and a note", otp="one")
def node_ends(ctx):
    node = ctx.new_node()
    process = ctx.ebeam.popen("record", "-p", node.os_pid, "--mode", "wall", "-d", 30, "-f", "folded",
                              "-o", "-")
    time.sleep(5)
    os.kill(node.os_pid, signal.SIGKILL)
    out, err = process.communicate(timeout=60)
    check_equal(process.returncode, 0, err.decode())
    check("exited" in err.decode(), err.decode())
    check("[waiting: receive];" in out.decode(), out.decode()[:300])


@case("what makes no sense is refused with the reason; --dry-run attaches nothing", otp="one")
def refused(ctx):
    node = ctx.node
    for args, word in ((("-F", "200"), "100 times"), (("-o", "x.perfetto.json"), "time line")):
        result = ctx.ebeam.run("record", "-p", node.os_pid, "--mode", "wall", "-d", 1, *args)
        check_equal(result.code, 2, str(result))
        check(word in result.err, result.err)
    path = ctx.ebeam.file(".ebeam")
    ctx.ebeam.ok("record", "-p", node.os_pid, "--mode", "wall", "-d", 1, "-o", path)
    result = ctx.ebeam.run("report", path, "--mode", "gc", "-f", "text")
    check_equal(result.code, 2, str(result))
    check("--mode wall" in result.err, result.err)
    result = ctx.ebeam.ok("record", "-p", node.os_pid, "--mode", "wall", "--dry-run")
    check("no probes: ebeam only reads" in result.out, result.out)


@case("--mode wait: what processes wait in is within 2 % of what they log; the rest is left out")
def wait(ctx):
    node = ctx.new_node()
    pid, = node.start("spells")["pids"]
    still = node.ask("spells", "still")
    wall = Wall(ctx, node, "--mode", "wait", seconds=10)
    truth = node.stop("spells")["asleep"]
    waits = {who: sum(wall.kinds(p).values()) for who, p in still.items()}
    duration = waits["receiving"]
    check_equal(set(waits.values()), {duration}, "processes that stay as they are")
    check(not {"running", "gc", "exiting"} & {s["kind"] for s in wall.data["stacks"]},
          f"kinds {wall.data['by_kind']}")
    seen, margin = sum(wall.kinds(pid).values()), wall.data["margin_of_error"]
    print(f"asleep {truth:.4f}, shown {seen / duration:.4f}; +- {margin / duration:.4f}")
    check(0 < margin < duration, f"margin of error {margin} ns")
    # All others rest, so the margin is that of this one; 2.5 times of it is hardly ever wrong.
    check(abs(seen - truth * duration) < 2.5 * margin, f"{truth * duration} ns logged, {seen} shown, "
          f"+- {margin}")
    of_all = sum(s["count"] for s in wall.data["stacks"])
    logged = of_all - seen + truth * duration
    check(abs(of_all / logged - 1) < 0.02, f"{logged} ns waited, {of_all} shown")


@case("--mode sched: who works is shown for as long as it logs, within the margin, without probes")
def on_schedulers(ctx):
    node = ctx.new_node()
    pid, = node.start("spells")["pids"]
    reported = ctx.ebeam.ok("record", "--mode", "sched", "-p", node.os_pid, "-d", "8s", "-f", "json", "-o", "-")
    truth = 1 - node.stop("spells")["asleep"]
    data = reported.json()["data"]
    on = {k: n for k, n in data["by_kind"].items() if n}
    check(on and not set(on) - {"running", "gc", "exiting"}, f"kinds {on}")
    seen = sum(s["count"] for s in data["stacks"] if s["pid"] == pid)
    margin = data["margin_of_error"]
    print(f"at work {truth * 8:.2f} s of 8, shown {seen / 1e9:.2f}; +- {margin / 1e9:.2f}")
    check(0 < margin < 8e9, f"margin of error {margin} ns")
    # It works in turn with its sleep: of 8 s more or less by the turns that are cut.
    check(abs(seen - truth * 8e9) < 2.5 * margin, f"{truth * 8e9} ns logged, {seen} shown, +- {margin}")
    check("probes" not in reported.err, reported.err)


@case("a capture of --mode wall shown with --mode wait is without what ran", otp="one")
def wait_of_wall(ctx):
    node = ctx.new_node()
    node.start("spells")
    wall = Wall(ctx, node)
    node.stop("spells")
    data = ctx.ebeam.ok("report", wall.path, "--mode", "wait", "-f", "json").json()["data"]
    kinds = Counter(wall.data["by_kind"])
    check(kinds["running"] > 0, f"{kinds}")
    off = {k: n for k, n in kinds.items() if k not in ("running", "gc", "exiting")}
    check_equal({k: n for k, n in data["by_kind"].items() if n}, {k: n for k, n in off.items() if n},
                "by kind")
    check_equal(data["samples"], sum(off.values()), "sum")
    data = ctx.ebeam.ok("report", wall.path, "--mode", "sched", "-f", "json").json()["data"]
    check_equal(data["samples"], sum(kinds.values()) - sum(off.values()), "sum of --mode sched")
    check_equal(data["margin_of_error"], None, "which is of another sum")


@case("text begins with the time of each state, which is that of JSON; functions stand by state")
def text(ctx):
    node = ctx.new_node()
    node.start("spells")
    wall = Wall(ctx, node)
    node.stop("spells")
    out = ctx.ebeam.ok("report", wall.path, "-f", "text", "-n", "1000").out
    head, states, functions = out.split("\n\n")[:3]
    check("time of processes" in head, head)
    rows = [re.fullmatch(r"  \[(.+)\] +([\d.]+)% +([\d.]+ \w+) +(\S.*)", line)
            for line in states.splitlines()[2:]]
    check(all(rows), states)
    by_kind = {k: n for k, n in wall.data["by_kind"].items() if n}
    shown = {m[1]: float(m[2]) for m in rows}
    check_equal(list(shown), sorted(by_kind, key=lambda k: -by_kind[k]), "states, most first")
    for kind, share in shown.items():
        check(abs(share - 100 * by_kind[kind] / wall.data["samples"]) < 0.051, f"{kind}: {states}")
    check({"waiting: receive", "waiting: timer", "running"} <= set(shown), states)
    # One process sleeps and works in turn: what the samples see of that differs, and is said to.
    margins = wall.data["margin_by_kind"]
    check(margins["running"] > 0 and margins["waiting: timer"] > 0, f"{margins}")
    tops = Counter()
    for s in wall.data["stacks"]:
        tops[s["kind"], top_of(s)] += s["count"]
    rows = [re.fullmatch(r"  \[(.+?)\] +([\d.]+)% .*%  ([a-z]+) +(\S.*?)( ~)?", line)
            for line in functions.splitlines()[2:]]
    check(all(rows), functions)
    for m in rows:
        share = 100 * tops[m[1], m[4]] / wall.data["samples"]
        check(abs(float(m[2]) - share) < 0.051, f"{m[0]}: {share}")
        check_equal(bool(m[5]), (m[1], m[3]) == ("running", "erlang") and tops[m[1], m[4]] > 0, f"mark: {m[0]}")
    check({k for k, n in tops.items() if n} <= {(m[1], m[4]) for m in rows}, functions)
    check_in("~ where the process last stopped", out, "what the mark means")
