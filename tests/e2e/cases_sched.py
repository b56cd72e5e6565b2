# SPDX-License-Identifier: BSD-2-Clause
"""`ebeam sched`: as busy as the node says, run queues of a known length, slices as they ended."""
import json
import re
import time

from answers import Watch, gives, need_events
from cases_events import of, watched
from harness import case, check, check_equal, check_in

IN_PAIRS = True

MS = 1000000
THREADS = {"normal": re.compile("sched_|^[0-9]+_scheduler"), "cpu": re.compile("dcpu|dirty_cpu"),
           "io": re.compile("dios|dirty_io")}
TYPES = {"normal": "normal", "cpu": "dirty_cpu", "io": "dirty_io"}


def group_of(data, name):
    found = [g for g in data["rows"] if g["group"] == name]
    check_equal(len(found), 1, f"groups {name} of {[g['group'] for g in data['rows']]}")
    return found[0]


def check_sums(data):
    """What must hold of any answer."""
    totals = data["totals"]
    for field in ("slices", "time_ns", "dirty_ns", "reductions", "waits", "wait_ns"):
        check_equal(sum(g[field] for g in data["rows"]), totals[field], f"sum of {field}")
    check_equal(data["slices"]["count"] + data["dirty_slices"]["count"], totals["slices"], "slices")
    check_equal(data["run_queue"]["count"] + data["dirty_run_queue"]["count"], totals["waits"],
                "waits")
    check_equal(data["run_queue"]["sum"] + data["dirty_run_queue"]["sum"], totals["wait_ns"],
                "time of waits")
    check_equal(totals["untracked"], 0, "untracked")
    for s in data["schedulers"]:
        check(s["utilization"] is None or 0 <= s["utilization"] <= 100, f"utilization: {s}")


JOB_NS = {"cpu": 20 * MS, "io": 10 * MS}  # of views:dirty_worker/1


def busy_percent(events, from_ns, to_ns, begins, unseen_ns=0):
    """Part of that time in which a scheduler was busy; begins(event): it is from then on."""
    on_ns, since, busy = 0, from_ns, begins is is_active and not begins(events[0])
    # A process that leaves first came unseen, as the thread was on its way then.
    if begins is is_in and not is_in(events[0]) and from_ns < events[0]["ts_ns"] < to_ns:
        on_ns = unseen_ns
    for e in events:
        at = min(max(e["ts_ns"], from_ns), to_ns)
        on_ns += at - since if busy else 0
        since, busy = at, begins(e)
    return 100 * (on_ns + (to_ns - since if busy else 0)) / (to_ns - from_ns)


def is_active(e):
    return e["state"] == "active"


def is_in(e):
    return e["type"].startswith("in")


@case("utilization: within 2 points of scheduler:utilization, normal and dirty schedulers")
def utilization(ctx):
    need_events(ctx, "scheduler_active")
    path = ctx.ebeam.file(".ebeam")
    recorder = Watch(ctx, ctx.node, "-e", "scheduler", "-o", path)
    truth = ctx.node.ask("views", "utilize", 6000)
    recorder.end()
    check_equal(recorder.closing()[1], 0, "lost")
    events = [json.loads(line) for line in
              ctx.ebeam.ok("events", "-i", path, "-j").out.splitlines()]
    data = ctx.ebeam.ok("sched", "-i", path, "-j").json()["data"]
    check_sums(data)
    compared, worst, said, began = 0, 0, [], events[0]["ts_ns"]
    for s in truth["schedulers"]:
        kind, begins = ("scheduler_active", is_active) if s["type"] == "normal" else \
                       ("process_scheduled", is_in)
        own = [e for e in of(events, kind, scheduler=s["scheduler"])
               if THREADS[s["type"]].search(e["thread"])]
        if not own:
            # It did the same all the time: nothing, or one long job that began before.
            check(not 2 <= s["utilization"] <= 98, f"nothing seen of {s}")
            continue
        # What the node measured is the time from one sample to the other, which is in the middle.
        seen = busy_percent(own, truth["from_ns"], truth["to_ns"], begins,
                            JOB_NS.get(s["type"], 0))
        worst = max(worst, abs(seen - s["utilization"]))
        said.append(f"{s['type']} {s['scheduler']} {seen:.2f}/{s['utilization']:.2f}")
        compared += 1
        # From its waking up until it has a process, which takes long on a host without a CPU to
        # spare, a dirty one works for the node, but has no process.
        check((-2 if s["type"] == "normal" else -10) < seen - s["utilization"] < 2,
              f"{s['type']} {s['scheduler']}: {seen:.2f} %, the node says {s['utilization']:.2f} %")
        mine = [m for m in data["schedulers"]
                if (m["type"], m["scheduler"]) == (TYPES[s["type"]], s["scheduler"])]
        check_equal(len(mine), 1, f"rows of {s}")
        known_ns = own[0]["ts_ns"] if begins is is_in and not is_in(own[0]) else began
        # It began at or before its first event, so it ended between these two.
        low, high = sorted(busy_percent(own, known_ns, end, begins)
                           for end in (events[-1]["ts_ns"], began + data["duration_ns"]))
        check(low - 0.5 < mine[0]["by"]["events"] < high + 0.5,
              f"{mine[0]}: {low:.2f} to {high:.2f} % of all the time by its events")
    busy = {s["type"] for s in truth["schedulers"] if s["utilization"] > 5}
    check_equal(busy, set(TYPES), "types of schedulers that had a load")
    print(f"{compared} schedulers compared, worst difference {worst:.2f} points: {', '.join(said)}")


