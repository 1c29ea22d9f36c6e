"""`cdc validate`: tells all that is wrong with a pipeline before it runs."""

from __future__ import annotations

import logging

import click

from cdckit.checks import Checks, Finding
from cdckit.cli.pipelines import load
from cdckit.cli.settings import Chosen, Command, pipeline_options
from cdckit.config.pipeline import Component, ResolvedPipeline
from cdckit.config.requirements import unmet_requirements
from cdckit.errors import ConfigError, SinkError, SourceError
from cdckit.plugins import factory

log = logging.getLogger("cdckit.validate")


@click.command("validate", cls=Command)
@pipeline_options
@click.option("--connect", is_flag=True, help="Also look at the systems: permissions, settings, log retention.")
def validate(chosen: Chosen, connect: bool) -> int:
    """Check the pipeline in FILE; all errors are told at once."""
    pipeline = load(chosen)
    if problems := unmet_requirements(pipeline):
        raise ConfigError(*problems)
    click.echo(f"{chosen.file}: valid: {_summary(pipeline)}")
    return _connect(pipeline) if connect else 0


def _summary(pipeline: ResolvedPipeline) -> str:
    parts = [pipeline.source.registration.name, *(step.name for step in pipeline.transforms)]
    chain = " -> ".join([*parts, pipeline.sink.registration.name])
    return f"pipeline '{pipeline.name}': {chain}; runner {pipeline.runner}; state {pipeline.state}"


def _connect(pipeline: ResolvedPipeline) -> int:
    """The exit code: that of the first system which is not fit."""
    for role, component, code in (
        ("source", pipeline.source, SourceError.exit_code),
        ("sink", pipeline.sink, SinkError.exit_code),
    ):
        findings = [_told(role, finding) for finding in _findings(role, component)]
        if any(finding.status == "fail" for finding in findings):
            return code
    return 0


def _findings(role: str, component: Component) -> list[Finding]:
    made_by = factory(component.registration)
    if not isinstance(made_by, Checks):
        log.info("the %s '%s' has no checks of its own", role, component.registration.name)
        return []
    return list(made_by.check(component.config))


def _told(role: str, finding: Finding) -> Finding:
    click.echo(f"{finding.status:<4} {role}: {finding.name}: {finding.message}")
    if finding.remedy:
        click.echo(f"     {finding.remedy}")
    return finding
