"""Figures in words, and what the owner of the program should look at first."""

from cradle_show import shown

from .measures import ARENA_BYTES, MAJOR

NOT_KNOWN = "not known"
NONE = "none in this log"


def time(ns):
    if ns < 1_000_000:
        return f"{ns / 1e3:.1f} us"
    if ns < 1_000_000_000:
        return f"{ns / 1e6:.2f} ms"
    return f"{ns / 1e9:.2f} s"


def size(value):
    if value is None:
        return NOT_KNOWN
    for unit in ("bytes", "KiB", "MiB", "GiB"):
        if value < 1024:
            return f"{value:.0f} {unit}" if unit == "bytes" else f"{value:.2f} {unit}"
        value /= 1024
    return f"{value:.2f} TiB"


def percent(share):
    if share is None:
        return NOT_KNOWN
    return f"{100 * share:.2f} %"


def counted(count, noun):
    """A number with its noun, in the plural unless it is 1."""
    plural = noun if count == 1 else f"{noun}es" if noun.endswith("s") else f"{noun}s"
    return f"{count:.0f} {plural}"


def collections(count, counter):
    return f"{count}: {causes(counter)}" if count else NONE


def causes(counter):
    return ", ".join(f"{count} {shown(name, 80)}" for name, count in counter.most_common(20)) or "causes not known"


def helpers(summary):
    """What the collector's threads did for minor collections."""
    words = f"in {counted(summary.helped, 'collection')}"
    if summary.helped:
        words += f", {percent(summary.helped_share)} of the promoted bytes, {time(summary.helped_ns)} of work"
    return f"{words}; alone: {causes(summary.alone)}" if summary.alone else words


def processor_time(summary):
    if summary.processor_longest is None:
        return NOT_KNOWN
    words = f"p99 {time(summary.processor_p99)}, max {time(summary.processor_longest)}"
    return f"{words}; in {counted(summary.interrupted, 'pause')} the system ran something else" if summary.interrupted else words


def rows(heap, summary):
    """(name, value) pairs: the whole summary."""
    seconds = summary.wall / 1e9
    if not summary.pauses:
        yield "time", time(summary.wall)
        yield "pauses", NONE
    else:
        yield "time", f"{time(summary.wall)}, {percent(summary.gc_share)} of it in pauses"
        yield "pauses", f"{summary.pauses}; {time(summary.pause_mean)} on average"
        yield "pause p50, p90, p99", f"{time(summary.p50)}, {time(summary.p90)}, {time(summary.p99)}"
        yield "pause p99.9, p99.99, max", f"{time(summary.p999)}, {time(summary.p9999)}, {time(summary.longest)}"
        yield "processor time of pauses", processor_time(summary)
        yield "utilisation at worst", ", ".join(f"{percent(mmu)} in {ms} ms" for ms, mmu in summary.mmu.items())
    if heap.pause_target_ns:
        above = [pause for pause in heap.pauses if pause.length > heap.pause_target_ns]
        interrupted = sum(pause.is_interrupted for pause in above)
        why = f" ({interrupted} interrupted by other work)" if interrupted else ""
        yield "pause target", f"{time(heap.pause_target_ns)}; {counted(len(above), 'pause')} above it{why}"
    else:
        yield "pause target", NOT_KNOWN if heap.pause_target_ns is None else "none"
    yield "minor collections", collections(summary.minors, summary.causes)
    yield "major collections", collections(summary.majors, summary.major_causes)
    rate = NOT_KNOWN if summary.allocated is None else f"{size(summary.allocated)}, {size(summary.allocated / seconds)} a second"
    yield "allocated", rate
    objects = "" if summary.promoted_objects is None else f" in {counted(summary.promoted_objects, 'object')}"
    survived = "the survival is not known" if summary.survival is None else f"{percent(summary.survival)} of the nursery survived"
    yield "promoted", f"{size(summary.promoted)}{objects}; {survived}"
    if summary.helped is not None:
        yield "helpers", helpers(summary)
    most = NOT_KNOWN if summary.used_peak is None else f"{size(summary.used_peak)} at most"
    yield "memory used", f"{most}; live after the last major collection: {size(summary.live)}"
    yield "nursery", size(summary.nursery)
    if summary.arenas is not None:
        yield "arenas", f"{summary.arenas} at most, {size(summary.arenas * ARENA_BYTES)}"
    measured = [one.fields for one in heap.arenas if one.fields.get("resident_bytes") and "huge_bytes" in one.fields]
    if measured:
        last = measured[-1]
        share = percent(last["huge_bytes"] / last["resident_bytes"])
        yield "huge pages", f"{share} of {size(last['resident_bytes'])} resident in arenas, when last measured"
    if heap.spans:
        memory = sum(one.fields["memory_bytes"] for one in heap.spans)
        waste = memory - sum(one.fields["used_bytes"] for one in heap.spans)
        yield "spans", f"{size(memory)} in {counted(len(heap.spans), 'size class')}, {percent(waste / memory)} waste after the last major collection"


