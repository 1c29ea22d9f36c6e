"""The delivery that fits a pipeline's sink."""

from __future__ import annotations

from cdckit.api.sink import TableSink
from cdckit.engine.config.pipeline import ResolvedPipeline
from cdckit.engine.pipeline import make_sink
from cdckit.engine.runners.stop import StopSignal
from cdckit.engine.spark.delivery import Delivery
from cdckit.engine.spark.table_delivery import TableDelivery
from cdckit.engine.spark.task_delivery import TaskDelivery
from cdckit.engine.spark.writer_delivery import TransactionDelivery, WriterDelivery
from cdckit.errors import ConfigError
from cdckit.tables.sink import SparkTableSink


def make_delivery(pipeline: ResolvedPipeline, *, once: bool, stopping: StopSignal) -> Delivery:
    """The delivery that fits the pipeline's sink.

    Raises:
        ConfigError: a package is missing, or the sink is of a kind that this runner does not know.
    """
    sink = make_sink(pipeline)
    if isinstance(sink, SparkTableSink):
        return TableDelivery(pipeline, sink, stopping)
    if isinstance(sink, TableSink):
        raise ConfigError(
            f"sink.type: '{pipeline.sink.registration.name}' keeps tables, but not through Spark", number="CDC2401"
        )
    if sink.transactions is not None:
        return TransactionDelivery(pipeline, sink, once=once, stopping=stopping)
    if sink.in_tasks:
        return TaskDelivery(pipeline, once=once)
    return WriterDelivery(pipeline, sink, once=once, stopping=stopping)
