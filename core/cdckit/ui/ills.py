"""What is wrong with a pipeline, how bad that is, and what to do: the first thing that the page tells."""

from __future__ import annotations

import math
import shlex
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from cdckit.connector.durations import duration
from cdckit.engine.metrics.forecast import Forecast
from cdckit.engine.metrics.status import PipelineStatus

Grade = Literal["down", "bad", "warn", "fine", "idle"]
GRADES: tuple[Grade, ...] = ("down", "bad", "warn", "fine", "idle")
"""From what is looked at first to what is looked at last."""
_STANDS_SECONDS = 86_400.0
"""A pipeline that does not run is shown as ill so long before its log is purged."""
BEHIND_SECONDS = 300.0
"""A pipeline that follows the log and is further behind is shown as ill."""


@dataclass(frozen=True, slots=True)
class Ill:
    """The worst that is wrong.

    Attributes:
        grade: how bad it is; `fine` where nothing is wrong, `idle` where it was stopped or has never run.
        what: a sentence; empty where nothing is wrong.
        remedy: what to do.
        command: the command that does it, or the first step; empty: there is none.
    """

    grade: Grade
    what: str = ""
    remedy: str = ""
    command: str = ""

    @property
    def rank(self) -> int:
        """Small where it is bad."""
        return GRADES.index(self.grade)


def unreadable(problem: str) -> Ill:
    """Of a folder whose state cannot be read."""
    return Ill("down", problem, "look at the file that is named; the pipeline cannot start with it either")


def ill(found: PipelineStatus) -> Ill:
    """The worst of a pipeline's ills."""
    run = found.run
    if run is None:
        return Ill("idle")
    for look in _LOOKS:
        if (told := look(found, run)) is not None:
            return told
    return Ill("fine" if found.state == "running" else "idle")


def file_of(run: Mapping[str, Any]) -> str:
    """The pipeline's file as a command line names it; `FILE` where it is not known."""
    named = run.get("file")
    return shlex.quote(named) if isinstance(named, str) else "FILE"


_BY_ERROR: Mapping[str, tuple[str, str]] = {
    "ConfigError": ("correct what is named, then start it", "cdc validate {}"),
    "SourceError": ("look at what the source lacks, then start it", "cdc validate {} --connect"),
    "RetriableSourceError": ("see that the source answers, then start it", "cdc validate {} --connect"),
    "SinkError": ("look at what the sink lacks, then start it", "cdc validate {} --connect"),
    "RetriableSinkError": ("see that the sink answers, then start it", "cdc validate {} --connect"),
    "DecodeError": (
        "`errors.tolerance: quarantine` keeps what cannot be decoded and goes on",
        "cdc run {} --set errors.tolerance=quarantine",
    ),
    "TransformError": (
        "try the chain on recorded events, or keep such records by `errors.tolerance: quarantine`",
        "cdc run {} --set errors.tolerance=quarantine",
    ),
    "StateError": ("look at the state that is named, then start it", "cdc status {}"),
    "StateHeldError": ("stop the other process, then start it", "cdc status {}"),
}


def _failed(found: PipelineStatus, run: Mapping[str, Any]) -> Ill | None:
    if found.state != "failed":
        return None
    known = ("look at the error, then start it: it goes on from the saved offset", "cdc run {}")
    remedy, command = _BY_ERROR.get(found.error_type, known)
    return Ill("down", f"{found.error_type}: {found.error}", remedy, command.format(file_of(run)))


def _killed(found: PipelineStatus, run: Mapping[str, Any]) -> Ill | None:
    if found.state != "killed":
        return None
    what = f"process {found.pid} ended without a word: killed, out of memory, or the machine went down"
    return Ill("down", what, "start it: it goes on from the saved offset", f"cdc run {file_of(run)}")


def _purged(found: PipelineStatus, run: Mapping[str, Any]) -> Ill | None:
    told = forecast_of(found)
    left = None if told is None else told.purged_in(found.at)
    if told is None or left is None:
        return None
    stands = found.state != "running"
    if stands and left < _STANDS_SECONDS:
        what = f"it stands, and the log that it needs next, {told.oldest_needed}, is purged in a day or less"
        return Ill("bad", what, "start it, or have the source keep its log for longer", f"cdc run {file_of(run)}")
    if stands or not told.too_late(found.at):
        return None
    never = told.needs is not None and math.isinf(told.needs)
    needs = "never catches up as it is" if never else f"needs {duration(round(told.needs or 0))} to catch up"
    what = f"the log that it needs next, {told.oldest_needed}, is purged before it is read: it {needs}"
    return Ill("bad", what, "have the source keep its log for longer, now", told.remedy or f"cdc doctor {file_of(run)}")


def _away(found: PipelineStatus, run: Mapping[str, Any]) -> Ill | None:
    if found.state != "running" or not found.away:
        return None
    what = f"the source is away: {found.disconnected_by}"
    return Ill("bad", what, "it is tried again and again; see that the source answers", _connect(run))


def _stale(found: PipelineStatus, run: Mapping[str, Any]) -> Ill | None:
    if not found.stale:
        return None
    what = f"it has work to do, and was last heard of {duration(found.age)} ago"
    return Ill("bad", what, f"look at the log of process {found.pid}; start it anew if it hangs", _connect(run))


def _behind(found: PipelineStatus, run: Mapping[str, Any]) -> Ill | None:
    reads_tables = found.snapshot is not None and found.snapshot.state == "running"
    lag = found.lag_seconds
    if found.state != "running" or reads_tables or lag is None or lag < BEHIND_SECONDS:
        return None
    what = f"{duration(round(lag))} behind the source"
    return Ill("warn", what, "see whether source or sink is the slow one, in its view", f"cdc status {file_of(run)}")


def _kept(found: PipelineStatus, run: Mapping[str, Any]) -> Ill | None:
    if not found.quarantine:
        return None
    what = f"{found.quarantine:,} records in quarantine"
    return Ill("warn", what, "see why; correct the cause, stop it, and deliver them", f"cdc replay {file_of(run)}")


def _left_out(found: PipelineStatus, run: Mapping[str, Any]) -> Ill | None:
    lost = sum(found.left_out.values()) + sum(found.skipped.values())
    if not lost or found.state != "running":
        return None
    what = f"{lost:,} records of this run were left out, as the options ask"
    return Ill("warn", what, "`errors.tolerance: quarantine` would keep them", f"cdc status {file_of(run)}")


def _unmatched(found: PipelineStatus, run: Mapping[str, Any]) -> Ill | None:
    if not found.unmatched or found.state != "running":
        return None
    return Ill("warn", found.unmatched[0], "correct the include list", f"cdc validate {file_of(run)} --connect")


_LOOKS: tuple[Callable[[PipelineStatus, Mapping[str, Any]], Ill | None], ...] = (
    _failed, _killed, _purged, _away, _stale, _behind, _kept, _left_out, _unmatched,
)  # fmt: skip


def forecast_of(found: PipelineStatus) -> Forecast | None:
    """When the log is purged, as the last run has told; None where it did not, or not so that it can be understood."""
    try:
        return found.forecast
    except (AttributeError, KeyError, TypeError):
        return None


def _connect(run: Mapping[str, Any]) -> str:
    return f"cdc validate {file_of(run)} --connect"
