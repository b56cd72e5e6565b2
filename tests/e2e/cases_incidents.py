# SPDX-License-Identifier: BSD-2-Clause
"""What wakes people at night: nodes with one incident each, whose own log is the truth.  `ebeam diagnose` names it
first, and the command for it shows it, with default options unless the case says why not.  Elsewhere: several at once,
deadlocks, stuck nodes and limits in `diagnose`, busy connections in `dist`, what hangs hard in `hung`, containers in
`host`."""
import json
import os
import re

from cases_diagnose import FLAGS, Diagnosis
from harness import Skip, case, check, check_equal, check_in, check_near
from nodes import compile_library

IN_PAIRS = True


def number(text):
    return float(text.replace(",", ""))


class Incident(Diagnosis):
    """A node with one incident, sampled for the 5 s that are the default, or longer if it does little."""

    def __init__(self, ctx, *incident, **kwargs):
        self.ebeam, self.incident = ctx.ebeam, incident[0] if incident else None
        super().__init__(ctx, *incident, **{"seconds": "5", **kwargs})

    def pid(self, name):
        return self.node.ask("incidents", "pid", name)

    def truth(self, what=None):
        return self.node.ask("incidents", "truth", what or self.incident)

    def said(self, name, pattern):
        """Groups of the pattern in what is said of a finding."""
        lines = [line for f in self.all if f["id"] == name for line in (f["title"], *f["evidence"])]
        found = [m.groups() for m in (re.search(pattern, line) for line in lines) if m]
        check_equal(len(found), 1, f"{pattern!r} in {lines}")
        return found[0]

    def run(self, command, *args):
        return self.ebeam.ok(command, "-p", self.node.os_pid, *args)

    def data(self, command, *args):
        return self.run(command, *args, "-j").json()["data"]


@case("a gen_server that many wait for: who, how many, and which calls are the slow ones")
def slow_server(ctx):
    d = Incident(ctx, "slow_server")
    server = f"{d.pid('incident_server')} incident_server"
    d.check_first("bottleneck", f"processes wait for the answer of {server}", f"{server} is ", "--waits")
    waiting = number(*d.said("bottleneck", "^([0-9,]+) processes wait"))
    check(25 <= waiting <= 30, f"of 30 clients all but those that run wait: {waiting}")
    longest, = d.data("ps", "-s", "message_queue_len", "-n", "1")
    check_equal(longest["registered_name"], "incident_server", "whose mailbox is the longest")
    check(25 <= longest["message_queue_len"] <= 30, f"of 30 clients: {longest}")
    target = d.data("dump", "--waits")["targets"][0]
    check_equal(target["name"], "incident_server", "who is waited for most")
    # The default budget leaves out calls of a node that does so little.
    lines = d.ebeam.ok("trace", "-p", d.node.os_pid, "incident_server:handle_call({work, _}, _, _)", "--longer-than",
                       "100ms", "-n", "6", "--max-overhead", "100", "-j").out.splitlines()
    took = {e["id"]: e["took"] * 1000 for e in d.truth("work")["events"]}
    compare_slow_calls(lines, took)


def compare_slow_calls(lines, took):
    compared, last = 0, None
    for line in map(json.loads, lines):
        if line["kind"] == "call":
            last = int(re.fullmatch(r"\{work,([0-9]+)\}", line["args"][0]).group(1))
        elif last in took:
            check_near(line["duration_ns"], took[last], 0.1 * took[last] + 50e6, f"call {last}")
            compared += 1
    check(compared >= 2, f"slow calls compared: {lines}; the node had {took}")