# How much, on how many processes: kind, processes, us of work, ms between.
LOADS = {"5 % on one": ("normal", 1, 1000, 19), "25 % on one": ("normal", 1, 300, 1),
         "25 % on all": ("normal", 4, 300, 1), "75 % on one": ("normal", 1, 6000, 2),
         "75 % on all": ("normal", 3, 3000, 2), "100 % on one": ("normal", 1, 1000, -1),
         "100 % on all": ("normal", 4, 1000, -1), "dirty": ("dirty", 3, 0, 0)}
SOME_LOADS = ("25 % on all", "75 % on one", "dirty")  # on releases after the first


def node_account(truth, from_ns, to_ns):
    """Percent of that time by the node's own account, by type and number of the scheduler."""
    notes, percent = truth["notes"], {}
    check(notes[0][0] <= from_ns < to_ns <= notes[-1][0], "the node's account has all of the time")

    def counted(at, ns):
        after = next(i for i, n in enumerate(notes) if n[0] >= ns)
        a, b = notes[max(after - 1, 0)], notes[after]
        return a[at] + (b[at] - a[at]) * (ns - a[0]) / max(b[0] - a[0], 1)

    for at in range(1, len(notes[0])):
        dirty = at - truth["normal"]
        key = ("normal", at) if dirty <= 0 else ("dirty_cpu", dirty) \
            if dirty <= truth["dirty_cpu"] else ("dirty_io", dirty - truth["dirty_cpu"])
        percent[key] = 100 * (counted(at, to_ns) - counted(at, from_ns)) / (to_ns - from_ns)
    return percent


@case("utilization with the default budget: within 2 points of the node's account, counted or seen")
def default_budget(ctx):
    need_events(ctx, "process_scheduled")
    node, compared, differences = ctx.new_node(flags=("+S", "2:2")), 0, []
    lines = []
    loads = LOADS if ctx.otp == "25" else {load: LOADS[load] for load in SOME_LOADS}
    for load, args in loads.items():
        path, worst = ctx.ebeam.file(".ebeam"), {"counted": 0, "seen": 0}
        node.ask("views", "load", *args)
        words = ("sched", "-p", node.os_pid, "-d", "3s", "-j")
        # At the same time, as if the VM counted nothing.
        seen = ctx.ebeam.popen(*words, "--schedulers", "samples")
        ctx.cleanup(seen.kill)
        data = ctx.ebeam.ok(*words, "-o", path).json()["data"]
        sampled = json.loads(seen.communicate(timeout=120)[0])["data"]
        truth = node.ask("views", "unload")
        for answer, how in ((data, "counted"), (sampled, "seen")):
            said = node_account(truth, answer["from_ns"], answer["from_ns"] + answer["duration_ns"])
            check_equal({(s["type"], s["scheduler"]) for s in answer["schedulers"]}, set(said),
                        "schedulers")
            for s in answer["schedulers"]:
                is_said = said[s["type"], s["scheduler"]]
                mine = s["by"]["samples"] if how == "seen" else s["utilization"]
                # So many samples may err by this, once in thousands of times.
                allowed = 2 if how == "counted" else 2 + 2 * spread(mine, s["samples"])
                check(abs(mine - is_said) < allowed,
                      f"{load}: {mine:.2f} %, the node says {is_said:.2f} %: {s}")
                check(how == "seen" or s["source"] == "vm", f"{load}: counted: {s}")
                check_parts(s)
                compared += 1
                if how == "counted" or s["type"] == "normal":
                    worst[how] = max(worst[how], abs(mine - is_said))
                if how == "seen" and 2 < is_said < 98 and s["type"] == "normal":
                    differences.append(mine - is_said)
        again = ctx.ebeam.ok("sched", "-i", path, "-j").json()["data"]
        check_equal([{k: s[k] for k in ("type", "scheduler", "utilization", "processes", "source")}
                     for s in again["schedulers"]],
                    [{k: s[k] for k in ("type", "scheduler", "utilization", "processes", "source")}
                     for s in data["schedulers"]], f"{load}: the same of the capture")
        lines.append(f"{load} {worst['counted']:.2f}/{worst['seen']:.2f}")
        busy = {s["type"] for s in data["schedulers"] if s["utilization"] > 0.5}
        check("dirty_cpu" in busy and "dirty_io" in busy if load == "dirty" else "normal" in busy,
              f"{load}: {busy}")
    mean = sum(differences) / len(differences)
    check(abs(mean) < 2 or loads is not LOADS, f"mean difference of samples: {mean:.2f} points of {differences}")
    print(f"{compared} compared; worst difference, counted/seen, points: {', '.join(lines)}; mean of "
          f"{len(differences)} seen {mean:+.2f}")


