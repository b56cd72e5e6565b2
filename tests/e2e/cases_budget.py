# SPDX-License-Identifier: BSD-2-Clause
"""`--max-overhead`: probes that cost too much are enabled in sampling windows only, and what they saw
then, scaled, is what happened; those that cost little stay on, and exact."""
import json
import re
import resource

from answers import need_events
from cases_events import Watch, of
from ebeam import bpf_descriptors
from harness import case, check, check_equal, check_in

BUDGET = ("--max-overhead", "1")


def sampled(watch):
    """Per kind the percent of the closing line; those that were on all the time are not there."""
    return {kind: float(percent)
            for kinds, percent in re.findall(r"((?:\w+, )*\w+) sampled ([0-9.]+) %", watch.err[-1])
            for kind in kinds.split(", ")}


def cost(watch):
    found = re.search(r"cost to the node ~([0-9.]+)% of its own CPU", watch.err[-1])
    check(found, f"cost in the closing line: {watch.err[-1]}")
    return float(found.group(1))


def lines(watch):
    watch.end()
    check_equal(watch.process.returncode, 0, f"exit code; {watch.err}")
    return [json.loads(line) for line in watch.out.decode().splitlines()]


@case("ping-pong at full speed: sampled, said, and the samples scaled are what the node counted",
      otp="one")
def ping_pong(ctx):
    need_events(ctx)
    node = ctx.new_node(flags=("+S", "2:2"))
    watch = Watch(ctx, node, "-e", "message_send,process_exit", *BUDGET)
    truth = node.ask("happenings", "storm", 8)
    events = lines(watch)
    pings = len(of(events, "message_send", pid=truth["pinger"], to=truth["ponger"]))
    pongs = len(of(events, "message_send", pid=truth["ponger"], to=truth["pinger"]))
    share = sampled(watch)
    check_in("message_send", share, f"sampled: {watch.err[-1]}")
    check(share["message_send"] < 30, f"{watch.err[-1]}")
    estimate = pings / share["message_send"] * 100
    print(f"{truth['trips']} round trips; {pings} seen of {share['message_send']} %: "
          f"{estimate / truth['trips']:.3f} of them; {watch.err[-1]}")
    # Slices begin and end between a ping and its pong.
    check(abs(pings - pongs) <= 200, f"{pings} pings, {pongs} pongs")
    # Dozens of slices of some ms each, whose edges are known to a tenth of a ms or two; the percent
    # has two digits; the node's own count moves in steps of a time slice.
    check(0.7 < estimate / truth["trips"] < 1.4, f"{estimate} of {truth['trips']}")
    # Of the same as the budget: the first window, of a storm that was not known, is a debt of the run.
    check(0 < cost(watch) < 5, f"cost: {watch.err[-1]}")
    # Those that cost little: all the time, and each of them seen.
    check("process_exit" not in share, f"{watch.err[-1]}")
    died = {e["pid"] for e in of(events, "process_exit")}
    check({truth["pinger"], truth["ponger"]} <= died, "exits of both")


@case("one perf event for each probe, as on older kernels: the samples scaled are what the node counted",
      otp="one", long=True)
def by_perf(ctx):
    need_events(ctx)
    node = ctx.new_node(flags=("+S", "2:2"))
    # Each slice lasts as long as it takes to remove them, some 0.1 s.
    watch = Watch(ctx, node, "-e", "message_send,process_exit", "--max-overhead", "10",
                  "--uprobes", "perf")
    truth = node.ask("happenings", "storm", 8)
    events = lines(watch)
    pings = len(of(events, "message_send", pid=truth["pinger"], to=truth["ponger"]))
    share = sampled(watch)
    check_in("message_send", share, f"sampled: {watch.err[-1]}")
    check("process_exit" not in share, f"{watch.err[-1]}")
    estimate = pings / share["message_send"] * 100
    print(f"{truth['trips']} round trips; {pings} seen of {share['message_send']} %: "
          f"{estimate / truth['trips']:.3f} of them; {watch.err[-1]}")
    check(0.7 < estimate / truth["trips"] < 1.4, f"{estimate} of {truth['trips']}")
    died = {e["pid"] for e in of(events, "process_exit")}
    check({truth["pinger"], truth["ponger"]} <= died, "exits of both")


@case("--watch: each answer is scaled by what was seen in its own interval", otp="one",
      timeout=240, long=True)
