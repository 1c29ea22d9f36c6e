"""`cdc offsets`: how far a pipeline has come, and how to send it elsewhere."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import click

from cdckit.api.source import SourceContext
from cdckit.cli.held import held
from cdckit.cli.pipelines import load
from cdckit.cli.settings import Chosen, Command, pipeline_options
from cdckit.connector import resnapshot
from cdckit.connector.takeover.history import HistoryClient, read_history
from cdckit.connector.takeover.offsets import offsets_body, offsets_of, write_offsets
from cdckit.engine.pipeline import make_source
from cdckit.engine.state import made_for, made_tables, table_batches
from cdckit.engine.state.offset_owner import leave_to_state
from cdckit.engine.state.place import StatePlace
from cdckit.engine.state.runner_handover import choose_offset, current_offset
from cdckit.errors import ConfigError, StateError


@click.group("offsets")
def offsets() -> None:
    """Show, set, reset, import or export how far a pipeline has come."""


@offsets.command("show", cls=Command)
@pipeline_options
def show(chosen: Chosen) -> None:
    """Print the saved offset as JSON, `null` where none is saved; the pipeline may be running."""
    click.echo(json.dumps(current_offset(StatePlace.of(load(chosen, incomplete=True))), indent=2))


@offsets.command("reset", cls=Command)
@pipeline_options
def reset(chosen: Chosen) -> None:
    """Forget the offset: the pipeline starts from its beginning, with a new snapshot. It must not be running."""
    with held(load(chosen, incomplete=True)) as state:
        choose_offset(state, None)
        leave_to_state(state, chosen=True)
        state.put(resnapshot.KEPT_AS, None)
        state.put(table_batches.KEPT_AS, None)
        made_tables.forget(state)


@offsets.command("keep", cls=Command)
@pipeline_options
def keep(chosen: Chosen) -> None:
    """Go on from the saved offset though FILE names another source or target: nothing is missing there.

    The pipeline must not be running.
    """
    pipeline = load(chosen, incomplete=True)
    with held(pipeline) as state:
        if state.load_offset() is None:
            raise StateError(
                f"state {pipeline.shown_state}: the pipeline has no offset, and there is nothing to keep",
                number="CDC7402",
            )
        made_for.keep_offset(state)
        leave_to_state(state, chosen=True)


@offsets.command("set", cls=Command)
@pipeline_options
@click.argument("offset")
def set_offset(chosen: Chosen, offset: str) -> None:
    """Save OFFSET, a JSON object as `show` prints it, or `-` to read it. The pipeline must not be running."""
    wanted = _parsed(sys.stdin.read() if offset == "-" else offset)
    pipeline = load(chosen, incomplete=True)
    try:
        make_source(pipeline).check_offset(wanted)
    except StateError as error:
        raise ConfigError(f"OFFSET: {error}", number="CDC2505") from error
    with held(pipeline) as state:
        choose_offset(state, wanted)
        state.put(table_batches.KEPT_AS, None)
        leave_to_state(state, chosen=True)
        made_for.keep_offset(state)


@offsets.command("import", cls=Command)
@pipeline_options
@click.option("--from-debezium", "source_file", required=True, type=click.Path(path_type=Path), metavar="OFFSETS")
@click.option("--history", metavar="PLACE")
@click.option("--history-consumer", "consumer", type=click.Path(path_type=Path), metavar="PROPERTIES")
def import_offset(chosen: Chosen, source_file: Path, history: str | None, consumer: Path | None) -> None:
    """Take over from a stopped connector of Debezium: save where it stood, and the definitions that it knew.

    OFFSETS is the file offset.storage.file.filename, or a dump of a Connect cluster's offset topic, a message a line.
    PLACE is the connector's schema history: its file, a dump of its topic, or kafka://HOST:PORT/TOPIC; without it the
    definitions are asked of the server, if they have not changed since. PROPERTIES is a file with more properties of
    the topic's consumer, in Java's words or librdkafka's, such as those by which it logs in.
    """
    client = HistoryClient.of_file(consumer) if consumer else None
    pipeline = load(chosen)
    prefix = pipeline.source_config.logical_name or ""
    found = offsets_of(source_file, prefix)
    with held(pipeline) as state:
        if state.load_offset() is not None:
            raise StateError(
                f"state {pipeline.shown_state}: has an offset already; `cdc offsets reset` forgets it", number="CDC7401"
            )
        source = make_source(pipeline)
        try:
            source.open(SourceContext(pipeline.name, state))
            adopted = source.adopt(found, read_history(history, client) if history else None)
        finally:
            source.close()
        choose_offset(state, adopted)
        leave_to_state(state, chosen=True)
        made_for.keep(state, pipeline)
    click.echo(json.dumps(adopted, indent=2))
    if any("incremental_snapshot_collections" in (each.offset or {}) for each in found):
        click.echo(
            "an incremental snapshot was not finished: ask for it again, by the signal execute-snapshot", err=True
        )


@offsets.command("export", cls=Command)
@pipeline_options
@click.option("--to-debezium", "target", required=True, metavar="OFFSETS")
@click.option("--connector", metavar="NAME")
def export_offset(chosen: Chosen, target: str, connector: str | None) -> None:
    """Hand over to a connector of Debezium: tell it where the pipeline has come to, which must not be running.

    OFFSETS is the file to make, the connector's offset.storage.file.filename; or `-` to print what a Connect cluster
    takes by PATCH /connectors/NAME/offsets. NAME is the connector's name, which the file has, too.
    """
    if target != "-" and not connector:
        raise ConfigError(
            "--connector: a file of offsets has the connector's name (its option `name`); give it", number="CDC2505"
        )
    pipeline = load(chosen, incomplete=True)
    with held(pipeline) as state:
        offset = state.load_offset()
    if offset is None:
        raise StateError(
            f"state {pipeline.shown_state}: the pipeline has no offset, and there is nothing to export",
            number="CDC7402",
        )
    noted = make_source(pipeline).connector_offset(connector or "", offset)
    if target == "-":
        click.echo(offsets_body(noted))
    else:
        write_offsets(Path(target), noted)


def _parsed(text: str) -> dict[str, Any]:
    try:
        offset = json.loads(text)
    except json.JSONDecodeError as error:
        raise ConfigError(
            f"OFFSET: no JSON (line {error.lineno}, column {error.colno}: {error.msg})", number="CDC2505"
        ) from error
    if not isinstance(offset, dict):
        raise ConfigError("OFFSET: must be a JSON object, such as `cdc offsets show` prints", number="CDC2505")
    return offset
