# SPDX-License-Identifier: BSD-2-Clause
"""The bundled demo node: what a newcomer sees first."""
import os
import re
import shutil
import subprocess

from ebeam import html_strings
from harness import Failure, case, check, check_in
from nodes import EPMD_PORT, MATRIX, TOP, matrix_root, run_in


class DemoNode:
    def __init__(self, ctx):
        matrix_root(ctx.otp)
        ebin = os.path.join(ctx.work_dir, f"demo-{ctx.otp}")
        if not os.path.isdir(ebin):
            source = os.path.join(ctx.work_dir, f"demo-src-{ctx.otp}")
            shutil.copytree(os.path.join(TOP, "tools", "demo.d"), source)
            os.makedirs(ebin)
            done = run_in(ctx.otp, ["sh", "-c", f"erlc -o {ebin} {source}/*.erl"])
            if done.returncode != 0:
                raise Failure(f"the demo does not compile: {done.stdout}{done.stderr}")
        self.process = subprocess.Popen(
            [MATRIX, "run", ctx.otp, "--", "erl", "-noshell", "-name", f"shop{ctx.otp}@127.0.0.1",
             "+S", "2:2", "-pa", ebin, "-run", "shop", "main"], stdin=subprocess.PIPE,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
            env=dict(os.environ, ERL_EPMD_PORT=EPMD_PORT, ERL_EPMD_ADDRESS="127.0.0.1"))
        line = self.process.stdout.readline().decode()
        if not line.startswith("shop is open"):
            self.close()
            raise Failure(f"the demo node said {line!r}")

    def close(self):
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        self.process.stdin.close()
        self.process.stdout.close()


def demo_node(ctx):
    node = DemoNode(ctx)
    ctx.cleanup(node.close)
    return node


@case("every kind of work of the demo node shows, under the names of its processes", otp="one")
def kinds_of_work(ctx):
    node = demo_node(ctx)
    path = ctx.ebeam.file(".ebeam")
    ctx.ebeam.ok("record", "-p", node.process.pid, "-d", 4, "-F", 499, "-o", path)
    profile = ctx.ebeam.report(path)
    names = {p["registered_name"] for p in profile.processes.values()}
    for name in ("shop_prices", "shop_stock", "shop_reports", "shop_search", "shop_images",
                 "shop_printer"):
        check(name in names, f"no process {name}: {names}")
    for kind in ("erlang", "bif", "gc", "ets", "port"):
        check(profile.by_kind.get(kind, 0) > 0, f"no samples of kind {kind}: {profile.by_kind}")
    profile.check_complete()


@case("make demo: a flame graph, the hottest functions and processes; and the node is gone",
      otp="one", timeout=180)
def demo(ctx):
    target = ctx.ebeam.file(".html")
    done = subprocess.run([os.path.join(TOP, "tools", "demo")], capture_output=True, text=True,
                          env=dict(os.environ, EBEAM=ctx.ebeam.path, DEMO_OUT=target), timeout=150)
    check(done.returncode == 0, f"exit {done.returncode}: {done.stdout}{done.stderr}")
    check_in("shop_prices", done.stdout, "what it prints")
    with open(target) as f:
        check_in("shop_prices:discount/2", html_strings(f.read()), "the flame graph")
    pid = re.search(r"os pid (\d+)", done.stdout)
    check(pid and not os.path.exists(f"/proc/{pid.group(1)}"), f"the node still runs: {pid}")
