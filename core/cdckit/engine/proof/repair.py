"""Rows that differ, read again: an incremental snapshot of their keys alone, which a signal asks the pipeline for."""

from __future__ import annotations

import json
import uuid
from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Any

from cdckit.connector.signals.inbox import leave
from cdckit.connector.signals.options import SignalOptions
from cdckit.connector.signals.signal import EXECUTE_SNAPSHOT, Signal
from cdckit.engine.config.pipeline import ResolvedPipeline
from cdckit.engine.metrics.status import pipeline_status
from cdckit.engine.proof.report import Difference, TableProof
from cdckit.engine.state.place import StatePlace
from cdckit.errors import ConfigError, StateError

_KEYS = 100
"""Of so many rows one signal asks for."""
_RESNAPSHOT = "`cdc resnapshot` has the whole table read again"


class Repair:
    """Asks one pipeline for rows.

    Args:
        pipeline: the pipeline, which runs in another process.
    """

    def __init__(self, pipeline: ResolvedPipeline) -> None:
        self._pipeline = pipeline

    def ask(self, table: TableProof) -> str | None:
        """Asks for the rows of a table that are missing or changed, as far as they are known; None: it did.

        Returns:
            Why it cannot, and what to do instead.

        Raises:
            StateError: the signal cannot be left.
        """
        why = self._why_not(table)
        if why is not None:
            return why
        wanted = (json.loads(one.key) for one in table.differences if _is_mended(one))
        try:
            conditions = [self._pipeline.source_config.rows_with(keys) for keys in _portions(wanted)]
        except ConfigError as error:
            return f"{error}; {_RESNAPSHOT}"
        for condition in conditions:
            self._leave(table.table, condition)
        return None

    def _why_not(self, table: TableProof) -> str | None:
        config = self._pipeline.source.config
        if not any(map(_is_mended, table.differences)):
            return f"reading again takes no row away that the source does not have, and no double; {_RESNAPSHOT}"
        if not table.plain_key:
            return f"its key is not of plain numbers and texts, or several tables share its topic; {_RESNAPSHOT}"
        if not isinstance(config, SignalOptions) or "in-process" not in config.channels:
            return f"source.signal.enabled.channels should name in-process, by which rows are asked for; {_RESNAPSHOT}"
        if pipeline_status(StatePlace.of(self._pipeline)).state != "running":
            return "the pipeline does not run, and takes no signal: start it, and repair again"
        return None

    def _leave(self, table: str, condition: str) -> None:
        data = {
            "type": "incremental",
            "data-collections": [table],
            "additional-conditions": [{"data-collection": table, "filter": condition}],
        }
        try:
            leave(self._pipeline.folder, Signal(f"diff-{uuid.uuid4()}", EXECUTE_SNAPSHOT, data))
        except OSError as error:
            raise StateError(f"{self._pipeline.folder}: the signal cannot be left there: {error}") from error


def _is_mended(one: Difference) -> bool:
    return one.fault in ("missing", "changed")


def _portions(keys: Iterator[dict[str, Any]]) -> Iterator[Sequence[dict[str, Any]]]:
    while portion := list(islice(keys, _KEYS)):
        yield portion
