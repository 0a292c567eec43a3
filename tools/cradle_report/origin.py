"""Where a log is from: the process, the machine and the settings, as far as the log says."""

from datetime import datetime, timezone

from . import words

# Times of day after the year 9999 cannot be written.
LATEST_NS = 253_402_300_799 * 1_000_000_000


def began(ns):
    return datetime.fromtimestamp(ns // 1_000_000_000, timezone.utc).strftime("%Y-%m-%d %H:%M:%S UTC")


def caches(hardware):
    for level in ("l2", "l3"):
        value = hardware.get(f"{level}_bytes")
        if value:
            yield f"{level.upper()} cache {words.size(value)}"


def machine(hardware):
    told = list(caches(hardware))
    if hardware.get("memory_bytes"):
        told.append(f"memory {words.size(hardware['memory_bytes'])}")
    if hardware.get("page_bytes"):
        told.append(f"pages of {words.size(hardware['page_bytes'])}")
    if hardware.get("thp_mode"):
        told.append(f"huge pages: {hardware['thp_mode']}")
    return ", ".join(told)


def settings(heap):
    if heap.nurseries and "nursery_bytes" in heap.nurseries[0].fields:
        first = heap.nurseries[0].fields
        reason = f" ({first['reason']})" if "reason" in first else ""
        yield f"first nursery {words.size(first['nursery_bytes'])}{reason}"
    if heap.pause_target_ns is not None:
        yield f"pause target {words.time(heap.pause_target_ns)}" if heap.pause_target_ns else "no pause target"
    if heap.hardware.get("address_space_bytes"):
        yield f"address space {words.size(heap.hardware['address_space_bytes'])}"


def rows(log, heaps):
    """Where the log is from: pairs of a name and a value. The settings are those of the first of the heaps."""
    programs = list(dict.fromkeys(head["program"] for head in log.heads if "program" in head))
    if programs:
        yield "program", ", ".join(programs[:4]) + (", ..." if len(programs) > 4 else "")
    versions = list(dict.fromkeys(head["cradle"] for head in log.heads if "cradle" in head))
    if versions:
        yield "Cradle", ", ".join(versions)
    processes = list(dict.fromkeys(head["process"] for head in log.heads if "process" in head))
    if processes:
        yield "process", ", ".join(map(str, processes[:4])) + (", ..." if len(processes) > 4 else "")
    times = [head["unix_ns"] for head in log.heads if 0 <= head.get("unix_ns", -1) <= LATEST_NS]
    if times:
        yield "began", began(min(times))
    for heap in heaps[:1]:
        if hardware := machine(heap.hardware):
            yield "hardware", hardware
        if told := ", ".join(settings(heap)):
            yield "settings", told
