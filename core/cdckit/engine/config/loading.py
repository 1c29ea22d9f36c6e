"""A pipeline from its file: defaults, then the file, then its variables, then what the command line sets."""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from cdckit.api.variables import substitute
from cdckit.engine.config.connect import CONVERTER, connector_options, raw_connector
from cdckit.engine.config.debezium_server import KIND, expanded, is_server, server_options
from cdckit.engine.config.formats import Tree, read_documents
from cdckit.engine.config.left_behind import refuse_left_behind
from cdckit.engine.config.pipeline import ResolvedPipeline
from cdckit.engine.config.raw_pipeline import RawPipeline, raw_pipeline
from cdckit.engine.config.resolve import resolve
from cdckit.errors import ConfigError, problems_of

CASES = "cases"
"""What `cdc test` reads of a pipeline file, and nobody else."""


class NoPipelineError(ConfigError):
    """The file describes no pipeline."""


def load_pipeline(
    path: Path,
    overrides: Sequence[str] = (),
    *,
    runner: str | None = None,
    sink: str | None = None,
    environment: Mapping[str, str] | None = None,
    incomplete: bool = False,
    needed: Collection[str] = (),
    folder: Path | None = None,
) -> ResolvedPipeline:
    """The pipeline that a file describes: a pipeline file, or a connector's configuration as it is.

    Args:
        path: the file.
        overrides: `KEY=VALUE` each, stronger than the file.
        runner: stronger than the file's.
        sink: another sink in the place of the file's, whose options then mean nothing.
        environment: what `${VAR}` stands for; by default the process's environment.
        incomplete: whether variables may lack a value: for commands that connect to nothing and need no secrets …
        needed: … but in these sections, such as `transforms`.
        folder: where relative paths begin; by default the file's.

    Raises:
        ConfigError: with all that is wrong at once, each fault with the option's full name; or an earlier version's
            state would be left behind.
    """
    variables = os.environ if environment is None else environment
    raw = read_raw(path, variables, overrides, folder)
    raw.folder = _folder_of(path) if folder is None else folder.absolute()
    if runner is not None:
        raw.options["runner"] = runner
    if sink is not None and _sink_type(raw) != sink:
        raw.options["sink"] = {"type": sink}
    for assignment in overrides:
        if raw.placeholders and _converter(assignment):
            continue  # it had a part in choosing the serializer
        try:
            raw.set(assignment, variables)
        except ConfigError as error:
            raw.problems += problems_of(error)
    by_default = raw.placeholders and "runner" not in raw.options
    pipeline = resolve(raw, incomplete=incomplete, needed=needed)
    refuse_left_behind(pipeline, raw)
    as_written = not overrides and runner is None and sink is None
    return replace(pipeline, file=path.absolute(), as_written=as_written, runner_by_default=by_default)


def _folder_of(path: Path) -> Path:
    folder = path.absolute().parent
    return folder.resolve() if ".." in folder.parts else folder


def read_raw(
    path: Path, environment: Mapping[str, str], overrides: Sequence[str] = (), folder: Path | None = None
) -> RawPipeline:
    """What the file says, in the shape of a pipeline file; of a connector's, with what `overrides` say of converters.

    Args:
        path: the file.
        environment: what `${VAR}` stands for.
        overrides: `KEY=VALUE` each.
        folder: where `${file:…}` and `${dir:…}` begin; by default the file's.

    Raises:
        NoPipelineError: it is neither of the two kinds.
        ConfigError: the file cannot be read.
    """
    written = _choose(path, read_documents(path))
    if is_server(written):
        return _raw_server(path, written, environment, overrides)
    placeholders = connector_options(written) is not None
    if not placeholders:
        written = {name: value for name, value in written.items() if name != CASES}  # they hold no variables
    tree = substitute(written, environment, placeholders=placeholders, folder=path.parent if folder is None else folder)
    stem = path.name.partition(".")[0]
    connector = connector_options(tree)
    if connector is not None:
        options, name, ignored = connector
        options = {**options, **_converters(overrides, environment)}
        return raw_connector(options, _as_name(name or stem), ignored)
    if "source" not in tree:
        raise NoPipelineError(
            f"{path}: has neither 'source' (as a pipeline file) nor 'connector.class' (as a connector's configuration)",
            number="CDC2102",
        )
    return raw_pipeline(tree, _as_name(stem))


def _raw_server(path: Path, written: Tree, environment: Mapping[str, str], overrides: Sequence[str]) -> RawPipeline:
    """That of Debezium Server's configuration: a connector's with its sink, in one process."""
    found = server_options(substitute(expanded(written), environment, folder=path.parent))
    options = {**found.connector, **_converters(overrides, environment)}
    raw = raw_connector(options, _as_name(found.name or path.name.partition(".")[0]), found.ignored)
    found.complete(raw)
    return raw


def _converters(overrides: Sequence[str], environment: Mapping[str, str]) -> Tree:
    """What the command line says of converters, which have a part in choosing the serializer."""
    given = dict(pair for assignment in overrides if (pair := _converter(assignment)))
    found: Tree = substitute(given, environment, placeholders=True)
    return found


def _converter(assignment: str) -> tuple[str, str] | None:
    """A converter's option and its value, or None where the assignment is of something else."""
    key, equals, value = assignment.partition("=")
    return (key, value) if equals and CONVERTER.fullmatch(key) else None


def _as_name(text: str) -> str:
    return re.sub(r"[^A-Za-z0-9._-]", "_", text) or "pipeline"


def _choose(path: Path, documents: Sequence[Tree]) -> Tree:
    """The one document that describes a pipeline: beside others in a file of Kubernetes resources."""
    if len(documents) == 1:
        return documents[0]
    connectors = [document for document in documents if document.get("kind") in ("KafkaConnector", KIND)]
    if len(connectors) != 1:
        raise ConfigError(
            f"{path}: holds {len(documents)} documents, {len(connectors)} of them a KafkaConnector or a {KIND}; "
            "keep one pipeline",
            number="CDC2102",
        )
    return connectors[0]


def _sink_type(raw: RawPipeline) -> Any:
    options = raw.options.get("sink")
    return options.get("type") if isinstance(options, dict) else None
