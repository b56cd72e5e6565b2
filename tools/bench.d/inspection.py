# SPDX-License-Identifier: BSD-2-Clause
"""Commands that read memory only: how long they take, and what watching costs the node."""
import os
import signal
import statistics
import subprocess
import time

from common import Bench, Nothing, middle


class Watching:
    """`ebeam ps` that looks ten times a second and shows what a terminal shows; it comes and
    goes."""

    def __init__(self, bench, node):
        self.process = bench.ebeam.popen("ps", "-p", node.os_pid, "--watch", "0.1s", "-n", 50,
                                         stdout=subprocess.DEVNULL)
        self.began, self.used, self.active, self.cpu = 0, 0, 0, 0
        time.sleep(1)
        self.pause()

    def cpu_ns(self):
        with open(f"/proc/{self.process.pid}/schedstat") as f:
            return int(f.read().split()[0])

    def resume(self):
        self.began, self.used = time.monotonic(), self.cpu_ns()
        self.process.send_signal(signal.SIGCONT)

    def pause(self):
        """And its account of the time since resume()."""
        if self.began:
            self.active += time.monotonic() - self.began
            self.cpu += (self.cpu_ns() - self.used) / 1e9
        if self.process.poll() is not None:
            raise SystemExit(f"ebeam ended early: {self.process.stderr.read().decode()}")
        self.process.send_signal(signal.SIGSTOP)

    def end(self):
        self.process.send_signal(signal.SIGCONT)
        self.process.send_signal(signal.SIGINT)
        self.process.communicate(timeout=60)


class AskingInside:
    """The peer: a process of the node that asks it about all others ten times a second."""

    def __init__(self, node):
        self.node, self.times, self.ms = node, 0, 0

    def resume(self):
        self.node.start("peer_process_info", settle=0)

    def pause(self):
        truth = self.node.stop("peer_process_info")
        self.times += truth["times"]
        self.ms += truth["times"] * truth["ms"]


class Inspect(Bench):
    """Commands that read memory only."""

    PAIRS, SECONDS = 41, 1.0

    def populated(self, processes, *flags):
        node = self.node(*flags)
        node.start("zoo")
        node.ask("zoo", "crowd", processes, timeout=300)
        time.sleep(1)
        return node

    def timed(self, label, goal_ms, node, *args, goal_mb=None):
        """Wall clock from start to exit, standard output to a file that keeps nothing."""
        found = []
        for _ in range(3 if self.args.quick else self.args.runs):
            began = time.monotonic()
            process = self.ebeam.popen(*args, "-p", node.os_pid, stdout=subprocess.DEVNULL,
                                       stderr=subprocess.DEVNULL)
            _, status, used = os.wait4(process.pid, 0)
            process.returncode = os.waitstatus_to_exitcode(status)
            if process.returncode != 0:
                raise SystemExit(f"ebeam {' '.join(map(str, args))}: exit {process.returncode}")
            found.append(((time.monotonic() - began) * 1e3,
                          (used.ru_utime + used.ru_stime) * 1e3, used.ru_maxrss / 1024))
        wall, cpu, memory = (statistics.median(f[k] for f in found) for k in range(3))
        least = min(f[0] for f in found)
        goal = f"<= {goal_ms:,} ms" + (f", {goal_mb} MB" if goal_mb else "")
        self.table.add(label, f"{wall:,.0f} ms (least {least:,.0f}, CPU {cpu:,.0f}), "
                              f"{memory:.0f} MB", goal,
                       wall <= goal_ms and (not goal_mb or memory <= goal_mb))

    def many(self):
        node = self.populated(100000)
        self.timed("`ps -j`, 100,000 processes", 150, node, "ps", "-j")
        self.timed("`dump`, 100,000 processes", 500, node, "dump")
        found = [node.ask("peer_process_info", "once") for _ in range(3)]
        self.table.add("peer: `process_info/1` of 100,000 processes inside the node",
                       f"{statistics.median(found):,.0f} ms")
        node.close()

    def million(self):
        node = self.populated(1000000, "+P", "2000000")
        self.timed("`ps -j`, 1,000,000 processes", 2000, node, "ps", "-j", goal_mb=200)
        node.close()

    def mailbox(self):
        node = self.node()
        pid = node.ask("peer_process_info", "mailbox", 1000000)
        self.timed("`inspect --mailbox`, 1,000,000 messages", 2000, node, "inspect", pid,
                   "--mailbox")
        node.close()

    def alternated(self, node, observer):
        """Observed : alone, in short windows that take turns."""
        node.start("throughput", settle=1)
        node.stop("throughput")
        found = []
        for pair in range(self.pairs):
            rates = {}
            for observed in ((False, True), (True, False))[pair % 2]:
                if observed:
                    observer.resume()
                time.sleep(0.2)
                rates[observed] = self.rate(node)
                if observed:
                    observer.pause()
            found.append(rates[True] / rates[False])
        return found

    def watch(self):
        """One busy scheduler, so that a core is left for whoever looks: what looking costs the
        node, not what it costs the machine."""
        node = self.populated(9500, "+S", "1:1")
        what = "throughput of a node with 10,000 processes"
        observer = Watching(self, node)
        median, text = middle(self.alternated(node, observer))
        observer.end()
        self.table.add(f"{what}, `ps --watch 0.1s` : alone", text, ">= 0.99", median >= 0.99)
        self.table.add("own CPU of that `ps`",
                       f"{100 * observer.cpu / observer.active:.1f} % of a core")
        observer = AskingInside(node)
        _, text = middle(self.alternated(node, observer))
        self.table.add(f"peer: the same, `process_info/1` of all inside, {observer.times} times",
                       text)
        _, text = middle(self.alternated(node, Nothing()))
        self.table.add("the same with nobody watching : alone (the noise of this table)", text)
        node.close()
