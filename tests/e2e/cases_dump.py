# SPDX-License-Identifier: BSD-2-Clause
"""`ebeam dump`: every stack equals what the node says of it, function, file and line; equal ones are
merged and counted; waits, deadlocks and old code are those that are there."""
import glob
import json
import os
import re
import time

from harness import Skip, case, check, check_equal, check_in, shorten
from nodes import MATRIX

SIDE_BY_SIDE = True

NODE_DEPTH = 64  # what current_stacktrace shows at most


def ask(node):
    """What the node says of all its processes, by pid."""
    node.tell("stacks")
    return {p["pid"]: p for p in node.wait("stacks")["stacks"]}


def dump(ctx, node, *args):
    return ctx.ebeam.ok("dump", "-p", node.os_pid, "-j", *args).json()


def key(status, stack):
    """A stack as both sides can compare it."""
    frames = tuple((f["mfa"], f["file"] or "", f["line"] or 0) for f in stack[:NODE_DEPTH])
    return status, frames


def compare(ctx, node):
    """Every group of the dump against the processes that did not change meanwhile."""
    before = ask(node)
    answer = dump(ctx, node)
    after = ask(node)
    check_equal(sum(g["count"] for g in answer["data"]), len(before), "processes of all stacks")
    for name in ("vanished", "torn", "truncated", "unknown_frames", "overflows"):
        check_equal(answer["counters"][name], 0, f"counter {name}")
    counts = [g["count"] for g in answer["data"]]
    check_equal(counts, sorted(counts, reverse=True), "most first")
    still = {pid: key(p["status"], p["stack"]) for pid, p in before.items()
             if p == after.get(pid) and not is_asker(p)}
    check(len(still) >= len(before) - 6, f"only {len(still)} of {len(before)} stood still")
    expected, seen, frames = {}, {}, 0
    for pid, k in still.items():
        expected.setdefault(k, set()).add(pid)
    for group in answer["data"]:
        k = key(group["status"], group["stack"])
        seen[k] = seen.get(k, 0) + group["count"]
        check_equal(len(group["pids"]), min(10, group["count"]), f"pids of {group}")
        for pid in group["pids"]:
            if pid in still:
                check_equal(k, still[pid], f"stack of {pid}")
                frames += len(k[1])
    for k, pids in expected.items():
        check(seen.get(k, 0) >= len(pids), f"{len(pids)} processes have {shorten(k)}, dump says "
                                           f"{seen.get(k, 0)}: {shorten(sorted(pids))}")
    unstable = len(before) - len(still)
    extra = sum(n - len(expected.get(k, ())) for k, n in seen.items())
    check_equal(extra, unstable, "processes that moved meanwhile")
    print(f"    {len(still)} processes, {frames} frames compared (OTP {node.otp})")
    return answer


def is_asker(process):
    """It runs while it asks, and waits in I/O else."""
    return any(f["mfa"].startswith(("workload:", "user:", "group:")) for f in process["stack"])


@case("every process's stack is what the node says it is: functions, files and lines")
def stacks(ctx):
    node = ctx.new_node()
    node.start("stacks", "dirty")
    compare(ctx, node)


@case("the same with frame pointers on the stacks")
def frame_pointers(ctx):
    if ctx.release == 24:
        raise Skip("OTP 24 has no frame pointers")
    node = ctx.new_node(flags=("+JPperf", "map" if ctx.release == 25 else "fp"))
    ctx.cleanup(remove_perf_maps, node.os_pid)
    node.start("stacks")
    compare(ctx, node)


def remove_perf_maps(os_pid):
    for path in glob.glob(f"/tmp/perf-{os_pid}.map"):
        os.unlink(path)


