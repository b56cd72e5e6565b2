# SPDX-License-Identifier: BSD-2-Clause
"""`ebeam sched --now`: the process that a workload has on a scheduler is named there, with its function,
and for so long that it can be true; what rests is idle; hung and stopped nodes, and core files."""
import json
import os
import re
import signal
import subprocess
import time

from cases_core import gcore, make_dir, start_node, stop
from cases_drivers import build_driver
from cases_hung import kill
from harness import case, check, check_equal, check_in

IN_PAIRS = True

FLAGS = ("+S", "4:4", "+SDcpu", "2:2", "+SDio", "3")
THREADS = {"normal": re.compile("(?:sched_|^)([0-9]+)"), "dirty_cpu": re.compile("(?:cpus_|^)([0-9]+)"),
           "dirty_io": re.compile("(?:dios_|^)([0-9]+)")}
SAMPLING_NS = 200000000
ROW = {"type", "scheduler", "doing", "pid", "port", "registered_name", "function", "function_from",
       "at_least_ns", "at_most_ns", "longest_ns", "longest_pid", "run_queue", "os_tid", "thread_state",
       "on_cpu", "cpu_wait", "syscall", "file", "wchan", "holds_progress", "native_stack", "lock"}


def settle(ctx, node, pids):
    """Until they are on schedulers, which takes a second, or longer if the node has to wait for a CPU."""
    for _ in range(20):
        rows = ctx.ebeam.ok("sched", "--now", "-p", node.os_pid, "-j").json()["data"]["schedulers"]
        if pids <= {row["pid"] for row in rows}:
            break


class Held:
    """A node on which processes of the workload `held` hold schedulers, and since when."""

    def __init__(self, ctx, *what, **kwargs):
        self.ctx, self.what = ctx, what
        self.node = ctx.new_node(**{"flags": FLAGS, **kwargs})
        ctx.cleanup(kill, self.node)
        ctx.cleanup(self.remove_fifo)
        self.before_ns = time.monotonic_ns()
        started = self.node.start("held", *what, settle=1)
        self.pids = dict(zip(what, started["pids"]))
        settle(ctx, self.node, {self.pids[w] for w in what if not w.startswith("block")})
        self.after_ns = time.monotonic_ns()

    def remove_fifo(self):
        for root in ("", *(f"/var/cache/ebeam/otp-{otp}" for otp in (27, 29))):
            path = f"{root}/tmp/ebeam-e2e-fifo-{self.node.inner_pid}"
            if os.path.exists(path):
                os.unlink(path)

    def now(self, *args):
        data = self.ctx.ebeam.ok("sched", "--now", "-p", self.node.os_pid, "-j", *args).json()["data"]
        check_rows(data)
        self.asked_ns = time.monotonic_ns()
        return data

    def row(self, data, what):
        """The scheduler that has this process; all of what must be said of it."""
        found = [r for r in data["schedulers"] if r["pid"] == self.pids[what]]
        check_equal(len(found), 1, f"schedulers with held_{what} in {data['schedulers']}")
        check_equal(found[0]["registered_name"], f"held_{what}", "registered_name")
        return found[0]

    def check_age(self, row):
        """It came there after the start was asked for."""
        most = self.asked_ns - self.before_ns
        check(row["at_least_ns"] is not None and SAMPLING_NS * 0.9 <= row["at_least_ns"] <= most,
              f"at_least_ns of {row}: it cannot be there longer than {most} ns")
        if row["type"] != "normal":
            # It is there since some time before the second that was waited for has passed.
            least = self.asked_ns - self.after_ns
            check(least <= row["at_most_ns"] <= most + SAMPLING_NS,
                  f"at_most_ns of {row}: between {least} and {most}")