@case("who calls a function that should be gone: each caller, in the right proportion", long=True)
def callers(ctx):
    d = Incident(ctx, "callers")
    check([f for f in d.all if f["severity"] != "note"] == [], f"nothing is wrong: {d.all}")
    for seconds in (3, 6, 12):
        before = d.truth("calls")["count"]
        # 7: the budget is used up once in a while, and it says so.
        found = d.ebeam.run("trace", "-p", d.node.os_pid, "incidents:deprecated/1", "--count", "-d", seconds, "-j")
        check_in(found.code, (0, 7), f"exit code: {found.err}")
        rows = {r["caller"].split()[0]: r["calls"] for r in found.json()["data"]["callers"]}
        seen, made = sum(rows.values()), d.truth("calls")["count"] - before
        check(seen <= made, f"calls seen: {seen} of {made}")
        if seen >= 200:
            break
    check_equal(set(rows), {"incidents:new_caller/1", "incidents:old_caller/1"}, "callers")
    check(seen >= 200, f"calls seen: {seen} of {made}; {found.err}")
    check_near(rows["incidents:old_caller/1"] / seen, 0.2, 0.1, "share of the caller that makes one of five")


@case("an ETS table that grows: which, how fast, and whose")
def ets(ctx):
    d = Incident(ctx, "ets")
    before = d.truth()
    owner = d.pid("incident_owner")
    d.check_first("ets_grows", "the ETS table incident_table grows", f"its owner is {owner} incident_owner")
    was, now = map(number, d.said("ets_grows", "from ([0-9,]+) to ([0-9,]+) objects"))
    check(30000 <= was < now <= before["objects"], f"{was} to {now} objects, {before} a little later")
    largest = d.data("ets", "-s", "memory", "-n", "1")[0]
    after = d.truth()
    check_equal((largest["name"], largest["owner"]), ("incident_table", owner), "the largest table")
    check(before["objects"] <= largest["size"] <= after["objects"], f"objects: {before}, {largest}, {after}")
    check(before["words"] <= largest["memory"] <= after["words"], f"words: {before}, {largest}, {after}")


@case("atoms made from input: how many, the newest, and who makes them", long=True)
def atoms(ctx):
    d = Incident(ctx, "atoms", seconds="8")
    count = d.truth()
    d.check_first("atoms_grow", "a new atom: incident_", "trace", "erlang:list_to_atom/1")
    was, now = map(number, d.said("atoms_grow", "from ([0-9,]+) to ([0-9,]+) in"))
    check(was < now <= count, f"{was} to {now} atoms, {count} a little later")
    # When the limit is reached, of the numbers and the time that are said.
    seconds, = d.said("atoms_grow", "from [0-9,]+ to [0-9,]+ in ([0-9.]+) s")
    limit, left = d.said("atoms_grow", "the limit of ([0-9,]+) atoms is reached in ([0-9dhms]+)$")
    units = {"s": 1, "m": 60, "h": 3600, "d": 86400}
    left = sum(int(n) * units[unit] for n, unit in re.findall(r"(\d+)([dhms])", left))
    check_near(left, (number(limit) - now) * float(seconds) / (now - was), 0.1 * left, "time to the limit")
    check_in("incidents:atom/1", d.run("trace", "erlang:list_to_atom/1 -> stack", "-n", "1").out, "who makes them")


@case("persistent terms that are replaced again and again: that, and who does it", long=True)
def literals(ctx):
    d = Incident(ctx, "literals")
    d.check_first("literal_collection", "literals are collected all the time", "persistent_term:put/2")
    lines = d.run("gc", "-d", "3").out
    check_in(d.pid("incident_churn"), lines, "the process")
    check_in("persistent_term:put/2 in incidents:step/1", lines, "the function")
    profile = ctx.ebeam.record(d.node, 3)
    check(profile.kind_share("literal gc") > 0.1 and profile.share_with("[literal gc]") > 0.1,
          f"CPU that the search takes: {profile.by_kind}")


