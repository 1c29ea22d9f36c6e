"""What a config model says about its options, for people: tables in docs and terminals."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

from cdckit.api.option_docstrings import describe
from cdckit.api.plugin_config import PluginConfig, dotted

Json = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Option:
    """One option of a component.

    Attributes:
        name: its name; `NAME.*` stands for all options that begin so.
        type: its type in words, with its bounds.
        required: whether it must be given.
        default: the default as a user would write it; "" where there is none.
        description: what it does.
        choices: the allowed values, where they can be listed.
        old_names: names that it had before and that still work.
    """

    name: str
    type: str
    required: bool
    default: str
    description: str
    choices: tuple[str, ...] = ()
    old_names: tuple[str, ...] = ()


def options_of(model: type[PluginConfig]) -> list[Option]:
    """The options of a model, in its order."""
    schema = json_schema_of(model)
    return [_option(name, schema, model) for name in schema.get("properties", {})]


@cache
def json_schema_of(model: type[PluginConfig]) -> Json:
    """The model's JSON Schema, by the options' names."""
    describe(model)
    return model.model_json_schema(by_alias=True)


def plain_type(described: Json, schema: Json) -> Json:
    """The description of an option's type without references and without null."""
    while "$ref" in described:
        described = schema["$defs"][described["$ref"].rpartition("/")[2]]
    alternatives = [plain_type(one, schema) for one in described.get("anyOf", ()) if one.get("type") != "null"]
    return {**described, **alternatives[0]} if len(alternatives) == 1 else described


def collects_patterns(name: str, model: type[PluginConfig]) -> bool:
    """Whether the field is none that a user names: it collects options whose names match a pattern."""
    return any(dotted(field) == name for field in (*model.patterns.values(), *model.named.values()))


def _option(name: str, schema: Json, model: type[PluginConfig]) -> Option:
    described = plain_type(schema["properties"][name], schema)
    return Option(
        name=_shown_name(name, described, model),
        type=_type_in_words(described),
        required=name in schema.get("required", ()),
        default=_default_text(described.get("default")),
        description=" ".join(described.get("description", "").split()),
        choices=tuple(map(str, described.get("enum", ()))),
        old_names=tuple(old for old, now in model.renamed.items() if now == name),
    )


def _shown_name(name: str, described: Json, model: type[PluginConfig]) -> str:
    patterns = [pattern for pattern, field in model.patterns.items() if dotted(field) == name]
    if patterns:
        return ", ".join(_readable(pattern) for pattern in patterns)
    if any(dotted(field) == name for field in model.named.values()):
        return "NAME.*"
    return f"{name}.*" if described.get("type") == "object" else name


def _readable(pattern: str) -> str:
    """A regular expression of option names for people: `*` for what varies."""
    return re.sub(r"\(.*?\)|\[.*?\][+*]?|\.[+*]|\\d\+", "*", pattern).replace("\\.", ".")


def _type_in_words(described: Json) -> str:
    kind = described.get("type", "string")
    if "enum" in described:
        return "choice"
    if described.get("format") in ("password", "path"):
        return str(described["format"])
    words = {
        "integer": "whole number",
        "array": "list",
        "object": "options",
        "string": "text",
        "boolean": "true or false",
    }
    return words.get(kind, str(kind)) + _bounds(described)


def _bounds(described: Json) -> str:
    low = described.get("minimum", described.get("exclusiveMinimum", None))
    high = described.get("maximum", described.get("exclusiveMaximum", None))
    if low is not None and high is not None:
        return f", {low} to {high}"
    if "exclusiveMinimum" in described:
        return f" above {low}"
    return f", at least {low}" if low is not None else ""


def _default_text(default: Any) -> str:
    if default is None or default == "" or (isinstance(default, Mapping) and not default):
        return ""
    return default if isinstance(default, str) else json.dumps(default)
