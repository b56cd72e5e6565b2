# SPDX-License-Identifier: BSD-2-Clause
"""More kinds of events: allocators, exit signals, heaps, long ones, copies, NIFs, distribution."""
import json
import os
import signal
import time
from collections import Counter

from answers import Watch, need_events
from cases_events import of
from harness import case, check, check_equal, check_in

SIDE_BY_SIDE = True


def watched(ctx, kinds, *question, args=()):
    """Events of the shared node while it answers a question; (answer, events)."""
    need_events(ctx)
    watch = Watch(ctx, ctx.node, "-e", kinds, *args)
    answer = ctx.node.ask("vm_kinds", *question)
    return answer, watch.events()


def during(events, truth):
    return [e for e in events if truth["begin"] <= e["ts_ns"] <= truth["end"]]


def changed(truth, kind, key):
    return truth["after"][kind][key] - truth["before"][kind][key]


def check_carriers(truth, events):
    """What the events say of each allocator is what has changed in it; how many were compared."""
    compared = 0
    own = during(events, truth)
    for kind in truth["before"]:
        mine = [e for e in own if e["type"] == kind]
        for carrier in ("mbc", "sbc"):
            made = of(mine, "carrier_create", carrier=carrier)
            gone = of(mine, "carrier_destroy", carrier=carrier)
            size = sum(e["size"] for e in made) - sum(e["size"] for e in gone)
            if carrier == "sbc":
                size += sum(e["size"] - e["old_size"] for e in of(mine, "carrier_resize"))
            check_equal((len(made) - len(gone), size),
                        (changed(truth, kind, carrier + "s"),
                         changed(truth, kind, carrier + "s_size")), f"{carrier}s of {kind}")
            compared += 2
    return compared


@case("carriers: those of many and of single blocks, their number and bytes by allocator")
def carriers(ctx):
    for count, size in ((20, 3000000), (200, 70000)):
        truth, events = watched(ctx, "alloc", "carriers", count, size)
        compared = check_carriers(truth, events)
        own = [e for e in during(events, truth) if e["type"] == "binary_alloc"]
        made = of(own, "carrier_create", carrier="sbc" if size > 1000000 else "mbc")
        if size > 1000000:
            mine = of(made, "carrier_create", pid=truth["result"])
            check_equal(len(mine), count, "carriers of the process")
            check(all(e["size"] >= size for e in mine), "sizes")
        check(made, "carriers of binaries")
        for e in events:
            if e["kind"] in ("carrier_create", "carrier_destroy"):
                check(all(e[k] is not None for k in e if k.startswith(("mbc_", "sbc_"))), str(e))
        print(f"{compared} numbers compared, {len(events)} events")


@case("the pool: carriers that are left and taken, as often as the allocators say")
def pool(ctx):
    truth, events = watched(ctx, "alloc", "pool", 300)
    compared = check_carriers(truth, events)
    own = during(events, truth)
    taken = Counter(e["type"] for e in of(own, "carrier_pool_get"))
    left = Counter(e["type"] for e in of(own, "carrier_pool_put"))
    check(left and taken, f"left {left}, taken {taken}")
    print(f"left {dict(left)}, taken {dict(taken)}, {compared} numbers compared")


@case("exit signals: from whom to whom and why; exit/2, links of processes and ports")
def signals(ctx):
    truth, events = watched(ctx, "process_exit_signal", "signals", 10)
    seen = Counter((e["from"], e["to"], e["reason"]) for e in events)
    sent = Counter((s["from"], s["to"], s["reason"]) for s in truth["sent"])
    check_equal({k: n for k, n in seen.items() if k in sent}, dict(sent), "exit signals")
    for s in truth["sent"]:
        own = of(events, "process_exit_signal", **s)
        check_equal([e["pid"] for e in own], [s["from"] if s["from"].startswith("<") else None],
                    f"pid of {s}")


@case("heaps that grow and shrink: what erlang:trace says of collections")
def heaps(ctx):
    need_events(ctx)
    watch = Watch(ctx, ctx.node, "-e", "heap,gc,long_gc", "--longer-than", "1us")
    truth = ctx.node.ask("happenings", "collections", 20)
    events = [e for e in watch.events() if e["pid"] == truth["pid"]]
    traced = truth["events"]
    wanted = []
    for first, last in zip(traced[::2], traced[1::2]):
        check_equal(first["kind"].replace("_start", "_end"), last["kind"], "pairs")
        if first["heap"] != last["heap"]:
            kind = "process_heap_grow" if last["heap"] > first["heap"] else "process_heap_shrink"
            wanted.append((kind, first["heap"], last["heap"]))
    resized = [(e["kind"], e["old_size"], e["new_size"]) for e in events
               if e["kind"].startswith("process_heap")]
    check_equal(resized, wanted, "sizes of the heap")
    check(len(wanted) > 10, f"{len(wanted)} changes of size")
    # A major one that follows a minor one for want of room: one call.
    calls = [e["duration_ns"] for e in events
             if e["kind"].endswith("_end") and (e["duration_ns"] or 0) >= 1000]
    long = of(events, "long_gc")
    check_equal([e["duration_ns"] for e in long], calls, "collections longer than that")
    check(all(e["stack"] for e in long), "stacks without asking for them")