def check_rows(data):
    for row in data["schedulers"]:
        check_equal(set(row), ROW, "fields of a row")
        check_equal(row["pid"] is not None, row["doing"] in ("process", "gc"), f"pid of {row}")
        check_equal(row["function"] is None, row["function_from"] is None, f"function of {row}")
        if row["doing"] == "idle":
            check(row["function"] is None and row["registered_name"] is None, f"idle: {row}")
        low, high = row["at_least_ns"], row["at_most_ns"]
        check(low is None or high is None or low <= high, f"bounds of {row}")
        times = [row["on_cpu"], row["cpu_wait"]]
        check(None in times or sum(times) <= 100.001, f"its thread does one at a time: {row}")
    seen = [(r["type"], r["scheduler"]) for r in data["schedulers"]]
    check_equal(len(seen), len(set(seen)), f"schedulers: {seen}")


def comm(node, row):
    """The kernel's name of its thread."""
    with open(f"/proc/{node.os_pid}/task/{row['os_tid']}/comm") as f:
        return f.read().strip()


def of_type(data, kind):
    return [r for r in data["schedulers"] if r["type"] == kind]


@case("normal, dirty CPU and dirty IO schedulers: process, name, function, since when, system call")
def held(ctx):
    h = Held(ctx, "sleep", "cpu", "io", "fifo")
    data = h.now()
    facts = {"normal": 4, "dirty_cpu": 2, "dirty_io": 3}
    check_equal({k: len(of_type(data, k)) for k in facts}, facts, "schedulers of each type")
    for what, kind, functions in (
            ("sleep", "normal", ("erts_debug:set_internal_state/2",)),
            ("cpu", "dirty_cpu", ("erts_debug:dirty_cpu/2",)),
            ("io", "dirty_io", ("erts_debug:dirty_io/2",)),
            ("fifo", "dirty_io", ("prim_file:read_nif/2",))):
        row = h.row(data, what)
        check_equal(row["type"], kind, f"type of the scheduler of held_{what}")
        check_equal(row["doing"], "process", f"doing of {row}")
        check_in(row["function"], functions, f"function of held_{what}")
        check_equal(row["function_from"], "now", f"function_from of {row}")
        h.check_age(row)
    io, fifo, asleep = h.row(data, "io"), h.row(data, "fifo"), h.row(data, "sleep")
    for row, calls in ((io, ("pselect6", "select", "nanosleep", "clock_nanosleep")),
                       (asleep, ("pselect6", "select", "nanosleep", "clock_nanosleep")),
                       (fifo, ("read", "readv"))):
        check_equal(row["thread_state"], "sleeping", f"thread_state of {row}")
        check_in(row["syscall"], calls, f"system call of {row}")
        check(row["on_cpu"] < 5 and row["wchan"], f"a thread that sleeps: {row}")
        check(row["native_stack"], f"no native stack: {row}")
        check_equal(THREADS[row["type"]].search(comm(h.node, row)).group(1), str(row["scheduler"]),
                    f"the name of thread {row['os_tid']}")
    check_in("/tmp/ebeam-e2e-fifo-", fifo["file"], "what is read")
    cpu = h.row(data, "cpu")
    check_in(cpu["thread_state"], ("on_cpu", "runnable"), f"thread_state of {cpu}")
    check(cpu["on_cpu"] + cpu["cpu_wait"] > 20, f"it is to run all the time: {cpu}")
    others = [r for k in ("dirty_cpu", "dirty_io") for r in of_type(data, k) if r["pid"] is None]
    check_equal({r["doing"] for r in others}, {"idle"}, f"dirty schedulers that do nothing: {others}")
    check_equal({r["thread_state"] for r in others}, {"sleeping"}, "their threads")
    text = ctx.ebeam.ok("sched", "--now", "-p", h.node.os_pid).out
    for word in ("held_fifo", "prim_file:read_nif/2", "<= ", ">= ", "ebeam-e2e-fifo", "idle"):
        check_in(word, text, "the table")
    # None of them ends while it is watched: how long they last is not known.
    path = ctx.ebeam.file(".ebeam")
    ctx.ebeam.ok("events", "-e", "long_schedule", "--longer-than", "100ms", "-p", h.node.os_pid,
                 "-d", "1s", "-o", path)
    lines = [line for line in ctx.ebeam.ok("events", "-i", path).out.splitlines() if "(held_" in line]
    check(len(lines) >= 4 and all("duration>=" in line for line in lines), f"long slices: {lines}")


