# SPDX-License-Identifier: BSD-2-Clause
"""build/ebeam-static: one file that runs where nothing else is, and in roots of other suites."""
import ctypes.util
import os
import re
import shutil
import socket
import subprocess
import threading
import time

from ebeam import Ebeam, Profile
from harness import Skip, case, check, check_equal, check_in, check_near
from nodes import TOP, matrix_root
from tmux import Tmux

# A root directory with /proc and /sys of this host, in a mount namespace of its own.
ENTER = """mount -t proc proc "$0/proc" && mount -t sysfs sysfs "$0/sys" || exit 125
[ -e "$0/empty" ] || mount --bind /tmp "$0/tmp" || exit 125
exec chroot "$0" "$@"
"""
NAME = "日本"


def inside(root):
    """What runs a command in a root."""
    if root == "/":
        return ()
    return ("unshare", "--mount", "--propagation", "private", "sh", "-c", ENTER, root)


def empty_root(ctx):
    """A directory with the program, at the path that it has here, and nothing else."""
    root = os.path.join(ctx.work_dir, "empty-root")
    if not os.path.isdir(root):
        for directory in ("proc", "sys"):
            os.makedirs(os.path.join(root, directory))
        os.makedirs(root + os.path.dirname(ctx.ebeam.path))
        shutil.copy(ctx.ebeam.path, root + ctx.ebeam.path)
        open(os.path.join(root, "empty"), "w").close()
    return root


@case("it has no dynamic section, no interpreter, no symbols", otp="one")
def alone(ctx):
    reported = subprocess.run(["readelf", "-lSW", ctx.ebeam.path], capture_output=True, text=True,
                          check=True, env=dict(os.environ, LC_ALL="C")).stdout
    for word in ("INTERP", "DYNAMIC", ".symtab", ".debug_"):
        check(word not in reported, f"{word} in {reported}")


@case("in an empty root with /proc and /sys: version, help, doctor, and a node in list", otp="one")
def empty(ctx):
    prefix = inside(empty_root(ctx))
    for words in (("version",), ("help",), ("help", "record")):
        check_equal(ctx.ebeam.ok(*words, prefix=prefix).out,
                    Ebeam(os.path.join(TOP, "build", "ebeam"), ctx.work_dir).ok(*words).out,
                    f"{words} beside that of build/ebeam")
    doctor = ctx.ebeam.ok("doctor", "-p", ctx.node.os_pid, "-j", prefix=prefix).json()
    missing = [r["feature"] for r in doctor["data"]["features"] if r["state"] == "missing"]
    check_equal(missing, [], "what is missing here")
    check_answers(ctx, ctx.node, prefix)


def check_answers(ctx, node, prefix):
    row, = [r for r in ctx.ebeam.ok("list", "-j", prefix=prefix).json()["data"]
            if r["os_pid"] == node.os_pid]
    facts = node.facts()
    for field in ("name", "erts", "schedulers"):
        check_equal(row[field], facts[field], f"list: {field}")
    check_near(row["process_count"], facts["process_count"], 5, "list: process_count")
    known = node.processes()
    seen = {r["pid"] for r in ctx.ebeam.ok("ps", "-p", node.os_pid, "-j", "-n", 1000,
                                           prefix=prefix).json()["data"]}
    check(len(set(known) & seen) >= 0.9 * len(known), f"ps: {sorted(seen)} of {sorted(known)}")


