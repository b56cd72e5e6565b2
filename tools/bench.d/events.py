# SPDX-License-Identifier: BSD-2-Clause
"""Events of the VM: what a hit costs, what the node loses, what ebeam can take in."""
import json
import os
import re
import shutil
import signal
import statistics
import subprocess
import threading
import time

from common import Bench, Nothing, Running, cpu_ns, middle
from ebeam import bpf_descriptors
from nodes import TOP

# Operation of workloads/rates.erl, kinds that it makes, and the functions whose entry (and return)
# tell the same: what the peer counts.
HITS = (
    ("send", "message_send,message_queued", ("erts_queue_proc_message",), ()),
    ("yield", "process_scheduled", ("erts_schedule",), ("erts_schedule",)),
    ("collect", "gc", ("erts_garbage_collect_nobump", "erts_garbage_collect"),
     ("erts_garbage_collect_nobump", "erts_garbage_collect")),
    ("spawn", "process_spawn", ("erl_create_process",), ("erl_create_process",)),
    ("register", "process_register,process_unregister",
     ("erts_register_name", "erts_unregister_name"), ("erts_register_name",)),
    ("link", "process_link,process_unlink",
     ("erts_proc_sig_send_link", "erts_proc_sig_send_unlink"), ()),
)
# What a collection was stands in the process: gen_gcs is one more after a minor one, and 0 after a
# major one.
MINOR_AND_MAJOR = """
uprobe:%(exe)s:erts_garbage_collect_nobump, uprobe:%(exe)s:erts_garbage_collect
{ @process[tid] = arg0; @before[tid] = *(uint16 *)uptr(arg0 + %(gen_gcs)d); }
uretprobe:%(exe)s:erts_garbage_collect_nobump, uretprobe:%(exe)s:erts_garbage_collect /@process[tid]/
{ if (*(uint16 *)uptr(@process[tid] + %(gen_gcs)d) > @before[tid]) { @minor = count(); }
  else { @major = count(); } delete(@process[tid]); delete(@before[tid]); @ = count(); }
"""
UNLIMITED = ("--max-overhead", "100")
NOBODY = "<0.1.0>"  # erts_code_purger, which waits


class Watching(Running):
    """A command with events under way, its lines thrown away."""

    SETTLE = 3  # the first windows of the budget, too
    READY = "probes attached"

    def __init__(self, bench, node, *args):
        super().__init__(bench, *args, "-v", "-p", node.os_pid, "-d", 600,
                         stdout=subprocess.DEVNULL)


