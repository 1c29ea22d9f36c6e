"""The methods of texts, numbers, lists, maps, structs and schemas that expressions of Groovy may call."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from cdckit_transforms.java_numbers import decimal_of, float_of, integer_of, narrowed, truncated
from cdckit_transforms.scripting import texts
from cdckit_transforms.scripting.groovy_operators import compared, equal, number, shown
from cdckit_transforms.scripting.language import EvaluationError, Method, kind
from cdckit_transforms.scripting.schemas import SCHEMA_METHODS, SCHEMA_TAKES

_TRIMMED = "".join(map(chr, range(33)))


def _of_text(name: str, method: Callable[..., Any]) -> Method:
    """A method of texts whose arguments are texts, too."""
    return lambda of, *given: method(texts.text_of(of, name), *(texts.text_of(one, name) for one in given))


def _contains(of: Any, sought: Any) -> bool:
    if isinstance(of, list):
        return any(equal(item, sought) for item in of)
    return texts.text_of(sought, "contains") in texts.text_of(of, "contains")


def _size(of: Any) -> int:
    return len(of) if isinstance(of, list | dict) else texts.length(texts.text_of(of, "size"))


def _substring(of: Any, start: Any, end: Any = None) -> str:
    text = texts.text_of(of, "substring")
    length = texts.length(text)
    first, last = texts.whole(start, "substring"), length if end is None else texts.whole(end, "substring")
    if not 0 <= first <= last <= length:
        raise EvaluationError(f"a text of {length} characters has none from {first} to {last}")
    return texts.part(text, first, last)


def _index_of(of: Any, sought: Any) -> int:
    if isinstance(of, list):
        return next((at for at, item in enumerate(of) if equal(item, sought)), -1)
    return texts.place(texts.text_of(of, "indexOf"), texts.text_of(sought, "indexOf"))


def _number_of(name: str, read: Callable[[str], Any], of_number: Method) -> Method:
    def method(of: Any) -> Any:
        if number(of):
            return of_number(of)
        try:
            return read(texts.text_of(of, name).strip())
        except ValueError as error:
            raise EvaluationError(str(error)) from None

    return method


def _narrowed(bits: int) -> Method:
    def method(of: Any) -> int:
        if not number(of):
            raise EvaluationError(f"{kind(of)} is no number")
        return truncated(of, bits) if isinstance(of, float) else narrowed(int(of), bits)

    return method


def _double(of: Any) -> float:
    if not number(of):
        raise EvaluationError(f"{kind(of)} is no number")
    return float(of)


def _compare_to(of: Any, other: Any) -> int:
    if isinstance(of, str) and isinstance(other, str):
        return texts.difference(of, other)
    if number(of) and number(other):
        return compared(of, other)
    raise EvaluationError(f"{kind(of)} has no 'compareTo' for {kind(other)}")


def _equals(of: Any, other: Any) -> bool:
    return of.__class__ is other.__class__ and equal(of, other)


def _tokenized(of: str, *separators: str) -> list[str]:
    """The parts between any of the separators' characters, blanks by default; empty ones are left out."""
    for separator in (separators or (" \t\n\r\f",))[0]:
        of = of.replace(separator, "\0")
    return [part for part in of.split("\0") if part]


def _contains_key(of: Any, key: Any) -> bool:
    if not isinstance(of, dict):
        raise EvaluationError(f"{kind(of)} is no map")
    return key in of


def _split(of: str, pattern: str) -> list[str]:
    """As `String.split`: empty parts at the end are left out."""
    parts = texts.pattern_of(pattern).split(of)
    while len(parts) > 1 and not parts[-1]:
        parts.pop()
    return parts


_ONE = range(1, 2)
_NONE = range(1)
_TEXT_METHODS: dict[str, tuple[range, Callable[..., Any]]] = {
    "startsWith": (_ONE, str.startswith),
    "endsWith": (_ONE, str.endswith),
    "matches": (_ONE, lambda of, pattern: texts.pattern_of(pattern).fullmatch(of)),
    "equalsIgnoreCase": (_ONE, lambda of, other: of.lower() == other.lower() or of.upper() == other.upper()),
    "length": (_NONE, texts.length),
    "lastIndexOf": (_ONE, lambda of, sought: texts.place(of, sought, last=True)),
    "toLowerCase": (_NONE, str.lower),
    "toUpperCase": (_NONE, str.upper),
    "trim": (_NONE, lambda of: of.strip(_TRIMMED)),
    "isBlank": (_NONE, lambda of: not of.strip()),
    "concat": (_ONE, str.__add__),
    "replace": (range(2, 3), str.replace),
    "replaceAll": (range(2, 3), lambda of, pattern, by: texts.replaced(of, pattern, by, every=True)),
    "replaceFirst": (range(2, 3), lambda of, pattern, by: texts.replaced(of, pattern, by, every=False)),
    "split": (_ONE, _split),
    "tokenize": (range(2), _tokenized),
}
_OTHERS: dict[str, tuple[range, Method]] = {
    "contains": (_ONE, _contains),
    "containsKey": (_ONE, _contains_key),
    "size": (_NONE, _size),
    "isEmpty": (_NONE, lambda of: _size(of) == 0),
    "substring": (range(1, 3), _substring),
    "indexOf": (_ONE, _index_of),
    "equals": (_ONE, _equals),
    "compareTo": (_ONE, _compare_to),
    "toString": (_NONE, shown),
    "toInteger": (_NONE, _number_of("toInteger", lambda text: integer_of(text, 32), _narrowed(32))),
    "toLong": (_NONE, _number_of("toLong", lambda text: integer_of(text, 64), _narrowed(64))),
    "toDouble": (_NONE, _number_of("toDouble", float_of, _double)),
    "toBigDecimal": (_NONE, _number_of("toBigDecimal", decimal_of, lambda of: decimal_of(shown(of)))),
    "intValue": (_NONE, _narrowed(32)),
    "longValue": (_NONE, _narrowed(64)),
    "doubleValue": (_NONE, _double),
}
METHODS: dict[str, Method] = {
    **{name: _of_text(name, method) for name, (_, method) in _TEXT_METHODS.items()},
    **{name: method for name, (_, method) in _OTHERS.items()},
    **SCHEMA_METHODS,
}
TAKES: dict[str, range] = {
    **{name: takes for name, (takes, _) in (*_TEXT_METHODS.items(), *_OTHERS.items())},
    **SCHEMA_TAKES,
}
"""How many arguments each takes."""
