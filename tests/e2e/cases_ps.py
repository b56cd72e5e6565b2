# SPDX-License-Identifier: BSD-2-Clause
"""The process table: `ebeam ps` says of each process what process_info/2 says of it."""
import json
import os
import re
import signal
import subprocess

from cases_hung import kill
from harness import case, check, check_equal, check_in

SIDE_BY_SIDE = True

FIELDS = ("registered_name", "label", "initial_call", "current_function", "current_location",
          "status", "message_queue_len", "memory", "total_heap_size", "heap_size", "stack_size",
          "links", "monitors", "parent", "group_leader", "priority", "trap_exit")
STATUSES = {"exiting", "garbage_collecting", "running", "suspended", "runnable", "waiting"}
# Whoever carries question and answer in and out of the node is busy with it.
CARRIERS = re.compile("^user|^standard_|^<0.0.0>")


def zoo(ctx, *flags):
    node = ctx.new_node(name=f"zoo{ctx.otp}@127.0.0.1", flags=("+S", "2:2", *flags))
    node.start("zoo")
    return node


def stop(ctx, node):
    os.kill(node.os_pid, signal.SIGSTOP)
    ctx.cleanup(os.kill, node.os_pid, signal.SIGCONT)


def table(ctx, node, *args):
    return ctx.ebeam.ok("ps", "-j", "-p", node.os_pid, *args).json()


def by_pid(rows):
    return {r["pid"]: r for r in rows}


@case("10,000 processes: every field of every one is what the node says of it")
def fields(ctx):
    node = zoo(ctx)
    node.ask("zoo", "throng", 10000)
    before = node.ask("zoo", "rows")
    answer = table(ctx, node)
    after = by_pid(node.ask("zoo", "rows"))
    rows, compared, moving, wrong = by_pid(answer["data"]), 0, 0, []
    for expected in before:
        pid, again = expected["pid"], after.get(expected["pid"])
        if not again or CARRIERS.match(expected["registered_name"] or "") or \
                expected["current_function"] == "zoo:row/1":
            continue
        check(pid in rows, f"ps has no {pid}: {expected}")
        row = rows[pid]
        for field in FIELDS:
            if field == "parent" and ctx.release == 24:  # the node does not tell
                continue
            if expected[field] != again[field]:
                moving += 1
                continue
            compared += 1
            if row[field] != expected[field]:
                wrong.append(f"{pid} {expected['registered_name']}: {field} is "
                             f"{expected[field]!r}, ps says {row[field]!r}")
        # To answer takes reductions, too.
        compared += 1
        if not expected["reductions"] - 1000 <= row["reductions"] <= again["reductions"]:
            wrong.append(f"{pid}: reductions {expected['reductions']} .. {again['reductions']}, "
                         f"ps says {row['reductions']}")
        if "torn" in row:
            wrong.append(f"{pid} is torn")
    check(not wrong, f"{len(wrong)} of {compared} fields are wrong: {'; '.join(wrong[:8])}")
    check(len(rows) >= 10000, f"only {len(rows)} processes")
    fields_each = 17 if ctx.release == 24 else 18
    check(compared >= fields_each * 9990 - moving, f"only {compared} fields")
    check(moving < 100, f"{moving} fields changed meanwhile")
    check(len(by_pid(before).keys() - rows.keys()) < 5, "processes are missing")
    check_equal(answer["counters"]["processes"], len(rows), "counter of processes")
    print(f"{compared} fields of {len(rows)} processes compared, {moving} moved")


@case("spawning and dying as fast as the node can: no nonsense, hardly a torn row", alone=True)
def churn(ctx):
    node = zoo(ctx)
    node.ask("zoo", "churn", 6)
    node.ask("zoo", "spin", 2)
    quiet = {p for ps in node.ask("zoo", "kinds").values() for p in ps}
    total = torn = 0
    for _ in range(8):
        answer = table(ctx, node)
        rows, counters = answer["data"], answer["counters"]
        check_equal(len({r["pid"] for r in rows}), len(rows), "different pids")
        check_equal(counters["processes"], len(rows), "counter of processes")
        check_equal(counters["torn"], sum(r.get("torn", False) for r in rows), "torn rows")
        check(quiet <= {r["pid"] for r in rows}, "processes that stay are missing")
        total += len(rows)
        torn += counters["torn"]
        for r in rows:
            check_sane(r)
    node.ask("zoo", "rest")
    check(torn <= total / 500, f"{torn} of {total} rows are torn")
    print(f"{total} rows, {torn} torn")


