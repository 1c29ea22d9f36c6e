"""`cdc signal`: tells a running pipeline what to do."""

from __future__ import annotations

import json
import sys
import uuid
from typing import Any

import click

from cdckit.api.plugin_config import did_you_mean
from cdckit.cli.pipelines import load
from cdckit.cli.settings import Chosen, Command, pipeline_options
from cdckit.connector.signals.inbox import leave
from cdckit.connector.signals.options import SignalOptions
from cdckit.connector.signals.signal import EXECUTE_SNAPSHOT, STOP_SNAPSHOT, Signal
from cdckit.connector.signals.snapshot_request import SnapshotRequest, StopRequest
from cdckit.engine.config.pipeline import ResolvedPipeline
from cdckit.errors import ConfigError, StateError


@click.command("signal", cls=Command)
@pipeline_options
@click.argument("kind", metavar="TYPE")
@click.option("--data", "text", metavar="JSON", help="What goes with it; `-` reads it.")
@click.option(
    "--table", "tables", multiple=True, metavar="NAME", help="A table or collection: a member of `data-collections`."
)
@click.option(
    "--filter",
    "condition",
    metavar="TEXT",
    help="Which part of them: SQL for a table, a query document for a collection.",
)
@click.option("--blocking", is_flag=True, help="The log waits while they are read.")
@click.option("--id", "identifier", metavar="ID", help="Its identifier; a random one by default.")
def signal(
    chosen: Chosen,
    kind: str,
    text: str | None,
    tables: tuple[str, ...],
    condition: str | None,
    blocking: bool,
    identifier: str | None,
) -> None:
    """Leave a signal for the pipeline in FILE, such as `execute-snapshot --table shop.orders`.

    The pipeline takes it while it runs, or when it starts; its channel `in-process` must be enabled
    (`signal.enabled.channels`). The signal's id is printed.
    """
    pipeline = load(chosen, incomplete=True)
    _require_type(_require_channel(pipeline), kind)
    data = _parsed(sys.stdin.read() if text == "-" else text or "{}")
    if tables:
        data["data-collections"] = list(tables)
    if condition is not None:
        named = data.get("data-collections") or ()
        data["additional-conditions"] = [{"data-collection": name, "filter": condition} for name in named]
    if blocking or (kind == EXECUTE_SNAPSHOT and "type" not in data):
        data["type"] = "blocking" if blocking else "incremental"
    made = Signal(identifier or str(uuid.uuid4()), kind, data)
    _require_request(made)
    try:
        leave(pipeline.folder, made)
    except OSError as error:
        raise StateError(f"{pipeline.folder}: the signal cannot be left there: {error}") from error
    click.echo(made.id)


def _require_type(config: SignalOptions, kind: str) -> None:
    if kind not in config.signal_types:
        hint = did_you_mean(kind, config.signal_types) or f" (there are: {', '.join(config.signal_types)})"
        raise ConfigError(f"TYPE: no signal is called '{kind}'{hint}", number="CDC2504")


def _require_channel(pipeline: ResolvedPipeline) -> SignalOptions:
    config = pipeline.source.config
    if not isinstance(config, SignalOptions):
        raise ConfigError(f"source.type: '{pipeline.source.registration.name}' takes no signals", number="CDC2504")
    if "in-process" not in config.channels:
        raise ConfigError(
            "source.signal.enabled.channels: should name in-process, where `cdc signal` leaves signals, "
            f"besides {config.signal_enabled_channels or 'no others'}",
            number="CDC2504",
        )
    return config


def _require_request(made: Signal) -> None:
    """What asks for nothing would be refused in the pipeline's log alone."""
    try:
        if made.type == EXECUTE_SNAPSHOT:
            SnapshotRequest.of(made)
        elif made.type == STOP_SNAPSHOT:
            StopRequest.of(made)
    except ValueError as error:
        said = str(error).removeprefix(f"signal '{made.id}': ")
        raise ConfigError(f"--data: {said}; --table names them, too", number="CDC2504") from error


def _parsed(text: str) -> dict[str, Any]:
    try:
        data = json.loads(text)
    except json.JSONDecodeError as error:
        raise ConfigError(f"--data: no JSON (column {error.colno}: {error.msg})", number="CDC2504") from error
    if not isinstance(data, dict):
        raise ConfigError("--data: must be a JSON object", number="CDC2504")
    return data
