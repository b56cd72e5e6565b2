# SPDX-License-Identifier: BSD-2-Clause
"""A program in a real terminal: tmux, with a server of its own and nobody attached.

    with Tmux(work_dir, ["ebeam", "top"], columns=80, rows=24) as t:
        t.wait("Processes")
        t.type("/init")             # characters as they are
        t.key("Enter", "Up", "F5")  # keys by tmux's names
        t.click(3, 10)
        print(t.text())
"""
import itertools
import os
import re
import shutil
import subprocess
import time

from harness import Failure, Skip

COUNT = itertools.count()
SETTINGS = """\
set -g status off
set -g remain-on-exit on
set -g default-terminal {term}
set -sg escape-time 0
set -g history-limit 2000
"""


class Tmux:
    """One window of rows x columns.  `env` is added to the program's; None takes a name away."""

    def __init__(self, work_dir, command, columns=80, rows=24, term="screen-256color", env=None):
        if not shutil.which("tmux"):
            raise Skip("tmux is not installed")
        name = f"ebeam-{os.getpid()}-{next(COUNT)}"
        self.socket = os.path.join(work_dir, name + ".tmux")
        settings = os.path.join(work_dir, name + ".conf")
        with open(settings, "w", encoding="utf-8") as f:
            f.write(SETTINGS.format(term=term))
        environment = {**os.environ, "LC_ALL": "C.UTF-8", "SHELL": "/bin/sh", **(env or {})}
        environment = {k: v for k, v in environment.items() if v is not None}
        self.closed = False
        # The variables of the server are those of the program, but for TERM and TMUX.
        self.run("-f", settings, "-u", "new-session", "-d", "-x", str(columns), "-y", str(rows),
                 "env", "-u", "TMUX", "-u", "TMUX_PANE", *map(str, command), env=environment)
        self.pid = int(self.ask("pane_pid"))

    def run(self, *args, env=None):
        done = subprocess.run(["tmux", "-S", self.socket, *args], capture_output=True, env=env,
                              timeout=30)
        if done.returncode != 0:
            raise Failure(f"tmux {args[0]}: {done.stderr.decode(errors='replace').strip()}")
        return done.stdout.decode("utf-8", "replace")

    def ask(self, variable):
        return self.run("display-message", "-p", f"#{{{variable}}}").strip()

    # ---- what is typed

    def type(self, text):
        """As it is, escape sequences included."""
        self.run("send-keys", "-H", *[f"{b:02x}" for b in text.encode()])

    def key(self, *names):
        self.run("send-keys", *names)

    def mouse(self, button, row, column, letter):
        """As a terminal tells it that was asked to, and how it was asked to."""
        if self.ask("mouse_standard_flag") != "1" or self.ask("mouse_sgr_flag") != "1":
            raise Failure("the program has not asked for reports of the mouse")
        self.type(f"\033[<{button};{column + 1};{row + 1}{letter}")

    def click(self, row, column, button=1):
        self.mouse(button - 1, row, column, "M")
        self.mouse(button - 1, row, column, "m")

    def wheel(self, row, column, down):
        self.mouse(65 if down else 64, row, column, "M")

    def resize(self, columns, rows):
        self.run("resize-window", "-x", str(columns), "-y", str(rows))

    # ---- what is seen

    def lines(self):
        """The rows of the screen, without the spaces at their ends."""
        # Once the program has ended, a line that says so has pushed the others up.
        ended = ["-S", "-1"] if not self.alive() else []
        # tmux ends what it prints with the last row that is not empty.
        seen = [line.rstrip(" ") for line in self.run("capture-pane", "-p", *ended).split("\n")]
        rows = int(self.ask("pane_height"))
        return (seen + [""] * rows)[:rows]

    def text(self):
        return "\n".join(self.lines())

    def colored(self):
        """With the escape sequences of its colours and attributes."""
        return self.run("capture-pane", "-p", "-e")

    def wait(self, wanted, seconds=60):
        """Until the screen has a text (or a match of a compiled pattern, or until a function of the
        text says so); what it returns."""
        ok = wanted
        if isinstance(wanted, str):
            def ok(text):
                return wanted in text
        elif isinstance(wanted, re.Pattern):
            ok = wanted.search
        deadline = time.monotonic() + seconds
        while True:
            text = self.text()
            found = ok(text)
            if found:
                return found
            if time.monotonic() > deadline:
                raise Failure(f"{wanted!r} did not come within {seconds} s; the screen:\n{text}")
            time.sleep(0.03)

    # ---- how it ends

    def end(self):
        """None, exit code, or negative signal."""
        dead, status, number = self.ask("pane_dead},#{pane_dead_status},#{pane_dead_signal"
                                        ).split(",")
        if dead != "1":
            return None
        if not (status or number):  # closed first, then waited for, which tmux may forget
            return self.unwaited()
        return int(status) if status else -int(number)

    def unwaited(self):
        """The same of a process that nobody has waited for."""
        try:
            with open(f"/proc/{self.pid}/stat") as f:
                fields = f.read().rpartition(")")[2].split()
        except OSError:
            return None
        code = int(fields[-1])  # exit_code, as of wait(2)
        return None if fields[0] != "Z" else -(code & 0x7f) if code & 0x7f else code >> 8

    def alive(self):
        return self.end() is None

    def wait_end(self, seconds=60):
        """Exit code of the program, or negative signal."""
        deadline = time.monotonic() + seconds
        while self.alive():
            if time.monotonic() > deadline:
                raise Failure(f"it has not ended within {seconds} s; the screen:\n{self.text()}")
            time.sleep(0.03)
        return self.end()

    def close(self):
        """Ends the server, and with it the terminal."""
        if not self.closed:
            self.closed = True
            subprocess.run(["tmux", "-S", self.socket, "kill-server"], capture_output=True,
                           timeout=30)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()
