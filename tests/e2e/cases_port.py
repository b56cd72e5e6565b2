# SPDX-License-Identifier: BSD-2-Clause
"""`ebeam port`: what port_info says of every port of a node that has many kinds of them, and the
kernel's side of its sockets."""
import os
import signal
import time

from harness import Failure, case, check, check_equal, check_in

SIDE_BY_SIDE = True

INFO = ("id", "name", "connected", "input", "output", "os_pid", "queue_size", "registered_name",
        "locking", "parallelism")
REFS = ("links", "monitors", "monitored_by")


def read(ctx, node, *args):
    answer = ctx.ebeam.ok("port", "-p", node.os_pid, "-j", *args).json()
    for counter in ("vanished", "torn", "truncated"):
        check_equal(answer["counters"][counter], 0, counter)
    return answer["data"]


def zoo(ctx):
    node = ctx.new_node(flags=("+S", "2:2"))
    node.start("port_zoo")
    for _ in range(100):
        if sum(row["busy"] for row in read(ctx, node)) == 2:
            return node
        time.sleep(0.1)  # a child has not had a CPU yet to read what it was sent
    raise Failure("no two ports of the zoo are busy")


def is_console(port):
    """Standard input and output go on while they are looked at: answers of the node are written
    there."""
    return port["name"] in ("0/1", "tty_sl -c -e")


def number(pid):
    return tuple(map(int, pid.strip("<>").split(".")))


def compare(port, row):
    fields = 0
    for field in INFO:
        if is_console(port) and field in ("input", "output", "queue_size"):
            continue
        check_equal(row[field], port[field], f"{port['port']} {port['name']}: {field}")
        fields += 1
    for field in REFS:
        check_equal(sorted(row[field], key=number), sorted(port[field], key=number),
                    f"{port['port']} {port['name']}: {field}")
        fields += 1
    if port["monitors"] or port["monitored_by"]:
        check_equal(row["memory"], None, f"{port['port']}: memory of a port with monitors")
    else:
        check_equal(row["memory"], port["memory"], f"{port['port']}: memory")
        fields += 1
    for flag in ("closing", "exiting", "torn", "distribution"):
        check_equal(row[flag], False, f"{port['port']}: {flag}")
    return fields


def read_at_rest(ctx, node):
    """The node's answers and ebeam's.  A process that is about to wait for a port monitors it: again
    until the node says the same before and after."""
    def reported():
        ports = node.ask("port_zoo", "ports")
        return ports, [p for p in ports if not is_console(p)]

    before = reported()
    for _ in range(10):
        rows, after = read(ctx, node), reported()
        if before[1] == after[1]:
            return before[0], rows
        before = after
    raise Failure("the ports of the node do not come to rest")


def compare_socket(port, row):
    if port["socket"] is None:
        check_equal(row["socket"], None, f"{port['port']} {port['name']}: socket")
        return 0
    for field in ("fd", "local", "peer"):
        check_equal(row["socket"][field], port["socket"][field], f"{port['port']}: {field}")
    check_equal(sorted(row["socket"]["status"]), sorted(port["socket"]["status"]),
                f"{port['port']}: status")
    stat = port["socket"]["stat"]
    check_equal(row["queue_size"], stat["send_pend"], f"{port['port']}: send_pend")
    # Bytes of a socket that nobody reads are the kernel's: the port has not had them.
    check_equal(row["input"], stat["recv_oct"], f"{port['port']}: recv_oct")
    return 6


@case("every port and every item of port_info equal the node's own answers")
def info(ctx):
    node = zoo(ctx)
    ports, rows = read_at_rest(ctx, node)
    check_equal([r["port"] for r in rows], [p["port"] for p in ports], "ports, in order")
    fields = sum(compare(p, r) + compare_socket(p, r) for p, r in zip(ports, rows))
    drivers = {r["driver"] for r in rows}
    check({"forker", "spawn_forker"} & drivers and {"spawn", "fd", "tcp_inet", "udp_inet"} <=
          drivers | {"fd"}, f"drivers: {drivers}")
    print(f"      {len(ports)} ports, {fields} fields equal")


