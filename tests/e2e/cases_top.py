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

from ebeam import html_strings
from harness import case, check, check_equal, check_in, check_near
from tmux import Tmux

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


@case("CPU of processes: shares are those of the work they did, the busiest is first")
def cpu_of_processes(ctx):
    with ctx.workload("proc_split") as truth:
        frame = frames(ctx, ctx.node, 6, "--watch", "1s", "-F", 997)[-1]  # of a whole window
    rows = {p["pid"]: p for p in frame["processes"]}
    mine = {name: rows[pid]["cpu"] for name, pid in truth["by_name"].items()}
    total = sum(mine.values())
    check(total > 2.5, f"CPU of all four: {total}")
    for name, share in truth["shares"].items():
        check_near(mine[name] / total, share, POINTS, name)
    check_equal(frame["processes"][0]["registered_name"], "proc_split_4", "the busiest")


@case("CPU of functions: the busiest is first", otp="one")
def cpu_of_functions(ctx):
    with ctx.workload("cpu_split") as truth:
        frame = frames(ctx, ctx.node, 6, "--watch", "1s", "-F", 997)[-1]
    busiest = max(truth["self"], key=truth["self"].get)
    check_equal(frame["functions"][0]["mfa"], busiest, "the busiest")
    mine = {f["mfa"]: f["total"] for f in frame["functions"] if f["mfa"] in truth["self"]}
    check_equal(set(mine), set(truth["self"]), "functions")
    for mfa, share in truth["self"].items():
        check_near(mine[mfa] / sum(mine.values()), share / sum(truth["self"].values()),
                   2 * POINTS, mfa)


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
    process.stdout.readline()
    os.kill(node.os_pid, signal.SIGKILL)
    process.stdout.read()
    check_equal(process.wait(20), 0, "exit code when the node has exited")
    check_in("has exited", process.stderr.read().decode(), "the note")


@case("what makes no sense is a usage error that says why", otp="one")
def usage(ctx):
    for words, why in ((("--panel", "nonsense"), "not one of processes"),
                       (("--watch", "1ms"), "least"), (("-s", "nonsense"), "nonsense"),
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
                                ("4", "eheap"), ("8", re.compile(r"1-\d+ of \d"))):
                t.key(key)
                t.wait(wanted)
                check_in("PAUSED", t.text(), f"the screen after {key}")
            t.key("q")
            check_equal(t.wait_end(), 0, "exit code")
        with Tmux(place, [ctx.ebeam.path, "top", "-p", ctx.node.os_pid, "-n", "2", "--watch",
                          "0.2s"]) as t:
            check_equal(t.wait_end(), 0, "exit code after -n")


@case("in a terminal: a node that starts again under its name is offered, and taken")
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