def spread(percent, samples):
    """Two standard deviations of what so many samples see."""
    part = (percent / 100 * samples + 1) / (samples + 2)
    return 200 * (part * (1 - part) / samples) ** 0.5


def check_parts(s):
    """What a scheduler works on is all of what it works, and its thread has but one time."""
    parts = [s[k] for k in ("processes", "ports", "other")]
    if s["utilization"] is None or None in parts:
        check(s["utilization"] is None or s["utilization"] < 5, f"no parts: {s}")
        return
    check(abs(sum(parts) - s["utilization"]) < 1e-3, f"parts: {s}")
    check(all(p >= 0 for p in parts), f"parts: {s}")
    check(0 <= s["on_cpu"] + s["cpu_wait"] < 105, f"the thread's time: {s}")


@case("run queue: of N processes that always want to run each waits when it does not run")
def queue(ctx):
    need_events(ctx, "process_runnable")
    node = ctx.new_node(flags=("+S", "1:1"))
    count = 8
    watch = Watch(ctx, node, "--by", "process", command="sched")
    truth = node.ask("views", "queue", count, 1500)
    data = watch.answer()
    check_sums(data)
    own = [group_of(data, pid) for pid in truth["pids"]]
    for g, reductions in zip(own, truth["reductions"]):
        # Until it is told to stop, and has found it out.
        both = g["wait_ns"] + g["time_ns"]
        check(0.99 * truth["ns"] < both < 1.02 * truth["most_ns"] + 50 * MS,
              f"ran and waited {both / MS} ms of {truth['ns'] / MS} to {truth['most_ns'] / MS}: {g}")
        check_equal(g["waits"], g["slices"], "each slice was waited for")
        # What it used after it had asked.
        check(reductions <= g["reductions"] < reductions + 4000, f"{reductions} reductions: {g}")
    check(sum(g["time_ns"] for g in own) <= 1.02 * truth["most_ns"] + 50 * MS, "one at a time")
    slices = [g["slices"] for g in own]
    check(max(slices) - min(slices) <= 3, f"one after the other: {slices} slices")
    time_ns, nr = sum(g["time_ns"] for g in own), sum(slices)
    wait_ns = sum(g["wait_ns"] for g in own)
    # In the last round fewer and fewer wait: of 20 if the node gets a tenth of a CPU.
    check(wait_ns > 0.93 * (count - 1) * time_ns, f"all waited {wait_ns / MS} ms, ran {time_ns / MS}")
    # In a queue of that length: what all wait in a round is what it takes, times those that wait.
    print(f"mean slice {time_ns / nr / 1000:.1f} us, mean wait {wait_ns / nr / 1000:.1f} us, "
          f"{nr} slices, a round takes {truth['ns'] * count / nr / 1000:.1f} us")


