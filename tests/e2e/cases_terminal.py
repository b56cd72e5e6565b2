# SPDX-License-Identifier: BSD-2-Clause
"""The screen in a real terminal (tmux): tools/terminal.c shows one with all that can be on it and
writes it to a file, too.  What the terminal shows must be that."""
import os
import re
import subprocess
import time

from harness import Failure, case, check, check_equal, check_in
from nodes import TOP
from tmux import Tmux

SIDE_BY_SIDE = IN_TURN = True

PROGRAM = os.path.join(TOP, "build", "tools", "terminal")
TYPES = ("screen-256color", "tmux-256color", "xterm-256color", "xterm", "screen", "linux", "vt100")


class Shown:
    """The program in a terminal, and the file that says what it has shown."""

    def __init__(self, ctx, **kwargs):
        check(os.path.exists(PROGRAM), "build/tools/terminal is not built: make tools")
        self.path = ctx.ebeam.file(".txt")
        self.tmux = Tmux(ctx.work_dir, [PROGRAM, self.path], **kwargs)
        ctx.cleanup(self.tmux.close)

    def lines(self):
        with open(self.path, encoding="utf-8") as f:
            return f.read().split("\n")[:-1]

    def compare(self, what):
        """The file is there after the screen, which takes a moment to come through."""
        deadline = time.monotonic() + 20
        while True:
            wanted = self.lines() if os.path.exists(self.path) else None
            seen = self.tmux.lines()
            if wanted == seen:
                return len(seen)
            if time.monotonic() > deadline:
                different = [f"{a!r} != {b!r}" for a, b in zip(seen, wanted or []) if a != b]
                raise Failure(f"{what}: {len(seen)} rows, {len(wanted or [])} wanted; "
                              + "; ".join(different[:5]))
            time.sleep(0.03)


@case("terminals of all types and sizes show the screen, cell by cell", otp="one")
def screens(ctx):
    rows = 0
    for term in TYPES:
        for columns, height in ((80, 24), (120, 40), (40, 13)):
            shown = Shown(ctx, columns=columns, rows=height, term=term)
            shown.tmux.wait("0 keys")
            rows += shown.compare(f"{term} {columns}x{height}")
            shown.tmux.key("q")
            check_equal(shown.tmux.wait_end(), 0, "exit code")
            shown.tmux.close()
    shown = Shown(ctx, columns=1000, rows=60)
    rows += shown.compare("1000x60")
    for columns, height in ((2, 2), (3, 1), (5, 50), (12, 4)):
        shown.tmux.resize(columns, height)
        rows += shown.compare(f"{columns}x{height}")
    print(f"     {rows} rows compared")


@case("colours of 256 and of 8, and none with NO_COLOR", otp="one")
def colors(ctx):
    shown = Shown(ctx, term="xterm-256color")
    shown.tmux.wait("0 keys")
    check_in("\033[38;5;179m", shown.tmux.colored(), "256 colours")
    shown = Shown(ctx, term="xterm")
    shown.tmux.wait("0 keys")
    check_in("\033[33m", shown.tmux.colored(), "8 colours")
    check("38;5;" not in shown.tmux.colored(), "8 colours: there are more")
    shown = Shown(ctx, term="xterm-256color", env={"NO_COLOR": "1"})
    shown.tmux.wait("0 keys")
    seen = shown.tmux.colored()
    check_in("\033[7m", seen, "reverse")
    check(not re.search(r"\033\[[34][0-8](;|m)", seen), "NO_COLOR: there are colours")
    check_in("eeeeee", shown.tmux.text(), "parts of bars are letters")
    shown.compare("NO_COLOR")


@case("without UTF-8 the screen is ASCII", otp="one")
def ascii_only(ctx):
    shown = Shown(ctx, env={"LC_ALL": "C"})
    shown.tmux.wait("0 keys")
    shown.compare("ASCII")
    check(shown.tmux.text().isascii(), "not ASCII")
    check_in("eeeee", shown.tmux.text(), "parts of bars are letters")


@case("UTF-8 of a locale that is not installed is UTF-8", otp="one")
def unknown_locale(ctx):
    shown = Shown(ctx, env={"LC_ALL": "xx_XX.UTF-8"})
    shown.tmux.wait("0 keys")
    shown.compare("xx_XX.UTF-8")
    check(not shown.tmux.text().isascii(), "only ASCII")


