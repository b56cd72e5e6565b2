# SPDX-License-Identifier: BSD-2-Clause
"""Threads that are preempted in a program of ours by others that run the same: nothing of one is
overwritten by the other, and the kernel is well.  How long: EBEAM_TEST_MINUTES (1)."""
import json
import os
import re
import subprocess
import time

from answers import Watch
from cases_count import Count
from cases_lasting import load_nifs
from cases_malloc import loaded, through
from cases_offcpu import OffCpu, check_near
from harness import Skip, case, check, check_equal
from nodes import TOP

PRIVATE_STACK = os.path.join(TOP, "build", "tests", "kernels", "private_stack")
MODES = "/sys/kernel/debug/sched/preempt"
FLAGS = ("+S", "2:2", "+sbwt", "none")
MINUTES = float(os.environ.get("EBEAM_TEST_MINUTES", "1"))


def need_mode():
    """The mode that the kernel was asked for, if it has such a choice."""
    with open("/proc/cmdline") as f:
        asked = re.search(r"\bpreempt=(\w+)", f.read())
    try:
        with open(MODES) as f:
            modes = f.read()
    except OSError:
        modes = ""
    if asked and f"({asked.group(1)})" not in modes:
        raise Skip(f"this kernel has no preempt={asked.group(1)}: {modes.strip() or 'no choice'}")
    print(f"preemption: {modes.strip() or 'unknown'}", flush=True)


@case("a tail call in a program keeps its frame where no other thread writes", otp="one",
      timeout=900)
def private_stack(ctx):
    need_mode()
    seconds = str(int(20 * max(1, MINUTES / 5)))
    done = subprocess.run([PRIVATE_STACK, seconds], capture_output=True, text=True)
    check_equal(done.returncode, 0, done.stderr)
    print(done.stdout, end="", flush=True)
    found = {name: (int(wrong), int(runs)) for name, wrong, runs in
             re.findall(r"^(\w+): (\d+) of (\d+) overwritten", done.stdout, re.M)}
    check_equal(set(found), {"in_frame", "in_frame_with_tail_call", "in_map_by_cpu"}, "programs")
    check_equal(found["in_frame_with_tail_call"][0], 0, "overwritten, with a tail call")


def pinned(node):
    """This node with all of its threads on one CPU, ebeam on any other."""
    subprocess.run(["taskset", "-a", "-p", "-c", "0", str(node.os_pid)], check=True,
                   stdout=subprocess.DEVNULL)
    return node


class KindCounts(Watch):
    """A stream whose lines are counted by kind as they come, and not kept; but for names that are
    given, and whether the stack of each is that of the workload, or could not be taken."""

    def read_out(self):
        self.counts, self.names, self.strange, self.without_stack = {}, set(), [], 0
        for line in self.process.stdout:
            kind = line.split(b'"kind": "', 1)[1].split(b'"', 1)[0].decode()
            self.counts[kind] = self.counts.get(kind, 0) + 1
            if kind == "process_register":
                event = json.loads(line)
                self.names.add((event["pid"], event["name"]))
                if event["stack"] is None:
                    self.without_stack += 1
                elif "bustle:step/1" not in (frame["mfa"] for frame in event["stack"]):
                    self.strange.append(line.decode())

    def lost(self):
        named = re.search(r"lost [\d,]+ \(([^)]*)\)", self.err[-1])
        pairs = re.findall(r"(\w+) ([\d,]+)", named.group(1)) if named else ()
        return {kind: int(n.replace(",", "")) for kind, n in pairs}


@case("every event program of a busy node on one CPU: counts are the node's own, and it lives",
      otp="one", timeout=900)
def programs(ctx):
    need_mode()
    node = pinned(ctx.new_node(flags=FLAGS))
    count = Count(ctx, node, "-e", "all", "-d", "10h")
    stream = KindCounts(ctx, node, "-e", "all", "--stack", "-d", "10h")
    calls = Watch(ctx, node, "erlang:unregister/1 -> return", "--count", "--rate", "1000000",
                  "-d", "10h", command="trace")
    node.start("bustle")
    time.sleep(60 * MINUTES)
    truth = node.stop("bustle")
    rows = count.rows()
    stream.end()
    check_equal(stream.process.returncode, 0, f"exit code; {stream.err}")
    check(truth["steps"] > 20, f"the node only did {truth['steps']} steps")
    for kind, wanted in truth["counts"].items():
        check_equal(rows[kind]["seen"], wanted, f"counted: {kind}")
        reported = stream.counts.get(kind, 0) + stream.lost().get(kind, 0)
        check_equal(reported, wanted, f"reported or lost: {kind}; {stream.err[-1]}")
    check_equal(stream.names, set(truth["names"].items()), "who got which name")
    check_equal(stream.strange, [], "stacks of who got a name")
    not_taken = re.search(r"no_stack (\d+)", stream.err[-1])
    check(stream.without_stack <= int(not_taken.group(1) if not_taken else 0),
          f"{stream.without_stack} names without a stack; {stream.err[-1]}")
    calls.end()
    check_equal(calls.process.returncode, 0, f"exit code; {calls.err}")
    said = json.loads(calls.out)
    traced = sum(row["calls"] for row in said["data"]["callers"])
    check_equal(traced, truth["counts"]["process_unregister"], f"calls traced; {calls.err[-1]}")
    check(node.alive(), "the node is alive")
    missing = {kind: row for kind, row in rows.items() if row["state"] == "missing"}
    seen = {kind: row["seen"] for kind, row in rows.items() if row["seen"]}
    print(f"{truth['steps']} steps in {MINUTES} min; {sum(seen.values())} events of {len(seen)} kinds; "
          f"missing: {sorted(missing)}; {stream.err[-1]}", flush=True)


@case("malloc and times off CPUs of a busy node on one CPU: bytes and times are the node's own, and it lives",
      otp="one", timeout=900)
def waits_and_memory(ctx):
    need_mode()
    node, path = pinned(loaded(ctx, flags=FLAGS)), ctx.ebeam.file(".ebeam")
    load_nifs(ctx, node)

    def during():
        watch = Watch(ctx, node, "--mode", "malloc", "-d", "10h", "-o", path, json_lines=False, command="record")
        node.start("native_leak", "churn", "1000", "200", "1")
        node.start("bustle")
        time.sleep(60 * MINUTES)
        slept = node.ask("blocked", "sleeps", 20, 50000)
        node.stop("bustle")
        node.stop("native_leak")
        watch.end()
        check_equal(watch.process.returncode, 0, f"exit code; {watch.err}")
        print(watch.err[-1], flush=True)
        return slept

    off = OffCpu(ctx, node, during=during, seconds=3600)
    data = ctx.ebeam.ok("report", path, "-f", "json", "--by", "none").json()["data"]
    asked, seen = node.ask("native_leak", "bytes")["churn"], through(data, "leak_churn")
    print(f"{asked} bytes of malloc, {seen} seen; off CPUs: {off.kinds()}; {off.err.splitlines()[-1]}", flush=True)
    check(asked > 1 << 20 and 0.93 * asked < seen < 1.07 * asked, f"{asked} bytes of malloc, {seen} seen")
    for where in ("normal", "dirty"):
        truth, kinds = off.truth[where], off.kinds(off.truth[where]["pid"])
        check_near(kinds["sleep"] + kinds["woken"] + kinds["preempted"], truth["ns"], 0.1, where,
                   off.margin("sleep", "woken", "preempted"))
    check(node.alive(), "the node is alive")
