"""In which order a replay delivers what is kept: that of the source's log, which is not always that of arrival.

Tasks of Spark's hand over what they set aside as they end, whichever part of the log they have read; a table that takes
only the newest change of a row refuses that one first; and a log that is read once more, from an earlier place on, may
bring what went through before.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator

from cdckit.api.record import lane_of


def in_log_order(kept: Iterable[tuple[int, str]]) -> list[int]:
    """The numbers of records in the order of the log.

    Positions of one lane share out among each other the places that they have by arrival; those of several lanes say
    nothing about each other. A record without a position stays where it is.

    Args:
        kept: the number and the position of each record, in the order in which they came.
    """
    arrived = list(kept)
    of_lane: defaultdict[str, list[tuple[str, int]]] = defaultdict(list)
    for number, position in arrived:
        if position:
            of_lane[lane_of(position)].append((position, number))
    # Sorted by position, then by number: several records of one place stand as they came.
    due: dict[str, Iterator[tuple[str, int]]] = {lane: iter(sorted(found)) for lane, found in of_lane.items()}
    return [next(due[lane_of(position)])[1] if position else number for number, position in arrived]
