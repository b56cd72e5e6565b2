# SPDX-License-Identifier: BSD-2-Clause
"""`ebeam proc`: processes in exact numbers, of known initial calls, parents and ends; counts are
equal."""
from answers import Watch, need_events
from harness import case, check, check_equal, check_in

SIDE_BY_SIDE = IN_TURN = True

WHY = ("{made_to_crash,<pid>,{a_call_of_a_server_that_did_not_answer_in_time,in_a_function_with_a_long_name,"
       "the_reason}}")


def by(data, table, key):
    return {r[key]: r for r in data[table]}


def counts(row):
    return tuple(row[k] for k in ("spawned", "exited", "crashed", "living"))


def check_lives(data, n):
    """What the answer says of happened("lives", n)."""
    rows = by(data, "rows", "group")
    check_equal(counts(rows["process_lives:worker/1"]), (n, n, 0, 0), "workers")
    check_equal(counts(rows["process_lives:crasher/1"]), (n, n, n, 0), "those that crash")
    check_equal(counts(rows["process_lives:of_proc_lib/1"]), (n, n, 0, 0), "those of proc_lib")
    check_equal(counts(rows["process_lives:stays/0"]), (n, 0, 0, n), "those that stay")
    check(rows["process_lives:worker/1"]["mean_lifetime_ns"] >= 20e6, "a worker waits for 20 ms")
    parent = by(data, "parents", "parent")["lives_parent"]
    check_equal(counts(parent), (4 * n, 3 * n, n, n), "their parent")
    check(not parent["restart_loop"], "that many crash is no loop")
    reasons = by(data, "reasons", "reason")
    crash = reasons["{crashed,<pid>,<ref>,N,[N,...]}"]
    check_equal((crash["exits"], crash["crash"]), (n, True), "crashes, merged")
    check_equal(parent["last_crash"], crash["reason"], "the last one")
    check_equal((reasons["{shutdown,<pid>}"]["exits"], reasons["{shutdown,<pid>}"]["crash"]),
                (n, False), "those of proc_lib")
    check_equal(sum(r["exits"] for r in data["reasons"]), data["exited"], "exits of all reasons")
    check_equal(sum(b["count"] for b in data["lifetime_ns"]["buckets"]),
                data["lifetime_ns"]["count"], "lifetimes")
    check_equal(data["spawned"] - data["living"], data["lifetime_ns"]["count"],
                "those that were seen from start to end")
    check_equal(by(data, "names", "name")["lives_parent"]["registered"], 1, "names")
    return 20


@case("lives: by initial call, parent and reason as many as there were; live and from a capture")
def lives(ctx):
    need_events(ctx)
    path = ctx.ebeam.file(".ebeam")
    compared = 0
    for n in (1, 50):
        recorder = Watch(ctx, ctx.node, "-o", path, command="proc", json_lines=False)
        answer = Watch(ctx, ctx.node, command="proc")
        ctx.node.ask("process_lives", "lives", n)
        compared += check_lives(answer.answer(), n)
        recorder.text()
        compared += check_lives(ctx.ebeam.ok("proc", "-i", path, "-j").json()["data"], n)
        ctx.node.ask("process_lives", "stop")
    print(f"{compared} counts compared")
    text = ctx.ebeam.ok("proc", "-i", path, "-n", "5", "-s", "crashed").out
    check("restart loop" not in text, text)
    for part in ("process_lives:crasher/1", "{crashed,<pid>",
                 "Parents", "lifetime"):
        check_in(part, text, "text")
    for group, name in (("function", "proc_lib:init_p/3"), ("name", "lives_parent")):
        rows = by(ctx.ebeam.ok("proc", "-i", path, "-j", "--by", group).json()["data"], "rows",
                  "group")
        check(any(r.startswith(name.split("/")[0]) for r in rows), f"--by {group}: {list(rows)}")


@case("a supervisor that restarts what crashes: seen as such, with the reason and the name")
def restarts(ctx):
    need_events(ctx)
    answer = Watch(ctx, ctx.node, command="proc")
    ctx.node.ask("process_lives", "restarts", 7)
    data = answer.answer()
    parent = by(data, "parents", "parent")["lives_supervisor"]
    check_equal(counts(parent), (8, 8, 7, 0), "children of the supervisor")
    check_equal((parent["restart_loop"], parent["last_crash"]), (True, WHY), "loop")
    rows = by(data, "rows", "group")
    check_equal(counts(rows["process_lives:init/1"])[:3], (8, 8, 7), "the gen_server")
    reasons = by(data, "reasons", "reason")
    check_equal(reasons[WHY]["exits"], 7, "reasons")
    names = by(data, "names", "name")
    check_equal((names["lives_child"]["registered"], names["lives_child"]["unregistered"]), (8, 8),
                "its name")
    # People who read it in a file get all of it.
    path = ctx.ebeam.file(".ebeam")
    recorder = Watch(ctx, ctx.node, "-o", path, command="proc", json_lines=False)
    ctx.node.ask("process_lives", "restarts", 7)
    recorder.text()
    text = ctx.ebeam.ok("proc", "-i", path).out
    check_in(f"7 of its processes crashed: {WHY}\n", text, "text")
    check(text.count(WHY) >= 3, f"in the tables, too: {text}")


