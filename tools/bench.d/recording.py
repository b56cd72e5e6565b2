# SPDX-License-Identifier: BSD-2-Clause
"""Sampling: what `ebeam record` costs the node and itself; its peers."""
import json
import os
import re
import shutil
import signal
import statistics
import subprocess
import time

from common import BPF_STATS, FLAGS, Bench, Nothing, Running, middle
from ebeam import bpf_descriptors
from nodes import MATRIX, TOP, run_in


class Recording(Running):
    """`ebeam record` under way."""

    def __init__(self, bench, node, seconds, *args, suffix=".ebeam"):
        self.path = bench.ebeam.file(suffix)
        super().__init__(bench, "record", "-v", "-p", node.os_pid, "-d", seconds, *args,
                         "-o", self.path)

    def peak_kb(self):
        with open(f"/proc/{self.process.pid}/status") as f:
            return int(re.search(r"VmHWM:\s+(\d+)", f.read()).group(1))


class EventRecording(Recording):
    """A mode that is made of events: its probes take a while to attach."""

    def __init__(self, bench, node, mode, overhead, accounts):
        self.READY = "first sample" if mode == "offcpu" else "probes attached"
        self.accounts = accounts
        super().__init__(bench, node, 60, "--mode", mode, "--max-overhead", overhead)

    def settle(self):
        super().settle()
        self.settled = time.monotonic(), self.cpu_ns()

    def end(self):
        """Its words.  What is left to the node by account: what ebeam says that its probes cost the
        node, and the CPU time that it takes itself, which a node that takes all CPUs lacks."""
        since, cpu_ns = self.settled
        own = (self.cpu_ns() - cpu_ns) / 1e9 / (time.monotonic() - since)
        words = super().end()
        cost = re.search(r"cost to the node ~([\d.]+)%", words)
        if not cost:
            raise SystemExit(f"ebeam says nothing of its cost: {words}")
        self.accounts.append((1 - float(cost.group(1)) / 100) * (1 - own / os.cpu_count()))
        return words


class WallRecording(Recording):
    """`ebeam record --mode wall`: the first sample reads all processes."""

    READY = "first sample"

    def __init__(self, bench, node):
        super().__init__(bench, node, 60, "--mode", "wall", suffix=".html")

    def peak_mb(self):
        """Ends it: until it has written its HTML."""
        self.process.send_signal(signal.SIGINT)
        _, status, used = os.wait4(self.process.pid, 0)
        self.process.returncode = os.waitstatus_to_exitcode(status)
        self.end()
        return used.ru_maxrss / 1024


