"""ExtractNewDocumentState: of a MongoDB change event, the document as it is after the change, with its types.

Debezium's transform of that name; values and schemas are found anew for each document, since collections have none.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from cdckit import STRING, Datum, Header, Record, Schema, Stored, Struct, Transform
from cdckit.connector.avro_names import schema_names
from cdckit.connector.envelope import is_envelope
from cdckit_transforms.document_schemas import DocumentReader, Typed, flattened, parse
from cdckit_transforms.envelope import AFTER, BEFORE, DELETE, OPERATION, SOURCE, Holes, Layouts, is_null
from cdckit_transforms.extract_new_document_state_config import ExtractNewDocumentStateConfig
from cdckit_transforms.field_reference import Extract, FieldReference, parse_references
from cdckit_transforms.old_documents import OldDocumentReader

DELETED = "__deleted"
_ID = "_id"
_UPDATE = "updateDescription"
_PATCH = "patch"
_ENVELOPE = ".Envelope"
_OF_COLLECTION = "extract_new_document_state.collection"


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
        read = OldDocumentReader if config.is_old else DocumentReader
        self._reader = read(config.array_encoding, config.field_names)
        self._fields = (*_of_the_source(config), *parse_references(config.add_fields, config.add_fields_prefix))
        self._headers = parse_references(config.add_headers, config.add_headers_prefix)
        self._tells_operation = config.operation_header and not self._headers
        self._adds_id = config.delete_tombstone_handling_mode_rewrite_with_id and not config.is_old
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
        if deleted and self._handling.deletes == "drop":
            return None
        if self._handling.rewrites:
            document[DELETED] = deleted
            if self._adds_id:
                document.setdefault(_ID, parse(key["id"]))
        headers = _operation(value[OPERATION]) if self._tells_operation else _headers(envelope.headers, value)
        made = None if deleted and not self._handling.rewrites else self._made(document, value, envelope)
        return record.replace(key=self._key(key), value=made, headers=record.headers + headers)

    def _made(self, document: dict[str, Any], value: Struct, envelope: _Envelope) -> Struct:
        """The document with what is added to it."""
        members = self._reader.members(document, envelope.name)
        for (name, schema), found in zip(envelope.fields.members, envelope.fields.values(value), strict=True):
            members[name] = Typed(schema, found)
        made = self._reader.struct(members, envelope.name, optional=False)
        return self._flat(_of_collection(made, value[SOURCE]))

    def _document(self, key: Struct, value: Struct) -> tuple[dict[str, Any], bool]:
        """What stands for the document, and whether it is deleted."""
        after = value[AFTER]
        if after is not None:
            return parse(after), False
        if self._config.is_old:
            patch = value.get(_PATCH)
            return ({}, True) if patch is None else (self._patched(key, patch), False)
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
        return self._identified(key, document)

    def _patched(self, key: Struct, patch: str) -> dict[str, Any]:
        """What the oplog told Debezium 1 of an update: operators, or the document that replaced another."""
        told = parse(patch)
        if "$set" not in told and "$unset" not in told:
            return self._identified(key, told)
        removed = (name for name, truth in told.get("$unset", {}).items() if truth)
        return self._identified(key, {**told.get("$set", {}), **dict.fromkeys(removed)})

    def _identified(self, key: Struct, document: dict[str, Any]) -> dict[str, Any]:
        """What was changed, with the document's identifier."""
        document.setdefault(_ID, parse(key["id"]))
        if self._config.flatten_struct:
            return {name.replace(".", self._config.flatten_struct_delimiter): one for name, one in document.items()}
        return document

    def _key(self, key: Struct) -> Struct:
        """The identifier with its type; Debezium names the struct of one that is a document `null.id`."""
        members = {"id": self._reader.value(parse(key["id"]), "null.id")}
        if len(key.values) > 1:  # ByLogicalTableRouter has added a field
            members |= {
                field.name: Typed(field.schema, key.values[field.index])
                for field in key.schema.fields
                if field.name != "id"
            }
        return self._reader.struct(members, None, optional=False)

    def _flat(self, struct: Struct) -> Struct:
        return flattened(struct, self._config.flatten_struct_delimiter) if self._config.flatten_struct else struct

    def _tombstone(self, record: Record, key: Struct) -> Record | None:
        if not self._handling.keeps_tombstones:
            return None
        told = tuple(Header(r.new_name, DELETE, STRING) for r in self._headers if r.name == OPERATION)
        if self._tells_operation:
            told = _operation(DELETE)
        return record.replace(key=self._key(key), headers=record.headers + told)

    def _envelope(self, schema: Schema, holes: Holes) -> _Envelope | None:
        if not is_envelope(schema) or AFTER not in schema.index or schema.name is None:
            return None
        fields, headers = (Extract(references, schema, holes) for references in (self._fields, self._headers))
        parts = schema.name.removesuffix(_ENVELOPE).split(".")
        return _Envelope(".".join(map(schema_names(self._config.schema_names), parts)), fields, headers)


def _of_collection(document: Struct, source: Struct) -> Struct:
    """A document whose schema tells sinks that keep tables which collection it is of, made once for each schema."""
    known: dict[str, Schema] = document.schema.derived.setdefault(_OF_COLLECTION, {})
    table = f"{source.get('db')}.{source.get('collection')}"
    schema = known.get(table)
    if schema is None:
        schema = known[table] = document.schema.replace(stored=Stored(table=table))
    return Struct(schema, document.values)


def _of_the_source(config: ExtractNewDocumentStateConfig) -> tuple[FieldReference, ...]:
    """What `add.source.fields` names."""
    given = parse_references(config.add_source_fields, config.add_fields_prefix)
    return tuple(replace(reference, parent=SOURCE, optional=False) for reference in given)


def _operation(operation: str) -> tuple[Header, ...]:
    """What `operation.header` asks for."""
    return (Header("__op", operation, STRING),)


def _headers(headers: Extract, value: Struct) -> tuple[Header, ...]:
    if not headers.members:
        return ()
    return tuple(
        Header(name, found, schema)
        for (name, schema), found in zip(headers.members, headers.values(value), strict=True)
    )


def _is_of_a_document(key: Datum | None) -> bool:
    """Whether a record is one of a collection: its key's schema says so."""
    return isinstance(key, Struct) and key.schema.name is not None and key.schema.name.endswith(".Key")