@case("what piles up is reported; a second of starting hundreds that end is no storm")
def piles(ctx):
    need_events(ctx)
    path = ctx.ebeam.file(".ebeam")
    recorder = Watch(ctx, ctx.node, "-o", path, command="proc", json_lines=False)
    ctx.node.ask("process_lives", "lives", 200)
    ctx.node.ask("process_lives", "stop")
    ctx.node.ask("process_lives", "pile", 1200)
    recorder.text()
    ctx.node.ask("process_lives", "stop")
    data = ctx.ebeam.ok("proc", "-i", path, "-j").json()["data"]
    parents = by(data, "parents", "parent")
    check_equal(counts(parents["lives_pile"]), (1200, 0, 0, 1200), "the pile")
    alarms = ("restart_loop", "spawn_storm", "piles_up")
    check_equal(tuple(parents["lives_pile"][k] for k in alarms), (False, False, True), "the pile")
    check_equal(tuple(parents["lives_parent"][k] for k in alarms), (False, False, False), "others")
    text = ctx.ebeam.ok("proc", "-i", path).out
    check_in("! processes pile up: lives_pile started 1,200", text, "text")
    check("spawn storm" not in text, text)
    args = ("proc", "-i", path, "-s", "-crashed")
    rows = ctx.ebeam.ok(*args, "-j").json()["data"]["rows"]
    check_equal([r["crashed"] for r in rows], sorted(r["crashed"] for r in rows), "ascending")
    check_equal(ctx.ebeam.ok(*args, "-j", "-n", "2").json()["data"]["rows"], rows[:2], "-n after -s")
    check_in(f"(1 of {len(rows)}; -n shows more)", ctx.ebeam.ok(*args, "-n", "1").out, "the rest")


@case("links and names: as many as there were")
def links(ctx):
    need_events(ctx)
    answer = Watch(ctx, ctx.node, "-e", "process_link,process_unlink", command="proc")
    ctx.node.ask("happenings", "links", 30)
    data = answer.answer()
    check(data["links"] >= 60 and data["unlinks"] >= 30, f"{data}")
    check_equal(data["spawned"], 0, "what was not asked for")
    answer = Watch(ctx, ctx.node, command="proc")
    ctx.node.ask("happenings", "names", 20)
    names = by(answer.answer(), "names", "name")
    check_equal([(n["registered"], n["unregistered"]) for name, n in names.items()
                 if name.startswith("happening_")], [(1, 1)] * 21, "names")


@case("--watch: answers add up, who lives on is not forgotten")
def watch(ctx):
    need_events(ctx)
    answer = Watch(ctx, ctx.node, "--watch", "200ms", command="proc")
    for _ in range(3):
        ctx.node.ask("process_lives", "lives", 10)
        ctx.node.ask("process_lives", "stop")
    rows = [by(a["data"], "rows", "group") for a in answer.answers()]
    for group in ("worker/1", "crasher/1", "of_proc_lib/1", "stays/0"):
        own = [r[f"process_lives:{group}"] for r in rows if f"process_lives:{group}" in r]
        check_equal((sum(r["exited"] for r in own), own[-1]["living"]), (30, 0), group)
        # One of proc_lib may have been reported under what it was spawned with in an answer before.
        if group != "of_proc_lib/1":
            check_equal(sum(r["spawned"] for r in own), 30, group)


@case("what cannot be: kinds that are none of processes, groups that there are not", otp="one")
def usage(ctx):
    for args, text in ((("-e", "gc", "-d", "1"), "process_spawn"),
                       (("-s", "nothing", "-d", "1"), "nothing"),
                       (("-j", "-c", "nothing", "-i", "x.ebeam"), "nothing"),
                       (("--by", "pair", "-d", "1"), "name, process, initial-call, function"),
                       (("-i", "x.ebeam", "--watch", "1"), "cannot be combined with -p, -d or --watch")):
        result = ctx.ebeam.run("proc", *args)
        check_equal(result.code, 2, str(result))
        check_in(text, result.err, str(args))
