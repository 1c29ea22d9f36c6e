"""Watermarks as documents of the signalling collection."""

from __future__ import annotations

from contextlib import AbstractContextManager

from pymongo import WriteConcern

from cdckit.connector.incremental import CLOSE, OPEN, Watermarks
from cdckit.connector.signals.signal import WINDOW_CLOSE, WINDOW_OPEN
from cdckit_mongodb.config import MongoDbConfig
from cdckit_mongodb.incremental.session import SnapshotSession
from cdckit_mongodb.server.connection import driver_errors
from cdckit_mongodb.server.rights import grant, needed_by_watermarks


class CollectionMarks(Watermarks):
    """Writes the marks into `signal.data.collection`.

    Args:
        config: the source's options.
        session: what is written through.
    """

    def __init__(self, config: MongoDbConfig, session: SnapshotSession) -> None:
        self._config = config
        self._session = session
        self._grant = grant(needed_by_watermarks(config))
        database, _, name = config.signal_data_collection.partition(".")
        self._marks = session.client[database].get_collection(name, write_concern=WriteConcern("majority"))

    def low(self, window: str) -> None:
        """A document."""
        self._insert(window + OPEN, WINDOW_OPEN)

    def high(self, window: str) -> None:
        """Another document; or the first one is deleted."""
        if self._config.incremental_snapshot_watermarking_strategy == "insert_insert":
            self._insert(window + CLOSE, WINDOW_CLOSE)
            return
        with self._writing():
            self._marks.delete_one({"_id": window + OPEN}, session=self._session.open())

    def _insert(self, identifier: str, kind: str) -> None:
        with self._writing():
            self._marks.insert_one({"_id": identifier, "type": kind, "payload": ""}, session=self._session.open())

    def _writing(self) -> AbstractContextManager[None]:
        doing = f"writing a watermark into {self._config.signal_data_collection}"
        return driver_errors(self._config, doing, self._grant)
