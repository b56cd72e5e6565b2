# SPDX-License-Identifier: BSD-2-Clause
"""`ebeam events`: workloads that do an exact number of things; counts and fields are equal, and
nothing is lost that is not counted."""
import itertools
import json
import os
import subprocess
import time
from collections import Counter

from answers import Watch, need_events  # noqa: F401 (for cases that import it from here)
from ebeam import bpf_descriptors
from harness import Skip, case, check, check_equal, check_in
from nodes import TOP

SIDE_BY_SIDE = True

FINDER = os.path.join(TOP, "build", "tools", "functions")
GC_KINDS = ("gc_minor_start", "gc_minor_end", "gc_major_start", "gc_major_end")


def watched(ctx, kinds, *question, args=()):
    """Events of the shared node while it answers a question; (answer, events)."""
    watch = Watch(ctx, ctx.node, "-e", kinds, *args)
    answer = ctx.node.ask("happenings", *question)
    return answer, watch.events()


def of(events, kind, **fields):
    return [e for e in events
            if kind in (None, e.get("kind")) and all(e[k] == v for k, v in fields.items())]


@case("messages: as many as were sent, of the right size, between the right processes")
def messages(ctx):
    for count, words in ((1, 0), (200, 20), (50, 5000)):
        truth, events = watched(ctx, "message", "messages", count, words)
        sender, receiver = truth["sender"], truth["receiver"]
        sent = of(events, "message_send", pid=sender, to=receiver)
        check_equal([e["size"] for e in sent], [truth["size"]] * count, "sizes of messages sent")
        queued = of(events, "message_queued", pid=receiver)
        check_equal(Counter(e["from"] for e in queued),
                    Counter({sender: count, truth["coordinator"]: 1}), "who put messages there")
        check_equal([e["size"] for e in queued if e["from"] == sender], [truth["size"]] * count,
                    "sizes of messages queued")
        received = of(events, "message_receive", pid=receiver)
        check_equal(Counter(e["from"] for e in received), Counter(e["from"] for e in queued),
                    "received")
        check(all(e["queue_len"] >= 1 for e in received), "queue_len before receive")


@case("messages to an alias: to whose it is")
def aliases(ctx):
    truth, events = watched(ctx, "message", "aliases", 10)
    sent = of(events, "message_send", pid=truth["sender"], to=truth["owner"])
    check_equal([e["alias"] for e in sent], [truth["alias"]] * truth["count"], "aliases")
    received = of(events, "message_receive", pid=truth["owner"])
    check_equal([e["from"] for e in received], [truth["sender"]] * truth["count"], "received")


@case("calls of a server: each message that the node's own trace says was sent and came")
def calls(ctx):
    watch = Watch(ctx, ctx.node, "-e", "message")
    truth = ctx.node.ask("calls", "run", 100)
    # What the coordinator says to them, and what of the trace they send themselves.
    events, others = watch.events(), set(truth["others"])
    others |= {e["alias"] for e in of(events, "message_send") if e["to"] in others} - {None}
    events = [e for e in events if not {e.get("to"), e.get("from")} & others]
    on_heap, off_heap, own, late = truth["clients"]
    owners, compared = {}, 0
    for pid in (truth["server"], *truth["clients"]):
        sent = [t for t in truth["sent"] if t["pid"] == pid and not {t["to"], t["alias"]} & others]
        found = of(events, "message_send", pid=pid)
        check_equal(len(found), len(sent), f"messages that {pid} sent")
        for e, t in zip(found, sent):
            owners.setdefault(e["alias"], e["to"])
            # Room for those that are kept off heap is made where it cannot be seen.
            size = None if e["to"] == off_heap else t["size"]
            check_equal((e["alias"], e["to"], e["size"]),
                        (t["alias"], t["to"] or owners.get(t["alias"]), size), f"{t}, seen as {e}")
            compared += 3
        came = [t for t in truth["received"] if t["pid"] == pid]
        queued = of(events, "message_queued", pid=pid)
        taken = of(events, "message_receive", pid=pid)
        if pid == late:
            # The replies: dropped when it looks at them, as it does not wait any more.
            check_equal((len(queued), len(came), len(taken)), (truth["count"], 0, 0), "too late")
            continue
        check_equal((len(queued), len(taken)), (len(came),) * 2, f"messages that came to {pid}")
        if pid != off_heap:
            check_equal(sorted(e["size"] for e in queued), sorted(t["size"] for t in came), pid)
        compared += 2 * len(came)
    check_equal(set(owners.values()), {truth["server"], *truth["clients"]}, "receivers")
    check_equal([len(of(events, "message_queued", pid=p)) for p in truth["clients"]],
                [truth["count"]] * 4, "replies, and messages to itself")
    print(f"{compared} facts of {len(events)} events compared")


