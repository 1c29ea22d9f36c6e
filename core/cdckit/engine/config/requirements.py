"""Whether a pipeline can run in this environment: its packages are installed, and its parts go together."""

from __future__ import annotations

import importlib.util

from cdckit.api.plugins import factory
from cdckit.api.sink import TableSink
from cdckit.connector.notifications.options import NotificationOptions
from cdckit.connector.signals.options import SignalOptions
from cdckit.engine.config.pipeline import Component, ResolvedPipeline
from cdckit.engine.config.tail import beyond_tail
from cdckit.engine.ledger.requirements import unmet as ledger_unmet
from cdckit.engine.lineage.transport import require_lineage
from cdckit.engine.spark.release import installed, refused
from cdckit.errors import ConfigError, Problem, problems_of
from cdckit.tables.direct import DirectTableSink
from cdckit.tables.options import TableOptions

SPECULATES = (
    "spark.speculation: a second attempt of a task would write its records once more, behind newer ones, and the order "
    "of each key would be lost: take spark.speculation=true away (it may also stand in spark-defaults.conf, "
    "in spark-submit's --conf or in the session that this process has), or set it to false"
)
"""What is wrong with `spark.speculation` where tasks write."""


_MIRRORS = (
    "errors.tolerance: '{}' passes over records one by one, and the mirrors of '{}' would not be equal to their tables "
    "any more: set it to none, or {}sink.mode to changelog"
)
_WAITING = "to quarantine with quarantine.later.changes: wait, so that a replay mends them, or "


_EQUAL = ("mirror", "history")
"""The modes of tables that cannot lack a change."""


def unmet_requirements(pipeline: ResolvedPipeline) -> list[str]:
    """What keeps the pipeline from running here, a sentence each."""
    problems: list[str] = []
    if pipeline.runner == "spark" and importlib.util.find_spec("pyspark") is None:
        said = (
            "runner: 'spark' needs pyspark, which is not installed: pip install 'cdckit[spark]', "
            "or set 'runner: direct' (--runner direct), which needs no JVM"
        )
        problems.append(Problem(said, "CDC2301"))
    if pipeline.runner == "spark":
        problems += [problem for problem in [refused(installed())] if problem is not None]
        problems += beyond_spark(pipeline)
    problems += _documents(pipeline)
    if pipeline.lineage is not None:
        try:
            require_lineage(pipeline.lineage)
        except ConfigError as error:
            problems += problems_of(error)
    for component in _components(pipeline):
        try:
            by_spark = pipeline.runner == "spark" and component is pipeline.sink
            made_by = factory(component.registration, spark=by_spark)
        except ConfigError as error:
            problems += problems_of(error)
            continue
        if pipeline.runner == "spark" and component is pipeline.sink:
            problems += _speculation(pipeline, made_by)
            problems += _tolerance_on_spark(pipeline, made_by)
            problems += _direct_tables(pipeline, made_by)
        if component is pipeline.sink:
            problems += beyond_tail(pipeline, factory(component.registration))
            problems += ledger_unmet(pipeline, made_by)
        if pipeline.runner == "direct" and component is pipeline.sink:
            problems += _tables_on_direct(pipeline, made_by)
    return problems


def _documents(pipeline: ResolvedPipeline) -> list[str]:
    """Columns of documents, from a source that has none."""
    config = pipeline.sink.config
    if not isinstance(config, TableOptions) or not config.document_columns or pipeline.source_config.tells_documents:
        return []
    said = (
        f"sink.document.columns: says which columns documents have, as of MongoDB's collections; tables of the source "
        f"'{pipeline.source.registration.name}' have columns of their own: remove it"
    )
    return [Problem(said, "CDC2402")]