@case("a process whose end takes more than a slice leaves for good once, and is runnable until then")
def ends(ctx):
    pids, events = watched(ctx, "process_scheduled", "ends", 3700, 4010)
    again = 0
    for pid in pids:
        own = [e for e in events if e["pid"] == pid]
        left = of(own, "process_scheduled", type="out_exited")
        check_equal([e["ts_ns"] for e in left], [own[-1]["ts_ns"]], f"left for good: {own}")
        for e in of(own, "process_scheduled", type="out_exiting"):
            check_equal(e["status"], "runnable", f"it comes in again: {own}")
            again += 1
    print(f"{again} of {len(pids)} came in again to end")
    check(again > 0, "none needed more than a slice")


@case("process_runnable: once for each time that it waited, and when it is new")
def runnable(ctx):
    need_events(ctx, "process_runnable")
    truth, events = watched(ctx, "scheduler", "slices", 20)
    own = [e for e in events if e["pid"] == truth["pid"]]
    woken = of(own, "process_runnable")
    check_equal(len(woken), truth["slices"] + 1, "process_runnable")
    kinds = [(e["kind"], e.get("type")) for e in own if e is not woken[0]]
    turn = [("process_scheduled", "in"), ("process_scheduled", "out"), ("process_runnable", None)]
    check_equal(kinds, turn * truth["slices"] + [("process_scheduled", "in"),
                                                 ("process_scheduled", "out_exited")], "in turn")
    for scheduler in (1, 2):
        states = [e["state"] for e in of(events, "scheduler_active", scheduler=scheduler)]
        check(all(a != b for a, b in zip(states, states[1:])), f"scheduler {scheduler}: {states}")
    check(of(events, "scheduler_active"), "scheduler_active")


@case("slices: as they ended, from a capture: yielded, waiting, preempted, exited; reductions")
def left(ctx):
    need_events(ctx)
    path, node = ctx.ebeam.file(".ebeam"), ctx.new_node(flags=("+S", "2:2"))  # as in watching()
    recorder = Watch(ctx, node, "-e", "scheduler", "-o", path)
    truth = node.ask("views", "leave", 25)
    recorder.end()
    data = ctx.ebeam.ok("sched", "-i", path, "-j", "--by", "process", "--process",
                        truth["pid"]).json()["data"]
    ended = data["left"]
    check_equal((ended["waiting"], ended["exited"]), (25, 1), f"waiting, exited: {ended}")
    check_equal((ended["to_dirty"], ended["suspended"]), (0, 0), f"to_dirty, suspended: {ended}")
    check_equal(ended["yielded"], 26, f"yielded: {ended}")
    # As many whole slices as fit into what it counted down, give or take the ones at its ends.
    check(24 <= ended["preempted"] <= 27, f"preempted: {ended}")
    g = group_of(data, truth["pid"])
    check_equal(g["slices"], sum(ended.values()), "slices")
    check(truth["reductions"] <= g["reductions"] < truth["reductions"] + 200,
          f"{truth['reductions']} reductions: {g}")
    events = [json.loads(line) for line in
              ctx.ebeam.ok("events", "-i", path, "-j", "-e", "process_scheduled").out.splitlines()]
    compared = 0
    whole = ctx.ebeam.ok("sched", "-i", path, "-j", "--by", "process").json()["data"]
    check_sums(whole)
    for g in whole["rows"]:
        began, sums = None, [0, 0]
        for e in [e for e in events if e["pid"] == g["group"]]:
            if e["type"].startswith("in"):
                began = e["ts_ns"]
            elif began:
                sums = [sums[0] + 1, sums[1] + e["ts_ns"] - began]
                began = None
        if began is None:
            check_equal([g["slices"], g["time_ns"]], sums, f"slices and time of {g['group']}")
            compared += 1
    check(compared >= 1, "no process compared")  # the one above at least
    text = ctx.ebeam.ok("sched", "-i", path).out
    for word in ("UTILIZATION", "run-queue latency", "slices ended", "preempted", "WHOSE"):
        check_in(word, text, "text")
    print(f"{compared} processes compared; {ended}")


