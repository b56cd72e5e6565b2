# SPDX-License-Identifier: BSD-2-Clause
"""What lasts long, seen by samples of the schedulers: all of it, for as long as it took, within the
error that is said, with the function that it was in; and nothing that was short."""
import json
import os
import re

from answers import Watch
from cases_drivers import build_driver
from cases_events import of
from harness import Skip, case, check, check_equal, check_in

IN_PAIRS = True

# Two clocks of the node's, read one after the other.
CLOCKS_NS = 100000
THREADS = {"normal": "_sched", "dirty_cpu": "dirty_cpu|dcpus", "dirty_io": "dirty_io|dios"}
KINDS = {"gc_minor_end": "minor", "gc_major_end": "major"}


def load_nifs(ctx, node):
    node.ask("lasting", "load", os.path.dirname(ctx.library("lasting_nif")))


def check_unprobed(watch):
    """It says that it sees all, and from where on; returns that in ns."""
    check_in("0 probes attached", "\n".join(watch.err), "probes")
    found = re.search(r" without probes: complete from ([\d.]+) (ms|s) on", watch.err[-1])
    check(found, f"the closing line: {watch.err[-1]}")
    return float(found[1]) * {"ms": 1e6, "s": 1e9}[found[2]]


def is_of(event, call):
    """They overlap, however far off the event is."""
    error = event["error_ns"] or 0
    return event["ts_ns"] - event["duration_ns"] + error < call["after"] and \
        event["ts_ns"] - error > call["before"]


def check_times(event, call):
    """Not shorter than from begin to end, and not longer than from before to after."""
    error = event["error_ns"]
    check(error is not None, f"no error: {event}")
    if "begin" in call:
        check(event["duration_ns"] + error + CLOCKS_NS >= call["end"] - call["begin"],
              f"too short: {event} {call}")
    check(event["duration_ns"] - error - CLOCKS_NS <= call["after"] - call["before"],
          f"too long: {event} {call}")


def check_calls(events, calls, least_ns):
    """One event for each call that took so long, and none for nothing."""
    for call in calls:
        own = [e for e in events if is_of(e, call)]
        if call["end"] - call["begin"] >= least_ns:
            check_equal(len(own), 1, f"events of {call}: {own}")
        for e in own:
            check_times(e, call)
    for e in events:
        check_equal(len([c for c in calls if is_of(e, c)]), 1, f"calls of {e}")


@case("calls of NIFs, on all kinds of schedulers: each, for how long, where; no short one")
def nifs(ctx):
    node, watch_args = ctx.new_node(), ("-e", "nif", "--longer-than", "20ms")
    load_nifs(ctx, node)
    watch = Watch(ctx, node, *watch_args, "--max-overhead", "1")
    truth = node.ask("lasting", "nifs", 8, 30000)
    events = watch.events()
    least = max(check_unprobed(watch), 20e6)
    own = [e for e in events if e["pid"] == truth["pid"]]
    check_equal({e["kind"] for e in own}, {"nif_return"}, "kinds")
    check_calls(own, truth["calls"], least)
    for call in truth["calls"]:
        for e in [e for e in own if is_of(e, call)]:
            name = f"lasting:{call['function']}/2"
            check_equal(e["function"], name, "function")
            check(re.search(THREADS[call["function"]], e["thread"]), e["thread"])
            stack = [f["mfa"] for f in e["stack"]]
            check_in(name, stack, f"stack of {call}")
            check_in("lasting:call/4", stack, f"stack of {call}")
    watch = Watch(ctx, node, *watch_args)
    truth = node.ask("lasting", "short", 20, 900)
    events = [e for e in watch.events() if e["function"].startswith("lasting:")]
    longest = max(c["longest"] for c in truth["calls"])
    check(all(e["duration_ns"] - (e["error_ns"] or 0) <= longest for e in events),
          f"none was longer than {longest}: {events}")


def watch_collections(ctx, node):
    """The node's truth, events, and which collections must be among them: traced ones may have
    waited for a CPU at their end."""
    watch = Watch(ctx, node, "-e", "gc,long_gc", "--longer-than", "10ms", "--max-overhead", "1")
    truth = node.ask("lasting", "collections", 8)
    events = [e for e in watch.events() if e["pid"] == truth["pid"]]
    least = 2 * max(check_unprobed(watch), 10e6)
    return truth, events, [t for t in truth["traced"] if t["end"] - t["begin"] >= least]


@case("collections: each that erlang:trace tells of, its kind, for how long, where")
def collections(ctx):
    node, long = ctx.new_node(), []
    for _ in range(3):
        truth, events, long = watch_collections(ctx, node)
        if long:
            break
    if not long:
        raise Skip("the host had no CPU for samples: none of the collections was sure to be seen")
    ends = [e for e in events if e["kind"] in KINDS]
    for t in long:
        own = [e for e in ends if is_of(e, {"before": t["begin"], "after": t["end"]})]
        check_equal([e["kind"] for e in own], [t["kind"]], f"events of {t}")
        check(own[0]["stack"], f"no stack: {own[0]}")
    for e in ends:
        check(any(is_of(e, {"before": t["begin"], "after": t["end"]}) for t in truth["traced"]),
              f"traced: {e}")
    asked = 0
    for call in truth["calls"]:
        for e in [e for e in ends if is_of(e, call)]:
            check_equal(e["kind"], "gc_major_end", "erlang:garbage_collect/0")
            check_times(e, call)
            check_in("lasting:collect/2", [f["mfa"] for f in e["stack"]], "stack")
            asked += 1
    check(asked <= len(truth["calls"]), f"{asked} of {len(truth['calls'])}")
    reported = [(e["type"], e["duration_ns"], e["error_ns"], e["ts_ns"]) for e in of(events, "long_gc")
            if e["type"]]
    check_equal(reported, [(KINDS[e["kind"]], e["duration_ns"], e["error_ns"], e["ts_ns"]) for e in ends],
                "long_gc")


