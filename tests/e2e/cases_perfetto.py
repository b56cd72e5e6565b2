# SPDX-License-Identifier: BSD-2-Clause
"""Time lines: strict JSON whose slices nest, and whose numbers are those of the same events as a
stream."""
import json
from collections import Counter, defaultdict

from cases_events import Watch, need_events, of
from harness import case, check, check_equal, check_in

SIDE_BY_SIDE = IN_TURN = True


def no_duplicates(pairs):
    keys = [k for k, _ in pairs]
    check_equal(len(keys), len(set(keys)), f"keys of an object: {keys}")
    return dict(pairs)


def no_constant(name):
    raise ValueError(f"{name} is no JSON")


MAILBOX_LEN = 16  # one that was so long gets a counter


class Trace:
    """A file that has been checked: times in order on each track, slices in each other, flows whole."""

    def __init__(self, text):
        self.top = json.loads(text, object_pairs_hook=no_duplicates, parse_constant=no_constant)
        self.events = self.top["traceEvents"]
        self.tracks = {e["tid"]: e["args"]["name"] for e in self.of("M", "thread_name")}
        self.depth, self.slices = 0, []
        last, stacks, edge = defaultdict(float), defaultdict(list), defaultdict(float)
        for e in self.events:
            if e["ph"] not in "BEXi":
                continue
            check_in(e["tid"], self.tracks, "a named track")
            stack = stacks[e["tid"]]
            if e.get("cat") == "gc" and e["ph"] == "X":
                # Written when it ends: of its beginning it is known that it is in the same slice.
                check(e["ts"] >= edge[e["tid"]], f"begins in another slice: {e}")
                check(e["ts"] + e["dur"] >= last[e["tid"]] - 1e-3, f"time goes back: {e}")
                self.slices.append((e, e, len(stack)))
                self.depth = max(self.depth, len(stack) + 1)
                continue
            check(e["ts"] >= last[e["tid"]], f"time goes back: {e}")
            last[e["tid"]] = e["ts"]
            if e["ph"] in "BE":
                edge[e["tid"]] = e["ts"]
            if e["ph"] == "B":
                stack.append(e)
                self.depth = max(self.depth, len(stack))
            elif e["ph"] == "E":
                check(stack, f"an end without beginning: {e}")
                begun = stack.pop()
                # Viewers put both together, and say so when one takes the other's place.
                twice = begun.get("args", {}).keys() & e.get("args", {}).keys()
                check_equal(twice, set(), "facts that both ends of a slice give")
                self.slices.append((begun, e, len(stack)))
        check_equal([s for s in stacks.values() if s], [], "slices that do not end")
        ends = Counter((e["ph"], e["id"]) for e in self.events if e["ph"] in "sf")
        check_equal(set(ends.values()) - {1}, set(), "ends of flows")
        check_equal({i for ph, i in ends if ph == "s"}, {i for ph, i in ends if ph == "f"}, "flows")
        points = {(e["tid"], e["ts"]) for e in self.of("X") if e["cat"] == "message"}
        check(all((e["tid"], e["ts"]) in points for e in self.events if e["ph"] in "sf"),
              "each flow has slices at its ends")

    def of(self, ph, name=None):
        return [e for e in self.events if e["ph"] == ph and name in (None, e.get("name"))]

    def beginnings(self, cat):
        return [b for b, _, _ in self.slices if b["cat"] == cat]


def recorded(ctx, kinds, *question):
    """A capture of what a workload does; (its truth, its events, the time line of it)."""
    need_events(ctx)
    path, out = ctx.ebeam.file(".ebeam"), ctx.ebeam.file(".perfetto.json")
    watch = Watch(ctx, ctx.node, "-e", kinds, "--stack", "-o", path)
    truth = ctx.node.ask(*question)
    watch.end()
    check_equal(watch.closing()[1], 0, f"lost; {watch.err}")
    ctx.ebeam.ok("events", "-i", path, "-e", kinds, "-o", out)
    text = ctx.ebeam.ok("report", path, "-f", "perfetto", "-o", "-").out
    with open(out) as f:
        check_equal(f.read(), text, "the same bytes by events -i and by report")
    lines = ctx.ebeam.ok("events", "-i", path, "-j").out.splitlines()
    return truth, [json.loads(line) for line in lines], Trace(text)


@case("slices: as many as the events say, collections inside of processes")
def slices(ctx):
    truth, events, trace = recorded(ctx, "scheduler,gc", "weighing", "garbage", 5)
    first = {}
    for e in of(events, "process_scheduled"):
        first.setdefault(e["pid"], e["type"])
    shown = Counter(b["args"]["pid"] for b in trace.beginnings("process"))
    wanted = Counter(e["pid"] for e in of(events, "process_scheduled")
                     if e["type"] in ("in", "in_exiting"))
    check_equal(shown, wanted, "slices by process")
    gcs = [(b, e, depth) for b, e, depth in trace.slices if b["cat"] == "gc"]
    own = [s for s in gcs if s[0]["args"]["pid"] == truth["pid"]]
    check_equal(len(own), truth["collections"], "collections of the process")
    # On its scheduler: one that a signal caused stands alone.
    check(sum(depth == 1 for _, _, depth in own) >= 0.99 * len(own), "collections inside of slices")
    ends = [e for e in events if e["pid"] == truth["pid"] and e["kind"].endswith("_end")]
    check_equal([(round(b["dur"] * 1000), b["args"]["heap"]) for b, _, _ in own],
                [(e["duration_ns"] or 0, e["heap"]) for e in ends], "how long, and what is left")
    check_equal(sum(e["args"]["reclaimed"] for _, e, _ in own),
                sum(e["reclaimed"] for e in ends), "words reclaimed")
    check_equal(trace.depth, 2, "depth")
    names = {n for n in trace.tracks.values()}
    check("scheduler 1" in names or "scheduler 2" in names, f"tracks {names}")
    print(f"{len(trace.slices)} slices on {len(trace.tracks)} tracks")