def intervals(ctx):
    need_events(ctx)
    node = ctx.new_node(flags=("+S", "2:2"))
    # Enough for some slices in each second, also where the node gets only a part of a CPU.
    watch = Watch(ctx, node, "--watch", "1s", "-d", "120", "--max-overhead", "5", command="msg")
    watch.waits_for_out = True
    truth = node.ask("happenings", "storm", 4)
    before = len(watch.answers_so_far())

    # Once it is over all is watched again: what it cost is paid back, then it takes a few rounds,
    # however long that is on a busy machine.
    def is_whole():
        found = watch.answers_so_far()[before + 1:]
        return any(a["data"]["share_seen"] == 1 for a in found)

    watch.wait_for(is_whole, "an answer of which all was watched")
    answers = watch.answers(sampled=True)
    storm = sum(a["data"]["messages"] for a in answers)
    print(f"{2 * truth['trips']} messages, estimated {storm}; "
          f"{[round(a['data']['share_seen'], 6) for a in answers]}")
    # A few slices in each answer: far less exact than the sum of dozens.
    check(0.3 < storm / (2 * truth["trips"]) < 3, f"{storm} of {2 * truth['trips']}")
    for a in answers:
        check_equal(any(" sampled " in w for w in a["warnings"]), bool(a["sampled"]), "sampled")
        check(all(s["error_factor"] is None or s["error_factor"] > 1 for s in a["sampled"]),
              f"{a['sampled']}")
    check(any(s["error_factor"] for a in answers for s in a["sampled"]), "errors that are known")
    after = [a for a in answers if not a["warnings"]]
    check(after and all(a["data"]["share_seen"] >= 0.9995 for a in after), "all of it was watched")
    check(any(a["data"]["share_seen"] < 0.3 for a in answers), "the storm was sampled")
    check_equal(sum(a["counters"]["events"] for a in answers), watch.closing()[0],
                "events of the answers, and of the closing line")


@case("all kinds in a storm: what costs little stays exact, nothing is lost, nothing stays attached")
def all_kinds(ctx):
    need_events(ctx)
    node = ctx.new_node(flags=("+S", "2:2"))
    watch = Watch(ctx, node, "-e", "all", *BUDGET)
    node.ask("happenings", "start_storm")
    truth = node.ask("happenings", "spawns", 5)
    named = node.ask("happenings", "names", 5)
    node.ask("happenings", "slices", 500)
    node.ask("happenings", "end_storm")
    events = lines(watch)
    share = sampled(watch)
    check_in("message_send", share, watch.err[-1])
    compared = 0
    for child in truth["children"]:
        if "process_spawn" not in share:
            check_equal([e["parent"] for e in of(events, "process_spawn", pid=child["pid"])],
                        [truth["parent"]], f"spawn of {child}")
            compared += 1
        if "process_exit" not in share:
            check_equal([e["reason"] for e in of(events, "process_exit", pid=child["pid"])],
                        [child["reason"]], f"exit of {child}")
            compared += 1
    for kind in ("process_register", "process_unregister"):
        if kind not in share:
            check_equal([e["name"] for e in of(events, kind, pid=named["pid"])], named["names"], kind)
            compared += len(named["names"])
    check(compared > 0, f"kinds that were on all the time: {watch.err[-1]}")
    ends = [e for e in events if e["kind"] in ("gc_minor_end", "gc_major_end")]
    check(all((e["duration_ns"] or 0) < 4e9 for e in ends), "no collection is longer than the storm")
    print(f"{compared} compared; {watch.err[-1]}")


@case("a budget that is too small for anything: dropped, said at once and at the end", otp="one",
      timeout=240)
def dropped(ctx):
    need_events(ctx)
    node = ctx.new_node(flags=("+S", "2:2"))
    watch = Watch(ctx, node, "-e", "message,process_scheduled,process_exit", "--max-overhead", "0.002",
                  "-d", "120")
    node.ask("happenings", "start_storm")
    # Three windows of it, a second apart, in which the node ran; one is dropped after the other.
    watch.wait_for(lambda: any("message_send is not watched any more" in line
                               for line in list(watch.err)), "message_send dropped")
    truth = node.ask("happenings", "end_storm")
    lines(watch)
    print(watch.err)
    gone = re.search(r"((?:\w+, )*\w+) dropped \(over --max-overhead\)", watch.err[-1])
    check(gone and "message_send" in gone.group(1).split(", "), f"closing line: {watch.err[-1]}")
    check("process_exit" not in gone.group(1).split(", "), watch.err[-1])
    check(truth["trips"] > 0, "the node goes on")


