"""The records of one collection: schemas made once, and documents and change events turned into records."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

from bson import Timestamp

from cdckit import Header, Record, Struct, Template, TemplateStruct
from cdckit.connector.avro_names import schema_names
from cdckit.connector.context_headers import context_headers
from cdckit.connector.envelope import key_change
from cdckit.connector.topic_owners import TopicOwners
from cdckit.connector.topics import Topics
from cdckit_mongodb.config import MongoDbConfig
from cdckit_mongodb.events.formats import EventFormat, event_format
from cdckit_mongodb.events.schemas import key_schema
from cdckit_mongodb.extended_json import wall_time_ms
from cdckit_mongodb.field_paths import FieldEdits, parse_exclusions, parse_renames
from cdckit_mongodb.offsets import Moment, snapshot_positions

SnapshotMark = Literal["true", "last", "incremental"]
Document = dict[str, Any]


@dataclass(slots=True)
class Session:
    """The session and transaction that an event is of.

    Attributes:
        lsid: the session's id as text.
        number: the transaction's number in it.
    """

    lsid: str
    number: int

    @property
    def identifier(self) -> str:
        """The transaction's id in events."""
        return f"{self.lsid}:{self.number}"


class CollectionEvents:
    """Makes the records of one collection.

    Args:
        database: its database.
        collection: its name there.
        topic: where the records go.
        config: the source's options.
        made: the format of its events.
        headers: those of every record.
        edits: what is done to its documents, or None.
        key_mark: the name and the value of a field behind the key's `id`, the same for all documents; or None.
    """

    def __init__(
        self,
        database: str,
        collection: str,
        topic: str,
        config: MongoDbConfig,
        made: EventFormat,
        headers: tuple[Header, ...],
        edits: FieldEdits | None,
        key_mark: tuple[str, str] | None,
    ) -> None:
        self.name = f"{database}.{collection}"
        self.topic = topic
        self._names = (database, collection)
        self._format = made
        self._headers = headers
        self._edits = edits
        self._text = made.compact.document
        self._identifier = made.identifier.value
        self._tombstones = config.tombstones_on_delete
        adjusted = schema_names(config.schema_name_adjustment_mode)
        self._mark = () if key_mark is None else (key_mark[1],)
        self._key_schema = key_schema(adjusted(f"{topic}.Key"), key_mark and key_mark[0])
        self._envelope = made.envelope_schema(adjusted(f"{topic}.Envelope"))
        self._templates = {
            operation: made.template(self._envelope, (database, collection), operation) for operation in "cud"
        }

    @property
    def hides_fields(self) -> bool:
        """Whether fields of its documents are left out or renamed."""
        return self._edits is not None

    def reads(
        self, documents: Sequence[Document], moment: Moment, first_row: int, mark: SnapshotMark = "true"
    ) -> list[Record]:
        """The records of documents that a snapshot found.

        Args:
            documents: as they were found.
            moment: the cluster time that the snapshot counts from.
            first_row: the number of the first one in the whole snapshot.
            mark: what `source.snapshot` says of them.
        """
        return self.placed(documents, moment, snapshot_positions(moment, first_row, len(documents)), mark)

    def placed(
        self, documents: Sequence[Document], moment: Moment, positions: Sequence[str], mark: SnapshotMark = "true"
    ) -> list[Record]:
        """The same of documents whose positions are given."""
        now = time.time_ns()
        now_ms = now // 1_000_000
        form = self._format
        source = form.snapshot_source(self._names, now, mark, Timestamp(*moment))
        template = Template(self._envelope, form.envelope(None, None, None, source, "r", now_ms, None), (form.after,))
        schema, topic, headers, identifier = self._key_schema, self.topic, self._headers, self._identifier
        told = self._mark
        keys = [Struct(schema, (identifier(document["_id"]), *told)) for document in documents]
        if self._edits is not None:
            documents = [self._edits.document(document) for document in documents]
        text = self._text
        return [
            Record(
                topic,
                key,
                TemplateStruct(template, (text(document),)),
                headers,
                position,
                now_ms,
            )
            for key, document, position in zip(keys, documents, positions, strict=True)
        ]

    def change(
        self, event: Document, operation: str, prefix: str, session: Session | None, block: Struct | None
    ) -> list[Record]:
        """The records of a change event: one, or a delete's and its tombstone.

        A document may be replaced by one whose `_id` is equal for the server and written otherwise, such as 4 by 4.0:
        that is a change of its key, with a delete, its tombstone and a create.

        Args:
            event: as the stream has it.
            operation: `c`, `u` or `d`.
            prefix: what the positions of its records begin with.
            session: the transaction that it is of, or None.
            block: the transaction block, or None.
        """
        now_ms = time.time_ns() // 1_000_000
        key = self._key(event["documentKey"]["_id"])
        if operation == "u" and event["operationType"] == "replace":
            new = self._new_key(event)
            if new is not None and new != key:
                return self._rekeyed(event, (key, new), prefix, now_ms, session, block)
        record = Record(
            self.topic, key, self._value(event, operation, now_ms, session, block), self._headers, f"{prefix}2", now_ms
        )
        if operation == "d" and self._tombstones:
            return [record, Record(self.topic, key, None, self._headers, f"{prefix}3", now_ms)]
        return [record]

    def _rekeyed(
        self,
        event: Document,
        keys: tuple[Struct, Struct],
        prefix: str,
        now_ms: int,
        session: Session | None,
        block: Struct | None,
    ) -> list[Record]:
        """The records of a document whose `_id` is written otherwise from now on."""
        gone = {name: told for name, told in event.items() if name != "fullDocument"}
        come = {name: told for name, told in event.items() if name != "fullDocumentBeforeChange"}
        values = (self._value(gone, "d", now_ms, session, block), self._value(come, "c", now_ms, session, block))
        positions = (f"{prefix}2", f"{prefix}3", f"{prefix}31")  # 4 is the end of the transaction
        return key_change(self.topic, keys, values, self._headers, positions, now_ms, tombstones=self._tombstones)

    def _new_key(self, event: Document) -> Struct | None:
        """The key of the document that came in the place of another; None where the event does not tell its `_id`."""
        document = event.get("fullDocument")
        if document is None or "_id" not in document:  # left out by a stage of cursor.pipeline
            return None
        return self._key(document["_id"])

    def _key(self, identifier: Any) -> Struct:
        return Struct(self._key_schema, (self._identifier(identifier), *self._mark))

    def _value(
        self, event: Document, operation: str, now_ms: int, session: Session | None, block: Struct | None
    ) -> Struct:
        """The envelope of a change."""
        after = self._document(event.get("fullDocument"))
        update = self._description(event["updateDescription"]) if "updateDescription" in event else None
        template = self._templates[operation]
        if template is None or session is not None or "wallTime" not in event or "fullDocumentBeforeChange" in event:
            before = self._document(event.get("fullDocumentBeforeChange"))
            rest = (self._source(event, session), operation, now_ms, block)
            return Struct(self._envelope, self._format.envelope(before, after, update, *rest))
        ms = wall_time_ms(event["wallTime"])
        order = event["clusterTime"].inc
        return TemplateStruct(template, (after, update, ms, ms * 1000, ms * 1_000_000, order, ms, now_ms))

    def _document(self, document: Document | None) -> str | None:
        if document is None:
            return None
        return self._text(document if self._edits is None else self._edits.document(document))

    def _source(self, event: Document, session: Session | None) -> Struct:
        wall = event.get("wallTime")
        lsid, number = (None, None) if session is None else (session.lsid, session.number)
        return self._format.stream_source(
            self._names, event["clusterTime"], None if wall is None else wall_time_ms(wall), lsid, number
        )

    def _description(self, description: Document) -> Struct:
        """What an update has changed; lists of nothing are null."""
        updated, removed = description.get("updatedFields"), description.get("removedFields")
        if self._edits is not None:
            updated = None if updated is None else self._edits.updated(updated)
            removed = self._edits.named(removed or ())
        truncated = [
            Struct(self._format.truncated, (name, one["newSize"]))
            for one in description.get("truncatedArrays") or ()
            for name in (self._edits.named([one["field"]]) if self._edits else [one["field"]])
        ]
        text = None if updated is None else self._format.spaced.document(updated)
        return Struct(self._format.update, (removed or None, text, truncated or None))


