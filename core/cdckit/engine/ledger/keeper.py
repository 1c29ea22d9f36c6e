"""The ledger of a run: made where the pipeline keeps one, forgotten where it does not any more."""

from __future__ import annotations

from cdckit.api.source import Source
from cdckit.api.state_store import StateStore
from cdckit.engine.config.pipeline import ResolvedPipeline
from cdckit.engine.ledger.layouts import message_layouts, table_layouts
from cdckit.engine.ledger.ledger import Ledger, form_of
from cdckit.engine.ledger.record_rows import RecordLedger
from cdckit.engine.ledger.row_form import digest
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
    if isinstance(serializer, JsonSerializer) and not config.snapshot_overlaps:
        rows = serializer.noting_rows(lambda schema: form_of(schema).of_text, digest)
        return Ledger(rows, state, saved, lists, config.rows_left_out)
    log = source if config.snapshot_overlaps else None
    keyed = KeyedRows(pipeline.folder)
    layouts = message_layouts(defaults=_defaults(pipeline))
    ledger = RecordLedger(state, saved, lists, config.rows_left_out, layouts, keyed, log)
    encoder.tap = ledger.take_records
    return ledger


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
