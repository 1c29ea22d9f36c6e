"""The options `from` and `to`: places of a source's log, by an offset or by a time."""

from __future__ import annotations

import json
from datetime import UTC, datetime

from cdckit.api.record import Offset
from cdckit.api.source import Source
from cdckit.engine.spark.job import Job
from cdckit.errors import ConfigError, StateError

Place = Offset | int
"""An offset, or a time in ms since 1970."""


def place_of(option: str, text: str) -> Place:
    """What an option says.

    Raises:
        ConfigError: it is neither an offset nor a time.
    """
    try:
        if text.lstrip().startswith("{"):
            offset: Offset = json.loads(text)
            return offset
        time = datetime.fromisoformat(text.strip())
    except ValueError as error:
        raise ConfigError(
            f"{option}: should be an offset, as `cdc offsets show` prints it, or a time in ISO 8601, such as "
            f"2026-01-31T23:00:00Z ({error})",
            number="CDC2505",
        ) from error
    zoned = time if time.tzinfo else time.replace(tzinfo=UTC)
    return int(zoned.timestamp() * 1000)


def begin_at(source: Source, place: Place) -> Offset:
    """The offset of a place, from which the log can be read then.

    Raises:
        ConfigError: it is no offset of this source, or no time can be found in its log.
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
        raise ConfigError("to: the reading would begin with a snapshot, which has no place to end at: say where to "
                          "begin by 'from'", number="CDC2505")  # fmt: skip
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


def _offset(option: str, source: Source, place: Place) -> Offset:
    if isinstance(place, int):
        return source.offset_before(place)
    try:
        source.check_offset(place)
    except StateError as error:
        raise ConfigError(f"{option}: {error}", number="CDC2505") from error
    return place
