# SPDX-License-Identifier: BSD-2-Clause
"""One process: `ebeam inspect` says what process_info/2 and sys:get_state/1 say, of processes of
every kind; mailboxes are counted by shape; what runs, hangs or is gone is reported as such."""
import os
import re
import signal
import time

from harness import case, check, check_equal, check_in
from nodes import need_elixir

SIDE_BY_SIDE = True

# Fields of inspect -j that the zoo's facts have under the same name.
SAME = ("registered_name", "initial_call", "current_function", "status", "message_queue_len",
        "memory", "total_heap_size", "heap_size", "stack_size", "parent", "group_leader",
        "priority", "trap_exit", "message_queue_data")
LISTS = ("links", "monitors", "monitored_by", "suspending")
# Modules of Elixir are written as Elixir does.
ELIXIR_MODULE = re.compile(r"^'Elixir\.([\w.]+)':")
GC = ("min_heap_size", "min_bin_vheap_size", "fullsweep_after", "minor_gcs")


def inspect(ctx, node, process, *args):
    return ctx.ebeam.ok("inspect", "-j", "-p", node.os_pid, process, *args).json()["data"]


class Compared:
    """Counts what was compared; collects what differs."""

    def __init__(self):
        self.count, self.wrong = 0, []

    def equal(self, seen, expected, what):
        self.count += 1
        if seen != expected:
            self.wrong.append(f"{what}: node {expected!r}, inspect {seen!r}")

    def near(self, seen, expected, tolerance, what):
        self.equal(seen if not expected <= seen <= expected + tolerance else expected, expected,
                   what)

    def finish(self, least):
        print(f"    {self.count} fields compared")
        check(not self.wrong, f"{len(self.wrong)} of {self.count} fields differ: "
                              + "; ".join(self.wrong[:40]))
        check(self.count >= least, f"only {self.count} fields compared")


def compare(data, facts, c):
    who = f"{facts['pid']} ({facts['initial_call']})"
    for field in SAME:
        if field == "parent" and field not in facts:  # OTP 24 does not tell
            continue
        c.equal(data[field], facts[field], f"{who} {field}")
    # Asking costs a process some of its own.
    c.near(data["reductions"], facts["reductions"], 60, f"{who} reductions")
    where = facts["current_location"] or {"file": None, "line": None}
    c.equal(data["current_location"], {k: where[k] for k in ("file", "line")},
            f"{who} current_location")
    for field in LISTS:
        c.equal(sorted(data[field]), sorted(facts[field]), f"{who} {field}")
    c.equal(sorted(data["dictionary"]), sorted(facts["dictionary"]), f"{who} dictionary")
    if "label" in facts:
        c.equal(data["label"], facts["label"], f"{who} label")
    for field in GC:
        c.equal(str(data["garbage_collection"][field]), facts["garbage_collection"][field],
                f"{who} {field}")
    messages = data["messages"]
    c.equal(messages["len"], len(facts["messages"]), f"{who} messages")
    c.equal(messages["sample"], facts["messages"][:10], f"{who} first messages")
    c.equal(sum(s["count"] for s in messages["by_shape"]), len(facts["messages"]),
            f"{who} shapes")


def compare_more(data, more, c):
    who = data["pid"]
    for field in ("error_handler", "catchlevel", "message_queue_data"):
        c.equal(data[field], more[field], f"{who} {field}")
    stack = [dict(f, mfa=ELIXIR_MODULE.sub(r"\1.", f["mfa"])) for f in more["stacktrace"]]
    c.equal(data["current_stacktrace"][:8], stack, f"{who} current_stacktrace")
    c.equal(data["garbage_collection"]["max_heap_size"], more["max_heap_size"],
            f"{who} max_heap_size")
    c.equal(data["garbage_collection_info"], more["gc_info"], f"{who} garbage_collection_info")
    binaries, node = data["binaries"], more["binaries"]
    c.equal(binaries["references"] - binaries["in_messages"], len(node), f"{who} binaries")
    if not binaries["in_messages"]:
        c.equal(binaries["count"], len({b[0] for b in node}), f"{who} different binaries")
        c.equal(binaries["bytes"], sum(dict((b[0], b[1]) for b in node).values()),
                f"{who} bytes of binaries")
        top = sorted({(b[0], b[1], b[2]) for b in node}, key=lambda b: (-b[1], b[0]))[:10]
        c.equal([(b["address"], b["bytes"], b["refc"]) for b in binaries["top"]], top,
                f"{who} largest binaries")


