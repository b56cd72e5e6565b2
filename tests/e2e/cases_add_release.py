# SPDX-License-Identifier: BSD-2-Clause
"""tools/add-release, on a release that is there already."""
import glob
import os
import subprocess

from harness import Skip, case, check_equal, check_in
from nodes import TOP, matrix_root

SIDE_BY_SIDE = True

RELEASE = "27"


def add_release(*args):
    """Its exit code and what it said; it checks only."""
    done = subprocess.run([os.path.join(TOP, "tools/add-release"), "--check", *args],
                          capture_output=True, text=True)
    return done.returncode, done.stdout + done.stderr


def beam_of():
    found = glob.glob(matrix_root(RELEASE).rstrip("/") + "/usr/lib/erlang/erts-*/bin/beam.smp")
    if not found or not os.access(os.path.join(TOP, "build/tools/layoutgen"), os.X_OK):
        raise Skip(f"no beam.smp of OTP {RELEASE}, or build/tools/layoutgen is not built: make tools")
    return found[0]


@case("add-release: neighbours of a table, the checks, the cases; nothing fails", otp="one", timeout=300,
      long=True)
def good(ctx):
    code, said = add_release(beam_of(), "--ebeam", ctx.ebeam.path, "--only",
                             "ets/one_scheduler,list/facts")
    check_equal(code, 0, said)
    for text in ("otp26 -> otp27: ", "otp27 -> otp28: ", "    psd_size: 96 -> 112\n",
                 " layout checks, 0 rows", f"ok   {RELEASE} list/facts", "\nnothing failed"):
        check_in(text, said, "what it says")


@case("add-release: what fails is listed, and the exit code says so", otp="one", timeout=300,
      long=True)
def bad(ctx):
    wrapper = ctx.ebeam.file("-without-ps")
    with open(wrapper, "w") as f:
        f.write(f'#!/bin/sh\n[ "$1" != ps ] || exit 1\nexec {ctx.ebeam.path} "$@"\n')
    os.chmod(wrapper, 0o755)
    code, said = add_release(beam_of(), "--ebeam", wrapper, "--only", "ps/choosing")
    check_equal(code, 1, said)
    check_in(f"\nfailed:\n    FAIL {RELEASE} ps/choosing", said, "what it says")


@case("add-release: what is no emulator is refused", otp="one")
def refused(ctx):
    code, said = add_release("/bin/true")
    check_equal(code, 1, said)
    check_in("wanted is", said, "what it says")
