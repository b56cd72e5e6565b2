# SPDX-License-Identifier: BSD-2-Clause
"""Events of ports and drivers: workloads that do an exact number of things; counts, bytes and ports
are equal to what the node says."""
import os
import re
from collections import Counter

from cases_events import Watch, of
from harness import case, check, check_equal, check_in

SIDE_BY_SIDE = IN_TURN = True
CALLBACKS = ("driver_start", "driver_stop", "driver_flush", "driver_output", "driver_call",
             "driver_control", "driver_ready_input", "driver_ready_output", "driver_ready_async",
             "driver_timeout", "driver_process_exit")


# Called from outside of the port's tasks.
FROM_OUTSIDE = ("driver_ready_async", "driver_process_exit")


def watched(ctx, *question, kinds="port,driver", node=None, until=None):
    """The node's answer and the events; until: a kind that may come later than the answer."""
    watch = Watch(ctx, node or ctx.node, "-e", kinds)
    answer = (node or ctx.node).ask("driver_zoo", *question)
    if until:
        watch.wait_for(lambda: f'"{until}"'.encode() in watch.out, f"an event {until}")
    return answer, watch.events()


def of_port(events, port, prefix=""):
    return [e for e in events if e.get("port") == port and e["kind"].startswith(prefix)]


def total(events, kinds, field="bytes"):
    return sum(e[field] for e in events if e["kind"] in kinds)


OUTPUT = ("driver_output", "driver_outputv")


def build_driver(ctx):
    """The directory of zoo_drv.so."""
    return os.path.dirname(ctx.library("zoo_drv"))