@case("messages to another node: to names and to pids")
def remote(ctx):
    other = ctx.new_node(name=f"far{ctx.otp}@127.0.0.1")
    ctx.node.ask("happenings", "remote", 1, other.name)
    truth, events = watched(ctx, "message_send", "remote", 10, other.name)
    sent = [e for e in of(events, "message_send", pid=truth["sender"]) if e["node"]]
    check_equal([(e["node"], e["name"], e["to"]) for e in sent],
                [(f"'{other.name}'", "nobody_there", None),
                 (f"'{other.name}'", None, None)] * truth["count"], "messages")


@case("messages from another node: of its processes, and its replies to calls, by aliases")
def from_afar(ctx):
    other = ctx.new_node(name=f"afar{ctx.otp}@127.0.0.1")
    ctx.node.ask("happenings", "far_calls", 1, other.name)
    truth, events = watched(ctx, "message", "far_calls", 100, other.name)
    queued = of(events, "message_queued", pid=truth["caller"])
    name, times = f"'{other.name}'", 2 * truth["count"]
    check_equal(Counter((e["from"], e["size"]) for e in queued),
                Counter({(name if ctx.release > 24 else None, None): times}), "put there")
    taken = of(events, "message_receive", pid=truth["caller"])
    check_equal(Counter(e["from"] for e in taken), Counter({name: times}), "received")
    check_equal([e["queue_len"] for e in queued], [0] * len(queued), "one at a time")
    print(f"{len(queued)} messages of another node")


@case("processes: each spawn with its entry and parent, each exit with its reason")
def spawns(ctx):
    truth, events = watched(ctx, "process", "spawns", 20)
    compared = 0
    for child in truth["children"]:
        born = of(events, "process_spawn", pid=child["pid"])
        died = of(events, "process_exit", pid=child["pid"])
        check_equal([(e["parent"], e["entry"]) for e in born],
                    [(truth["parent"], "happenings:child/2")], f"spawn of {child}")
        check_equal([e["reason"] for e in died], [child["reason"]], f"exit of {child}")
        compared += 3
    print(f"{compared} fields of {len(truth['children'])} processes compared")


@case("names: each given and taken, by whom, also at exit and by others")
def names(ctx):
    truth, events = watched(ctx, "process_register,process_unregister", "names", 10)
    own = [e for e in events if e["pid"] == truth["pid"]]
    wanted = [(kind, name) for name in truth["names"]
              for kind in ("process_register", "process_unregister")]
    check_equal([(e["kind"], e["name"]) for e in own], wanted, "names of one process")
    check(all(e["registered_name"] == e["name"] for e in own), "the name that it has then")
    check(all(e["by"] == truth["pid"] for e in of(own, "process_unregister")), "taken by itself")
    last = [(e["kind"], e["name"], e["pid"]) for e in events if e["name"] == "happening_last"]
    check_equal(last, [("process_register", "happening_last", truth["last"]),
                       ("process_unregister", "happening_last", truth["last"])], "lost at exit")
    odd = [(e["kind"], e["pid"], e.get("by")) for e in events if e["name"] == "'an odd name'"]
    check_equal(odd, [("process_register", truth["victim"], None),
                      ("process_unregister", None, truth["by"])], "taken by another")


