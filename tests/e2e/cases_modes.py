# SPDX-License-Identifier: BSD-2-Clause
"""`ebeam record --mode gc|msg|sched` and `ebeam report --mode wait`: work of known weight by its
stack; the same events as a stream, added up here, are the other oracle."""
import json
from collections import Counter

from cases_events import Watch, need_events
from harness import case, check, check_equal, check_in


MODES = {"gc": "ns", "msg": "bytes", "sched": "ns"}
# What is weighed by `report` only.
OF_EVENTS = {"wait": "process_scheduled,message_queued"}


class Weighed:
    """A capture of a mode while a workload answers a question, and the profile of it."""
    module = "weighing"

    def __init__(self, ctx, node, mode, *question, args=()):
        need_events(ctx)
        self.ctx, self.path = ctx, ctx.ebeam.file(".ebeam")
        if mode in OF_EVENTS:
            watch = Watch(ctx, node, "-e", OF_EVENTS[mode], "--stack", *args, "-o", self.path)
        else:
            watch = Watch(ctx, node, "--mode", mode, *args, "-o", self.path, json_lines=False,
                          command="record")
        self.truth = node.ask(self.module, *question)
        watch.end()
        self.err = watch.err
        check_equal(watch.process.returncode, 0, f"exit code; {watch.err}")
        check_equal(watch.closing()[1], 0, f"lost; {watch.err}")
        ends = [line for line in self.err if " complete " in line or line.startswith("Events: ")]
        check_equal((len(ends), " complete " in ends[-1], ends[-1].endswith(self.path)),
                    (1, mode not in OF_EVENTS, True), f"one closing line: {ends}")
        weighed = ("--mode", mode) if mode in OF_EVENTS else ()
        self.report = ctx.ebeam.ok("report", self.path, *weighed, "-f", "json", "--by", "none").json()
        self.data = self.report["data"]

    def stacks(self, pid):
        return [s for s in self.data["stacks"] if s["pid"] == pid]

    def by_kind(self, pid):
        sums = Counter()
        for s in self.stacks(pid):
            sums[s["kind"]] += s["count"]
        return sums

    def through(self, pid, function):
        """Weight of the stacks of a process that a function is in."""
        return sum(s["count"] for s in self.stacks(pid) if function in s["frames"])

    def events(self):
        out = self.ctx.ebeam.ok("events", "-i", self.path, "-j").out
        return [json.loads(line) for line in out.splitlines()]


@case("gc: the time of each collection, as the events of the same capture say")
def gc_time(ctx):
    w = Weighed(ctx, ctx.node, "gc", "garbage", 30)
    check_equal(w.data["unit"], "ns", "unit")
    ends = [e for e in w.events() if e["kind"] in ("gc_minor_end", "gc_major_end")]
    check_equal(w.data["samples"], sum(e["duration_ns"] or 0 for e in ends), "sum")
    pid = w.truth["pid"]
    check_equal(sum(s["count"] for s in w.stacks(pid)),
                sum(e["duration_ns"] or 0 for e in ends if e["pid"] == pid), "of the process")
    check_equal(set(w.by_kind(pid)), {"gc"}, "kind")
    check(w.through(pid, "weighing:three_parts/1") > 0, "three_parts/1")
    print(f"{len(ends)} collections, {w.data['samples'] / 1e6:.1f} ms")


@case("gc, words: what was reclaimed, as erlang:trace says, three to one")
def gc_words(ctx):
    w = Weighed(ctx, ctx.node, "gc", "garbage", 30, args=("--weight", "words"))
    check_equal(w.data["unit"], "words", "unit")
    pid = w.truth["pid"]
    ends = [e for e in w.events() if e["pid"] == pid and e["kind"].endswith("_end")]
    check_equal(len(ends), w.truth["collections"], "collections")
    check_equal(sum(s["count"] for s in w.stacks(pid)), sum(e["reclaimed"] for e in ends), "words")
    # The trace does not see what comes to the heap in between (the arguments of spawn, signals).
    off = sum(s["count"] for s in w.stacks(pid)) - w.truth["reclaimed"]
    check(abs(off) <= 100, f"{w.truth['reclaimed']} words traced, {off:+} shown")
    one, three = (w.through(pid, f"weighing:{f}/1") for f in ("one_part", "three_parts"))
    check(2.8 < three / one < 3.2, f"three_parts/1 {three} words, one_part/1 {one}")
    print(f"{w.truth['collections']} collections, {three} and {one} words")


@case("msg: bytes sent, by sender and stack, equal to erts_debug:flat_size/1")
def msg(ctx):
    w = Weighed(ctx, ctx.node, "msg", "senders", 1000)
    for who in ("small", "large"):
        pid, size = w.truth[who], w.truth[who + "_bytes"] * w.truth["count"]
        check_equal(sum(s["count"] for s in w.stacks(pid)), size, f"bytes of {who}")
        check_equal(w.through(pid, "weighing:sending/4"), size, f"bytes of {who} in sending/4")
    shown = {p["pid"]: p["samples"] for p in w.data["processes"]}
    check_equal(shown[w.truth["large"]], w.truth["large_bytes"] * 1000, "of the table")
    check_equal(w.data["unit"], "bytes", "unit")


