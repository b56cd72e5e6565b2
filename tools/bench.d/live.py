# SPDX-License-Identifier: BSD-2-Clause
"""`ebeam top` in a terminal: what it takes, what it costs the node, how soon it shows and answers;
beside it what people look at processes with else, observer_cli's way and etop."""
import fcntl
import glob
import os
import pty
import re
import select
import signal
import statistics
import struct
import subprocess
import termios
import threading
import time

from common import Bench, Nothing, cpu_ns, middle
from nodes import EPMD_PORT, MATRIX, run_in, start_epmd

ROWS, COLUMNS = 50, 200
SETTLE = 3.0  # past the first readings, which look up all names
# The last words of its screens.
MAIN, HELP, FILTER, EMPTY = b"Save", b"Close", b"Clear", b"nothing matches"
# Keys by turns, and what is on the screen that answers them.
KEYS = ((b"?", HELP), (b"q", MAIN), (b"/", FILTER), (b"~", EMPTY))
ESCAPE = b"\033"
KEY_EVERY = 0.37  # so that they fall on all parts of a reading
# Processes: percent of a core, megabytes
GOALS = {1000: (1, 40), 100000: (15, 80), 1000000: (60, 250)}


def status_mb(pid, field):
    with open(f"/proc/{pid}/status") as f:
        return int(re.search(rf"{field}:\s+(\d+)", f.read()).group(1)) / 1024


def reset_peak(pid):
    """VmHWM begins anew."""
    with open(f"/proc/{pid}/clear_refs", "w") as f:
        f.write("5")


class Terminal:
    """A program in a terminal that takes all it writes at once, and knows when it came."""

    def __init__(self, command, cwd):
        self.master, slave = pty.openpty()
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", ROWS, COLUMNS, 0, 0))
        self.came, self.text, self.changed = [], bytearray(), threading.Condition()
        self.began = time.monotonic()
        self.process = subprocess.Popen(
            command, stdin=slave, stdout=slave, stderr=slave, start_new_session=True, cwd=cwd,
            env=dict(os.environ, TERM="xterm-256color", LC_ALL="C.UTF-8"),
            preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0))
        os.close(slave)
        self.reader = threading.Thread(target=self.read, daemon=True)
        self.reader.start()

    def read(self):
        while True:
            try:
                select.select([self.master], [], [])
                data = os.read(self.master, 65536)
            except OSError:  # nobody has the other side open
                data = b""
            with self.changed:
                self.text += data
                self.came.append((len(self.text), time.monotonic()))
                self.changed.notify_all()
            if not data:
                return

    def wait(self, words, after=0, seconds=60):
        """When they had come, after that many bytes; fails if they do not."""
        deadline = time.monotonic() + seconds
        with self.changed:
            while True:
                at = self.text.find(words, after)
                if at >= 0:
                    return next(t for end, t in self.came if end >= at + len(words))
                left = deadline - time.monotonic()
                if left <= 0 or not self.reader.is_alive():
                    raise SystemExit(f"bench: no {words!r} on the screen: "
                                     f"{bytes(self.text[-600:])!r}")
                self.changed.wait(min(left, 0.5))

    def type(self, key, words=None):
        """Milliseconds until the screen that answers it was written."""
        after, began = len(self.text), time.monotonic()
        os.write(self.master, key)
        return words and (self.wait(words, after) - began) * 1e3

    def close(self):
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGINT)
        try:
            self.process.wait(20)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self.reader.join(5)
        os.close(self.master)
        return self.process.returncode


class Top:
    """`ebeam top` beside a node: what it took from settle() to end()."""

    def __init__(self, bench, node):
        self.terminal = Terminal([bench.ebeam.path, "top", "-p", str(node.os_pid)], bench.work_dir)
        self.pid = self.terminal.process.pid
        self.cpu = self.peak = 0

    def first_ms(self):
        return (self.terminal.wait(MAIN) - self.terminal.began) * 1e3

    def settle(self):
        self.first_ms()
        time.sleep(SETTLE)
        self.since, self.used = time.monotonic(), cpu_ns(self.pid)

    def account(self):
        """Percent of a core since it had settled, and most megabytes."""
        self.cpu = (cpu_ns(self.pid) - self.used) / (time.monotonic() - self.since) / 1e7
        self.peak = status_mb(self.pid, "VmHWM")

    def end(self):
        self.account()
        self.close()

    def close(self):
        code = self.terminal.close()
        if code != 0:
            raise SystemExit(f"bench: top ended with {code}: "
                             f"{bytes(self.terminal.text[-600:])!r}")


class Refresh:
    """The peer inside the node."""

    def __init__(self, node):
        self.node = node

    def settle(self):
        self.node.start("peer_refresh", settle=SETTLE)

    def end(self):
        self.node.tell("stop", "peer_refresh")
        truth = self.node.wait("truth", 300)["truth"]  # when it has asked all
        self.said = f"{truth['ms']:,.0f} ms each time" if truth["times"] else "never done"

    pid = None