@case("gc --longer-than: its long pauses are those, without probes")
def pauses(ctx):
    node = ctx.new_node()
    path = ctx.ebeam.file(".ebeam")
    watch = Watch(ctx, node, "--longer-than", "10ms", "--by", "process", "-o", path, command="gc")
    truth = node.ask("lasting", "collections", 5)
    data = watch.answer()
    check_unprobed(watch)
    recorded = [json.loads(line) for line in
                ctx.ebeam.ok("events", "-i", path, "-j").out.splitlines()]
    ends = [e for e in recorded if e["pid"] == truth["pid"] and e["kind"] in KINDS]
    check(all(e["duration_ns"] >= 10e6 for e in ends), f"10 ms: {ends}")
    rows = [r for r in data["rows"] if r["group"] == truth["pid"]]
    check_equal([(r["minor"], r["major"]) for r in rows] or [(0, 0)],
                [tuple(len(of(ends, kind)) for kind in KINDS)], "collections of the process")
    check_equal(sum(r["total_ns"] for r in rows), sum(e["duration_ns"] for e in ends), "pauses")


@case("slices of ports: each callback that lasts, its port, driver and name, and where it blocks")
def ports(ctx):
    node = ctx.new_node()
    node.ask("driver_zoo", "load", build_driver(ctx))
    watch = Watch(ctx, node, "-e", "long_schedule", "--longer-than", "20ms", "--max-overhead", "1")
    truth = node.ask("lasting", "ports", 10, 40)
    events = watch.events()
    own = [e for e in events if e["port"] == truth["port"]]
    check_calls(own, truth["calls"], max(check_unprobed(watch), 20e6))
    for e in own:
        check_equal((e["driver"], e["name"], e["pid"], e["entry"]),
                    ("zoo_drv", "zoo_drv  and more", None, None), "whose")
        check_equal(e["stack"][-1]["mfa"], "[port]", f"stack of {e}")
        check(e["stack"][0]["mfa"].startswith("libc.so"), f"stack of {e}")
    watch = Watch(ctx, node, "--longer-than", "20ms", command="sched")
    truth = node.ask("lasting", "ports", 3, 60)
    longest = [s for s in watch.answer()["longest"] if s["port"]]
    check_equal({(s["port"], s["driver"], s["name"]) for s in longest},
                {(truth["port"], "zoo_drv", "zoo_drv  and more")}, "those of sched")


FUNCTIONS = {"set_internal_state": "erts_debug:set_internal_state/2",
             "flat_size": "erts_debug:flat_size/1", "compare": "lasting:compare/3",
             "normal": "lasting:normal/2"}


@case("a hundred slices above 20 ms at the default budget: each, in which function; for as long as it was")
def slices(ctx):
    node, sure = ctx.new_node(), []
    load_nifs(ctx, node)
    for _ in range(3):
        watch = Watch(ctx, node, "-e", "long_schedule", "--longer-than", "20ms", "--max-overhead", "1")
        truth = node.ask("lasting", "slices", 25)
        events = [e for e in watch.events() if e["pid"] == truth["pid"]]
        two_samples = check_unprobed(watch)
        least = max(two_samples, 20e6)
        long = [c for c in truth["calls"] if c["function"] in FUNCTIONS]
        sure = [c for c in long if c["end"] - c["begin"] >= least]
        check_equal(len(long), 100, "slices")
        if len(sure) == len(long):
            break
    if not sure:
        raise Skip("the host had no CPU for samples: none of the slices was sure to be seen")
    for call in truth["calls"]:
        own = [e for e in events if is_of(e, call)]
        check(len(own) == 1 or call not in sure, f"events of {call}: {own}")
        for e in own:
            check_times(e, call)
    for e in events:
        check(any(is_of(e, c) for c in truth["calls"]), f"none of the slices: {e}")
    # That a BIF is under way takes a third sample: the same call at two, CPU time between them.
    for call in [c for c in sure if c["end"] - c["begin"] >= 1.5 * two_samples]:
        own = [e for e in events if is_of(e, call)]
        check_in(FUNCTIONS[call["function"]], [f["mfa"] for f in own[0]["stack"]], f"of {call}")
    print(f"{len(sure)} of {len(long)}, {len(events)} events, all from {least / 1e6} ms on")


@case("comparisons that last: the functions that they are in, and none that the stack had before")
def comparisons(ctx):
    node = ctx.new_node()
    watch = Watch(ctx, node, "-e", "long_schedule", "--longer-than", "20ms")
    truth = node.ask("lasting", "compare", 4)
    found = {"lasting:in_body/3": 0, "lasting:in_guard/3": 0}
    for event in [e for e in watch.events() if e["pid"] == truth["pid"]]:
        stack = [f["mfa"] for f in event["stack"]]
        for mfa in found:
            found[mfa] += mfa in stack
        if any(mfa in stack for mfa in found):
            check_equal([m for m in stack if m in ("lasting:nap/0", "lasting:deeper/0")], [],
                        f"returned long ago: {stack}")
        if "lasting:in_body/3" in stack:
            check_equal(stack[0], "erlang:'=='/2", f"the BIF: {stack}")
    check(all(found.values()), f"{found}")
    print(found)
