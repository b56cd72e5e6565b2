# SPDX-License-Identifier: BSD-2-Clause
"""Memory: `ebeam mem` says what erlang:memory/0 and erlang:system_info({allocator, Type}) say.

The node asks itself ten times a second, and keeps the answers; between them it rests, and ebeam
reads.  Whatever the question does not touch must be equal to the byte.  What it does touch: every
scheduler answers for its allocators by messages, whose heap fragments (eheap_alloc) and signals
(sl_alloc) the next one counts already, and an idle scheduler frees those of the last question when
it comes to it.  That is "processes" and, by some hundred bytes, "system".
"""
import time

from harness import case, check, check_equal

SIDE_BY_SIDE = True

STILL = ("atom", "atom_used", "code", "binary", "ets")
STILL_AREAS = ("atom_space", "atom_space_used", "atom_table", "module_table", "export_table",
               "export_list", "fun_table", "module_refs", "loaded_code", "ets_misc",
               "process_table")
ANSWERS = 2**17  # bytes in the messages of one question: some kilobytes for each instance
MOVING = {"processes": ANSWERS, "processes_used": ANSWERS, "system": 2**13, "total": ANSWERS}
# Allocators of what the question makes.
TOUCHED = ("eheap_alloc", "sl_alloc")
COUNTS = ("blocks", "blocks_size", "carriers", "carriers_size")
KINDS = ("mbcs", "sbcs", "mbcs_pool")
ROUNDS = 5


def read(ctx, node, *args):
    return ctx.ebeam.ok("mem", "-p", node.os_pid, "-j", *args).json()


def check_between(value, a, b, slack, what):
    low, high = sorted((a, b))
    check(low - slack <= value <= high + slack, f"{what}: node {low}..{high}, ebeam {value}")


def settle(node):
    """Whatever the first answers load and make is there."""
    for function in ("memory", "areas", "allocators"):
        node.ask("mem_facts", function)


def settled_node(ctx, *flags):
    """A new node in which the overhead of ETS can be known.  Without a symbol for it (OTP 29) it is
    found by its value: not in a node in which another counter beside it has nearly the same."""
    for _ in range(3):
        node = ctx.new_node(flags=flags)
        settle(node)
        if read(ctx, node)["data"]["areas"]["ets_misc"] is not None:
            return node
        node.close()
    raise AssertionError("three nodes, and in none the overhead of ETS was found")


def watch(ctx, node):
    """What the node noted itself meanwhile, and three answers of ebeam."""
    node.ask("mem_facts", "watch")
    time.sleep(0.5)
    mine = []
    for _ in range(3):
        mine.append(read(ctx, node))
        time.sleep(0.07)
    time.sleep(0.2)
    return node.ask("mem_facts", "watched")[:7], mine


def sizes_of(seen, data):
    """Which sizes are equal; those that move must be about as large."""
    for field, slack in MOVING.items():
        reported = [s["memory"][field] for s in seen]
        check_between(data[field], min(reported), max(reported), slack, field)
    check_equal(data["total"], data["processes"] + data["system"], "total")
    check(data["processes_used"] <= data["processes"], "processes_used > processes")
    return {field for field in STILL if data[field] in [s["memory"][field] for s in seen]}


def instances_of(seen, data):
    """Which instances are equal in every field."""
    rows = {(r["type"], r["instance"]): r for r in data["allocators"]}
    check_equal(len(rows), len(data["allocators"]), "instances listed twice")
    equal = set()
    for key in rows:
        check_row(rows[key])
    for reported in seen:
        theirs = {(r["type"], r["instance"]): r for r in reported["allocators"]}
        check_equal(sorted(rows), sorted(theirs), "instances")
        equal |= {key for key, r in theirs.items() if {k: rows[key][k] for k in r} == r}
    for key, row in rows.items():
        if key[0] in TOUCHED:
            reported = [a for s in seen for a in s["allocators"]
                    if (a["type"], a["instance"]) == key]
            for field in ("blocks_size", "carriers_size"):
                check_between(row[field], min(a[field] for a in reported), max(a[field] for a in reported),
                              ANSWERS, f"{key}: {field}")
    return set(rows), equal


def check_row(row):
    name = f"{row['type']} {row['instance']}"
    for field in COUNTS:
        check_equal(row[field], sum(row[kind][field] for kind in KINDS), f"{name}: {field}")
    check_equal(row["wasted"], max(0, row["carriers_size"] - row["blocks_size"]), name)
    ratio = row["blocks_size"] / row["carriers_size"] if row["carriers_size"] else 1
    check(abs(row["utilization"] - ratio) < 1e-6, f"{name}: utilization")