@case("carriers that are hardly used: of which allocator, and how much")
def fragmentation(ctx):
    d = Incident(ctx, "fragmentation")
    d.check_first("fragmentation", "carriers of eheap_alloc hold", "--carriers")
    ours = [a for a in d.node.ask("mem_facts", "allocators") if a["type"] == "eheap_alloc"]
    used = 100 * sum(a["blocks_size"] for a in ours) / sum(a["carriers_size"] for a in ours)
    check_near(number(*d.said("fragmentation", "([0-9.]+)% of the .* of these carriers are in use")), used, 3, "% used")
    worst = max(d.data("mem")["allocators"], key=lambda a: a["wasted"])
    check_equal(worst["type"], "eheap_alloc", "which has most that nobody uses")


@case("a NIF that keeps a scheduler: whose, for how long, each time")
def long_slice(ctx):
    d = Incident(ctx, "long_slice")
    pid = d.pid("incident_nif")
    d.check_first("long_slices", f"ran {pid} incident_nif for", "erts_debug:set_internal_state/2")
    lines = d.run("events", "-e", "long_schedule", "--longer-than", "100ms", "-d", "5", "-j").out.splitlines()
    took = [e["took"] * 1000 for e in d.truth("long")["events"]]
    rows = json.loads(d.run("sched", "--now", "-d", "3", "-j").out)["data"]["schedulers"]
    seen = max([r["longest_ns"] for r in rows if r["longest_pid"] == pid], default=0)
    check(min(took) / 2 < seen < max(took) + 50e6, f"longest of sched --now: {seen}, took {took}, {rows}")
    # The first and the last may have been under way as it began and ended; on a busy host others have long ones, too.
    events = [e for e in map(json.loads, lines) if e["pid"] == pid][1:-1]
    check(events, f"long slices: {lines}")
    for e in events:
        check(0.95 * min(took) <= e["duration_ns"] <= 1.1 * max(took) + 50e6, f"how long: {e}; the node had {took}")
        check_in("erts_debug:set_internal_state/2", str(e["stack"]), "in which function")
    check_row_of_slices(d, pid)


def check_row_of_slices(d, pid):
    """Probes see next to nothing of it on a node that is busy; its row has all the same what the list below has."""
    # More events than the default budget allows.
    d.node.start("pingpong")
    data = d.data("sched", "-d", "5", "--by", "process")
    check(data["share_seen"] < 0.9, f"it was sampled: {data['share_seen']}")
    row, = [r for r in data["rows"] if r["group"] == pid]
    own = [s for s in data["longest"] if s["pid"] == pid]
    longest = max(own, key=lambda s: s["duration_ns"])
    check(row["max_ns"] >= longest["duration_ns"], f"MAX: {row}, {own}")
    # What is in the list is in the row, but for what was before the first moment that the answer is about.
    whole = sum(s["duration_ns"] for s in own if not s["at_least"])
    check(whole <= row["time_ns"] < 1.01 * data["duration_ns"], f"time: {row}, {own}")
    check(row["slices"] >= len(own), f"slices: {row}, {own}")
    # Those that end sooner than the shortest that the node has logged were under way at the beginning or the end.
    least = 1000 * min(e["took"] for e in d.truth("long")["events"])
    for s in own:
        check(s["at_least"] or s["duration_ns"] > 0.95 * least, f"cut, and not said to be: {s}; whole ones: {least}")
    check_equal(sum(s["at_least"] for s in own) <= 2, True, f"at the beginning and the end: {own}")


@case("a slice that lasts longer than it is watched is marked, in the list and in its row",
      long=True)
def cut_slices(ctx):
    d = Incident(ctx, "stuck", settle=1.5)
    data = d.data("sched", "-d", "2")
    check_equal([s["at_least"] for s in data["longest"]], [True, True], f"longest: {data['longest']}")
    rows = [r for r in data["rows"] if r["max_ns"] >= 1e9]
    check(rows and all(r["max_at_least"] for r in rows), f"rows: {data['rows']}")
    text = d.run("sched", "-d", "2").out
    check(len(re.findall("^  >= [0-9.]+ s  <", text, re.M)) == 2, f"text: {text}")