@case("long slices: those that system_monitor tells of, with their stacks")
def long_slices(ctx):
    truth, events = watched(ctx, "long_schedule", "slices", 3, args=("--longer-than", "50ms"))
    own = of(events, "long_schedule", pid=truth["pid"])
    check(all(e["duration_ns"] + (e["error_ns"] or 0) >= 50000000 for e in own), "durations")
    # What one that waits for a CPU has done of others is a long slice, too; the last one ends with the process.
    sure = [e for e in own if e["duration_ns"] - (e["error_ns"] or 0) >= 105000000]
    may_be = [e for e in own if e["duration_ns"] + (e["error_ns"] or 0) >= 100000000]
    check(len(sure) - 1 <= len(truth["reported"]) <= len(may_be), f"{len(sure)} {truth['reported']} {len(may_be)}")
    made = [e for e in may_be if "vm_kinds:compare/3" in [f["mfa"] for f in e["stack"]]]
    check(len(made) >= truth["count"], f"{len(made)} of {truth['count']} slices: {may_be}")
    for e in made:
        check_equal(e["entry"], "vm_kinds:long_slice/0", "where it goes on")
        check_in("vm_kinds:'-slices/1-lc$^0/1-0-'/1", [f["mfa"] for f in e["stack"]], "stack")
    none = watched(ctx, "long", "copies", 10, args=("--longer-than", "10s"))[1]
    check_equal(none, [], "nothing takes ten seconds")


@case("every slice above 20 ms, whatever the limit on overhead, with the function that it was in",
      in_pairs=True, long=True)
def slices_without_probes(ctx):
    for limit in ("1", "0.01"):
        watch = Watch(ctx, ctx.node, "-e", "long_schedule", "--longer-than", "20ms",
                      "--max-overhead", limit)
        truth = ctx.node.ask("vm_kinds", "ways", 20)
        events = of(watch.events(), "long_schedule", pid=truth["pid"])
        tops = Counter()
        for e in events:
            check(e["duration_ns"] + (e["error_ns"] or 0) >= 20000000, "duration")
            tops.update({f["mfa"] for f in e["stack"]})
        for function in ("erts_debug:set_internal_state/2", "erts_debug:flat_size/1",
                         "vm_kinds:compare/3"):
            check_equal(tops[function], truth["count"], f"{function} of {len(events)}: {tops}")


@case("copies: to messages, and to heaps")
def copies(ctx):
    truth, events = watched(ctx, "copy", "copies", 50)
    check_equal([e["size"] for e in of(events, "copy_object", pid=truth["copier"])],
                [truth["constant"]] * truth["count"], "copy_object")
    sent = [e["size"] for e in of(events, "copy_struct", pid=truth["sender"])]
    check_equal(Counter(sent)[truth["message"]], truth["count"], "copy_struct of messages")
    copied = [e["size"] for e in of(events, "copy_struct", pid=truth["copier"])]
    check(Counter(copied)[truth["constant"]] >= truth["count"], "copy_struct of copy_object")


def on_dirty(events):
    return [e for e in events if "dirty" in e["thread"] or "dio" in e["thread"]]


@case("NIFs: each call and its end, on dirty schedulers too")
def nifs(ctx):
    truth, events = watched(ctx, "nif", "nifs", 20)
    own = [e for e in events if e["pid"] == truth["pid"]]
    size = [e["kind"] for e in own if e["function"] == "prim_buffer:size/1"]
    check_equal(size, ["nif_entry", "nif_return"] * truth["count"], "calls")
    read = [e for e in own if e["function"] == "prim_file:read_file_nif/1"]
    dirty = on_dirty(read)
    check_equal([e["kind"] for e in dirty], ["nif_entry", "nif_return"] * truth["count"],
                f"dirty calls, of {Counter(e['thread'] for e in read)}")
    check(all(e["duration_ns"] > 0 for e in of(own, "nif_return")), "durations")
    # Those that took longer, and neither others nor beginnings.
    watch = Watch(ctx, ctx.node, "-e", "nif,gc", "--longer-than", "10us")
    truth = ctx.node.ask("vm_kinds", "nifs", 20)
    long = watch.events()
    check(long and all(e["duration_ns"] >= 10000 for e in long), f"longer than 10 us: {long[:5]}")
    # What sends the process there from a normal scheduler may take that long, too.
    read = on_dirty([e for e in long if e.get("function") == "prim_file:read_file_nif/1" and
                     e["pid"] == truth["pid"]])
    check(len(read) <= truth["count"], f"{len(read)} of {truth['count']} reads of a file")
    result = ctx.ebeam.run("events", "-p", ctx.node.os_pid, "-e", "nif", "--count", "-d", 1,
                           "--longer-than", "1ms")
    check_equal(result.code, 2, str(result))
    check_in("--count counts all events of a kind, however long", result.err, "why")