class PerfRecording:
    """The peer: perf with call graphs by frame pointers."""

    def __init__(self, bench, node, freq, seconds):
        self.path = bench.ebeam.file(".perf")
        self.process = subprocess.Popen(
            ["perf", "record", "-e", "cpu-clock", "-F", str(freq), "-g", "-q", "-o", self.path,
             "-p", str(node.os_pid), "--", "sleep", str(seconds)],
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        self.began = time.monotonic()

    def settle(self):
        time.sleep(max(0.0, self.began + 1.5 - time.monotonic()))
        if self.process.poll() is not None:
            raise SystemExit(f"perf ended early: {self.process.stdout.read().decode()}")

    def end(self):
        self.process.send_signal(signal.SIGINT)
        self.process.communicate(timeout=60)
        os.unlink(self.path)


class Record(Bench):
    def throughput(self):
        node = self.node()
        for freq, goal in ((99, 0.995), (999, 0.97)):
            median, text = middle(self.ratios(
                node, lambda f=freq: Recording(self, node, 60, "-F", f)))
            self.table.add(f"throughput of a busy node, ebeam at {freq} Hz : alone", text,
                           f">= {goal}", median >= goal)
        # The noise of the measurement itself: nothing : nothing.
        median, text = middle(self.ratios(node, Nothing))
        self.table.add("the same with nobody watching : alone (the noise of this table)", text)

    def modes(self):
        """What allocates, and where threads are blocked.  At the default budget the loss is smaller
        than the noise of a shared host, so what ebeam accounts for is what is judged; with a
        budget of 20 % the loss is large, and shows whether the account is right."""
        node = self.node()
        works = (("throughput", "that calculates"), ("web", "that sends messages and spawns"),
                 ("nif_crypto", "that hashes in a NIF"))
        for mode in ("alloc", "malloc", "offcpu"):
            for work, label in works[:3 if mode == "malloc" else 2]:
                for overhead in (1, 20):
                    accounts = []
                    _, text = middle(self.ratios(
                        node, lambda: EventRecording(self, node, mode, overhead, accounts), work))
                    account = statistics.median(accounts)
                    name = f"throughput of a node {label}, `--mode {mode} --max-overhead {overhead}` : alone"
                    if overhead == 1:
                        self.table.add(name, f"{text}, by account {account:.4f}", ">= 0.98 by account",
                                       account >= 0.98)
                    else:
                        self.table.add(name, f"{text}, by account {account:.4f}")

    def peers(self):
        if shutil.which("perf"):
            node = self.node("+JPperf", "true")
            _, text = middle(self.ratios(node, lambda: PerfRecording(self, node, 99, 60)))
            self.table.add("peer: `perf record -F 99 -g`, node with `+JPperf true` : alone", text)
        ebin = self.workloads.ebin(self.args.otp)
        done = run_in(self.args.otp, ["erl", "-noshell", *FLAGS, "-pa", ebin, "-run",
                                      "peer_profilers", "main", str(self.pairs)], timeout=300)
        lines = [line for line in done.stdout.splitlines() if line.startswith("{")]
        if not lines:
            raise SystemExit(f"eprof and fprof: {done.stdout}{done.stderr}")
        found = json.loads(lines[-1])
        for name in ("eprof", "fprof"):
            _, text = middle(found[name])
            self.table.add(f"peer: `{name}` on the same work : alone", text)

    def cost(self):
        """Own CPU, memory, time to the first sample: stock node, and one with 2,000 modules."""
        seconds = 3 if self.args.quick else 20
        for generated, memory_goal, start_goal in ((0, 40, 300), (2000, 80, 1000)):
            node = self.node()
            if generated:
                node.start("many_modules", str(generated))
                modules = node.stop("many_modules")["modules"]
                label = f"{modules:,} modules"
            else:
                label = "a stock node's 100 modules"
            node.start("throughput")
            started, peak = [], 0
            for _ in range(3):
                recording = Recording(self, node, 60, "-F", 99)
                recording.settle()
                peak = max(peak, recording.peak_kb())
                match = re.search(r"first sample after (\d+) ms", recording.end())
                if match:
                    started.append(int(match.group(1)))
            recording = Recording(self, node, 120, "-F", 99)
            recording.settle()
            began, cpu = time.monotonic(), recording.cpu_ns()
            time.sleep(seconds)
            share = (recording.cpu_ns() - cpu) / (time.monotonic() - began) / 1e7
            peak = max(peak, recording.peak_kb())
            recording.end()
            node.stop("throughput")
            if not generated:
                self.table.add("own CPU at 99 Hz, two busy schedulers, once it runs",
                               f"{share:.2f} % of a core", "<= 0.5 %", share <= 0.5)
            self.table.add(f"peak memory, {label}", f"{peak / 1024:.0f} MB", f"<= {memory_goal} MB",
                           peak / 1024 <= memory_goal)
            if started:
                median = statistics.median(started)
                self.table.add(f"from start to first sample, {label}", f"{median:.0f} ms",
                               f"<= {start_goal} ms", median <= start_goal)
            node.close()

    def wall(self):
        """20 samples a second, with a core left."""
        for processes, running, cpu_goal, memory_goal, *flags in (
                (10000, 500, 5, 60), (1000000, 500, 25, 400, "+P", "2000000")):
            label = f"--mode wall, {processes:,} processes of which {running} run"
            node = self.node("+S", "1:1", *flags)
            node.start("zoo")
            node.ask("zoo", "crowd", processes - running, timeout=300)
            node.ask("zoo", "pulse", running)
            shares, peaks = [], []
            for _ in range(1 if self.args.quick else 3):
                recording = WallRecording(self, node)
                recording.settle()
                began, cpu = time.monotonic(), recording.cpu_ns()
                time.sleep(10)
                shares.append((recording.cpu_ns() - cpu) / (time.monotonic() - began) / 1e7)
                peaks.append(recording.peak_mb())
            share, peak = statistics.median(shares), max(peaks)
            self.table.add(f"own CPU, {label}", f"{share:.1f} % of a core", f"<= {cpu_goal} %",
                           share <= cpu_goal)
            self.table.add(f"peak memory, {label}", f"{peak:.0f} MB", f"<= {memory_goal} MB",
                           peak <= memory_goal)
            median, text = middle(self.ratios(node, lambda n=node: WallRecording(self, n)))
            self.table.add(f"throughput, {label} : alone", text, ">= 0.99", median >= 0.99)
            node.close()

    def bpf_cost(self):
        """The kernel's own account of what the sampling program takes, by depth of the stack."""
        with open(BPF_STATS) as f:
            before = f.read()
        with open(BPF_STATS, "w") as f:
            f.write("1")
        try:
            found = {depth: self.bpf_ns(depth) for depth in (8, 64, 128, 256, 512)}
        finally:
            with open(BPF_STATS, "w") as f:
                f.write(before)
        text = ", ".join(f"{depth}: {ns / 1000:.2f}" for depth, ns in found.items())
        self.table.add("BPF time per sample in us, by depth of the Erlang stack", text,
                       "<= 3 at 64", found[64] <= 3000)

    def bpf_ns(self, depth):
        node = self.node()
        node.start("deep", str(depth), "2")
        recording = Recording(self, node, 60, "-F", 999)
        recording.settle()
        first = self.program_times(recording.process.pid)
        time.sleep(1 if self.args.quick else 4)
        last = self.program_times(recording.process.pid)
        recording.end()
        node.close()
        # The sampling program is the one that ran most.
        ident = max(last, key=lambda i: last[i][1] - first.get(i, (0, 0))[1])
        time_ns, count = (last[ident][k] - first[ident][k] for k in (0, 1))
        return time_ns / max(1, count)

    @staticmethod
    def program_times(pid):
        """(nanoseconds, runs) of each BPF program."""
        return {fd["prog_id"]: (int(fd["run_time_ns"]), int(fd["run_cnt"]))
                for fd in bpf_descriptors(pid) if "run_cnt" in fd}

    def report(self):
        """`report` of 60,000 samples, and the size of a capture."""
        node = self.node()
        wanted = 6000 if self.args.quick else 60000
        works = ("throughput", "ets_heavy", "binaries", "strings", "messages")
        for name in works:
            node.start(name)
        seconds = wanted / 4999 / 2 * 1.15
        for _ in range(4):
            recording = Recording(self, node, 120, "-F", 4999)
            recording.settle()
            time.sleep(seconds)
            recording.end()
            samples = self.ebeam.report(recording.path).samples
            if samples >= wanted:
                break
            seconds *= 1.2 * wanted / max(1, samples)
        for name in works:
            node.stop(name)
        node.close()
        times = []
        for _ in range(3):
            result = self.ebeam.ok("report", recording.path, "-o", self.ebeam.file(".html"))
            times.append(result.seconds)
        best = statistics.median(times)
        self.table.add(f"`report` of {samples:,} samples to HTML", f"{best:.2f} s", "<= 1 s",
                       best <= 1)

    def capture_size(self):
        ebin = os.path.join(self.work_dir, "demo")
        source = os.path.join(self.work_dir, "demo-source")
        os.makedirs(ebin)
        shutil.copytree(os.path.join(TOP, "tools", "demo.d"), source)
        run_in(self.args.otp, ["sh", "-c", f"erlc -o {ebin} {source}/*.erl"], check=True)
        demo = subprocess.Popen([MATRIX, "run", self.args.otp, "--", "erl", "-noshell", *FLAGS,
                                 "-pa", ebin, "-run", "shop", "main"], stdin=subprocess.PIPE,
                                stdout=subprocess.PIPE)
        try:
            demo.stdout.readline()
            seconds = 10 if self.args.quick else self.args.capture_seconds
            path = self.ebeam.file(".ebeam")
            self.ebeam.ok("record", "-p", demo.pid, "-d", seconds, "-o", path,
                          timeout=seconds + 60)
        finally:
            demo.stdin.close()
            try:
                demo.wait(5)
            except subprocess.TimeoutExpired:
                demo.kill()
                demo.wait()
            demo.stdout.close()
        samples = self.ebeam.report(path).samples
        size = os.path.getsize(path) / max(1, samples)
        self.table.add(f"capture of the demo node, {seconds} s at 99 Hz, {samples:,} samples",
                       f"{size:.1f} bytes per sample", "<= 60 in 600 s",
                       size <= 60 if seconds >= 600 else None)
