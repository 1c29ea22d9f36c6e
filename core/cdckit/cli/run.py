"""`cdc run`: runs a pipeline until its end or a signal."""

from __future__ import annotations

import importlib

import click

from cdckit.cli.pipelines import load
from cdckit.cli.progress import shown_progress
from cdckit.cli.settings import INTERRUPTED, Chosen, Command, current_settings, pipeline_options
from cdckit.engine.config.pipeline import ResolvedPipeline
from cdckit.engine.config.requirements import unmet_requirements
from cdckit.engine.runners.runner import Runner
from cdckit.engine.runners.stop import StopSignal
from cdckit.errors import ConfigError

RUNNERS = {"direct": "cdckit.engine.runners.direct:DirectRunner", "spark": "cdckit.engine.runners.spark:SparkRunner"}


@click.command("run", cls=Command)
@pipeline_options
@click.option("--once", is_flag=True, help="Deliver what the source holds now, then end.")
def run(chosen: Chosen, once: bool) -> int:
    """Run the pipeline in FILE: a pipeline file, or a connector's configuration as it is.

    SIGTERM finishes the batch in hand, saves the offset and ends with 0; SIGINT does the same and ends with 130.
    """
    with StopSignal() as stopping:
        pipeline = load(chosen)
        if problems := unmet_requirements(pipeline):
            raise ConfigError(*problems, number="CDC2402")
        runner = _runner(pipeline, stopping)
        with shown_progress(pipeline, runner.figures, current_settings().log_format):
            runner.run(once=once)
    return INTERRUPTED if stopping.interrupted else 0


def _runner(pipeline: ResolvedPipeline, stopping: StopSignal) -> Runner:
    module, _, name = RUNNERS[pipeline.runner].partition(":")
    made: type[Runner] = getattr(importlib.import_module(module), name)
    return made(pipeline, stopping)