class GaveUp(Exception):
    """A peer ended by itself; the text says why."""


class Etop:
    """The peer in a node beside."""

    def __init__(self, bench, node, ebin):
        self.node, self.said = node, ""
        opts = f"[{{node,'{node.name}'}},{{output,text}},{{interval,1}},{{lines,40}}]"
        self.process = subprocess.Popen(
            [MATRIX, "run", bench.args.otp, "--", "erl", "-noshell", "-hidden", "-name",
             f"etop{os.getpid()}@127.0.0.1", "-setcookie", "ebeam-e2e", "-pa", ebin, "-eval",
             f"etop:start({opts}), halt()."],
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
            env=dict(os.environ, ERL_EPMD_PORT=EPMD_PORT, ERL_EPMD_ADDRESS="127.0.0.1",
                     ERL_CRASH_DUMP="/dev/null"), cwd="/tmp")
        self.screens, self.last, self.shows = 0, [], threading.Event()
        self.reader = threading.Thread(target=self.read, daemon=True)
        self.reader.start()

    def read(self):
        for line in self.process.stdout:
            self.last = [*self.last[-9:], line.decode("utf-8", "replace").strip()]
            if b"Pid " in line and b"Reds" in line:
                self.screens += 1
                self.shows.set()
        self.shows.set()

    @property
    def pid(self):
        return self.process.pid

    def check(self):
        if self.process.poll() is not None:
            why = [line for line in self.last if "imeout" in line or "rror" in line]
            raise GaveUp((why or self.last or ["it ended"])[0])

    def settle(self):
        self.shows.wait(60)
        time.sleep(SETTLE)
        self.check()
        self.since, self.shown = time.monotonic(), self.screens

    def end(self):
        try:
            self.check()
            seconds = time.monotonic() - self.since
            self.said = f"{(self.screens - self.shown) / seconds:.1f} screens a second"
        finally:
            self.close()

    def close(self):
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        self.reader.join(5)


