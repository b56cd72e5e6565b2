# SPDX-License-Identifier: BSD-2-Clause
"""`ebeam trace`: what a call costs that is shown, and one that the pattern rejects; what a node
loses; beside it the tracers that people use inside of nodes: dbg, recon_trace, redbug."""
import glob
import os
import re
import shutil
import signal
import statistics
import subprocess
import time
from functools import partial

from common import Bench, Nothing, Running, cpu_ns, middle
from live import reset_peak, status_mb
from nodes import Node

FUNCTION = "peer_tracers:work/2"
PATTERNS = {"calls": FUNCTION, "returns": f"{FUNCTION} -> return",
            "rejected": "peer_tracers:work(never, _)"}
WATCHED = {"calls": "a call that is shown", "returns": "a call and its result",
           "rejected": "a call that the pattern rejects"}
# Each prints to a group leader that writes to /dev/null; dbg once more to a file of its driver.
PEERS = {"dbg": "`dbg`", "dbg_port": "`dbg` to a trace file", "recon": "`recon_trace`",
         "redbug": "`redbug`"}
UNLIMITED = ("--max-overhead", "100", "--rate", "1000000")
WIDER = ("--max-overhead", "5")
LONG = ("-d", 3600, "-n", 1000000000)


class Tracing(Running):
    """`ebeam trace` under way, its lines thrown away."""

    READY = "probes attached"
    EXITS = (0, 7)  # 7: a limit tripped

    def __init__(self, bench, node, *args):
        super().__init__(bench, "trace", "-v", "-p", node.os_pid, *LONG, *args,
                         stdout=subprocess.DEVNULL)

    def end(self):
        said = super().end()
        seen = re.search(r"seen ([\d.e+]+) % of the time", said)
        self.seen = float(seen.group(1)) if seen else 100.0
        return said


class Peer:
    """A tracer inside of the node."""

    def __init__(self, node, tool, what):
        self.node, self.tool, self.what = node, tool, what

    def settle(self):
        self.node.ask("peer_tracers", "begin_trace", self.tool, self.what)
        time.sleep(Running.SETTLE)

    def end(self):
        self.node.ask("peer_tracers", "end_trace", timeout=600)


def us(ns):
    return f"{ns / 1e3:,.2f} us"


