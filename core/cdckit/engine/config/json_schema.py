"""The JSON Schema of a pipeline file, out of the installed plugins' models, so that editors complete and check."""

from __future__ import annotations

import re

from cdckit.api.plugin_config import PluginConfig
from cdckit.api.plugins import Kind, config_model, registrations
from cdckit.engine.config.accepted_values import (
    Json,
    accepts_of,
    described_property as _property,
    inner_mappings,
    nested,
)
from cdckit.engine.config.options import collects_patterns, json_schema_of, plain_type
from cdckit.engine.config.pipeline import PipelineConfig
from cdckit.engine.config.raw_pipeline import SEPARATE_PARTS
from cdckit.errors import ConfigError

DIALECT = "https://json-schema.org/draft/2020-12/schema"
STEP: Json = {
    "name": {"type": "string", "description": "What messages call this transform."},
    "predicate": {"type": "string", "description": "The name of the predicate that says which records it sees."},
    "negate": {
        "type": ["boolean", "string"],
        "description": "Apply it to the records that the predicate does not mean.",
    },
}

DEFAULTS: dict[Kind, str] = {"state-store": "file"}
"""What is meant where no `type` is given."""


def pipeline_schema() -> Json:
    """The schema of a pipeline file; what stands under a component depends on its `type`."""
    whole = json_schema_of(PipelineConfig)
    properties = {
        name: _property(described, whole, accepts_of(PipelineConfig, name))
        for name, described in whole["properties"].items()
    }
    for kind in ("source", "sink", "serializer"):
        properties[kind] = {"$ref": f"#/$defs/{kind}", "description": properties[kind]["description"]}
    folder_or_store = [{"type": ["string", "number", "null"]}, {"$ref": "#/$defs/state-store"}]
    properties["state"] = {"anyOf": folder_or_store, "description": properties["state"]["description"]}
    chain = {"type": ["array", "null"], "items": {"$ref": "#/$defs/transform"}}
    conditions = {"type": ["object", "null"], "additionalProperties": {"$ref": "#/$defs/predicate"}}
    properties["transforms"] = {**chain, "description": properties["transforms"]["description"]}
    properties["predicates"] = {**conditions, "description": properties["predicates"]["description"]}
    kinds: tuple[Kind, ...] = ("source", "sink", "serializer", "state-store", "transform", "predicate")
    return {
        "$schema": DIALECT,
        "title": "cdckit pipeline",
        "type": "object",
        "properties": nested(properties),
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
        by_default = DEFAULTS.get(kind) == registration.name
        named = {"type": {"enum": [registration.name, *registration.aliases]}}
        is_it = {"properties": named, "required": [] if by_default else ["type"]}
        try:
            options = _options(config_model(registration), STEP if kind == "transform" else {})
            if kind == "serializer":
                _allow_separate_parts(options)
        except ConfigError:  # its model needs what is not installed: nothing is known about its options
            continue
        choices.append({"if": is_it, "then": options})
    return {
        "type": "object",
        "properties": {"type": {"enum": names, "description": f"Which {kind.replace('-', ' ')}."}},
        "required": [] if kind in DEFAULTS else ["type"],
        "allOf": choices,
    }


def _allow_separate_parts(options: Json) -> None:
    """Lets keys and headers have a serializer of their own, whose options its model checks."""
    for part in SEPARATE_PARTS:
        another = {"$ref": "#/$defs/serializer"}
        own = options["properties"].get(part)
        options["properties"][part] = another if own is None else {"anyOf": [own, another]}
        options["patternProperties"][f"^{part}\\."] = {}


def _options(model: type[PluginConfig], more: Json) -> Json:
    whole = json_schema_of(model)
    described = whole.get("properties", {})
    own = {name: option for name, option in described.items() if not collects_patterns(name, model)}
    properties = {name: _property(option, whole, accepts_of(model, name)) for name, option in own.items()}
    mappings = (name for name, option in own.items() if plain_type(option, whole).get("type") == "object")
    members = [f"^{re.escape(name)}\\." for name in mappings]
    meaningless = (group.names for group in model.ignored_options)
    patterns = [f"^(?:{pattern})$" for pattern in (*model.patterns, *model.passed_over, *meaningless)]
    if model.named:
        first_words = sorted({name.partition(".")[0] for name in (*properties, *model.renamed)})
        patterns.append(rf"^(?!(?:{'|'.join(first_words)})\.)[^.]+\.")
    others = {**model.renamed, **model.stand_ins}
    old = {old: {**properties[now], "deprecated": True} for old, now in others.items() if now in properties}
    spellings = {now: [now, *(old for old in others if others[old] == now)] for now in whole.get("required", [])}
    return {
        "properties": {"type": {}, **more, **nested({**properties, **old})},
        "patternProperties": {pattern: {} for pattern in (*members, *patterns, inner_mappings((*properties, *old)))},
        "required": [name for name, all_names in spellings.items() if all_names == [name] and "." not in name],
        "allOf": [{}, *(_given(names) for name, names in spellings.items() if names != [name] or "." in name)],
        "additionalProperties": False,
    }


def _given(spellings: list[str]) -> Json:
    """That one of the names is given, be it as a member of mappings; whether these have it is told by `validate`."""
    parts = [name.split(".") for name in spellings]
    begun = dict.fromkeys(".".join(words[:length]) for words in parts for length in range(len(words), 0, -1))
    return {"anyOf": [{"required": [name]} for name in begun]}