def about_pauses(heap, summary):
    if not heap.pauses:
        return
    longest = max(heap.pauses, key=lambda pause: pause.length)
    kind = "a major collection" if any(kind in MAJOR for kind in longest.kinds) else "a minor collection"
    at = time(longest.begin - heap.begin)
    if longest.length > 2_000_000:
        yield longest.length / 1e6, f"The longest pause, {time(longest.length)}, is {kind}, {at} after the start. {why_long(heap, summary, longest, kind)}"
    if summary.mmu[100] < 0.5 and not longest.is_interrupted:  # by the clock, so only where nothing else explains it
        yield 50, f"In the worst tenth of a second, the program ran for only {percent(summary.mmu[100])} of the time."


def why_long(heap, summary, longest, kind):
    """What the log can tell about the reason, and only that."""
    if longest.is_interrupted:
        return (f"The collector worked for {time(longest.processor)} of it; for the rest, the system ran something else "
                f"(it took the processor away {counted(longest.preemptions, 'time')}). A quiet machine shortens it, no setting.")
    if 2 * longest.missing >= longest.length:
        return (f"The thread ran for only {time(longest.processor)} of it and waited for the rest: for memory, or for the "
                "second core.")
    busy = "" if longest.processor is not None else ", or the machine was busy (the log has no processor time)"
    if kind == "a major collection":
        return ("Increments keep to the pause target (CRADLE_GC_PAUSE) unless there is none, or the program asked for a "
                f"whole collection{busy}.")
    if wants_larger_nursery(summary) or grew_by_itself(heap):
        return f"Such a pause grows with the number of survivors{busy}."
    return ("Such a pause grows with the number of survivors: a smaller nursery (CRADLE_GC_NURSERY) shortens it, at the price of "
            f"more collections{busy}.")


def grew_by_itself(heap):
    """Whether the collector already chose a larger nursery while the program ran."""
    sizes = [one.fields.get("nursery_bytes", 0) for one in heap.nurseries]
    return len(sizes) > 1 and sizes[-1] > sizes[0]


def share_of_processor(summary):
    """The share of time that collections took from the program: in processor time where that is known."""
    return summary.gc_share if summary.processor_total is None else summary.processor_total / summary.wall


def wants_larger_nursery(summary):
    return share_of_processor(summary) >= 0.05 and (summary.survival or 0) > 0.1 and bool(summary.nursery)


def about_share(heap, summary):
    share = share_of_processor(summary)
    if share < 0.05:
        return
    kind = "" if summary.processor_total is None else "processor "
    words = f"{percent(share)} of the time goes into pauses" + (f", counted in {kind}time." if kind else ".")
    if summary.survival is None:
        yield 100 * share, words
    elif wants_larger_nursery(summary):
        survives = f"{words} {percent(summary.survival)} of the nursery survives"
        if grew_by_itself(heap):
            yield 100 * share, f"{survives}; the collector has already made it larger, {size(summary.nursery)} in the end."
        else:
            yield 100 * share, f"{survives}; try a nursery of {size(2 * summary.nursery)} (CRADLE_GC_NURSERY), in which more has time to die."
    else:
        yield 100 * share, f"{words} Little survives the nursery, so look at the major collections and the roots."


def about_requests(summary):
    asked = summary.major_causes.get("request", 0)
    if asked > 2 and asked > summary.majors / 2:
        yield 20, (f"The program requested {asked} of {counted(summary.majors, 'major collection')}; without these requests it would "
                   "pause less.")
    short = summary.major_causes.get("out of memory", 0)
    if short:
        yield 200, (f"{counted(short, 'major collection')} came because memory ran out: raise the maximum heap "
                    "(CRADLE_GC_MAX).")


def about_memory(heap, summary):
    if not heap.arenas or not summary.live or summary.used_peak is None:
        return
    used = heap.arenas[-1].fields.get("in_use", 0) * ARENA_BYTES
    if used > 2 * summary.used_peak and used > 16 * ARENA_BYTES:
        yield 30, (f"{size(used)} of arenas are in use, but at most {size(summary.used_peak)} were filled: "
                   "the old generation is fragmented.")


def advice(heap, summary):
    """Sentences, the most important one first; never empty."""
    found = [*about_pauses(heap, summary), *about_share(heap, summary), *about_requests(summary), *about_memory(heap, summary)]
    sentences = [sentence for _, sentence in sorted(found, key=lambda one: -one[0])]
    for text, count in heap.notes.most_common(3):
        times = "" if count == 1 else f" {counted(count, 'time')}"
        sentences.append(f"The collector noted{times}: {shown(text)}.")
    if not heap.minors and not heap.majors:
        return ["No collection is in this log."]
    return sentences or ["Nothing stands out: pauses are short and little time goes into them."]
