"""The ledger of a run: made where the pipeline keeps one, forgotten where it does not any more."""

from __future__ import annotations

from cdckit.api.record import Offset
from cdckit.api.source import Source
from cdckit.api.state_store import StateStore
from cdckit.engine.config.pipeline import ResolvedPipeline
from cdckit.engine.ledger.kept import Writable, read_head
from cdckit.engine.ledger.layouts import Layouts, message_layouts, table_layouts
from cdckit.engine.ledger.ledger import Ledger, form_of
from cdckit.engine.ledger.record_rows import Log, RecordLedger
from cdckit.engine.ledger.row_form import digest
from cdckit.engine.ledger.split_ledger import SplitLedger
from cdckit.engine.ledger.task_rows import TaskRows
from cdckit.engine.ledger.window import KeyedRows
from cdckit.engine.pipeline import Encoder
from cdckit.engine.serializers.avro.config import AvroConfig
from cdckit.engine.serializers.json import JsonSerializer
from cdckit.engine.serializers.json_config import JsonConfig
from cdckit.engine.state.made_for import MadeFor


def ledger_of(pipeline: ResolvedPipeline, encoder: Encoder, state: StateStore, source: Source | None = None) -> Ledger:
    """The ledger, which takes the texts of rows from the encoder's serializer where it can, else from the records.

    Raises:
        StateError: what is kept of it is damaged.
    """
    config, serializer = pipeline.source_config, encoder.serializer
    lists, saved = MadeFor.of(pipeline).lists, state.load_offset()
    overlaps = config.snapshot_overlaps or _known_by_keys(state, saved)
    if isinstance(serializer, JsonSerializer) and not overlaps:
        rows = serializer.noting_rows(lambda schema: form_of(schema).of_text, digest)
        return Ledger(rows, state, saved, lists, config.rows_left_out)
    log = source if overlaps else None
    keyed = KeyedRows(pipeline.folder)
    ledger = RecordLedger(state, saved, lists, config.rows_left_out, _layouts(pipeline, tables=False), keyed, log)
    encoder.tap = ledger.take_records
    return ledger


def _known_by_keys(state: Writable, saved: Offset | None) -> bool:
    """Whether rows are known by their keys: a snapshot on Spark is not followed to its end yet."""
    head = read_head(state)
    place = None if head is None else head.place(saved)
    return place is not None and bool(place.window[0])


def _layouts(pipeline: ResolvedPipeline, *, tables: bool) -> Layouts:
    return table_layouts() if tables else message_layouts(defaults=_defaults(pipeline))


def _defaults(pipeline: ResolvedPipeline) -> bool:
    """Whether messages have a column's default where it is null."""
    config = pipeline.serializer.config
    if isinstance(config, AvroConfig):
        return not config.ignore_default_for_nullables
    return not isinstance(config, JsonConfig) or config.replace_null_with_default


def table_ledger_of(pipeline: ResolvedPipeline, state: StateStore, source: Source, *, mirrors: bool) -> RecordLedger:
    """The ledger of a pipeline whose sink keeps tables, which takes its rows from the records.

    Raises:
        StateError: what is kept of it is damaged.
    """
    lists, left_out = MadeFor.of(pipeline).lists, pipeline.source_config.rows_left_out
    keyed = KeyedRows(pipeline.folder)
    return RecordLedger(state, state.load_offset(), lists, left_out, table_layouts(), keyed, source, mirrors=mirrors)


def split_ledger_of(
    pipeline: ResolvedPipeline, state: Writable, log: Log, saved: Offset | None, *, tables: bool, mirrors: bool
) -> SplitLedger:
    """The ledger of a pipeline on Spark, which takes what tasks tell.

    Raises:
        StateError: what is kept of it is damaged.
    """
    lists, left_out = MadeFor.of(pipeline).lists, pipeline.source_config.rows_left_out
    layouts, keyed = _layouts(pipeline, tables=tables), KeyedRows(pipeline.folder)
    return SplitLedger(state, saved, lists, left_out, layouts, keyed, log, mirrors=mirrors)


def task_rows_of(pipeline: ResolvedPipeline, *, tables: bool) -> TaskRows:
    """What takes the rows of tasks."""
    return TaskRows(_layouts(pipeline, tables=tables))