@case("dirty schedulers that are all taken: by whom, and how many wait")
def dirty_pool(ctx):
    d = Incident(ctx, "dirty_pool")
    d.check_first("dirty_pool_taken", "all 2 dirty CPU schedulers are busy", "erts_debug:dirty_cpu/2",
                  "> workload:worker/4 for ")
    dirty = [s for s in d.data("sched", "--now")["schedulers"] if s["type"] == "dirty_cpu"]
    check_equal([s["doing"] for s in dirty], ["process"] * 2, "what dirty CPU schedulers do")
    for s in dirty:
        check_in(s["pid"], d.pids, "whose process")
        check_equal((s["function"], s["run_queue"]), ("erts_debug:dirty_cpu/2", len(d.pids) - 2), f"where: {s}")


@case("schedulers that wait for the lock of a table: that, and where")
def locks(ctx):
    d = Incident(ctx, "locks", flags=("+S", "8:8"))
    d.check_first("lock_contention", "ets:update_counter/4", "most for the ETS table incident_counters",
                  "used the ETS table incident_counters, which has no write_concurrency", f"locks -p {d.node.os_pid}",
                  "'incident_counters'")
    profile = ctx.ebeam.record(d.node, 2)
    inside = profile.count(profile.only(lambda s: "ets:update_counter/4" in s["frames"]))
    check(inside > 0.5 * profile.count(profile.of_pids(d.pids)), f"samples in it: {inside}; {profile.hottest()}")


@case("what crashes and is started again: the name, the reason, how often, and by whom")
def restarts(ctx):
    d = Incident(ctx, "restarts", seconds="8")
    sup = f"{d.pid('incident_sup')} incident_sup"
    d.check_first("restart_loop", "incident_worker is started again and again", f"{sup} starts these processes")
    before = d.truth()["count"]
    data = d.data("proc", "-d", "3")
    started = d.truth()["count"] - before
    parent, = [p for p in data["parents"] if p["parent"] == "incident_sup"]
    check_equal((parent["restart_loop"], parent["last_crash"]), (True, "{incident_crash,<pid>}"), f"{parent}")
    check(3 <= parent["spawned"] <= started, f"{parent}; the node has started {started} meanwhile")
    name, = [n for n in data["names"] if n["name"] == "incident_worker"]
    check_near(name["registered"], parent["spawned"], 1, "how often the name was given")


@case("a child without a name that is started again and again: by whom, what it is, how often")
def hidden_restarts(ctx):
    d = Incident(ctx, "hidden")
    sup = f"{d.pid('incident_hidden')} incident_hidden"
    d.check_first("restart_loop", f"a child of {sup} is started again and again", "incident_server:hidden/0")
    noted = number(*d.said("restart_loop", "counted at least ([0-9,]+) restarts"))
    check(2 <= noted <= d.truth("hidden")["count"], f"{noted} restarts; the node has started {d.truth('hidden')}")


@case("a mailbox of 50,000 that grows slowly: how fast, and how far off that may be")
def backlog(ctx):
    d = Incident(ctx, "backlog")
    after = d.truth()
    d.check_first("mailbox_grows", f"the mailbox of {d.pid('incident_backlog')} incident_backlog has 50,")
    pattern = "from ([0-9,]+) to ([0-9,]+) in [0-9.]+ s: ([0-9.,]+) more per second, give or take ([0-9.,]+)"
    was, now, rate, error = map(number, d.said("mailbox_grows", pattern))
    check(50000 <= was < now <= after, f"{was} to {now} messages, {after} a little later")
    check_near(rate, 20, max(3, 2 * error), "more per second")


@case("dirty schedulers that are all taken for a part of the time")
def dirty_part(ctx):
    d = Incident(ctx, "dirty_part")
    d.check_found("dirty_pool_taken", "all 2 dirty CPU schedulers are busy for ", note=True)
    share = number(*d.said("dirty_pool_taken", "busy for ([0-9]+)% of the time"))
    # They begin a little late, and end a little late.
    check_near(share, 60, 12, "% of the time")


