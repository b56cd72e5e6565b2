# SPDX-License-Identifier: BSD-2-Clause
"""`ebeam gc`: as many collections as the node made, added up as its events say."""
import json
import time

from cases_events import Watch, need_events, of
from harness import case, check, check_equal, check_in

SIDE_BY_SIDE = True
IN_TURN = True

ENDS = ("gc_minor_end", "gc_major_end")


def group_of(data, name):
    found = [g for g in data["rows"] if g["group"] == name]
    check_equal(len(found), 1, f"groups {name} of {[g['group'] for g in data['rows']]}")
    return found[0]


def check_sums(data):
    """What must hold of any answer."""
    for field in ("minor", "major", "dirty", "minor_continued", "total_ns", "reclaimed",
                  "reclaimed_unknown"):
        check_equal(sum(g[field] for g in data["rows"]), data["totals"][field],
                    f"sum of {field} of all groups")
    pauses = sum(h["sum"] for h in data["pauses"].values())
    check_equal(pauses, data["totals"]["total_ns"], "sum of the histograms")
    t = data["totals"]
    check_equal(sum(h["count"] for h in data["pauses"].values()) + t["minor_continued"],
                t["minor"] + t["major"], "pauses, and collections without one of their own")
    for name, h in data["pauses"].items():
        check_equal(sum(b["count"] for b in h["buckets"]), h["count"], f"buckets of {name}")


@case("as many as were asked for, by process and by name; words of what was dropped")
def counts(ctx):
    need_events(ctx)
    by_process = Watch(ctx, ctx.node, "--by", "process", command="gc")
    by_name = Watch(ctx, ctx.node, command="gc")
    truth = ctx.node.ask("views", "collect", 50)
    for watch, name in ((by_process, truth["pid"]), (by_name, "views_collector")):
        data = watch.answer()
        check_sums(data)
        g = group_of(data, name)
        check_equal((g["minor"], g["major"], g["dirty"]), (truth["minor"], truth["major"], 0), name)
        check_equal(data["share_seen"], 1, "share seen")
        # Each drops a list of 100 elements, of two words each.
        check(20000 <= g["reclaimed"] <= 20100, f"{g['reclaimed']} words reclaimed")
        # One on each scheduler may have begun before the probes were there.
        check(100 <= truth["number"] <= data["totals"]["minor"] + data["totals"]["major"] + 2,
              f"{truth['number']} of the node <= {data['totals']} + 2")
        check(g["heap"] >= 20000 and g["max_heap"] >= g["heap"] + g["old_heap"] > 0, f"heap: {g}")
        check(0 < g["mean_ns"] <= g["max_ns"] <= g["total_ns"], f"times: {g}")


@case("as many as erlang:trace tells of, dirty ones too")
def traced(ctx):
    need_events(ctx)
    watch = Watch(ctx, ctx.node, "--by", "process", command="gc")
    truth = ctx.node.ask("happenings", "collections", 20)
    data = watch.answer()
    check_sums(data)
    g = group_of(data, truth["pid"])
    ends = [of(truth["events"], kind) for kind in ENDS]
    check_equal([g["minor"], g["major"]], [len(e) for e in ends], "minor and major ones")
    last = [e for e in truth["events"] if e["kind"] in ENDS][-1]
    check_equal((g["heap"], g["old_heap"]), (last["heap"], last["old_heap"]), "the heap after")
    check_equal(g["heap_after"], last["heap"] + last["old_heap"], "both together")
    check_equal(data["share_seen"], 1, "share seen")
    largest = max(e["heap"] + e["old_heap"] for e in truth["events"] if e["kind"] in ENDS)
    check_equal(g["max_heap"], largest, "the largest heap")
    check(g["dirty"] >= 3, f"dirty ones: {g}")
    print(f"{g['minor']} minor, {g['major']} major collections, {g['dirty']} of them dirty")


@case("the function that ran into it")
def functions(ctx):
    need_events(ctx)
    watch = Watch(ctx, ctx.node, "--by", "function", command="gc")
    ctx.node.ask("views", "fill", 200)
    data = watch.answer()
    check_sums(data)
    check_equal(data["by"], "function", "by")
    g = group_of(data, "views:filled/2")
    check(g["minor"] + g["major"] >= 200, f"collections in views:filled/2: {g}")