@case("one that runs: the BIF that it is in; Erlang code: where its slice began, which is short")
def running(ctx):
    h = Held(ctx, "busy")
    # Where others have the CPUs it gets too little of one to say so.
    row = h.row(h.now("-d", "2"), "busy")
    check_equal(row["type"], "normal", "type of the scheduler")
    check_in(row["function"], ("held:step/1", "erlang:'=:='/2"), f"function of {row}")
    check_equal(row["function_from"], "call", f"function_from of {row}")
    check(1.8e9 < row["at_least_ns"] <= h.asked_ns - h.before_ns, f"at_least_ns of {row}")
    kill(h.node)
    h = Held(ctx, "loop")
    found = moved = 0
    for _ in range(10):
        data = h.now()
        for row in data["schedulers"]:
            if row["pid"] != h.pids["loop"]:
                continue
            found += 1
            check_equal((row["function"], row["function_from"]), ("held:spin/1", "slice_start"),
                        f"function of {row}")
            # Where its thread got no CPU all the time it does hold it up.
            check(row["holds_progress"] is None or row["on_cpu"] < 5, f"it holds nothing up: {row}")
        moved += data["thread_progress"]["state"] == "moves"
    check(found > 5, f"the loop was seen {found} times of 10")
    check(moved > 0, "thread progress never moved")


@case("BIFs: a comparison that lasts, which does not say where the stack is; one that yields again and again",
      long=True)
def bifs(ctx):
    h = Held(ctx, "compare")
    # Where others have the CPUs it may get too little of one to say so.
    for _ in range(20):
        row = h.row(h.now("-d", "1"), "compare")
        if row["on_cpu"] and row["on_cpu"] > 5:
            break
    check_equal((row["function"], row["function_from"]), ("erlang:'=='/2", "call"), f"function of {row}")
    kill(h.node)
    h = Held(ctx, "trap")
    named = [r["function"] for _ in range(10) for r in h.now()["schedulers"] if r["pid"] == h.pids["trap"]]
    check(len(named) > 5 and set(named) == {"erlang:phash2/1"}, f"a BIF that yields: {named}")


@case("a port whose driver does not return: its scheduler, its system call")
def port(ctx):
    node = ctx.new_node(flags=FLAGS)
    ctx.cleanup(kill, node)
    node.ask("driver_zoo", "load", build_driver(ctx))
    before_ns = time.monotonic_ns()
    held_by = node.ask("driver_zoo", "hold")["port"]
    time.sleep(1.5)
    data = ctx.ebeam.ok("sched", "--now", "-p", node.os_pid, "-j").json()["data"]
    took_ns = time.monotonic_ns() - before_ns
    check_rows(data)
    rows = [r for r in data["schedulers"] if r["port"]]
    check_equal([r["port"] for r in rows], [held_by], f"ports of {data['schedulers']}")
    row = rows[0]
    check_equal((row["type"], row["doing"], row["pid"]), ("normal", "port", None), f"{row}")
    check(SAMPLING_NS * 0.9 <= row["at_least_ns"] <= took_ns, f"at_least_ns of {row}")
    check_in(row["syscall"], ("clock_nanosleep", "nanosleep"), f"system call of {row}")
    check({"sleep", "timeout"} < set(row["native_stack"]), f"native stack of {row}")
    nameless = [n for n in row["native_stack"] if n.startswith("beam.smp+")]
    check_equal(nameless, [], f"functions without name of {row}")
    check_equal(data["thread_progress"]["state"], "still", "thread progress")


@case("a dirty collection is one, of the process that collects")
def collects(ctx):
    h = Held(ctx, "gc")
    seen = []
    for _ in range(10):
        seen += [r for r in h.now()["schedulers"] if r["pid"] == h.pids["gc"]]
    found = [r for r in seen if r["doing"] == "gc"]
    check(found, f"no collection in {seen}")
    for row in found:
        check_equal((row["type"], row["registered_name"]), ("dirty_cpu", "held_gc"), f"{row}")
        check_in(row["function"], ("held:step/1", "erlang:garbage_collect/0", None), f"{row}")