class Counting:
    """The peer: bpftrace at the entries and returns of the same functions.  It does not say when it
    has begun, so `hit` is done until it counts."""

    def __init__(self, node, script, hit):
        self.hit = hit
        self.process = subprocess.Popen(
            ["bpftrace", "-B", "line", "-p", str(node.os_pid), "-e",
             script + " interval:ms:200 { print(@); }"],
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        self.counts = threading.Event()
        self.said = b""
        self.reader = threading.Thread(target=self.read, daemon=True)
        self.reader.start()

    def read(self):
        for line in self.process.stdout:
            self.said = line if line.strip() else self.said
            if re.match(rb"@: [1-9]", line):
                self.counts.set()

    def settle(self):
        for _ in range(300):
            self.hit()
            if self.counts.wait(0.2):
                return
            if self.process.poll() is not None:
                break
        raise SystemExit(f"bpftrace does not count: {self.said.decode()}")

    def end(self):
        self.process.send_signal(signal.SIGINT)
        self.process.wait(timeout=120)


class Events(Bench):
    PAIRS = 11

    # ---- a hit -----------------------------------------------------------------------------

    def hits(self):
        if not shutil.which("bpftrace"):
            raise SystemExit("bench: the peer bpftrace is not there (apt-get install bpftrace)")
        node = self.node("+S", "1:1")  # a core is left for whoever reads
        for operation, kinds, entries, returns in HITS:
            self.hit(node, operation, kinds, entries, returns)
        node.close()

    def script(self, node, operation, entries, returns):
        exe = os.path.realpath(f"/proc/{node.os_pid}/exe")
        if operation == "collect":
            return MINOR_AND_MAJOR % {"exe": exe, "gen_gcs": self.offset("process_gen_gcs")}
        probes = [f"uprobe:{exe}:{f}" for f in entries] + [f"uretprobe:{exe}:{f}" for f in returns]
        return f"{','.join(probes)} {{ @ = count(); }}"

    def offset(self, field):
        """Of the layout that ebeam has for this release."""
        with open(os.path.join(TOP, f"src/beam/otp/otp{self.args.otp}.c")) as f:
            return int(re.search(rf"\.{field} = (\d+)", f.read())[1])

    def hit(self, node, operation, kinds, entries, returns):
        """CPU time of the node for one operation: turns of alone, ebeam and bpftrace, so that what
        the machine does falls on all.  ebeam counts as the peer does, or delivers a record with all
        fields for each hit, or drops that by a filter."""
        times = 2000 if self.args.quick else 30000
        watch = ("events", "-e", kinds, *UNLIMITED)
        observers = {
            "alone": Nothing,
            "counts": lambda: Watching(self, node, *watch, "--count"),
            "records": lambda: Watching(self, node, *watch),
            "dropped": lambda: Watching(self, node, *watch, "--process", NOBODY),
            "bpftrace": lambda: Counting(node, self.script(node, operation, entries, returns),
                                         lambda: node.ask("rates", operation, 10)),
        }
        found = {name: [] for name in observers}
        for _ in range(2 if self.args.quick else 4):
            for name, make in observers.items():
                observer = make()
                observer.settle()
                for _ in range(5):
                    used = cpu_ns(node.os_pid)
                    node.ask("rates", operation, times)
                    found[name].append((cpu_ns(node.os_pid) - used) / times)
                observer.end()
        alone, counts, records, dropped, theirs = (statistics.median(found[name]) for name in observers)
        goal = 0.5 if theirs - alone > 3000 else 1.15
        what = ("minor and major ones" if operation == "collect" else
                f"hits at {'entry and return' if returns else 'entry'}")
        self.row(f"cost of `{operation}`: ebeam counting ({kinds}) : bpftrace counting {what}",
                 counts, theirs, alone, goal)
        self.row("the same, ebeam with a record of each hit : bpftrace counting",
                 records, theirs, alone, None)
        self.row("the same, ebeam with a filter that drops each hit : bpftrace counting",
                 dropped, theirs, alone, None)

    def row(self, what, ours, theirs, alone, goal):
        ratio = (ours - alone) / max(theirs - alone, 1)
        self.table.add(
            what,
            f"{ratio:.2f} ({ours - alone:,.0f} ns : {theirs - alone:,.0f} ns; alone {alone:,.0f})",
            f"<= {goal}" if goal else "", ratio <= goal if goal else None)

    # ---- taking in --------------------------------------------------------------------------

    def drain(self):
        """As many events as two processes at full speed make, into a capture."""
        node = self.node()
        path = self.ebeam.file(".ebeam")
        seconds = 2 if self.args.quick else 10
        node.start("pingpong")
        watching = Watching(self, node, "events", "-e", "message", *UNLIMITED, "-o", path)
        watching.settle()
        used, began = watching.cpu_ns(), time.monotonic()
        time.sleep(seconds)
        core = (watching.cpu_ns() - used) / 1e9 / (time.monotonic() - began)
        said = watching.end()
        elapsed = time.monotonic() - watching.began
        node.stop("pingpong")
        node.close()
        count = int(re.search(r"Events: ([\d,]+)", said).group(1).replace(",", ""))
        lost = int(re.search(r"lost ([\d,]+)", said).group(1).replace(",", ""))
        self.table.add("events taken in, ping-pong without a budget",
                       f"{count / elapsed:,.0f} a second, {lost:,} lost, "
                       f"{100 * core:.0f} % of a core",
                       ">= 300,000 a second, 0 lost, <= 100 %",
                       count / elapsed >= 300000 and lost == 0 and core <= 1)

    # ---- what the node loses ----------------------------------------------------------------

    def pingpong(self):
        node = self.node()
        self.add_ratio(node, "pingpong", "ping-pong, `events -e message` with the default budget",
                       ("events", "-e", "message"))
        self.noise(node, "pingpong")
        node.close()

    def web(self):
        """Once with a core left for whoever watches, once with none."""
        for flags, what in ((("+S", "1:1"), "one scheduler, a core is left"),
                            ((), "as many schedulers as cores")):
            self.web_on(self.node(*flags), what)

    def web_on(self, node, what):
        node.start("web", settle=self.window)
        truth = node.stop("web")
        per_s = {k: truth[k] / truth["elapsed_ns"] * 1e9
                 for k in ("messages", "spawns", "collections")}
        load = ", ".join(f"{v:,.0f} {k}/s" for k, v in per_s.items())
        self.table.add(f"a busy web node (workload `web`), {what}", load)
        for view in ("sched", "gc", "msg", "proc"):
            self.add_ratio(node, "web", f"the same with `{view}` : alone", (view,))
        self.noise(node, "web")
        node.close()

    def noise(self, node, work):
        _, text = middle(self.ratios(node, Nothing, work))
        self.table.add(f"`{work}` with nobody watching : alone (the noise of this table)", text)

    def add_ratio(self, node, work, label, args):
        said = []

        class Watched(Watching):
            def end(self):
                said.append(super().end())

        median, text = middle(self.ratios(node, lambda: Watched(self, node, *args), work))
        share = re.findall(r"\w+ (?:sampled [\d.]+ %|dropped)", said[-1])
        self.table.add(label, text + (f"; {', '.join(sorted(set(share)))}" if share else ""),
                       ">= 0.97", median >= 0.97)

    def after(self):
        """Back to what it was, and nothing left behind."""
        node = self.node()
        before = self.busy_rate(node, Nothing(), "pingpong")
        rates, links = [], 0
        for _ in range(self.pairs):
            watching = Watching(self, node, "events", "-e", "message,scheduler,gc", *UNLIMITED)
            node.start("pingpong")
            watching.settle()
            watching.end()
            node.stop("pingpong")
            rates.append(self.busy_rate(node, Nothing(), "pingpong") / before)
        links = len(bpf_descriptors(node.os_pid))
        with open(f"/proc/{node.os_pid}/maps") as f:
            trampolines = f.read().count("[uprobes]")
        median, text = middle(rates)
        self.table.add("ping-pong after ebeam has gone : before", text, "1", None)
        found = subprocess.run(["bpftool", "-j", "link"], capture_output=True, text=True)
        if found.returncode == 0:
            links += sum(1 for link in json.loads(found.stdout or "[]")
                         if link.get("type") in ("uprobe_multi", "perf_event"))
        self.table.add("links left behind", f"{links}", "0", links == 0)
        # The page for single steps stays with the address space, whoever put the first probe.
        self.table.add("pages `[uprobes]` in the node's maps", f"{trampolines}", "<= 1",
                       trampolines <= 1)
