# SPDX-License-Identifier: BSD-2-Clause
"""The commands that only read memory (they take --core), one row each: how to call them, what must
be in an answer of any node, and what of the answer depends on more than the memory."""
import re

from harness import Failure, check, check_equal


# gcore may lack the stacks of threads, and says so there; a core has no use for "core files", nor for
# probes, and is no process.
NOT_MEMORY = ("running", "process", "schedulers have the ids of their threads", "core files", "probe sites",
              "debug registers")


def of_nodes(data):
    """doctor: what it says of the host, and of commands there, is not about the memory."""
    return {"nodes": data["nodes"],
            "features": [f for f in data["features"] if f["os_pid"] is not None
                         and f["group"] not in ("events", "commands")
                         and f["feature"] not in NOT_MEMORY]}


def of_ports(data):
    """port: the kernel's side of descriptors is in no core."""
    rows = []
    for row in data:
        row = dict(row, socket=row["socket"] and {"fd": row["socket"]["fd"]})
        for side in ("read", "write"):
            row[side] = row[side] and row[side]["fd"]
        rows.append(row)
    return rows


def of_dist(data):
    """dist: neither epmd nor the kernel's side of connections is in the memory."""
    return {"name": data["name"], "alive": data["alive"], "creation": data["creation"],
            "nodes": [{k: v for k, v in row.items() if k != "socket"} for row in data["nodes"]]}


def of_mem(data):
    """mem: what of the memory is in RAM is known of a process only."""
    return {k: v for k, v in data.items() if k != "rss"}


def of_sched_now(data):
    """sched --now: times, threads and system calls are the kernel's; gcore may lack stacks."""
    fields = ("type", "scheduler", "doing", "pid", "port", "registered_name", "run_queue")
    return [{f: row[f] for f in fields} for row in data["schedulers"]]


def of_diagnosis(data):
    """diagnose: of a core there is one moment, and nothing of the host."""
    return sorted(f["title"] for f in data["findings"] if f["id"] in ("deadlock", "limit"))


def same(data):
    return data


class Reading:
    """`answer`: reads what is printed, if it is no JSON."""

    def __init__(self, command, *args, memory=same, sensible=None, answer=None):
        self.command, self.args, self.memory, self.sensible = command, args, memory, sensible
        self.name = " ".join((command, *args))
        self.answer = answer or (lambda result: result.json()["data"])
        self.json = answer is None
        self.args = (*args, "-j") if self.json else args


def doctor_says(data, node):
    known = [n for n in data["nodes"] if n["os_pid"] == node.inner_pid or n["os_pid"] == node.os_pid]
    check_equal([n["name"] for n in known], [node.name], "doctor: nodes")
    check(known[0]["supported"], "doctor: the node is not supported")


def ps_says(data, node):
    names = {p["registered_name"] for p in data}
    check({"init", "code_server", "application_controller"} <= names, f"ps: {names}")


def inspect_says(data, node):
    check_equal(data["registered_name"], "code_server", "inspect: registered_name")
    check(len(data["current_stacktrace"]) > 0, "inspect: no stack")


def dump_says(data, node):
    frames = {f["mfa"] for group in data for f in group["stack"]}
    check("code_server:loop/1" in frames, f"dump: {sorted(frames)[:20]}")
    check_equal(data, sorted(data, key=lambda g: -g["count"]), "dump: most first")


def mem_says(data, node):
    check(data["total"] > data["processes"] > 0, f"mem: {data}")
    check(data["total"] > 10 * 2**20, f"mem: {data}")


def atoms_say(data, node):
    check_equal(len(data["atoms"]), 50, "mem --atoms: atoms")
    check_equal(data["atoms"][0]["index"], data["counts"]["atoms"]["count"] - 1, "mem --atoms: newest")


def carriers_say(data, node):
    rows = {row["type"]: row for row in data["carriers"]}
    check(rows["ll_alloc"]["blocks"] > 5000, f"carriers: {rows['ll_alloc']}")


def tags_say(data, node):
    types = {row["type"] for row in data["tags"] if row["origin"] == "system"}
    check({"binary", "microstate_accounting"} <= types, f"tags: {types}")


def persistent_says(data, node):
    check_equal(data["count"], len(data["persistent_terms"]), "mem --persistent-terms: count")
    check("{logger_config,'$primary_config$'}" in {t["key"] for t in data["persistent_terms"]}, f"{data}")


def ets_says(data, node):
    names = {t["name"] for t in data}
    check({"code", "code_names", "ac_tab"} & names, f"ets: {names}")


def port_says(data, node):
    check(len(data) > 0, "port: none")


def mod_says(data, node):
    names = {m["module"] for m in data}
    check({"lists", "erlang", "code_server", "workload"} <= names, f"mod: {len(names)} modules")


def dist_says(data, node):
    check_equal(data["name"], node.name, "dist: name")


def env_says(data, node):
    check("kernel" in data, f"env: {list(data)}")