def spells(events, end_ns, on):
    """Sums by pid of the time on schedulers, or off: (sum, those that last to the end)."""
    since, sums, last = {}, Counter(), {}
    for e in events:
        if e["kind"] != "process_scheduled":
            continue
        is_in = e["type"].startswith("in")
        if is_in == on:
            since[e["pid"]] = e["ts_ns"]
            if e["type"] == "out_exited":
                since.pop(e["pid"])
        elif e["pid"] in since:
            sums[e["pid"]] += e["ts_ns"] - since.pop(e["pid"])
    return sums, since


@case("sched: slices from in to out, added up")
def sched(ctx):
    w = Weighed(ctx, ctx.node, "sched", "senders", 1000)
    sums, lasting = spells(w.events(), 0, True)
    compared = 0
    for p in w.data["processes"]:
        if p["pid"] not in lasting:
            check_equal(p["samples"], sums[p["pid"]], f"time of {p['pid']}")
            compared += 1
    for who in ("small", "large"):
        check(sums[w.truth[who]] > 0, who)
    check_equal(set(w.by_kind(w.truth["small"])), {"erlang"}, "kind")
    print(f"{compared} processes compared, {w.data['samples'] / 1e6:.1f} ms")


@case("wait: who sleeps in a receive waits in that function; sums as the events say")
def wait(ctx):
    w = Weighed(ctx, ctx.node, "wait", "sleeper", 1500)
    pid = w.truth["pid"]
    kinds = w.by_kind(pid)
    # The VM's clock may run up to 1 % faster than the kernel's while it corrects itself.
    least = 0.99 * w.truth["slept_ns"]
    check(least > 1e9, f"slept for {w.truth['slept_ns']} ns of 1.5 s")
    check(kinds["waiting"] >= least, f"waiting {kinds}, slept {w.truth['slept_ns']}")
    check(w.through(pid, "weighing:waiting_here/1") >= least, f"stacks {w.stacks(pid)}")
    sums, lasting = spells(w.events(), 0, False)
    compared = 0
    for p in w.data["processes"]:
        if p["pid"] not in lasting:
            check_equal(p["samples"], sums[p["pid"]], f"time of {p['pid']}")
            compared += 1
    check(pid not in lasting and compared > 0, "the sleeper is compared")
    print(f"{compared} processes compared")


@case("wait: who wants a scheduler that another has is runnable, not waiting")
def runnable(ctx):
    need_events(ctx)
    node = ctx.new_node(flags=("+S", "1:1"))
    # They take turns 100,000 times a second; nothing may be lost of that.
    w = Weighed(ctx, node, "wait", "competitors", 300)
    total = Counter()
    for pid in w.truth["pids"]:
        kinds = w.by_kind(pid)
        check_equal(kinds["waiting"], 0, f"waiting of {pid}: {kinds}")
        check_equal(w.through(pid, "weighing:spinning/1"), kinds["runnable"], "where")
        total += kinds
    # One of the two always waits for the other; the coordinator and the host take their part too.
    check(total["runnable"] >= 0.27e9, f"runnable {total}")
    text = ctx.ebeam.ok("report", w.path, "--mode", "wait", "-f", "folded", "--by", "none").out
    check_in("[runnable];weighing:spinning/1 ", text, "folded")


@case("report of a capture shows the bytes that record wrote, in every format", otp="one")
def same_bytes(ctx):
    need_events(ctx)
    for mode, unit in MODES.items():
        path, out = ctx.ebeam.file(".ebeam"), ctx.ebeam.file(".json")
        watch = Watch(ctx, ctx.node, "--mode", mode, "-o", out, "--capture", path,
                      json_lines=False, command="record")
        ctx.node.ask("weighing", "senders", 100)
        watch.end()
        check_equal(watch.process.returncode, 0, f"{watch.err}")
        with open(out) as f:
            live = f.read()
        check_equal(ctx.ebeam.ok("report", path, "-f", "json").out, live, f"--mode {mode}")
        check_equal(json.loads(live)["data"]["unit"], unit, "unit")
        scope = ctx.ebeam.ok("report", path, "-f", "speedscope", "-o", "-").json()
        check_equal(scope["profiles"][0]["unit"],
                    {"ns": "nanoseconds", "bytes": "bytes"}[unit], "unit of speedscope")
        for fmt in ("html", "svg", "text"):
            check(ctx.ebeam.ok("report", path, "-f", fmt, "-o", "-").out, fmt)


@case("captures of two modes have no difference; those of one mode do", otp="one")
def differences(ctx):
    need_events(ctx)
    paths = []
    for mode in ("msg", "gc"):
        w = Weighed(ctx, ctx.node, mode, "senders", 100)
        paths.append(w.path)
    result = ctx.ebeam.run("diff", *paths, "-f", "text")
    check_equal(result.code, 2, str(result))
    check_in("bytes sent", result.err, "what A holds")
    check_in("time in GC", result.err, "what B holds")
    check(ctx.ebeam.ok("diff", paths[0], paths[0], "-f", "text").out, "with itself")
    # The events of another kind of capture can be weighed too.
    events = ctx.ebeam.file(".ebeam")
    watch = Watch(ctx, ctx.node, "-e", "message_send", "--stack", "-o", events)
    truth = ctx.node.ask("weighing", "senders", 100)
    watch.end()
    data = ctx.ebeam.ok("report", events, "--mode", "msg", "-f", "json").json()["data"]
    shown = {p["pid"]: p["samples"] for p in data["processes"]}
    check_equal(shown[truth["small"]], truth["small_bytes"] * 100, "bytes")
    result = ctx.ebeam.run("report", events, "-f", "json")
    check_equal(result.code, 2, str(result))
    check_in("--mode", result.err, "what to do")
