"""Where the ledger cannot be kept: said by the option at fault."""

from __future__ import annotations

from collections.abc import Iterator
from importlib.util import find_spec

from cdckit.api.sink import Sink, TableSink
from cdckit.engine.config.pipeline import ResolvedPipeline
from cdckit.engine.pipeline import make_sink
from cdckit.engine.serializers.avro.config import AvroConfig
from cdckit.engine.serializers.json_config import JsonConfig
from cdckit.errors import ConfigError, Problem
from cdckit.tables.direct import DirectTableSink


def unmet(pipeline: ResolvedPipeline, sink: object) -> list[str]:
    """Why a pipeline cannot keep a ledger, a sentence each.

    Args:
        pipeline: the pipeline.
        sink: what makes its sink.
    """
    if not pipeline.ledger:
        return []
    config = pipeline.source_config
    problems = [*_of_the_way(pipeline)]
    if not (isinstance(sink, type) and issubclass(sink, TableSink)):
        problems += [*_of_messages(pipeline), *_of_the_serializer(pipeline, sink)]
    elif pipeline.runner == "spark":
        problems += _of_sparks_tables(pipeline)
    elif not (issubclass(sink, DirectTableSink) and sink.keeps_batches):
        name = pipeline.sink.registration.name
        problems.append(f"the tables of the sink '{name}' cannot be read back as they were at an offset")
    if skipped := config.skipped & {"c", "u", "d"}:
        problems.append(f"needs all changes, and 'source.skipped.operations' leaves out '{','.join(sorted(skipped))}'")
    problems += [why for why in (config.no_sums, config.partial_updates) if why is not None]
    return [Problem(f"ledger: {problem}", "CDC2402") for problem in problems]


def _of_the_way(pipeline: ResolvedPipeline) -> Iterator[str]:
    if pipeline.errors.tolerance != "none":
        yield "needs 'errors.tolerance: none': rows that are set aside would be taken for lost ones"
    if lacking := [name for name in ("numpy", "xxhash") if find_spec(name) is None]:
        yield f"needs {', '.join(lacking)}: pip install 'cdckit[diff]'"


def _of_sparks_tables(pipeline: ResolvedPipeline) -> Iterator[str]:
    sink = make_sink(pipeline)
    try:
        if isinstance(sink, TableSink):
            sink.images()
    except ConfigError as error:
        yield from (f"its tables cannot be read back: {problem}" for problem in error.problems)


def _of_messages(pipeline: ResolvedPipeline) -> Iterator[str]:
    if not pipeline.position_header:
        yield "needs 'position.header: true', by which the sink's messages up to its offset are found"


def _of_the_serializer(pipeline: ResolvedPipeline, sink: object) -> Iterator[str]:
    serializer = pipeline.serializer.config
    if isinstance(serializer, AvroConfig):
        yield from _of_avro(pipeline, serializer, sink)
    elif not isinstance(serializer, JsonConfig) or pipeline.key_serializer or pipeline.header_serializer:
        yield (
            "reads rows as the serializer json writes them, or avro: keys, values and headers are to be of one of these"
        )
    elif serializer.decimal_format == "NUMERIC":
        yield "needs 'serializer.decimal.format: BASE64', as numbers lose digits where they are read"


def _of_avro(pipeline: ResolvedPipeline, serializer: AvroConfig, sink: object) -> Iterator[str]:
    if pipeline.key_serializer:
        yield "reads avro where keys are written by it, too: take serializer.key away"
    if not (isinstance(sink, type) and issubclass(sink, Sink) and sink.reads_bytes):
        yield f"cannot read Avro back from the sink '{pipeline.sink.registration.name}': only from kafka"
    if serializer.scrub_invalid_names:
        yield "needs columns under their own names: set 'serializer.scrub.invalid.names: false'"
    if not serializer.auto_register_schemas and (serializer.use_latest_version or serializer.use_schema_id >= 0):
        yield "needs rows written by their own schemas: leave use.latest.version and use.schema.id away"
    if find_spec("fastavro") is None:
        yield "needs the package fastavro: pip install 'cdckit[diff]'"
