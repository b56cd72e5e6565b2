# SPDX-License-Identifier: BSD-2-Clause
"""ETS: `ebeam ets` says of every table what ets:info/1,2 says, and shows the objects that
ets:tab2list/1 returns; while tables come and go too."""
import collections
import time

from harness import case, check, check_equal, check_in

SIDE_BY_SIDE = True

FLAGS = ("+S", "3:3")


def tables(ctx, node, *args):
    return ctx.ebeam.ok("ets", "-p", node.os_pid, "-j", *args).json()


def keeper(ctx, **kwargs):
    node = ctx.new_node(**{"flags": FLAGS, **kwargs})
    node.start("ets_tables", "keep")
    return node


def truth(node):
    return {t["id"]: t for t in node.ask("ets_tables", "facts")}


def compare_all(ctx, node):
    """Every field of every table of a node at rest; how many were compared."""
    truth(node)  # what the node loads for its answer it has now
    before = truth(node)
    answer = tables(ctx, node)
    after = truth(node)
    rows = {row["id"]: row for row in answer["data"]}
    check_equal(before, after, "the node is not at rest")
    check_equal(sorted(rows), sorted(before), "ids")
    check_equal(len(rows), len(answer["data"]), "tables listed twice")
    compared = 0
    for id, expected in before.items():
        for field, value in expected.items():
            check_equal(rows[id][field], value, f"{expected['name']} {id}: {field}")
            compared += 1
    counters = answer["counters"]
    check_equal(counters["tables_counted"], len(rows), "tables that the schedulers count")
    check_equal((counters["torn"], counters["vanished"], counters["lists_truncated"]), (0, 0, 0),
                "counters of a node at rest")
    check_equal([r["memory"] for r in answer["data"]],
                sorted((r["memory"] for r in rows.values()), reverse=True), "order")
    check(all("torn" not in r for r in rows.values()), "torn tables in a node at rest")
    return compared, before


def best(ctx):
    """Most that write_concurrency can be."""
    return "auto" if ctx.release >= 25 else "true"


@case("tables of every kind and option: every field of every table")
def every_field(ctx):
    node = keeper(ctx)
    compared, facts = compare_all(ctx, node)
    names = {t["name"] for t in facts.values()}
    for name in (f"ets_set_public_true_{best(ctx)}_true", "ets_ordered_set_private_false_true_false",
                 "ets_fixed", "ets_heir", "logger", "ets_split"):
        check_in(name, names, "tables of the node")
    check("ets_deleted" not in names, "a deleted table")
    print(f"    {len(facts)} tables, {compared} fields compared")


@case("one scheduler: no table is locked")
def one_scheduler(ctx):
    compared, facts = compare_all(ctx, keeper(ctx, flags=("+S", "1:1")))
    print(f"    {len(facts)} tables, {compared} fields compared")


@case("more schedulers than groups of decentralized counters")
def counter_groups(ctx):
    compared, facts = compare_all(ctx, keeper(ctx, flags=("+S", "8:8", "+dcg2")))
    print(f"    {len(facts)} tables, {compared} fields compared")


def objects_of(ctx, node, name, limit=100000, *args):
    answer = tables(ctx, node, name, "-n", limit, "--size", "1000000", *args)
    check_equal(len(answer["data"]), 1, "tables in the answer")
    check_equal(answer["counters"]["objects_torn"], 0, "objects_torn")
    return answer["data"][0]


@case("objects: all of a table are those of ets:tab2list/1, ordered sets in order")
def objects(ctx):
    node = keeper(ctx)
    compared = 0
    for name in ("ets_set_public_false_false_false", "ets_bag_public_true_true_true",
                 f"ets_duplicate_bag_protected_false_{best(ctx)}_true", "ets_large", "ets_large_bag",
                 "ets_shrunk", "ets_fixed", "ets_empty", "ets_keypos", "ets_terms",
                 "Elixir.Ets.Alias"):
        expected = node.ask("ets_tables", "objects", name)
        row = objects_of(ctx, node, name)
        check_equal(collections.Counter(row["objects"]), collections.Counter(expected), name)
        check_equal(row["size"], len(expected), f"{name}: size")
        compared += len(expected)
    for name in ("ets_ordered_set_public_false_false_true", "ets_large_ordered",
                 "ets_ordered_set_protected_true_true_false", "ets_split"):
        expected = node.ask("ets_tables", "objects", name)
        check_equal(objects_of(ctx, node, name)["objects"], expected, name)
        check_equal(objects_of(ctx, node, name, 7)["objects"], expected[:7], f"{name}, 7 of them")
        compared += len(expected)
    print(f"    {compared} objects compared")


@case("objects of compressed tables: keys, and what a word holds")
def compressed(ctx):
    node = keeper(ctx)
    for kind in ("set", "bag", "duplicate_bag", "ordered_set"):
        name = f"ets_compressed_{kind}"
        expected = node.ask("ets_tables", "compressed", name)
        shown = objects_of(ctx, node, name)["objects"]
        check_equal(collections.Counter(shown), collections.Counter(expected), name)
        check(any("..." in text for text in shown), "nothing is compressed")
    check_in("compressed", ctx.ebeam.ok("ets", "-p", node.os_pid, name).out, "said so")


