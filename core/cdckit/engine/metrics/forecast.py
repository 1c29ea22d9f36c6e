"""When the log is purged that a pipeline has yet to read, and how long the pipeline needs to read it."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple, Self

from cdckit.api.retention import Retention
from cdckit.connector.durations import duration

AT_THE_END = 10.0
"""A pipeline whose newest change is no older, in seconds, is at the log's end, however much is written."""
_SAMPLES = 11
_HORIZON = 86_400.0


class Sample(NamedTuple):
    """How far a pipeline was at a moment.

    Attributes:
        at: when, in seconds of a clock that only goes forward.
        read: how much of the log it had read by then, in bytes.
        log_time: when the newest change was made that it had delivered; None where none was.
        left: how many bytes lay behind; None where that is not known.
        late: how old that change was, in seconds, 0 at the log's end; None likewise.
    """

    at: float
    read: int
    log_time: float | None
    left: int | None
    late: float | None


class CatchUp:
    """How fast a pipeline comes closer to the log's end, by samples of the last minutes.

    Attributes:
        bytes_per_second: how many bytes of the log it read while it was behind; None before it was.
        seconds_per_second: how many seconds of changes it delivered in one, likewise.
    """

    def __init__(self) -> None:
        self._samples: deque[Sample] = deque(maxlen=_SAMPLES)
        self.bytes_per_second: float | None = None
        self.seconds_per_second: float | None = None

    def add(self, sample: Sample) -> None:
        """Takes one more."""
        self._samples.append(sample)
        first = self._samples[0]
        passed = sample.at - first.at
        if passed > 0 and first.late and first.late > AT_THE_END:
            self.bytes_per_second = (sample.read - first.read) / passed or self.bytes_per_second
            if sample.log_time is not None and first.log_time is not None:
                self.seconds_per_second = (sample.log_time - first.log_time) / passed or self.seconds_per_second

    @property
    def needs(self) -> float | None:
        """In how many seconds it is at the log's end; infinite: never, at this pace; None: not known yet."""
        if not self._samples:
            return None
        last, first = self._samples[-1], self._samples[0]
        if last.late is not None and last.late <= AT_THE_END:
            return last.late
        passed = last.at - first.at
        if passed <= 0:
            return None
        if last.left is not None and first.left is not None:
            return _time_for(last.left, (first.left - last.left) / passed)
        if last.late is not None and first.late is not None:
            return _time_for(last.late, (first.late - last.late) / passed)
        return None

    @property
    def lag_growth(self) -> float | None:
        """By how many seconds an hour its lag grows (or, below 0, shrinks); None while that is not known."""
        if not self._samples:
            return None
        last, first = self._samples[-1], self._samples[0]
        if last.late is None or first.late is None or last.at <= first.at:
            return None
        return (last.late - first.late) / (last.at - first.at) * 3600


def _time_for(distance: float, closing: float) -> float:
    return distance / closing if closing > 0 else math.inf


def needed(retention: Retention, bytes_per_second: float | None, seconds_per_second: float | None) -> float | None:
    """How many seconds a pipeline needs that stands, by the pace of its last run and what the system writes now.

    None where the pace is not known; infinite where it never reaches the end.
    """
    if retention.lag_seconds is not None and retention.lag_seconds <= AT_THE_END:
        return retention.lag_seconds
    if retention.lag_bytes is not None and bytes_per_second and retention.written is not None:
        return _time_for(retention.lag_bytes, bytes_per_second - retention.written)
    if retention.lag_seconds is not None and seconds_per_second:
        return _time_for(retention.lag_seconds, seconds_per_second - 1)
    return None


@dataclass(frozen=True, slots=True)
class Forecast:
    """What is to come; times are in seconds since 1970.

    Attributes:
        at: when it was made.
        oldest_needed: what of the log the pipeline has yet to read first.
        purged_at: when that may be dropped at the earliest; None: never, as far as is known.
        needs: in how many seconds the pipeline is at the log's end; infinite: never; None: not known.
        because: the setting by which it is dropped.
        remedy: the command that has it kept for longer.
        lag_growth: by how many seconds an hour the lag grows; None while not known.
        bytes_per_second: the pace while it was behind, in bytes of the log; None: it never was.
        seconds_per_second: the same in seconds of changes.
    """

    at: float
    oldest_needed: str
    purged_at: float | None
    needs: float | None
    because: str = ""
    remedy: str = ""
    lag_growth: float | None = None
    bytes_per_second: float | None = None
    seconds_per_second: float | None = None

    def purged_in(self, now: float) -> float | None:
        """In how many seconds it may be dropped; 0 where that may have happened."""
        return None if self.purged_at is None else max(0.0, self.purged_at - now)

    def too_late(self, now: float) -> bool:
        """Whether the log is dropped before the pipeline has read it, as things are.

        That a pipeline never catches up at its pace counts for a day ahead, no further: loads change.
        """
        left = self.purged_in(now)
        if left is None or self.needs is None:
            return False
        return left < _HORIZON if math.isinf(self.needs) else self.needs > max(left, AT_THE_END)

    def sentence(self, now: float) -> str:
        """For people."""
        left = self.purged_in(now)
        purged = "is not purged" if left is None else f"is purged in {duration(round(left))}"
        if self.needs is None:
            needs = "how long the pipeline needs is not known yet"
        elif math.isinf(self.needs):
            needs = "the pipeline never catches up at its present pace"
        else:
            needs = f"the pipeline needs {duration(round(self.needs))}"
        return f"{self.oldest_needed} {purged}{f' ({self.because})' if self.because else ''}; {needs}"

    def to_json(self, now: float) -> dict[str, Any]:
        """As `status.json` has it."""
        left = self.purged_in(now)
        endless = self.needs is not None and math.isinf(self.needs)
        return {
            "at": self.at,
            "purged_in_s": None if left is None else round(left),
            "needs_s": None if self.needs is None or endless else round(self.needs),
            "oldest_needed": self.oldest_needed,
            "catches_up": not endless,
            "purged_at": self.purged_at,
            "because": self.because,
            "remedy": self.remedy,
            "lag_growth_s_per_h": self.lag_growth,
            "bytes_per_s": self.bytes_per_second,
            "seconds_per_s": self.seconds_per_second,
        }

    @classmethod
    def from_json(cls, kept: Mapping[str, Any]) -> Self:
        """Reads what `to_json` gave."""
        return cls(
            at=kept["at"],
            oldest_needed=kept["oldest_needed"],
            purged_at=kept["purged_at"],
            needs=kept["needs_s"] if kept["catches_up"] else math.inf,
            because=kept["because"],
            remedy=kept["remedy"],
            lag_growth=kept["lag_growth_s_per_h"],
            bytes_per_second=kept["bytes_per_s"],
            seconds_per_second=kept["seconds_per_s"],
        )
