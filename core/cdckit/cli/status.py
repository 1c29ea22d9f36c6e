"""`cdc status`: whether a pipeline runs, how far it is and how fast, from its state and its folder."""

from __future__ import annotations

import json
from collections.abc import Iterator

import click

from cdckit.cli.pipelines import load
from cdckit.cli.progress_line import lag_text, size
from cdckit.cli.settings import Chosen, Command, pipeline_options
from cdckit.connector.durations import duration
from cdckit.engine.metrics.status import STALE_SECONDS, PipelineStatus, SnapshotStatus, TableStatus, pipeline_status
from cdckit.engine.state.place import StatePlace

_MOST_TABLES = 20

stale_after = click.option(
    "--stale-after",
    type=click.IntRange(min=1),
    default=STALE_SECONDS,
    metavar="SECONDS",
    show_default=True,
    help="How long a pipeline with work to do may say nothing.",
)


@click.command("status", cls=Command)
@pipeline_options
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
@stale_after
def status(chosen: Chosen, as_json: bool, stale_after: int) -> int:
    """Show whether the pipeline in FILE runs, where it is and how fast; it may be running or not.

    Ends with 1 where it has failed, was killed, or is stale: it has work to do, and was not heard of for long.
    """
    pipeline = load(chosen, incomplete=True)
    found = pipeline_status(StatePlace.of(pipeline), stale_after)
    if as_json:
        click.echo(json.dumps(found.to_json(), indent=2))
        return exit_code(found)
    for name, text in _lines(found):
        click.echo(f"{name:<10}{text}")
    return exit_code(found)


def exit_code(found: PipelineStatus) -> int:
    """1 where somebody should look at the pipeline."""
    return 1 if found.state in ("failed", "killed") or found.stale else 0


def _lines(found: PipelineStatus) -> Iterator[tuple[str, str]]:
    yield "pipeline", found.pipeline
    yield "state", _state(found)
    if found.error:
        yield "error", " ".join(filter(None, (found.error_number, f"{found.error_type}: {found.error}")))
    if found.metrics:
        yield "metrics", found.metrics
    yield "offset", json.dumps(found.offset) if found.offset is not None else "none"
    if lag := _lag(found):
        yield "lag", lag
    if (forecast := found.forecast) is not None:
        yield "forecast", forecast.sentence(found.at)
    if found.run is not None:
        rate = f", {found.events_per_second:,.0f} events/s" if found.state == "running" else ""
        yield "delivered", f"{found.records:,} events{rate}"
    if found.snapshot is not None:
        yield from _snapshot(found.snapshot)
    if found.resnapshot:
        yield "again", f"{', '.join(found.resnapshot)}: {_again(found)}"
    for name, entries, stored in found.histories:
        yield "history", f"{name}: {entries:,} entries, {size(stored)}"
    for said in found.unmatched:
        yield "list", said
    yield from _undelivered(found)


def _undelivered(found: PipelineStatus) -> Iterator[tuple[str, str]]:
    for name, count in found.skipped.items():
        yield "skipped", f"{name}: {count:,} events"
    if found.quarantine:
        kept = f"{found.quarantine:,} records in quarantine (cdc quarantine list FILE)"
        yield "kept", kept + _by_stage(found.quarantined)
    if found.left_out:
        count = sum(found.left_out.values())
        yield "left out", f"{count:,} records that could not be delivered{_by_stage(found.left_out)}"


def _by_stage(counts: dict[str, int]) -> str:
    told = ", ".join(f"{stage} {count:,}" for stage, count in counts.items())
    return f"; in the last run: {told}" if told else ""


def _state(found: PipelineStatus) -> str:
    if found.run is None:
        return "never run with this state folder" if found.offset is None else "stopped"
    texts = {
        "running": f"running on the runner {found.runner}, process {found.pid}, for {duration(found.seconds)}",
        "stopped": f"stopped {duration(found.age)} ago",
        "failed": f"failed {duration(found.age)} ago",
        "killed": f"ended without a word (killed?), last heard of {duration(found.age)} ago",
    }
    away = f"; the source is away: {found.disconnected_by}" if found.state == "running" and found.away else ""
    stale = f"; stale: it has work to do, and was last heard of {duration(found.age)} ago" if found.stale else ""
    return texts[found.state] + away + stale


def _again(found: PipelineStatus) -> str:
    return "to be read again" if found.state == "running" else "to be read again when the pipeline is started"


def _lag(found: PipelineStatus) -> str:
    lag = lag_text(found.lag_seconds, found.lag_bytes, found.lag_messages)
    if not lag or found.saved_ago is None:
        return ""
    return f"{lag} behind the log's end when the offset was saved, {duration(found.saved_ago)} ago"


def _snapshot(snapshot: SnapshotStatus) -> Iterator[tuple[str, str]]:
    done = sum(table.finished for table in snapshot.tables)
    took = duration(round(snapshot.seconds))
    yield "snapshot", f"{snapshot.state}, {done} of {len(snapshot.tables)} tables, {took}"
    shown = [table for table in snapshot.tables if not table.finished or snapshot.state == "completed"]
    for table in shown[:_MOST_TABLES]:
        yield "", f"  {_table(table)}"
    if len(shown) > _MOST_TABLES:
        yield "", f"  and {len(shown) - _MOST_TABLES} more (--json shows all)"


def _table(table: TableStatus) -> str:
    likely = not table.finished and table.estimate is not None and table.estimate >= table.rows
    of = f" of about {table.estimate:,}" if likely else ""
    return f"{table.name}: {table.rows:,}{of} rows{', done' if table.finished else ''}"