def by_use(rows):
    """The sockets of the zoo, by what they are there for."""
    sockets = [r for r in rows if r["socket"] and r["socket"]["protocol"] == "tcp"]
    listening = [r for r in sockets if r["socket"]["state"] == "listen"
                 and r["socket"]["local"].startswith("127")]
    check_equal(len(listening), 1, "listening sockets of IPv4")
    connected = [r for r in sockets if r["socket"]["peer"]]
    pairs = {(r["socket"]["local"], r["socket"]["peer"]): r for r in connected}
    return listening[0], connected, pairs


@case("sockets: kernel queues are what was sent and not read; the port's own queue makes it busy")
def queues(ctx):
    node = zoo(ctx)
    rows = read(ctx, node)
    _, connected, pairs = by_use(rows)

    def peer(row):
        return pairs[row["socket"]["peer"], row["socket"]["local"]]

    unread = [r for r in connected if r["socket"]["recv_q"] == 1234]
    check_equal(len(unread), 1, "sockets with 1,234 bytes that nobody reads")
    sent = peer(unread[0])["output"]
    # From OTP 26 on the driver counts the tag of the sender too.
    check(1234 <= sent < 1300, f"bytes that the other side has sent: {sent}")
    full = max(connected, key=lambda r: r["queue_size"])
    kernel = full["socket"]["send_q"] + peer(full)["socket"]["recv_q"]
    check(full["queue_size"] > 0, "a socket whose peer does not read holds data back")
    check(full["socket"]["send_q"] > 0, "so does the kernel")
    # What the peer's kernel has and has not acknowledged yet counts twice.
    check(full["queue_size"] + kernel >= 40000 and full["queue_size"] < 41000,
          f"queues of a full socket: {full['queue_size']} and {kernel}")
    check_equal([r["socket"]["state"] for r in connected].count("close_wait"), 1,
                "sockets whose peer has closed")
    datagrams = [r for r in rows if r["driver"] == "udp_inet" and r["socket"]["recv_q"] > 0]
    check_equal(len(datagrams), 1, "UDP sockets with a datagram that nobody reads")


@case("a full queue makes pipes and sockets busy, and names the processes that wait")
def pipes(ctx):
    node = zoo(ctx)
    ports, rows = node.ask("port_zoo", "ports"), read(ctx, node)
    busy = sorted((r for r in rows if r["busy"]), key=lambda r: r["name"])
    check_equal([r["name"] for r in busy], ["/bin/sleep", "tcp_inet"], "names of busy ports")
    truth = next(p for p in ports if p["port"] == busy[0]["port"])
    check(busy[0]["queue_size"] > 200000, f"its queue: {busy[0]['queue_size']}")
    check_equal(len(busy[0]["suspended"]), 2, "processes that wait")
    check_equal(busy[0]["suspended"], truth["suspended"], "processes that wait")
    findings = ctx.ebeam.ok("diagnose", "-p", node.os_pid, "-d", "500ms", "-j").json()["data"]["findings"]
    found = {f["title"]: f for f in findings if f["id"] == "busy_port"}
    titles = [f"port {r['port']} ({r['name']}) is busy" for r in busy]
    check_equal(sorted(found), sorted(titles), "diagnose: busy ports")
    check_in("2 processes are suspended because of it", found[titles[0]]["evidence"][0], "diagnose")
    compared = 0
    for row in rows:
        for end in ("read", "write"):
            if row[end]:
                link = os.readlink(f"/proc/{node.os_pid}/fd/{row[end]['fd']}")
                check_equal(row[end]["target"], link, f"{row['port']}: {end}")
                compared += 1
    check(compared >= 6, f"descriptors of pipes: {compared}")
    # Both ends of a pipe: the child has the other one.
    shell = next(r for r in rows if r["registered_name"] == "a_registered_port")
    other = {os.readlink(f"/proc/{child(node, shell['os_pid'])}/fd/{fd}") for fd in (0, 1)}
    check_equal({shell["read"]["target"], shell["write"]["target"]}, other, "pipes of the child")
    print(f"      {compared} descriptors compared")