class Trace(Bench):
    PAIRS = 11

    def __init__(self, *args):
        super().__init__(*args)
        self.libraries = self.find_libraries()
        self.missing = set()

    def find_libraries(self):
        """For ERL_LIBS: what is there (below /tmp for releases that have a root of their own), and
        recon, which the package of RabbitMQ brings along."""
        place = os.path.join(self.work_dir, "rabbitmq")
        libraries = os.path.join(self.work_dir, "libraries")
        os.makedirs(place)
        os.makedirs(libraries)
        subprocess.run(["apt-get", "-qq", "-o", "APT::Sandbox::User=root", "download",
                        "rabbitmq-server"], cwd=place, capture_output=True, timeout=300)
        for package in glob.glob(place + "/*.deb"):
            subprocess.run(["dpkg", "-x", package, place], capture_output=True)
        for found in glob.glob(place + "/usr/lib/rabbitmq/lib/*/plugins/recon-*"):
            os.rename(found, os.path.join(libraries, os.path.basename(found)))
        shutil.rmtree(place)
        return ":".join(filter(None, [os.environ.get("ERL_LIBS"), libraries]))

    def traced_node(self, *flags):
        """One busy scheduler, so that a core is left for whoever looks; with the peers that can be
        had."""
        node = Node(self.workloads, self.args.otp, flags=("+S", "1:1", *flags),
                    env={"ERL_LIBS": self.libraries})
        self.nodes.append(node)
        self.peers = []
        for tool, name in PEERS.items():
            if node.ask("peer_tracers", "has", tool):
                self.peers.append(tool)
            elif name not in self.missing:
                self.missing.add(name)
                self.table.add(f"peer: {name}", "not available (ERL_LIBS)")
        return node

    # ---- a call ----------------------------------------------------------------------------

    def calls(self):
        self.cost("calls")

    def returns(self):
        self.cost("returns")

    def rejected(self):
        self.cost("rejected")

    def cost(self, what):
        """CPU time of the node for one call, all that is printed included: turns of alone, ebeam
        and the others, so that what the machine does falls on all; no limit is reached."""
        times = 500 if self.args.quick else 2000
        node = self.traced_node()
        observers = {"alone": Nothing,
                     "ebeam": lambda: Tracing(self, node, *UNLIMITED, PATTERNS[what]),
                     **{tool: partial(Peer, node, tool, what) for tool in self.peers}}
        found = {name: [] for name in observers}
        own = []
        for _ in range(2 if self.args.quick else min(self.pairs, 5)):
            for name, make in observers.items():
                observer = make()
                observer.settle()
                spent = observer.cpu_ns() if name == "ebeam" else 0
                for _ in range(5):
                    used = cpu_ns(node.os_pid)
                    node.ask("peer_tracers", "calls", times, timeout=300)
                    found[name].append((cpu_ns(node.os_pid) - used) / times)
                if name == "ebeam":
                    own.append((observer.cpu_ns() - spent) / 5 / times)
                self.check(observer.end(), what, 5 * times)
        node.close()
        alone = statistics.median(found.pop("alone"))
        self.table.add(f"CPU of the node for {WATCHED[what]}", f"alone {us(alone)}")
        for name, values in found.items():
            low, _, high = statistics.quantiles(values, n=4)
            more = f"; outside of the node {us(statistics.median(own))}" if name == "ebeam" else ""
            self.table.add(f"the same: {PEERS.get(name, 'ebeam')}",
                           f"{us(statistics.median(values) - alone)} more "
                           f"({us(low - alone)} .. {us(high - alone)}){more}")

    @staticmethod
    def check(said, what, times):
        """That ebeam saw all."""
        if not said:
            return
        events = re.search(r"Events: ([\d,]+) +lost ([\d,]+)", said)
        seen, lost = (int(n.replace(",", "")) for n in events.groups())
        if what != "rejected" and (seen < times or lost) or "tripped" in said:
            raise SystemExit(f"bench: ebeam did not see {times} calls: {said}")

    # ---- what the node loses ----------------------------------------------------------------

    def rate(self, node, work="throughput"):
        """Rounds for each second of CPU that the node used: its only scheduler never rests, so on
        an idle machine that is the rate; and what else the machine does falls out."""
        used = cpu_ns(node.os_pid)
        node.start(work, settle=self.window)
        return node.stop(work)["rounds"] / (cpu_ns(node.os_pid) - used)

    def thousand(self):
        """A busy node, and a function in it that is called 1,000 times a second: with the limits
        that are there by default, and with limits that let all calls be seen."""
        node = self.traced_node()
        node.ask("peer_tracers", "pace", 1000)
        for what, limits, goal in (("calls", (), ">= 0.98"), ("calls", WIDER, ">= 0.98"),
                                   ("returns", WIDER, "")):
            seen = []

            class Watched(Tracing):
                def end(self):
                    said = super().end()
                    seen.append(self.seen)
                    return said

            median, text = middle(self.ratios(
                node, partial(Watched, self, node, *limits, PATTERNS[what])))
            self.table.add(f"throughput with ebeam, 1,000 a second of {WATCHED[what]}"
                           f"{', ' + ' '.join(limits) if limits else ''} : alone",
                           f"{text}; calls seen {statistics.median(seen):.0f} % of the time",
                           goal, median >= 0.98 if goal else None)
        for tool in self.peers:
            _, text = middle(self.ratios(node, partial(Peer, node, tool, "calls")))
            self.table.add(f"the same with {PEERS[tool]}, {WATCHED['calls']}", text)
        self.noise(node, "throughput")
        node.close()

    def noise(self, node, work):
        _, text = middle(self.ratios(node, Nothing, work))
        self.table.add("the same with nobody watching (the noise of this table)", text)

    def full_speed(self):
        """The work of the node is to call the function that is traced."""
        node = self.traced_node()
        median, text = middle(self.ratios(node, lambda: Tracing(self, node, FUNCTION),
                                          "peer_tracers"))
        self.table.add("a function at full speed, ebeam with its limits : alone", text, ">= 0.95",
                       median >= 0.95)
        for tool in self.peers:
            if tool in ("recon", "redbug"):
                _, text = middle(self.ratios(node, partial(Peer, node, tool, "limited"),
                                             "peer_tracers"))
                self.table.add(f"the same with {PEERS[tool]}, at most 100 calls",
                               text + "; it has ended by then")
        self.noise(node, "peer_tracers")
        node.close()
        for tool in self.peers:
            if tool.startswith("dbg"):
                self.flooded(tool)

    def flooded(self, tool):
        """What has no limit, for some seconds."""
        node = self.traced_node()
        alone, _ = self.seconds(node)
        reset_peak(node.os_pid)
        memory = status_mb(node.os_pid, "VmRSS")
        Peer(node, tool, "calls").settle()
        rate, queue = self.seconds(node)
        self.table.add(f"the same with {PEERS[tool]}, which has no limit",
                       f"{rate / alone:.4f}; {queue:,} messages wait, "
                       f"{status_mb(node.os_pid, 'VmHWM') - memory:,.0f} MB more")
        os.kill(node.os_pid, signal.SIGKILL)  # it would go on to print them
        node.close()

    def seconds(self, node):
        """Rate of the work, and how many messages wait then."""
        node.start("peer_tracers", settle=self.window)
        queue = node.ask("peer_tracers", "queue")
        truth = node.stop("peer_tracers")
        return truth["rounds"] / truth["elapsed_ns"], queue
