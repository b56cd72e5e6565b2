# SPDX-License-Identifier: BSD-2-Clause
"""`ebeam dist`: connections to other nodes equal nodes/1, dist_get_stat/1 and nodes_info/0 of the
node; what waits in a connection that does not move; epmd."""
import os
import shutil
import signal
import subprocess
import tempfile

from harness import Skip, case, check, check_equal, check_in
from nodes import EPMD_PORT

SIDE_BY_SIDE = True

# No ticks while the counters are compared, and no node that leaves because of another.
QUIET = ("+S", "2:2", "-kernel", "net_ticktime", "1000", "-kernel",
         "prevent_overlapping_partitions", "false", "-connect_all", "false")


def read(ctx, node, *args):
    answer = ctx.ebeam.ok("dist", "-p", node.os_pid, "-j", *args).json()
    for counter in ("vanished", "torn", "truncated"):
        check_equal(answer["counters"][counter], 0, counter)
    return answer["data"]


def by_name(data):
    return {n["name"]: n for n in data["nodes"]}


def start(ctx, name, *flags):
    return ctx.new_node(name=f"dist-{name}{ctx.otp}@127.0.0.1", flags=(*QUIET, *flags))


def family(ctx):
    """A node, connected to a visible and a hidden one."""
    node, visible, hidden = start(ctx, "a"), start(ctx, "b"), start(ctx, "h", "-hidden")
    for other in (visible, hidden):
        check_equal(node.ask("dist_zoo", "connect", other.name), True, f"connect to {other.name}")
    node.ask("dist_zoo", "chat", visible.name, "20")
    return node, visible, hidden


def compare(truth, row):
    for field in ("name", "type", "state", "in", "out", "connection_id", "controller", "owner"):
        check_equal(row[field], truth[field], f"{truth['name']}: {field}")
    check_equal(row["queue"], truth["pending"], f"{truth['name']}: queue")
    check_equal(row["socket"]["peer"], truth["peer"], f"{truth['name']}: peer")
    check_equal(row["port"]["input"], truth["input"], f"{truth['name']}: bytes in")
    check_equal(row["port"]["output"], truth["output"], f"{truth['name']}: bytes out")
    check_equal(row["torn"], False, f"{truth['name']}: torn")
    return 13


@case("nodes/1, dist_get_stat/1 and nodes_info/0 say the same")
def facts(ctx):
    node, visible, hidden = family(ctx)
    node.ask("dist_zoo", "remember", "somebody@nowhere.invalid")
    stats, data = node.ask("dist_zoo", "stats"), read(ctx, node)
    rows = by_name(data)
    for field in ("name", "alive", "creation"):
        check_equal(data[field], stats[field], field)
    check_equal({n["name"] for n in stats["nodes"]}, {visible.name, hidden.name}, "nodes_info")
    fields = 3 + sum(compare(n, rows[n["name"]]) for n in stats["nodes"])
    check(rows[visible.name]["in"] >= 20, f"packets in: {rows[visible.name]['in']}")

    def names(choose):
        return sorted(n["name"] for n in data["nodes"] if choose(n))

    for what, choose in (("visible", lambda n: n["type"] == "visible"),
                         ("hidden", lambda n: n["type"] == "hidden"),
                         ("connected", lambda n: n["state"] == "up")):
        check_equal(names(choose), node.ask("dist_zoo", "nodes", what), f"nodes({what})")
        fields += 1
    check_equal(sorted([*rows, data["name"]]), node.ask("dist_zoo", "nodes", "known"),
                "nodes(known)")
    check_equal(rows["somebody@nowhere.invalid"]["state"], "idle", "a node without connection")
    # The same connection, seen from the other side.
    check_equal(by_name(read(ctx, hidden))[node.name]["state"], "up", "the other side")
    print(f"      {len(rows)} nodes, {fields + 2} fields equal")