@case("messages: a flow for each, from its sender to its receiver")
def messages(ctx):
    truth, events, trace = recorded(ctx, "scheduler,message", "happenings", "messages", 200, 20)
    sends = [e for e in trace.of("X", "send") if e["args"]["pid"] == truth["sender"]
             and e["args"]["to"] == truth["receiver"]]
    receives = [e for e in trace.of("X", "receive") if e["args"]["pid"] == truth["receiver"]
                and e["args"].get("from") == truth["sender"]]
    check_equal((len(sends), len(receives)), (200, 200), "sent and received")
    started = {(e["tid"], e["ts"]): e["id"] for e in trace.of("s")}
    ended = {(e["tid"], e["ts"]): e["id"] for e in trace.of("f")}
    pairs = [(started[(s["tid"], s["ts"])], ended[(r["tid"], r["ts"])])
             for s, r in zip(sends, receives)]
    check(all(a == b for a, b in pairs), "the n-th sent is the n-th received")
    check(all(e["args"]["size"] == truth["size"] for e in sends), "sizes")
    check_equal(len(trace.of("X", "send")), len(of(events, "message_send")), "all sendings")
    check_equal(len(trace.of("X", "receive")), len(of(events, "message_receive")), "all receivings")
    # As it was before each message, which may be empty.
    lengths = [e["queue_len"] for e in events
               if e["pid"] == truth["receiver"] and "queue_len" in e]
    counters = Counter(e["args"]["messages"] for e in trace.of("C")
                       if truth["receiver"] in e["name"])
    check(counters <= Counter(lengths), f"mailbox: {counters}")
    check_equal(bool(counters), max(lengths) >= MAILBOX_LEN, "a counter of a mailbox that grew")


@case("every other event is an instant with its fields and stack")
def instants(ctx):
    truth, events, trace = recorded(ctx, "process,port", "happenings", "spawns", 5)
    wanted = Counter(e["kind"] for e in events if e["kind"] != "port_scheduled")
    check_equal(Counter(e["name"] for e in trace.of("i")), wanted, "instants")
    children = {c["pid"]: c["reason"] for c in truth["children"]}
    exits = {e["args"]["pid"]: e["args"]["reason"] for e in trace.of("i", "process_exit")}
    check_equal({pid: exits.get(pid) for pid in children}, children, "reasons")
    check(any("stack" in e["args"] for e in trace.of("i", "process_spawn")), "stacks")


@case("live: events -o FILE.perfetto.json, record --mode sched and cpu", otp="one")
def live(ctx):
    need_events(ctx)
    out = ctx.ebeam.file(".perfetto.json")
    watch = Watch(ctx, ctx.node, "-e", "scheduler,message,gc", "-o", out, json_lines=False)
    truth = ctx.node.ask("weighing", "senders", 50)
    watch.end()
    with open(out) as f:
        trace = Trace(f.read())
    check_equal(len([e for e in trace.of("X", "send") if e["args"]["pid"] == truth["small"]]), 50,
                "messages")
    check_equal(trace.top["otherData"]["lost"], 0, "lost")
    for mode, cat in (("sched", "process"), ("gc", "gc"), ("msg", "message")):
        out = ctx.ebeam.file(".json")
        watch = Watch(ctx, ctx.node, "--mode", mode, "-f", "perfetto", "-o", out, json_lines=False,
                      command="record")
        ctx.node.ask("weighing", "garbage", 1)
        ctx.node.ask("weighing", "senders", 50)
        watch.end()
        check_equal(watch.process.returncode, 0, f"{watch.err}")
        with open(out) as f:
            trace = Trace(f.read())
        check(any(e.get("cat") == cat for e in trace.events), f"--mode {mode}: nothing of {cat}")
    with ctx.workload("gc_heavy"):
        out = ctx.ebeam.file(".perfetto.json")
        run = ctx.ebeam.ok("record", "-p", ctx.node.os_pid, "-d", "1", "-o", out)
        with open(out) as f:
            trace = Trace(f.read())
    check_in(f"Samples: {len(trace.of('i'))} ", run.err.replace(",", ""), "samples")
    check(all(e["args"]["stack"] for e in trace.of("i") if "pid" in e["args"]), "stacks")


@case("what cannot be a time line says so; a cut capture is shown as far as it goes")
def refused(ctx):
    need_events(ctx)
    path = ctx.ebeam.file(".ebeam")
    watch = Watch(ctx, ctx.node, "-e", "message,scheduler", "-o", path)
    ctx.node.ask("happenings", "messages", 500, 20)
    watch.end()
    for command in (("diff", path, path), ("dump", "-p", ctx.node.os_pid)):
        result = ctx.ebeam.run(*command, "-f", "perfetto", "-o", "-")
        check_equal(result.code, 2, str(result))
        check_in("cannot write perfetto", result.err, "why")
    with open(path, "rb") as f:
        whole = f.read()
    cut = ctx.ebeam.file(".ebeam")
    with open(cut, "wb") as f:
        f.write(whole[:len(whole) // 2])
    result = ctx.ebeam.run("report", cut, "-f", "perfetto", "-o", "-")
    check_equal(result.code, 7, result.err)
    Trace(result.out)