@case("current functions that are no code: hibernated, on dirty schedulers")
def current_functions(ctx):
    node = ctx.new_node()
    node.start("stacks", "dirty")
    theirs = ask(node)
    ours = dump(ctx, node)["data"]
    later = {pid: process["current_function"] for pid, process in ask(node).items()}
    functions = {pid: g["current_function"] for g in ours for pid in g["pids"]}
    nr = 0
    for pid, process in theirs.items():
        if pid in functions and not is_asker(process) and later.get(pid) == process["current_function"]:
            check_equal(functions[pid], process["current_function"], f"current function of {pid}")
            nr += 1
    for name in ("erlang:hibernate/3", "erts_debug:dirty_cpu/2", "erts_debug:dirty_io/2"):
        check_in(name, list(functions.values()), "current functions")
    print(f"    {nr} current functions compared (OTP {ctx.otp})")


@case("text shows the most frequent stack first, and names processes")
def text(ctx):
    with ctx.workload("stacks"):
        data = None
        for _ in range(20):  # the node may do something of its own meanwhile
            before, data = data, dump(ctx, ctx.node)["data"]
            if before == data:
                break
            out = ctx.ebeam.ok("dump", "-p", ctx.node.os_pid).out
            first = ctx.ebeam.ok("dump", "-p", ctx.node.os_pid, "-n", "1").out
    total = sum(g["count"] for g in data)
    check_in(f"{total} processes, {len(data)} different stacks", out, "summary")
    top = data[0]
    check_in(f"\n\n{top['count']} processes wait in {top['current_function']}\n", first, "heading")
    check_in(f"{top['stack'][0]['file']}:{top['stack'][0]['line']}\n", first, "place")
    check_in(f"{len(data) - 1} more stacks are not shown", first, "limit")
    check_in("init", out, "a name")
    check_in("more frames (-v shows them)", out, "deep stacks are shortened")


@case("a flame graph in which a process counts one")
def formats(ctx):
    with ctx.workload("stacks"):
        folded = ctx.ebeam.ok("dump", "-p", ctx.node.os_pid, "-f", "folded", "--by", "none").out
        total = sum(g["count"] for g in dump(ctx, ctx.node)["data"])
        by_name = ctx.ebeam.ok("dump", "-p", ctx.node.os_pid, "-f", "folded", "--lines").out
        files = {}
        for suffix in (".html", ".svg", ".json", ".speedscope.json", ".pb.gz"):
            files[suffix] = ctx.ebeam.file(suffix)
            ctx.ebeam.ok("dump", "-p", ctx.node.os_pid, "-o", files[suffix])
    lines = folded.splitlines()
    check_equal(sum(int(line.rsplit(" ", 1)[1]) for line in lines), total, "folded: processes")
    check(any(re.fullmatch(r"stacks:'-kinds/0-fun-\d+-'/1;stacks:catching/1;stacks:wait/1 1", line)
              for line in lines), f"folded: no stack of catching/1 in {shorten(folded, 4000)}")
    check(re.search(r"^code_server;code_server:loop/1:\d+ 1$", by_name, re.M),
          f"by name, with lines: {shorten(by_name)}")
    with open(files[".svg"]) as f:
        check(re.search(rf"\b{total} processes", f.read()), "svg: what is counted")
    with open(files[".html"]) as f:
        check_in("processes", re.search(r"<title>(.*?)</title>", f.read())[1], "html: title")
    with open(files[".json"]) as f:
        check_equal(json.load(f)["command"], "dump", "json: command")
    with open(files[".speedscope.json"]) as f:
        profile = json.load(f)["profiles"][0]
    check_equal(sum(profile["weights"]), total, "speedscope: processes")


@case("processes that come and go: what is shown is whole, what is not is counted", timeout=180,
      alone=True)