@case("a connection goes: the node is known, and idle")
def disconnect(ctx):
    node, visible, hidden = family(ctx)
    node.ask("dist_zoo", "disconnect", hidden.name)
    rows = by_name(read(ctx, node))
    check_equal(node.ask("dist_zoo", "nodes", "connected"), [visible.name], "nodes(connected)")
    check_equal((rows[hidden.name]["state"], rows[hidden.name]["type"]), ("idle", None),
                "state and type")
    check_equal(rows[hidden.name]["controller"], None, "controller")
    check_equal(rows[visible.name]["state"], "up", "the other one")


@case("the other node is stopped: the queue grows, the connection is busy, senders wait")
def busy(ctx):
    node, visible, hidden = family(ctx)
    os.kill(visible.os_pid, signal.SIGSTOP)
    try:
        node.ask("dist_zoo", "fill", visible.name)
        rows, suspended = by_name(read(ctx, node)), node.ask("dist_zoo", "stats")["suspended"]
        text = ctx.ebeam.ok("dist", "-p", node.os_pid).out
        waits = ctx.ebeam.ok("dump", "-p", node.os_pid, "--waits", "-j").json()["data"]
        found = ctx.ebeam.ok("diagnose", "-p", node.os_pid, "-d", "500ms", "-j").json()["data"]["findings"]
    finally:
        os.kill(visible.os_pid, signal.SIGCONT)
    row = rows[visible.name]
    check_equal(row["busy"], True, "busy")
    check(row["queue"] > 100000, f"queue: {row['queue']}")
    check(row["socket"]["send_q"] > 100000, f"kernel's queue: {row['socket']['send_q']}")
    check_equal(sorted(row["waiting"]), sorted(suspended), "processes that wait")
    check(len(suspended) >= 2, f"suspended processes: {suspended}")
    held = {w["pid"]: w["waits_for"] for w in waits["waits"] if w["reason"] == "busy_dist_port"}
    check_equal(sorted(held), sorted(suspended), "processes that wait, by dump --waits")
    check_equal(set(held.values()), {f"'{visible.name}'"}, "what they wait for")
    check_in([f"'{visible.name}'", row["controller"], row["socket"]["peer"]], [c[1:] for c in waits["chains"]],
             "where that leads")
    check_in(f"the connection to {visible.name} is busy: {len(suspended)} processes are suspended in a send",
             [f["title"] for f in found], "what diagnose finds")
    check_equal((rows[hidden.name]["busy"], rows[hidden.name]["waiting"]), (False, []),
                "the other connection")
    check_in("up,busy", text, "the table")
    check_in("1 visible and 1 hidden nodes, 0 pending, 1 busy", text, "the heading")


@case("a connection that nobody answers is pending", in_turn=True)
def pending(ctx):
    node = start(ctx, "a")
    silent = start(ctx, "s")
    os.kill(silent.os_pid, signal.SIGSTOP)
    try:
        node.ask("dist_zoo", "pending", silent.name)
        row = by_name(read(ctx, node))[silent.name]
    finally:
        os.kill(silent.os_pid, signal.SIGCONT)
    check_equal((row["state"], row["type"]), ("pending", None), "state and type")


@case("the node itself is stopped: the same answer", in_turn=True)
def stopped(ctx):
    node, _, _ = family(ctx)
    before = read(ctx, node)
    os.kill(node.os_pid, signal.SIGSTOP)
    try:
        after = read(ctx, node)
    finally:
        os.kill(node.os_pid, signal.SIGCONT)
    check_equal(after["nodes"], before["nodes"], "nodes")


@case("a node without distribution")
def alone(ctx):
    node = ctx.new_node(flags=("+S", "2:2"))
    data = read(ctx, node)
    check_equal((data["name"], data["alive"], data["nodes"]), ("nonode@nohost", False, []), "data")
    out = ctx.ebeam.ok("dist", "-p", node.os_pid).out
    check(out.startswith("nonode@nohost, not distributed, creation "), f"text: {out}")