@case("slices of 1 ms and more, with their stacks")
def longest(ctx):
    need_events(ctx)
    path = ctx.ebeam.file(".ebeam")
    recorder = Watch(ctx, ctx.node, "-e", "scheduler,long_schedule", "--longer-than", "1ms", "-o",
                     path)
    live = Watch(ctx, ctx.node, "--longer-than", "1ms", command="sched")
    truth = ctx.node.ask("views", "hold", 5)
    data = live.answer()
    recorder.end()
    check_sums(data)
    check(data["long_slices"] >= 5, f"{data['long_slices']} long slices")
    check_equal(len(data["longest"]), min(10, data["long_slices"]), "those that are shown")
    check(all(s["duration_ns"] >= MS and s["stack"] for s in data["longest"]), "1 ms, with stack")
    times = [s["duration_ns"] for s in data["longest"]]
    check_equal(times, sorted(times, reverse=True), "longest first")
    own = ctx.ebeam.ok("sched", "-i", path, "-j", "--process", truth["pid"]).json()["data"]
    check(own["long_slices"] >= 5, f"{own['long_slices']} long slices of {truth['pid']}")
    held = [s for s in own["longest"] if "views:held/1" in [f["mfa"] for f in s["stack"]]]
    check(len(held) >= 5, f"in views:held/1: {own['longest']}")
    check_equal({(s["type"], s["pid"]) for s in held}, {("normal", truth["pid"])}, "where")
    check_in("views:held/1", ctx.ebeam.ok("sched", "-i", path, "--process", truth["pid"]).out,
             "text")


@case("--watch: an answer for each interval, nothing twice, nothing forgotten")
def watching(ctx):
    need_events(ctx)
    # Its own: what a scheduler does for a process before that runs (signals, tasks of the system such as
    # those of a purge: erts_schedule() of erl_process.c) is added to the reductions of the process,
    # but is part of no slice.
    node = ctx.new_node(flags=("+S", "2:2"))
    watch = Watch(ctx, node, "--by", "process", "--watch", "200ms", command="sched")
    truth = node.ask("views", "leave", 200)
    time.sleep(0.5)  # two intervals
    answers = watch.answers()
    check_equal(len(answers), len(watch.out.decode().splitlines()), "one answer a line")
    check(len(answers) >= 2, "answers")
    own = [g for a in answers for g in a["data"]["rows"] if g["group"] == truth["pid"]]
    check_equal(sum(a["data"]["left"]["exited"] for a in answers) >= 1, True, "exited")
    check(sum(g["slices"] for g in own) >= 400, f"slices: {own}")
    # What it used after it had asked is some ten calls.
    check(truth["reductions"] <= sum(g["reductions"] for g in own) < truth["reductions"] + 200,
          f"{truth['reductions']} reductions: {own}")
    for a in answers:
        for s in a["data"]["schedulers"]:
            check(s["utilization"] is None or 0 <= s["utilization"] <= 100, f"utilization: {s}")


def attached(ctx, node, *args):
    """`ebeam sched` that has begun to watch."""
    process = ctx.ebeam.popen("sched", "-v", "-p", node.os_pid, "-j", *args)
    ctx.cleanup(process.kill)
    for line in process.stderr:
        if b"probes attached" in line:
            break
    return process


@case("--watch: each answer's utilization is that of its own interval")
def watched_intervals(ctx):
    node = ctx.new_node(flags=("+S", "1:1"))
    sched = attached(ctx, node, "-d", 7, "--watch", "1s")
    time.sleep(1.3)
    asked_ns = time.time_ns()
    node.start("throughput", settle=0)
    began_ns = time.time_ns()
    time.sleep(2.4)
    ended_ns = time.time_ns()
    node.stop("throughput")
    stopped_ns = time.time_ns()
    answers = [json.loads(line)["data"] for line in sched.communicate(timeout=120)[0].splitlines()]
    check(len(answers) >= 4, f"{len(answers)} answers")
    compared = []
    for a in answers:
        from_ns, to_ns = a["from_ns"], a["from_ns"] + a["duration_ns"]
        # It began and ended while it was told to.
        least, most = (100 * max(0, min(to_ns, end) - max(from_ns, begin)) / a["duration_ns"]
                       for begin, end in ((began_ns, ended_ns), (asked_ns, stopped_ns)))
        mine = next(s["utilization"] for s in a["schedulers"] if s["type"] == "normal")
        compared.append((round(mine, 1), round(least, 1), round(most, 1)))
    check(all(least - 7 < mine < most + 7 for mine, least, most in compared),
          f"shown, least, most: {compared}")
    check(any(5 < mine < 95 for mine, _, _ in compared),
          f"intervals in which it changed: {compared}")
    print(f"shown, least, most: {compared}")


@case("+S 8:2, both busy: the mean, gc's share and top are of the schedulers that are online", otp="one",
      long=True)
