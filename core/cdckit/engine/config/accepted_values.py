"""What a file may hold for an option, as JSON Schema: all that the parser takes, which reads every scalar as a text."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any, Literal

from pydantic import BeforeValidator

from cdckit.api.lists import listed
from cdckit.api.plugin_config import PluginConfig
from cdckit.engine.config.options import plain_type

Json = dict[str, Any]
Accepts = Literal["as it is", "list", "more"]
"""What a validator of the option's takes beside its type: a list for a text with commas, or what only it knows."""

_SCALARS = ["string", "number", "boolean"]
_VARIABLE = r"\$\{"
_FORMS = {
    "integer": rf"{_VARIABLE}|^\s*[+-]?[0-9]",
    "number": rf"{_VARIABLE}|^\s*[+-]?[0-9.]",
    "boolean": rf"{_VARIABLE}|^([tT]([rR][uU][eE])?|[fF]([aA][lL][sS][eE])?|[yY]([eE][sS])?|[nN][oO]?|[oO][nN]|"
    r"[oO][fF][fF]|0|1)$",
}


def accepts_of(model: type[PluginConfig], option: str) -> Accepts:
    """What the option's validators take."""
    fields = (field for name, field in model.model_fields.items() if (field.alias or name) == option)
    validators = [part.func for field in fields for part in field.metadata if isinstance(part, BeforeValidator)]
    return "as it is" if not validators else "list" if listed in validators else "more"


def described_property(described: Json, whole: Json, accepts: Accepts) -> Json:
    """An option's schema; a text with a variable in it may stand for any value, and null for none."""
    left_out = ("title", "anyOf", "default", "description")
    plain = plain_type(described, whole)
    about = {"description": " ".join(plain.get("description", "").split())}
    if described.get("default") is not None:
        about["default"] = described["default"]
    own = {name: value for name, value in plain.items() if name not in left_out}
    if own.get("type") == "string" and "enum" not in own and accepts != "list":
        return {"type": [*_SCALARS, "null"], **about}
    return {"anyOf": [*_alternatives(own, accepts), {"type": "null"}], **about}


def _alternatives(plain: Json, accepts: Accepts) -> list[Json]:
    kind, scalar = plain.get("type"), {"type": _SCALARS}
    if kind in ("array", "object"):
        return [{"type": kind}] if accepts == "as it is" else [{"type": kind}, scalar]
    if kind in _FORMS:
        return [plain, {"type": "string", "pattern": _FORMS[kind]}]
    if accepts == "list":
        return [scalar, {"type": "array", "items": scalar}]
    if accepts == "more" or "enum" not in plain:
        return [plain, scalar] if "enum" in plain else [scalar]
    return [plain, {"type": "string", "pattern": "|".join((_VARIABLE, *map(_in_any_case, plain["enum"])))}]


def _in_any_case(choice: object) -> str:
    signs = (f"[{sign.lower()}{sign.upper()}]" if sign.isalpha() else f"[{sign}]" for sign in str(choice))
    return f"^{''.join(signs)}$"


def nested(properties: Json) -> Json:
    """The properties, with a mapping for the first word of those that have dots: its members are the others' ends.

    They are described and checked where their whole names stand.
    """
    branches: dict[str, Json] = {}
    for name in properties:
        first, dot, rest = name.partition(".")
        if dot:
            branches.setdefault(first, {})[rest] = {}
    mappings: dict[str, Json] = {
        first: {"type": "object", "properties": nested(below)} for first, below in branches.items()
    }
    for first, mapping in mappings.items():
        if first in properties:
            own = dict(properties[first])
            about = {name: own.pop(name) for name in ("description", "default") if name in own}
            mappings[first] = {"anyOf": [own, mapping], **about}
    return {**properties, **mappings}


def inner_mappings(names: Iterable[str]) -> str:
    """A regular expression of what stands before a dot within the names, such as `database.ssl`."""
    words = [name.split(".") for name in names]
    begun = {".".join(parts[:length]) for parts in words for length in range(2, len(parts))}
    return f"^({'|'.join(map(re.escape, sorted(begun)))})$"
