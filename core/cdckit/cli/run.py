"""`cdc run`: runs a pipeline, or all of a folder, until their end or a signal."""

from __future__ import annotations

import importlib
import logging
import os

import click

from cdckit.cli.fleet.bond import bind_to_keeper
from cdckit.cli.fleet.limits import RESTARTS, Limits, Restart, Size
from cdckit.cli.pipelines import load
from cdckit.cli.progress import shown_progress
from cdckit.cli.settings import INTERRUPTED, Chosen, Command, current_settings, pipeline_options
from cdckit.engine.config.pipeline import ResolvedPipeline
from cdckit.engine.config.requirements import unmet_requirements
from cdckit.engine.config.tail import has_tail
from cdckit.engine.runners.runner import Runner
from cdckit.engine.runners.stop import StopSignal
from cdckit.errors import ConfigError

log = logging.getLogger("cdckit.runner")

RUNNERS = {"direct": "cdckit.engine.runners.direct:DirectRunner", "spark": "cdckit.engine.runners.spark:SparkRunner"}
TAIL = "cdckit.engine.runners.tail:TailRunner"
"""What drives a pipeline on Spark whose tail a direct process has."""
COSTS = {
    "direct": "one process without a JVM: a second and 70 MB to start",
    "spark": "a JVM and its workers, on this machine or many: 10 to 20 s and 1 GB to start",
}
"""What each runner is, and costs to start."""


@click.command("run", cls=Command)
@pipeline_options
@click.option("--once", is_flag=True, help="Deliver what the source holds now, then end.")
@click.option(
    "--restart",
    type=click.Choice(RESTARTS),
    help="Of a folder: which pipelines that end begin anew.  [default: on-failure; with --once never]",
)
@click.option("--memory", type=Size(), metavar="SIZE", help="Of a folder: the most memory of each, such as 512M.")
def run(chosen: Chosen, once: bool, restart: Restart | None, memory: int | None) -> int:
    """Run the pipeline in FILE: a pipeline file, or a connector's configuration as it is.

    Where FILE is a folder, all pipelines whose files stand in it run, each in a process of its own.

    SIGTERM finishes the batch in hand, saves the offset and ends with 0; SIGINT does the same and ends with 130.
    """
    if chosen.file.is_dir():
        return _run_folder(chosen, Limits(restart or ("never" if once else "on-failure"), memory), once=once)
    if restart is not None or memory is not None:
        raise click.UsageError(f"{chosen.file} is no folder: --restart and --memory are for the pipelines of one")
    with StopSignal() as stopping:
        bind_to_keeper()
        pipeline = load(chosen)
        if problems := unmet_requirements(pipeline):
            raise ConfigError(*problems, number="CDC2402")
        if pipeline.runner_by_default:
            log.info("%s", _default_runner(pipeline))
        runner = _runner(pipeline, stopping)
        with shown_progress(pipeline, runner.figures, current_settings().log_format):
            runner.run(once=once)
    return INTERRUPTED if stopping.interrupted else 0


def _run_folder(chosen: Chosen, limits: Limits, *, once: bool) -> int:
    from cdckit.cli.fleet.fleet import Fleet, found_files  # noqa: PLC0415 - one pipeline needs none of it
    from cdckit.cli.fleet.memory import can_be_told  # noqa: PLC0415

    if limits.memory is not None and not can_be_told():
        raise ConfigError(
            "--memory: this system does not tell in /proc how much memory a process has; leave it out", number="CDC2402"
        )
    settings = current_settings()
    os.environ.update(settings.variables)
    arguments = [*chosen.arguments, *(["--once"] if once else [])]
    with StopSignal() as stopping:
        return Fleet(found_files(chosen.file), arguments, limits, settings.log_format).run(stopping)


def _default_runner(pipeline: ResolvedPipeline) -> str:
    """Which runner a connector's configuration gets, which names none, and how to have the other."""
    other = "direct" if pipeline.runner == "spark" else "spark"
    return (
        f"the file names no runner, so the pipeline runs on '{pipeline.runner}' ({COSTS[pipeline.runner]}); "
        f"--runner {other} has it run on '{other}' ({COSTS[other]})"
    )


def _runner(pipeline: ResolvedPipeline, stopping: StopSignal) -> Runner:
    module, _, name = (TAIL if has_tail(pipeline) else RUNNERS[pipeline.runner]).partition(":")
    made: type[Runner] = getattr(importlib.import_module(module), name)
    return made(pipeline, stopping)