def check_sane(r):
    check(re.fullmatch(r"<0\.\d+\.\d+>", r["pid"]), f"pid: {r}")
    check(r["status"] in STATUSES, f"status: {r}")
    check(0 <= r["message_queue_len"] < 10**7, f"mailbox: {r}")
    check(700 <= r["memory"] < 10**9, f"memory: {r}")
    check(r["heap_size"] < 10**8 and r["stack_size"] < 10**8, f"heap: {r}")
    check(r["links"] < 10**4 and r["monitors"] < 10**4, f"links: {r}")
    check(r["reductions"] < 2**50, f"reductions: {r}")
    for pid in (r["parent"], r["group_leader"]):
        check(pid is None or re.fullmatch(r"<0\.\d+\.\d+>", pid), f"pids: {r}")
    for call in (r["initial_call"], r["current_function"]):
        check(call is None or re.fullmatch(r".+[:.].+/\d+( in .*)?", call), f"call: {r}")


@case("one that runs: its function is where it last stopped, and has a mark", alone=True)
def runs(ctx):
    node = ctx.new_node(flags=("+S", "2:2"))
    ctx.cleanup(kill, node)
    pid = node.start("held", "loop", settle=1)["pids"][0]
    stale, marked = set(), set()
    for _ in range(5):
        rows = by_pid(table(ctx, node)["data"])
        stale.add(rows[pid].get("stale", False) == (rows[pid]["status"] == "running"))
        check(not any(r.get("stale") for r in rows.values() if r["status"] == "waiting"), f"{rows}")
        shown = ctx.ebeam.ok("ps", "-p", node.os_pid, "-c", "pid,status,current_function").out
        marked |= {line.split()[1:] == ["running", "held:spin/1", "~"] for line in shown.splitlines()
                   if line.split()[0] == pid and "runnable" not in line}
    check_equal((stale, marked), ({True}, {True}), "stale, and its mark")


@case("a node that is stopped: the answer comes all the same, and is the same each time")
def stopped(ctx):
    node = zoo(ctx)
    stop(ctx, node)
    first = ctx.ebeam.ok("ps", "-j", "-p", node.os_pid, timeout=10)
    check_equal(ctx.ebeam.ok("ps", "-j", "-p", node.os_pid).json()["data"],
                first.json()["data"], "the second answer")
    print(f"answered in {first.seconds:.2f} s")


@case("-s, -n, -c and --where say what the whole table says")
def choosing(ctx):
    node = zoo(ctx)
    stop(ctx, node)
    rows = table(ctx, node)["data"]
    for column in ("memory", "message_queue_len", "reductions", "links"):
        seen = table(ctx, node, "-s", column, "-n", 20)["data"]
        wanted = sorted((r[column] for r in rows), reverse=True)[:20]
        check_equal([r[column] for r in seen], wanted, f"-s {column}")
        seen = table(ctx, node, "-s", "-" + column, "-n", 20)["data"]
        check_equal([r[column] for r in seen], sorted(r[column] for r in rows)[:20],
                    f"-s -{column}")
    check_equal([r["memory"] for r in table(ctx, node, "-n", 20)["data"]],
                sorted((r["memory"] for r in rows), reverse=True)[:20], "-n without -s: the largest")
    check_equal(table(ctx, node, "-c", "pid,status")["data"],
                [{"pid": r["pid"], "status": r["status"]} for r in rows], "-c")
    cases = {
        "message_queue_len > 0": lambda r: r["message_queue_len"] > 0,
        "memory >= 10k and trap_exit": lambda r: r["memory"] >= 10000 and r["trap_exit"],
        "not (status == waiting)": lambda r: r["status"] != "waiting",
        'registered_name ~ "^zoo_.*[13]$" or links>10':
            lambda r: re.search("^zoo_.*[13]$", r["registered_name"] or "") or r["links"] > 10,
        "priority != normal && heap_size < 1Ki":
            lambda r: r["priority"] != "normal" and r["heap_size"] < 1024,
        f"parent == {rows[1]['parent']}": lambda r: r["parent"] == rows[1]["parent"],
        "label": lambda r: r["label"],
        'name ~ "^Zoo[.]R"': lambda r: (r["registered_name"] or "").startswith("Elixir.Zoo.R"),
    }
    for where, wanted in cases.items():
        seen = table(ctx, node, "--where", where)["data"]
        check_equal([r["pid"] for r in seen], [r["pid"] for r in rows if wanted(r)], where)
        check(0 < len(seen) < len(rows), f"{where}: {len(seen)} rows prove nothing")
    text = ctx.ebeam.ok("ps", "-p", node.os_pid, "--where", "memory > 100k")
    big = [r for r in rows if r["memory"] > 100000]
    check_equal(len(text.out.splitlines()), 1 + len(big), "rows of the table")
    check_in(f"{len(big)} of {len(rows)} processes", text.err, "the closing line")
    text = ctx.ebeam.ok("ps", "-p", node.os_pid, "--where", "memory > 100k", "-n", 1)
    check_in(f"1 of {len(rows)} processes, where memory > 100k ({len(big)} match;", text.err,
             "the closing line of one of them")


