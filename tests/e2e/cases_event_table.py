# SPDX-License-Identifier: BSD-2-Clause
"""The table of commands in the README and that of events in the manual are what the program and the
nodes say."""
import os
import subprocess

from harness import Skip, case, check_equal, check_in
from nodes import TOP

SIDE_BY_SIDE = IN_TURN = True


@case("doc/ebeam-events.md: each event and what this release gives of it (tools/event-table)")
def events(ctx):
    if ctx.own_build and not ctx.otp.endswith("usdt"):
        raise Skip("the page has columns for the releases of Debian's suites")
    done = subprocess.run([os.path.join(TOP, "tools", "event-table"), "--check", "--otp", ctx.otp,
                           "--ebeam", ctx.ebeam.path], capture_output=True, text=True, timeout=120)
    check_equal(done.returncode, 0, done.stdout + done.stderr)


@case("README.md: the commands are those of the program, no more and no less", otp="one")
def commands(ctx):
    with open(os.path.join(TOP, "README.md")) as f:
        check_in("\n\n" + ctx.ebeam.ok("help", "--markdown").out + "\n", f.read(), "the table")
