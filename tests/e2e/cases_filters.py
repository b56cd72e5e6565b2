# SPDX-License-Identifier: BSD-2-Clause
"""Filters of events: what BPF leaves out in the node is what -i leaves out of a capture."""
import json
from collections import Counter

from answers import Watch, need_events
from cases_events import Watch
from harness import case, check, check_equal, check_in

SIDE_BY_SIDE = IN_TURN = True

PLAIN = ("kind", "pid", "to", "from", "size", "name", "reason", "parent", "entry")


def plain(events):
    """What does not depend on when which probe ran."""
    return Counter(tuple(e.get(k) for k in PLAIN) for e in events)


def both(ctx, kinds, filters, happen):
    """Events of a node with filters, and of a capture of all that is filtered then."""
    need_events(ctx)
    path = ctx.ebeam.file(".ebeam")
    recorder = Watch(ctx, ctx.node, "-e", kinds, "-o", path)
    stream = Watch(ctx, ctx.node, "-e", kinds, *filters)
    truth = happen()
    live = stream.events()
    recorder.end()
    out = ctx.ebeam.ok("events", "-i", path, "-j", *filters).out
    replay = [json.loads(line) for line in out.splitlines()]
    check_equal(plain(live), plain(replay), f"{filters}: of the node, of the capture")
    print(f"{len(live)} events of {filters} compared with those of a capture")
    return truth, live


def of(events, kind):
    return [e for e in events if e["kind"] == kind]


def load(ctx):
    """The node must know the functions."""
    ctx.node.ask("process_lives", "lives", 1)
    ctx.node.ask("process_lives", "stop")


@case("--initial-call: spawns, messages and exits of those processes, no others")
def initial_call(ctx):
    load(ctx)
    truth, events = both(ctx, "process_spawn,process_exit,message_send",
                         ("--initial-call", "process_lives:crasher/1"),
                         lambda: ctx.node.ask("process_lives", "lives", 20))
    ctx.node.ask("process_lives", "stop")
    check_equal({k: len(of(events, k)) for k in ("process_spawn", "process_exit")},
                {"process_spawn": 20, "process_exit": 20}, "events")
    check_equal({e["entry"] for e in of(events, "process_spawn")}, {"process_lives:crasher/1"},
                "entries")
    check_equal({e["parent"] for e in of(events, "process_spawn")}, {truth["parent"]}, "parents")


@case("--initial-call: what is behind proc_lib, of processes that are there already")
def behind_proc_lib(ctx):
    need_events(ctx)
    load(ctx)
    watch = Watch(ctx, ctx.node, "-e", "message,scheduler", "--initial-call", "code_server:init/1")
    truth = ctx.node.ask("happenings", "messages", 20, 4)
    check_equal([e for e in watch.events() if e["pid"] in truth.values()], [], "others")
    watch = Watch(ctx, ctx.node, "-e", "process_exit,process_register", "--initial-call",
                  "process_lives:init/1")
    ctx.node.ask("process_lives", "restarts", 5)
    events = watch.events()
    check_equal([e["kind"] for e in events if e.get("name") == "lives_child"],
                ["process_register"] * 6, "names of the gen_server")
    check_equal(Counter(e["reason"].split(",")[0] for e in of(events, "process_exit")),
                Counter({"{made_to_crash": 5, "shutdown": 1}), "its ends")


@case("--process NAME: who has the name, whoever that is")
def followed(ctx):
    need_events(ctx)
    # The name must be known to the node.
    ctx.node.ask("followed", "turns", 1)
    truth, events = both(ctx, "message_queued,message_send,process_register",
                         ("--process", "followed"),
                         lambda: ctx.node.ask("followed", "turns", 4))
    queued = of(events, "message_queued")
    check_equal([e["pid"] for e in queued], [p for p in truth["holders"] for _ in range(3)],
                "messages to who has the name, not those before")
    check_equal([(e["pid"], e["to"]) for e in of(events, "message_send")],
                [(p, truth["me"]) for p in truth["holders"]], "what they send")
    check_equal([e["pid"] for e in of(events, "process_register")], truth["holders"], "names")


@case("--from and --to: messages of a pair only, by pid and by name", otp="one")
def pairs(ctx):
    need_events(ctx)
    flows = ctx.node.ask("message_flows", "start")
    ctx.cleanup(ctx.node.ask, "message_flows", "stop")
    first = flows["senders"][0]

    def flow():
        return ctx.node.ask("message_flows", "flow", 50)
    for filters, sent in ((("--from", first), {flows["sink"]: 50, flows["server"]: 50,
                                               flows["me"]: 1}),
                          (("--to", "flow_sink"), {flows["sink"]: 300}),
                          (("--from", flows["senders"][2], "--to", "flow_server"),
                           {flows["server"]: 50}),
                          (("--from", "flow_server"), {None: 1}),
                          (("--to", flows["server"]), {flows["server"]: 151})):
        _, events = both(ctx, "message", filters, flow)
        seen = Counter(e["to"] for e in of(events, "message_send"))
        if None in sent or flows["me"] in sent:
            # Each question is asked by a process of its own.
            check_equal(sum(seen.values()), sum(sent.values()), f"messages {filters}")
            seen = {k: v for k, v in seen.items() if k in sent}
            sent = {k: v for k, v in sent.items() if k in seen}
        check_equal(seen, sent, f"messages {filters}")
    answer = Watch(ctx, ctx.node, "--to", "flow_sink", "--by", "process", command="msg")
    flow()
    data = answer.answer()
    check_equal({(r["from"], r["to"]): r["messages"] for r in data["rows"]},
                {(p, flows["sink"]): 50 * i for i, p in enumerate(flows["senders"], 1)}, "rows")
    check_equal(data["messages"], 300, "messages in all")
    # The rest does not even get to user space.
    check("Events: 600 " in answer.err[-1], answer.err[-1])


@case("what cannot be: functions and names that there are not")
def usage(ctx):
    need_events(ctx)
    for args, code, text in ((("--initial-call", "lists"), 2, "my_server:init/1"),
                             (("--initial-call", "lists:map/300"), 2, "my_server:init/1"),
                             (("--initial-call", "never_heard_of:it/1"), 3, "never_heard_of:it/1"),
                             (("--process", "never_heard_of_it"), 3, "never_heard_of_it"),
                             (("--from", "<0.999999.0>"), 3, "<0.999999.0>")):
        result = ctx.ebeam.run("events", "-p", ctx.node.os_pid, "-d", "1", "-e", "message", *args)
        check_equal(result.code, code, f"{args}: {result}")
        check_in(text, result.err, str(args))
