"""Looks, once a minute, how long the source's log is kept, and warns before it is purged."""

from __future__ import annotations

import logging
import time

from cdckit.api.record import Offset
from cdckit.api.retention import Retention
from cdckit.api.source import Source
from cdckit.engine.metrics.figures import Figures
from cdckit.engine.metrics.forecast import AT_THE_END, CatchUp, Forecast, Sample
from cdckit.engine.metrics.snapshot_figures import now

log = logging.getLogger("cdckit.forecast")

FIRST_SECONDS = 5.0
"""The second look comes after so long, the third after twice that, and so on …"""
SECONDS = 60.0
"""… up to this."""
_WARN_AGAIN = 600.0


class Forecaster:
    """Keeps the forecast in a run's figures.

    Args:
        source: open; asked from the thread that calls.
        figures: of the run; the forecast is noted there.
        warning_seconds: a purge that is nearer than this is warned of while the pipeline is behind; 0: only one that
            comes before the pipeline has caught up.
    """

    def __init__(self, source: Source, figures: Figures, warning_seconds: float) -> None:
        self._source = source
        self._figures = figures
        self._warning_seconds = warning_seconds
        self._catching_up = CatchUp()
        self._pause = FIRST_SECONDS
        self._due = 0.0
        self._warned: float | None = None

    def look(self, offset: Offset | None) -> None:
        """Does nothing but for once a minute: asks the source about the saved offset."""
        moment = time.monotonic()
        if moment < self._due or offset is None:
            return
        self._due = moment + self._pause
        self._pause = min(SECONDS, self._pause * 2)
        found = self._source.retention(offset)
        if found is not None:
            self._note(moment, found)
        self._warn(moment)

    def _note(self, moment: float, found: Retention) -> None:
        figures, pace = self._figures, self._catching_up
        pace.add(Sample(moment, figures.log_bytes, figures.log_time, found.lag_bytes, found.lag_seconds))
        at = now()
        figures.forecast = Forecast(
            at=at,
            oldest_needed=found.oldest_needed,
            purged_at=None if found.purged_in is None else at + found.purged_in,
            needs=pace.needs,
            because=found.because,
            remedy=found.remedy,
            lag_growth=pace.lag_growth,
            bytes_per_second=pace.bytes_per_second,
            seconds_per_second=pace.seconds_per_second,
        )

    def _warn(self, moment: float) -> None:
        """Of a purge that is near, at the most every ten minutes while it is; and once that it is not any more."""
        forecast, at = self._figures.forecast, now()
        left = None if forecast is None else forecast.purged_in(at)
        if forecast is None or left is None:
            return
        behind = forecast.needs is None or forecast.needs > AT_THE_END
        near = behind and left < self._warning_seconds
        if not near and not forecast.too_late(at):
            if self._warned is not None:
                log.info("the log is kept for long enough again: %s", forecast.sentence(at))
            self._warned = None
        elif self._warned is None or moment - self._warned >= _WARN_AGAIN:
            self._warned = moment
            facts = {"number": "CDC1101", "forecast": forecast.to_json(at)}
            remedy = f"; {forecast.remedy}" if forecast.remedy else ""
            log.warning("%s%s", forecast.sentence(at), remedy, extra=facts)
