"""The ledger of a run: made where the pipeline keeps one, forgotten where it does not any more."""

from __future__ import annotations

from cdckit.api.state_store import StateStore
from cdckit.engine.config.pipeline import ResolvedPipeline
from cdckit.engine.ledger.ledger import Ledger, form_of
from cdckit.engine.ledger.row_form import digest
from cdckit.engine.pipeline import Encoder
from cdckit.engine.serializers.json import JsonSerializer
from cdckit.engine.state.made_for import MadeFor


def ledger_of(pipeline: ResolvedPipeline, encoder: Encoder, state: StateStore) -> Ledger:
    """The ledger, which takes the texts of rows from the encoder's serializer.

    Raises:
        StateError: what is kept of it is damaged.
    """
    assert isinstance(encoder.serializer, JsonSerializer)  # the pipeline would not have been loaded otherwise
    rows = encoder.serializer.noting_rows(lambda schema: form_of(schema).of_text, digest)
    config = pipeline.source_config
    return Ledger(rows, state, state.load_offset(), MadeFor.of(pipeline).lists, config.rows_left_out)
