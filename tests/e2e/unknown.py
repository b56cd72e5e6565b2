# SPDX-License-Identifier: BSD-2-Clause
"""Emulators of releases that ebeam does not know, made of those that are there: a copy that calls
itself another release, with DWARF made from a layout table or without."""
import os
import re
import subprocess

from harness import Skip, check, check_equal
from nodes import TOP


def members():
    """Of include/abi/layout.h: member -> type and path of the field (None: the size of the type)."""
    with open(os.path.join(TOP, "include/abi/layout.h")) as f:
        text = re.sub(r"\\\n\s*", " ", f.read())
    found = re.findall(r'\b([FS])\((\w+),\s*"([^"]+)"(?:,\s*"([^"]+)")?\)', text)
    return {member: (of, path or None) for _, member, of, path in found if member != "member"}


def table(name):
    """Of src/beam/otp/tables.h: member -> offset or size; what the release lacks is left out."""
    with open(os.path.join(TOP, "src/beam/otp/tables.h")) as f:
        text = f.read()
    column = re.findall(r'\tT\(.*?"(.*?)"', text).index(name)
    rows = {member: re.split(", *", values)[column]
            for member, values in re.findall(r"\tV\((\w+), *(.*?)\)", text)}
    return {member: int(value) for member, value in rows.items() if value != "NONE"}


def declare(fields, size):
    """The body of a struct with those fields, each where it is to be: [(path, offset)]."""
    names = {}
    for path, offset in fields:
        names.setdefault(path[0], []).append((path[1:], offset))
    parts = [f"char the_whole[{size}];"] if size else []
    for i, (name, inner) in enumerate(names.items()):
        at = max([offset for path, offset in inner if not path], default=0)
        deeper = [(path, offset - at) for path, offset in inner if path]
        field = f"struct {declare(deeper, 0)} {name}" if deeper else f"char {name}[0]"
        parts.append(f"struct {{ char pad_{i}[{at}]; {field}; }};")
    return "{ union { " + " ".join(parts) + " }; }"


def source(layout):
    """C in which the types of the VM have that layout."""
    types = {}
    for member, (of, path) in members().items():
        size, fields = types.setdefault(of, [0, []])
        if member in layout and path:
            fields.append((path.split("."), layout[member]))
        elif member in layout:
            types[of][0] = layout[member]
    text = []
    for i, (of, (size, fields)) in enumerate(types.items()):
        if size or fields:
            body = declare(fields, size)
            text.append(f"{of} {body};" if " " in of else f"typedef struct {body} {of};")
            text.append(f"{of} variable{i};")
    return "\n".join(text)


def add_dwarf(ctx, beam, layout, keep=1.0):
    """Debug information of its own, of which only that part is there."""
    base = ctx.ebeam.file("-types")
    with open(base + ".c", "w") as f:
        f.write(source(layout))
    if subprocess.run(["sh", "-c", "command -v cc && command -v objcopy"], capture_output=True).returncode:
        raise Skip("no cc or objcopy here")
    done = subprocess.run(["cc", "-g", "-gdwarf-4", "-shared", "-fPIC", "-o", base + ".so", base + ".c"],
                          capture_output=True, text=True)
    check_equal(done.returncode, 0, done.stderr)
    add = []
    for section in (".debug_info", ".debug_abbrev", ".debug_str", ".debug_line"):
        file = base + section
        subprocess.run(["objcopy", "--dump-section", f"{section}={file}", base + ".so", "/dev/null"], check=True)
        if section == ".debug_info":
            os.truncate(file, int(os.path.getsize(file) * keep))
        add += ["--add-section", f"{section}={file}"]
    subprocess.run(["objcopy", *add, beam], check=True)


def call_it(beam, release):
    """What the executable says its release is."""
    with open(beam, "rb") as f:
        data = f.read()
    old, erts = re.search(rb"Erlang/OTP (\d\d)%s \[erts-([0-9.]+)\]", data).groups()
    new = str(release).encode()
    changed = data.replace(b"Erlang/OTP " + old + b"%s [erts-", b"Erlang/OTP " + new + b"%s [erts-")
    # etp_otp_release and, aligned, etp_erts_version
    changed = re.sub(re.escape(old) + rb"(\0+" + re.escape(erts) + rb"\0)", lambda m: new + m[1], changed)
    check(changed != data, "the release of this build was not found")
    with open(beam, "wb") as f:
        f.write(changed)
