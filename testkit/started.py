"""The pipelines that a test has started, in processes of their own or in its own, by where their state is."""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from cdckit.engine.config.pipeline import ResolvedPipeline
from cdckit.engine.runners.runner import Runner


@dataclass(slots=True)
class Start:
    """The last run of one pipeline.

    Attributes:
        resolve: gives the pipeline as that run had it.
        runs: whether it still runs.
        failed: whether it has ended with an error; one that was stopped or killed has not.
    """

    resolve: Callable[[], ResolvedPipeline]
    runs: bool = True
    failed: bool = False


@dataclass(slots=True)
class Started:
    """The last run of each pipeline since the last test began."""

    _last: dict[str, Start] = field(default_factory=dict)

    def note(self, place: Path, resolve: Callable[[], ResolvedPipeline]) -> Start:
        """Notes a run that begins.

        Args:
            place: where the pipeline is, which its next run shares.
            resolve: gives the pipeline.
        """
        start = Start(resolve)
        self._last.pop(str(place), None)
        self._last[str(place)] = start
        return start

    def taken(self) -> list[Start]:
        """All that were noted, the earliest first; they are forgotten."""
        found, self._last = list(self._last.values()), {}
        return found


STARTED = Started()
"""Those of this process: tests start pipelines in many ways."""


def watch_runners() -> None:
    """Has pipelines that are driven in this process noted, too, from now on."""
    run = Runner.run

    @functools.wraps(run)
    def noted(runner: Runner, *, once: bool = False) -> None:
        pipeline = runner.pipeline
        start = STARTED.note(pipeline.folder, lambda: pipeline)
        start.failed = True
        try:
            run(runner, once=once)
            start.failed = False
        finally:
            start.runs = False

    setattr(Runner, "run", noted)  # noqa: B010 - a method is no place that may be assigned to
