"""References to an envelope's fields, as `add.fields` and `add.headers` hold them.

Debezium's documentation, "New Record State Extraction", has the syntax: `op,table,source.ts_ms:EVENT_TIME`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any

from pydantic import AfterValidator, BeforeValidator

from cdckit import Path, Schema, Struct, TemplateStruct
from cdckit_transforms.envelope import OPERATION, SOURCE, TRANSACTION, Get, Holes, getter

_OF_THE_ENVELOPE = (OPERATION, "ts_ms", "ts_us", "ts_ns")
_OF_THE_TRANSACTION = ("id", "total_order", "data_collection_order")
_UPDATE_DESCRIPTION = "updateDescription"

MISSING = object()
"""Stands for a field that an envelope does not have."""


@dataclass(frozen=True, slots=True)
class FieldReference:
    """One field of an envelope under a new name.

    Attributes:
        parent: the struct that holds it; None: the envelope itself.
        name: the field's name there.
        new_name: what it is called where it is put.
        optional: whether it may be missing there, whatever its schema says here.
    """

    parent: str | None
    name: str
    new_name: str
    optional: bool = True

    @classmethod
    def parse(cls, text: str, prefix: str) -> FieldReference:
        """The reference that `field`, `struct.field`, or one of them with `:NEW_NAME` means.

        Raises:
            ValueError: it is none of them.
        """
        place, *new_names = text.split(":")
        parent, _, name = place.rpartition(".")
        if not name or "." in parent or len(new_names) > 1 or new_names == [""]:
            raise ValueError(f"'{text}' should be field, struct.field, or one of them with :NEW_NAME")
        derived = f"{parent}_{name}" if parent else name
        return cls(parent or _parent_of(name), name, prefix + (new_names[0] if new_names else derived))

    def path(self, schema: Schema) -> Path | None:
        """Where the field stands in envelopes of a schema; None where they have none.

        A field that its struct lacks may be the envelope's own: another transform can have put it there.
        """
        if self.parent in schema.index:
            parent = schema.index[self.parent]
            inner = schema.fields[parent].schema.index.get(self.name)
            if inner is not None:
                return parent, inner
        at = schema.index.get(self.name)
        return None if at is None else (at,)

    def look_up(self, envelope: Mapping[str, Any]) -> Any:
        """The field's value in an envelope without a schema, or `MISSING`."""
        if self.parent is not None and self.parent in envelope:
            parent = envelope[self.parent]
            if parent is None:
                return None
            if isinstance(parent, Mapping) and self.name in parent:
                return parent[self.name]
        return envelope.get(self.name, MISSING)


def _parent_of(name: str) -> str | None:
    """The struct that a field without one is looked for in."""
    if name in _OF_THE_ENVELOPE:
        return None
    if name in _OF_THE_TRANSACTION:
        return TRANSACTION
    return name if name == _UPDATE_DESCRIPTION else SOURCE


def parse_references(text: str, prefix: str = "") -> tuple[FieldReference, ...]:
    """The references of a comma-separated list.

    Raises:
        ValueError: an item is none.
    """
    return tuple(FieldReference.parse(item.strip(), prefix) for item in text.split(",") if item.strip())


def _joined(value: Any) -> Any:
    return ",".join(map(str, value)) if isinstance(value, (list, tuple)) else value


def _checked(text: str) -> str:
    parse_references(text)
    return text


References = Annotated[str, BeforeValidator(_joined), AfterValidator(_checked)]
"""An option that holds a list of references, as a text or as a YAML list."""


class Extract:
    """Takes the referenced fields out of envelopes of one schema and one template's holes.

    Attributes:
        members: the new name and the schema of each field that such envelopes have, in order.
    """

    def __init__(self, references: Sequence[FieldReference], schema: Schema, holes: Holes) -> None:
        found = [(r, path) for r in references if (path := r.path(schema)) is not None]
        self.members = tuple((r.new_name, _schema_at(schema, path, optional=r.optional)) for r, path in found)
        self._getters: tuple[Get, ...] = tuple(getter(path, holes) for _, path in found)
        self._shared = bool(holes) and not any(_meet(path, hole) for _, path in found for hole in holes)
        self._template: object = None
        self._values: tuple[Any, ...] = ()

    @property
    def is_shared(self) -> bool:
        """Whether all envelopes of a template have the same values."""
        return self._shared or not self._getters

    def values(self, envelope: Struct) -> tuple[Any, ...]:
        """The fields' values; taken once for a template where all of them are the template's."""
        if not self._getters:
            return ()
        if not self._shared or not isinstance(envelope, TemplateStruct):
            return tuple([get(envelope) for get in self._getters])
        if envelope.template is not self._template:
            self._values = tuple([get(envelope) for get in self._getters])
            self._template = envelope.template
        return self._values


def _meet(path: Path, hole: Path) -> bool:
    """Whether what stands at `path` depends on what fills the hole."""
    shorter = min(len(path), len(hole))
    return path[:shorter] == hole[:shorter]


def _schema_at(schema: Schema, path: Path, *, optional: bool) -> Schema:
    """The schema of what stands at `path`; one that may be missing has no default."""
    for at in path:
        schema = schema.fields[at].schema
    return schema.replace(optional=True, default=None) if optional else schema
