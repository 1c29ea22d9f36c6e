"""Kafka Connect's converters as the options of one serializer."""

from __future__ import annotations

from typing import Any

from cdckit.api.hookspecs import Registration
from cdckit.api.plugins import config_model, find, registrations
from cdckit.engine.config.raw_pipeline import Draft, Options
from cdckit.errors import ConfigError

CONNECTS_DEFAULT = "org.apache.kafka.connect.storage.SimpleHeaderConverter"
HEADER_FORMATS = {"org.apache.kafka.connect.json.JsonConverter": "json", CONNECTS_DEFAULT: "simple"}
_HEADER_SCHEMAS = "header.converter.schemas.enable"


def add_serializer(converters: Options, draft: Draft) -> None:
    """Gives the draft its serializer.

    Args:
        converters: options such as `key.converter`, `value.converter.schemas.enable`, `converter.schemas.enable`.
        draft: gets the options, and what cannot be.
    """
    reading = _Reading(converters, draft)
    for name, value in converters.items():
        side, _, option = name.rpartition("converter")
        if option and side != "header.":
            reading.add(side.rstrip("."), option.removeprefix("."), value)
    reading.add_header_format(converters)
    draft.options["serializer"] = reading.options


class _Reading:
    def __init__(self, converters: Options, draft: Draft) -> None:
        self.draft = draft
        values, keys = _named(converters, "value.converter", draft), _named(converters, "key.converter", draft)
        registration = values or keys or find("serializer", "json")
        self.model = config_model(registration)
        self.options: Options = {"type": registration.name}
        if keys is not None and keys != registration:
            self._write_keys_with(keys)

    def _write_keys_with(self, serializer: Registration) -> None:
        if self.model.knows("key.serializer"):
            self.options["key.serializer"] = serializer.name
        else:
            self.draft.problems.append("key.converter: not yet supported to be another one than value.converter")

    def add(self, side: str, option: str, value: Any) -> None:
        """Adds an option under its side's name where the serializer has it, else for keys and values alike."""
        own = f"{side}.{option}" if side else option
        if self.model.knows(own):
            self.options[own] = value
        elif self.options.setdefault(option, value) != value:
            self.draft.problems.append(
                f"{side}.converter.{option}: not yet supported to differ between keys and values"
            )

    def add_header_format(self, converters: Options) -> None:
        """Adds what writes headers: Connect has a default of its own, and headers have their own `schemas.enable`."""
        converter = converters.get("header.converter")
        chosen = HEADER_FORMATS.get(converter or CONNECTS_DEFAULT)
        if self.model.knows("header.format") and chosen is not None:
            self.options["header.format"] = chosen
        elif converter:
            known = ", ".join(HEADER_FORMATS)
            self.draft.problems.append(f"header.converter: '{converter}' is not yet supported (these are: {known})")
        given = [name for name in converters if name.startswith("header.converter.")]
        if chosen == "json" and self.model.knows("header.schemas.enable"):
            self.options["header.schemas.enable"] = converters.get(_HEADER_SCHEMAS, True)
            given = [name for name in given if name != _HEADER_SCHEMAS]
        self.draft.ignored += given


def _named(converters: Options, option: str, draft: Draft) -> Registration | None:
    """The serializer that an option names, or None where it names none that there is."""
    name = converters.get(option)
    if not name:
        return None
    try:
        return find("serializer", name, option)
    except ConfigError:
        known = ", ".join(alias for _, r in registrations("serializer") for alias in r.aliases)
        draft.problems.append(f"{option}: '{name}' is not yet supported (these are: {known})")
        return None
