"""`cdc validate`: tells all that is wrong with a pipeline before it runs."""

from __future__ import annotations

import click

from cdckit.cli.pipelines import load
from cdckit.cli.settings import Chosen, Command, pipeline_options
from cdckit.engine.config.pipeline import ResolvedPipeline
from cdckit.engine.config.requirements import unmet_requirements
from cdckit.engine.doctor.examination import Examined, examined, exit_code
from cdckit.errors import ConfigError


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
    """The exit code: that of the first part which is not fit; all of them are looked at."""
    found = []
    for one in examined(pipeline):
        _tell(one)
        found.append(one)
    return exit_code(found)


def _tell(one: Examined) -> None:
    finding = one.finding
    click.echo(f"{finding.status:<4} {one.part}: {finding.name}: {finding.message}")
    if finding.status != "ok" and finding.number:
        click.echo(f"     {finding.number}{f': {finding.remedy}' if finding.remedy else ''}")
    elif finding.remedy:
        click.echo(f"     {finding.remedy}")
