# SPDX-License-Identifier: BSD-2-Clause
"""Commands that answer from events (`ebeam msg`, `ebeam proc`, ...) while something happens."""
import json
import re
import signal
import threading

from harness import Skip, check, check_equal


def need_events(ctx):
    """Skip, and why, if this release gives none (all that are tested do)."""
    rows = ctx.ebeam.ok("events", "--list", "-j", "-p", ctx.node.os_pid).json()
    if not any(row["available"] for row in rows):
        raise Skip(rows[0]["why"])


class Answer:
    """One run on a node: begins when the probes are there, ends by SIGINT."""

    def __init__(self, ctx, node, command, *args):
        self.process = ctx.ebeam.popen(command, "-v", "-p", node.os_pid, "-d", "60",
                                       "--max-overhead", "100", *args)
        ctx.cleanup(self.end)
        self.err, self.out = [], b""
        attached = threading.Event()
        self.threads = [threading.Thread(target=self.read_err, args=(attached,)),
                        threading.Thread(target=self.read_out)]
        for t in self.threads:
            t.start()
        check(attached.wait(60), f"no probes attached: {self.err}")

    def read_err(self, attached):
        for line in self.process.stderr:
            self.err.append(line.decode("utf-8", "replace").rstrip())
            if "probes attached" in self.err[-1]:
                attached.set()
        attached.set()

    def read_out(self):
        self.out = self.process.stdout.read()

    def end(self):
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGINT)
        self.process.wait(60)
        for t in self.threads:
            t.join()

    def text(self):
        """What it wrote, once it has ended; nothing was lost, nothing sampled."""
        self.end()
        check_equal(self.process.returncode, 0, f"exit code; stderr {self.err}")
        closing = re.search(r"^Events: ([0-9,]+)  lost ([0-9,]+)(.*)", self.err[-1])
        check(closing, f"closing line: {self.err}")
        check_equal(closing.group(2), "0", f"lost; {self.err[-1]}")
        check(" sampled " not in closing.group(3) and " dropped " not in closing.group(3),
              self.err[-1])
        return self.out.decode()

    def json(self):
        return json.loads(self.text())["data"]

    def lines(self):
        """With --watch: one object a line."""
        return [json.loads(line)["data"] for line in self.text().splitlines()]