class Collections:
    """Makes and keeps what makes the records of each collection of one source."""

    def __init__(self, config: MongoDbConfig) -> None:
        self.topics = Topics(config, config.topic_prefix)
        self._config = config
        self.format = event_format(config)
        told = config.extended_headers_enabled and self.format.has_context_headers
        self._headers = context_headers(config.topic_prefix, config.connector) if told else ()
        self._paths = [*parse_exclusions(config.field_exclude_list), *parse_renames(config.field_renames)]
        self._known: dict[tuple[str, str], CollectionEvents] = {}
        self._owners = TopicOwners("merge" if self.topics.shared else config.topic_collisions)

    def taken(self, database: str, collection: str) -> str:
        """A collection's topic, which is no other one's.

        Raises:
            ConfigError: another collection has it.
        """
        topic = self.topics.data((database, collection))
        self._owners.take(topic, f"{database}.{collection}")
        return topic

    def of(self, database: str, collection: str) -> CollectionEvents:
        """What makes a collection's records."""
        made = self._known.get((database, collection))
        if made is None:
            topic = self.taken(database, collection)
            edits = FieldEdits.of(f"{database}.{collection}", self._paths)
            mark = self.topics.key_mark((database, collection))
            made = CollectionEvents(database, collection, topic, self._config, self.format, self._headers, edits, mark)
            self._known[database, collection] = made
        return made
