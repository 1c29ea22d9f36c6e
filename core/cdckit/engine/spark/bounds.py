"""The options `from` and `to`: places of a source's log, by an offset, a time or a record's position."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from functools import reduce

import pyarrow as pa
import pyarrow.compute as pc

from cdckit.api.record import LANE_END, Offset
from cdckit.api.source import Source
from cdckit.engine.spark.job import Job, Place
from cdckit.errors import ConfigError, StateError

_EPOCH, _MILLISECOND = datetime(1970, 1, 1, tzinfo=UTC), timedelta(milliseconds=1)


def place_of(text: str) -> Place:
    """What an option says: an offset, a time in ms since 1970, or a position."""
    try:
        if text.lstrip().startswith("{"):
            offset: Offset = json.loads(text)
            return offset
        time = datetime.fromisoformat(text.strip())
    except ValueError:
        return text
    zoned = time if time.tzinfo else time.replace(tzinfo=UTC)
    return max(0, (zoned - _EPOCH) // _MILLISECOND)  # no log is older


def begin_at(source: Source, place: Place) -> Offset:
    """The offset that a reading begins at, from which the log can be read then; of a position that before its changes.

    Raises:
        ConfigError: it is no place in this source's log.
        SourceError: the log does not reach back to it.
    """
    offset = _offset("from", source, place)
    source.begin_from(offset)
    return offset


def bounded_end(source: Source, job: Job, start: Offset) -> Offset:
    """Where a reading between two places ends.

    Raises:
        ConfigError: as `begin_at`; or the end cannot be read up to, or the reading does not begin in the log.
    """
    if job.begin is None and source.snapshot_point(start) is not None:
        raise ConfigError(
            "to: the reading would begin with a snapshot, which has no place to end at: say where to begin by 'from'",
            number="CDC2505",
        )
    now = source.log_end(start)
    if job.end is None:
        return now
    end = _offset("to", source, job.end)
    if not job.pipeline.source_config.ends_exactly(end):
        raise ConfigError(
            "to: the log cannot be read up to just this offset (it lies within a transaction, or updates carry only "
            "what has changed): take one that a pipeline on Spark has saved, or a time",
            number="CDC2505",
        )
    if not source.passed(now, end):
        raise ConfigError("to: this offset lies behind the log's end", number="CDC2505")
    return start if source.passed(start, end) else end


def within(job: Job, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """The rows between the positions that a reading is bounded by: behind that of `from`, up to that of `to`."""
    if not (isinstance(job.begin, str) or isinstance(job.end, str)):
        yield from batches
        return
    name = "position" if job.shape is None else "_position"
    for batch in batches:
        position = batch.column(name)
        kept = []
        if isinstance(job.begin, str):
            kept.append(pc.greater(position, job.begin))
        if isinstance(job.end, str):
            kept.append(pc.less_equal(position, job.end))
        yield batch.filter(reduce(pc.and_, kept))


def _offset(option: str, source: Source, place: Place) -> Offset:
    if isinstance(place, int):
        return source.offset_before(place)
    if isinstance(place, str):
        around = None if LANE_END in place else source.around(place)
        if around is None:
            raise ConfigError(
                f"{option}: should be an offset, as `cdc offsets show` prints it, a row's position, or a time in ISO "
                "8601, such as 2026-01-31T23:00:00Z",
                number="CDC2505",
            )
        return around[option == "to"]
    try:
        source.check_offset(place)
    except StateError as error:
        raise ConfigError(f"{option}: {error}", number="CDC2505") from error
    return place
