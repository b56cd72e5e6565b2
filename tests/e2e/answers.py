# SPDX-License-Identifier: BSD-2-Clause
"""`ebeam events` and commands that answer from events (`ebeam msg`, ...) while something happens."""
import json
import os
import re
import signal
import subprocess
import threading

from harness import Skip, check, check_equal, patience


def not_given(ctx, *kinds):
    """Rows of `events --list` for those of the kinds (all, if none are named) that this release does
    not give; and how many were asked for."""
    rows = ctx.ebeam.ok("events", "--list", "-j", "-p", ctx.node.os_pid).json()
    asked = [row for row in rows if not kinds or row["kind"] in kinds]
    return [row for row in asked if not row["available"]], len(asked)


def gives(ctx, *kinds):
    return not not_given(ctx, *kinds)[0]


def need_events(ctx, *kinds):
    """Skip, and why, if this release does not give all of these kinds; without kinds: gives none."""
    missing, asked = not_given(ctx, *kinds)
    if missing and (kinds or len(missing) == asked):
        raise Skip(f"no {missing[0]['kind']}: {missing[0]['why']}")


HELD_BACK_NS = 100e6  # records of events, to bring them in order


def is_late_start(events, at):
    """The start of a collection is reported at its end: too late for its place if that took long."""
    start = events[at]
    if start["kind"] not in ("gc_minor_start", "gc_major_start"):
        return False
    for e in events[at + 1:]:
        if e["pid"] == start["pid"] and e["kind"] == start["kind"].replace("start", "end"):
            return e["ts_ns"] - start["ts_ns"] > 0.9 * HELD_BACK_NS
    return True


class Watch:
    """`ebeam events`, or an answer from events, while something happens: begins when the probes are
    there, ends by SIGINT."""
    waits_for_out = False

    def __init__(self, ctx, node, *args, stdout=subprocess.PIPE, json_lines=True,
                 command="events", source=None):
        words = [command, "-v", "-p", node.os_pid, "-d", patience(150), "--max-overhead", "100", *args]
        source = source or (ctx.source if command == "events" else None)
        words += ["--source", source] if source else []
        self.process = ctx.ebeam.popen(*(words + ["-j"] if json_lines else words), stdout=stdout)
        ctx.cleanup(self.end)
        self.err, self.out = [], b""
        self.more = threading.Condition()
        attached = threading.Event()
        self.threads = [threading.Thread(target=self.read_err, args=(attached,))]
        if stdout == subprocess.PIPE:
            self.threads.append(threading.Thread(target=self.read_out))
        for t in self.threads:
            t.start()
        check(attached.wait(patience(120)), f"no probes attached: {self.err}")

    def read_err(self, attached):
        for line in self.process.stderr:
            self.err.append(line.decode("utf-8", "replace").rstrip())
            if "probes attached" in self.err[-1]:
                attached.set()
            self.notify()
        attached.set()
        self.notify()

    def read_out(self):
        read, chunks = True, []
        while read:
            read = os.read(self.process.stdout.fileno(), 1 << 20)
            chunks.append(read)
            if self.waits_for_out:
                self.out = b"".join(chunks)
                self.notify()
        self.out = b"".join(chunks)

    def notify(self):
        with self.more:
            self.more.notify_all()

    def wait_for(self, found, what, timeout=100):
        """Until found() in what it has said so far; fails if it ends before."""
        self.waits_for_out = True

        def done():
            return self.process.poll() is not None or found()

        with self.more:
            self.more.wait_for(done, patience(timeout))
        check(found(), f"{what} did not happen; stderr {self.err}")

    def end(self):
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGINT)
        self.process.wait(patience(120))
        for t in self.threads:
            t.join()

    def events(self):
        """All of them, once it has ended."""
        self.end()
        check_equal(self.process.returncode, 0, f"exit code; stderr {self.err}")
        events = [json.loads(line) for line in self.out.decode().splitlines()]
        check_equal(self.closing()[0], len(events), "events of the closing line")
        check_equal(self.closing()[1], 0, f"lost; {self.err[-1]}")
        times = [e["ts_ns"] for e in events]
        if times != sorted(times):
            times = [e["ts_ns"] for n, e in enumerate(events) if not is_late_start(events, n)]
        check_equal(times, sorted(times), "order of time")
        return events

    def text(self, sampled=False):
        """What it wrote, once it has ended; nothing was lost, and nothing sampled unless it may."""
        self.end()
        check_equal(self.process.returncode, 0, f"exit code; stderr {self.err}")
        check_equal(self.closing()[1], 0, f"lost; {self.err[-1]}")
        check(sampled or not re.search(" (sampled|dropped) ", self.err[-1]), self.err[-1])
        return self.out.decode()

    def answers_so_far(self):
        """Each whole JSON document that it has written."""
        decoder, text, found = json.JSONDecoder(), self.out.decode(), []
        while text.strip():
            try:
                one, at = decoder.raw_decode(text.lstrip())
            except ValueError:
                break
            found.append(one)
            text = text.lstrip()[at:]
        return found

    def answers(self, sampled=False):
        """Each JSON document that it wrote, once it has ended."""
        decoder, text, found = json.JSONDecoder(), self.text(sampled), []
        while text.strip():
            one, at = decoder.raw_decode(text.lstrip())
            found.append(one)
            text = text.lstrip()[at:]
        check(found, f"no answer; stderr {self.err}")
        check_equal(found[-1].get("counters", {}).get("lost", 0), 0, "lost")
        return found

    def answer(self):
        """The only one: its data."""
        found = self.answers()
        check_equal(len(found), 1, "answers")
        return found[0]["data"]

    def closing(self):
        """Events shown and lost, of the closing line."""
        found = re.search(r"^Events: ([0-9,]+)  lost ([0-9,]+)", self.err[-1])
        check(found, f"closing line: {self.err}")
        return [int(n.replace(",", "")) for n in found.groups()]
