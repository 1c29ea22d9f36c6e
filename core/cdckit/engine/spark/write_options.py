"""The writing job that a data source's options describe; apart from the data source as `pipeline_options` is."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from cdckit.api.plugins import config_model, find, make
from cdckit.api.sink import Sink
from cdckit.api.variables import unresolved
from cdckit.engine.config.components import ComponentReader
from cdckit.engine.config.loading import load_pipeline
from cdckit.engine.config.pipeline import Component, PipelineConfig
from cdckit.engine.config.raw_pipeline import COMPONENTS, LISTED, STATE, RawPipeline, raw_pipeline
from cdckit.engine.pipeline import make_encoder
from cdckit.engine.spark.write_job import WriteJob
from cdckit.errors import ConfigError, Problem

_OWN = ("pipeline", "topic", "writer")
_SPARKS = ("checkpointlocation", "queryname")
"""What Spark itself reads of a query's options, and hands on."""
_OF_THE_MESSAGES = ("name", "position.header")
_NAME = "spark"


def write_job_of(options: Mapping[str, str]) -> WriteJob:
    """The job that a data source's options describe.

    Args:
        options: in lower case: `pipeline`, the path of a file whose sink is meant; `topic`; `writer`; and a pipeline
            file's options by their full names, stronger than those in it.

    Raises:
        ConfigError: with all that is wrong at once.
    """
    given = [f"{name}={value}" for name, value in options.items() if name not in (*_OWN, *_SPARKS)]
    job = _of_file(Path(options["pipeline"]), given) if "pipeline" in options else _of_options(given)
    writer = options.get("writer", "driver")
    if problems := [*_beyond(job.sink, named="name" in options, writer=writer)]:
        raise ConfigError(*problems)
    return WriteJob(
        options.get("name", _NAME),
        job.sink,
        options.get("topic"),
        writer == "tasks",
        job.position_header,
        job.around_position,
    )


def _of_file(path: Path, given: list[str]) -> WriteJob:
    # The pipeline's name is not the job's: two that write under one name would take each other's transactions away.
    pipeline = load_pipeline(path, given, incomplete=True, needed=("sink", "serializer"))
    around = make_encoder(pipeline).serializer.around_position
    return WriteJob(_NAME, pipeline.sink, position_header=pipeline.position_header, around_position=around)


def _of_options(given: list[str]) -> WriteJob:
    raw = raw_pipeline({"sink": {"type": "kafka"}}, _NAME)
    for one in given:
        raw.set(one, os.environ)
    reader = ComponentReader()
    reader.problems += [Problem(f"{path}: {problem}", "CDC2206") for path, problem in unresolved(raw.options)]
    beside = _pipelines_own(raw, reader)
    own = reader.load(PipelineConfig, {"source": {}, **beside}, "", elsewhere=_misplaced(beside, raw.options["sink"]))
    sink = reader.component("sink", "sink", raw.options["sink"])
    if reader.problems or own is None or sink is None:
        raise ConfigError(*reader.problems)
    return WriteJob(_NAME, sink, position_header=own.position_header)


def _pipelines_own(raw: RawPipeline, reader: ComponentReader) -> dict[str, object]:
    """The options beside the sink's, without those that are another component's."""
    beside = {name: value for name, value in raw.options.items() if name != "sink"}
    foreign = [name for name in beside if name in (*COMPONENTS, *LISTED, STATE)]
    said = "has no part in what a job writes"
    reader.problems += [Problem(f"{name}: {said}: take its options out", "CDC2205") for name in foreign]
    own = {name: value for name, value in beside.items() if name not in foreign}
    known = [name for name in own if name not in _OF_THE_MESSAGES and PipelineConfig.knows(name)]
    reader.problems += [Problem(f"{name}: {said}: take it out", "CDC2205") for name in known]
    return own


def _misplaced(names: Iterable[str], sink: Mapping[str, Any]) -> dict[str, str]:
    """The options among these that are the sink's, and what they are called."""
    try:
        model = config_model(find("sink", str(sink["type"])))
    except ConfigError:
        return {}
    return {name: f"sink.{name}" for name in names if model.knows(name)}


def _beyond(component: Component, *, named: bool, writer: str) -> Iterator[str]:
    """What is right by itself, and does not go together."""
    sink = make(component.registration, component.config)
    if not isinstance(sink, Sink) or not sink.in_tasks:
        kind = component.registration.name
        yield Problem(f"sink.type: '{kind}' takes no messages of Spark jobs of one's own: write to 'kafka'", "CDC2402")
        return
    if writer not in ("driver", "tasks"):
        yield Problem("writer: should be driver or tasks", "CDC2203")
    if sink.transactions is None:
        return
    if writer == "tasks":
        said = "writer: 'tasks' cannot write a batch as one transaction: take it out, or sink.delivery.guarantee"
        yield Problem(said, "CDC2402")
    if not named:
        said = "name: required with exactly-once delivery, which keeps the batches of each job apart by it"
        yield Problem(said, "CDC2202")
