"""`cdc validate`: tells all that is wrong with a pipeline before it runs."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence

import click

from cdckit.api.checks import Checks, Finding, PositionChecks
from cdckit.api.plugins import factory
from cdckit.cli.pipelines import load
from cdckit.cli.settings import Chosen, Command, pipeline_options
from cdckit.engine.config.pipeline import Component, ResolvedPipeline
from cdckit.engine.config.requirements import unmet_requirements
from cdckit.engine.spark.java import check_java
from cdckit.engine.state.place import StatePlace
from cdckit.engine.state.runner_handover import current_offset
from cdckit.errors import ConfigError, SinkError, SourceError, StateError

log = logging.getLogger("cdckit.validate")


@click.command("validate", cls=Command)
@pipeline_options
@click.option("--connect", is_flag=True, help="Also look at the systems: permissions, settings, log retention.")
def validate(chosen: Chosen, connect: bool) -> int:
    """Check the pipeline in FILE; all errors are told at once."""
    pipeline = load(chosen)
    if problems := unmet_requirements(pipeline):
        raise ConfigError(*problems, number="CDC2402")
    click.echo(f"{chosen.file}: valid: {_summary(pipeline)}")
    return _connect(pipeline) if connect else 0


def _summary(pipeline: ResolvedPipeline) -> str:
    parts = [pipeline.source.registration.name, *(step.name for step in pipeline.transforms)]
    chain = " -> ".join([*parts, pipeline.sink.registration.name])
    return f"pipeline '{pipeline.name}': {chain}; runner {pipeline.runner}; state {pipeline.shown_state}"


def _connect(pipeline: ResolvedPipeline) -> int:
    """The exit code: that of the first system which is not fit; all of them are looked at."""
    if pipeline.runner == "spark" and _any_fails("runner", list(check_java())):
        return ConfigError.exit_code
    state = pipeline.state_folder is None and _any_fails("state", _findings("state store", pipeline.store))
    source = _any_fails("source", _findings("source", pipeline.source))
    source = source or (not state and _any_fails("source", _position(pipeline)))
    sink = _any_fails("sink", _findings("sink", pipeline.sink))
    serializers = _any_fails("serializer", list(_of_serializers(pipeline)))
    if state:
        return StateError.exit_code
    if source:
        return SourceError.exit_code
    return SinkError.exit_code if sink or serializers else 0


def _of_serializers(pipeline: ResolvedPipeline) -> Iterator[Finding]:
    """Most of them need nothing but themselves."""
    for component in filter(None, (pipeline.serializer, pipeline.key_serializer, pipeline.header_serializer)):
        if isinstance(made_by := factory(component.registration), Checks):
            yield from made_by.check(component.config)


def _any_fails(role: str, findings: Sequence[Finding]) -> bool:
    """Tells of all the findings."""
    for finding in findings:
        _tell(role, finding)
    return any(finding.status == "fail" for finding in findings)


def _position(pipeline: ResolvedPipeline) -> Sequence[Finding]:
    """Of where the pipeline stood, if it has been anywhere and the source can tell."""
    made_by = factory(pipeline.source.registration)
    offset = current_offset(StatePlace.of(pipeline))
    if offset is None or not isinstance(made_by, PositionChecks):
        return []
    return made_by.check_position(pipeline.source.config, offset)


def _findings(role: str, component: Component) -> list[Finding]:
    made_by = factory(component.registration)
    if not isinstance(made_by, Checks):
        log.info("the %s '%s' has no checks of its own", role, component.registration.name)
        return []
    return list(made_by.check(component.config))


def _tell(role: str, finding: Finding) -> None:
    click.echo(f"{finding.status:<4} {role}: {finding.name}: {finding.message}")
    if finding.remedy:
        click.echo(f"     {finding.remedy}")
