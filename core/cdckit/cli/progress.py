"""Shows where a running pipeline is: a live line on a terminal, log lines elsewhere; a plugin like any other."""

from __future__ import annotations

import logging
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext

from cdckit.api.hookspecs import hookimpl
from cdckit.api.plugins import plugin_manager
from cdckit.api.record import Offset
from cdckit.cli.progress_line import progress_facts, progress_line
from cdckit.connector.durations import duration
from cdckit.engine.config.pipeline import ResolvedPipeline
from cdckit.engine.metrics.figures import Figures

log = logging.getLogger("cdckit.progress")

LOG_SECONDS = 10.0
"""How often a log line says where the pipeline is."""


class ProgressPlugin:
    """Listens to the lifecycle hooks; logs milestones, and now and then where the pipeline is.

    Args:
        figures: the run's. Their own listener is registered later than this one, and so is told first.
        log_seconds: how often to log where the pipeline is; None: never, a live line shows it.
        clock: seconds that only grow.
    """

    def __init__(
        self, figures: Figures, log_seconds: float | None = LOG_SECONDS, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._figures = figures
        self._waited_for = "", 0.0
        self._log_seconds = log_seconds
        self._clock = clock
        self._logged = clock()

    @hookimpl
    def cdckit_started(self, pipeline: str, runner: str, offset: Offset | None) -> None:
        """A milestone."""
        saved = "nothing is saved yet" if offset is None else "its offset is saved"
        log.info("pipeline '%s' starts on the runner %s; %s", pipeline, runner, saved, extra={"offset": offset})

    @hookimpl
    def cdckit_activity(self, activity: str) -> None:
        """Milestones: what is waited for now, and what was waited for so long."""
        (before, began), self._waited_for = self._waited_for, (activity, self._clock())
        if activity:
            log.info("%s …", activity, extra={"phase": activity})
        elif before:
            seconds = self._clock() - began
            log.info("%s took %s", before, duration(round(seconds)), extra={"phase": before, "seconds": seconds})

    @hookimpl
    def cdckit_snapshot_progress(self, data_collection: str, rows: int, finished: bool) -> None:
        """A milestone where a table is done."""
        if finished:
            took = duration(round(self._figures.snapshot.tables[data_collection].seconds))
            facts = {"table": data_collection, "rows": rows}
            log.info("snapshot of %s is done: %s rows in %s", data_collection, f"{rows:,}", took, extra=facts)
        else:
            self._log_now_and_then()

    @hookimpl
    def cdckit_batch_committed(self) -> None:
        """Events are safe in the sink."""
        self._log_now_and_then()

    @hookimpl
    def cdckit_schema_changed(self, position: str, ddl: str, tables: Sequence[str]) -> None:
        """A milestone."""
        facts = {"position": position, "ddl": ddl}
        log.info("the definition of %s changes at %s", ", ".join(tables) or "no captured table", position, extra=facts)

    @hookimpl
    def cdckit_stopped(self, pipeline: str, error: BaseException | None) -> None:
        """The last milestone."""
        why = "" if error is None else f" by {type(error).__name__}"
        log.info("pipeline '%s' stopped%s; %s events delivered", pipeline, why, f"{self._figures.records:,}")

    def _log_now_and_then(self) -> None:
        if self._log_seconds is not None and self._clock() - self._logged >= self._log_seconds:
            self._logged = self._clock()
            log.info("%s", progress_line(self._figures), extra=progress_facts(self._figures))


@contextmanager
def shown_progress(pipeline: ResolvedPipeline, figures: Figures, log_format: str) -> Iterator[None]:
    """Shows the pipeline's progress on standard error while the context lasts."""
    live = log_format == "text" and sys.stderr.isatty() and not _prints_events(pipeline)
    plugin = ProgressPlugin(figures, None if live else LOG_SECONDS)
    manager = plugin_manager()
    manager.register(plugin)
    try:
        with _live_line(figures) if live else nullcontext():
            yield
    finally:
        manager.unregister(plugin)


def _prints_events(pipeline: ResolvedPipeline) -> bool:
    """Whether events and a live line would meet on the same terminal."""
    return pipeline.sink.registration.name == "stdout" and sys.stdout.isatty()


def _live_line(figures: Figures) -> AbstractContextManager[object]:
    from rich.console import Console  # noqa: PLC0415 - only a terminal needs it
    from rich.live import Live  # noqa: PLC0415
    from rich.text import Text  # noqa: PLC0415

    return Live(
        console=Console(stderr=True),
        get_renderable=lambda: Text(progress_line(figures), no_wrap=True, overflow="ellipsis"),
        refresh_per_second=4,
        transient=True,
    )