@case("spawn: each command is one call with its bytes, by both ways to send; input is counted")
def spawned(ctx):
    for count, size in ((20, 100), (10, 5000)):
        truth, events = watched(ctx, "spawned", count, size)
        own = of_port(events, truth["port"])
        check_equal({e["driver"] for e in own}, {"spawn"}, "driver")
        check_equal([e["bytes"] for e in of(own, "driver_output")], [size] * count, "outputs")
        check_equal({e["pid"] for e in of(own, "driver_output")}, {truth["pid"]}, "who sent")
        check_equal(total(own, OUTPUT), truth["output"], "bytes out")
        stop = of(own, "driver_stop")
        check_equal([(e["input"], e["output"]) for e in stop],
                    [(truth["input"], truth["output"])], "bytes of its life")
        check_equal(truth["input"], count * size, "bytes in")
        check_equal(len(of(own, "driver_start")), 1, "starts")
        check_equal([(e["kind"], e["name"]) for e in of(own, "port_open")],
                    [("port_open", "cat")], "open")
        check_equal(len(of(own, "port_command")), count, "commands")
        check_equal([e["type"] for e in of(own, "port_scheduled")],
                    ["in", "out"] * (len(of(own, "port_scheduled")) // 2), "in and out")


@case("fd: a port that writes a file; what async threads did comes back")
def fd(ctx):
    # A port that is closed waits for its async threads.
    truth, events = watched(ctx, "fd", 20, 300, until="driver_ready_async")
    own = of_port(events, truth["port"])
    check_equal({e["driver"] for e in own}, {"fd"}, "driver")
    check_equal([e["bytes"] for e in of(own, "driver_outputv")], [300] * 20, "outputs")
    check_equal(truth["output"], 6000, "what the node counts")
    check(of(own, "driver_ready_async"), "ready_async")
    check_equal([e for e in of(events, "driver_ready_async", driver="fd") if not e["port"]], [], "all")
    check_equal([e["kind"] for e in own if e["kind"] in ("port_open", "port_exit")],
                ["port_open", "port_exit"], "open and exit")


@case("tcp: bytes out are those of the node's counters, at both ends")
def tcp(ctx):
    for count, size in ((10, 10), (5, 3000)):
        truth, events = watched(ctx, "tcp", count, size)
        for end in ("client", "server"):
            own = of_port(events, truth[end]["port"])
            check_equal({e["driver"] for e in own}, {"tcp_inet"}, "driver")
            check_equal(len(of(own, "driver_outputv")), count, f"sends of {end}")
            check_equal(total(own, OUTPUT), truth[end]["output"], f"bytes out of {end}")
            check_equal(truth[end]["recv_oct"], count * size, "what inet counts")
            check_equal([e["output"] for e in of(own, "driver_stop")], [truth[end]["output"]],
                        "bytes of its life")
            check_equal([(e["command"], e["pid"]) for e in of(own, "port_control")],
                        [(e["command"], e["pid"]) for e in of(own, "driver_control")],
                        "each control reaches the driver")
        check(len(of(of_port(events, truth["client"]["port"]), "driver_ready_input")) >= 1,
              "input of the active end")
        check_equal(len(of(of_port(events, truth["listen"]["port"]), "driver_start")), 1, "listen")
        accepted = of_port(events, truth["server"]["port"])
        check_equal(len(of(accepted, "driver_start")), 0, "an accepted one is not started")


@case("udp: each datagram is one output, and one input where nothing else is read")
def udp(ctx):
    truth, events = watched(ctx, "udp", 20, 200)
    sender = of_port(events, truth["sender"]["port"])
    receiver = of_port(events, truth["receiver"]["port"])
    check_equal({e["driver"] for e in sender + receiver}, {"udp_inet"}, "driver")
    check_equal(len([e for e in sender if e["kind"] in OUTPUT]), 20, "sends")
    check_equal(total(sender, OUTPUT), truth["sender"]["output"], "bytes out")
    check_equal(truth["receiver"]["recv_cnt"], 20, "what inet counts")
    check_equal(len(of(receiver, "driver_ready_input")), 20, "inputs")


@case("control commands: number, size and caller of each")
def controls(ctx):
    truth, events = watched(ctx, "controls", 20)
    own = of_port(events, truth["port"])
    check_equal([(e["command"], e["bytes"]) for e in of(own, "driver_control")],
                list(zip(truth["commands"], truth["sizes"])), "commands")
    check_equal({e["pid"] for e in of(own, "driver_control")}, {truth["pid"]}, "callers")
    check_equal([e["command"] for e in of(own, "port_control")], truth["commands"], "at the call")


@case("owners: ports given away, linked and unlinked")
def owners(ctx):
    truth, events = watched(ctx, "owners", 10)
    for port in truth["ports"]:
        own = of_port(events, port)
        check_equal([(e["pid"], e["owner"]) for e in of(own, "port_connect")],
                    [(truth["pid"], truth["other"])], "connect")
        check_equal([(e["kind"], e["pid"]) for e in own
                     if e["kind"] in ("port_link", "port_unlink")],
                    [("port_unlink", truth["pid"]), ("port_unlink", truth["other"]),
                     ("port_link", truth["other"])], "links and unlinks")
        check_equal([e["pid"] for e in of(own, "driver_start")], [truth["pid"]], "who opened it")
        check_equal([e["pid"] for e in of(own, "driver_stop")], [truth["other"]], "who owned it")


@case("killed owners: their ports exit and are stopped")
def killed(ctx):
    truth, events = watched(ctx, "killed", 10)
    for victim in truth["victims"]:
        own = of_port(events, victim["port"])
        check_equal([(e["pid"], e["driver"]) for e in of(own, "driver_stop")],
                    [(victim["owner"], "spawn")], "stop")
        check_equal([e["reason"] for e in of(own, "port_exit")], ["killed"], "reason")


@case("a loaded driver: every callback as often as it was made to be called")
def own_driver(ctx):
    node = ctx.new_node(flags=("+S", "2:2"))
    node.ask("driver_zoo", "load", build_driver(ctx))
    truth, events = watched(ctx, "own", 5, node=node)
    compared = 0
    for p in truth["ports"]:
        own = of_port(events, p["port"])
        drivers = [e for e in own if e["kind"].startswith("driver_")]
        check_equal({e["driver"] for e in own}, {"zoo_drv"}, "driver")
        wanted = {kind: 1 for kind in CALLBACKS}
        wanted["driver_control"] = p["controls"]
        check_equal(Counter(e["kind"] for e in drivers), Counter(wanted), f"calls of {p['port']}")
        check_equal([e["bytes"] for e in of(own, "driver_output")], [p["size"]], "output")
        check_equal([(e["command"], e["bytes"], e["pid"]) for e in of(own, "driver_call")],
                    [(97, p["call_size"], truth["pid"])], "call")
        check_equal({e["bytes"] for e in of(own, "driver_control")}, {p["size"]}, "control")
        check_equal([e["pid"] for e in of(own, "driver_control", command=5)], [p["monitored"]],
                    "who is monitored")
        check_equal([(e["input"], e["output"]) for e in of(own, "driver_stop")],
                    [(p["input"], p["output"])], "bytes of its life")
        check_equal([e["kind"] for e in own if "busy" in e["kind"]],
                    ["port_busy", "port_not_busy"] * p["busy"], "busy, and not")
        compared += len(own)
    for kind in FROM_OUTSIDE:
        check_equal(len(of(events, kind, driver="zoo_drv")), len(truth["ports"]), kind)
    check_equal(len(of(events, "driver_stop_select", driver="zoo_drv")), 2 * len(truth["ports"]),
                "descriptors to be closed")
    print(f"{compared} events of {len(truth['ports'])} ports compared")


@case("a driver that is loaded and unloaded: init, finish, and what cannot be seen is counted")
def loaded(ctx):
    node = ctx.new_node(flags=("+S", "2:2"))
    path = build_driver(ctx)
    watch = Watch(ctx, node, "-e", "driver")
    node.ask("driver_zoo", "load", path)
    events = watch.events()
    check_equal([(e["driver"], e["major"], e["minor"], e["flags"])
                 for e in of(events, "driver_init")], [("zoo_drv", 3, 0, 0)], "init")
    check(re.search(r"drivers_loaded 1\b", watch.err[-1]), f"{watch.err[-1]}")
    watch = Watch(ctx, node, "-e", "driver")
    node.ask("driver_zoo", "unload")
    check_equal([e["driver"] for e in of(watch.events(), "driver_finish")], ["zoo_drv"], "finish")


def io_rows(answer):
    return {p["port"]: p for p in answer["data"]["ports"]}


@case("port --io: bytes and calls by port and driver are those of the node; of a capture too")
def io(ctx):
    path = ctx.ebeam.file(".ebeam")
    recorder = Watch(ctx, ctx.node, "-e", "driver,port", "-o", path)
    watch = Watch(ctx, ctx.node, "--io", command="port")
    cat = ctx.node.ask("driver_zoo", "spawned", 20, 500)
    tcp = ctx.node.ask("driver_zoo", "tcp", 10, 3000)
    udp = ctx.node.ask("driver_zoo", "udp", 10, 200)
    answer, = watch.answers()
    recorder.end()
    replay = ctx.ebeam.ok("port", "--io", "-i", path, "-j").json()
    truth = {cat["port"]: (cat["input"], cat["output"], cat["pid"], "spawn")}
    for side, end, driver in ((tcp, "client", "tcp_inet"), (tcp, "server", "tcp_inet"),
                              (udp, "sender", "udp_inet"), (udp, "receiver", "udp_inet")):
        truth[side[end]["port"]] = (side[end]["recv_oct"], side[end]["output"], side["pid"],
                                    driver)
    for rows in (io_rows(answer), io_rows(replay)):
        for port, (received, output, pid, driver) in truth.items():
            row = rows[port]
            check_equal((row["out"], row["pid"], row["driver"]), (output, pid, driver), port)
            check_equal(row["in"], received, f"in of {port}")
            check_equal(row["stopped"], True, port)
            check_equal(sum(row["callbacks"].values()), row["calls"], f"calls of {port}")
        check_equal(rows[cat["port"]]["callbacks"]["output"], 20, "outputs")
        check_equal(rows[tcp["client"]["port"]]["callbacks"]["outputv"], 10, "outputs")
    for data in (answer["data"], replay["data"]):
        for d in data["drivers"]:
            ports = [p for p in data["ports"] if p["driver"] == d["driver"]]
            for key in ("out", "calls", "busy"):
                check_equal(d[key], sum(p[key] for p in ports), f"{key} of {d['driver']}")
            check_equal(d["ports"], len(ports), f"ports of {d['driver']}")
    print(f"{len(answer['data']['ports'])} ports of {len(answer['data']['drivers'])} drivers")


@case("port --io: of ports that were there before only what is new; again and again with --watch")
def io_before(ctx):
    node = ctx.new_node(flags=("+S", "2:2"))
    keeper = node.ask("driver_zoo", "keep", 10, 1000)
    watch = Watch(ctx, node, "--io", command="port")
    again = Watch(ctx, node, "--io", "--watch", "300ms", command="port")
    truth = node.ask("driver_zoo", "use", 5, 700)
    rows = io_rows(watch.answers()[0])
    answers = again.answers()
    check(len(answers) >= 1, "answers")
    for port, end in ((truth["client"]["port"], "client"), (truth["server"]["port"], "server"),
                      (truth["cat"]["port"], "cat")):
        received = "input" if end == "cat" else "recv_oct"
        new_in = truth[end][received] - keeper[end][received]
        new_out = truth[end]["output"] - keeper[end]["output"]
        check_equal((rows[port]["in"], rows[port]["out"]), (new_in, new_out), f"{end} {port}")
        parts = [io_rows(a)[port] for a in answers if port in io_rows(a)]
        check_equal((sum(p["in"] for p in parts), sum(p["out"] for p in parts)),
                    (new_in, new_out), f"sum of the answers, {end}")
        check_equal(rows[port]["stopped"], False, port)


@case("port --io: text, columns, and what cannot be", otp="one")
def io_text(ctx):
    done = ctx.ebeam.ok("port", "--io", "-p", ctx.node.os_pid, "-d", "1", "-c", "port,in,name")
    check(re.match(r"^\d+\.\d s  in .* out .* calls  busy \d+", done.out), done.out)
    for args in (("-d", "1"), ("--watch", "1"), ("-i", "x.ebeam"), ("--dry-run",),
                 ("--source", "usdt"), ("--io", "--core", "x"),
                 ("--io", "-d", "1", "-c", "nonsense"), ("--io", "-d", "1", "-s", "nonsense")):
        check_equal(ctx.ebeam.run("port", *args).code, 2, str(args))
    places = ctx.ebeam.ok("port", "--io", "-p", ctx.node.os_pid, "--source", "uprobe", "--dry-run")
    check_in("driver_outputv", places.out, "the probes that it would attach")


@case("--process: only what that process has done, or owns")
def one_process(ctx):
    watch = Watch(ctx, ctx.node, "-e", "port,driver", "--process", "<0.0.0>")
    ctx.node.ask("driver_zoo", "spawned", 5, 10)
    check_equal({e["pid"] for e in watch.events()} - {"<0.0.0>"}, set(), "pids")