def compare_heap(data, c):
    """The census against what the node says is in use."""
    who, heap, info = data["pid"], data["heap"], data["garbage_collection_info"]
    c.equal(heap["young"], info["heap_size"], f"{who} words of the young heap")
    c.equal(heap["old"], info["old_heap_size"], f"{who} words of the old heap")
    # Words of a fragment that were reserved, but never written, may look like anything.
    c.near(heap["unknown"], 0, heap["fragments"], f"{who} unknown words")
    c.equal(sum(t["words"] for t in heap["by_type"]) + heap["unknown"],
            heap["young"] + heap["old"] + heap["fragments"], f"{who} words of all types")


@case("every item equals the node's own answer, for processes of every kind", timeout=240)
def zoo(ctx):
    node = ctx.node
    with ctx.workload("zoo"):
        kinds = node.ask("zoo", "kinds")
        pids = [p for kind in kinds.values() for p in (kind[0], kind[-1])]
        node.ask("zoo", "facts")  # what the first question changes is done
        time.sleep(1.5)  # supervisors of OTP 28 and later hibernate after a second
        facts = {f["pid"]: f for f in node.ask("zoo", "facts")}
        pids += [p for p, f in facts.items() if f["registered_name"] in
                 ("kernel_sup", "code_server", "init", "logger", "application_controller")]
        c = Compared()
        for pid in dict.fromkeys(pids):
            compare(inspect(ctx, node, pid), facts[pid], c)
        c.finish(1500)


@case("stack, catches, binaries, limits of garbage collection equal the node's", timeout=240)
def more(ctx):
    node = ctx.node
    with ctx.workload("states"), ctx.workload("zoo"):
        kinds = node.ask("zoo", "kinds")
        c = Compared()
        for kind, pids in kinds.items():
            if kind in ("dirty",):
                continue  # it runs
            node.ask("states", "more", pids[-1])
            data = inspect(ctx, node, pids[-1], "--heap")
            compare_more(data, node.ask("states", "more", pids[-1]), c)
            compare_heap(data, c)
        c.finish(300)


@case("the state of gen_server, gen_statem, gen_event, supervisor, Agent is sys:get_state/1's",
      timeout=240)
def states(ctx):
    node = ctx.node
    with ctx.workload("states"):
        c = Compared()
        for pid in node.ask("states", "pids"):
            state = node.ask("states", "expect", pid)
            data = inspect(ctx, node, pid)
            c.equal(data["state"], state, f"{pid} {data['behaviour']} {data['state_unknown']}")
        c.finish(80)


@case("what is no behaviour has no state, and says why")
def no_state(ctx):
    data = inspect(ctx, ctx.node, "init")
    check_equal(data["state"], None, "state of init")
    check_in("not a gen_server", data["state_unknown"], "why")


def shapes(n):
    """What states:full/2 sends."""
    rest = [sum(1 for k in range(1, n + 1) if k % 10 == r) for r in range(10)]
    return {"{'$gen_call', {_, _}, {get, _}}": rest[0], "{'$gen_cast', {log, _, _}}": sum(rest[1:5]),
            "integer()": rest[5], "{data, _, _}": sum(rest[6:])}