@case("processes that never end: how many, how fast, and who starts them")
def leaked_processes(ctx):
    d = Incident(ctx, "leaks_processes")
    after = d.truth()
    d.check_found("processes_grow", f"were started by {d.pid('incident_leaker')} incident_leaker")
    was, now, error = map(number, d.said("processes_grow", "from ([0-9,]+) to ([0-9,]+) in .* take ([0-9,]+) per"))
    check(was + 500 < now <= after, f"{was} to {now} processes, {after} a little later")
    rate = number(*d.said("processes_grow", "the number of processes grows by ([0-9,]+) per second"))
    check_near(rate, 500, 50 + 2 * error, "more each second")


@case("a node that starts: what comes with its code is no alarm")
def starts(ctx):
    node = ctx.new_node()
    diagnosis = ctx.ebeam.popen("diagnose", "-p", node.os_pid, "-d", "4", "-j")
    ctx.cleanup(diagnosis.kill)
    before, after = node.ask("incidents", "load_all")
    data = json.loads(diagnosis.communicate(timeout=60)[0])["data"]
    check(after - before > 3000, f"atoms: {before} to {after}")
    found = [f for f in data["findings"] if f["id"] in ("atoms_grow", "memory_grows")]
    check(found, f"it was seen: {data}")
    check_equal({f["severity"] for f in found}, {"note"}, f"severity: {found}")


@case("a node that does nothing but collect garbage: whose heaps, and in which function")
def gc(ctx):
    d = Incident(ctx, "gc")
    d.check_first("gc", "% of the work of schedulers is garbage collection", "workload:worker/4 collects")
    for pid in re.findall("(<[0-9.]+>) workload:worker/4 collects", str(d.all)):
        check_in(pid, d.pids, "who collects")
    before = d.truth("collections")["count"]
    data = d.data("gc", "--by", "function", "-d", "3")
    asked = d.truth("collections")["count"] - before
    first = data["rows"][0]
    check_equal(first["group"], "incidents:step/1", "the function with most pauses")
    check(0 < first["major"] <= asked + len(d.pids), f"{first}; the node asked for {asked} major ones meanwhile")


def native_node(ctx, module, source):
    """A node with a NIF, which is loaded."""
    node = ctx.new_node(flags=FLAGS)
    name = source.removesuffix(".c")
    node.ask(module, "load", compile_library(os.path.join(ctx.work_dir, name), source))
    return node


@case("memory that a NIF gets of the VM and never frees: that it is this, how fast, and then whose")
def leaks_of_the_vm(ctx):
    node = native_node(ctx, "native_memory", "memory_nif.c")
    node.start("native_memory", "of_the_vm", "200", settle=1)
    d = Incident(ctx, node=node)
    of_nifs = d.data("mem", "--tags", "--by", "module")["tags"]
    text = d.run("mem").out
    done = node.stop("native_memory")
    d.check_first("memory_grows", "memory of NIFs and drivers (driver_alloc) grows by ", "driver_alloc: ", "mem -p",
                  "--tags", note=True)
    rate = float(d.said("memory_grows", "grows by ([0-9.]+) MiB per second")[0])
    truth = done["mib"] / (done["elapsed_ns"] / 1e9)
    check_near(rate, truth, 0.3 * truth, "MiB a second")
    check_equal(of_nifs[0]["origin"], "native_memory", f"whose most is, of {of_nifs[:3]}")
    check(re.search(r"^    other +[0-9.]+ MiB +[0-9.]+%  \(driver_alloc [0-9.]+ MiB, ", text, re.M), text)


