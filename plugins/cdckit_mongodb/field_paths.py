"""Fields of documents that are left out or renamed: `field.exclude.list` and `field.renames`."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from cdckit import split_names
from cdckit.java.regex import UserPattern

_COLLECTION_PARTS = 2

Document = dict[str, Any]


@dataclass(frozen=True, slots=True)
class FieldPath:
    """A field of some collections.

    Attributes:
        collection: matches their names (`database.collection`).
        nodes: the field's name at each level of the document.
        new_name: what its last part is called in events; None: it is left out.
    """

    collection: UserPattern
    nodes: tuple[str, ...]
    new_name: str | None = None


def parse_exclusions(text: str) -> list[FieldPath]:
    """The fields in `database.collection.field.nested,…`.

    Raises:
        ValueError: an item names no field.
    """
    return [_path(item, None) for item in split_names(text)]


def parse_renames(text: str) -> list[FieldPath]:
    """The fields and new names in `database.collection.field.nested:name,…`.

    Raises:
        ValueError: an item names no field or no new name.
    """
    paths = []
    for item in split_names(text):
        path, _, name = item.partition(":")
        if not name.strip() or ":" in name:
            raise ValueError(f"'{item}' does not look like database.collection.field:name")
        paths.append(_path(path, name.strip()))
    return paths


def _path(text: str, new_name: str | None) -> FieldPath:
    parts = [part.strip() for part in text.split(".")]
    if len(parts) <= _COLLECTION_PARTS or not all(parts):
        raise ValueError(f"'{text}' does not look like database.collection.field")
    names = (".*".join(map(re.escape, part.split("*"))) for part in parts[:_COLLECTION_PARTS])
    return FieldPath(UserPattern(r"\.".join(names), text, ignore_case=True), tuple(parts[_COLLECTION_PARTS:]), new_name)


class FieldEdits:
    """What is done to the documents of one collection.

    Args:
        paths: the fields concerned.
    """

    def __init__(self, paths: Sequence[FieldPath]) -> None:
        self._paths = paths

    @classmethod
    def of(cls, collection: str, paths: Iterable[FieldPath]) -> FieldEdits | None:
        """The edits for a collection (`database.name`), or None where its documents stay as they are."""
        found = [path for path in paths if path.collection.fullmatch(collection)]
        return cls(found) if found else None

    def document(self, document: Document) -> Document:
        """The document as events show it; the one given is changed in place."""
        for path in self._paths:
            _edit(document, path.nodes, path.new_name)
        return document

    def updated(self, fields: Document) -> Document:
        """The same for `updatedFields`, whose names are paths such as `a.0.b`; renamed ones come last."""
        for path in self._paths:
            kept: Document = {}
            renamed: Document = {}
            for old, given in fields.items():
                for name, value in _updated(old, given, path):
                    (kept if name == old else renamed)[name] = value
            fields = kept | renamed
        return fields

    def named(self, names: Iterable[str]) -> list[str]:
        """The same for names alone, as of `removedFields`; they keep their order."""
        found = list(names)
        for path in self._paths:
            found = [name for old in found for name, _ in _updated(old, None, path)]
        return found


def _edit(document: Document, nodes: tuple[str, ...], new_name: str | None) -> None:
    """Applies a path to a document; the path goes into every document of an array."""
    name, rest = nodes[0], nodes[1:]
    if name not in document:
        return
    if not rest:
        value = document.pop(name)
        if new_name is not None:
            document[new_name] = value
        return
    inner = document[name]
    for one in inner if isinstance(inner, list) else [inner]:
        if isinstance(one, dict):
            _edit(one, rest, new_name)


def _updated(name: str, value: Any, path: FieldPath) -> Iterable[tuple[str, Any]]:
    """What becomes of one updated field; numbers in its name stand for places in arrays."""
    parts = name.split(".")
    places = [at for at, part in enumerate(parts) if at == 0 or not part.isdecimal() or part in path.nodes]
    named = tuple(parts[at] for at in places)
    if named[: len(path.nodes)] == path.nodes:
        if path.new_name is None:
            return ()
        parts[places[len(path.nodes) - 1]] = path.new_name
        return ((".".join(parts), value),)
    if path.nodes[: len(named)] == named:
        for one in value if isinstance(value, list) else [value]:
            if isinstance(one, dict):
                _edit(one, path.nodes[len(named) :], path.new_name)
    return ((name, value),)
