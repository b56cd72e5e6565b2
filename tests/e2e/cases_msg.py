# SPDX-License-Identifier: BSD-2-Clause
"""`ebeam msg`: messages in exact numbers between known processes; counts, bytes and lengths of
mailboxes are equal."""
import json

from answers import Watch, need_events
from harness import case, check, check_equal, check_in

SIDE_BY_SIDE = IN_TURN = True


class Flows:
    """The processes of workloads/message_flows.erl in the shared node."""

    def __init__(self, ctx):
        need_events(ctx)
        self.node = ctx.node
        self.truth = self.node.ask("message_flows", "start")
        ctx.cleanup(self.node.ask, "message_flows", "stop")

    def flow(self, count):
        return self.node.ask("message_flows", "flow", count)

    def expected(self, count, sizes):
        """(from, to) -> (messages, bytes)."""
        rows = {}
        for i, (pid, words) in enumerate(zip(self.truth["senders"], sizes), 1):
            rows[pid, self.truth["sink"]] = (i * count, 8 * i * count * words)
            rows[pid, self.truth["server"]] = (count, 8 * count * words)
        return rows


def rows_of(data, known):
    return {(r["from"], r["to"]): (r["messages"], r["bytes"]) for r in data["rows"]
            if r["from"] in known and r["to"] in known}


@case("pairs: as many messages and bytes as were sent; the mailbox is as long as process_info says")
def pairs(ctx):
    flows = Flows(ctx)
    answer = Watch(ctx, ctx.node, "--by", "process", command="msg")
    truth = flows.flow(500)
    data = answer.answer()
    known = {flows.truth["sink"], flows.truth["server"], *flows.truth["senders"]}
    check_equal(rows_of(data, known), flows.expected(500, truth["sizes"]), "pairs")
    check_equal(data["share_seen"], 1, "share")
    boxes = {b["pid"]: b for b in data["mailboxes"]}
    sink = boxes[flows.truth["sink"]]
    check_equal(truth["sink_len"], 3000, "messages in the sink")
    check_equal((sink["message_queue_len"], sink["growth"], sink["queued"], sink["name"]),
                (3000, 3000, 3000, "flow_sink"), "mailbox of the sink")
    check(sink["full_in_s"] > 0 and sink["growth_per_s"] > 0, f"{sink}")
    check(flows.truth["server"] not in boxes, f"the server's mailbox is empty: {boxes}")
    check_equal(truth["got"], 1500, "messages that the server got")
    print(f"{len(known)} processes, 6 pairs, {data['messages']} messages compared")


@case("by sender and by receiver, by name and by initial call; sizes of all")
def sides(ctx):
    flows = Flows(ctx)
    path = ctx.ebeam.file(".ebeam")
    recorder = Watch(ctx, ctx.node, "-o", path, command="msg", json_lines=False)
    truth = flows.flow(200)
    recorder.text()
    sizes = truth["sizes"]

    def rows(side, *args):
        data = ctx.ebeam.ok("msg", "-i", path, "-j", *args).json()["data"]
        return {r[side]: (r["messages"], r["bytes"]) for r in data["rows"]}, data
    sinks = 8 * 200 * sum(i * s for i, s in enumerate(sizes, 1))
    servers = 8 * 200 * sum(sizes)
    got, data = rows("to", "--rows", "receiver")
    check_equal(got["flow_sink"], (1200, sinks), "the sink")
    check_equal(got["flow_server"][0], 601, "the server, with the request of its count")
    check(got["flow_server"][1] >= servers, f"bytes to the server: {got['flow_server']}")
    check(all("from" not in r for r in data["rows"]), "one side only")
    sent, _ = rows("from", "--rows", "sender", "--by", "initial-call")
    # Each also says when it is done.
    check_equal(sent["message_flows:sender/0"][0], 1200 + 600 + 3, "sent by all senders")
    one, _ = rows("from", "--rows", "sender", "--by", "process")
    check_equal([one[p][0] for p in flows.truth["senders"]], [401, 601, 801], "each sender")
    histogram = data["size_words"]
    check_equal(histogram["count"], data["messages"] - data["without_size"], "sizes")
    check_equal(8 * histogram["sum"], data["bytes"], "sum of sizes")
    check_equal(sum(b["count"] for b in histogram["buckets"]), histogram["count"], "buckets")
    few = ctx.ebeam.ok("msg", "-i", path, "-n", "2", "--rows", "receiver").out
    check_in("flow_sink", few, "text")
    check_in("messages", few, "text")
    check_in("! mailbox of", few, "the mailbox that grows")
    sorted_rows = ctx.ebeam.ok("msg", "-i", path, "-s", "bytes", "-c", "bytes,to",
                               "--rows", "receiver").out
    check_in("COPIED", sorted_rows, "columns")