@case("a mailbox is counted by the shape of its messages", timeout=180)
def mailbox(ctx):
    node = ctx.node
    with ctx.workload("states"):
        for n in (7, 1234, 100000):
            pid = node.ask("states", "fill", n)
            box = inspect(ctx, node, pid, "--mailbox")["messages"]
            check_equal(box["len"], n, "messages")
            check_equal({s["shape"]: s["count"] for s in box["by_shape"]},
                        {k: v for k, v in shapes(n).items() if v}, f"shapes of {n} messages")
            check_equal(len(box["sample"]), min(n, 10), "first messages")
            check_equal(box["sample"][0], "{'$gen_cast',{log,1,[1]}}", "first message")
            check_equal(len(box["last"]), min(n, 10), "last messages")
            check(box["bytes"] >= n * 88, f"{n} messages take {box['bytes']} bytes?")
            text = ctx.ebeam.ok("inspect", "-p", node.os_pid, pid, "--mailbox", "--heap").out
            check_in(f"Mailbox: {n:,} messages", text, "text")
        unasked = inspect(ctx, node, pid)["messages"]
        check_equal((unasked["len"], unasked["by_shape"]), (100000, None), "without --mailbox")


@case("messages take what they add to process_info(P, memory)")
def mailbox_bytes(ctx):
    node = ctx.node
    with ctx.workload("states"):
        for n in (1, 10, 2000):
            node_says = node.ask("states", "weigh", n)
            box = inspect(ctx, node, node_says["pid"], "--mailbox")["messages"]
            check_equal(box["bytes"], node_says["bytes"], f"bytes of {n} messages")
            check_equal(box["on_heap"], sum(1 for k in range(1, n + 1) if k % 10 == 5),
                        "messages without a fragment")


@case("a binary that grows is held by the process that appends to it")
def grown(ctx):
    node = ctx.node
    with ctx.workload("states"):
        node_says = node.ask("states", "grown", 5000)
        time.sleep(0.2)
        listed = node.ask("states", "more", node_says["pid"])["binaries"]
        binaries = inspect(ctx, node, node_says["pid"])["binaries"]
        check_equal((binaries["count"], binaries["references"]), (1, 1), "binaries")
        check(binaries["bytes"] >= node_says["bytes"],
              f"{node_says['bytes']} bytes are held by {binaries['bytes']}?")
        # OTP 25 does not list those; what it lists must be the same.
        top = [[b["address"], b["bytes"], b["refc"]] for b in binaries["top"]]
        check_equal(listed if listed or ctx.release > 25 else top, top, "the binary")


@case("-n says how many binaries are listed")
def limited(ctx):
    node = ctx.node
    with ctx.workload("zoo"):
        kinds = node.ask("zoo", "kinds")
        seen = 0
        for pids in kinds.values():
            every = inspect(ctx, node, pids[-1], "-n", "1000")["binaries"]
            few = inspect(ctx, node, pids[-1], "-n", "1")["binaries"]
            check_equal(len(few["top"]), min(1, few["count"]), "binaries with -n 1")
            check_equal(len(every["top"]), every["count"], "binaries with -n 1000")
            seen = max(seen, every["count"])
        check(seen > 1, f"no process holds more than {seen} binaries")


@case("the largest term of a heap is measured as erts_debug:flat_size/1 does")
def largest(ctx):
    node = ctx.node
    with ctx.workload("states"):
        node_says = node.ask("states", "large", 3000)
        data = inspect(ctx, node, node_says["pid"], "--heap")
        first = data["heap"]["largest"][0]
        check_equal((first["words"], first["truncated"]), (node_says["words"], False), "words")
        check(first["where"].startswith("y("), f"where: {first['where']}")
        c = Compared()
        compare_heap(data, c)
        c.finish(4)


@case("a heap of parts of binaries: each of them, the binaries that they are of, the list")
def parts(ctx):
    node = ctx.node
    with ctx.workload("states"):
        pid = node.ask("states", "parts", 200)
        data = inspect(ctx, node, pid, "--heap")
        by_type = {t["type"]: t["count"] for t in data["heap"]["by_type"] if t["count"]}
        check_equal(by_type.pop("list"), 200, "cells of the list")
        # From OTP 27 on a reference to a binary and the part may share their object.
        check(by_type.pop("binary") in (400, 401), f"binaries: {data['heap']}")
        check_equal(by_type, {}, "other objects")
        c = Compared()
        compare_heap(data, c)
        c.finish(4)