def sched_now_says(data, node):
    types = [row["type"] for row in data["schedulers"]]
    check(types.count("normal") == 2 and {"dirty_cpu", "dirty_io"} < set(types), f"sched: {types}")


def diagnosis_says(data, node):
    check(all(f["title"] and f["evidence"] for f in data["findings"]), f"diagnose: {data}")


def sections(result):
    """crashdump: {"=proc:<0.1.0>": its lines}; the first has the time and who was read."""
    parts = ("\n" + result.out).split("\n=")[2:]
    return {part.split("\n", 1)[0]: part.split("\n")[1:] for part in parts}


def of_crashdump(data):
    """What a scheduler is in the middle of may be on a stack, and times of timers go on."""
    return {name: lines for name, lines in data.items() if not re.match("(dirty_.*_)?scheduler|timer", name)}


def crashdump_says(data, node):
    name = node.name if "@" in node.name and node.name.replace("@", "").isalnum() else f"'{node.name}'"
    check(f"node:{name}" in data and "end" in data, f"crashdump: {list(data)[:10]}")
    check(any("Name: code_server" in lines for part, lines in data.items() if part.startswith("proc:")),
          "crashdump: no code_server")


READINGS = [
    Reading("diagnose", "-d", "500ms", memory=of_diagnosis, sensible=diagnosis_says),
    Reading("doctor", memory=of_nodes, sensible=doctor_says),
    Reading("ps", sensible=ps_says),
    Reading("inspect", "code_server", sensible=inspect_says),
    Reading("inspect", "application_controller"),
    Reading("dump", sensible=dump_says),
    Reading("crashdump", "-o", "-", memory=of_crashdump, sensible=crashdump_says, answer=sections),
    Reading("mem", memory=of_mem, sensible=mem_says),
    Reading("mem", "--atoms", sensible=atoms_say),
    Reading("mem", "--persistent-terms", sensible=persistent_says),
    Reading("mem", "--carriers", sensible=carriers_say),
    Reading("mem", "--tags", sensible=tags_say),
    Reading("mem", "--tags", "--by", "nif", sensible=tags_say),
    Reading("bin"),
    Reading("ets", sensible=ets_says),
    Reading("ets", "ac_tab"),
    Reading("sched", "--now", memory=of_sched_now, sensible=sched_now_says),
    Reading("port", memory=of_ports, sensible=port_says),
    Reading("mod", sensible=mod_says),
    Reading("dist", memory=of_dist, sensible=dist_says),
    Reading("env", sensible=env_says),
]


def commands(ebeam):
    """Names of all commands."""
    text = ebeam.ok("help").out.split("Commands:", 1)[1].split("\n\n", 1)[0]
    return re.findall(r"^  ([a-z]+) ", text, re.M)


def readings(ebeam):
    """A row for every command that takes --core; all of them must have one."""
    there = {c for c in commands(ebeam) if "--core FILE" in ebeam.ok("help", c).out}
    missing = there - {reading.command for reading in READINGS}
    if missing:
        raise Failure(f"reading.py has no row for {missing}")
    check(there, "no command takes --core")
    return [reading for reading in READINGS if reading.command in there]


def answers(ebeam, where, found, code=0):
    """{name of a row: data of its JSON}, of a node (-p) or a core file (--core)."""
    out = {}
    for reading in found:
        result = ebeam.run(reading.command, *where, *reading.args)
        check_equal(result.code, code, str(result))
        out[reading.name] = reading.answer(result)
    return out


def check_sensible(found, answered, node):
    for reading in found:
        if reading.sensible:
            reading.sensible(answered[reading.name], node)


def difference(a, b, path="data"):
    """Where two JSON values differ first; None = nowhere."""
    if type(a) is not type(b):
        return f"{path}: {a!r:.200} / {b!r:.200}"
    if isinstance(a, dict):
        for key in sorted(a.keys() | b.keys()):
            if key not in a or key not in b:
                return f"{path}.{key}: only in one"
            found = difference(a[key], b[key], f"{path}.{key}")
            if found:
                return found
        return None
    if isinstance(a, list):
        if len(a) != len(b):
            return f"{path}: {len(a)} / {len(b)} elements"
        for i, (x, y) in enumerate(zip(a, b)):
            found = difference(x, y, f"{path}[{i}]")
            if found:
                return found
        return None
    return None if a == b else f"{path}: {a!r:.200} / {b!r:.200}"


def count_values(value):
    if isinstance(value, dict):
        return sum(map(count_values, value.values()))
    if isinstance(value, list):
        return sum(map(count_values, value))
    return 1


def check_same(found, live, core, what):
    """Every value of every command's data; how many they are is printed."""
    compared = []
    for reading in found:
        a, b = reading.memory(live[reading.name]), reading.memory(core[reading.name])
        where = difference(a, b)
        check(where is None, f"{reading.name}, {what}: live / core: {where}")
        compared.append(f"{reading.name} {count_values(a)}")
    print(f"    {what}: equal values: {', '.join(compared)}", flush=True)