@case("top: dirty schedulers whose threads sleep in a NIF or BIF are at work, not waiting")
def top(ctx):
    h = Held(ctx, "io", "fifo", "cpu")
    held_by = {(r["type"], r["scheduler"]): r["pid"] for r in h.now()["schedulers"]
               if r["type"] != "normal"}
    lines = ctx.ebeam.ok("top", "-p", h.node.os_pid, "-b", "-n", "3", "-j").out.splitlines()
    rows = json.loads(lines[-1])["data"]["schedulers"]
    checked = 0
    for row in rows:
        pid = held_by.get((row["type"], row["number"]))
        if row["type"] == "normal":
            continue
        checked += 1
        wanted = 1 if pid else 0
        check(abs(row["work"] - wanted) < 0.05, f"{pid}: work of {row}")
        check(abs(row["waiting"] + row["busy_wait"] - (1 - wanted)) < 0.05, f"{pid}: {row}")
        if pid in (h.pids["io"], h.pids["fifo"]):
            check(row["blocked"] > 0.9, f"it sleeps in the kernel: {row}")
    check_equal(checked, 5, "dirty schedulers")


@case("thread progress: moves, is not needed, is held up by the scheduler in a C function")
def progress(ctx):
    node = ctx.new_node(flags=FLAGS)
    data = ctx.ebeam.ok("sched", "--now", "-p", node.os_pid, "-j").json()["data"]
    check_in(data["thread_progress"]["state"], ("not_needed", "moves"), "of a node that rests")
    check(not [r for r in data["schedulers"] if r["holds_progress"]], "nobody holds it up")
    h = Held(ctx, "sleep", "loop")
    data = h.now()
    held_by = [r["registered_name"] for r in data["schedulers"] if r["holds_progress"]]
    check_equal(data["thread_progress"]["state"], "still", f"thread progress of {data}")
    check_equal(held_by, ["held_sleep"], "who holds it up")
    check(SAMPLING_NS * 0.9 <= data["thread_progress"]["at_least_ns"] <= h.asked_ns - h.before_ns,
          f"for how long: {data['thread_progress']}")
    reported = ctx.ebeam.ok("sched", "--now", "-p", h.node.os_pid).out.split("thread progress", 1)[1]
    check_in(h.pids["sleep"], reported, "the closing line")


@case("multi-scheduling blocked by a process: who, and which schedulers may not run; else those are offline")
def blocked(ctx):
    for what, state, dirty in (("block", "blocked", "blocked"), ("block_normal", "blocked_normal", "idle")):
        h = Held(ctx, what)
        for _ in range(100):
            truth = h.node.ask("held", "multi_scheduling")
            if truth["state"] == state:
                break
            time.sleep(0.1)
        check_equal(truth, {"state": state, "by": [h.pids[what]]}, "the node")
        data = h.now()
        check_equal(data["multi_scheduling"], {"state": state, "blocked_by": [h.pids[what]], "blockers": 1}, what)
        check_equal([r["doing"] for r in of_type(data, "normal")[1:]], ["blocked"] * 3, "normal schedulers")
        check_equal({r["doing"] for k in ("dirty_cpu", "dirty_io") for r in of_type(data, k)}, {dirty}, "dirty ones")
        text = ctx.ebeam.ok("sched", "--now", "-p", h.node.os_pid).out
        check_in(f"until {h.pids[what]} has unblocked it", text, "the closing lines")
        found = ctx.ebeam.run("diagnose", "-p", h.node.os_pid, "-d", "1", "-j").json()["data"]["findings"]
        said = [f["title"] for f in found if f["id"] == "multi_scheduling_blocked"]
        check_equal(said, [f"multi-scheduling is blocked by {h.pids[what]} held_{what}"], f"{found}")
    node = ctx.new_node(flags=("+S", "4:1"))
    ctx.cleanup(kill, node)
    data = ctx.ebeam.ok("sched", "--now", "-p", node.os_pid, "-j").json()["data"]
    check_equal(data["multi_scheduling"], {"state": "enabled", "blocked_by": [], "blockers": 0}, "of +S 4:1")
    check_equal([r["doing"] for r in of_type(data, "normal")[1:]], ["offline"] * 3, "schedulers that are offline")


