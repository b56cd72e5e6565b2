# SPDX-License-Identifier: BSD-2-Clause
"""`ebeam record --mode offcpu` and `ebeam locks`: for how long threads were blocked, by what; compared
with what NIFs measure of themselves, and with what the kernel counts of threads (schedstat)."""
import json
import os
import re
import signal
import time
from collections import Counter

from cases_lasting import load_nifs
from harness import Skip, case, check, check_equal, check_in, patience

IN_PAIRS = True

LOCK_KINDS = re.compile(r"lock: ")


class OffCpu:
    """A recording, or an answer of `locks`, while `during` runs."""

    def __init__(self, ctx, node, *args, during=None, seconds=8, command=("record", "--mode", "offcpu",
                                                                           "--by", "process")):
        process = ctx.ebeam.popen(*command, "-p", node.os_pid, "-d", patience(seconds), "-j", *args)
        wait_until_attached(process)
        self.truth = during()
        check(process.poll() is None, "it ended before what it is compared with")
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=patience(90))
        self.err = err.decode()
        check_equal(process.returncode, 0, f"exit code; {self.err}")
        self.json = json.loads(out)
        self.data = self.json["data"]

    def kinds(self, pid=None):
        sums = Counter()
        for s in self.data["stacks"]:
            if pid is None or s["pid"] == pid:
                sums[s["kind"]] += s["count"]
        return sums

    def margin(self, *kinds):
        return sum(self.data["margin_by_kind"].get(k, 0) for k in kinds)


def wait_until_attached(process):
    """Until ebeam has its tracepoints, which takes as long as names of functions are looked for."""
    end = time.monotonic() + patience(30)
    while time.monotonic() < end and process.poll() is None:
        for fd in os.listdir(f"/proc/{process.pid}/fdinfo"):
            try:
                with open(f"/proc/{process.pid}/fdinfo/{fd}", encoding="ascii") as f:
                    if "sched_switch" in f.read():
                        return
            except OSError:
                pass
        time.sleep(0.05)


def check_near(seen, truth, share, what, margin=0):
    check(abs(seen - truth) <= share * truth + margin,
          f"{what}: {seen / 1e6:.1f} ms, truth {truth / 1e6:.1f} ms "
          f"({100 * (seen / truth - 1):+.1f} %), +- {margin / 1e6:.1f} ms")


@case("NIFs that sleep: for how long, on which scheduler, with their stacks")
def sleeps(ctx):
    node = ctx.new_node()
    load_nifs(ctx, node)
    off = OffCpu(ctx, node, during=lambda: node.ask("blocked", "sleeps", 20, 50000))
    check_equal(off.data["unit"], "ns", "unit")
    for where, call in (("normal", "lasting:normal/2"), ("dirty", "lasting:dirty_io/2")):
        truth = off.truth[where]
        kinds = off.kinds(truth["pid"])
        check_near(kinds["sleep"] + kinds["woken"] + kinds["preempted"], truth["ns"], 0.1, where,
                   off.margin("preempted"))
        check(kinds["sleep"] > 0.8 * truth["ns"], f"{where}: {kinds}")
        own = [s["frames"] for s in off.data["stacks"] if s["pid"] == truth["pid"] and s["kind"] == "sleep"]
        if patience(1) > 1:  # copies cost an emulated CPU so much that not every time gets one
            own = [frames for frames in own if frames != ["[stack not copied]"]]
            check(own, f"{where}: no stack")
        for frames in own:
            check_in(call, frames, "frames")
            check_in("blocked:repeat/3", frames, "frames")


def short(ctx, us, count):
    node = ctx.new_node()
    load_nifs(ctx, node)
    off = OffCpu(ctx, node, during=lambda: node.ask("blocked", "sleeps", count, us), seconds=25)
    for where in ("normal", "dirty"):
        truth = off.truth[where]
        kinds = off.kinds(truth["pid"])
        check_near(kinds["sleep"] + kinds["woken"] + kinds["preempted"], truth["ns"], 0.1,
                   f"{where}, {us} us", off.margin("sleep", "woken", "preempted"))


@case("short sleeps, of which only some are seen: the sum is right within its margin")
def estimated(ctx):
    short(ctx, 1000, 1000)


@case("what the kernel counts of the schedulers: blocked and runnable, within 10 %")
def schedstat(ctx):
    node = ctx.new_node(flags=("+S", "4:4"))

    def read():
        sums = {}
        for tid in os.listdir(f"/proc/{node.os_pid}/task"):
            with open(f"/proc/{node.os_pid}/task/{tid}/comm", encoding="ascii") as f:
                name = f.read()
            with open(f"/proc/{node.os_pid}/task/{tid}/schedstat", encoding="ascii") as f:
                on, waited, _ = map(int, f.read().split())
            if re.match(r"(erts_sched|\d+_sched)", name):
                sums[tid] = (on, waited)
        return time.monotonic_ns(), sums

    def during():
        begin = read()
        node.ask("blocked", "writers", 6, 5000)
        return begin, read()

    off = OffCpu(ctx, node, "--idle", during=during, seconds=9)
    (t0, before), (t1, after) = off.truth
    waited = sum(after[t][1] - before[t][1] for t in before)
    kinds = off.kinds()
    runnable = kinds["preempted"] + kinds["woken"] + kinds["yielded"]
    check_near(runnable, waited, 0.1, f"runnable; {kinds}", off.margin("preempted", "woken", "yielded") +
               0.1 * (t1 - t0))
    locked = sum(n for kind, n in kinds.items() if LOCK_KINDS.match(kind))
    blocked = len(before) * (t1 - t0) - sum(after[t][0] - before[t][0] for t in before) - waited
    check(locked <= 1.1 * blocked + off.margin("lock: ets"), f"locks {locked / 1e6} ms of {blocked / 1e6}")