def under_load(ctx):
    with ctx.workload("spawn_storm", "2000"):
        for _ in range(5):
            answer = dump(ctx, ctx.node)
            count = sum(g["count"] for g in answer["data"])
            check(count >= 40, f"{count} processes")
            check_equal(answer["counters"]["unknown_frames"], 0, "frames in unknown code")
            check(answer["counters"]["torn"] <= count / 10, f"torn: {answer['counters']}")
            for group in answer["data"]:
                for frame in group["stack"]:
                    check(re.fullmatch(r"\S+[:.].+/\d+", frame["mfa"]), f"frame {frame}")


@case("processes that never stand still are not left out", alone=True)
def spinning(ctx):
    node = ctx.new_node()
    node.start("zoo")
    spinners = set(node.ask("zoo", "spin", 2))
    for _ in range(10):
        answer = dump(ctx, node)
        shown = {pid for g in answer["data"] if g["status"] != "waiting" for pid in g["pids"]}
        check(spinners <= shown, f"{spinners} are not all in {shown}")


@case("who waits for whom: servers in a chain, a supervisor and its child, requests of all kinds")
def waits(ctx):
    node = ctx.new_node()
    started = node.start("waiters", "40")
    answer = ctx.ebeam.ok("dump", "-p", node.os_pid, "--waits", "-j").json()
    text = ctx.ebeam.ok("dump", "-p", node.os_pid, "--waits").out
    processes = {p["pid"]: p["registered"] for p in node.processes().values() if p["alive"]}
    edges = [tuple(e) for e in node.stop("waiters")["edges"]]
    names = {name: pid for pid, name in processes.items() if name}
    check(started["pids"], "no keeper")
    waiting = {}
    for _, to in edges:
        waiting[to] = waiting.get(to, 0) + 1
    # The node's own: the one who asks waits for its group leader's input.
    targets = {t["pid"]: t for t in answer["data"]["targets"]
               if t["name"] not in ("user", "standard_io")}
    check_equal({pid: t["waiting"] for pid, t in targets.items()}, waiting, "who is waited for")
    check_equal(answer["data"]["targets"][0]["pid"], names["wait_a"], "most waited for")
    check_equal(targets[names["wait_a"]]["message_queue_len"], 40, "its queue")
    check_equal(targets[names["wait_a"]]["current_function"], "gen:do_call/4", "what it does")
    check_equal(targets[names["wait_c"]]["behind"], 42, "behind the last of the chain")
    chains = answer["data"]["chains"]
    check_equal(chains[0][1:], [names["wait_a"], names["wait_b"], names["wait_c"]], "the chain")
    check_in((chains[0][0], names["wait_a"]), edges, "its first")
    pairs = {frozenset(d) for d in answer["data"]["deadlocks"]}
    both = {frozenset(e) for e in edges if (e[1], e[0]) in edges}
    check_equal(len(both), 2, "circles of the workload")
    check_equal(pairs, both, "deadlocks")
    check_in("; 2 deadlocks\n", text, "text")
    check_in("DEADLOCK: 2 processes wait for each other", text, "text")
    check_in("wait_d1, in gen:do_call/4\n", text, "text")
    check_in("wait_a -> ", text, "text")
    print(f"    {len(edges)} waits compared (OTP {ctx.otp})")


def readings(text):
    """The answers of --watch -j, one after the other."""
    found, decoder, at = [], json.JSONDecoder(), 0
    while text[at:].strip():
        at += len(text[at:]) - len(text[at:].lstrip())
        answer, at = decoder.raw_decode(text, at)
        found.append(answer["data"])
    return found


