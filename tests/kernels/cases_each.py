# SPDX-License-Identifier: BSD-2-Clause
"""Each kind of events alone, attached and seen: a kernel that refuses one program is recognised by the
name of one case."""
from answers import Watch
from cases_drivers import build_driver
from harness import case, check, check_equal

# What makes the node do each kind of thing: group of kinds -> question, and more arguments.
COLLECTIONS = (("happenings", "collections", 3), ())
LONG_COLLECTIONS = (("happenings", "collections", 3), ("--longer-than", "1us"))
SLICES = (("happenings", "slices", 5), ())
LONG_SLICES = (("vm_kinds", "slices", 1), ("--longer-than", "50ms"))
SPAWNS = (("happenings", "spawns", 2), ())
MESSAGES = (("happenings", "messages", 10, 10), ())
LINKS = (("happenings", "links", 3), ())
NAMES = (("happenings", "names", 3), ())
PORTS = (("happenings", "ports", 3), ())
OWNERS = (("driver_zoo", "owners", 2), ())
TCP = (("driver_zoo", "tcp", 3, 3000), ())
OWN_DRIVER = (("driver_zoo", "own", 2), ())
CARRIERS = (("vm_kinds", "carriers", 5, 3000000), ())
POOL = (("vm_kinds", "pool", 300), ())
COPIES = (("vm_kinds", "copies", 5), ())
NIFS = (("vm_kinds", "nifs", 5), ())

ANSWERS = {
    "process_spawn": SPAWNS, "process_exit": SPAWNS,
    "process_exception": (("happenings", "raises", 5), ()),
    "process_link": LINKS, "process_unlink": LINKS,
    "process_register": NAMES, "process_unregister": NAMES,
    "process_scheduled": SLICES, "process_runnable": SLICES, "scheduler_active": SLICES,
    "process_hibernate": (("happenings", "hibernations", 3), ()),
    "message_send": MESSAGES, "message_queued": MESSAGES, "message_receive": MESSAGES,
    "gc_minor_start": COLLECTIONS, "gc_minor_end": COLLECTIONS,
    "gc_major_start": COLLECTIONS, "gc_major_end": COLLECTIONS,
    "process_heap_grow": COLLECTIONS, "process_heap_shrink": COLLECTIONS,
    "long_gc": LONG_COLLECTIONS, "long_schedule": LONG_SLICES,
    "port_open": PORTS, "port_exit": PORTS, "port_command": PORTS, "port_scheduled": PORTS,
    "port_control": TCP, "port_connect": OWNERS, "port_link": OWNERS, "port_unlink": OWNERS,
    "port_busy": OWN_DRIVER, "port_not_busy": OWN_DRIVER,
    "driver_start": PORTS, "driver_stop": PORTS, "driver_output": PORTS,
    "driver_outputv": TCP, "driver_ready_input": TCP, "driver_control": TCP,
    "driver_flush": OWN_DRIVER, "driver_ready_output": OWN_DRIVER, "driver_timeout": OWN_DRIVER,
    "driver_ready_async": OWN_DRIVER, "driver_process_exit": OWN_DRIVER,
    "driver_stop_select": OWN_DRIVER, "driver_call": OWN_DRIVER,
    "process_exit_signal": (("vm_kinds", "signals", 2), ()),
    "carrier_create": CARRIERS, "carrier_destroy": CARRIERS, "carrier_resize": COLLECTIONS,
    "carrier_pool_put": POOL, "carrier_pool_get": POOL,
    "libc_alloc": CARRIERS,
    "copy_struct": COPIES, "copy_object": COPIES,
    "nif_entry": NIFS, "nif_return": NIFS,
}
# Loading and unloading a driver, and connections, are not done by one question.
LOADING = ("driver_init", "driver_finish")
CONNECTIONS = ("dist_monitor", "dist_outputv")
STALLS = ("dist_port_busy", "dist_port_not_busy")
# No driver of connections that OTP 25 has takes its data in one piece.
NEVER = ("dist_output",)


def check_seen(kind, events):
    check_equal({e["kind"] for e in events}, {kind}, f"kinds; {len(events)} events")


def register(kind, function):
    function.__name__ = kind
    case(f"{kind} alone is attached, and seen", otp="one")(function)


def answered(kind):
    question, args = ANSWERS[kind]

    def run(ctx):
        if ANSWERS[kind] is OWN_DRIVER:
            ctx.node.ask("driver_zoo", "load", build_driver(ctx))
            ctx.cleanup(ctx.node.ask, "driver_zoo", "unload")
        watch = Watch(ctx, ctx.node, "-e", kind, *args)
        ctx.node.ask(*question)
        check_seen(kind, watch.events())

    register(kind, run)


def loading(kind):
    def run(ctx):
        path = build_driver(ctx)
        # A callback is found in a driver that is there.
        if kind == "driver_finish":
            ctx.node.ask("driver_zoo", "load", path)
        watch = Watch(ctx, ctx.node, "-e", kind)
        if kind == "driver_init":
            ctx.node.ask("driver_zoo", "load", path)
        ctx.node.ask("driver_zoo", "unload")
        check_seen(kind, watch.events())

    register(kind, run)


def connecting(kind):
    def run(ctx):
        other = ctx.session.node(ctx.otp, "other")
        watch = Watch(ctx, ctx.node, "-e", kind)
        ctx.node.ask("vm_kinds", "connection", other.name, 5)
        check_seen(kind, watch.events())

    register(kind, run)


for each in ANSWERS:
    answered(each)
for each in LOADING:
    loading(each)
for each in CONNECTIONS:
    connecting(each)


@case("there is a case for every kind of events, and OTP 25 gives them all", otp="one")
def every_kind(ctx):
    rows = ctx.ebeam.ok("events", "--list", "-j", "-p", ctx.node.os_pid).json()
    known = {*ANSWERS, *LOADING, *CONNECTIONS, *STALLS, *NEVER}
    check_equal({row["kind"] for row in rows}, known, "kinds")
    missing = {row["kind"]: row["why"] for row in rows if not row["available"]}
    check(not missing, f"missing: {missing}")