@case("the registers of each frame")
def registers(ctx):
    node = ctx.node
    with ctx.workload("states"):
        pid = node.ask("states", "frames")
        frames = inspect(ctx, node, pid, "--terms")["current_stacktrace"]
        text = ctx.ebeam.ok("inspect", "-p", node.os_pid, pid, "--terms").out
    where = [f for f in frames if f["mfa"] == "states:frame/3"]
    check_equal(len(where), 3, f"frames of frame/3: {frames}")
    for f, term in zip(where, ('"text"', "{x,1.5}", "#{a=>1}")):
        check_in(term, [t.replace(" ", "") for t in f["y"]], "registers")
        check(f["file"].endswith("states.erl") and f["line"], f"where: {f}")
        check_in(f"y({f['y'].index(next(t for t in f['y'] if t.replace(' ', '') == term))})", text,
                 "text")
    check(where[0]["line"] > where[1]["line"] > where[2]["line"], f"lines: {where}")


@case("a Task of Elixir has a stack and a dictionary, but no state")
def task(ctx):
    need_elixir(ctx.otp)
    node = ctx.node
    with ctx.workload("states"):
        pid = node.ask("states", "task")
        data = inspect(ctx, node, pid)
        c = Compared()
        compare_more(data, node.ask("states", "more", pid), c)
        c.finish(8)
    check_equal(data["state"], None, "state")
    check_in("not a gen_server", data["state_unknown"], "why")
    check_in("'$callers'", [k for k, _ in data["dictionary"]], "dictionary")


@case("a process in an endless loop with a full mailbox answers", timeout=120)
def endless(ctx):
    node = ctx.node
    with ctx.workload("states"):
        pid = node.ask("states", "loop", 5000)
        data = inspect(ctx, node, pid, "--mailbox")
        check_equal(data["messages"]["len"], 5000, "messages")
        check_equal({s["shape"]: s["count"] for s in data["messages"]["by_shape"]}, shapes(5000),
                    "shapes")
        check(data["status"] in ("running", "runnable"), f"status {data['status']}")
        check_equal(data["initial_call"], "erlang:apply/2", "initial_call")
        if data["status"] == "running":
            check(data["stale"], "a process that runs is not said to be stale")


@case("a node that is stopped answers too")
def stopped(ctx):
    node = ctx.new_node()
    node.facts()  # what answers is loaded
    before = inspect(ctx, node, "code_server")
    for _ in range(100):
        if before["current_stacktrace"][0]["mfa"] == "code_server:loop/1":
            break
        before = inspect(ctx, node, "code_server")
    os.kill(node.os_pid, signal.SIGSTOP)
    try:
        hung = inspect(ctx, node, "code_server")
    finally:
        os.kill(node.os_pid, signal.SIGCONT)
    for field in ("pid", "initial_call", "links", "current_stacktrace", "dictionary"):
        check_equal(hung[field], before[field], field)


@case("terms as Elixir writes them, limits of depth and size, registers of frames")
def options(ctx):
    node = ctx.node
    with ctx.workload("states"):
        elixir = inspect(ctx, node, "states_server_8", "--elixir")
        check_equal(elixir["state"], "%{a: 1}", "state as Elixir writes it")
        short = inspect(ctx, node, "kernel_sup", "--depth", "1")
        check_in("...", short["state"], "state cut at depth 1")
        terms = inspect(ctx, node, "states_server_9", "--terms")
        check_in("{state,1,2}", terms["current_stacktrace"][0]["y"], "registers of the loop")
        heap = inspect(ctx, node, "kernel_sup", "--heap")["heap"]
        check(sum(t["words"] for t in heap["by_type"]) + heap["unknown"]
              == heap["young"] + heap["old"] + heap["fragments"], f"words of the heap: {heap}")
        check_equal(heap["unknown"], 0, "unknown words")


@case("timers are those that the node has, with what they send and how long they run",
      timeout=120)