def offline(ctx):
    node = ctx.new_node(flags=("+S", "8:2"))
    node.start("gc_heavy", settle=1)
    node.start("proc_split", settle=1)
    sched = ctx.ebeam.ok("sched", "-p", node.os_pid, "-d", "2", "-j").json()["data"]
    online = [s["scheduler"] for s in sched["schedulers"] if s["type"] == "normal" and s["online"]]
    check_equal(online, [1, 2], "online by sched")
    check(sched["utilization"]["normal"] >= 70, f"both were busy: {sched['utilization']}")
    text = ctx.ebeam.ok("sched", "-p", node.os_pid, "-d", "1").out
    check_in("6 schedulers are offline", text, "text of sched")
    text = ctx.ebeam.ok("gc", "-p", node.os_pid, "-d", "1").out
    check_in("of the time of 2 normal schedulers", text, "text of gc")
    last = ctx.ebeam.ok("top", "-p", node.os_pid, "-j", "-n", "2").out.splitlines()[-1]
    online = [s["number"] for s in json.loads(last)["data"]["schedulers"] if s["type"] == "normal" and s["online"]]
    check_equal(online, [1, 2], "online by top")
    text = ctx.ebeam.ok("top", "-p", node.os_pid, "-b", "-n", "1", "--panel", "schedulers").out
    check_equal(text.count(" offline"), 6, "schedulers that top calls offline")


@case("what it does not take")
def usage(ctx):
    for args, text in ((("--by", "function"), "one of name, process"),
                       (("-s", "nonsense"), "nonsense"), (("--longer-than", "long"), "time")):
        result = ctx.ebeam.run("sched", "-p", ctx.node.os_pid, "-d", "1", *args)
        check_equal(result.code, 2, str(result))
        check_in(text, result.err, "what it says")


@case("utilization is a number on every release, and what is sampled is reported")
def reported(ctx):
    need_events(ctx, "process_scheduled")
    with ctx.workload("proc_split"):
        data = ctx.ebeam.ok("sched", "-p", ctx.node.os_pid, "-d", "500ms", "-j", "--max-overhead",
                            "100").json()["data"]
    check_equal((data["share_seen"], data["truncated_excluded"]), (1, False), "nothing was sampled")
    # Those that are sampled say what their sums lack.
    with ctx.workload("pingpong"):
        few = ctx.ebeam.ok("sched", "-p", ctx.node.os_pid, "-d", "1s", "-j", "--max-overhead",
                           "1").json()["data"]
    check_equal(few["truncated_excluded"], few["share_seen"] < 1, "what sampling windows truncated")
    print(f"share seen {few['share_seen']:.3f}")
    normal = [s for s in data["schedulers"] if s["type"] == "normal"]
    check_equal(len(normal), 2, "normal schedulers")
    check(data["utilization"]["normal"] is not None, "mean")
    for s in normal:
        check(s["utilization"] is not None and s["source"], f"{s}")
        check_equal(s["by"]["events"] is not None, gives(ctx, "scheduler_active"), f"{s}")
        check(s["samples"] > 0, f"samples: {s}")
        check_parts(s)


@case("times of processes add up to how busy the schedulers were, of a load that comes and goes, too")
def times_of_a_load_that_changes(ctx):
    need_events(ctx, "process_scheduled")
    node = ctx.new_node(flags=("+S", "2:2"))
    sched = attached(ctx, node, "-d", 5)
    time.sleep(1)
    began = time.monotonic()
    node.start("pingpong")
    time.sleep(2)
    node.stop("pingpong")
    busy_s = time.monotonic() - began
    data = json.loads(sched.communicate(timeout=120)[0])["data"]
    check(data["share_seen"] < 0.9, f"it was sampled: {data['share_seen']}")
    whole = sum((s["utilization"] if s["processes"] is None else s["processes"]) / 100
                * data["duration_ns"] for s in data["schedulers"] if s["type"] == "normal")
    times = [g["time_ns"] - g["dirty_ns"] for g in data["rows"]]
    check(abs(sum(times) - whole) < 0.02 * whole, f"times {sum(times)}, at work {whole}")
    check(1.2 < whole / 1e9 < 2.2 * busy_s, f"at work {whole}, load for {busy_s} s")
    print(f"{sum(times) / 1e9:.2f} s of times, {whole / 1e9:.2f} s at work, "
          f"{sum(sorted(times)[-2:]) / 1e9:.2f} s of the two that were busy for {busy_s:.1f} s")