def child(node, inner_pid):
    """The host's pid of a process of the node's PID namespace."""
    if node.inner_pid == node.os_pid:
        return inner_pid
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{pid}/status") as f:
                if f"NSpid:\t{pid}\t{inner_pid}\n" in f.read():
                    return pid
        except OSError:
            pass
    raise Failure(f"no process {inner_pid}")


@case("thousands of ports, many of them gone again: the same, in the same order", otp="one")
def many(ctx):
    node = ctx.new_node(flags=("+S", "2:2", "+Q", "4096"))
    for _ in range(3):
        check(node.ask("port_zoo", "many", "900") > 700, "ports of the node")
    rows = read(ctx, node)
    numbers = node.ask("port_zoo", "numbers")
    check_equal(len(rows), len(numbers), "ports")
    for i, (row, port) in enumerate(zip(rows, numbers)):
        check_equal(row["port"], port, f"port {i}")
    print(f"      {len(rows)} ports, in order")


@case("ports come and go while they are read: none is wrong", alone=True)
def churn(ctx):
    node = ctx.new_node(flags=("+S", "2:2"))
    with ctx.workload("port_churn", node=node):
        for _ in range(10):
            answer = ctx.ebeam.ok("port", "-p", node.os_pid, "-j").json()
            for row in answer["data"]:
                check(row["torn"] or row["name"] in ("forker", "0/1", "2/2", "udp_inet"),
                      f"name of {row['port']}: {row['name']!r}")
                check(row["torn"] or row["connected"].startswith("<0."), f"owner: {row}")
        counters = answer["counters"]
    print(f"      {counters}")


@case("a node that is stopped: the same answer")
def stopped(ctx):
    node = zoo(ctx)
    ports = node.ask("port_zoo", "ports")
    os.kill(node.os_pid, signal.SIGSTOP)
    try:
        rows = read(ctx, node)
    finally:
        os.kill(node.os_pid, signal.SIGCONT)
    check_equal([r["port"] for r in rows], [p["port"] for p in ports], "ports, in order")
    fields = sum(compare(p, r) for p, r in zip(ports, rows))
    print(f"      {fields} fields equal")


@case("the table: columns, order, limit, totals", otp="one")
def table(ctx):
    node = zoo(ctx)
    rows = read(ctx, node)
    out = ctx.ebeam.ok("port", "-p", node.os_pid).out.splitlines()
    check_equal(len(out), len(rows) + 3, "lines")
    first = max(rows, key=lambda r: (r["queue_size"], r["output"]))
    check(out[1].startswith(first["port"] + " "), f"first row: {out[1]}")
    check(out[-1].startswith(f"{len(rows)} ports, 2 busy; "), f"totals: {out[-1]}")
    out = ctx.ebeam.ok("port", "-p", node.os_pid, "-n", "2", "-s", "port", "-c",
                       "port,driver,fd").out.splitlines()
    fds = [str(rows[1][way]["fd"]) for way in ("read", "write") if rows[1][way]]
    check_equal([line.split() for line in out[:3]],
                [["PORT", "DRIVER", "FD"], [rows[0]["port"], rows[0]["driver"], "-"],
                 [rows[1]["port"], rows[1]["driver"], ",".join(fds)]], "columns")
    check_equal(len(read(ctx, node, "-n", "3")), 3, "rows with -n 3")
    check_equal(ctx.ebeam.run("port", "-p", node.os_pid, "-s", "nothing").code, 2, "exit code")
