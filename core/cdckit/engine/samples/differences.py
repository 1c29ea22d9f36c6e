"""What differs between two records: a line for each part, field or type that is gone, and for each that came."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Literal, NamedTuple

import orjson

from cdckit.api.record import POSITION_HEADER
from cdckit.engine.samples.lines import Document

Sign = Literal["-", "+"]
Parts = dict[str, str]
"""The fields of a record by their paths, such as `value.after.id`, each as JSON."""
_SCHEMALESS = {"type": "without schema"}
_OF_SCHEMAS = ("name", "version", "default", "parameters", "doc")


class Difference(NamedTuple):
    """One line of a diff."""

    sign: Sign
    text: str


class Kind(NamedTuple):
    """The type of a field in words, such as `int32 optional`, and the path of what the field is in."""

    text: str
    parent: str


def differences(before: Document, after: Document) -> list[Difference]:
    """What makes `before`, a record's line as a dict, into `after`; nothing where they say the same.

    Types are told where both have schemas, and not of fields that came or went with their values.
    """
    old, new = parts_of(before), parts_of(after)
    old_types, new_types = types_of(before), types_of(after)
    in_both = old_types.keys() & new_types.keys()

    def shown_types(kinds: Mapping[str, Kind], parts: Parts) -> Parts:
        by_value = set(_with_containers(parts))
        shown = (path for path in kinds if path in in_both or (kinds[path].parent in in_both and path not in by_value))
        return {path: kinds[path].text for path in shown}

    types = _changed(shown_types(old_types, old), shown_types(new_types, new), " is ")
    return [*_changed(old, new, ": "), *types]


def _with_containers(parts: Parts) -> Iterator[str]:
    """The paths of fields and of all that they are in."""
    for path in parts:
        yield path
        while "." in path:
            path = path.rpartition(".")[0]  # noqa: PLW2901 - one step further out
            yield path


def _changed(before: Parts, after: Parts, between: str) -> Iterator[Difference]:
    for path in dict.fromkeys((*before, *after)):
        if before.get(path) == after.get(path):
            continue
        if path in before:
            yield Difference("-", f"{path}{between}{before[path]}")
        if path in after:
            yield Difference("+", f"{path}{between}{after[path]}")


def parts_of(document: Document) -> Parts:
    """The fields of those parts of a record that `document` has; the position is none of them."""
    parts: Parts = {}
    for name, part in document.items():
        if name in ("key", "value"):
            parts.update(_fields(name, _payload(part)))
        elif name == "headers":
            for path, value in _headers(part):
                parts.update(_fields(path, _payload(value)))
        elif name != "offset":
            parts.update(_fields(name, part))
    return parts


def types_of(document: Document) -> dict[str, Kind]:
    """The types of all fields of the parts that are written with schemas."""
    named = [(name, document.get(name)) for name in ("key", "value")]
    types: dict[str, Kind] = {}
    for path, part in (*named, *_headers(document.get("headers", ()))):
        if has_schema(part):
            types.update(_types(path, "", part["schema"] or _SCHEMALESS))
    return types


def has_schema(part: Any) -> bool:
    """Whether a key, value or header is written with its schema."""
    return isinstance(part, dict) and part.keys() == {"schema", "payload"}


def _payload(part: Any) -> Any:
    return part["payload"] if has_schema(part) else part


def _headers(headers: Any) -> Iterator[tuple[str, Any]]:
    """Each header with its path; the second one of a name has its number there."""
    seen: dict[str, int] = {}
    for header in headers:
        name = header["key"]
        if name == POSITION_HEADER:
            continue
        seen[name] = seen.get(name, 0) + 1
        yield f"headers.{name}" if seen[name] == 1 else f"headers.{name}[{seen[name] - 1}]", header.get("value")


def _fields(path: str, value: Any) -> Iterator[tuple[str, str]]:
    if isinstance(value, Mapping) and value:
        for name, member in value.items():
            yield from _fields(f"{path}.{name}", member)
    elif isinstance(value, list) and value:
        for at, item in enumerate(value):
            yield from _fields(f"{path}[{at}]", item)
    else:
        yield path, _text(value)


def _text(value: Any) -> str:
    if isinstance(value, float) and value.is_integer():
        value = int(value)  # 1 and 1.0 are one number in JSON
    return orjson.dumps(value).decode() if not isinstance(value, int) or isinstance(value, bool) else str(value)


def _types(path: str, parent: str, schema: Mapping[str, Any]) -> Iterator[tuple[str, Kind]]:
    facts = [f"{name} {_text(schema[name])}" for name in _OF_SCHEMAS if schema.get(name) not in (None, {})]
    text = " ".join([schema["type"], *(["optional"] if schema.get("optional") else []), *facts])
    yield path, Kind(text, parent)
    for member in schema.get("fields") or ():
        yield from _types(f"{path}.{member['field']}", path, member)
    for inner in ("keys", "items", "values"):
        if isinstance(schema.get(inner), Mapping):
            yield from _types(f"{path}[{inner}]", path, schema[inner])