@case("keys and the mouse are what was typed", otp="one")
def keys(ctx):
    for term in ("screen-256color", "xterm-256color"):
        tmux = Shown(ctx, columns=300, term=term).tmux
        tmux.wait("0 keys")
        count = 0
        for name, reported in (("Up", "up"), ("Down", "down"), ("Left", "left"), ("Right", "right"),
                           ("Home", "home"), ("End", "end"), ("PPage", "page up"),
                           ("NPage", "page down"), ("Enter", "enter"), ("Tab", "tab"),
                           ("BTab", "backtab"), ("BSpace", "backspace"), ("DC", "delete"),
                           ("IC", "insert"), ("Escape", "escape"), ("F1", "F1"), ("F5", "F5"),
                           ("F12", "F12"), ("a", "a"), ("/", "/"), ("C-d", "control D")):
            tmux.key(name)
            count += 1
            tmux.wait(re.compile(rf" {count} keys +{re.escape(reported)}$", re.M))
        for text in ("λ", "日", "é"):
            tmux.type(text)
            count += 1
            tmux.wait(re.compile(rf" {count} keys +{text}$", re.M))
        tmux.click(3, 10)
        tmux.wait("mouse row 3 column 10 button 1 wheel 0")
        tmux.click(23, 299, button=3)
        tmux.wait("mouse row 23 column 299 button 3 wheel 0")
        tmux.wheel(5, 7, down=True)
        tmux.wait("mouse row 5 column 7 button 0 wheel 1")
        tmux.type("\033[99;5~")  # nobody knows it: no key
        tmux.type("z")
        tmux.wait(re.compile(rf" {count + 4} keys +z$", re.M))
        tmux.key("q")
        check_equal(tmux.wait_end(), 0, "exit code")


@case("resized a hundred times a second, it shows what it should in the end", otp="one")
def resized(ctx):
    shown = Shown(ctx)
    shown.tmux.wait("0 keys")
    commands = []
    for i in range(200):
        commands += ["resize-window", "-x", str(2 + i * 37 % 250), "-y", str(1 + i * 7 % 60), ";",
                     "run-shell", "sleep 0.01", ";"]
    shown.tmux.run(*commands, "resize-window", "-x", "100", "-y", "30")
    shown.tmux.wait("100x30")
    shown.compare("after 200 sizes")
    shown.tmux.key("x")
    shown.tmux.wait("1 keys")


@case("stopped and taken up again by a shell, the terminal is as each likes it", otp="one")
def suspended(ctx):
    path = ctx.ebeam.file(".txt")
    tmux = Tmux(ctx.work_dir, ["env", "PS1=shell$ ", "bash", "--norc", "--noprofile", "-i"])
    ctx.cleanup(tmux.close)
    tmux.wait("shell$")
    tmux.type(f"stty -a > {path}.before; {PROGRAM} {path}\r")
    for turn in range(3):
        tmux.wait(f"{turn} keys")
        tmux.key("C-z")
        tmux.wait("Stopped")
        check("REDUCTIONS" not in tmux.text(), "the screen of the program is still there")
        tmux.type(f"stty -a > {path}.stopped; echo typed $((40 + {turn}))\r")
        tmux.wait(f"typed {40 + turn}")  # echoed, and with newlines as ever
        with open(f"{path}.before") as before, open(f"{path}.stopped") as stopped:
            check_equal(stopped.read(), before.read(), "modes of the terminal")
        tmux.type("fg\r")
        tmux.wait("REDUCTIONS")
        tmux.key("Up")
    tmux.wait("3 keys")
    tmux.key("q")
    tmux.type("stty -a > {0}.after; echo ended $((6 * 7))\r".format(path))
    tmux.wait("ended 42")
    with open(f"{path}.before") as before, open(f"{path}.after") as after:
        check_equal(after.read(), before.read(), "modes of the terminal")


def gone(pid):
    try:
        with open(f"/proc/{pid}/stat") as f:
            return f.read().rsplit(")", 1)[1].split()[0] == "Z"
    except OSError:
        return True


@case("a terminal that goes away ends it", otp="one")
def closed(ctx):
    shown = Shown(ctx)
    shown.tmux.wait("0 keys")
    pid = shown.tmux.pid
    check(not gone(pid), "it has ended")
    shown.tmux.close()
    deadline = time.monotonic() + 20
    while not gone(pid):
        check(time.monotonic() < deadline, "it goes on without a terminal")
        time.sleep(0.05)


@case("what cannot show a screen is refused, in words", otp="one")
def refused(ctx):
    for term, text in (("dumb", "cannot place the cursor"), ("nothing-known", "are not known"),
                       ("", "TERM is not set")):
        # tmux may throw away what a program writes right before it ends.
        tmux = Tmux(ctx.work_dir, ["env", f"TERM={term}", "sh", "-c",
                                   '"$0"; code=$?; sleep 0.5; exit $code', PROGRAM])
        ctx.cleanup(tmux.close)
        check_equal(tmux.wait_end(), 1, f"exit code with TERM={term}")
        tmux.wait(text)
    done = subprocess.run([PROGRAM], stdin=subprocess.DEVNULL, capture_output=True, text=True,
                          timeout=30)
    check_equal((done.returncode, done.stdout, done.stderr),
                (1, "", "terminal: not a terminal\n"), "without a terminal")
