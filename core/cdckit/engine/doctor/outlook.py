"""What will go wrong: the log that is purged, a lag that grows, a run that ended, a disk that fills."""

from __future__ import annotations

import math
import os
import shutil
from collections.abc import Iterator
from pathlib import Path

from cdckit.api.checks import Finding, why_unwritable
from cdckit.api.plugins import factory
from cdckit.api.retention import Retention, RetentionChecks
from cdckit.connector.durations import duration
from cdckit.engine.config.pipeline import ResolvedPipeline
from cdckit.engine.doctor.examination import Examined
from cdckit.engine.metrics.forecast import AT_THE_END, Forecast, needed
from cdckit.engine.metrics.status import PipelineStatus
from cdckit.errors import CdcError

_FULL_BYTES, _LOW_BYTES = 64 << 20, 1 << 30
"""With less room than the first the state fails soon; with less than the second, and a tenth of the disk, it may."""
_LOW_SHARE = 0.1
_GROWS = 60.0
"""A lag that grows by so many seconds an hour is told of."""


def forecast_of(pipeline: ResolvedPipeline, status: PipelineStatus) -> Forecast | None:
    """When the log is purged that the pipeline has yet to read; None where the source cannot tell.

    Of one that runs the pace is that of the last minutes, of one that stands that of its last run while it was behind.

    Raises:
        SourceError: the source's system cannot be reached, or refuses.
    """
    made_by, offset = factory(pipeline.source.registration), status.offset
    if offset is None or not isinstance(made_by, RetentionChecks):
        return None
    found = made_by.check_retention(pipeline.source.config, offset)
    return None if found is None else _forecast(found, status)


def _forecast(found: Retention, status: PipelineStatus) -> Forecast:
    last = status.forecast
    pace = (None, None) if last is None else (last.bytes_per_second, last.seconds_per_second)
    runs = status.state == "running" and last is not None
    return Forecast(
        at=status.at,
        oldest_needed=found.oldest_needed,
        purged_at=None if found.purged_in is None else status.at + found.purged_in,
        needs=last.needs if runs and last is not None and last.needs is not None else needed(found, *pace),
        because=found.because,
        remedy=found.remedy,
        lag_growth=last.lag_growth if runs and last is not None else None,
        bytes_per_second=pace[0],
        seconds_per_second=pace[1],
    )


def forecast_findings(pipeline: ResolvedPipeline, status: PipelineStatus) -> Iterator[Examined]:
    """Whether the log outlasts the pipeline, and whether the pipeline keeps up with it."""
    try:
        forecast = forecast_of(pipeline, status)
    except CdcError as error:
        yield Examined("source", Finding.of("log", error))
        return
    if forecast is None:
        return
    yield Examined("source", _purge(forecast, status, pipeline.forecast_warning_ms / 1000))
    if forecast.needs is not None and math.isinf(forecast.needs):
        said = "the pipeline is behind the log's end, and does not come closer"
        yield Examined("source", Finding("pace", "warn", said, _FASTER, "CDC1105"))
    elif forecast.lag_growth is not None and forecast.lag_growth > _GROWS and (forecast.needs or 0) > AT_THE_END:
        said = f"the lag grows by {duration(round(forecast.lag_growth))} an hour"
        yield Examined("source", Finding("lag", "warn", said, _FASTER, "CDC1102"))


_FASTER = "look at the sink, at slow transforms and at the machine; runner: spark reads a long log in parallel"


def _purge(forecast: Forecast, status: PipelineStatus, warning_seconds: float) -> Finding:
    left, said = forecast.purged_in(status.at), forecast.sentence(status.at)
    if left is None:
        return Finding("log", "ok", said)
    if forecast.too_late(status.at) or left == 0:
        return Finding("log", "fail", said, _now(forecast, status), "CDC1101")
    stands = status.state != "running"
    behind = forecast.needs is None or forecast.needs > AT_THE_END
    if left < warning_seconds and (stands or behind):
        return Finding("log", "warn", said, _now(forecast, status), "CDC1101")
    return Finding("log", "ok", said)


def _now(forecast: Forecast, status: PipelineStatus) -> str:
    start = "" if status.state == "running" else "cdc run FILE; "
    return f"{start}{forecast.remedy}"


def run_findings(status: PipelineStatus) -> Iterator[Examined]:
    """What became of the last run."""
    if status.state == "failed":
        said = f"the last run failed: {status.error_number} {status.error_type}: {status.error}"
        explain = f"cdc doctor --explain {status.error_number}" if status.error_number else "start it again"
        yield Examined("runner", Finding("last run", "warn", said, explain, "CDC1107"))
    elif status.state == "killed":
        said = "the last run ended without a word: its process was killed"
        yield Examined("runner", Finding("last run", "warn", said, "look for the reason, such as memory", "CDC1107"))
    elif status.stale:
        said = f"the pipeline runs, has work to do, and was last heard of {duration(status.age)} ago"
        yield Examined("runner", Finding("last run", "warn", said, "cdc status FILE", "CDC1107"))
    elif status.away:
        said = f"the source is away: {status.disconnected_by}"
        yield Examined("runner", Finding("last run", "warn", said, "see to the source's server", "CDC1107"))


def disk_findings(pipeline: ResolvedPipeline) -> Iterator[Examined]:
    """Whether the folders that the pipeline writes to have room and may be written."""
    folders = [pipeline.folder, pipeline.state_folder, pipeline.errors.folder]
    for place in dict.fromkeys(_existing(folder) for folder in folders if folder is not None):
        yield Examined("state", _disk(place))


def _existing(folder: Path) -> Path:
    """The folder, or what is there of the way to it."""
    full = folder.absolute()
    return next(one for one in (full, *full.parents) if os.path.lexists(one))


def _disk(place: Path) -> Finding:
    if (problem := why_unwritable(place)) is not None:
        return Finding("folder", "fail", problem, "give the right to write, or name another folder in state", "CDC1302")
    usage = shutil.disk_usage(place)
    said = f"{usage.free / 1e9:,.2f} GB of {usage.total / 1e9:,.2f} GB are free at {place}"
    remedy = "make room, or name a folder on a larger disk (state, local.folder, quarantine.folder)"
    if usage.free < _FULL_BYTES:
        return Finding("disk", "fail", said, remedy, "CDC1301")
    if usage.free < min(_LOW_BYTES, usage.total) and usage.free < usage.total * _LOW_SHARE:
        return Finding("disk", "warn", said, remedy, "CDC1301")
    return Finding("disk", "ok", said)