def _tables_on_direct(pipeline: ResolvedPipeline, sink: object) -> list[str]:
    name = pipeline.sink.registration.name
    if not (isinstance(sink, type) and issubclass(sink, TableSink)):
        return []
    if not issubclass(sink, DirectTableSink):
        return [Problem(f"sink.type: '{name}' keeps Spark tables; set 'runner: spark' for it", "CDC2401")]
    return _mirrors(pipeline)


def _mirrors(pipeline: ResolvedPipeline) -> list[str]:
    """A mirror may lack a row only where all later changes of the row wait for it."""
    tolerance, name = pipeline.errors.tolerance, pipeline.sink.registration.name
    if tolerance == "none" or pipeline.errors.waits or getattr(pipeline.sink.config, "mode", "") not in _EQUAL:
        return []
    return [_MIRRORS.format(tolerance, name, _WAITING)]


def _direct_tables(pipeline: ResolvedPipeline, sink: object) -> list[str]:
    if not (isinstance(sink, type) and issubclass(sink, DirectTableSink)):
        return []
    name = pipeline.sink.registration.name
    said = f"sink.type: '{name}' writes from one process: set 'runner: direct' (--runner direct)"
    return [Problem(said, "CDC2401")]


def is_on(setting: str) -> bool:
    """Whether a setting of Spark says yes."""
    return setting.strip().lower() == "true"


def _speculation(pipeline: ResolvedPipeline, sink: object) -> list[str]:
    keeps_tables = isinstance(sink, type) and issubclass(sink, TableSink)
    return [SPECULATES] if is_on(pipeline.spark.get("spark.speculation", "")) and not keeps_tables else []


def beyond_spark(pipeline: ResolvedPipeline) -> list[str]:
    """What is asked for that cannot be done while several workers read and write, a sentence each."""
    problems = [f"source.{option}: {why}" for option, why in pipeline.source.config.not_on_spark().items()]
    problems += [f"sink.{option}: {why}" for option, why in pipeline.sink.config.not_on_spark().items()]
    return problems


def beyond_data_source(pipeline: ResolvedPipeline) -> list[str]:
    """The same of the data source in a query of one's own, where no runner is."""
    problems = beyond_spark(pipeline)
    config = pipeline.source.config
    if isinstance(config, SignalOptions) and config.takes_signals:
        problems.append(
            "source.signal.*: signals and incremental snapshots need a runner (cdc run), which reads the log in order: "
            "remove signal.data.collection and signal.enabled.channels"
        )
    if isinstance(config, NotificationOptions) and config.notification_enabled_channels:
        problems.append("source.notification.enabled.channels: notifications need a runner (cdc run): remove it")
    if pipeline.errors.tolerance != "none":
        problems.append(
            f"errors.tolerance: '{pipeline.errors.tolerance}' needs a runner that takes what cannot be delivered "
            "(cdc run): set it to none"
        )
    if pipeline.ledger:
        problems.append("ledger: needs a runner that adds up what tasks read (cdc run): set it to false")
    return problems


def _tolerance_on_spark(pipeline: ResolvedPipeline, sink: object) -> list[str]:
    errors = pipeline.errors
    if errors.tolerance == "none":
        return []
    problems = _mirrors(pipeline) if isinstance(sink, type) and issubclass(sink, TableSink) else []
    state = pipeline.state_folder
    if pipeline.checkpoint is not None and state is not None and errors.folder == state / "quarantine":
        problems.append(
            "quarantine.folder: required with 'checkpoint': the state's directory may be lost then, and its copies "
            "have no quarantine: name one that lasts"
        )
    return problems


def _components(pipeline: ResolvedPipeline) -> list[Component]:
    steps = [part for step in pipeline.transforms for part in (step.transform, step.predicate) if part is not None]
    serializers = (pipeline.serializer, pipeline.key_serializer, pipeline.header_serializer)
    written_by = (part for part in serializers if part is not None)
    tail = [] if pipeline.tail_sink is None else [pipeline.tail_sink]
    return [pipeline.source, pipeline.store, *steps, *written_by, *tail, pipeline.sink]