@case("--tree has every process once, supervisors above their children")
def tree(ctx):
    node = zoo(ctx)
    children = node.ask("zoo", "children")
    answer = table(ctx, node, "--tree")["data"]
    rows = by_pid(answer)
    check_equal(len(rows), len(answer), "each process once")
    for above, pids in children.items():
        check(pids, f"{above} has no children")
        for pid in pids:
            check_equal(rows[pid]["tree_parent"], above, f"who is above {pid}")
    depths = {None: -1}
    for r in answer:
        check_equal(r["tree_depth"], depths[r["tree_parent"]] + 1, f"depth of {r['pid']}")
        depths[r["pid"]] = r["tree_depth"]
    text = ctx.ebeam.ok("ps", "-p", node.os_pid, "--tree", "--where",
                        "registered_name == zoo_top_sup").out
    check_in("zoo_top_sup", text, "the tree of one process")
    check_in("zoo_keeper", text, "who is above it")
    text = ctx.ebeam.ok("ps", "-p", node.os_pid, "--tree").out
    check_in("\u2514\u2500 ", text, "the branches")
    check_in(" more ", text, "equal leaves in one line")


def watching(ctx, node, *args):
    out = ctx.ebeam.file(".jsonl")
    with open(out, "w") as f:
        process = subprocess.Popen([ctx.ebeam.path, "ps", "-p", str(node.os_pid), "-j", "--watch",
                                    "0.2s", *args], stdout=f, stderr=subprocess.PIPE, text=True)
    ctx.cleanup(process.wait)
    ctx.cleanup(process.kill)
    return process, out


def ticks(path):
    with open(path) as f:
        return [json.loads(line) for line in f]


@case("--watch: rates of what runs, none of what waits; one object a line")
def watch(ctx):
    node = zoo(ctx)
    spinners = node.ask("zoo", "spin", 1)
    process, out = watching(ctx, node, "-d", "2")
    check_equal(process.wait(30), 0, "exit code")
    seen = ticks(out)
    check(len(seen) >= 4, f"{len(seen)} objects")
    check_equal(by_pid(seen[0]["data"])[spinners[0]]["reductions_per_s"], None, "the first rate")
    waiting = node.ask("zoo", "kinds")["waiting"]
    for earlier, later in zip(seen, seen[1:]):
        old, new = by_pid(earlier["data"]), by_pid(later["data"])
        for pid in waiting:
            check_equal(new[pid]["reductions_per_s"], 0, f"rate of {pid}, which waits")
            check_equal(new[pid]["registered_name"], old[pid]["registered_name"], "its name")
            check_equal(new[pid]["current_function"], "zoo:forever/0", "where it waits")
    last = by_pid(seen[-1]["data"])[spinners[0]]
    check(last["reductions_per_s"] > 10000, f"rate of what runs: {last['reductions_per_s']}")
    first = ctx.ebeam.ok("ps", "-p", node.os_pid, "--watch", "0.5s", "-d", "0.2s", "-n", 1,
                         "-c", "pid").out
    check_in(spinners[0], first, "the first table, which knows no rates")
    fastest = ctx.ebeam.ok("ps", "-p", node.os_pid, "--watch", "0.5s", "-d", "0.8s", "-n", 1,
                           "-c", "pid").out
    check_in(spinners[0], fastest, "the table, fastest first")


@case("--watch ends at Ctrl-C, and when the node exits")
def watch_ends(ctx):
    node = zoo(ctx)
    process, out = watching(ctx, node)
    while not os.path.getsize(out):
        check(process.poll() is None, "ps has ended")
    process.send_signal(signal.SIGINT)
    check_equal(process.wait(20), 0, "exit code after Ctrl-C")
    check(ticks(out), "nothing was written")
    process, out = watching(ctx, node)
    while not os.path.getsize(out):
        check(process.poll() is None, "ps has ended")
    os.kill(node.os_pid, signal.SIGKILL)
    check_equal(process.wait(20), 0, "exit code when the node has exited")
    check_in("has exited", process.stderr.read(), "the note")
    check(ticks(out), "nothing was written")


@case("what makes no sense is a usage error that says why", otp="one")
def errors(ctx):
    for args, text in ((("--where", "memory > "), "a number is wanted"),
                       (("--where", "size > 1"), "there is no field 'size'"),
                       (("-s", "size"), "there is no column 'size'"),
                       (("-c", "pid,size"), "there is no column 'size'"),
                       (("--tree", "-n", "3"), "--tree has an order"),
                       (("-d", "3"), "-d needs --watch"),
                       (("-s", "memory_per_s"), "-s memory_per_s needs --watch")):
        result = ctx.ebeam.run("ps", "-p", ctx.node.os_pid, *args)
        check_equal(result.code, 2, str(result))
        check_in(text, result.err, str(result))
    check_equal(ctx.ebeam.run("ps", "-p", os.getpid()).code, 3, "exit code for what is no node")
