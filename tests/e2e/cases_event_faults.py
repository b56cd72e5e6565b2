# SPDX-License-Identifier: BSD-2-Clause
"""Events when things go wrong: two ebeams at once, readers that are slow, signals, a node that is
killed."""
import ctypes
import json
import os
import re
import signal
import struct
import time

from answers import Watch, gives, not_given
from cases_events import of
from ebeam import bpf_descriptors
from harness import case, check, check_equal, check_in

SIDE_BY_SIDE = IN_TURN = True


@case("two ebeams on one node: both see everything, each once")
def two_at_once(ctx):
    first = Watch(ctx, ctx.node, "-e", "message,process")
    second = Watch(ctx, ctx.node, "-e", "process,message")
    truth = ctx.node.ask("happenings", "messages", 500, 20)
    spawned = ctx.node.ask("happenings", "spawns", 20)
    for watch in (first, second):
        events = watch.events()
        check_equal(len(of(events, "message_send", pid=truth["sender"], to=truth["receiver"])),
                    500, "messages")
        children = {c["pid"] for c in spawned["children"]}
        for kind in ("process_spawn", "process_exit"):
            seen = [e["pid"] for e in of(events, kind) if e["pid"] in children]
            check_equal(sorted(seen), sorted(children), kind)


@case("a kernel without links of many probes: each is a perf event, and the counts are the node's")
def perf_events(ctx):
    watch = Watch(ctx, ctx.node, "-e", "message_send,process_spawn,process_exit,process_register",
                  "--uprobes", "perf")
    links = [d.get("link_type") for d in bpf_descriptors(watch.process.pid) if "link_id" in d]
    check("perf" in links and "uprobe_multi" not in links, f"links: {links}")
    truth = ctx.node.ask("happenings", "messages", 500, 20)
    spawned = ctx.node.ask("happenings", "spawns", 20)
    named = ctx.node.ask("happenings", "names", 10)
    events = watch.events()
    compared = 0
    if gives(ctx, "message_send"):
        sent = of(events, "message_send", pid=truth["sender"], to=truth["receiver"])
        check_equal([e["size"] for e in sent], [truth["size"]] * 500, "messages, and their sizes")
        compared += len(sent)
    if gives(ctx, "process_spawn", "process_exit"):
        children = {c["pid"]: c["reason"] for c in spawned["children"]}
        born = [e["pid"] for e in of(events, "process_spawn") if e["pid"] in children]
        died = {e["pid"]: e["reason"] for e in of(events, "process_exit") if e["pid"] in children}
        check_equal(sorted(born), sorted(children), "spawns")
        check_equal(died, children, "exits, and their reasons")
        compared += len(born) + len(died)
    if gives(ctx, "process_register"):
        own = of(events, "process_register", pid=named["pid"])
        check_equal([e["name"] for e in own], named["names"], "names")
        compared += len(own)
    check(compared > 0, "something is given here")
    print(f"{compared} events by {len(links)} links compared with the node")


@case("one of two ebeams is killed: the other goes on as before")
def other_is_killed(ctx):
    victim = Watch(ctx, ctx.node, "-e", "message")
    watch = Watch(ctx, ctx.node, "-e", "message")
    ctx.node.ask("happenings", "messages", 50, 20)
    victim.process.kill()
    victim.process.wait(30)
    truth = ctx.node.ask("happenings", "messages", 500, 20)
    sent = of(watch.events(), "message_send", pid=truth["sender"], to=truth["receiver"])
    check_equal(len(sent), 500, "messages")


def uprobe_everywhere(path, offset):
    """A descriptor that holds a uprobe there for all processes, as bpftrace's without -p."""
    with open("/sys/bus/event_source/devices/uprobe/type") as f:
        kind = int(f.read())
    name = ctypes.create_string_buffer(path.encode())
    attr = struct.pack("=IIQQQQQIIQQ", kind, 72, 0, 0, 0, 0, 0, 0, 0, ctypes.addressof(name), offset)
    fd = ctypes.CDLL(None, use_errno=True).syscall(298, attr, -1, 0, -1, 8)  # perf_event_open
    check(fd >= 0, f"a uprobe of all processes: {os.strerror(ctypes.get_errno())}")
    return fd


@case("somebody has uprobes on the same functions in all processes: the file is read without them",
      otp="one", alone=True)
def probed_by_others(ctx):
    def places():
        return ctx.ebeam.ok("events", "-p", ctx.node.os_pid, "-e", "message_send", "--dry-run",
                            "-j").json()["data"]

    before = places()
    held = [uprobe_everywhere(os.path.realpath(f"/proc/{ctx.node.os_pid}/exe"), p["file_offset"])
            for p in before if p["at"] == "call" and not p["file"]]
    try:
        instructions = [[(p["function"], p["at"], p["instruction"]) for p in x]
                        for x in (before, places())]
        check_equal(instructions[1], instructions[0], "places")
        watch = Watch(ctx, ctx.node, "-e", "message_send")
        truth = ctx.node.ask("happenings", "messages", 100, 20)
        sent = of(watch.events(), "message_send", pid=truth["sender"], to=truth["receiver"])
        check_equal(len(sent), 100, "messages")
    finally:
        for fd in held:
            os.close(fd)
    print(f"{len(held)} uprobes")