@case("links: made, taken away, and made by spawn_link")
def links(ctx):
    truth, events = watched(ctx, "process_link,process_unlink", "links", 10)
    linked = [e["to"] for e in of(events, "process_link", pid=truth["pid"])]
    pairs = [pid for pair in zip(truth["linked"], truth["born"]) for pid in pair]
    check_equal(linked, pairs, "links")
    check_equal([e["to"] for e in of(events, "process_unlink", pid=truth["pid"])],
                truth["linked"], "unlinks")


@case("scheduling: in and out in turn, as often as the process waited")
def slices(ctx):
    truth, events = watched(ctx, "process_scheduled", "slices", 20)
    own = [e for e in events if e["pid"] == truth["pid"]]
    kinds = [e["type"] for e in own]
    check_equal(kinds, ["in", "out"] * truth["slices"] + ["in", "out_exited"], "in and out")
    for e in own[1:-1]:
        check_equal(e["entry"], "happenings:sleeper/2", f"where it goes on: {e}")
    check(all((e["reductions"] is None) == (e["type"] == "in") for e in own), "reductions")
    check(all(0 < e["reductions"] < 4000 for e in own if e["type"] == "out"), "reductions")
    check(all(e["scheduler"] in (1, 2) for e in own), "schedulers")
    check_equal([e["status"] for e in own], [None, "waiting"] * truth["slices"] + [None, None],
                "status")


@case("hibernation: as often as it was asked for")
def hibernations(ctx):
    truth, events = watched(ctx, "process_hibernate", "hibernations", 10)
    own = of(events, "process_hibernate", pid=truth["pid"])
    check_equal([e["entry"] for e in own], ["erlang:apply/2"] * truth["count"], "hibernations")
    if ctx.release < 28:  # has no hibernate/0
        return
    truth, events = watched(ctx, "process_hibernate", "rests", 10)
    own = of(events, "process_hibernate", pid=truth["pid"])
    check_equal([e["entry"] for e in own], [None] * truth["count"], "those that go on where they were")


@case("exceptions: class and reason of each that is caught, and of each that ends a process")
def exceptions(ctx):
    truth, events = watched(ctx, "process_exception", "raises", 25)
    own = of(events, "process_exception", pid=truth["pid"])
    check_equal([[e["class"], e["reason"]] for e in own], truth["caught"], "those that are caught")
    for e in own:
        check(e["state"] == "caught" and e["height"] > 0, f"{e}")
    for end in truth["ends"]:
        seen = of(events, "process_exception", pid=end["pid"])
        check_equal([(e["class"], e["reason"], e["state"], e["height"]) for e in seen],
                    [(end["class"], end["reason"], "uncaught", 0)], f"the end of {end['pid']}")
    print(f"{len(own)} exceptions that were caught, {len(truth['ends'])} that were not compared")


@case("exceptions that are caught, with --stack: of who raised them, as the node's stack trace says")
def raised_by(ctx):
    truth, events = watched(ctx, "process_exception", "raises", 25, args=("--stack",))
    own = of(events, "process_exception", pid=truth["pid"])
    check_equal(len(own), 25, "exceptions")
    for e, reported in zip(own, truth["stacks"]):
        # The node leaves out equal frames behind each other.
        seen, wanted = ([mfa for mfa, _ in itertools.groupby(stack)] for stack in
                        ([f["mfa"] for f in e["stack"]], reported))
        if wanted[0] != "happenings:raise/1":
            del wanted[0]  # a BIF, which has no frame
        check(len(wanted) >= 3 and wanted[0] in seen, f"stack of {e['class']} {e['reason']}: {seen}, {reported}")
        raiser = seen.index(wanted[0])
        check_equal(seen[raiser:raiser + len(wanted)], wanted, f"stack of {e['class']} {e['reason']}")


