"""Whether what is written by one JSON Schema fits another: types, members and what must be there."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

Other = Mapping[str, Any]
"""Schemas that are referred to, by name."""


def misfit(own: Any, latest: Any, others: Other) -> str | None:
    """Why values of the schema `own` do not fit the registered one, the field first; None where they do.

    Patterns, limits and other words of JSON Schema are not looked at.
    """
    return _Fitting(latest, others).fault(own, latest, "")


class _Fitting:
    def __init__(self, root: Any, others: Other) -> None:
        self._root = root
        self._others = others

    def fault(self, own: Any, latest: Any, at: str) -> str | None:
        latest = self._found(latest)
        if latest is True:
            return None
        if latest is False:
            return f"{at}the registered schema takes no value here"
        if "oneOf" in own:
            return self._first(self.fault(branch, latest, at) for branch in own["oneOf"])
        branches = latest.get("oneOf") or latest.get("anyOf")
        if branches:
            faults = [self.fault(own, branch, at) for branch in branches]
            return None if None in faults else faults[-1]
        return self._types(own, latest, at) or self._members(own, latest, at) or self._items(own, latest, at)

    def _found(self, schema: Any) -> Any:
        """The definition, where this refers to one."""
        name = schema.get("$ref") if isinstance(schema, dict) else None
        if name is None:
            return schema
        if not name.startswith("#"):
            return self._others.get(name, True)
        found = self._root
        for step in name.strip("#/").split("/"):
            found = found.get(step, True) if isinstance(found, dict) and step else found
        return found

    @staticmethod
    def _first(faults: Any) -> str | None:
        return next((one for one in faults if one is not None), None)

    @staticmethod
    def _types(own: Any, latest: Any, at: str) -> str | None:
        if "enum" in own or "enum" in latest:
            return (
                None
                if set(own.get("enum", (None,))) <= set(latest.get("enum", own.get("enum", ())))
                else (f"{at}the registered schema has other symbols")
            )
        wanted = latest.get("type", own["type"])
        kinds = wanted if isinstance(wanted, list) else [wanted]
        if own["type"] in kinds or (own["type"] == "integer" and "number" in kinds):
            return None
        return f"{at}{own['type']} cannot be written as the registered {' or '.join(kinds)}"

    def _members(self, own: Any, latest: Any, at: str) -> str | None:
        if own.get("type") != "object":
            return None
        members, more = latest.get("properties", {}), latest.get("additionalProperties", True)
        told = own.get("properties", {})
        for name, schema in told.items():
            if name not in members and more is False:
                return f"{at}{name}: the registered schema has no such field, and takes no other"
            fault = self.fault(schema, members.get(name, more), f"{at}{name}: ")
            if fault is not None:
                return fault
        lacking = [name for name in latest.get("required", ()) if name not in told]
        if lacking and not isinstance(own.get("additionalProperties"), dict):
            return f"{at}{lacking[0]}: the registered schema wants this field, and there is none"
        any_other = own.get("additionalProperties")
        return self.fault(any_other, more, at) if isinstance(any_other, dict) else None

    def _items(self, own: Any, latest: Any, at: str) -> str | None:
        if own.get("type") != "array" or not isinstance(latest.get("items"), dict):
            return None
        return self.fault(own["items"], latest["items"], at)
