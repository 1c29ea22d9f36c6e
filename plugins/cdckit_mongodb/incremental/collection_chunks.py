"""Reads chunks of collections in the order of `_id`."""

from __future__ import annotations

import json
import logging
from collections.abc import Sequence
from typing import Any

from bson import ObjectId, json_util
from pymongo.errors import OperationFailure
from pymongo.read_concern import ReadConcern

from cdckit.connector.incremental import Chunk, Chunks, UnreadableError, Wanted
from cdckit.connector.signals.signal import one_line
from cdckit_mongodb.captured_collections import captured_names
from cdckit_mongodb.config import MongoDbConfig
from cdckit_mongodb.extended_json import IDENTIFIER
from cdckit_mongodb.filters import Filters
from cdckit_mongodb.incremental.conditions import in_time, refuse_code
from cdckit_mongodb.incremental.session import SnapshotSession
from cdckit_mongodb.queries import why_refused
from cdckit_mongodb.server.connection import CODEC, driver_errors
from cdckit_mongodb.snapshot.collections import Document, identifier, identifier_text

log = logging.getLogger("cdckit.mongodb")

_BAD_VALUE = 2
"""The code of an index that a query is to use and that is not there."""


class CollectionChunks(Chunks[Document]):
    """Reads the captured collections; a key is the `_id` as BSON in hexadecimal.

    Args:
        config: the source's options.
        filters: what is captured.
        session: what is read through.
    """

    def __init__(self, config: MongoDbConfig, filters: Filters, session: SnapshotSession) -> None:
        self._config = config
        self._filters = filters
        self._session = session
        if config.signal_conditions == "free":
            log.warning("signal.conditions=free: whoever may write signals can run code at the server, and hold it up")

    def captured(self) -> Sequence[str]:
        """The collections that there are now, by name."""
        with driver_errors(self._config, "listing the collections to read"):
            names = captured_names(self._session.client, self._config, self._filters)
            return sorted(f"{database}.{name}" for database, name in names)

    def wanted(self, name: str, condition: object, surrogate_key: str | None, *, blocking: bool) -> Wanted:
        """A collection, and a query document as Extended JSON; each document has an `_id`, and needs no other key."""
        if surrogate_key:
            said = "surrogate-key=%s has no meaning: the documents of %s are read in the order of their _id"
            log.warning(said, one_line(surrogate_key), name)
        wanted = Wanted(name, _query(condition))
        query = _parsed(wanted)
        if self._config.signal_conditions == "safe":
            _refuse_code(query)
        refused = why_refused(self._session.client, self._config, name, query) if query else None
        if refused is not None:
            raise ValueError(f"additional-conditions: the filter {wanted.filter} cannot be used: {refused}")
        return wanted

    def last(self, wanted: Wanted) -> str | None:
        """The greatest `_id` now, of what is wanted."""
        collection, session, query = self._collection(wanted), self._session.open(), _parsed(wanted)
        limit = self._limit(wanted)
        with driver_errors(self._config, f"reading the last _id of {wanted.name}"), in_time(wanted.name, limit):
            try:
                newest = collection.find_one(
                    query, {"_id": 1}, sort=[("_id", -1)], hint=[("_id", 1)], session=session, max_time_ms=limit or None
                )
            except OperationFailure as error:
                if error.code != _BAD_VALUE:
                    raise
                raise UnreadableError(
                    'it has no index of _id, as a time series has none; ask for "type": "blocking"', "NO_PRIMARY_KEY"
                ) from error
            return None if newest is None else identifier_text(newest["_id"])

    def read(self, wanted: Wanted, after: str | None, last: str) -> Chunk[Document]:
        """The next documents. Bounds of the index, unlike a condition, compare values of different types."""
        size, session = self._config.incremental_snapshot_chunk_size, self._session.open()
        query, collection, limit = _parsed(wanted), self._collection(wanted), self._limit(wanted)
        with driver_errors(self._config, f"reading a chunk of {wanted.name}"), in_time(wanted.name, limit):
            cursor = collection.find(query, session=session).hint([("_id", 1)]).max(list(identifier(last).items()))
            cursor.max_time_ms(limit or None)
            if after is not None:
                cursor = cursor.min(list(identifier(after).items()))
            found = [one for one in cursor.limit(size + 1) if identifier_text(one["_id"]) != after][:size]
            if len(found) < size:
                found += collection.find(
                    {"$and": [identifier(last), query]}, session=session, max_time_ms=limit or None
                )
                bound = last
            else:
                bound = identifier_text(found[-1]["_id"])
        return Chunk({IDENTIFIER.value(one["_id"]): one for one in found}, bound)

    def _limit(self, wanted: Wanted) -> int:
        """How many milliseconds a query may take, 0 for as many as it takes."""
        return self._config.signal_statement_timeout_ms if wanted.filter else 0

    def text(self, key: str) -> str:
        """The `_id` as events have it; texts and object ids without what marks them as such, as in Debezium."""
        value = identifier(key)["_id"]
        shown: str = str(value) if isinstance(value, str | ObjectId) else IDENTIFIER.value(value)
        return shown

    def _collection(self, wanted: Wanted) -> Any:
        """What a majority of the members has of it.

        Another primary may take the second mark, of which no more is known than that it follows upon the first.
        """
        database, _, name = wanted.name.partition(".")
        return self._session.client[database].get_collection(
            name, codec_options=CODEC, read_concern=ReadConcern("majority")
        )


def _refuse_code(query: Document) -> None:
    try:
        refuse_code(query)
    except ValueError as error:
        raise ValueError(f"additional-conditions: the filter cannot be used: {error}") from error


def _parsed(wanted: Wanted) -> Document:
    """The query of what is wanted."""
    query: Document = json_util.loads(wanted.filter) if wanted.filter else {}
    return query


def _query(given: object) -> str:
    """A condition as the text of a query document.

    Raises:
        ValueError: it is none; Debezium's manual shows SQL, which collections do not understand.
    """
    if given is None:
        return ""
    text = given if isinstance(given, str) else json.dumps(given)
    if not _is_document(text):
        raise ValueError(
            f"additional-conditions: the filter {text!r} should be a query document such as "
            '{"color": "blue"}; a collection has no SQL'
        )
    return text


def _is_document(text: str) -> bool:
    try:
        return isinstance(json_util.loads(text), dict)
    except (ValueError, TypeError, RecursionError):
        return False