@case("garbage collection: what erlang:trace says, event by event; dirty schedulers too")
def collections(ctx):
    truth, events = watched(ctx, "gc", "collections", 20)
    own = [e for e in events if e["pid"] == truth["pid"]]
    traced = truth["events"]
    for kind in GC_KINDS:
        check_equal(len(of(own, kind)), len(of(traced, kind)), f"number of {kind}")
    check_equal([(e["kind"], e["heap"], e["old_heap"]) for e in own],
                [(e["kind"], e["heap"], e["old_heap"]) for e in traced], "all fields, in order")
    check(len(of(own, "gc_major_end")) >= truth["explicit"] + 3, "explicit major ones")
    check(len(of(own, "gc_minor_end")) >= truth["explicit"], "explicit minor ones")
    ends = [e for e in own if e["kind"].endswith("_end")]
    check(all(e["duration_ns"] > 0 for e in of(own, "gc_major_end")), "durations")
    dirty = [e for e in ends if "dirty" in e["thread"] or "dcpu" in e["thread"]]
    check(len(dirty) >= 3, f"dirty ones: {sorted({e['thread'] for e in ends})}")
    check(all(e["reclaimed"] is not None for e in ends), "reclaimed")
    print(f"{3 * len(own)} fields of {len(own)} events compared, {len(dirty)} dirty collections")


@case("words reclaimed: in all as many as the node counts, those of dirty schedulers among them")
def reclaimed(ctx):
    truth, events = watched(ctx, "gc,message_send", "reclaimed", 20)
    marks = [i for i, e in enumerate(events)
             if e["kind"] == "message_send" and e["to"] == truth["marker"]]
    between = events[marks[truth["first"] - 1]:marks[truth["last"] - 1]]
    ends = [e for e in between if e["kind"] in ("gc_minor_end", "gc_major_end")]
    dirty = [e for e in ends if "dirty" in e["thread"] or "dcpu" in e["thread"]]
    check(len(dirty) >= 40, f"dirty ones: {len(dirty)}")
    check(all(e["reclaimed"] is not None for e in ends), "reclaimed")
    check_equal(sum(e["reclaimed"] for e in ends), truth["reclaimed"], "words of all")
    words = sum(e["reclaimed"] for e in dirty)
    check(0 < words < truth["reclaimed"], f"words of dirty ones: {words}")
    last = [e for e in events if e["pid"] == truth["overfull"] and e in of(events, "gc_major_end")]
    if ctx.source != "usdt":
        check(None in [e["reclaimed"] for e in last], f"of a queue that is too long: {last}")
    print(f"{truth['reclaimed']} words of {len(ends)} collections, {words} of {len(dirty)} dirty ones")


@case("ports: opened, written to and closed")
def ports(ctx):
    truth, events = watched(ctx, "port", "ports", 5)
    for port in truth["ports"]:
        own = [e for e in events if e["port"] == port and e["kind"] != "port_scheduled"]
        check_equal([(e["kind"], e["pid"], e["driver"]) for e in own],
                    [(k, truth["pid"], "spawn") for k in
                     ("port_open", "port_command", "port_command", "port_exit")], port)
        check_equal(own[0]["name"], "cat", "name")
        check_equal(own[-1]["reason"], "normal", "reason")


@case("stacks: the function that did it, and who called it")
def stacks(ctx):
    truth, events = watched(ctx, "message_send,process_link,gc", "messages", 20, 20,
                            args=("--stack",))
    sent = of(events, "message_send", pid=truth["sender"], to=truth["receiver"])
    check_equal(len(sent), 20, "messages")
    for e in sent:
        frames = [f["mfa"] for f in e["stack"]]
        check_in("happenings:send/3", frames, "stack of a send")
        # By its symbol, or as it was found without.
        check_in(frames[0], ("beam.smp:erts_queue_proc_message", "beam.smp:queue_messages",
                             "erlang:send/2"), "top of the stack")
        line = [f for f in e["stack"] if f["mfa"] == "happenings:send/3"][0]
        check(line["file"].endswith("happenings.erl") and line["line"], f"line: {line}")