@case("a connection: up, the bytes that its socket sent, down")
def connection(ctx):
    other = ctx.new_node(name=f"away{ctx.otp}@127.0.0.1")
    node = f"'{other.name}'"
    truth, events = watched(ctx, "dist", "connection", other.name, 50)
    ups = [(e["what"], e["type"], e["reason"]) for e in of(events, "dist_monitor", node=node)]
    check_equal(ups[-2:], [("nodeup", "visible", None), ("nodedown", "visible", truth["reason"])],
                "of the node")
    sent = [e for e in during(events, truth) if e["kind"] == "dist_outputv" and e["node"] == node]
    check_equal(sum(e["size"] for e in sent), truth["bytes"], "bytes")
    check_equal({e["port"] for e in sent}, {truth["port"]}, "port")
    check(truth["bytes"] > 50 * 1000, "bytes")
    print(f"{len(sent)} outputs, {truth['bytes']} bytes")


@case("a node that does not read: who waits for it, and when it goes on")
def stalled(ctx):
    other = ctx.new_node(name=f"deaf{ctx.otp}@127.0.0.1")
    node = f"'{other.name}'"
    ctx.node.ask("vm_kinds", "connect", other.name)
    watch = Watch(ctx, ctx.node, "-e", "dist_port_*")
    os.kill(other.os_pid, signal.SIGSTOP)
    try:
        truth = ctx.node.ask("vm_kinds", "stalled", other.name)
    finally:
        os.kill(other.os_pid, signal.SIGCONT)
    ctx.node.ask("vm_kinds", "unstalled")
    events = watch.events()
    busy = of(events, "dist_port_busy", node=node)
    # Others of the VM may have to wait as well.
    check_in(truth["pid"], {e["pid"] for e in busy}, "who waits")
    check_equal({e["port"] for e in busy}, {truth["port"]}, "for which port")
    free = of(events, "dist_port_not_busy", node=node)
    check(free and free[-1]["ts_ns"] > busy[0]["ts_ns"], "it went on")


def answer_of(ctx, command, *args, question):
    """What a view says of the shared node while it answers a question; (truth, data)."""
    need_events(ctx)
    process = ctx.ebeam.popen(command, "-v", "-p", ctx.node.os_pid, "-d", "60", "-j", *args)
    ctx.cleanup(lambda: process.poll() is None and process.kill())
    for line in process.stderr:
        if b"probes attached" in line:
            break
    # What it holds is read when the rings are emptied for the first time.
    time.sleep(0.3)
    truth = ctx.node.ask(*question)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=60)
    check_equal(process.returncode, 0, f"exit code; {err}")
    return truth, json.loads(out)


@case("alloc: what is made and given back is what has changed, what is held what the node says")
def alloc(ctx):
    for last in (False, False, True):
        path = ctx.ebeam.file(".ebeam")
        truth, answer = answer_of(ctx, "alloc", "-o", path,
                                  question=("vm_kinds", "carriers", 20, 3000000))
        check_equal(answer["counters"].get("lost", 0), 0, "lost")
        rows = {r["type"]: r for r in answer["data"]["rows"]}
        # What the node's answer takes of memory comes after what it says, and may go with the next
        # collection.
        later = [ctx.node.ask("vm_kinds", "allocators"), ctx.node.ask("vm_kinds", "carriers", 0, 0)["after"]]
        wrong = []
        for kind, after in truth["after"].items():
            now = rows[kind]["now"]
            held = {"mbcs": now["mbcs"] + now["pool"], "sbcs": now["sbcs"],
                    "mbcs_size": now["mbcs_bytes"] + now["pool_bytes"], "sbcs_size": now["sbcs_bytes"]}
            wrong += [f"{what} that {kind} holds: {value}, not {after[what]}" for what, value in held.items()
                      if value not in (after[what], *(l[kind][what] for l in later))]
        # The node may make a carrier, and give it back, between the two.
        if not wrong or last:
            break
    check_equal(wrong, [], "what is held")
    for kind in truth["after"]:
        row = rows[kind]
        now, begin = row["now"], row["begin"]
        for part, pool in (("mbcs", "pool"), ("sbcs", None)):
            held = [h[part] + (h[pool] if pool else 0) for h in (begin, now)]
            check_equal(row[part]["created"] - row[part]["destroyed"], held[1] - held[0],
                        f"{part} of {kind}")
    check(rows["binary_alloc"]["sbcs"]["created"] >= 20, "the binaries")
    check(answer["data"]["sizes"]["count"] >= 20, "sizes")
    again = ctx.ebeam.ok("alloc", "-i", path, "-j").json()
    replayed = {r["type"]: r for r in again["data"]["rows"]}
    check_equal(again["data"]["sizes"], answer["data"]["sizes"], "sizes from the capture")
    for kind, row in replayed.items():
        for part in ("mbcs", "sbcs", "resized", "pool_put", "pool_get"):
            check_equal(row[part], rows[kind][part], f"{part} of {kind} from the capture")
        check_equal(row["now"], None, "what a capture cannot tell")
