"""The JSON Schema of a pipeline file, out of the installed plugins' models, so that editors complete and check."""

from __future__ import annotations

import re
from typing import Any

from cdckit.config.model import PluginConfig
from cdckit.config.options import collects_patterns, json_schema_of, plain_type
from cdckit.config.pipeline import PipelineConfig
from cdckit.errors import ConfigError
from cdckit.plugins import Kind, config_model, registrations

Json = dict[str, Any]
DIALECT = "https://json-schema.org/draft/2020-12/schema"
STEP: Json = {
    "name": {"type": "string", "description": "What messages call this transform."},
    "predicate": {"type": "string", "description": "The name of the predicate that says which records it sees."},
    "negate": {"type": "boolean", "description": "Apply it to the records that the predicate does not mean."},
}


def pipeline_schema() -> Json:
    """The schema of a pipeline file; what stands under a component depends on its `type`."""
    whole = json_schema_of(PipelineConfig)
    properties = {name: _property(described, whole) for name, described in whole["properties"].items()}
    for kind in ("source", "sink", "serializer"):
        properties[kind] = {"$ref": f"#/$defs/{kind}", "description": properties[kind]["description"]}
    properties["transforms"] = {**properties["transforms"], "items": {"$ref": "#/$defs/transform"}}
    properties["predicates"] = {**properties["predicates"], "additionalProperties": {"$ref": "#/$defs/predicate"}}
    kinds: tuple[Kind, ...] = ("source", "sink", "serializer", "transform", "predicate")
    return {
        "$schema": DIALECT,
        "title": "cdckit pipeline",
        "type": "object",
        "properties": properties,
        "required": ["source"],
        "additionalProperties": False,
        "$defs": {kind: _one_of_a_kind(kind) for kind in kinds},
    }


def _one_of_a_kind(kind: Kind) -> Json:
    """A component: its `type` decides which other options there are."""
    known = [registration for _, registration in registrations(kind)]
    names = [name for registration in known for name in (registration.name, *registration.aliases)]
    choices = []
    for registration in known:
        is_it = {"properties": {"type": {"enum": [registration.name, *registration.aliases]}}, "required": ["type"]}
        try:
            options = _options(config_model(registration), STEP if kind == "transform" else {})
        except ConfigError:  # its model needs what is not installed: nothing is known about its options
            continue
        choices.append({"if": is_it, "then": options})
    return {
        "type": "object",
        "properties": {"type": {"enum": names, "description": f"Which {kind}."}},
        "required": ["type"],
        "allOf": choices,
    }


def _options(model: type[PluginConfig], more: Json) -> Json:
    whole = json_schema_of(model)
    described = whole.get("properties", {})
    properties = {name: _property(described[name], whole) for name in described if not collects_patterns(name, model)}
    members = [f"^{re.escape(name)}\\." for name, option in properties.items() if option.get("type") == "object"]
    meaningless = (group.names for group in model.without_meaning)
    patterns = [f"^(?:{pattern})$" for pattern in (*model.patterns, *model.passed_over, *meaningless)]
    if model.named:
        first_words = sorted({name.partition(".")[0] for name in (*properties, *model.renamed)})
        patterns.append(rf"^(?!(?:{'|'.join(first_words)})\.)[^.]+\.")
    others = {**model.renamed, **model.stand_ins}
    old = {old: {**properties[now], "deprecated": True} for old, now in others.items() if now in properties}
    return {
        "properties": {"type": {}, **more, **properties, **old},
        "patternProperties": {pattern: {} for pattern in (*members, *patterns)},
        "required": whole.get("required", []),
        "additionalProperties": False,
    }


def _property(described: Json, whole: Json) -> Json:
    """An option's schema; a text with a variable in it may stand for any value."""
    left_out = ("title", "anyOf", "default")
    plain = {name: value for name, value in plain_type(described, whole).items() if name not in left_out}
    about = {"description": " ".join(plain.pop("description", "").split())}
    if described.get("default") is not None:
        about["default"] = described["default"]
    if plain.get("type") in ("object", "array") or (plain.get("type") == "string" and "enum" not in plain):
        return {**plain, **about}
    return {"anyOf": [plain, {"type": "string", "pattern": r"\$\{"}], **about}
