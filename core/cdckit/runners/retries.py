"""Asking again after a source was away."""

from __future__ import annotations

import logging

from cdckit.config.pipeline import ResolvedPipeline
from cdckit.errors import SourceError
from cdckit.runners.stop import StopSignal

log = logging.getLogger("cdckit.runner")

FIRST_PAUSE, LONGEST_PAUSE = 1.0, 60.0
"""In seconds, before a source that was away is asked again; each pause is twice the one before."""


class Retries:
    """Counts attempts in a row, up to the source's option `errors.max.retries` where it has one; else without end.

    Attributes:
        attempts: how many there have been since something was read.
    """

    def __init__(self, pipeline: ResolvedPipeline, stopping: StopSignal) -> None:
        self.attempts = 0
        self._most: int = getattr(pipeline.source.config, "errors_max_retries", -1)
        self._stopping = stopping

    def progressed(self) -> None:
        """Something was read: the next fault is a new one."""
        self.attempts = 0

    def pause(self, error: SourceError) -> None:
        """Waits before the next attempt, or until asked to stop.

        Raises:
            SourceError: there have been attempts enough.
        """
        if self.attempts == self._most:
            raise SourceError(f"{error}; gave up after {self._most} attempts (errors.max.retries)") from error
        seconds = min(FIRST_PAUSE * 2**self.attempts, LONGEST_PAUSE)
        self.attempts += 1
        log.warning("%s; trying again in %.0f s", error, seconds)
        self._stopping.wait(seconds)
