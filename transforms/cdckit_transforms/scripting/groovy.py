"""Groovy, as its version 4 evaluates expressions."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

from cdckit import Header, Schema, Struct
from cdckit_transforms.scripting import texts
from cdckit_transforms.scripting.groovy_methods import METHODS, TAKES
from cdckit_transforms.scripting.groovy_operators import OPERATIONS, number, true
from cdckit_transforms.scripting.language import EvaluationError, Language, exact, kind
from cdckit_transforms.scripting.parser import Grammar

_LEVELS = (
    ("||",),
    ("&&",),
    ("==", "!=", "=~", "==~", "<=>"),
    ("<", "<=", ">", ">=", "in", "!in"),
    ("+", "-"),
    ("*", "/", "%"),
)
_TYPES = ("Struct", "String", "Boolean", "Int8", "Int16", "Int32", "Int64", "Float32", "Float64", "Array", "Map")
_GETTERS = ("get", *(f"get{name}" for name in _TYPES))


class Groovy(Language):
    """Groovy."""

    grammar = Grammar("groovy", _LEVELS, {**TAKES, **dict.fromkeys(_GETTERS, range(1, 2))}, "?:")
    operations = OPERATIONS
    absent = None
    keeps_operands = False
    null_has = frozenset(("toString", "equals"))

    def __init__(self) -> None:
        self.methods = {**METHODS, **dict.fromkeys(_GETTERS, self._get)}

    def true(self, value: Any) -> bool:
        """Whether a value is neither null nor false, 0 or empty."""
        return true(value)

    def member(self, of: Any, name: str) -> Any:
        """A struct's field, a map's member, a header's `value` and `schema`, a schema's `name` and `version`."""
        if isinstance(of, Struct):
            return self.field(of, name)
        if isinstance(of, dict):
            return of.get(name)
        if isinstance(of, Header) and name in ("value", "schema"):
            return self.seen(of.value, of.schema) if name == "value" else of.schema
        if isinstance(of, Schema) and name in ("name", "version"):
            return getattr(of, name)
        if of is None:
            raise EvaluationError(f"'{name}' is asked of null; write '?.' before it")
        raise EvaluationError(f"{kind(of)} has no '{name}'")

    def _get(self, of: Any, name: Any) -> Any:
        if isinstance(of, dict):
            return of.get(name)
        if not isinstance(of, Struct):
            raise EvaluationError(f"{kind(of)} has no fields")
        return self.field(of, texts.text_of(name, "get"))

    def item(self, of: Any, key: Any) -> Any:
        """A list's element, a text's character, or a member."""
        if not isinstance(of, list | str):
            return self.member(of, texts.text_of(key, "[]"))
        at = texts.whole(key, "[]")
        count = len(of) if isinstance(of, list) else texts.length(of)
        if at < 0:
            at += count
        if 0 <= at < count:
            return of[at] if isinstance(of, list) else texts.part(of, at, at + 1)
        if isinstance(of, list) and at >= 0:
            return None
        raise EvaluationError(f"there is nothing at {key}")

    def negative(self, value: Any) -> Any:
        """A number with the other sign."""
        if not number(value):
            raise EvaluationError(f"'-' cannot be applied to {kind(value)}")
        return value.copy_negate() if isinstance(value, Decimal) else -value

    def decimal(self, value: bytes, scale: int) -> Any:
        """An exact number."""
        return exact(value, scale)

    def unknown_field(self, struct: Schema, name: str) -> Any:
        """Fails."""
        raise EvaluationError(f"there is no field '{name}'; these are: {', '.join(struct.index)}")
