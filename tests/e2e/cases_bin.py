# SPDX-License-Identifier: BSD-2-Clause
"""Binaries outside of heaps: `ebeam bin`, and the columns of `ps` about them and timers.  The truth is what
bin_holders.erl made, and process_info(P, binary)."""
import time

from harness import case, check, check_equal, check_in, check_near

SIDE_BY_SIDE = True

# Of each process: binaries, their bytes, bytes of these that its terms use, that only it refers to.  Garbage: below.
PROCESSES = {
    "parts": (100, 100 * 100000, 100 * 80, 100 * 100000),
    "whole": (10, 10 * 50000, 10 * 50000, 10 * 50000),
    "shared_a": (5, 5 * 30000, 5 * 30000, 30000),
    "shared_b": (4, 4 * 30000, 4 * 30000, 0),
    "overlapping": (1, 200000, 250, 200000),
    "context": (1, 80001, 80000, 80001),  # what is behind its position
    "mailbox": (3, 3 * 70000, 3 * 70000, 3 * 70000),
    "received": (2, 70000 + 60000, 70000 + 70, 70000 + 60000),
    "large_heap": (2, 2 * 90000, 70 + 90, 2 * 90000),
    "garbage": (30, 10 * 60000 + 20 * 40000, 10 * 75, 10 * 60000 + 20 * 40000),
    "nested": (52, 52 * 10000 + 52 * 53 // 2, 52 * 100, 52 * 10000 + 52 * 53 // 2),
    "kept": (41, 15000 + 40 * 25000, 15000 + 40 * 65, 15000 + 40 * 25000),
    "asleep": (2, 50000, 20090, 50000),
}
GARBAGE = 20 * 40000
# Of each process with parts: how many, their bytes, the median of what is used of each.
PARTS = {"parts": (100, 100 * 100000, 80), "overlapping": (1, 200000, 250), "large_heap": (2, 2 * 90000, 90),
         "received": (1, 60000, 70), "garbage": (10, 10 * 60000, 75), "nested": (52, 52 * 10000 + 52 * 53 // 2, 100),
         "kept": (40, 40 * 25000, 65), "asleep": (1, 30000, 90)}
TABLE = (60, 50 * 20000 + 10 * 60000, 50 * 20000 + 10 * 100, 50 * 20000 + 10 * 60000)


def read(ctx, node, *args):
    return ctx.ebeam.ok("bin", "-p", node.os_pid, "-j", *args).json()["data"]


def numbers(row):
    return tuple(row[name] for name in ("binaries", "memory", "used", "held"))


@case("each holder: its binaries, their bytes, and how many of these its terms use")
def holders(ctx):
    node = ctx.new_node()
    truth = node.ask("bin_holders", "make")
    data = read(ctx, node)
    rows = {row["holder"]: row for row in data["holders"]}
    for name, expected in PROCESSES.items():
        row = rows[truth["processes"][name]]
        check_equal((row["type"], row["name"]), ("process", f"bin_{name}"), "type and name")
        check_equal(numbers(row), expected, name)
        check_equal(row["garbage"], GARBAGE if name == "garbage" else 0, f"{name}: garbage")
        check_equal(tuple(row[f] for f in ("parts", "part_memory", "part")), PARTS.get(name, (0, 0, None)),
                    f"{name}: parts")
        check_equal(row["in_messages"], 3 if name == "mailbox" else 0, f"{name}: in messages")
    shared = rows[truth["processes"]["shared_b"]]
    check_near(shared["share"], 4 * 30000 / 2, 4, "half of what two processes share")
    for name, ref in truth["tables"].items():
        expected = (*TABLE[:2], None, TABLE[3]) if name == "compressed" else TABLE
        check_equal(numbers(rows[ref]), expected, name)
        check_equal(rows[ref]["name"], f"bin_{name}", "name of a table")
    port = rows[truth["port"]["id"]]
    check_equal((port["type"], port["used"]), ("port", truth["port"]["queued"]), f"port {port}")
    check(port["memory"] >= truth["port"]["queued"] > 0, f"port {port}")


@case("persistent terms and literals of modules: their binaries, and how much of these they use; files: NIF resources")
def constants(ctx):
    node = ctx.new_node()
    truth = node.ask("bin_holders", "make")
    data = read(ctx, node, "-n", "100000")
    rows = {(row["type"], row["name"]): row for row in data["holders"]}
    whole, parts = [rows["persistent term", key] for key in truth["terms"]]
    check_equal(numbers(whole), (3, 3 * 40000, 3 * 40000, 3 * 40000), "persistent term")
    check_equal(numbers(parts), (5, 5 * 100000, 5 * 80, 5 * 100000), "persistent term with parts of binaries")
    check_equal(whole["holder"], None, "holder")
    check(("persistent term", "bin_small_term") not in rows, "a term without such binaries")
    check_equal(numbers(rows["literals", truth["literals"]]), (1, 3000, 3000, 3000), "literals of a module")
    known = {row["address"]: row for row in data["largest"]}
    of_type = {}
    for address, size, refc in truth["files"]:
        row = known[f"0x{address:x}"]
        check_equal((row["size"], row["refc"]), (size, refc), "a resource")
        check(1 <= row["references"] <= refc, f"{row}: the NIF may have the others")
        of_type.setdefault(row["holder"], []).append(size)
    check_equal(len(of_type["prim_file:efile"]), 4, f"files: {of_type}")
    for name, sizes in of_type.items():
        row = rows["NIF resource", name]
        check(row["binaries"] >= len(sizes) and row["memory"] >= sum(sizes), f"{row}: {sizes}")
        check_equal((row["used"], row["held"], row["holder"]), (None, None, None), "of resources")
    modules = sum(type == "literals" for type, _ in rows)
    print(f"    resources {', '.join(of_type)}; {modules} modules with binaries")


@case("all binaries: those of process_info/2 by address, size and reference count, and the sum of memory/0")
def totals(ctx):
    node = ctx.new_node()
    node.ask("bin_holders", "make")
    node.ask("bin_holders", "all")
    time.sleep(0.5)  # what answers is idle, and has collected what it made
    for attempt in range(5):
        truth = node.ask("bin_holders", "all")
        data = read(ctx, node, "-n", "100000")
        known = {row["address"]: row for row in data["largest"]}
        said = {}
        for process in truth["processes"]:
            for address, size, refc in process["binaries"]:
                if size > 10000:  # not what the terminal's processes pass on
                    said[f"0x{address:x}"] = (size, refc)
        wrong = {a: (s, known.get(a)) for a, s in said.items()
                 if a not in known or (known[a]["size"], known[a]["refc"]) != s}
        if not wrong:
            break
    check(not wrong and len(said) > 115, f"{len(said)} binaries; {wrong}")
    check_equal(data["binaries"], len(known), "number of binaries")
    check_equal(data["memory"], sum(row["size"] for row in known.values()), "sum of the sizes")
    check_near(data["counted"], truth["memory"], 100000, "erlang:memory(binary)")
    # The rest: what blocks need beside their data, and what only drivers and NIFs refer to.
    check(0 <= data["counted"] - data["memory"] < 0.03 * data["memory"] + 100000,
          f"{data['counted']} counted, {data['memory']} found")
    check_equal(sum(b["count"] for b in data["sizes"]["buckets"]), data["binaries"], "histogram of sizes")
    for process in truth["processes"]:
        own = {b[0]: b[1] for b in process["binaries"] if b[1] > 10000}
        row = next((r for r in data["holders"] if r["holder"] == process["pid"]), {"binaries": 0, "memory": 0})
        check(row["binaries"] >= len(own) and row["memory"] >= sum(own.values()), f"{row}: {own}")


@case("text: the leak of sub-binaries is the first row; -s, -n and -c")
def text(ctx):
    node = ctx.new_node()
    truth = node.ask("bin_holders", "make")
    lines = ctx.ebeam.ok("bin", "-p", node.os_pid).out.splitlines()
    first = next(i for i, line in enumerate(lines) if line.startswith("HOLDER")) + 1
    check_equal(lines[first].split()[:2], [truth["processes"]["parts"], "process"], "\n".join(lines))
    check_in("100 9.5 MiB 7.8 KiB 0 B 9.5 MiB", " ".join(lines[first].split()), "row")
    check_in("bin_parts: sub-binaries, which use 80 B of each (median), keep 100 binaries of 9.5 MiB: copy them with "
             "binary:copy/1", "\n".join(lines), "advice")
    lines = ctx.ebeam.ok("bin", "-p", node.os_pid, "-s", "used", "-n", "1", "-c", "name,used").out.splitlines()
    first = next(i for i, line in enumerate(lines) if line.startswith("NAME")) + 1
    check(lines[first].startswith("bin_"), f"{lines}")
    refused = ctx.ebeam.run("bin", "-p", node.os_pid, "-s", "nothing")
    check_equal(refused.code, 2, refused.err)


@case("ps: columns binaries, binary_memory, binary_held and timers, also in --where and with --watch")
def columns(ctx):
    node = ctx.new_node()
    truth = node.ask("bin_holders", "make")
    node.ask("bin_holders", "timers")
    fields = "pid,binaries,binary_memory,binary_held,timers"
    rows = {r["pid"]: r for r in ctx.ebeam.ok("ps", "-p", node.os_pid, "-j", "-c", fields).json()["data"]}
    for name, (binaries, memory, _, held) in PROCESSES.items():
        row = rows[truth["processes"][name]]
        check_equal((row["binaries"], row["binary_memory"], row["binary_held"]), (binaries, memory, held), name)
        check_equal(row["timers"], {"whole": 7, "parts": 5}.get(name, 0), f"timers of {name}")
    found = ctx.ebeam.ok("ps", "-p", node.os_pid, "-j", "-c", "pid", "--where",
                         "binary_memory > 9000000 or timers = 7").json()["data"]
    check_equal({r["pid"] for r in found}, {truth["processes"]["parts"], truth["processes"]["whole"]}, "--where")
    plain = ctx.ebeam.ok("ps", "-p", node.os_pid, "-j", "-n", "1").json()["data"][0]
    text = ctx.ebeam.ok("ps", "-p", node.os_pid, "-s", "timers", "-n", "1").out
    check_equal(text.split()[:3], ["PID", "NAME", "TIMERS"], "columns, with that of the order")
    check("binaries" not in plain and "timers" not in plain, f"not asked for: {plain}")
    watched = ctx.ebeam.ok("ps", "-p", node.os_pid, "--watch", "0.2s", "-d", "0.5s", "-c", "name,binaries",
                           "-s", "binaries").out
    check_in("bin_parts", watched, "--watch")
