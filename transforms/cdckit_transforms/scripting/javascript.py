"""JavaScript, as GraalVM evaluates expressions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from cdckit import Header, Schema, Struct
from cdckit.java.regex import UserPattern
from cdckit_transforms.scripting import texts
from cdckit_transforms.scripting.javascript_operators import OPERATIONS, numeric, same, shown, true
from cdckit_transforms.scripting.language import UNDEFINED, EvaluationError, Language, Method, exact, kind
from cdckit_transforms.scripting.parser import Grammar
from cdckit_transforms.scripting.schemas import SCHEMA_METHODS, SCHEMA_TAKES

_LEVELS = (
    ("||",),
    ("&&",),
    ("==", "!=", "===", "!=="),
    ("<", "<=", ">", ">=", "in"),
    ("+", "-"),
    ("*", "/", "%"),
)


def _text(name: str, method: Callable[..., Any]) -> Method:
    """A method of texts whose arguments become texts."""
    return lambda of, *given: method(texts.text_of(of, name), *map(shown, given))


def _includes(of: Any, sought: Any) -> bool:
    if isinstance(of, list):
        return any(same(item, sought) for item in of)
    return shown(sought) in texts.text_of(of, "includes")


def _index_of(of: Any, sought: Any) -> int:
    if isinstance(of, list):
        return next((at for at, item in enumerate(of) if same(item, sought)), -1)
    return texts.place(texts.text_of(of, "indexOf"), shown(sought))


def _substring(of: Any, start: Any, end: Any = None) -> str:
    text = texts.text_of(of, "substring")
    length = texts.length(text)
    places = [start, length if end is None else end]
    first, last = sorted(min(max(texts.whole(place, "substring"), 0), length) for place in places)
    return texts.part(text, first, last)


def _slice(of: Any, start: Any, end: Any = None) -> str:
    text = texts.text_of(of, "slice")
    length = texts.length(text)
    places = [texts.whole(place, "slice") for place in (start, length if end is None else end)]
    first, last = (max(place + length, 0) if place < 0 else min(place, length) for place in places)
    return texts.part(text, first, max(first, last))


def _char_at(of: Any, at: Any) -> str:
    text, place = texts.text_of(of, "charAt"), texts.whole(at, "charAt")
    return texts.part(text, place, place + 1) if place >= 0 else ""


def _test(of: Any, text: Any) -> bool:
    if not isinstance(of, UserPattern):
        raise EvaluationError(f"'test' needs a regular expression, and has {kind(of)}")
    return of.found(shown(text))


def _replace(of: str, sought: str, by: str) -> str:
    if "$" in by:
        raise EvaluationError("'$' has a meaning in what 'replace' puts in, which is not known here")
    return of.replace(sought, by, 1)


def _split(of: str, separator: str) -> list[str]:
    return of.split(separator) if separator else list(of)


_ONE, _NONE, _PLACES = range(1, 2), range(1), range(1, 3)
_METHODS: dict[str, tuple[range, Method]] = {
    "startsWith": (_ONE, _text("startsWith", str.startswith)),
    "endsWith": (_ONE, _text("endsWith", str.endswith)),
    "includes": (_ONE, _includes),
    "indexOf": (_ONE, _index_of),
    "lastIndexOf": (_ONE, _text("lastIndexOf", lambda of, sought: texts.place(of, sought, last=True))),
    "toLowerCase": (_NONE, _text("toLowerCase", str.lower)),
    "toUpperCase": (_NONE, _text("toUpperCase", str.upper)),
    "trim": (_NONE, _text("trim", str.strip)),
    "concat": (_ONE, _text("concat", str.__add__)),
    "replace": (range(2, 3), _text("replace", _replace)),
    "split": (_ONE, _text("split", _split)),
    "substring": (_PLACES, _substring),
    "slice": (_PLACES, _slice),
    "charAt": (_ONE, _char_at),
    "toString": (_NONE, shown),
    "test": (_ONE, _test),
}


class JavaScript(Language):
    """JavaScript."""

    grammar = Grammar("javascript", _LEVELS, {**{name: t for name, (t, _) in _METHODS.items()}, **SCHEMA_TAKES}, "??")
    operations = OPERATIONS
    methods = {**{name: method for name, (_, method) in _METHODS.items()}, **SCHEMA_METHODS}
    absent = UNDEFINED
    keeps_operands = True

    def true(self, value: Any) -> bool:
        """Whether a value is neither null nor undefined, false, 0, NaN or the empty text."""
        return true(value)

    def member(self, of: Any, name: str) -> Any:
        """A struct's field, a map's member, a header's `value` and `schema`, a text's or a list's `length`."""
        if isinstance(of, Struct):
            return self.field(of, name)
        if isinstance(of, dict):
            return of.get(name, UNDEFINED)
        if of is None or of is UNDEFINED:
            raise EvaluationError(f"'{name}' is asked of {'null' if of is None else of}; write '?.' before it")
        if isinstance(of, Header) and name in ("value", "schema"):
            return self.seen(of.value, of.schema) if name == "value" else of.schema
        if name == "length" and isinstance(of, str | list):
            return texts.length(of) if isinstance(of, str) else len(of)
        if isinstance(of, Header | Schema):
            raise EvaluationError(f"{kind(of)} has no '{name}'")
        return UNDEFINED

    def item(self, of: Any, key: Any) -> Any:
        """A list's element, a text's character, or a member."""
        if not isinstance(of, list | str) or isinstance(key, str):
            return self.member(of, shown(key))
        at = texts.whole(key, "[]")
        if isinstance(of, list):
            return of[at] if 0 <= at < len(of) else UNDEFINED
        return texts.part(of, at, at + 1) if 0 <= at < texts.length(of) else UNDEFINED

    def negative(self, value: Any) -> Any:
        """A number with the other sign."""
        return -numeric(value) or -float(numeric(value))

    def decimal(self, value: bytes, scale: int) -> Any:
        """An object of Java's."""
        return exact(value, scale)

    def unknown_field(self, struct: Schema, name: str) -> Any:
        """Undefined."""
        return UNDEFINED
