"""Avro schemas that refer to others of the registry: made into one."""

from __future__ import annotations

from collections.abc import Iterable

from cdckit.engine.serializers.registered import Written

_INNER = ("type", "items", "values")


def whole(written: Written, others: Iterable[Written]) -> Written:
    """A schema with the definitions of others in the place of their first mention."""
    definitions: dict[str, Written] = {}
    for other in others:
        _collect(other, None, definitions)
    return _joined(written, None, definitions)


def _full(name: str, space: str | None) -> str:
    return name if "." in name or not space else f"{space}.{name}"


def _space(written: Written, space: str | None) -> str | None:
    """In which namespace the names within a schema stand."""
    if "name" not in written:
        return space
    return _full(written["name"], written.get("namespace", space)).rpartition(".")[0]


def _collect(written: Written, space: str | None, definitions: dict[str, Written]) -> None:
    """Every named schema, with its namespace told in it."""
    if isinstance(written, list):
        for branch in written:
            _collect(branch, space, definitions)
    elif isinstance(written, dict):
        inside = _space(written, space)
        if "name" in written:
            definitions.setdefault(_full(written["name"], inside), {**written, "namespace": inside or ""})
        for inner in (*(written.get(key) for key in _INNER), *(one["type"] for one in written.get("fields", ()))):
            _collect(inner, inside, definitions)


def _joined(written: Written, space: str | None, definitions: dict[str, Written]) -> Written:
    if isinstance(written, list):
        return [_joined(branch, space, definitions) for branch in written]
    if isinstance(written, str):
        found = definitions.pop(_full(written, space), None)
        return written if found is None else _joined(found, None, definitions)
    inside = _space(written, space)
    if "name" in written:
        definitions.pop(_full(written["name"], inside), None)
    made = {**written, **{key: _joined(written[key], inside, definitions) for key in _INNER if key in written}}
    if "fields" in written:
        made["fields"] = [{**one, "type": _joined(one["type"], inside, definitions)} for one in written["fields"]]
    return made