@case("a capture: the sums are those of its events, by whatever they are grouped")
def capture(ctx):
    need_events(ctx)
    path = ctx.ebeam.file(".ebeam")
    recorder = Watch(ctx, ctx.node, "-e", "gc", "--stack", "-o", path)
    pids = {ctx.node.ask("happenings", "collections", 10)["pid"],
            ctx.node.ask("views", "fill", 20)["pid"]}
    recorder.end()
    events = [json.loads(line) for line in
              ctx.ebeam.ok("events", "-i", path, "-j", "--stack").out.splitlines()]
    ends = [e for e in events if e["kind"] in ENDS]
    check(len(ends) > 50, f"{len(ends)} collections")
    went_over = [e for e in ends if e["kind"] == ENDS[0] and e["duration_ns"] is None]
    check(all(e["stack"] for e in went_over), f"minor ones that went over have a stack: {went_over}")

    def expected(chosen):
        return {"minor": len(of(chosen, ENDS[0])), "major": len(of(chosen, ENDS[1])),
                "total_ns": sum(e["duration_ns"] or 0 for e in chosen),
                "reclaimed": sum(e["reclaimed"] or 0 for e in chosen)}

    def name(e):
        return e["registered_name"] or e["label"]
    compared = {"process": set(), "name": set()}
    for by, key in (("process", lambda e: e["pid"]), ("name", name),
                    ("initial-call", None), ("function", None)):
        data = ctx.ebeam.ok("gc", "-i", path, "-j", "--by", by).json()["data"]
        check_sums(data)
        totals = expected(ends)
        check_equal({k: data["totals"][k] for k in totals}, totals, f"totals by {by}")
        rows = [g["group"] for g in data["rows"]]
        check_equal(len(rows), len(set(rows)), f"rows by {by}, each once: {rows}")
        for g in data["rows"] if key else ():
            mine = [e for e in ends if key(e) == g["group"]]
            if mine:
                wanted = expected(mine)
                check_equal({k: g[k] for k in wanted}, wanted, f"{by} {g['group']}")
                compared[by].add(g["group"])
    check(pids <= compared["process"], f"{pids} in {compared['process']}")
    # Those two have no name, so rows by name have their initial calls; who else collects is up to
    # the node.
    check_equal(compared["name"], {name(e) for e in ends} - {None}, "names compared")
    limit = sorted(e["duration_ns"] or 0 for e in ends)[len(ends) // 2]
    data = ctx.ebeam.ok("gc", "-i", path, "-j", "--longer-than", f"{limit // 1000}us").json()["data"]
    longer = [e for e in ends if (e["duration_ns"] or 0) > limit // 1000 * 1000]
    check_equal({k: data["totals"][k] for k in totals}, expected(longer), "only longer ones")
    text = ctx.ebeam.ok("gc", "-i", path).out
    for word in ("collections", "minor", "major", "p99", "WHOSE"):
        check_in(word, text, "text")
    print(f"{len(went_over)} minor ones went over into major ones")
    print(f"{compared} compared, {len(longer)} of {len(ends)} longer than {limit} ns")


@case("--longer-than: shorter ones are not even reported")
def longer_than(ctx):
    need_events(ctx)
    all_of_them = Watch(ctx, ctx.node, command="gc")
    watch = Watch(ctx, ctx.node, "--longer-than", "100us", "--by", "process", command="gc")
    truth = ctx.node.ask("happenings", "collections", 50)
    answer = watch.answers()[0]
    data = answer["data"]
    check_sums(data)
    check(all(h["count"] == 0 or h["min"] > 100000 for h in data["pauses"].values()),
          f"pauses: {data['pauses']}")
    shown = data["totals"]["minor"] + data["totals"]["major"]
    # Of a minor one that became a major one both are reported, of which the first takes no time.
    check(shown <= answer["counters"]["events"] <= 2 * shown, f"{answer['counters']}, {shown} shown")
    everything = all_of_them.answer()["totals"]
    check(0 < shown < everything["minor"] + everything["major"], f"{shown} of {everything}")
    check(group_of(data, truth["pid"])["dirty"] >= 1, "dirty ones of a large heap")


@case("at the default budget: the share of the time is what microstate accounting says", otp="one",
      timeout=240, in_pairs=True, long=True)
def sampled_time(ctx):
    need_events(ctx)
    node = ctx.new_node()
    for rest in (0, 20):
        watch = Watch(ctx, node, "--max-overhead", "1", command="gc")
        truth = node.ask("views", "litter", 10000, rest)["percent"]
        data = watch.answers(sampled=True)[0]["data"]
        t = data["totals"]
        # With pauses, and little CPU beside other cases, the budget may be enough for all of it.
        check(rest or data["share_seen"] < 0.5, f"sampled: {data['share_seen']}")
        part = t["error_ns"] / t["total_ns"]
        shown, error = t["scheduler_percent"], t["scheduler_percent"] * part
        print(f"{shown:.2f} +- {error:.2f} % shown, {truth:.2f} % by the node")
        # Twice the interval, as that is one of 95 %; ebeam begins a moment before the load, and ends
        # a moment after it.
        check(abs(shown - truth) <= 2 * error + 0.08 * truth, f"{shown} +- {error}, {truth}")
        check(error <= (0.4 if rest else 0.15) * shown, f"{shown} +- {error}")
        rows = sum(row["total_ns"] for row in data["rows"])
        check(abs(rows - t["total_ns"]) <= 1e-6 * rows + len(data["rows"]), f"{rows} of {t}")
        check(all(row["mean_ns"] <= row["max_ns"] for row in data["rows"]), f"{data['rows']}")


@case("--watch: an answer for each interval, nothing twice, nothing forgotten")
def watching(ctx):
    need_events(ctx)
    watch = Watch(ctx, ctx.node, "--by", "process", "--watch", "200ms", command="gc")
    truth = ctx.node.ask("happenings", "collections", 20)
    ctx.node.ask("views", "fill", 2000)
    time.sleep(0.5)  # two intervals
    answers = watch.answers()
    check_equal(len(answers), len(watch.out.decode().splitlines()), "one answer a line")
    check(len(answers) >= 2, "answers")
    own = [g for a in answers for g in a["data"]["rows"] if g["group"] == truth["pid"]]
    for kind, field in zip(ENDS, ("minor", "major")):
        check_equal(sum(g[field] for g in own), len(of(truth["events"], kind)), kind)


@case("what it does not take")
def usage(ctx):
    for args, text in ((("--by", "scheduler"), "one of name, process"),
                       (("-s", "nonsense"), "nonsense"), (("--longer-than", "long"), "time")):
        result = ctx.ebeam.run("gc", "-p", ctx.node.os_pid, "-d", "1", *args)
        check_equal(result.code, 2, str(result))
        check_in(text, result.err, "what it says")
    result = ctx.ebeam.run("gc", "-p", ctx.node.os_pid, "-n", "3")
    check_equal(result.code, 2, f"no end in sight: {result}")


def node_wide(watch):
    """What the whole node took part in: all of it was seen, and has ended."""
    wide = watch.answer()["node_wide"]
    check_equal(wide["share_seen"], 1, "share seen")
    for work in ("literal_areas", "code_purges", "multi_scheduling_blocks"):
        check_equal(wide[work]["under_way_ns"], 0, f"under way: {work}")
        check(wide[work]["max_ns"] <= wide[work]["total_ns"], f"times: {wide[work]}")
    return wide


@case("purges of code and literal areas: as many as the node made, and whose")
def purges(ctx):
    need_events(ctx)
    node = ctx.new_node()
    path = ctx.ebeam.file(".ebeam")
    watch = Watch(ctx, node, command="gc")
    recorder = Watch(ctx, node, "-o", path, command="gc")
    truth = node.ask("node_wide", "purge", 20)
    recorder.end()
    check_in(" and 17 more (17)", ctx.ebeam.ok("gc", "-i", path).out, "who asked, all of them")
    wide = node_wide(watch)
    work = wide["code_purges"]
    check_equal((truth["purges"], work["count"]), (20, 20), "purges")
    check_equal({a["what"]: a["count"] for a in work["asked_by"]},
                {m: 1 for m in truth["modules"]}, "what was purged")
    check(0 < work["total_ns"] <= truth["took_ns"], f"{work['total_ns']} of {truth['took_ns']}")
    # Each module has one area, as it has literals.
    check_equal(wide["literal_areas"]["count"], 20, "literal areas")
    check_equal({a["what"]: a["count"] for a in wide["literal_areas"]["asked_by"]},
                {f"purge of {m}": 1 for m in truth["modules"]}, "whose areas")
    check_equal(wide["multi_scheduling_blocks"]["count"], 0, "blocked")


@case("persistent terms that are replaced: a literal area for each, and who did it")
def persistent_terms(ctx):
    need_events(ctx)
    node = ctx.new_node()
    path = ctx.ebeam.file(".ebeam")
    watch = Watch(ctx, node, command="gc")
    recorder = Watch(ctx, node, "-o", path, command="gc")
    truth = node.ask("node_wide", "terms", 50)
    recorder.end()
    of_capture = ctx.ebeam.ok("gc", "-i", path, "-j").json()["data"]["node_wide"]
    check_in(f"of the key {truth['key']} in node_wide:", ctx.ebeam.ok("gc", "-i", path).out, "text")
    for wide in (node_wide(watch), of_capture):
        areas = wide["literal_areas"]
        check_equal(areas["count"], truth["areas"], "literal areas")
        check(areas["total_ns"] > 0, f"times: {areas}")
        asked = {a["what"]: (a["count"], a["pid"]) for a in areas["asked_by"]
                 if a["what"] != "persistent_term:put/2"}
        check_equal(asked, {"persistent_term:erase/1": (1, truth["pid"])}, "who erased")
        puts = [a for a in areas["asked_by"] if a["what"] == "persistent_term:put/2"]
        check_equal(sum(a["count"] for a in puts), truth["puts"], "calls that replaced it")
        check_equal({a["pid"] for a in puts}, {truth["pid"]}, "who called")
        check(all(a["function"].startswith("node_wide:") for a in puts), f"from where: {puts}")
        check_equal({a["key"] for a in areas["asked_by"]}, {truth["key"]}, "which keys")
        check(areas["per_s"] > 0, f"rate: {areas}")
        check_equal(wide["code_purges"]["count"], 0, "purges")


@case("blocked schedulers: how often, how long, by whom")
def blocked(ctx):
    need_events(ctx)
    node = ctx.new_node()
    watch = Watch(ctx, node, command="gc")
    truth = node.ask("node_wide", "block", 5, 40)
    work = node_wide(watch)["multi_scheduling_blocks"]
    check_equal(work["count"], truth["blocks"], "blocks")
    check(truth["least_ns"] <= work["total_ns"] <= truth["most_ns"],
          f"{truth['least_ns']} <= {work['total_ns']} <= {truth['most_ns']}")
    check(work["max_ns"] >= truth["longest_ns"], f"longest: {work['max_ns']}, {truth}")
    check_equal([(a["what"], a["pid"], a["function"], a["count"]) for a in work["asked_by"]],
                [("block", truth["pid"], "node_wide:block_once/1", truth["blocks"])], "who")


@case("blocked schedulers: until the process that did it ended")
def blocker_ended(ctx):
    need_events(ctx)
    node = ctx.new_node()
    watch = Watch(ctx, node, command="gc")
    truth = node.ask("node_wide", "leave", 200)
    time.sleep(3)  # it is looked for 20 times a second, if ebeam gets a CPU
    work = node_wide(watch)["multi_scheduling_blocks"]
    check_equal((work["count"], work["asked_by"][0]["pid"]), (1, truth["pid"]), "block, who")
    check(work["total_ns"] >= truth["least_ns"], f"{work['total_ns']} >= {truth['least_ns']}")


@case("work of the whole node: a table if there was any, or with -v")
def node_wide_text(ctx):
    need_events(ctx)
    node = ctx.new_node()
    nothing, block = ctx.ebeam.file("1.ebeam"), ctx.ebeam.file("2.ebeam")
    Watch(ctx, node, "-o", nothing, command="gc").end()
    watch = Watch(ctx, node, "-o", block, command="gc")
    node.ask("node_wide", "block", 1, 20)
    watch.end()
    check("WHOLE NODE" not in ctx.ebeam.ok("gc", "-i", nothing).out, "a table of nothing")
    check_in("multi-scheduling blocked", ctx.ebeam.ok("gc", "-i", nothing, "-v").out, "-v")
    text = ctx.ebeam.ok("gc", "-i", block).out
    check_in("multi-scheduling blocked", text, "table")
    check_in("block in node_wide:block_once/1 of <", text, "who")
    check("code purge" not in text, f"what did not happen: {text}")
    pauses = ctx.ebeam.ok("gc", "-p", node.os_pid, "-d", "0.2", "-j", "--longer-than", "5ms")
    check_equal(pauses.json()["data"]["node_wide"], None, "not of long pauses")