@case("memory that a NIF gets of the C library and never frees: how fast, how much, and the command that says whose")
def leaks_of_malloc(ctx):
    node = native_node(ctx, "native_leak", "leak_nif.c")
    node.ask("native_leak", "once", "leak", 4000, 22000)
    node.start("native_leak", "leak", "4000", "20", "100", settle=1)
    # What the RSS consists of is read at even intervals unless that takes 0.1 s, as it does where others have the CPUs.
    for _ in range(4):
        before = node.ask("native_leak", "bytes")
        d = Incident(ctx, node=node, seconds="10")
        after = node.ask("native_leak", "bytes")
        if "malloc_grows" in d.ids:
            break
    if "malloc_grows" not in d.ids and d.run("mem").seconds > 0.3:
        raise Skip("the host had no CPU to read the RSS at even intervals")
    node.stop("native_leak")
    d.check_first("malloc_grows", "% of the resident memory", f"record -p {node.os_pid} --mode malloc --leak")
    rate = float(d.said("malloc_grows", "grows by ([0-9.]+) KiB per second")[0]) * 1024
    truth = (after["leak"] - before["leak"]) / (after["ns"] - before["ns"]) * 1e9
    check_near(rate, truth, 0.35 * truth, "bytes a second")


@case("a scheduler that is stuck: how many timers of it are overdue, and who waits for them")
def overdue(ctx):
    d = Incident(ctx, "half_stuck", settle=3)
    d.check_first("timers_overdue", " waits in incidents:tick/0 for a time that was over ",
                  severity="critical")
    found = number(*d.said("timers_overdue", "^([0-9,]+) timers are overdue"))
    # The node may not answer any more: 60 processes wait on that scheduler, and some of OTP's own.
    check(60 <= found <= 75, f"{found} timers: {d.all}")
    d.check_found("long_slices", "normal scheduler 1 ran")


@case("many timers: how many, and who will get their messages")
def timers(ctx):
    d = Incident(ctx, "timers")
    own, named = d.pid("incident_timers"), d.pid("incident_named")
    d.check_first("timers", f"250,000 of them to {own} incident_timers", f"60,000 of them to {named} incident_named",
                  f"inspect -p {d.node.os_pid} '{own}'")
    total = number(*d.said("timers", "^(?:more than )?([0-9,]+) timers wait"))
    check(310000 <= total < 310100, f"with the few of OTP: {total}")
    # ErtsBifTimer has 19 words or so.
    size = float(d.said("timers", "timers of all kinds take ([0-9.]+) MiB")[0])
    check(100 < size * 2**20 / total < 250, f"{size} MiB of {total} timers")


@case("all wait for a logger, and that for who reads its output: the port first, then who waits")
def logger(ctx):
    d = Incident(ctx, "logger")
    d.check_first("busy_port", "(/bin/sleep) is busy", "1 process is suspended")
    server = f"{d.pid('incident_logger')} incident_logger"
    d.check_found("bottleneck", f"20 processes wait for the answer of {server}", f"{server} is suspended: port ")
    target = d.data("dump", "--waits")["targets"][0]
    check_equal((target["name"], target["waiting"], target["status"]), ("incident_logger", 20, "suspended"), "--waits")
    port, = [p for p in d.data("port") if p["busy"]]
    check_equal((port["name"], port["suspended"]), ("/bin/sleep", [d.pid("incident_logger")]), "the port")


@case("busy nodes that are well: nothing above a note", alone=True, long=True)
def healthy(ctx):
    node = ctx.new_node(flags=FLAGS)
    for two in (("web", "messages"), ("ets_heavy", "binaries"), ("pingpong", "ports")):
        with ctx.workload(two[0], node=node), ctx.workload(two[1], node=node, settle=1.5):
            before = node.cpu_seconds()
            d = Diagnosis(ctx, node=node)
            used = node.cpu_seconds() - before
        check([f for f in d.all if f["severity"] != "note"] == [], f"{two}: {d.all}")
        check(used > 0, f"{two} are busy: {used} s of CPU")
