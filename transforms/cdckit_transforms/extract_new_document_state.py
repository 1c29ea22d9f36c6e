"""ExtractNewDocumentState: of a MongoDB change event, the document as it is after the change, with its types.

Debezium's transform of that name; values and schemas are found anew for each document, since collections have none.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from cdckit.envelope import is_envelope
from cdckit.record import Datum, Header, Record
from cdckit.schema import OPTIONAL_BOOLEAN, STRING, Schema
from cdckit.struct import Struct
from cdckit.transform import Transform
from cdckit_transforms.document_schemas import DocumentReader, Typed, flattened, parse
from cdckit_transforms.envelope import AFTER, BEFORE, DELETE, OPERATION, Holes, Layouts, is_null
from cdckit_transforms.extract_new_document_state_config import ExtractNewDocumentStateConfig
from cdckit_transforms.field_reference import Extract, parse_references

DELETED = "__deleted"
_ID = "_id"
_UPDATE = "updateDescription"
_ENVELOPE = ".Envelope"


@dataclass(frozen=True, slots=True)
class _Envelope:
    """What is known of envelopes of one schema.

    Attributes:
        name: the name of the document's schema.
        fields: what is added to documents.
        headers: what is added to headers.
    """

    name: str
    fields: Extract
    headers: Extract


class ExtractNewDocumentState(Transform):
    """Puts the document in the envelope's place; what is no envelope (transactions, heartbeats) passes unchanged."""

    def __init__(self, config: ExtractNewDocumentStateConfig) -> None:
        self._config = config
        self._handling = config.handling
        self._reader = DocumentReader(config.array_encoding)
        self._fields = parse_references(config.add_fields, config.add_fields_prefix)
        self._headers = parse_references(config.add_headers, config.add_headers_prefix)
        self._layouts = Layouts(self._envelope)

    def apply(self, record: Record) -> Record | None:
        """The record with its document, or None where nothing of it stays.

        Raises:
            TransformError: an array holds values of different types.
        """
        if not _is_of_a_document(record.key):
            return record
        assert isinstance(record.key, Struct)
        if is_null(record.value):
            return self._tombstone(record, record.key)
        value = record.value
        envelope = self._layouts.of(value) if isinstance(value, Struct) else None
        if envelope is None:
            return record
        assert isinstance(value, Struct)
        return self._changed(record, record.key, value, envelope)

    def _changed(self, record: Record, key: Struct, value: Struct, envelope: _Envelope) -> Record | None:
        document, deleted = self._document(key, value)
        headers = record.headers + _told(envelope.headers, value)
        made: Struct | None = None
        if deleted and self._handling.deletes == "drop":
            return None
        if not deleted or self._handling.rewrites:
            members = self._reader.members(document, envelope.name)
            if self._handling.rewrites:
                members[DELETED] = Typed(OPTIONAL_BOOLEAN, deleted)
                if deleted and self._config.delete_tombstone_handling_mode_rewrite_with_id and _ID not in members:
                    members[_ID] = self._reader.value(parse(key["id"]), f"{envelope.name}.{_ID}")
            for (name, schema), found in zip(envelope.fields.members, envelope.fields.values(value), strict=True):
                members[name] = Typed(schema, found)
            made = self._flat(self._reader.struct(members, envelope.name, optional=False))
        return record.replace(key=self._key(key), value=made, headers=headers)

    def _document(self, key: Struct, value: Struct) -> tuple[dict[str, Any], bool]:
        """What stands for the document, and whether it is deleted."""
        after = value[AFTER]
        if after is not None:
            return parse(after), False
        update = value.get(_UPDATE)
        if update is not None:
            return self._update(key, update), False
        before = value.get(BEFORE)
        return ({} if before is None else parse(before)), True

    def _update(self, key: Struct, update: Struct) -> dict[str, Any]:
        """What an update without a whole document has changed, and the document's identifier."""
        updated = update["updatedFields"]
        document: dict[str, Any] = {} if updated is None else parse(updated)
        for name in update["removedFields"] or ():
            document.pop(name, None)
        document.setdefault(_ID, parse(key["id"]))
        if self._config.flatten_struct:
            return {name.replace(".", self._config.flatten_struct_delimiter): one for name, one in document.items()}
        return document

    def _key(self, key: Struct) -> Struct:
        """The identifier with its type; Debezium names the struct of one that is a document `null.id`."""
        identifier = self._reader.value(parse(key["id"]), "null.id")
        return self._flat(self._reader.struct({"id": identifier}, None, optional=False))

    def _flat(self, struct: Struct) -> Struct:
        return flattened(struct, self._config.flatten_struct_delimiter) if self._config.flatten_struct else struct

    def _tombstone(self, record: Record, key: Struct) -> Record | None:
        if not self._handling.keeps_tombstones:
            return None
        told = tuple(Header(r.new_name, DELETE, STRING) for r in self._headers if r.name == OPERATION)
        return record.replace(key=self._key(key), headers=record.headers + told)

    def _envelope(self, schema: Schema, holes: Holes) -> _Envelope | None:
        if not is_envelope(schema) or AFTER not in schema.index or schema.name is None:
            return None
        fields, headers = (Extract(references, schema, holes) for references in (self._fields, self._headers))
        return _Envelope(schema.name.removesuffix(_ENVELOPE), fields, headers)


def _told(headers: Extract, value: Struct) -> tuple[Header, ...]:
    if not headers.members:
        return ()
    return tuple(
        Header(name, found, schema)
        for (name, schema), found in zip(headers.members, headers.values(value), strict=True)
    )


def _is_of_a_document(key: Datum | None) -> bool:
    """Whether a record is one of a collection: its key's schema says so."""
    return isinstance(key, Struct) and key.schema.name is not None and key.schema.name.endswith(".Key")