@case("probes that cannot be placed again: tried a few times, then dropped, and said to be",
      otp="one", timeout=240, long=True)
def not_placed(ctx):
    need_events(ctx)
    node = ctx.new_node(flags=("+S", "2:2"))
    watch = Watch(ctx, node, "-e", "message_send,process_exit", "-vv", "-d", "120", *BUDGET)
    watch.waits_for_out = True
    node.ask("happenings", "start_storm")
    watch.wait_for(lambda: watch.out.count(b"message_send") > 100, "a storm seen")
    # It needs a descriptor for each probe: there are no more.
    soft, hard = resource.prlimit(watch.process.pid, resource.RLIMIT_NOFILE)
    resource.prlimit(watch.process.pid, resource.RLIMIT_NOFILE, (3, hard))
    watch.wait_for(lambda: any("message_send is not watched any more: its probes could not be placed"
                               in line for line in list(watch.err)), "message_send dropped")
    truth = node.ask("happenings", "end_storm")
    resource.prlimit(watch.process.pid, resource.RLIMIT_NOFILE, (soft, hard))
    events = lines(watch)
    check(re.search(r"message_send dropped \(its probes could not be placed again\)", watch.err[-1]),
          watch.err[-1])
    print(watch.err[-1])
    tries = [line for line in watch.err if "cannot place a uprobe" in line]
    check_equal(len(tries), 5, f"tries; {watch.err}")
    died = {e["pid"] for e in of(events, "process_exit")}
    check({truth["pinger"], truth["ponger"]} <= died, "exits of both")


@case("killed with -9 while probes go on and off: nothing stays attached", otp="one", long=True)
def killed(ctx):
    need_events(ctx)
    node = ctx.new_node(flags=("+S", "2:2"))
    node.ask("happenings", "start_storm")
    watch = Watch(ctx, node, "-e", "all", *BUDGET)
    node.ask("happenings", "messages", 10, 10)
    node.ask("happenings", "slices", 200)
    check(bpf_descriptors(watch.process.pid), "programs of a run")
    watch.process.kill()
    watch.process.wait(60)
    node.ask("happenings", "end_storm")
    truth = node.ask("happenings", "messages", 10, 10)
    check_equal(truth["count"], 10, "messages of the node")
    watch = Watch(ctx, node, "-e", "message_send")
    truth = node.ask("happenings", "messages", 10, 10)
    check_equal(len(of(watch.events(), "message_send", pid=truth["sender"], to=truth["receiver"])),
                10, "messages of a new run, once each")


@case("--dry-run: the probes, where they stand and what they cost; none is attached")
def dry_run(ctx):
    need_events(ctx)
    rows = ctx.ebeam.ok("events", "-p", ctx.node.os_pid, "-e", "message_send,gc", "--dry-run",
                        "-j").json()["data"]
    check({"erts_queue_proc_message", "erts_garbage_collect_nobump"} <=
          {r["function"] for r in rows}, f"{rows}")
    for r in rows:
        check(r["kinds"] and r["file_offset"] > 0 and r["instruction"], f"{r}")
        check(r["trap_ns"] is None or r["trap_ns"] > 0, f"{r}")
        check(r["emulated"] or r["stepped_because"], f"{r}")
    # Kinds that go on and off together have one number.
    groups = {kind: {r["group"] for r in rows if kind in r["kinds"]} for r in rows
              for kind in r["kinds"]}
    check(all(len(g) == 1 for g in groups.values()), f"{groups}")
    check(groups["message_send"] != groups["gc_minor_end"], f"{groups}")
    text = ctx.ebeam.ok("events", "-p", ctx.node.os_pid, "-e", "gc", "--dry-run").out
    check_in("erts_garbage_collect_nobump", text, "table")
    check_in("are enabled together", text, "summary")
    bifs = [line for line in ctx.ebeam.ok("gc", "-p", ctx.node.os_pid, "--dry-run").out.splitlines()
            if "uprobes on BIFs" in line]
    check_equal(len(bifs), 1, "lines about BIFs")
    check_in("erts_internal:purge_module/2", bifs[0], "BIFs")