@case("--process: only events of that process, by pid and by name")
def one_process(ctx):
    for who in ("<0.0.0>", "init"):
        watch = Watch(ctx, ctx.node, "-e", "message,scheduler", "--process", who)
        ctx.node.ask("happenings", "messages", 50, 4)
        check_equal({e["pid"] for e in watch.events()} - {"<0.0.0>"}, set(), f"--process {who}")


@case("a capture shows the same events as the stream, and filters them as well")
def capture(ctx):
    path = ctx.ebeam.file(".ebeam")
    kinds = "process,message_send,gc"
    recorder = Watch(ctx, ctx.node, "-e", kinds, "--stack", "-o", path)
    stream = Watch(ctx, ctx.node, "-e", kinds, "--stack")
    truth = ctx.node.ask("happenings", "spawns", 5)
    ctx.node.ask("happenings", "messages", 100, 10)
    recorder.end()
    live = stream.events()
    replay = [json.loads(line) for line in
              ctx.ebeam.ok("events", "-i", path, "-j", "--stack").out.splitlines()]
    check_equal(recorder.closing()[0], len(replay), "events of the capture")
    pids = {c["pid"] for c in truth["children"]}

    def bare(events):
        # Two probes on one function see it at two times.
        return [{k: v for k, v in e.items() if k not in ("ts_ns", "duration_ns", "cpu")}
                for e in events if e["pid"] in pids]
    check_equal(bare(replay), bare(live), "events of the children")
    check_equal(len(bare(replay)) >= 2 * len(pids), True, "events of the children")
    one = ctx.ebeam.ok("events", "-i", path, "-j", "-e", "process_exit", "--process",
                       truth["children"][0]["pid"]).out.splitlines()
    check_equal([json.loads(line)["reason"] for line in one], ["normal"], "filtered")
    few = ctx.ebeam.ok("events", "-i", path, "-n", "3").out.splitlines()
    check_equal(len(few), 3, "-n 3")
    with open(path, "rb") as f:
        whole = f.read()
    cut = ctx.ebeam.file(".ebeam")
    with open(cut, "wb") as f:
        f.write(whole[:len(whole) * 2 // 3])
    result = ctx.ebeam.run("events", "-i", cut, "-j")
    check_equal(result.code, 7, str(result))
    check_in("damaged", result.err, "a cut capture")


@case("ping-pong: received and lost are what was produced, order and pairs hold")
def storm(ctx):
    watch = Watch(ctx, ctx.node, "-e", "message_send,message_receive")
    truth = ctx.node.ask("happenings", "storm", 1)
    watch.end()
    shown, lost = watch.closing()
    events = [json.loads(line) for line in watch.out.decode().splitlines()]
    check_equal(len(events), shown, "events of the closing line")
    pings = len(of(events, "message_send", pid=truth["pinger"], to=truth["ponger"]))
    # To the coordinator goes the last one.
    check(pings <= truth["trips"], f"{pings} pings of {truth['trips']}")
    check(pings + lost >= truth["trips"], f"{pings} pings, {lost} lost of {truth['trips']}")
    if lost == 0:
        check_equal(pings, truth["trips"], "pings")
    print(f"{truth['trips']} round trips, {shown} events, {lost} lost")


@case("samples taken while events are watched are as whole as without")
def with_samples(ctx):
    with ctx.workload("gc_heavy"):
        watch = Watch(ctx, ctx.node, "-e", "gc,scheduler", "-o", ctx.ebeam.file(".ebeam"))
        profile = ctx.ebeam.record(ctx.node, 2)
        watch.end()
    profile.check_complete(0.99)


@case("the node exits in mid-stream: all until then, and exit 0")
def node_exits(ctx):
    node = ctx.new_node(flags=("+S", "2:2"))
    watch = Watch(ctx, node, "-e", "process")
    truth = node.ask("happenings", "spawns", 2)
    node.close()
    watch.process.wait(30)
    events = watch.events()
    check(any("exited" in line for line in watch.err), f"{watch.err}")
    died = {e["pid"] for e in of(events, "process_exit")}
    check({c["pid"] for c in truth["children"]} <= died, "exits before that of the node")


@case("nobody reads standard output any more: a quiet end, nothing attached")
def output_closed(ctx):
    read_end, write_end = os.pipe()
    watch = Watch(ctx, ctx.node, "-e", "message", stdout=write_end)
    os.close(write_end)
    os.close(read_end)
    ctx.node.ask("happenings", "messages", 2000, 10)
    watch.process.wait(30)
    watch.end()
    check(not any("error" in line.lower() for line in watch.err), f"{watch.err}")
    check_equal(bpf_descriptors(watch.process.pid), [], "programs and links")


@case("killed with -9: nothing stays attached, the node goes on", otp="one")
def killed(ctx):
    watch = Watch(ctx, ctx.node, "-e", "all")
    pid = watch.process.pid
    programs = {d["prog_id"] for d in bpf_descriptors(pid) if "prog_id" in d}
    check(programs, "programs of a run")
    watch.process.kill()
    watch.process.wait(60)
    truth = ctx.node.ask("happenings", "messages", 10, 10)
    check_equal(truth["count"], 10, "messages of the node")
    loaded = programs
    for _ in range(100):  # the kernel frees them after a grace period
        left = subprocess.run(["bpftool", "prog", "list"], capture_output=True, text=True)
        loaded = {line.split(":")[0] for line in left.stdout.splitlines() if line[:1].isdigit()}
        if left.returncode or not programs & loaded:
            break
        time.sleep(0.1)
    check(left.returncode or not programs & loaded, f"programs left: {programs & loaded}")
    # The probes are gone: a new run sees everything once.
    truth, events = watched(ctx, "message_send", "messages", 10, 10)
    check_equal(len(of(events, "message_send", pid=truth["sender"], to=truth["receiver"])), 10,
                "messages of a new run")


@case("kinds that are not to be had have a reason; functions found by what calls them are the right ones")
def functions(ctx):
    rows = ctx.ebeam.ok("events", "--list", "-j", "-p", ctx.node.os_pid).json()
    missing = {r["kind"]: r["why"] for r in rows if not r["available"]}
    copied = {kind for kind, why in missing.items() if "the compiler has put a copy of it" in why}
    allowed = set(missing) if ctx.release >= 29 else copied if ctx.release == 24 else set()
    check(all(missing.values()) and set(missing) == allowed, f"{missing}")
    if not os.path.exists(FINDER):
        raise Skip("build/tools/functions is not built: make tools")
    found = subprocess.run([FINDER, str(ctx.node.os_pid), "--check"], capture_output=True, text=True)
    verdicts = Counter(line.split()[2].strip(":") for line in found.stdout.splitlines())
    if ctx.own_build:
        # Probes in its code, or another compiler's choices, change what calls what: fewer are
        # found, but none that is wrong.  Where symbols are exported, these are not needed.
        check_equal(verdicts["WRONG"], 0, found.stdout)
        check(verdicts["equal"] >= 15, found.stdout)
    else:
        check_equal(found.returncode, 0, f"{found.stdout}{found.stderr}")
        check_equal(set(verdicts), {"no"} if ctx.release >= 29 else {"equal"}, found.stdout)
    check(sum(verdicts.values()) >= 25, f"functions: {found.stdout}")
    print(f"{sum(verdicts.values())} functions found without symbols, compared: {verdicts}")


@case("what cannot be: a kind that there is not, options that do not go together", otp="one")
def usage(ctx):
    for args, text in ((("-e", "gc_mnior_end", "-d", "1"), "did you mean 'gc_minor_end'"),
                       (("-e", "gc,,port", "-d", "1"), "there is no event ''"),
                       (("-i", "x.ebeam", "-d", "1"), "cannot be combined with -p, -d or --watch"),
                       ((), "-d 10s")):
        result = ctx.ebeam.run("events", *args)
        check_equal(result.code, 2, str(result))
        check_in(text, result.err, str(args))