@case("a table that is fixed: by whom, and how often")
def fixed(ctx):
    node = keeper(ctx)
    expected = node.ask("ets_tables", "fixed_by", "ets_fixed")
    check_equal(len(expected), 11, "processes that fixed it")
    shown = objects_of(ctx, node, "ets_fixed")["fixed_by"]
    check_equal({f["pid"]: f["count"] for f in shown}, expected, "fixed_by")
    check_equal(objects_of(ctx, node, "ets_large")["fixed_by"], [], "fixed_by of another")
    text = ctx.ebeam.ok("ets", "-p", node.os_pid, "ets_fixed").out
    for pid in expected:
        check_in(pid, text, "said so")


@case("objects of private tables, by id and by Elixir's name; as Elixir writes them")
def how_named(ctx):
    node = keeper(ctx)
    facts = truth(node).values()
    unnamed = next(t for t in facts if t["name"] == "ets_unnamed")
    for what in (unnamed["id"], unnamed["id"][5:-1], "ets_unnamed"):
        row = objects_of(ctx, node, what)
        check_equal(row["id"], unnamed["id"], what)
        check_equal(len(row["objects"]), 3, what)
    check_equal(objects_of(ctx, node, "Ets.Alias")["name"], "Elixir.Ets.Alias", "Ets.Alias")
    check_equal(len(objects_of(ctx, node, "ets_set_private_false_false_false")["objects"]), 20,
                "objects of a private table")
    check_in("\nEts.Alias ", ctx.ebeam.ok("ets", "-p", node.os_pid).out, "a name of Elixir's")
    check_equal(objects_of(ctx, node, "Ets.Alias")["name"], "Elixir.Ets.Alias", "its name in JSON")
    shown = objects_of(ctx, node, "ets_unnamed", 100, "--elixir")["objects"]
    check_in('{1, {:value, "1"}, [1, 1]}', shown, "--elixir")
    twice = ctx.ebeam.run("ets", "-p", node.os_pid, "ets_twice")
    check_equal(twice.code, 1, str(twice))
    for t in facts:
        if t["name"] == "ets_twice":
            check_in(t["id"], twice.err, "both are named")
    nothing = ctx.ebeam.run("ets", "-p", node.os_pid, "ets_deleted")
    check_equal(nothing.code, 1, str(nothing))
    check_in("ets_deleted", nothing.err, "text of the refusal")


@case("a table for people: details, ten objects; contents only of a named table", otp="one")
def for_people(ctx):
    node = keeper(ctx)
    text = ctx.ebeam.ok("ets", "-p", node.os_pid, "ets_large").out
    check_in("50,000", text, "size")
    check_in("10 of 50,000 objects", text, "sample")
    check_equal(text.count("{value,<<"), 10, "objects shown")
    listed = ctx.ebeam.ok("ets", "-p", node.os_pid)
    check("{value," not in listed.out, "contents in the list of all tables")
    check_in("ets_large", listed.out.splitlines()[1], "the largest one first")
    check_in("tables, ", listed.err, "totals")
    some = ctx.ebeam.ok("ets", "-p", node.os_pid, "-n", "3", "-s", "size", "-c", "name,size").out
    check_equal([line.split() for line in some.splitlines()],
                [["NAME", "OBJECTS"], ["ets_large", "50,000"], ["ets_large_ordered", "20,000"],
                 ["ets_large_bag", "5,000"]], "-n -s -c")
    for args in (("-s", "mood"), ("-c", "name,mood"), ("a", "b"), ("ets_large", "-s", "name")):
        check_equal(ctx.ebeam.run("ets", "-p", node.os_pid, *args).code, 2, str(args))


@case("tables that come and go: the others are all there, nothing is nonsense", alone=True)
def churn(ctx):
    node = keeper(ctx)
    truth(node)
    kept = truth(node)
    node.start("ets_tables", "churn", "6")
    deadline = time.monotonic() + 3
    runs, rows, counters = 0, 0, collections.Counter()
    while time.monotonic() < deadline:
        answer = tables(ctx, node)
        data = {row["id"]: row for row in answer["data"]}
        check_equal(len(data), len(answer["data"]), "tables listed twice")
        counters.update(answer["counters"])
        if not answer["counters"]["lists_truncated"]:
            missing = {t["name"] for id, t in kept.items() if id not in data}
            check(not missing, f"missing: {missing}")
        for id, row in data.items():
            if id in kept:
                for field in ("name", "type", "keypos", "owner", "named_table", "heir"):
                    check_equal(row[field], kept[id][field], f"{kept[id]['name']}: {field}")
                if row["name"].startswith("ets_") and "torn" not in row:
                    check_equal(row["size"], kept[id]["size"], f"{row['name']}: size")
            else:
                check_equal(row["name"], "ets_churn", "name of a table that came")
                check("torn" in row or row["size"] <= 20, f"size of {row}")
        rows += len(data)
        runs += 1
    made = node.stop("ets_tables")["tables"]
    print(f"    {made} tables made and deleted; {runs} runs, {rows} rows; {dict(counters)}")
    check(runs >= 3, f"only {runs} runs")


@case("objects of a table that is written to: only whole ones are shown", alone=True)
def written_to(ctx):
    node = keeper(ctx)
    with ctx.workload("ets_heavy", node=node):
        names = [t["name"] for t in tables(ctx, node)["data"]]
        busy = [n for n in names if not n.startswith("ets_") or n == "ets_heavy"]
        for name in busy:
            result = ctx.ebeam.run("ets", "-p", node.os_pid, "-j", name, "-n", "500")
            check(result.code in (0, 1), str(result))
            if result.code == 0:
                for text in result.json()["data"][0]["objects"]:
                    check(text.startswith("{") and text.endswith(("}", "...")), text)