@case("a reader that does not read: the node goes on, signals work, what is lost is counted",
      otp="one", alone=True)
def slow_reader(ctx):
    node = ctx.new_node(flags=("+S", "2:2"))
    reader, writer = os.pipe()
    watch = Watch(ctx, node, "-e", "message_send", stdout=writer)
    os.close(writer)
    truth = node.ask("happenings", "storm", 3)
    watch.process.send_signal(signal.SIGINT)
    time.sleep(1)  # the probes go, the lines wait
    check(watch.process.poll() is None, f"it waits for its reader: {watch.err}")
    with os.fdopen(reader, "rb") as f:
        events = [json.loads(line) for line in f.read().decode().splitlines()]
    check_equal(watch.process.wait(30), 0, f"exit code; {watch.err}")
    watch.end()
    shown, lost = watch.closing()
    check_equal(len(events), shown, "events of the closing line")
    check(lost > 0, "that many events do not fit in the rings")
    check(any("whoever reads the output is too slow" in line for line in watch.err), f"{watch.err}")
    sent = len(of(events, "message_send", pid=truth["pinger"], to=truth["ponger"]))
    check(0 < sent < truth["trips"], f"{sent} of {truth['trips']}")
    check(sent + lost >= truth["trips"], f"{sent} seen, {lost} lost of {truth['trips']}")
    print(f"{truth['trips']} round trips, {shown} events, {lost} lost")


def fill(fd):
    """A pipe that takes nothing more, and how much is in it."""
    os.set_blocking(fd, False)
    written = 0
    try:
        while True:
            written += os.write(fd, b" " * 4096)
    except BlockingIOError:
        os.set_blocking(fd, True)
        return written


@case("answers that nobody reads: probes and counts go on, -d and Ctrl-C end it, the probes go",
      otp="one", alone=True)
def slow_view(ctx):
    views = [("gc", "-j", "-d", "1"), ("sched", "-j"), ("proc",)]
    views += [(view, "-j") for view, kind in (("msg", "message_send"), ("alloc", "carrier_create"))
              if gives(ctx, kind)]
    for view, *args in views:
        reader, writer = os.pipe()
        written = fill(writer)
        watch = Watch(ctx, ctx.node, "--watch", "100ms", *args, command=view, json_lines=False,
                      stdout=writer)
        os.close(writer)
        ctx.node.ask("happenings", "messages", 500, 20)
        for _ in range(600):
            if any("has not been read" in line for line in watch.err):
                break
            time.sleep(0.1)
        check(any("has not been read" in line for line in watch.err), f"{view}: {watch.err}")
        if "-d" not in args:
            watch.process.send_signal(signal.SIGINT)
        with os.fdopen(reader, "rb") as f:
            out = f.read()[written:].decode()
        watch.end()
        check_equal(watch.process.returncode, 0, f"exit code of {view}; {watch.err}")
        check_in("intervals merged", watch.err[-1], view)
        check_equal(watch.closing()[1], 0, f"lost by {view}")
        if "-j" in args:
            answers = [json.loads(line) for line in out.splitlines()]
            check(answers, f"{view}: no answer")
        else:
            check_in(f"pid {ctx.node.os_pid}", out, f"{view}: the answers")
        if view == "msg":
            check(sum(a["data"]["messages"] for a in answers) >= 500, "messages sent meanwhile")
    print(f"{len(views)} views")


@case("SIGTERM ends a stream as Ctrl-C does; a second signal at once", otp="one", alone=True)
def sigterm(ctx):
    watch = Watch(ctx, ctx.node, "-e", "message")
    truth = ctx.node.ask("happenings", "messages", 10, 10)
    watch.process.send_signal(signal.SIGTERM)
    watch.process.wait(30)
    sent = of(watch.events(), "message_send", pid=truth["sender"], to=truth["receiver"])
    check_equal(len(sent), 10, "messages")
    reader, writer = os.pipe()
    watch = Watch(ctx, ctx.node, "-e", "message", stdout=writer)
    os.close(writer)
    ctx.node.ask("happenings", "storm", 1)
    watch.process.send_signal(signal.SIGINT)
    time.sleep(1)
    watch.process.send_signal(signal.SIGINT)
    check_equal(watch.process.wait(30), 130, f"exit code; {watch.err}")
    os.close(reader)


@case("the node is killed in mid-stream: what was seen is shown and kept, exit 0")
def node_killed(ctx):
    node = ctx.new_node()
    path = ctx.ebeam.file(".ebeam")
    stream = Watch(ctx, node, "-e", "process")
    capture = Watch(ctx, node, "-e", "process", "-o", path)
    truth = node.ask("happenings", "spawns", 5)
    os.kill(node.os_pid, signal.SIGKILL)
    for watch in (stream, capture):
        check_equal(watch.process.wait(30), 0, f"exit code; {watch.err}")
        check(any("exited" in line for line in watch.err), f"{watch.err}")
    recorded = ctx.ebeam.ok("events", "-i", path, "-j").out.splitlines()
    for events in (stream.events(), [json.loads(line) for line in recorded]):
        died = {e["pid"] for e in of(events, "process_exit")}
        check({c["pid"] for c in truth["children"]} <= died, "exits before the end")