@case("what suspended processes wait for, and on to the peer; since when, as their own log has it", in_pairs=True)
def stalled(ctx):
    node = ctx.new_node()
    node.start("stalled")
    names = {p["registered"]: p["pid"] for p in node.processes().values() if p["registered"]}
    before = node.ask("stalled", "now_ms")
    data = ctx.ebeam.ok("dump", "-p", node.os_pid, "--waits", "-j").json()["data"]
    after = node.ask("stalled", "now_ms")
    text = ctx.ebeam.ok("dump", "-p", node.os_pid, "--waits").out
    watched = readings(ctx.ebeam.ok("dump", "-p", node.os_pid, "--waits", "--watch", "200ms", "-d", "2s", "-j").out)
    began, end = node.ask("stalled", "began"), node.ask("stalled", "now_ms")
    findings = ctx.ebeam.ok("diagnose", "-p", node.os_pid, "-d", "1s", "-j").json()["data"]["findings"]
    inside = {name: ctx.ebeam.ok("inspect", "-p", node.os_pid, name, "-j").json()["data"]["waits_for"]
              for name in names if name.startswith("stalled_")}
    truth = node.stop("stalled")
    socket, sleep, peer = truth["ports"]["socket"], truth["ports"]["sleep"], truth["peer"]
    silent = names["stalled_silent"]

    expected = {"stalled_sender": (socket, "busy_port"), "stalled_writer": (sleep, "busy_port"),
                "stalled_victim": (names["stalled_suspender"], "suspended"),
                "stalled_timed": (silent, "answer"), "stalled_untimed": (silent, "answer")}
    seen = {w["pid"]: w for w in data["waits"]}
    for name, what in expected.items():
        wait = seen.get(names[name], {})
        check_equal((wait.get("waits_for"), wait.get("reason")), what, name)
        check_equal((inside[name]["waits_for"], inside[name]["reason"]), what, f"inspect {name}")
    ours = {pid for name, pid in names.items() if name.startswith("stalled_")}
    check_equal([m for m in data["monitors"] if m["pid"] in ours],
                [{"pid": names["stalled_monitor"], "monitors": silent,
                  "current_function": "stalled:hand/1"}], "monitors at hand")
    # Ports lead on to their peers, and do not wait.
    check(max(t["behind"] for t in data["targets"]) <= len(data["waits"]), f"behind: {data['targets']}")
    for name in ("stalled_monitor", "stalled_suspender", "stalled_silent"):
        check(names[name] not in seen and inside[name] is None, f"{name} waits for nobody: {seen}")
    for chain in ([names["stalled_sender"], socket, peer],
                  [names["stalled_writer"], sleep, f"os pid {truth['os_pid']}"]):
        check_in(chain, data["chains"], "chains")
    check(re.search(rf"stalled_sender \(busy_port\) -> {socket} tcp_inet -> {peer}\n", text), text)
    check_in("stalled_monitor, in stalled:hand/1, monitors", text, "text")
    found = [f for f in findings if f["title"] == f"port {socket} (tcp_inet) is busy"]
    check_equal(len(found), 1, f"the socket in {[f['title'] for f in findings]}")
    check_equal(found[0]["severity"], "warning", f"{found}")
    for line in ("1 process waits for its reply that data was sent",
                 f"the first of these processes is {names['stalled_sender']} stalled_sender"):
        check_in(line, found[0]["evidence"], "diagnose")

    timed = seen[names["stalled_timed"]]
    check_equal(timed["waiting_is"], "timer", str(timed))
    check(before - truth["ready"] <= timed["waiting_ms"] <= after - began["stalled_timed"] + 2,
          f"{timed}: began {began}, ready {truth['ready']}, asked {before} to {after}")
    check_equal({w["waiting_is"] for w in data["waits"] if w["pid"] != timed["pid"]}, {None}, "one reading")
    check(len(watched) >= 3, f"{len(watched)} readings")
    last = {w["pid"]: w for w in watched[-1]["waits"]}
    # prim_inet:send checks its socket every 5 s: that is a wait of its own.
    sender = [w for read in watched for w in read["waits"] if w["pid"] == names["stalled_sender"] and w["waiting_ms"]]
    for name, wait in (("stalled_sender", sender[-1]), ("stalled_writer", last[names["stalled_writer"]]),
                       ("stalled_untimed", last[names["stalled_untimed"]])):
        check_equal(wait["waiting_is"], "at_least", name)
        check(0 < wait["waiting_ms"] <= end - began[name], f"{wait}: began {began}, ended before {end}")
    check_equal(last[names["stalled_victim"]]["waiting_is"], "at_least", "stalled_victim")
    check(0 < last[names["stalled_victim"]]["waiting_ms"] <= end - began["stalled_suspender"], "stalled_victim")
    turns = [w["waiting_ms"] or 0 for read in watched for w in read["waits"] if w["pid"] == names["stalled_turns"]]
    check(turns and max(turns) <= began["longest"], f"waits of {began['longest']} ms at most: {turns}")
    print(f"    {len(expected)} waits, {len(watched)} readings compared (OTP {node.otp})")


