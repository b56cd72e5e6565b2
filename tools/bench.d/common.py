# SPDX-License-Identifier: BSD-2-Clause
"""What all benches share: the table, nodes and their rates, observers."""
import os
import signal
import statistics
import sys
import threading
import time

from ebeam import Ebeam
from nodes import Node, Workloads

FLAGS = ("+S", "2:2")
BPF_STATS = "/proc/sys/kernel/bpf_stats_enabled"


class Table:
    def __init__(self):
        self.rows = []

    def add(self, what, measured, wanted="", holds=None):
        verdict = {None: "", True: "yes", False: "**no**"}[holds]
        self.rows.append((what, measured, wanted, verdict))
        print(f"  {what}: {measured}  {wanted} {verdict}".rstrip(), file=sys.stderr, flush=True)

    def print(self, file=None):
        print("| what | measured | goal | met |\n|---|---|---|---|", file=file)
        for row in self.rows:
            print(f"| {' | '.join(row)} |", file=file)


def middle(values):
    """ "0.9981 (0.9954 .. 1.0010)": median and quartiles."""
    median = statistics.median(values)
    if len(values) < 4:
        return median, f"{median:.4f} (of {len(values)})"
    low, _, high = statistics.quantiles(values, n=4)
    return median, f"{median:.4f} ({low:.4f} .. {high:.4f}, {len(values)} pairs)"


def cpu_ns(pid):
    """CPU time of all threads."""
    total = 0
    for task in os.listdir(f"/proc/{pid}/task"):
        with open(f"/proc/{pid}/task/{task}/schedstat") as f:
            total += int(f.read().split()[0])
    return total


class Nothing:
    """An observer that does not observe."""

    def __init__(self, seconds=1.5):
        self.seconds = seconds

    def settle(self):
        time.sleep(self.seconds)

    def end(self):
        pass

    resume = pause = end


class Running:
    """ebeam under way beside a node, and what it used."""

    SETTLE = 1.5
    READY = None  # what it says when it watches; None: it does not say it
    EXITS = (0,)

    def __init__(self, bench, *args, **kwargs):
        self.process = bench.ebeam.popen(*args, **kwargs)
        self.began = time.monotonic()
        self.said = []
        self.ready = threading.Event()
        self.reader = threading.Thread(target=self.read, daemon=True)
        self.reader.start()

    def read(self):
        for line in self.process.stderr:
            self.said.append(line.decode())
            if self.READY and self.READY in self.said[-1]:
                self.began = time.monotonic()
                self.ready.set()
        self.ready.set()

    def settle(self):
        """Past its start: what it costs from here on is the watching."""
        if self.READY and not self.ready.wait(60):
            raise SystemExit(f"ebeam does not begin: {''.join(self.said)}")
        time.sleep(max(0.0, self.began + self.SETTLE - time.monotonic()))
        if self.process.poll() is not None:
            raise SystemExit(f"ebeam ended early: {self.words()}")

    def words(self):
        """On standard error, when it has ended."""
        self.reader.join(60)
        return "".join(self.said)

    def cpu_ns(self):
        return cpu_ns(self.process.pid)

    def end(self):
        """Its words on standard error."""
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGINT)
        if self.process.wait(timeout=60) not in self.EXITS:
            raise SystemExit(f"ebeam failed ({self.process.returncode}): {self.words()}")
        return self.words()


class Bench:
    PAIRS, SECONDS = 11, 3.0

    def __init__(self, args, work_dir):
        self.args, self.work_dir = args, work_dir
        self.table = Table()
        self.ebeam = Ebeam(args.ebeam, work_dir)
        self.workloads = Workloads(work_dir)
        self.nodes = []
        self.pairs = 2 if args.quick else args.pairs or self.PAIRS
        self.window = 1.0 if args.quick else args.seconds or self.SECONDS

    def node(self, *flags, name=None):
        node = Node(self.workloads, self.args.otp, flags=(*FLAGS, *flags), name=name)
        self.nodes.append(node)
        return node

    def close(self):
        for node in self.nodes:
            node.close()
            for name in (f"perf-{node.inner_pid}.map", f"jit-{node.inner_pid}.dump"):
                try:
                    os.unlink(f"/tmp/{name}")
                except OSError:
                    pass

    def rate(self, node, work="throughput"):
        node.start(work, settle=0)
        time.sleep(self.window)
        truth = node.stop(work)
        return truth["rounds"] / truth["elapsed_ns"]

    def alone(self):
        """Settles for as long as observers do."""
        return Nothing()

    def busy_rate(self, node, observer, work="throughput"):
        """The rate after a while of the same work, the same for all: a virtual CPU that has been
        idle is faster for some seconds, and one that has been busy slower."""
        node.start(work, settle=0)
        observer.settle()
        node.stop(work)
        return self.rate(node, work)

    def ratios(self, node, observe, work="throughput"):
        """Observed : alone.  Each observed window stands between two alone, and is compared with
        their mean, so that a machine that slowly speeds up or down falls out."""
        found = []
        alone = self.busy_rate(node, self.alone(), work)
        for _ in range(self.pairs):
            observer = observe()
            observed = self.busy_rate(node, observer, work)
            observer.end()
            again = self.busy_rate(node, self.alone(), work)
            found.append(2 * observed / (alone + again))
            alone = again
        return found