@case("messages to other nodes: how many to which")
def remote(ctx):
    flows = Flows(ctx)
    other = ctx.new_node(name=f"distant{ctx.otp}@127.0.0.1")
    ctx.node.ask("message_flows", "remote", 1, other.name)
    answer = Watch(ctx, ctx.node, "--by", "process", command="msg")
    ctx.node.ask("message_flows", "remote", 70, other.name)
    data = answer.answer()
    rows = {(r["from"], r["to"]): r for r in data["rows"]}
    row = rows[flows.truth["senders"][0], f"nobody_there at '{other.name}'"]
    check_equal((row["messages"], row["without_size"]), (70, 70), "messages to a name")
    nodes = {n["node"]: n["messages"] for n in data["nodes"]}
    check(nodes[f"'{other.name}'"] >= 70, f"messages to nodes: {nodes}")


@case("what is received: -e with message_receive counts it")
def receives(ctx):
    flows = Flows(ctx)
    answer = Watch(ctx, ctx.node, "-o", ctx.ebeam.file(".ebeam"), "-e", "message", command="msg")
    flows.flow(100)
    answer.text()
    path = answer.err[-1].split(" -> ")[1]
    data = json.loads(ctx.ebeam.ok("msg", "-i", path, "-j").out)["data"]
    boxes = {b["pid"]: b for b in data["mailboxes"]}
    sink = boxes[flows.truth["sink"]]
    check_equal((sink["message_queue_len"], sink["received"], sink["queued"]), (600, 0, 600), "sink")
    check(flows.truth["server"] not in boxes, "what the server took is not in its mailbox")


@case("-e message_queued alone: all that is queued is counted, live and from a capture")
def queued_only(ctx):
    flows = Flows(ctx)
    path = ctx.ebeam.file(".ebeam")
    recorder = Watch(ctx, ctx.node, "-e", "message_queued", "-o", path, command="msg", json_lines=False)
    answer = Watch(ctx, ctx.node, "-e", "message_queued", "--by", "process", command="msg")
    truth = flows.flow(100)
    recorder.text()
    replayed = ctx.ebeam.ok("msg", "-i", path, "-j", "--by", "process").json()["data"]
    known = {flows.truth["sink"], flows.truth["server"], *flows.truth["senders"]}
    for data in (answer.answer(), replayed):
        check_equal(rows_of(data, known), flows.expected(100, truth["sizes"]), "pairs")


@case("rows in the order and number that were asked for, as JSON too; the rest is reported")
def order(ctx):
    flows = Flows(ctx)
    path = ctx.ebeam.file(".ebeam")
    recorder = Watch(ctx, ctx.node, "-o", path, command="msg", json_lines=False)
    flows.flow(50)
    recorder.text()
    args = ("msg", "-i", path, "--rows", "receiver", "--by", "process", "-s", "-bytes")
    rows = ctx.ebeam.ok(*args, "-j").json()["data"]["rows"]
    check(len(rows) > 2, f"{rows}")
    check_equal([r["bytes"] for r in rows], sorted(r["bytes"] for r in rows), "ascending")
    few = ctx.ebeam.ok(*args, "-j", "-n", "2").json()["data"]["rows"]
    check_equal(few, rows[:2], "-n after -s")
    check_in(f"(1 of {len(rows)}; -n shows more)", ctx.ebeam.ok(*args, "-n", "1").out, "the rest")


@case("--watch: answers add up to what was sent, the length goes on from the one before")
def watch(ctx):
    flows = Flows(ctx)
    answer = Watch(ctx, ctx.node, "--by", "process", "--watch", "300ms", command="msg")
    total = 0
    for _ in range(3):
        total += 600
        truth = flows.flow(100)
    answers = [a["data"] for a in answer.answers()]
    check_equal(truth["sink_len"], total, "sink")
    known = {flows.truth["sink"], *flows.truth["senders"]}
    check_equal(sum(m for a in answers for m, _ in rows_of(a, known).values()), total, "messages")
    grown = sum(b["growth"] for a in answers for b in a["mailboxes"]
                if b["pid"] == flows.truth["sink"])
    check_equal(grown, total, "growth of all answers")


@case("what cannot be: kinds that are none of messages, groups that there are not", otp="one")
def usage(ctx):
    for args, text in ((("-e", "gc", "-d", "1"), "message_send"),
                       (("-s", "nothing", "-d", "1"), "nothing"),
                       (("-c", "to", "-s", "to", "--rows", "sender", "-d", "1"), "'to'"),
                       (("-j", "-s", "nothing", "-i", "x.ebeam"), "nothing"),
                       (("--rows", "process", "-d", "1"), "pair, sender, receiver"),
                       (("--by", "function", "-d", "1"), "name, process, initial-call"),
                       (("-i", "x.ebeam", "-d", "1"), "cannot be combined with -p, -d or --watch")):
        result = ctx.ebeam.run("msg", *args)
        check_equal(result.code, 2, str(result))
        check_in(text, result.err, str(args))