def compare_areas(ctx, node):
    areas = node.ask("mem_facts", "areas")
    data = read(ctx, node)["data"]
    for field in STILL_AREAS:
        check_equal(data["areas"][field], areas[field], f"areas: {field}")
    check_equal(data["areas"]["fun_list"], areas.get("fun_list", 0), "areas: fun_list")
    return len(STILL_AREAS) + 1


def compare(ctx, node):
    """All sizes and instances; text of how many values were equal."""
    areas, sizes, equal = compare_areas(ctx, node), set(), set()
    for _ in range(ROUNDS):
        seen, mine = watch(ctx, node)
        for answer in mine:
            check_equal(answer["warnings"], [], "warnings")
            sizes |= sizes_of(seen, answer["data"])
            rows, same = instances_of(seen, answer["data"])
            equal |= same
        wanted = {key for key in rows if key[0] not in TOUCHED}
        if sizes == set(STILL) and wanted <= equal:
            break
    check_equal(sizes, set(STILL), "sizes that were equal")
    check_equal(sorted(wanted - equal), [], "instances that were never equal")
    return (f"{len(sizes) + areas} sizes and {len(equal)} of {len(rows)} instances equal "
            f"({len(COUNTS) * (1 + len(KINDS))} values each)")


@case("every size of memory/0 and allocated_areas, every instance of every allocator")
def sizes(ctx):
    node = settled_node(ctx, "+S", "3:3")
    node.ask("mem_facts", "hold", 20, 5000)
    print(f"    {compare(ctx, node)}")


@case("binaries, tables and atoms that come and go are counted as what they are")
def what_they_are(ctx):
    node = settled_node(ctx, "+S", "3:3")
    before = read(ctx, node)["data"]
    node.ask("mem_facts", "hold", 50, 20000)
    node.ask("mem_facts", "atoms", 10000)
    held = read(ctx, node)["data"]
    reported = compare(ctx, node)
    check_between(held["binary"] - before["binary"], 50 * 100000, 50 * 100000, 200000, "binary")
    check(held["ets"] - before["ets"] > 20000 * 10 * 16, f"ets: {before['ets']} -> {held['ets']}")
    check(held["atom_used"] - before["atom_used"] > 10000 * len("mem_atom_1"), "atom_used")
    node.ask("mem_facts", "release")
    after = read(ctx, node)["data"]
    check_between(after["binary"], before["binary"], before["binary"], 200000, "binary, released")
    check(after["ets"] < held["ets"] - 20000 * 10 * 16, "ets, released")
    print(f"    {reported}")


@case("other choices of allocators: one shared instance, no migration, dirty instances")
def settings(ctx):
    for flags in (("+Mut", "false"), ("+Mumbcgs", "1", "+MBacul", "0", "+MFacul", "0"),
                  ("+Mdai", "2")):
        node = settled_node(ctx, "+S", "2:2", *flags)
        print(f"    {' '.join(flags)}: {compare(ctx, node)}")
        node.close()


@case("text: sizes, shares and columns")
def text(ctx):
    node = ctx.node
    data = read(ctx, node)["data"]
    lines = ctx.ebeam.ok("mem", "-p", node.os_pid, "-n", "5", "-s", "carriers_size",
                         "-c", "type,instance,carriers_size").out.splitlines()
    check(lines[0].startswith("RSS") and lines[0].endswith("100.0%"), lines[0])
    check(any(line.startswith("total") and line.endswith("100.0%") for line in lines), "\n".join(lines))
    tables = [i for i, line in enumerate(lines) if line.startswith("ALLOCATOR")]
    types = {r["type"] for r in data["allocators"]}
    check_equal(len(tables), 2, "tables")
    check_equal({line.split()[0] for line in lines[tables[0] + 1:tables[1] - 1]}, types, "types")
    rows = lines[tables[1] + 1:]
    rows = rows[:rows.index("")] if "" in rows else rows  # what is large follows
    check_equal(len(rows), 5, "instances")
    most = max(data["allocators"], key=lambda r: r["carriers_size"])
    check_equal(lines[tables[1] + 1].split()[:2], [most["type"], str(most["instance"])], "first")
    ranked = [(r["type"], r["wasted"]) for r in read(ctx, node)["data"]["allocators"]]
    check_equal(ranked, sorted(ranked, key=lambda r: -r[1]), "most wasted first")