@case("all schedulers in a C function that does not return: the run queues behind them, and where")
def hung(ctx):
    node = ctx.new_node(flags=("+S", "2:2"))
    ctx.cleanup(kill, node)
    node.start("hung", "2", settle=1.5)
    data = ctx.ebeam.ok("sched", "--now", "-p", node.os_pid, "-j").json()["data"]
    check_rows(data)
    normal = of_type(data, "normal")
    # Both; or one that has the other in its run queue, which nobody looks at any more, or among its
    # timers.
    stuck = [r for r in normal if r["doing"] == "process"]
    check_equal({r["function"] for r in stuck}, {"erts_debug:set_internal_state/2"}, "functions")
    check(all(r["at_least_ns"] >= SAMPLING_NS * 0.9 for r in stuck), f"how long: {normal}")
    check(sum(r["run_queue"] for r in stuck) >= 1, f"hung_loop waits to run: {normal}")
    check_equal(data["thread_progress"]["state"], "still", "thread progress")
    check([r for r in normal if r["holds_progress"]], f"nobody holds it up: {data}")


def c_lock(ctx, which, name):
    node = ctx.new_node(flags=FLAGS)
    ctx.cleanup(kill, node)
    node.ask("c_locks", "load", os.path.dirname(ctx.library("c_locks_nif")))
    pids = node.ask("c_locks", "hold", which)
    for _ in range(20):
        data = ctx.ebeam.ok("sched", "--now", "-p", node.os_pid, "-j").json()["data"]
        check_rows(data)
        rows = {r["pid"]: r for r in data["schedulers"] if r["pid"]}
        if pids["wants"] in rows and rows[pids["wants"]]["lock"]:
            break
    holds, wants = rows[pids["holds"]], rows[pids["wants"]]
    check_equal(holds["lock"], None, "of who has it")
    check_equal(wants["lock"]["type"], name, f"{wants}")
    check_equal((wants["lock"]["owner_tid"], wants["lock"]["owner_pid"], wants["lock"]["owner_ended"]),
                (holds["os_tid"], pids["holds"], False), f"who has the {name}: {wants['lock']}")
    return node, pids, holds


@case("a mutex of the C library: who waits for it, and who has it, by sched --now and diagnose")
def c_mutex(ctx):
    node, pids, holds = c_lock(ctx, 0, "mutex")
    held = f"held by dirty{{}} scheduler {holds['scheduler']}, which runs {pids['holds']} c_lock_holds"
    text = ctx.ebeam.ok("sched", "--now", "-p", node.os_pid).out
    check_in(f"c_lock_wants in c_locks:want/2 waits for a mutex of C code, {held.format('_io')}", text, "the line")
    found = ctx.ebeam.run("diagnose", "-p", node.os_pid, "-d", "2", "-j").json()["data"]["findings"]
    said = [e for f in found for e in f["evidence"] if "its thread waits for" in e]
    check_equal(said, [f"its thread waits for a mutex of C code {held.format(' IO')}"], f"{found}")


@case("a rwlock of the C library that a writer has, live and of a core")
def c_rwlock(ctx):
    directory = make_dir(ctx)
    node, pids, _ = c_lock(ctx, 1, "rwlock")
    stop(ctx, node.os_pid)
    path = gcore(directory, node.os_pid)
    os.kill(node.os_pid, signal.SIGCONT)
    dead = ctx.ebeam.ok("sched", "--now", "--core", path, "-j").json()["data"]["schedulers"]
    row = [r for r in dead if r["pid"] == pids["wants"]][0]
    # gcore may leave stacks of threads out: then it is not known what they wait for.
    check(row["lock"] and row["lock"]["owner_pid"] == pids["holds"] or len(row["native_stack"]) < 3,
          f"the core: {row}")


