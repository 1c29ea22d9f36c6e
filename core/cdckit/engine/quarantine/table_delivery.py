"""Records in quarantine on their way into tables that this process writes."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import replace

from cdckit.api.record import Record
from cdckit.api.state_store import StateStore
from cdckit.engine.chain import TransformChain
from cdckit.engine.config.pipeline import ResolvedPipeline
from cdckit.engine.pipeline import make_source
from cdckit.engine.state.made_tables import tables_in
from cdckit.engine.state.table_batches import TableBatches
from cdckit.engine.table_context import table_context
from cdckit.errors import ConfigError, RetriableSinkError, SinkError
from cdckit.tables.direct import DirectTableSink


class RowError(Exception):
    """A record cannot become a row."""


class TableDelivery:
    """A sink of tables, each record a batch of its own.

    Args:
        pipeline: whose they are.
        state: the pipeline's, held.
        sink: not yet opened.
        stack: closes it.

    Raises:
        ConfigError: a run was broken off, whose batches tables may have.
        SinkError: the tables cannot be reached.
    """

    def __init__(self, pipeline: ResolvedPipeline, state: StateStore, sink: DirectTableSink, stack: ExitStack) -> None:
        self._sink = sink
        self._batches = TableBatches(state, state.load_offset())
        of_a_run = [one for one in self._batches.begun if one.reached is None or one.reached]
        if of_a_run or self._batches.planned_end is not None:
            # By a number of its own a table would forget which batch of that run it has.
            raise ConfigError(
                "the last run was broken off while it wrote tables: let the pipeline run once more (cdc run FILE "
                "--once), then replay",
                number="CDC2402",
            )
        told, made = make_source(pipeline).tells_marks, tables_in(state)
        stack.callback(sink.close)
        context = table_context(pipeline, self._batches.generation, state.get, lambda _: None, made, marks=told)
        sink.open(replace(context, replays=True))
        self._begin()

    def _begin(self) -> None:
        self._sink.begin(self._batches.generation, ())

    def deliver(self, records: Sequence[Record], chain: TransformChain) -> None:
        """Returns once the rows are in the tables.

        Raises:
            RowError: they cannot be.
            TransformError: a transform fails on a record.
            SinkError: the tables are away.
        """
        made = chain.apply(records)
        try:
            self._sink.judge(made)
            self._sink.write(made, ())
            self._sink.commit(self._batches.begin({}))
        except RetriableSinkError:
            raise
        except SinkError as error:
            self._batches.delivered()
            self._begin()
            raise RowError(str(error)) from error
        self._batches.delivered()
