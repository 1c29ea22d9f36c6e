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
        output: the file that it delivers to; None: it does to something else.
        taken: whether what earlier runs have delivered was taken away, or lies elsewhere.
        runs: whether it still runs.
        failed: whether it has ended with an error; one that was stopped or killed has not.
        left: the number of the file that it has left there, and its size; None: it has left no file.
    """

    resolve: Callable[[], ResolvedPipeline]
    output: Path | None
    taken: bool = False
    runs: bool = True
    failed: bool = False
    left: tuple[int, int] | None = None

    def end(self, *, failed: bool) -> None:
        """It does not run any more."""
        self.runs, self.failed, self.left = False, failed, _file_at(self.output)

    def has_lost(self, output: Path | None) -> bool:
        """Whether a next run, which delivers to `output`, will not have there what was delivered so far."""
        if self.taken or self.output != output:
            return True
        found = _file_at(output)
        return self.left is not None and (found is None or found[0] != self.left[0] or found[1] < self.left[1])


@dataclass(slots=True)
class Started:
    """The last run of each pipeline since the last test began."""

    _last: dict[str, Start] = field(default_factory=dict)

    def note(self, place: Path, resolve: Callable[[], ResolvedPipeline], output: Path | None) -> Start:
        """Notes a run that begins.

        Args:
            place: where the pipeline is, which its next run shares.
            resolve: gives the pipeline.
            output: the file that it delivers to; None: it does to something else.
        """
        before = self._last.pop(str(place), None)
        start = Start(resolve, output, taken=before is not None and before.has_lost(output))
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
        output = getattr(pipeline.sink.config, "path", None) if pipeline.sink.registration.name == "file" else None
        start = STARTED.note(pipeline.folder, lambda: pipeline, output)
        failed = True
        try:
            run(runner, once=once)
            failed = False
        finally:
            start.end(failed=failed)

    setattr(Runner, "run", noted)  # noqa: B010 - a method is no place that may be assigned to


def _file_at(path: Path | None) -> tuple[int, int] | None:
    """The number and the size of a file; None where there is none."""
    if path is None or not path.is_file():
        return None
    found = path.stat()
    return found.st_ino, found.st_size