@case("a stopped node, and its core: the same processes and functions; no times of a core")
def core(ctx):
    directory = make_dir(ctx)
    node = start_node(ctx, directory)
    ctx.cleanup(kill, node)
    started = node.start("held", "sleep", "cpu", "io", settle=1)
    settle(ctx, node, set(started["pids"]))
    stop(ctx, node.os_pid)
    live = ctx.ebeam.ok("sched", "--now", "-p", node.os_pid, "-j").json()["data"]
    check(live["stopped"], "the node is stopped")
    check_rows(live)
    check_equal({r["thread_state"] for r in live["schedulers"]}, {"stopped"}, "threads")
    path = gcore(directory, node.os_pid)
    os.kill(node.os_pid, signal.SIGCONT)
    dead = ctx.ebeam.ok("sched", "--now", "--core", path, "-j").json()["data"]
    check_rows(dead)
    for was, row in zip(live["schedulers"], dead["schedulers"], strict=True):
        fields = ["type", "scheduler", "doing", "pid", "registered_name", "run_queue"]
        # gcore may leave stacks of threads out: then it is only known where the slice began.
        fields += ["function", "function_from"] if row["function_from"] != "slice_start" else []
        check_equal({f: row[f] for f in fields}, {f: was[f] for f in fields}, "the core")
        # A core has all registers, /proc but two: its stacks may go further.
        nr = min(len(row["native_stack"]), len(was["native_stack"]))
        check_equal(row["native_stack"][:nr], was["native_stack"][:nr], "the core: native stack")
    busy = {r["registered_name"]: r for r in dead["schedulers"] if r["pid"]}
    check({"held_sleep", "held_cpu", "held_io"} <= set(busy), f"processes: {busy}")
    check(all(r["native_stack"] for r in busy.values()), f"native stacks: {busy}")
    for row in dead["schedulers"]:
        for field in ("at_least_ns", "at_most_ns", "on_cpu", "cpu_wait", "thread_state", "wchan"):
            check(row[field] is None, f"{field} of a core: {row}")


@case("a node that exits meanwhile: said, in place of schedulers that do nothing", otp="one")
def exits(ctx):
    node = ctx.new_node()
    command = ctx.ebeam.popen("sched", "--now", "-v", "-d", "20", "-p", node.os_pid, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, text=True)
    # Before it samples, a node that is gone is said in the same words.
    said, samples = [], None
    for line in command.stderr:
        said.append(line)
        samples = re.search(r"\d+ schedulers sampled, (\d+) more samples", line)
        if samples:
            break
    check(samples and int(samples[1]) > 100, f"it took no sample: {said}")
    os.kill(node.os_pid, signal.SIGKILL)
    out, err = command.stdout.read(), command.stderr.read()
    command.wait(timeout=15)
    check_equal((command.returncode, out), (3, ""), f"exit code and output: {said} {err}")
    check_in(f"the node (pid {node.os_pid}) has exited", err, "what it says")


@case("options: what is of events does not go with --now, nor a core file without it", otp="one")
def options(ctx):
    for args, said in ((("--now", "--watch", "1s"), "--now"), (("--now", "-i", "x"), "--now"),
                       (("--core", "x"), "--now"), (("--now", "--core", "x", "-d", "1"), "-d"),
                       (("--now", "-c", "nonsense"), "nonsense")):
        refused = ctx.ebeam.run("sched", "-p" if "--core" not in args else "--core",
                                ctx.node.os_pid if "--core" not in args else "x", *args)
        check_equal(refused.code, 2, str(refused))
        check_in(said, refused.err, "what it says")
    shown = ctx.ebeam.ok("sched", "--now", "-p", ctx.node.os_pid, "-c", "type,scheduler,doing,os_tid",
                         "-s", "scheduler", "-n", "2").out
    check_equal(shown.split("\n")[0].split(), ["SCHEDULER", "NO", "DOING", "OS", "TID"], "heading")