class Live(Bench):
    """`top` at 1,000, 100,000 and 1,000,000 processes."""

    PAIRS, SECONDS = 11, 3.0

    def __init__(self, *args):
        super().__init__(*args)
        self.epmd = start_epmd()

    def close(self):
        super().close()
        self.epmd.kill()
        self.epmd.wait()

    def thousand(self):
        self.measure(1000)

    def hundred_thousand(self):
        self.measure(100000)

    def million(self):
        self.measure(1000000, "+P", "2000000")

    def alone(self):
        return Nothing(SETTLE)

    def measure(self, processes, *flags):
        """One busy scheduler, so that a core is left for whoever looks."""
        node = self.node("+S", "1:1", *flags, name=f"bench{processes}@127.0.0.1")
        node.start("zoo")
        node.ask("zoo", "crowd", processes - len(node.processes()), timeout=300)
        time.sleep(1)
        self.label = f"{processes:,} processes"
        self.starts(node, 500 if processes == 100000 else None)
        self.watched(node, *GOALS[processes])
        self.keys(node, processes >= 100000)
        self.peer("observer_cli's way", node, lambda: Refresh(node))
        ebin = self.etop()
        if ebin:
            self.peer("etop", node, lambda: Etop(self, node, ebin))
        else:
            self.table.add("peer: etop", "not to be had here (package erlang-observer)")
        _, text = middle(self.ratios(node, self.alone))
        self.table.add(f"throughput with nobody watching : alone, {self.label} (the noise of this "
                       "table)", text)
        node.close()

    # ---- top -------------------------------------------------------------------------------

    def starts(self, node, goal):
        found = []
        for _ in range(3 if self.args.quick else self.args.runs):
            top = Top(self, node)
            found.append(top.first_ms())
            top.close()
        median = statistics.median(found)
        self.table.add(f"start to first frame, {self.label}",
                       f"{median:,.0f} ms ({min(found):,.0f} .. {max(found):,.0f})",
                       f"<= {goal} ms" if goal else "", median <= goal if goal else None)

    def watched(self, node, cpu_goal, memory_goal):
        """A busy node with a terminal open on it, and alone."""
        tops = []

        def observe():
            tops.append(Top(self, node))
            return tops[-1]

        median, text = middle(self.ratios(node, observe))
        cpu = statistics.median(t.cpu for t in tops)
        peak = max(t.peak for t in tops)
        self.table.add(f"own CPU at a reading a second, {self.label}",
                       f"{cpu:.2f} % of a core (most {max(t.cpu for t in tops):.2f})",
                       f"<= {cpu_goal} %", cpu <= cpu_goal)
        self.table.add(f"peak memory, {self.label}", f"{peak:.0f} MB", f"<= {memory_goal} MB",
                       peak <= memory_goal)
        self.table.add(f"throughput with `top` : alone, {self.label}", text, ">= 0.99",
                       median >= 0.99)

    def keys(self, node, has_goal):
        """While readings go on, and the node works."""
        node.start("throughput", settle=0)
        top = Top(self, node)
        top.settle()
        found = {key: [] for key, _ in KEYS}
        for _ in range(2 if self.args.quick else 5):
            for key, words in KEYS:
                time.sleep(KEY_EVERY)
                found[key].append(top.terminal.type(key, words))
            top.terminal.type(ESCAPE, MAIN)
        top.end()
        node.stop("throughput")
        every = [ms for times in found.values() for ms in times]
        median, worst = statistics.median(every), max(every)
        each = ", ".join(f"`{key.decode()}` {statistics.median(times):.0f}/{max(times):.0f}"
                         for key, times in found.items())
        self.table.add(f"a key answered meanwhile, {self.label}",
                       f"{median:.0f} ms, worst of {len(every)} {worst:.0f} ms ({each})",
                       "<= 50 ms" if has_goal else "", worst <= 50 if has_goal else None)

    # ---- peers -----------------------------------------------------------------------------

    def peer(self, name, node, make):
        seconds = 3 if self.args.quick else 10
        try:
            inside, own, memory, own_memory, said = self.cost(node, make, seconds)
        except GaveUp as e:
            self.table.add(f"peer: {name}, {self.label}", f"gives up: {e}")
            return
        self.table.add(
            f"peer: {name}, {self.label}: CPU of a node at rest",
            f"{inside:.1f} % of a core" + (f", and {own:.1f} % in its own node" if own else "")
            + f"; {said}")
        self.table.add(f"peer: {name}, {self.label}: peak memory",
                       f"{memory:,.0f} MB more in the node"
                       + (f", {own_memory:,.0f} MB of its own" if own_memory else ""))
        pairs, self.pairs = self.pairs, min(self.pairs, 5)
        peers = []

        def observe():
            peers.append(make())
            return peers[-1]

        try:
            _, text = middle(self.ratios(node, observe))
            self.table.add(f"peer: throughput with {name} : alone, {self.label}",
                           f"{text}; {peers[-1].said}")
        except GaveUp as e:
            node.stop("throughput")
            self.table.add(f"peer: throughput with {name} : alone, {self.label}", f"gives up: {e}")
        finally:
            self.pairs = pairs

    @staticmethod
    def cost(node, make, seconds):
        """Percent of a core that it costs the node, and takes itself; the same in megabytes."""
        used = cpu_ns(node.os_pid)
        time.sleep(seconds)
        before, memory = cpu_ns(node.os_pid) - used, status_mb(node.os_pid, "VmRSS")
        reset_peak(node.os_pid)
        peer, own_memory = make(), 0
        try:
            peer.settle()
            pid = peer.pid and beam_below(peer.pid)
            used, own, began = cpu_ns(node.os_pid), pid and cpu_ns(pid), time.monotonic()
            time.sleep(seconds)
            elapsed = time.monotonic() - began
            inside = (cpu_ns(node.os_pid) - used) / elapsed / 1e7 - before / seconds / 1e7
            if pid:
                own = (cpu_ns(pid) - own) / elapsed / 1e7
                own_memory = status_mb(pid, "VmHWM")
            memory = status_mb(node.os_pid, "VmHWM") - memory
        finally:
            peer.end()
        return inside, own, memory, own_memory, peer.said

    def etop(self):
        """Directory of its code, or None.  It needs nothing else of its package, which wants a
        desktop."""
        inside = run_in(self.args.otp, ["erl", "-noshell", "-eval",
                                        "io:put_chars(case code:which(etop) of F when is_list(F) -> "
                                        "filename:dirname(F); _ -> \"\" end), halt()."])
        if inside.stdout.strip():
            return inside.stdout.strip()
        place = os.path.join(self.work_dir, "observer")
        if self.args.otp == "25" and not os.path.isdir(place):
            os.makedirs(place)
            subprocess.run(["apt-get", "-qq", "-o", "APT::Sandbox::User=root", "download",
                            "erlang-observer"], cwd=place, capture_output=True, timeout=120)
            for package in glob.glob(place + "/*.deb"):
                subprocess.run(["dpkg", "-x", package, place], capture_output=True)
        return next(iter(glob.glob(place + "/usr/lib/erlang/lib/observer-*/ebin")), None)


def beam_below(pid):
    """The emulator that a command has started, or is."""
    for _ in range(8):
        if "beam" in os.path.basename(os.readlink(f"/proc/{pid}/exe")):
            return pid
        with open(f"/proc/{pid}/task/{pid}/children") as f:
            pid = int(f.read().split()[0])
    raise SystemExit(f"bench: no emulator below pid {pid}")