@case("in a root of each suite: list, ps and record of a node")
def roots(ctx):
    root = matrix_root(ctx.otp)
    node = ctx.node if ctx.release >= 25 else ctx.session.node(ctx.session.otps[0])
    prefix = inside(root)
    suite = open(os.path.join(root, "etc/debian_version"), encoding="utf-8").read().strip()
    print(f"     Debian {suite}, node of OTP {node.otp}")
    check_answers(ctx, node, prefix)
    with ctx.workload("cpu_split", node=node) as truth:
        profile = Profile(ctx.ebeam.ok("record", "-p", node.os_pid, "-d", 2, "-F", 499, "-f", "json",
                                       "-o", "-", prefix=prefix).json())
    own = profile.of_pids(truth["pids"])
    check(profile.count(own) > 50, f"{profile.count(own)} samples; {profile.by_status}")
    check_in("cpu_split:gamma/2", {f for s in own for f in s["frames"]}, "functions")
    profile.check_complete(0.99)


@case("top where no locale and no terminal is installed: names in UTF-8, as seen and as typed",
      otp="one")
def top(ctx):
    node = ctx.new_node(flags=("-eval", f"register(list_to_atom({[ord(c) for c in NAME]}), "
                                        "spawn(timer, sleep, [infinity]))."))
    prefix = inside(empty_root(ctx))

    def start(term, locale):
        t = Tmux(ctx.work_dir, ["env", f"TERM={term}", f"LC_ALL={locale}", *prefix, ctx.ebeam.path,
                                "top", "-p", str(node.os_pid)], columns=150, rows=80)
        ctx.cleanup(t.close)
        return t

    for term in ("xterm-256color", "tmux-256color", "linux", "vt220"):
        t = start(term, "de_DE.UTF-8")
        t.wait(NAME)
        t.wait("init")
        t.type("/" + NAME)
        t.wait(lambda text: NAME in text and not re.search(r"\binit\b", text))
        t.key("Escape")
        t.key("q")
        check_equal(t.wait_end(), 0, f"exit code, TERM={term}")
        t.close()
    t = start("vt220", "C")
    t.wait("init")
    check(t.text().isascii(), f"LC_ALL=C: {t.text()}")
    t.close()
    t = start("unheard-of", "C.UTF-8")
    t.wait("terminals of type 'unheard-of' are not known here")
    t.wait("set TERM")
    check_equal(t.wait_end(), 1, "exit code, unknown terminal")


class Server:
    """Counts who comes, and has nothing for anybody."""

    def __init__(self):
        self.asked = 0
        self.socket = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self.socket.getsockname()[1]}/"
        threading.Thread(target=self.serve, daemon=True).start()

    def serve(self):
        while True:
            try:
                visitor, _ = self.socket.accept()
            except OSError:
                return  # it is closed
            self.asked += 1
            visitor.recv(4096)
            visitor.sendall(b"HTTP/1.0 404 no\r\nContent-Length: 0\r\n\r\n")
            visitor.close()


@case("debuginfod is not asked, and doctor says so; build/ebeam asks", otp="one")
def debuginfod(ctx):
    server = Server()
    ctx.cleanup(server.socket.close)
    environment = dict(os.environ, DEBUGINFOD_URLS=server.url, HOME=ctx.work_dir,
                       DEBUGINFOD_CACHE_PATH=os.path.join(ctx.work_dir, "debuginfod"))
    ctx.ebeam.ok("ps", "-p", ctx.node.os_pid, env=environment)
    time.sleep(0.2)
    check_equal(server.asked, 0, "questions of the static program")

    def reported(ebeam):
        row, = [r for r in ebeam.ok("doctor", "-j", env=environment).json()["data"]["features"]
                if r["feature"] == "debuginfod"]
        return row

    row = reported(ctx.ebeam)
    check_equal(row["state"], "degraded", str(row))
    check_in("static", row["why"], "why")
    shared = Ebeam(os.path.join(TOP, "build", "ebeam"), ctx.work_dir)
    check_equal(reported(shared)["seen"], server.url, "what the other one says")
    if not ctypes.util.find_library("debuginfod"):
        raise Skip("build/ebeam was not tried: libdebuginfod is not installed")
    shared.ok("ps", "-p", ctx.node.os_pid, env=environment)
    check(server.asked > 0, "build/ebeam does not ask either: this case shows nothing")
