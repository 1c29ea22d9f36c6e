"""`cdc test`: a pipeline's transforms held to the cases of its file."""

from __future__ import annotations

from pathlib import Path

import click

from cdckit.cli.coloured import print_differences
from cdckit.cli.pipelines import load
from cdckit.cli.settings import Chosen, Command, pipeline_options
from cdckit.engine.samples.cases import read_cases
from cdckit.engine.samples.checking import Outcome, outcome


@click.command("test", cls=Command)
@pipeline_options
@click.option(
    "--cases", type=click.Path(path_type=Path), metavar="CASES",
    help="The file with `cases`. By default the pipeline's own, and NAME.cases.yaml beside it.",
)  # fmt: skip
def test(chosen: Chosen, cases: Path | None) -> int:
    """Hold the transforms of the pipeline in FILE to its cases: records that go in, and what is to come out.

    Ends with 1 where a case fails. It connects to nothing.
    """
    pipeline = load(chosen, incomplete=True, needed=("transforms", "predicates"))
    outcomes = [outcome(pipeline.transforms, case) for case in read_cases(chosen.file, cases)]
    for one in outcomes:
        _print(one)
    failed = sum(one.failed for one in outcomes)
    told = "1 case" if len(outcomes) == 1 else f"{len(outcomes)} cases"
    click.echo(f"{told}, {failed} failed" if failed else f"{told}, none failed")
    return 1 if failed else 0


def _print(one: Outcome) -> None:
    if not one.failed:
        click.echo(f"ok    {one.case.name}")
        return
    click.echo(f"FAIL  {one.case.name}" + (f": {one.fault}" if one.fault else ""))
    for number, diff in one.diffs.items():
        click.echo(f"      record {number}, expected (-) and come (+)")
        print_differences(diff, 6)
