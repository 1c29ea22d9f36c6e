"""What the parts of a pipeline find out about the systems that they stand for."""

from __future__ import annotations

import logging
from collections.abc import Generator, Iterable, Iterator
from dataclasses import dataclass

from cdckit.api.checks import Checks, Finding, PositionChecks
from cdckit.api.plugins import factory
from cdckit.engine.config.pipeline import Component, ResolvedPipeline
from cdckit.engine.spark.java import check_java
from cdckit.engine.state.place import StatePlace
from cdckit.engine.state.runner_handover import current_offset
from cdckit.errors import ConfigError, SinkError, SourceError, StateError

log = logging.getLogger("cdckit.validate")

_EXIT_CODES = {
    "runner": ConfigError.exit_code,
    "state": StateError.exit_code,
    "source": SourceError.exit_code,
    "sink": SinkError.exit_code,
    "serializer": SinkError.exit_code,
}
"""By part, the first of those that fail counts."""


@dataclass(frozen=True, slots=True)
class Examined:
    """A finding, and which part of the pipeline it is about.

    Attributes:
        part: `runner`, `state`, `source`, `sink` or `serializer`.
        finding: what was found.
    """

    part: str
    finding: Finding

    @property
    def fails(self) -> bool:
        """Whether it keeps the pipeline from running, or will."""
        return self.finding.status == "fail"


def exit_code(examined: Iterable[Examined]) -> int:
    """0 where nothing is worse than a warning; else that of the first part which is not fit."""
    failed = {one.part for one in examined if one.fails}
    return next((code for part, code in _EXIT_CODES.items() if part in failed), 0)


def examined(pipeline: ResolvedPipeline) -> Iterator[Examined]:
    """All that the parts' own checks tell, one after the other.

    Where the runner is not fit nothing else is looked at; a saved position is, where state and source are.
    """
    if pipeline.runner == "spark":
        runner = [Examined("runner", finding) for finding in check_java()]
        yield from runner
        if exit_code(runner):
            return
    fit = True
    if pipeline.state_folder is None:
        fit = yield from _of("state", "state store", pipeline.store)
    if (yield from _of("source", "source", pipeline.source)) and fit:
        yield from (Examined("source", finding) for finding in _position(pipeline))
    yield from _of("sink", "sink", pipeline.sink)
    for component in filter(None, (pipeline.serializer, pipeline.key_serializer, pipeline.header_serializer)):
        if isinstance(made_by := factory(component.registration), Checks):
            yield from (Examined("serializer", finding) for finding in made_by.check(component.config))


def _of(part: str, role: str, component: Component) -> Generator[Examined, None, bool]:
    """Gives whether the part is fit."""
    made_by = factory(component.registration)
    if not isinstance(made_by, Checks):
        log.info("the %s '%s' has no checks of its own", role, component.registration.name)
        return True
    found = [Examined(part, finding) for finding in made_by.check(component.config)]
    yield from found
    return not any(one.fails for one in found)


def _position(pipeline: ResolvedPipeline) -> Iterable[Finding]:
    """Of where the pipeline stood, if it has been anywhere and the source can tell."""
    made_by = factory(pipeline.source.registration)
    offset = current_offset(StatePlace.of(pipeline))
    if offset is None or not isinstance(made_by, PositionChecks):
        return []
    return made_by.check_position(pipeline.source.config, offset)