@case("writers of one table: their waits have its name, also without symbols")
def tables(ctx):
    node = ctx.new_node(flags=("+S", "4:4"))
    off = OffCpu(ctx, node, during=lambda: node.ask("blocked", "writers", 4, 4000), seconds=7)
    named, all_ns = 0, 0
    for s in off.data["stacks"]:
        if s["kind"] == "lock: ets":
            all_ns += s["count"]
            named += s["count"] * (s["frames"][-1] == "[lock of ets table blocked_table]")
            check(s["pid"] in off.truth, f"{s['pid']} is no writer: {off.truth}")
    check(all_ns > 0 and named >= 0.9 * all_ns, f"{named} of {all_ns} ns have the table's name")


@case("locks: how often and how long, by who waited and who released, as the node measured")
def locks(ctx):
    node = ctx.new_node()
    load_nifs(ctx, node)
    seen = OffCpu(ctx, node, during=lambda: node.ask("blocked", "locked", 3, 20, 30000), seconds=6,
                  command=("locks",))
    data, truth = seen.data, seen.truth
    waits, ns = sum(p["waits"] for p in truth.values()), sum(p["ns"] for p in truth.values())
    lock = data["locks"][0]
    check_near(lock["total_ns"], ns, 0.1, f"waits for the lock: {data['locks']}", lock["margin_ns"])
    check(abs(lock["waits"] - waits) <= 0.1 * waits, f"{lock['waits']} waits, truth {waits}")
    by_pid = Counter()
    for row in data["waiters"]:
        by_pid[row["pid"]] += row["total_ns"]
    for pid, process in truth.items():
        check_near(by_pid[pid], process["ns"], 0.1, f"{pid}", lock["margin_ns"])
    released = sum(row["total_ns"] for row in data["releasers"] if row["pid"] in truth)
    check(released >= 0.9 * lock["total_ns"], f"released by them: {released}, {data['releasers']}")
    check(data["wait_ns"]["max"] == lock["max_ns"], f"longest: {data['wait_ns']} {lock}")
    check(data["wait_ns"]["count"] - data["waits"] in (-1, 0, 1), f"{data['waits']}, {data['wait_ns']}")
    # All of these are long, so that nothing is estimated.
    check_equal(sum(b["margin"] for b in data["wait_ns"]["buckets"] if b["from"] > 1 << 24), 0, "margins")
    check_equal(seen.json["counters"]["thread_table_full"], 0, "threads without a place in the table")


@case("locks, on an emulator that counts them (lcnt): as often and as long as it counts")
def lcnt(ctx):
    node = ctx.new_node()
    if not node.ask("blocked", "counts_locks"):
        raise Skip("this emulator does not count locks (make TYPE=lcnt; --otp-dir)")
    load_nifs(ctx, node)
    seen = OffCpu(ctx, node, during=lambda: node.ask("blocked", "counted", 3, 20, 30000), seconds=6,
                  command=("locks",))
    lock, truth = seen.data["locks"][0], seen.truth
    check_near(lock["total_ns"], truth["ns"], 0.1, f"waits for the lock: {seen.data['locks']}",
               lock["margin_ns"])
    check(abs(lock["waits"] - truth["waits"]) <= 0.1 * truth["waits"] + lock["waits_margin"],
          f"{lock['waits']} waits, it counts {truth['waits']}")


@case("text, and the closing line")
def text(ctx):
    node = ctx.new_node()
    load_nifs(ctx, node)
    process = ctx.ebeam.popen("record", "--mode", "offcpu", "-p", node.os_pid, "-d", 4, "-f", "text")
    wait_until_attached(process)
    node.ask("blocked", "sleeps", 20, 50000)
    out, err = (b.decode() for b in process.communicate(timeout=60))
    check_equal(process.returncode, 0, err)
    check_in("time off CPUs", out.splitlines()[0], "the first line")
    check(re.search(r"^ +\[sleep\] ", out, re.M), out)
    check(re.search(r"^Time off CPUs: [\d.]+ m?s( \+- [\d.]+ [mun]?s)?  complete ", err, re.M), err)
    process = ctx.ebeam.popen("locks", "-p", node.os_pid, "-d", 4)
    wait_until_attached(process)
    node.ask("blocked", "locked", 2, 10, 30000)
    out, err = (b.decode() for b in process.communicate(timeout=60))
    check_equal(process.returncode, 0, err)
    check(re.search(r"^Waits for locks: \d+  lost 0 ", err, re.M), err)
    for heading in ("Locks", "Who waited", "Whose release ended the wait"):
        check_in(heading, out.splitlines(), "headings")


@case("--dry-run says that the programs run at each switch of the host, and needs no end", otp="one")
def dry_run(ctx):
    for command in (("locks",), ("record", "--mode", "offcpu")):
        run = ctx.ebeam.ok(*command, "-p", ctx.node.os_pid, "--dry-run")
        check_in("at each switch and wake-up of all", run.out, "what is attached")
