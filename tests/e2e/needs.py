# SPDX-License-Identifier: BSD-2-Clause
"""Kinds of events that not every node gives, and the cases that say nothing without them: where ebeam
says that a node does not give such a kind, they are skipped with its reason.  Which release gives what
stands in no test: the table of events in doc/ebeam-events.md does, which theme event_table compares."""
import fnmatch

SENT = ("message_send",)
QUEUED = ("message_queued",)
NEEDS = (
    (SENT, "budget", "ping_pong by_perf intervals all_kinds dropped not_placed killed dry_run"),
    (SENT, "count", "chosen budget"),
    (SENT, "event_faults", "two_at_once other_is_killed probed_by_others slow_reader sigterm"),
    (SENT, "events", "messages aliases calls remote reclaimed stacks storm killed"),
    (SENT, "filters", "initial_call followed pairs"),
    (SENT, "host", "filtered"),
    (SENT, "manual", "fields"),
    (SENT, "modes", "msg same_bytes differences"),
    (SENT, "msg", "pairs sides remote receives queued_only order watch"),
    (SENT, "output", "full_disk"),
    (SENT, "perfetto", "messages live"),
    (SENT, "site", "stands_for_entry"),
    (SENT, "privileges", "sets"),
    (SENT, "top", "event_rates events_*"),
    (QUEUED, "count", "chosen"),
    (QUEUED, "events", "messages calls from_afar"),
    (QUEUED, "filters", "followed"),
    (QUEUED, "modes", "wait runnable"),
    (QUEUED, "msg", "pairs sides receives queued_only order watch"),
    (QUEUED, "top", "event_rates"),
    (("message_receive",), "events", "from_afar"),
    (("carrier_create",), "vmkinds", "carriers alloc"),
    (("carrier_pool_put",), "vmkinds", "pool"),
    (("process_exit_signal",), "vmkinds", "signals"),
    (("copy_struct", "copy_object"), "vmkinds", "copies"),
    (("nif_entry", "nif_return"), "vmkinds", "nifs"),
    (("dist_monitor", "dist_outputv"), "vmkinds", "connection"),
    (("dist_port_busy",), "vmkinds", "stalled"),
)


def needs(name):
    """Kinds that a case needs."""
    return {kind for kinds, theme, cases in NEEDS for kind in kinds
            if any(fnmatch.fnmatch(name, f"{theme}/{case}") for case in cases.split())}


def strangers(names):
    """What the table says of cases that there are not."""
    return [f"{theme}/{case}" for _, theme, cases in NEEDS for case in cases.split()
            if not fnmatch.filter(names, f"{theme}/{case}")]
