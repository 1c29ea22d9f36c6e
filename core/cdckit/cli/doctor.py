"""`cdc doctor`: what is wrong with a pipeline, what will go wrong, and what mends it."""

from __future__ import annotations

import json
from collections.abc import Iterator

import click

from cdckit.api.checks import Finding
from cdckit.cli.pipelines import load
from cdckit.cli.settings import Chosen, Command, pipeline_options
from cdckit.cli.tables import print_table
from cdckit.engine.config.pipeline import ResolvedPipeline
from cdckit.engine.config.requirements import unmet_requirements
from cdckit.engine.doctor.examination import Examined, examined, exit_code
from cdckit.engine.doctor.outlook import disk_findings, forecast_findings, run_findings
from cdckit.engine.doctor.topics import topic_findings
from cdckit.engine.metrics.status import pipeline_status
from cdckit.engine.state.place import StatePlace
from cdckit.errors import ConfigError, StateError

GENERAL = "CDC1000"
"""The number of a finding that has none of its own."""
_WORST_FIRST = ("fail", "warn", "ok")


def _explain(context: click.Context, _option: click.Parameter, number: str | None) -> None:
    if number is None:
        return
    from cdckit.engine.numbers.registry import explained  # noqa: PLC0415 - asked for alone

    section = explained(number)
    if section is None:
        raise click.BadParameter(
            f"there is no number '{number}'; errors and findings begin with one such as CDC3101", context
        )
    click.echo(section, nl=False)
    context.exit()


@click.command("doctor", cls=Command)
@pipeline_options
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
@click.option(
    "--explain",
    metavar="NUMBER",
    is_eager=True,
    expose_value=False,
    callback=_explain,
    help="Print what a number such as CDC3101 stands for; needs no FILE.",
)
def doctor(chosen: Chosen, as_json: bool) -> int:
    """Tell what is wrong with the pipeline in FILE, and what will go wrong; it may be running or not.

    Looks at all that `cdc validate --connect` looks at, forecasts when the log is purged that is to be read, and looks
    at the last run, the disk and the topics. Ends with 0 where nothing is worse than a warning.
    """
    pipeline = load(chosen)
    if problems := unmet_requirements(pipeline):
        raise ConfigError(*problems, number="CDC2402")
    found = sorted(_found(pipeline), key=_urgency)
    if as_json:
        click.echo(json.dumps({"pipeline": pipeline.name, "findings": [_json(one) for one in found]}, indent=2))
    else:
        print_table(("", "number", "part", "found, and what to do"), [_row(one) for one in found])
    return exit_code(found)


def _found(pipeline: ResolvedPipeline) -> Iterator[Examined]:
    yield from disk_findings(pipeline)
    seen = []
    for one in examined(pipeline):
        seen.append(one)
        yield one
    reachable = {part for part in ("state", "source", "sink") if not _cut_off(part, seen)}
    if "state" not in reachable:
        return
    try:
        status = pipeline_status(StatePlace.of(pipeline))
    except StateError as error:
        yield Examined("state", Finding.of("status", error))
        return
    yield from run_findings(status)
    if "source" in reachable:
        yield from forecast_findings(pipeline, status)
    if "sink" in reachable:
        yield from topic_findings(pipeline)


def _cut_off(part: str, seen: list[Examined]) -> bool:
    """Whether nothing but the fault of its connection is known of a part."""
    found = [one for one in seen if one.part == part]
    return len(found) == 1 and found[0].fails


def _urgency(one: Examined) -> tuple[int, str]:
    return _WORST_FIRST.index(one.finding.status), _number(one) or "z"


def _number(one: Examined) -> str:
    return "" if one.finding.status == "ok" else one.finding.number or GENERAL


def _row(one: Examined) -> tuple[str, str, str, str]:
    finding = one.finding
    said = f"{finding.name}: {finding.message}"
    return finding.status, _number(one), one.part, f"{said}\n→ {finding.remedy}" if finding.remedy else said


def _json(one: Examined) -> dict[str, str]:
    finding = one.finding
    return {
        "severity": finding.status,
        "number": _number(one),
        "part": one.part,
        "name": finding.name,
        "message": finding.message,
        "remedy": finding.remedy,
    }
