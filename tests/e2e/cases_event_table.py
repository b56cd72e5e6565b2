# SPDX-License-Identifier: BSD-2-Clause
"""The table of events in the README is what the program and the nodes say."""
import os
import subprocess

from harness import case, check_equal
from nodes import TOP


@case("README.md: each event and what this release gives of it (tools/event-table)")
def readme(ctx):
    done = subprocess.run([os.path.join(TOP, "tools", "event-table"), "--check", "--otp", ctx.otp,
                           "--ebeam", ctx.ebeam.path], capture_output=True, text=True, timeout=120)
    check_equal(done.returncode, 0, done.stdout + done.stderr)
