"""Records in quarantine read back, for a replay: what was kept of each, as the chain takes it."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from functools import cached_property
from typing import Any

from cdckit.api.record import Record
from cdckit.api.source import Source, SourceContext
from cdckit.api.state_store import StateStore
from cdckit.connector.connect_json.reader import JsonReader
from cdckit.engine.chain import StepError
from cdckit.engine.config.pipeline import ResolvedPipeline
from cdckit.engine.pipeline import make_source
from cdckit.engine.quarantine.contents import MESSAGE, PIECE, RECORD, WITHHELD, piece_in, record_in
from cdckit.engine.quarantine.store import Quarantined, Stage
from cdckit.engine.quarantine.table_delivery import RowError
from cdckit.errors import DecodeError, TransformError

WAITS = "an earlier change of its key is in quarantine"
"""What is said of a record that stays behind another."""
_NOTHING_KEPT = (
    "its key and value were withheld, as transform '{}' conceals some of them: have its table read again (cdc signal), "
    "and drop it; a transform that fails behind that one has its records kept"
)


class StaysError(Exception):
    """A record stays in quarantine.

    Args:
        stage: where it stops now.
        by: at what.
        reason: what was said there.
    """

    def __init__(self, stage: Stage, by: str, reason: str) -> None:
        super().__init__(reason)
        self.stage: Stage = stage
        self.by = by


class KeptRecords:
    """Reads what was kept; asks the source about what that could not decode.

    Args:
        pipeline: whose they are.
        state: its state.
        stack: closes the source.
    """

    def __init__(self, pipeline: ResolvedPipeline, state: StateStore, stack: ExitStack) -> None:
        self._names = pipeline.serializer.registration.name, pipeline.sink.registration.name
        self._pipeline = pipeline
        self._state = state
        self._stack = stack
        self._reader = JsonReader()

    def content(self, record: Quarantined) -> dict[str, Any]:
        """What was kept of a record.

        Raises:
            StaysError: that is no record, message or event.
        """
        with self.faults(record):
            content: dict[str, Any] = json.loads(record.content)
            form = content["form"]
        if form == WITHHELD:
            raise StaysError(record.stage, record.by, _NOTHING_KEPT.format(content.get("behind")))
        if form not in (MESSAGE, RECORD, PIECE):
            raise StaysError(record.stage, record.by, "it did not fit its schemas, and only a text was kept of it")
        return content

    def records(self, content: dict[str, Any], record: Quarantined) -> Sequence[Record]:
        """The records that a content holds; raises within `faults`."""
        if content["form"] == PIECE:
            return self._decoded(content, record)
        return [record_in(content, record.position, self._reader)]

    @contextmanager
    def faults(self, record: Quarantined) -> Iterator[None]:
        """What fails on a record keeps it where it is.

        Raises:
            StaysError: it does.
        """
        try:
            yield
        except StepError as error:
            raise StaysError("transform", error.step, str(error)) from error
        except TransformError as error:
            raise StaysError("serialize", self._names[0], str(error)) from error
        except RowError as error:
            raise StaysError("write", self._names[1], str(error)) from error
        except (DecodeError, ValueError, KeyError, TypeError) as error:
            raise StaysError(record.stage, record.by, f"what was kept of it cannot be read: {error}") from error

    def _decoded(self, content: dict[str, Any], record: Quarantined) -> Sequence[Record]:
        piece = piece_in(content, record.position, record.reason)
        try:
            return self._source.decoded(piece)
        except DecodeError as error:
            raise StaysError("decode", self._pipeline.source.registration.name, str(error)) from error

    @cached_property
    def _source(self) -> Source:
        source = make_source(self._pipeline)
        self._stack.callback(source.close)
        source.open(SourceContext(self._pipeline.name, self._state))
        return source