def timers(ctx):
    node = ctx.node
    with ctx.workload("states"):
        for n in (0, 1, 5000):
            pid = node.ask("states", "timers", n)
            before = node.ask("states", "left", pid)["timers"]
            seen = inspect(ctx, node, pid)["timers"]
            after = node.ask("states", "left", pid)["timers"]
            check_equal(seen[0]["type"], "receive", "the first")
            check(3590000 < seen[0]["time_left"] <= 3600000, f"receive: {seen[0]}")
            check_equal({t["paused"] for t in seen}, {False}, "paused")
            sent = {t["ref"]: t for t in seen[1:]}
            check_equal(len(sent), len(seen) - 1, "different references")
            check_equal({r: (t["message"], t["to"]) for r, t in sent.items()},
                        {r: (m, to) for r, m, to, _ in before}, "messages of timers")
            wrong = [(r, sent[r]["time_left"], b[3], a[3]) for (r, *_), b, a in
                     zip(before, before, after) if not a[3] <= sent[r]["time_left"] <= b[3]]
            check(not wrong, f"{len(wrong)} of {len(sent)} times: {wrong[:4]}")
            print(f"    {len(sent)} timers compared")
            node.ask("states", "end_timers")
        check_equal(inspect(ctx, node, "init")["timers"], [], "timers of init")


@case("timers of a suspended process: those that wait with it say so")
def paused(ctx):
    node, otp = ctx.node, ctx.release
    with ctx.workload("states"):
        pid = node.ask("states", "timers", 50)
        before = node.ask("states", "left", pid)["timers"]
        node.ask("states", "suspend", pid)
        time.sleep(0.3)
        suspended = inspect(ctx, node, pid)
        seen = suspended["timers"]
        by = inspect(ctx, node, suspended["suspended_by"][0])
        node.ask("states", "resume", pid)
        resumed = inspect(ctx, node, pid)
        check_equal((len(suspended["suspended_by"]), resumed["suspended_by"]), (1, []),
                    "who suspends it, and when it was resumed")
        resumed = resumed["timers"]
        check_in(pid, str(by["suspending"]), "what that process suspends")
        node.ask("states", "end_timers")
    check_equal(seen[0]["paused"], otp >= 28, "the receive is paused")
    to_pid = [t for t in seen[1:] if t["to"] == pid]
    check_equal({t["paused"] for t in to_pid}, {otp >= 29}, "messages to its pid are paused")
    check_equal({t["paused"] for t in seen[1:] if t["to"] != pid}, {False}, "others are not")
    check_equal(sorted(t["message"] for t in seen[1:]), sorted(b[1] for b in before), "messages")
    check_equal({t["paused"] for t in resumed}, {False}, "after it was resumed: paused")
    # OTP 29 starts them anew, with references of their own.
    ref = 0 if otp < 29 else 1
    check_equal(sorted((t["ref"], t["message"])[ref:] for t in resumed[1:]),
                sorted((b[0], b[1])[ref:] for b in before), "after it was resumed")
    if otp >= 29:
        left = sorted(t["time_left"] for t in to_pid)
        first = sorted(b[3] for b in before if b[2] == pid)
        check(all(f - 2000 <= t <= f for t, f in zip(left, first)), f"{left} for {first}")
        check_equal([t["time_left"] for t in seen if t["paused"]][1:], left, "order of time")


@case("no such process: exit 3, no pid: exit 2, and the reason")
def nobody(ctx):
    node = ctx.node
    with ctx.workload("states"):
        pid = node.ask("states", "gone")
    for who, code in ((pid, 3), (pid.strip("<>"), 3), ("no_such_name", 3), ("<0.99999999.99>", 3),
                      ("<1.2.3.4>", 2), ("<7.80.0>", 2), ("<0.80", 2), ("<>", 2)):
        done = ctx.ebeam.run("inspect", "-p", node.os_pid, who)
        check_equal(done.code, code, f"inspect {who}: exit code ({done.err})")
        check_in(who, done.err, "stderr")
        check_in("ebeam ps" if code == 3 else "look like <0.80.0>", done.err, "what to do")
        check_equal(done.out, "", "stdout")
    check_equal(ctx.ebeam.run("inspect", "-p", node.os_pid).code, 2, "without a process")
