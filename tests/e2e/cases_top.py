# SPDX-License-Identifier: BSD-2-Clause
"""`ebeam top`: what its frames say of a node, against what the node says of itself; and the screen
itself, in a terminal."""
import datetime
import json
import os
import re
import signal
import subprocess
import tempfile
from xml.etree import ElementTree

from answers import Watch
from cases_events import of
from cases_faults import bpf_objects_of
from cases_hung import kill
from cases_record import chance
from ebeam import html_strings
from harness import case, check, check_equal, check_in, check_near
from tmux import Tmux

IN_PAIRS = True

POINTS = 0.03  # of a share of CPU


def frames(ctx, node, nr, *args):
    """Frames as objects: their "data"."""
    out = ctx.ebeam.ok("top", "-p", node.os_pid, "-j", "-n", nr, *args).out
    lines = [json.loads(line) for line in out.splitlines()]
    check_equal(len(lines), nr, "frames")
    for line in lines:
        check_equal([line["counters"][k] for k in ("lost", "refused")], [0, 0], "losses")
        check_equal(line["command"], "top", "command")
        check_equal(line["node"]["os_pid"], node.os_pid, "os_pid")
    return [line["data"] for line in lines]


@case("a quiet node: counts, limits and memory are those that the node has")
def quiet(ctx):
    node = ctx.new_node()
    node.ask("total_facts", "limits")  # which loads its code
    frame = frames(ctx, node, 2, "--watch", "0.3s")[-1]
    truth = node.ask("total_facts", "limits")
    for ours, its in (("processes", "process"), ("ports", "port"), ("atoms", "atom"),
                      ("ets", "ets")):
        seen = frame["limits"][ours]
        if seen["limit"] is not None:
            check_equal(seen["limit"], truth[f"{its}_limit"], f"limit of {ours}")
        if seen["count"] is not None:
            want = truth[f"{its}_count"]
            check(abs(seen["count"] - want) <= 2 + want // 100, f"{ours}: {seen}, {want}")
    check_equal(frame["state"], "running", "state")
    check(all(p["reductions_per_s"] is not None for p in frame["processes"]), "no rates")
    memory = ctx.ebeam.ok("mem", "-p", node.os_pid, "-j").json()["data"]
    for kind in ("atom", "code", "ets"):
        check_equal(frame["memory"][kind], memory[kind], f"memory: {kind}")


def tolerance(frame, share, percent):
    """Of a share of what has so many percent of a CPU: more than POINTS if the samples of that are few."""
    return max(POINTS, chance(share, percent / 100 * frame["window_s"] * 997))


@case("CPU of processes: shares are those of the work they did, the busiest is first")
def cpu_of_processes(ctx):
    with ctx.workload("proc_split") as truth:
        frame = frames(ctx, ctx.node, 6, "--watch", "1s", "-F", 997)[-1]  # of a whole window
    rows = {p["pid"]: p for p in frame["processes"]}
    mine = {name: rows[pid]["cpu"] for name, pid in truth["by_name"].items()}
    total = sum(mine.values())
    check(total > 2.5, f"CPU of all four: {total}")
    for name, share in truth["shares"].items():
        check_near(mine[name] / total, share, tolerance(frame, share, total), name)
    check_equal(frame["processes"][0]["registered_name"], "proc_split_4", "the busiest")


@case("CPU of processes that live for a moment: beside the rows, by what they began with",
      otp="one")
def cpu_of_ended(ctx):
    with ctx.workload("spawn_storm", "2000") as truth:
        frame = frames(ctx, ctx.node, 5, "--watch", "1s", "-F", 997)[-1]
        text = ctx.ebeam.ok("top", "-p", ctx.node.os_pid, "-b", "-n", "2", "--watch", "1s").out
    check(truth["spawned"] > 1000, f"spawned {truth}")
    ended = frame["ended"]
    calls = {c["initial_call"]: c["cpu"] for c in ended["by_initial_call"]}
    # 2,000 a second that work for 10 us and begin and end.
    check(calls["spawn_storm:child/1"] > 0.7, f"of its children: {ended}")
    check(sum(calls.values()) <= ended["cpu"] * 1.001, f"parts {ended}")
    check(max(calls, key=calls.get) == "spawn_storm:child/1", f"most: {ended}")
    check_in("not in these rows: ", text, "the note")
    check_in("% spawn_storm:child/1", text, "the note says whose")


@case("schedulers that are stuck are at work, and a line above all says so", long=True)
def held(ctx):
    node = ctx.new_node(flags=("+S", "2:2", "+SDcpu", "2", "+SDio", "4"))
    ctx.cleanup(kill, node)
    node.start("incidents", "dirty_pool", settle=0.5)
    node.start("incidents", "stuck", settle=1.5)
    frame = frames(ctx, node, 3)[-1]
    by_type = {kind: [s for s in frame["schedulers"] if s["type"] == kind]
               for kind in ("normal", "dirty_cpu", "dirty_io")}
    for s in by_type["normal"] + by_type["dirty_cpu"]:
        check(s["at_least_ns"] > 1e9, f"in the same slice in three readings: {s}")
        check(s["work"] > 0.9, f"at work: {s}")
    for s in by_type["dirty_io"]:
        check_equal(s["at_least_ns"], None, f"does nothing: {s}")
    text = ctx.ebeam.ok("top", "-p", node.os_pid, "-b", "-n", "2").out
    line = "^No change of process: 2/2 schedulers >= [0-9.]+ s, 2/2 dirty CPU >= [0-9.]+ s \\(ebeam"
    check(re.search(line, text, re.M), f"the line: {text}")
    text = ctx.ebeam.ok("top", "-p", node.os_pid, "-b", "-n", "2", "--panel", "schedulers").out
    check(len(re.findall("^(?:1|2|dirty cpu [12]) .* >= [0-9.]+ s ", text, re.M)) >= 4, f"FOR: {text}")


@case("a scheduler whose thread waits for a CPU is at work, though samples see little of it", otp="one",
      alone=True, long=True)
def starved(ctx):
    cpu = str(min(os.sched_getaffinity(0)))
    node = ctx.new_node(flags=("+S", "1:1"), prefix=("taskset", "-c", cpu))
    for _ in range(2):
        burner = subprocess.Popen(["taskset", "-c", cpu, "sh", "-c", "while :; do :; done"])
        ctx.cleanup(burner.kill)
    node.start("incidents", "run_queue", settle=1)
    s = next(s for s in frames(ctx, node, 5)[-1]["schedulers"] if s["type"] == "normal")
    check(s["work"] > 0.85, f"it is never without work: {s}")
    check(s["blocked"] > 0.3, f"two others have the CPU for most of the time: {s}")


@case("of a node that works no line says that schedulers are held")
def not_held(ctx):
    with ctx.workload("web"):
        text = ctx.ebeam.ok("top", "-p", ctx.node.os_pid, "-b", "-n", "3").out
    check("No change of process" not in text, f"text: {text}")


@case("CPU of functions: the busiest is first", otp="one")
def cpu_of_functions(ctx):
    with ctx.workload("cpu_split") as truth:
        frame = frames(ctx, ctx.node, 6, "--watch", "1s", "-F", 997)[-1]
    busiest = max(truth["self"], key=truth["self"].get)
    check_equal(frame["functions"][0]["mfa"], busiest, "the busiest")
    mine = {f["mfa"]: f["total"] for f in frame["functions"] if f["mfa"] in truth["self"]}
    check_equal(set(mine), set(truth["self"]), "functions")
    cpu, = [p["cpu"] for p in frame["processes"] if p["pid"] in truth["pids"]]
    for mfa, share in truth["self"].items():
        share /= sum(truth["self"].values())
        check_near(mine[mfa] / sum(mine.values()), share, POINTS + tolerance(frame, share, cpu), mfa)


@case("Ctrl-C, the end of the node, -n and -d end it; every line is whole", otp="one")
def ends(ctx):
    node = ctx.new_node()
    for signo in (signal.SIGINT, signal.SIGTERM):
        process = ctx.ebeam.popen("top", "-p", node.os_pid, "-j", "--watch", "0.2s",
                                  stdout=subprocess.PIPE)
        json.loads(process.stdout.readline())
        process.send_signal(signo)
        for line in process.stdout.read().splitlines():
            json.loads(line)
        check_equal(process.wait(20), 0, f"exit code after {signo}")
    process = ctx.ebeam.popen("top", "-p", node.os_pid, "-b", "--watch", "0.2s",
                              stdout=subprocess.PIPE)
    first = process.stdout.readline().decode()
    os.kill(node.os_pid, signal.SIGKILL)
    rest = process.stdout.read().decode()
    titles = [line for line in [first] + rest.splitlines() if f"pid {node.os_pid}  OTP" in line]
    check_equal(["EXITED" in line for line in titles], [False] * (len(titles) - 1) + [True],
                "titles of frames that say so")
    check_equal(process.wait(20), 0, "exit code when the node has exited")
    check_in("has exited", process.stderr.read().decode(), "the note")


@case("what makes no sense is a usage error that says why", otp="one")
def usage(ctx):
    for words, why in ((("--panel", "nonsense"), "not one of processes"),
                       (("--watch", "1ms"), "shortest"), (("-s", "nonsense"), "nonsense"),
                       (("-c", "pid,nonsense"), "nonsense")):
        done = ctx.ebeam.run("top", "-p", ctx.node.os_pid, "-b", "-n", "1", *words)
        check_equal(done.code, 2, f"exit code of {words}")
        check_in(why, done.err, f"stderr of {words}")


@case("in a terminal: filter, process, flame graph of it, panels, saved screen, end")
def in_terminal(ctx):
    node = ctx.new_node()
    with ctx.workload("proc_split", node=node), tempfile.TemporaryDirectory() as place:
        pid = ctx.ebeam.ok("ps", "-p", node.os_pid, "-j", "--where",
                           "registered_name == proc_split_4").json()["data"][0]["pid"]
        with Tmux(place, ["sh", "-c", f"cd {place}; exec {ctx.ebeam.path} top -p {node.os_pid}"],
                  columns=120, rows=40) as t:
            t.wait(re.compile(rf"{re.escape(pid)}\s+proc_split_4\s+[1-9]"))  # its CPU is known
            t.key("f")  # nobody chose a row
            t.wait("Calls of the node")
            t.key("q")
            t.type("/split_4")
            t.key("Enter")
            t.wait(lambda text: "proc_split_4" in text and "proc_split_3" not in text)
            t.key("Down", "Enter")
            t.wait(f"Process {pid}")
            check_in("proc_split", t.wait("initial_call") and t.text(), "the process")
            t.key("q")
            t.key("f")
            t.wait(f"Calls of {pid}")
            check_in("proc_split:spin/2", t.text(), "the tree of calls")
            check("proc_split_3" not in t.text(), "other processes in the tree")
            page = t.wait(re.compile(r"flame graph: (\S+\.html)")).group(1)
            with open(os.path.join(place, page)) as f:
                check_in("proc_split:spin/2", html_strings(f.read()), "the page")
            t.key("q", "3")
            t.wait("dirty cpu 1")
            t.key("7")
            t.wait("stdlib")
            t.key("s")
            saved = t.wait(re.compile(r"saved: (\S+\.txt)")).group(1)
            with open(os.path.join(place, saved)) as f:
                check_in("Applications", f.read(), "the saved screen")
            t.key("?")
            t.wait("quit")
            t.key("q", "q")
            check_equal(t.wait_end(), 0, "exit code")


@case("in a terminal: the node ends, its last frame stays; -d ends it", otp="one")
def node_ends(ctx):
    node = ctx.new_node()
    with tempfile.TemporaryDirectory() as place:
        with Tmux(place, [ctx.ebeam.path, "top", "-p", node.os_pid], columns=100, rows=30) as t:
            t.wait("init")
            os.kill(node.os_pid, signal.SIGKILL)
            t.wait("has exited")
            check_in("init", t.text(), "the last frame")
            t.key("q")
            check_equal(t.wait_end(), 0, "exit code")
        with Tmux(place, [ctx.ebeam.path, "top", "-p", ctx.node.os_pid, "-d", "1s"]) as t:
            check_equal(t.wait_end(), 0, "exit code after -d")


@case("in a terminal: memory comes, also where reading that of all atoms waits for the first frame",
      otp="one")
def many_atoms(ctx):
    node = ctx.new_node()
    memory = re.compile(r"Memory +\S* *[0-9.]+ [MG]iB")
    for atoms in (0, 150000):
        node.ask("mem_facts", "atoms", atoms)
        with tempfile.TemporaryDirectory() as place, \
                Tmux(place, [ctx.ebeam.path, "top", "-p", node.os_pid], columns=100, rows=30) as t:
            t.wait(memory)
            t.key("q")
            check_equal(t.wait_end(), 0, "exit code")
    frame = frames(ctx, node, 1)[0]
    check_equal(frame["memory"]["atom"],
                ctx.ebeam.ok("mem", "-p", node.os_pid, "-j").json()["data"]["atom"], "-j: at once")


@case("-j by any column, and of a capture", otp="one")
def lines(ctx):
    with ctx.workload("proc_split") as truth:
        for column in ("name", "status", "current_function", "memory", "pid"):
            check(frames(ctx, ctx.node, 1, "--watch", "0.2s", "-s", column)[0]["processes"],
                  f"nothing by {column}")
        # Counts that have to be walked for are there if somebody wants them, and not known else.
        wanted = frames(ctx, ctx.node, 1, "--watch", "0.2s", "-s", "links")[0]["processes"]
        check(wanted[0]["links"] > 0, f"links: {wanted[0]}")
        counts = [p["links"] for p in wanted]
        check_equal(counts, sorted(counts, reverse=True), "order by links")
        frame = frames(ctx, ctx.node, 1, "--watch", "0.2s")[0]
        check_equal({p["links"] for p in frame["processes"]}, {None}, "links that nobody read")
        path = ctx.ebeam.capture(ctx.node, 3)
    done = ctx.ebeam.ok("top", "-i", path, "-j")
    played = [json.loads(line) for line in done.out.splitlines()]
    seen = [line["data"] for line in played]
    check(3 <= len(seen) <= 5, f"{len(seen)} frames of 3 s")
    times = [datetime.datetime.fromisoformat(line["time"].rstrip("Z")) for line in played]
    check(all(a <= b for a, b in zip(times, times[1:])), f"times of the capture: {times}")
    recorded = datetime.datetime.utcfromtimestamp(os.stat(path).st_mtime)
    check((recorded - times[0]).total_seconds() > 1, f"it was recorded until {recorded}: {times}")
    check_in("Samples: ", done.err, "the closing line")
    part = ctx.ebeam.ok("top", "-i", path, "-j", "-d", "1s").out.splitlines()
    check_equal([json.loads(line)["data"] for line in part], seen[:1], "-d 1s of it")
    names = {p["registered_name"] for p in seen[-1]["processes"]}
    check(set(truth["by_name"]) <= names, f"processes of the capture: {names}")
    check_in("proc_split:spin/2", [f["mfa"] for f in seen[-1]["functions"]], "functions")


@case("in a terminal: a panel chosen while it is paused is read; -n ends it", otp="one")
def chosen(ctx):
    with tempfile.TemporaryDirectory() as place:
        with Tmux(place, [ctx.ebeam.path, "top", "-p", ctx.node.os_pid, "--watch", "0.2s"],
                  columns=120, rows=40) as t:
            t.wait("init")
            t.key("p")
            t.wait("PAUSED")
            for key, wanted in (("5", "ac_tab"), ("6", "forker"), ("7", "stdlib"),
                                ("4", "eheap"),
                                ("8", re.compile(rf"{ctx.node.os_pid}\s+\S+\s+\d+\s+\d"))):
                t.key(key)
                t.wait(wanted)
                check_in("PAUSED", t.text(), f"the screen after {key}")
            t.key("q")
            check_equal(t.wait_end(), 0, "exit code")
        with Tmux(place, [ctx.ebeam.path, "top", "-p", ctx.node.os_pid, "-n", "2", "--watch",
                          "0.2s"]) as t:
            check_equal(t.wait_end(), 0, "exit code after -n")


@case("in a terminal: a node that starts again under its name is offered, and taken", otp="one")
def restarts(ctx):
    name = f"again-{os.getpid()}@127.0.0.1"
    node = ctx.new_node(name=name)
    with tempfile.TemporaryDirectory() as place:
        with Tmux(place, [ctx.ebeam.path, "top", "-p", node.os_pid], columns=120, rows=30) as t:
            t.wait(f"{name}  pid {node.os_pid}")
            node.close()
            t.wait("EXITED")
            t.key("6")  # never read, and never will be
            t.wait("the node has exited")
            again = ctx.new_node(name=name)
            t.wait(f"{name} runs again, as pid {again.os_pid}")
            t.key("8")
            t.type("/again-")
            t.key("Enter")
            t.wait("1 of 1 of")
            t.key("Enter")
            t.wait(f"{name}  pid {again.os_pid}")
            t.wait("init")
            check("EXITED" not in t.text(), "still exited")
            t.wait(re.compile(r"[0-9.]+% CPU, RSS"))
            t.key("q")
            check_equal(t.wait_end(), 0, "exit code")


def by_event(frame):
    return {e["event"]: e for e in frame["events"]}


@case("panel of events: rates are those of what the node does, and what is missing has its reason",
      otp="one")
def event_rates(ctx):
    with ctx.workload("paced") as truth:
        seen = frames(ctx, ctx.node, 5, "--watch", "1s", "--panel", "events",
                      "--max-overhead", "100")
    compared = 0
    for event, column, want in (("message_send", "rate", "messages"),
                                ("message_queued", "rate", "messages"),
                                ("message_send", "bytes_per_s", "bytes"),
                                ("process_spawn", "rate", "spawns"),
                                ("process_exit", "rate", "spawns"),
                                ("gc_major_end", "rate", "collections")):
        rows = [by_event(frame)[event] for frame in seen]
        if rows[0]["state"] == "missing":
            check(rows[0]["missing"], f"{event} is missing, and why?")
            check(ctx.node.otp >= 29, f"{event}: {rows[0]['missing']}")
            continue
        check_equal({r["state"] for r in rows}, {"on"}, f"state of {event}")
        check_equal({r["share"] for r in rows}, {1}, f"share of {event}")
        check_equal(rows[-1]["lost"], 0, f"{event} lost")
        # All steps: what falls from one into the next is in both.
        rate = sum(r[column] for r in rows) / len(rows)
        # The node may wait for a CPU at the beginning or the end, and do the same in a shorter time then.
        allowed = 0.05 * truth[want] + truth[want] * 0.3 / len(rows)
        check_near(rate, truth[want], allowed, f"{column} of {event}")
        compared += 1
        if event == "gc_major_end":
            check(0 < rows[-1]["time"] < 1 and rows[-1]["longest_ns"] > 0, f"pauses: {rows[-1]}")
        if event == "message_send" and column == "rate":
            mean = sum(frame["rates"]["messages"] for frame in seen) / len(seen)
            check_near(mean, truth[want], allowed, "messages of the header")
    check(seen[-1]["ebeam"]["probes_cost"] > 0, "probes cost nothing")
    print(f"{compared} rates compared")


@case("without the panel of events there are no probes, and none of their figures", otp="one")
def no_events(ctx):
    frame = frames(ctx, ctx.node, 1, "--watch", "0.3s")[0]
    check_equal(frame["events"], None, "events")
    check_equal(frame["rates"]["messages"], None, "messages")
    check_equal(frame["ebeam"]["probes_cost"], None, "cost of probes")
    done = ctx.ebeam.run("top", "-p", ctx.node.os_pid, "-j", "-n", "1", "--panel", "ets")
    check_equal(done.code, 2, "exit code of -j --panel ets")


def code_maps(node):
    """Executable mappings of the node, but for the page that the kernel adds for uprobes."""
    with open(f"/proc/{node.os_pid}/maps") as f:
        return sorted(line for line in f if "x" in line.split()[1] and "[uprobes]" not in line)


@case("in a terminal: probes of events are there while their panel is, and gone with it", otp="one")
def events_come_and_go(ctx):
    node = ctx.new_node()
    with ctx.workload("paced", node=node), tempfile.TemporaryDirectory() as place:
        before = code_maps(node)
        with Tmux(place, [ctx.ebeam.path, "top", "-p", node.os_pid, "--max-overhead", "100"],
                  columns=120, rows=40) as t:
            t.wait(re.compile(r"<0\.\d+\.0>\s+paced"))
            t.wait(lambda _: bpf_objects_of(t.pid))
            few = bpf_objects_of(t.pid)
            for _ in range(2):
                t.key("9")
                t.wait(re.compile(r"message_send\s+[12],\d\d\d"))
                check(len(bpf_objects_of(t.pid)) > len(few) + 10, "programs and links of events")
                t.key("1")  # answered at once; the probes go in the background
                t.wait("MAILBOX")
                t.wait(lambda _: bpf_objects_of(t.pid) == few)
            t.key("p", "9")
            t.wait("paused: probes")
            check_equal(bpf_objects_of(t.pid), few, "programs and links while it is paused")
            t.key("p")
            t.wait(re.compile(r"message_send\s+[12],\d\d\d"))
            t.key("1")
            t.wait(lambda _: bpf_objects_of(t.pid) == few)
            check_equal(code_maps(node), before, "what the node can run")
            t.key("9", "q")  # while they are being attached
            check_equal(t.wait_end(), 0, "exit code")
    watch = Watch(ctx, node, "-e", "message_send")
    truth = node.ask("happenings", "messages", 50, 20)
    sent = of(watch.events(), "message_send", pid=truth["sender"], to=truth["receiver"])
    check_equal(len(sent), 50, "messages that a new run sees, once each")


@case("ping-pong: events are sampled within the budget, and reported as such", otp="one", alone=True,
      long=True)
def events_sampled(ctx):
    node = ctx.new_node(flags=("+S", "2:2"))
    with ctx.workload("pingpong", node=node) as truth:
        seen = frames(ctx, node, 8, "--watch", "1s", "--panel", "events")
        text = ctx.ebeam.ok("top", "-p", node.os_pid, "-b", "-n", "4", "--panel", "events").out
    rows = [by_event(frame)["message_send"] for frame in seen]
    # One percent of two schedulers is enough for samples.
    check_equal(rows[-1]["state"], "sampled", f"{rows[-1]}")
    check_in("sampled", text, "the screen")
    sent = truth["messages"] / truth["elapsed_ns"] * 1e9
    rates = [r["rate"] for r in rows if r["state"] == "sampled" and r["rate"] is not None]
    print(f"{sent:.0f} messages a second, seen as {[round(r) for r in rates]}, shares "
          f"{[r['share'] for r in rows]}, cost {[r['cost'] for r in rows]}")
    check(len(rates) >= 4, f"rates: {rows}")
    check(rows[-1]["share"] < 0.3, f"share: {rows[-1]}")
    # As in cases_budget.py: slices of some ms.
    check(0.7 < sum(rates) / len(rates) / sent < 1.4, "rate")
    check_equal(by_event(seen[-1])["process_spawn"]["state"], "on", "what costs nothing")
    check(seen[-1]["ebeam"]["probes_cost"] < 5, f"{seen[-1]['ebeam']}")


@case("panel of events of a capture: what it holds, by step", otp="one")
def events_of_capture(ctx):
    node = ctx.new_node()
    with ctx.workload("paced", node=node), tempfile.TemporaryDirectory() as place:
        path = os.path.join(place, "x.ebeam")
        ctx.ebeam.ok("events", "-p", node.os_pid, "-e", "process_spawn,message_send", "-d", "4s",
                     "-o", path, "--max-overhead", "100")
        seen = [json.loads(line)["data"] for line in ctx.ebeam.ok("top", "-i", path, "-j")
                .out.splitlines()]
        text = ctx.ebeam.ok("top", "-i", path, "-b", "--panel", "events").out
        held = [json.loads(line) for line in ctx.ebeam.ok("events", "-i", path, "-j")
                .out.splitlines()]
    check(3 <= len(seen) <= 5, f"{len(seen)} frames of 4 s")
    # Steps of a second, from the first event on.  Events before all probes were attached are not counted.
    for event, least in (("message_send", 6000), ("process_spawn", 1500)):
        after = [e["ts_ns"] - held[0]["ts_ns"] for e in held if e["kind"] == event]
        check(len(after) > least, f"{len(after)} of {event} in 4 s")
        in_steps = [sum(ns < (step + 1) * 10**9 for ns in after) for step in range(len(seen))]
        early = in_steps[0] - by_event(seen[0])[event]["total"]
        check(0 <= early < 1000, f"{early} of {event} before all probes were attached")
        counted = [n - early for n in in_steps]
        check_equal([by_event(frame)[event]["total"] for frame in seen], counted,
                    f"{event}, at the end of each step")
        check_equal([by_event(frame)[event]["rate"] for frame in seen[:3]],
                    [b - a for a, b in zip([0] + counted[:2], counted[:3])], f"{event} a second")
    check_equal(set(by_event(seen[-1])), {"message_send", "process_spawn"}, "kinds")
    check_in("message_send", text, "the screen")


@case("the last frame as a picture, and all of them in a file", otp="one")
def in_files(ctx):
    with tempfile.TemporaryDirectory() as place:
        picture, text = os.path.join(place, "x.svg"), os.path.join(place, "x.txt")
        ctx.ebeam.ok("top", "-p", ctx.node.os_pid, "-n", "2", "--watch", "0.2s", "-o", picture)
        root = ElementTree.parse(picture).getroot()
        words = " ".join(root.itertext())
        for word in ("Processes", "init", f"pid {ctx.node.os_pid}"):
            check_in(word, words, "the picture")
        out = ctx.ebeam.ok("top", "-p", ctx.node.os_pid, "--watch", "0.2s", "-f", "svg").out
        check_equal(ElementTree.fromstring(out).tag, root.tag, "the picture on standard output")
        ctx.ebeam.ok("top", "-p", ctx.node.os_pid, "-n", "3", "--watch", "0.2s", "-o", text)
        with open(text, encoding="utf-8") as f:
            check_equal(f.read().count("1 Processes"), 3, "frames of the text")
        check_equal(sorted(os.listdir(place)), ["x.svg", "x.txt"], "files")
    for words, why in ((("-f", "pdf"), "text, svg"), (("-j", "-f", "svg"), "cannot be combined")):
        done = ctx.ebeam.run("top", "-p", ctx.node.os_pid, *words)
        check_equal(done.code, 2, f"exit code of {words}")
        check_in(why, done.err, f"stderr of {words}")
