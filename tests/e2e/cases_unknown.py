# SPDX-License-Identifier: BSD-2-Clause
"""Releases that ebeam does not know: read by DWARF, or by the nearest layout that passes all checks
if that is asked for, and marked everywhere; else refused, with what would help."""
import os
import re
import shutil

from cases_core import gcore, make_dir, start_node, stop
from ebeam import Ebeam
from harness import case, check, check_equal, check_in
from looking import answers, check_same, looks
from nodes import run_in
from unknown import add_dwarf, call_it, table

SIDE_BY_SIDE = True
KNOWN = (25, 26, 27, 28, 29)
UNKNOWN = 30


class Forgetful(Ebeam):
    """ebeam that does not know those releases."""

    def __init__(self, ctx, *releases):
        super().__init__(ctx.ebeam.path, ctx.ebeam.work_dir)
        self.forgotten = ",".join(map(str, releases))

    def popen(self, *args, **kwargs):
        kwargs["env"] = dict(os.environ, EBEAM_FORGET_LAYOUTS=self.forgotten)
        return super().popen(*args, **kwargs)

    def file(self, suffix):
        raise NotImplementedError


def own_table(ctx):
    return f"otp{ctx.release}" + ("-vmprobes" if "usdt" in ctx.otp else "")


def nearest(ctx):
    """ebeam for which the release that it does not know is nearest to this one."""
    return Forgetful(ctx, *(r for r in KNOWN if r > ctx.release))


def another_exe(ctx, exe, name, *changes):
    """A copy of the emulator with changes."""
    path = os.path.join(os.path.dirname(exe), name)
    shutil.copy(exe, path)
    for change in changes:
        change(path)
    return path


def a_core(ctx):
    """A core file of a node, and its emulator."""
    directory = make_dir(ctx)
    node = start_node(ctx, directory, name=f"unknown{ctx.otp}@127.0.0.1")
    exe = os.path.join(directory, "beam.smp")
    shutil.copy(f"/proc/{node.os_pid}/exe", exe)
    stop(ctx, node.os_pid)
    return gcore(directory, node.os_pid), exe


def with_dwarf(ctx, layout, keep=1.0):
    return lambda path: add_dwarf(ctx, path, layout, keep)


def claims(release):
    return lambda path: call_it(path, release)


def reads(ebeam, core, exe, *args):
    return ebeam.run("ps", "--core", core, "--exe", exe, "-j", *args)


def check_refused(result, *words):
    check_equal(result.code, 6, str(result))
    check_equal(result.out, "", "output of what was refused")
    for word in words:
        check_in(word, result.err, "refusal")


def check_marked(result, mark):
    check_equal(result.code, 0, str(result))
    check_equal(result.json()["node"]["untested"], mark, "node.untested")
    check_in(mark, result.err, "warning")


@case("by DWARF, and by the nearest table if asked for, all commands say what they say by the table",
      timeout=300)
def same_answers(ctx):
    core, exe = a_core(ctx)
    found = [look for look in looks(ctx.ebeam) if look.command != "doctor"]
    known = answers(ctx.ebeam, ("--core", core, "--exe", exe), found)
    dwarf = another_exe(ctx, exe, "dwarf", claims(UNKNOWN), with_dwarf(ctx, table(own_table(ctx))))
    plain = another_exe(ctx, exe, "plain", claims(UNKNOWN))
    ebeam = nearest(ctx)
    by_dwarf = answers(ebeam, ("--core", core, "--exe", dwarf), found)
    check_same(found, known, by_dwarf, "by DWARF")
    check_marked(reads(ebeam, core, dwarf), "by DWARF, untested release")
    check_refused(reads(ebeam, core, plain), f"OTP {UNKNOWN}", "debug symbols", "--try-layout",
                  "update ebeam", own_table(ctx))
    by_table = answers(ebeam, ("--core", core, "--exe", plain, "--try-layout"), found)
    check_same(found, known, by_table, "by the nearest table")
    check_marked(reads(ebeam, core, plain, "--try-layout"), f"by table {own_table(ctx)}, untested release")