def names_of(nodes):
    return {(n["name"], n["port"]) for n in nodes}


def tls_flags(ctx):
    if not shutil.which("openssl"):
        raise Skip("openssl is not there")
    home = tempfile.mkdtemp(prefix="tls-", dir=ctx.work_dir)
    key, certificate, options = (os.path.join(home, name) for name in ("key", "certificate", "options"))
    subprocess.run(["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-keyout", key, "-out",
                    certificate, "-subj", "/CN=localhost"], check=True, capture_output=True)
    with open(options, "w") as f:
        f.write(f'[{{server, [{{certfile, "{certificate}"}}, {{keyfile, "{key}"}}]}}, '
                '{client, [{verify, verify_none}]}].')
    return ("-proto_dist", "inet_tls", "-ssl_dist_optfile", options)


@case("connections over TLS: their sockets, seen from both ends; bytes as inet_drv counts them", in_turn=True)
def over_tls(ctx):
    flags = tls_flags(ctx)
    first, second, third = (start(ctx, name, *flags) for name in ("t1", "t2", "t3"))
    for other in (second, third):
        check_equal(first.ask("dist_zoo", "connect", other.name), True, f"connect to {other.name}")
        first.ask("dist_zoo", "chat", other.name, "5")
    data = read(ctx, first)
    ports = {n["name"]: n["port"] for n in data["epmd"]["nodes"]}
    sockets = {s["local"]: s for s in first.ask("dist_zoo", "sockets")}
    for other in (second, third):
        row = by_name(data)[other.name]
        check_equal(row["socket"]["peer"], f"127.0.0.1:{ports[other.name.split('@')[0]]}", "peer")
        truth = sockets[row["socket"]["local"]]
        check_equal(row["socket"]["peer"], truth["peer"], "peer")
        check_equal(row["owner"], truth["owner"], "owner")
        check_equal(row["port"]["input"], truth["received"], "bytes in")
        check_equal(row["port"]["output"], truth["output"], "bytes out")
        check(row["controller"] not in (None, row["owner"]), f"controller: {row}")
        there = by_name(read(ctx, other))[first.name]["socket"]
        check_equal((there["peer"], there["local"]), (row["socket"]["local"], row["socket"]["peer"]), "other end")


@case("epmd: the names that the node gets too; another network namespace is said", in_turn=True)
def epmd(ctx):
    node = start(ctx, "a")
    before = names_of(node.ask("dist_zoo", "names"))
    data = read(ctx, node)
    after = names_of(node.ask("dist_zoo", "names"))
    check_equal(str(data["epmd"]["port"]), EPMD_PORT, "port of epmd")
    check_equal(data["epmd"]["error"], None, "error")
    names = names_of(data["epmd"]["nodes"])
    check_in(node.name.split("@")[0], [n for n, _ in names], "this node")
    # Other cases start and end nodes meanwhile.
    check(before & after <= names <= before | after, f"names: {sorted(names)}, the node got "
          f"{sorted(before)} and {sorted(after)}")


@case("epmd in another network namespace is not asked", otp="one")
def other_network(ctx):
    ctx.need_root()
    node = ctx.new_node(flags=("+S", "2:2"), prefix=("unshare", "--net"))
    data = read(ctx, node)
    check_equal(data["epmd"]["nodes"], None, "nodes")
    check_in("another network namespace", data["epmd"]["error"], "error")
    check_in("another network namespace", ctx.ebeam.ok("dist", "-p", node.os_pid).out, "text")


@case("an epmd that is not there is said", otp="one")
def no_epmd(ctx):
    node = ctx.new_node(flags=("+S", "2:2"), prefix=("env", "ERL_EPMD_PORT=1"))
    data = read(ctx, node)
    check_equal((data["epmd"]["nodes"], data["epmd"]["port"]), (None, 1), "epmd")
    check_in("no answer from epmd at port 1: Connection refused", data["epmd"]["error"], "error")
