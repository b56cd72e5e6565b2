# SPDX-License-Identifier: BSD-2-Clause
"""`ebeam events --count`: the probes count; what they count is what the node did, and what the records
of the same time say."""
import json
import re
import time
from collections import Counter

from answers import Watch, gives, need_events
from harness import case, check, check_equal, check_in

SIDE_BY_SIDE = IN_TURN = True

KINDS = ("process_spawn,process_exit,process_link,process_unlink,process_register,process_unregister,"
         "process_hibernate,message_send,message_queued,message_receive,gc,port_open,port_exit,"
         "port_command,port_control,port_link,port_unlink,signal,heap")
HAPPENINGS = (("messages", 300, 20), ("aliases", 30), ("spawns", 20), ("names", 40), ("links", 30),
              ("collections", 10), ("hibernations", 10), ("ports", 5))


class Count(Watch):
    def __init__(self, ctx, node, *args):
        super().__init__(ctx, node, "--count", *args)

    def data(self):
        self.end()
        check_equal(self.process.returncode, 0, f"exit code; {self.err}")
        return json.loads(self.out)["data"]

    def rows(self):
        return {r["event"]: r for r in self.data()["rows"]}

    def counts(self):
        return {kind: r["seen"] for kind, r in self.rows().items() if r["state"] != "missing"}


def of_span(events, data):
    """How many of each kind happened while the probes counted."""
    end_ns = data["start_ns"] + data["duration_ns"]
    return Counter(e["kind"] for e in events if data["start_ns"] <= e["ts_ns"] <= end_ns)


@case("the same as the records of the same time, of each kind")
def as_records(ctx):
    need_events(ctx)
    for happening in HAPPENINGS:
        records = Watch(ctx, ctx.node, "-e", KINDS)
        count = Count(ctx, ctx.node, "-e", KINDS)
        ctx.node.ask("happenings", *happening)
        time.sleep(0.2)  # the node has a little to do when it has answered
        data = count.data()
        reported = of_span([json.loads(line) for line in lines_of(records)], data)
        counted = {r["event"]: r["seen"] for r in data["rows"] if r["seen"]}
        check_equal(counted, dict(reported), f"{happening}: counted, reported")
        check_equal({r["lost"] for r in data["rows"] if r["state"] != "missing"}, {0}, "lost")
        print(f"{sum(counted.values())} events of {len(counted)} kinds of {happening}")


# Operation of workloads/rates.erl, and what each of them makes of which kinds.
OPERATIONS = (("spawn", {"process_spawn": 1, "process_exit": 1}),
              ("register", {"process_register": 1, "process_unregister": 1}),
              ("link", {"process_link": 1, "process_unlink": 1}))


@case("as many as the node did: of each kind more by what it did more")
def as_done(ctx):
    need_events(ctx)
    for operation, made in OPERATIONS:
        if not gives(ctx, *made):
            continue
        seen = []
        for times in (500, 3500):
            count = Count(ctx, ctx.node, "-e", ",".join(made))
            ctx.node.ask("rates", operation, times)
            seen.append(count.counts())
        check_equal({k: seen[1][k] - seen[0][k] for k in made},
                    {k: 3000 * n for k, n in made.items()}, operation)
        print(f"{operation}: {seen}")


@case("--process: a process that is chosen, by its name, and what it did")
def chosen(ctx):
    need_events(ctx)
    ctx.node.ask("counted", "start")
    ctx.cleanup(ctx.node.ask, "counted", "stop")
    count = Count(ctx, ctx.node, "-e", "process_scheduled,message_send,message_queued",
                  "--process", "counted")
    all_of_them = Count(ctx, ctx.node, "-e", "process_scheduled,message_send,message_queued")
    truth = ctx.node.ask("counted", "work", 100)
    counts, more = count.counts(), all_of_them.counts()
    check_equal(counts, {k: truth[k] for k in counts}, "counts of the process")
    for kind, n in counts.items():
        check(more[kind] >= n, f"{kind}: {more[kind]} of all, {n} of one")


@case("--watch: answers of intervals; the last says all", otp="one")
def again(ctx):
    need_events(ctx)
    count = Count(ctx, ctx.node, "-e", "process_spawn", "--watch", "0.3s")
    ctx.node.ask("rates", "spawn", 1000)
    answers = [json.loads(line) for line in lines_of(count)]
    rows = [a["data"]["rows"][0] for a in answers]
    check(len(rows) >= 1, f"{answers}")
    check_equal(sum(a["counters"]["events"] for a in answers), rows[-1]["seen"], "events in all")
    check(rows[-1]["seen"] >= 1000, f"{rows[-1]}")


def lines_of(watch):
    watch.end()
    check_equal(watch.process.returncode, 0, f"exit code; {watch.err}")
    return watch.out.decode().splitlines()


@case("a capture's records are counted; text; what does not go together is said", otp="one")
def of_capture(ctx):
    need_events(ctx)
    path = ctx.ebeam.file(".ebeam")
    recorder = Watch(ctx, ctx.node, "-e", "process_spawn,process_exit", "-o", path)
    ctx.node.ask("rates", "spawn", 50)
    recorder.end()
    out = ctx.ebeam.ok("events", "-i", path, "-j").out
    reported = Counter(json.loads(line)["kind"] for line in out.splitlines())
    rows = ctx.ebeam.ok("events", "-i", path, "--count", "-j").json()
    check_equal({r["event"]: r["seen"] for r in rows["data"]["rows"]}, dict(reported), "counted, reported")
    text = ctx.ebeam.ok("events", "-i", path, "--count").out
    check(re.search(rf"^process_spawn +\S+ +{reported['process_spawn']} ", text, re.M), text)
    for limit in (1, 2):
        some = ctx.ebeam.ok("events", "-i", path, "--count", "-j", "-n", limit).json()["data"]["rows"]
        shown = ctx.ebeam.ok("events", "-i", path, "--count", "-n", limit).out.splitlines()
        check_equal([r["event"] for r in some], [line.split()[0] for line in shown[1:1 + limit]], f"-n {limit}")
    for more, words in ((("--stack",), "--stack"), (("-o", "x.ebeam"), "writes a table")):
        refused = ctx.ebeam.run("events", "-p", ctx.node.os_pid, "-d", 1, "--count", *more)
        check_equal(refused.code, 2, f"exit code of {more}")
        check_in(words, refused.err, "why")


@case("the budget holds where only numbers are wanted, and its samples are scaled", otp="one")
def budget(ctx):
    need_events(ctx)
    node = ctx.new_node(flags=("+S", "2:2"))
    count = Count(ctx, node, "-e", "message_send", "--max-overhead", "1")
    truth = node.ask("happenings", "storm", 8)
    row = count.rows()["message_send"]
    check_equal(row["state"], "sampled", f"{row}")
    check(row["share"] < 0.5, f"{row}")
    ratio = row["total"] / (2 * truth["trips"])
    cost = float(re.search(r"cost to the node ~([0-9.]+)%", count.err[-1]).group(1))
    print(f"{truth['trips']} round trips, {ratio:.3f} of their messages; {row}; {count.err[-1]}")
    check(0.7 < ratio < 1.4, f"{row['total']} of {2 * truth['trips']}")
    check(0 < cost < 5, f"{count.err[-1]}")