@case("--watch is for --waits of a live node", otp="one")
def waits_watch(ctx):
    for words, why in ((("--watch", "1s"), "--watch needs --waits"),
                       (("--waits", "-d", "1s"), "--duration needs --watch")):
        result = ctx.ebeam.run("dump", "-p", ctx.node.os_pid, *words)
        check_equal(result.code, 2, str(result))
        check_in(why, result.err, "error")
    node = ctx.new_node()
    watch = ctx.ebeam.popen("dump", "-p", node.os_pid, "--waits", "--watch", "100ms")
    ctx.cleanup(watch.kill)
    first = watch.stdout.readline()
    node.close()
    _, err = watch.communicate(timeout=60)
    check_equal(watch.returncode, 0, str(err))
    check_in(f"the node (pid {node.os_pid}) has exited", err.decode(), "note")
    check_in(f"pid {node.os_pid}\n", first.decode(), "heading of the first reading")


@case("--waits of a node that does not tell: said, in place of none", otp="one")
def waits_none(ctx):
    node = ctx.child(MATRIX, "run", ctx.otp, "--", "erl", "-noinput", "-eval", "receive never -> ok end")
    deadline = time.monotonic() + 30
    text = ""
    while not text.startswith("no process was seen to wait for another: ") and time.monotonic() < deadline:
        time.sleep(0.2)
        text = ctx.ebeam.run("dump", "-p", node.pid, "--waits").out
    check_in("not known for whom a receive that is written by hand waits", text, "text")
    check(not text.endswith("\n\n"), f"an empty line at the end: {text!r}")


@case("--waits is no picture", otp="one")
def waits_formats(ctx):
    result = ctx.ebeam.run("dump", "-p", ctx.node.os_pid, "--waits", "-f", "svg")
    check_equal(result.code, 2, str(result))
    check_in("--waits is text or JSON", result.err, "error")


@case("old code: who runs it, and of which module, as check_process_code/2 says")
def old_code(ctx):
    node = ctx.new_node()
    none = ctx.ebeam.ok("dump", "-p", node.os_pid, "--old-code", "-j").json()["data"]
    check_equal(none["processes"], [], "before anything is loaded anew")
    node.start("old_code")
    data = ctx.ebeam.ok("dump", "-p", node.os_pid, "--old-code", "-j").json()["data"]
    text = ctx.ebeam.ok("dump", "-p", node.os_pid, "--old-code").out
    truth = node.stop("old_code")
    check_equal(sorted(m["module"] for m in data["modules"]), truth["modules"], "modules")
    uses = sorted([p["pid"], m] for p in data["processes"] for m in p["modules"])
    check_equal(uses, sorted(truth["uses"]), "who runs old code")
    check(len(uses) >= 8, f"only {uses}")
    for module in data["modules"]:
        count = sum(m == module["module"] for _, m in uses)
        check_equal(module["processes"], count, f"processes in old code of {module['module']}")
        check(module["old_size"] > 100, f"size of {module}")
    processes = len({p for p, _ in uses})
    check_in(f"{len(truth['modules'])} modules have old code; {processes} processes run it", text,
             "text")
    print(f"    {len(uses)} uses compared (OTP {ctx.otp})")