@case("the output is a full disk: said, exit 1", otp="one")
def full_disk(ctx):
    watch = Watch(ctx, ctx.node, "-e", "message", "-o", "/dev/full")
    ctx.node.ask("happenings", "messages", 500, 20)
    check_equal(watch.process.wait(30), 1, f"exit code; {watch.err}")
    watch.end()
    check_in("No space left", " ".join(watch.err), "why")


@case("-n: as many events as were asked for, and not one more")
def limit(ctx):
    ctx.node.ask("happenings", "start_storm")
    try:
        for n in (1, 40, 300):
            result = ctx.ebeam.ok("events", "-p", ctx.node.os_pid, "-e", "message", "-n", n)
            check_equal(len(result.out.splitlines()), n, "lines")
            check_in(f"Events: {n} ", result.err, "closing line")
    finally:
        ctx.node.ask("happenings", "end_storm")


@case("what is not to be had is named, each kind once, each reason once")
def refused(ctx):
    missing = {row["kind"] for row in not_given(ctx)[0]}
    said = ctx.ebeam.ok("events", "-p", ctx.node.os_pid, "-d", "100ms").err
    found = re.findall(r"^ebeam: (?:no|not in this OTP \d+ build:?) ((?:\w+, )*\w+)(: .*| \(.*)$", said,
                       re.MULTILINE)
    named = [kind for kinds, _ in found for kind in kinds.split(", ")]
    check_equal(sorted(named), sorted(missing), f"kinds; {said}")
    reasons = [why for _, why in found]
    check_equal(len(set(reasons)), len(reasons), f"reasons; {said}")
    print(f"{len(named)} kinds, {len(reasons)} reasons")


@case("a stopped node is reported, and none of its schedulers is busy", otp="one")
def stopped(ctx):
    node = ctx.new_node()
    node.start("cpu_split")
    os.kill(node.os_pid, signal.SIGSTOP)
    try:
        r = ctx.ebeam.ok("sched", "-p", node.os_pid, "-d", 1, "-j")
        check_in("is stopped (SIGSTOP)", r.err, "the text")
        answer = r.json()
        check_in("the node is stopped (SIGSTOP)", answer["warnings"], "warnings")
        busy = [s for s in answer["data"]["schedulers"] if s["utilization"]]
        check_equal(busy, [], "busy schedulers")
    finally:
        os.kill(node.os_pid, signal.SIGCONT)


@case("a capture without the events of a view is no capture of nothing", otp="one")
def other_events(ctx):
    path = ctx.ebeam.file(".ebeam")
    ctx.ebeam.ok("events", "-p", ctx.node.os_pid, "-e", "gc", "-d", 1, "-o", path)
    ctx.ebeam.ok("gc", "-i", path)
    for view in ("msg", "alloc", "sched"):
        r = ctx.ebeam.run(view, "-i", path)
        check_equal(r.code, 1, f"exit code of {view}")
        check_in(f"holds no events of '{view}'", r.err, "the text")


OVERLAY = ('d=$(dirname $1); mount -t tmpfs none /mnt && mkdir /mnt/upper /mnt/work && mount -t overlay overlay '
           '-o lowerdir=$d,upperdir=/mnt/upper,workdir=/mnt/work $d && exec "$@"')


@case("an executable in overlayfs: probes work, until it is copied because somebody changes it; then they are refused")
def copied_by_overlayfs(ctx):
    node, beam = ctx.copied_node(prefix=("unshare", "--mount", "--propagation", "private"),
                                 by=("sh", "-c", OVERLAY, "sh"))
    watch = Watch(ctx, node, command="gc")
    made = node.ask("views", "collect", 50)["number"]
    totals = watch.answer()["totals"]
    check(totals["minor"] + totals["major"] >= made, f"{made} collections, seen: {totals}")
    os.utime(f"/proc/{node.os_pid}/root{beam}")
    for words in (("gc", "-d", "1"), ("events", "-d", "1", "--count"), ("trace", "ets:insert/2", "-d", "1"),
                  ("gc", "-d", "1", "--uprobes", "perf")):
        refused = ctx.ebeam.ok(*words, "-p", node.os_pid, code=1)
        check_in("overlayfs", refused.err, str(refused))
    check_equal(ctx.ebeam.ok("ps", "-p", node.os_pid, "-j").json()["node"]["os_pid"], node.os_pid, "ps")
    with ctx.workload("cpu_split", node=node) as truth:
        profile = ctx.ebeam.record(node, 1)
    check(profile.share_with("cpu_split:gamma/2", profile.of_pids(truth["pids"])) > 0.3,
          f"hottest: {profile.hottest()}")
