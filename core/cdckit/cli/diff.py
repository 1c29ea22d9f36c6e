"""`cdc diff`: what the sink holds against its source, while both move."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Any

import click

from cdckit.cli.asked_proof import Asked
from cdckit.cli.pipelines import load
from cdckit.cli.settings import INTERRUPTED, Chosen, Command, pipeline_options
from cdckit.cli.tables import print_table
from cdckit.engine.config.pipeline import ResolvedPipeline
from cdckit.engine.proof.hashing import HashName
from cdckit.engine.proof.load import FREE, MaxLoad
from cdckit.engine.proof.report import Difference, TableProof, exit_code, keep
from cdckit.engine.runners.garbage import spare_collections
from cdckit.engine.runners.stop import StopSignal
from cdckit.errors import ConfigError, StoppedError

_COLUMNS = ("table", "outcome", "rows", "missing", "extra", "changed", "seconds", "note")
_LONGEST = 60


@click.command("diff", cls=Command)
@pipeline_options
@click.option("--table", "tables", multiple=True, metavar="NAME", help="A captured table: DATABASE.TABLE; all of them.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
@click.option(
    "--show", type=click.IntRange(min=0), default=10, show_default=True, metavar="ROWS",
    help="So many differing rows of a table are printed, with their values.",
)  # fmt: skip
@click.option(
    "--wait", type=click.FloatRange(min=0), default=60, show_default=True, metavar="SECONDS",
    help="How long a pipeline that runs may take to come up to the source.",
)  # fmt: skip
@click.option(
    "--max-load", default="", metavar="ROWS|NAME=NUMBER",
    help="Read no more rows a second from the source, or none while a figure of the server is higher: "
    "Threads_running=25. Several with commas.",
)  # fmt: skip
@click.option("--repair", is_flag=True, help="Have rows that are missing or changed read again, and compare once more.")
@click.option(
    "--resume", is_flag=True,
    help="Compare table by table, and keep what is decided: one that was killed goes on with this.",
)  # fmt: skip
@click.option(
    "--on-spark", is_flag=True,
    help="Have Spark's workers read and hash the rows of both sides, where Spark runs the pipeline: for large tables.",
)  # fmt: skip
@click.option("--ledger", is_flag=True, help="Compare the sink with the pipeline's ledger, without the source.")
@click.option("--hash", "name", type=click.Choice(["xxh3", "blake2b"]), default="xxh3", show_default=True)
def diff(
    chosen: Chosen,
    tables: tuple[str, ...],
    as_json: bool,
    show: int,
    wait: float,
    max_load: str,
    repair: bool,
    resume: bool,
    on_spark: bool,
    ledger: bool,
    name: HashName,
) -> int:
    """Compare what the sink of the pipeline in FILE holds with its source; the pipeline runs on meanwhile.

    Ends with 0 where all tables are equal, 1 where one is not, else 5 where one could not be compared.
    """
    with StopSignal() as stopping:
        pipeline = load(chosen)
        spare_collections()
        load_wished = MaxLoad.parsed(max_load) if max_load else FREE
        if ledger and on_spark:
            raise ConfigError("--ledger: it is this process that reads the tables: leave --on-spark away")
        asked = Asked(tables, name, wait, load_wished, resume, repair, on_spark, ledger)
        try:
            found = _compared(pipeline, asked, stopping)
        except StoppedError:
            return INTERRUPTED if stopping.interrupted else 0
    keep(pipeline.folder, found)
    if as_json:
        click.echo(json.dumps({"tables": {each.table: _whole(each, show) for each in found}}, indent=2))
    else:
        _print(found, show)
    return exit_code(found)


def _compared(pipeline: ResolvedPipeline, asked: Asked, stopping: StopSignal) -> list[TableProof]:
    try:
        from cdckit.cli.comparison import compare  # noqa: PLC0415 - the extra may be missing
    except ModuleNotFoundError as error:
        raise ConfigError(f"cdc diff: needs the package {error.name}: pip install 'cdckit[diff]'") from error
    return compare(pipeline, asked, stopping)


def _whole(table: TableProof, show: int) -> dict[str, Any]:
    return {**table.to_json(), "differences": [_difference(each) for each in table.differences[:show]]}


def _difference(each: Difference) -> dict[str, Any]:
    return {
        "key": json.loads(each.key),
        "fault": each.fault,
        "columns": list(each.columns),
        "source": each.source,
        "sink": each.sink,
        "source_position": each.source_position,
        "sink_position": each.sink_position,
        **({"lost_by": each.lost_by} if each.lost_by else {}),
    }


def _print(found: Sequence[TableProof], show: int) -> None:
    print_table(_COLUMNS, map(_row, found))
    differing = [(each, one) for each in found for one in each.differences[:show]]
    if differing:
        columns = ("table", "key", "fault", "source", "sink", "position in the sink")
        blamed = any(one.lost_by for _, one in differing)
        print_table(
            (*columns, "lost by") if blamed else columns,
            [(*_differing(each, one), one.lost_by) if blamed else _differing(each, one) for each, one in differing],
        )


def _row(each: TableProof) -> Sequence[str]:
    counts = (each.rows, each.missing, each.extra, each.changed)
    return each.table, each.outcome, *map(str, counts), f"{each.seconds:.1f}", each.note


def _differing(table: TableProof, one: Difference) -> Sequence[str]:
    source, sink = _values(one.source, one.columns), _values(one.sink, one.columns)
    return table.table, one.key, one.fault, source, sink, one.sink_position


def _values(row: dict[str, Any] | None, columns: Sequence[str]) -> str:
    if row is None:
        return "none"
    return " ".join(_cut(f"{name}={value}") for name, value in _shown(row, columns))


def _shown(row: dict[str, Any], columns: Sequence[str]) -> Iterator[tuple[str, str]]:
    for name in columns or row:
        if name in row:
            yield name, json.dumps(row[name], ensure_ascii=False)


def _cut(text: str) -> str:
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"
