# SPDX-License-Identifier: BSD-2-Clause
"""Terms as text: what ebeam reads and writes is what the node itself writes.

tools/termdump shows a process's dictionary with the same functions as the commands.
"""
import os
import re
import subprocess

from harness import case, check, check_equal, check_in
from nodes import TOP, need_elixir, run_in

SIDE_BY_SIDE = True

TERMDUMP = os.path.join(TOP, "build", "tools", "termdump")
NUMBER = 5000
SEED = "1"
UNICODE = ("+pc", "unicode", "+S", "2:2")
LATIN1 = ("+pc", "latin1", "+S", "2:2")
TYPES = """small big float ascii_atom utf8_atom nil list improper_list latin1_list tuple flat_map
    hash_map small_binary refc_binary sub_binary bitstring external_fun ref magic_ref alias pid port
    external_pid external_port external_ref""".split()


def termdump(ctx, node, *args):
    """The lines that it prints; nothing was unreadable."""
    check(os.path.exists(TERMDUMP), "build/tools/termdump is not built: make tools")
    done = subprocess.run([TERMDUMP, "-p", str(node.os_pid), "many_terms", "terms", *args],
                          capture_output=True, timeout=100)
    check_equal(done.returncode, 0, f"exit of termdump: {done.stderr.decode()}")
    check_equal(done.stderr.decode().strip(), "0 unreadable", "what termdump says")
    return done.stdout


def ask(node, *words):
    node.tell("ask", "many_terms", *words)
    return node.wait("answer", 100)["answer"]


def compare(ctx, flags, style, number, types):
    """Makes terms in a node, dumps them and lets the node compare every one."""
    node = ctx.new_node(flags=flags, name=f"{style}{ctx.otp}@127.0.0.1")
    path = os.path.join(ctx.work_dir, f"terms-{ctx.otp}-{style}")
    made = ask(node, "make", SEED, str(number), style)
    dump = termdump(ctx, node, "--each", "--size", *(["--elixir"] if style == "elixir" else []))
    with open(path, "wb") as f:
        f.write(dump)
    counts = ask(node, "check", path)
    ask(node, "drop")
    os.unlink(path)
    print(f"    {made['terms']} terms: {counts['equal']} texts and {counts['sizes']} sizes are equal;"
          f" in them: " + ", ".join(f"{n} {t}" for t, n in sorted(made["types"].items())))
    check(made["terms"] >= number, f"the node made {made['terms']}")
    check(not counts["wrong"], f"{counts}")
    check_equal(counts["sizes"], made["terms"], "terms of equal flat size")
    check_equal(counts["equal"], made["terms"], "terms of equal text")
    for wanted in [*TYPES, *types]:
        check(made["types"].get(wanted, 0) >= 50, f"too few {wanted}: {made['types']}")


@case("5,000 terms of every type: text and flat size are those of the node", timeout=240)
def erlang(ctx):
    record = ["record"] if ctx.release == 29 else []
    compare(ctx, UNICODE, "erlang", NUMBER, ["local_fun", *record])


@case("lists with characters above 255 are numbers, as to a node with +pc latin1", timeout=240, in_turn=True)
def wide(ctx):
    compare(ctx, LATIN1, "narrow", NUMBER // 5, ["local_fun", "unicode_list"])


@case("2,500 terms as Elixir's inspect writes them", timeout=240, in_turn=True)
def elixir(ctx):
    need_elixir(ctx.otp)
    compare(ctx, UNICODE, "elixir", NUMBER // 2, ["unicode_list"])


@case("limits: deeper and longer than they allow is '...', and nothing hangs", in_turn=True)
def limits(ctx):
    node = ctx.new_node(flags=UNICODE)
    ask(node, "make", "5", "10", "erlang")
    lines = termdump(ctx, node, "--depth", "3", "--max", "5").decode().splitlines()
    check_equal(len(lines), 1, "lines")
    check_equal(lines[0], "[{},[],#{},<<>>,{{}},...]", "five elements")
    each = termdump(ctx, node, "--depth", "3", "--max", "40", "--each").decode().splitlines()
    check_equal(each[5], "{{{...,...},[...]},[x]}", "three levels of 900")
    check_equal(each[11], "[" + ",".join(str(n) for n in range(1, 41)) + ",...]", "forty of 20,000")
    check_equal(each[12], '"' + "long text " * 16 + '..."', "text of a long list")
    ask(node, "drop")


# All that a terminal obeys, and all that turns the direction of text.
OBEYED = re.compile("[\\0-\\x09\\x0b-\\x1f\\x7f-\\x9f\\u061c\\u200e\\u200f\\u2028-\\u202e\\u2066-\\u2069]")


@case("names and data of a node cannot talk to the terminal, in no command's text", in_turn=True)
def terminal(ctx):
    node = ctx.new_node(flags=UNICODE)
    pid = node.ask("hostile", "start")["pid"]
    tables = ctx.ebeam.ok("ets", "-p", node.os_pid, "-j").json()["data"]
    table = next(t["name"] for t in tables if "hostile" in t["name"])
    shown = 0
    for args in (["ps"], ["ps", "--tree"], ["inspect", pid, "--mailbox"], ["inspect", pid, "--terms"],
                 ["dump", "-n", "100"], ["dump", "--waits"], ["ets"], ["ets", table]):
        text = ctx.ebeam.ok(args[0], "-p", node.os_pid, *args[1:]).out
        check_in("hostile", text, f"what {args} says")
        found = OBEYED.search(text)
        check(not found, f"{args}: {found and text[max(0, found.start() - 30):found.end() + 10]!r}")
        shown += text.count("hostile")
    print(f"    shown {shown} times")
