"""Reduces the points of a long log's chart and keeps the shape of the curve."""

# The time is cut into so many parts; a chart has at most twice as many points of a kind.
PARTS = 4000


def thinned(points, begin, wall, parts=PARTS):
    """(time, value) pairs in the order of time: all of them, or of each part of the time the lowest and the highest."""
    if len(points) <= 2 * parts:
        return points
    kept, low, high, part = [], None, None, None
    for point in points:
        here = (point[0] - begin) * parts // wall
        if here != part:
            add_extremes(kept, low, high)
            part, low, high = here, point, point
        elif point[1] < low[1]:
            low = point
        elif point[1] > high[1]:
            high = point
    add_extremes(kept, low, high)
    return kept


def add_extremes(kept, low, high):
    if low is None:
        return
    if low is high:
        kept.append(low)
    else:
        kept.extend(sorted((low, high), key=lambda point: point[0]))


def sums_between(events, begin, wall, parts):
    """Sums over intervals that each end with an event and last at least one part of the time.

    events: (time, values) in the order of time, values a tuple of numbers that belong to the time since the event
    before. Returns (interval's begin, its end, sums). No interval is without an event, so no sum is a zero that stands
    for "nothing is known"; what follows the last event belongs to no interval.
    """
    intervals, start, sums = [], begin, None
    least = max(wall // parts, 1)
    for time, values in events:
        sums = values if sums is None else tuple(map(sum, zip(sums, values)))
        if time - start >= least:
            intervals.append((start, time, sums))
            start, sums = time, None
    if sums is not None and intervals:  # less than a part of the time is left: it joins the last interval
        first, _, before = intervals.pop()
        intervals.append((first, events[-1][0], tuple(map(sum, zip(before, sums)))))
    elif sums is not None and events[-1][0] > begin:
        intervals.append((begin, events[-1][0], sums))
    return intervals


def joined_items(items, wall, parts=PARTS):
    """(begin, end, kind, count, longest) of a lane: those that lie together within one part of the time become one."""
    if len(items) <= 2 * parts:
        return items
    cell, joined = max(wall // parts, 1), []
    for begin, end, kind, count, longest in items:
        if joined and end - joined[-1][0] < cell:
            first, _, old_kind, old_count, old_longest = joined[-1]
            kind = kind if longest > old_longest else old_kind
            joined[-1] = (first, end, kind, old_count + count, max(longest, old_longest))
        else:
            joined.append((begin, end, kind, count, longest))
    return joined
