"""Kafka Connect's converters as the options of serializers."""

from __future__ import annotations

from cdckit.api.hookspecs import Registration
from cdckit.api.plugins import config_model, find, registrations
from cdckit.engine.config.raw_pipeline import Options, RawPipeline
from cdckit.errors import ConfigError

_CONNECTS_DEFAULT = "simple"
"""What writes headers where nothing is said."""


def add_serializer(converters: Options, raw: RawPipeline) -> None:
    """Gives the pipeline its serializers.

    Args:
        converters: options such as `key.converter`, `value.converter.schemas.enable`, `converter.schemas.enable`.
        raw: gets the options, and what cannot be.
    """
    values, keys, headers = (_named(converters, f"{part}.converter", raw) for part in ("value", "key", "header"))
    serializer = values or keys or find("serializer", "json")
    reading = _Reading(serializer, converters, raw)
    if keys is not None or reading.names_options_of("key"):
        reading.add_keys(keys or serializer)
    reading.add_headers(headers or find("serializer", _CONNECTS_DEFAULT))
    raw.options["serializer"] = reading.options


class _Reading:
    def __init__(self, serializer: Registration, converters: Options, raw: RawPipeline) -> None:
        self.serializer = serializer
        self.converters = converters
        self.raw = raw
        self.model = config_model(serializer)
        self.shared, of_values = self._below("converter."), self._below("value.converter.")
        self.of_values = self.shared | of_values
        own = {self._own("value", name): value for name, value in of_values.items()}
        self.options: Options = {"type": serializer.name, **self.shared, **own}

    def _below(self, prefix: str) -> Options:
        found = {name: value for name, value in self.converters.items() if name.startswith(prefix)}
        return {name.removeprefix(prefix): value for name, value in found.items()}

    def names_options_of(self, part: str) -> bool:
        """Whether options are given to a part's converter alone."""
        return bool(self._below(f"{part}.converter."))

    def _own(self, part: str, name: str) -> str:
        """What the serializer of values calls an option of a part: some have names of their own for it."""
        return own if self.model.knows(own := f"{part}.{name}") else name

    def add_keys(self, serializer: Registration) -> None:
        """Keys are written as values are, or by a serializer of their own where anything differs."""
        own = self._below("key.converter.")
        given = self.shared | own
        differing = {name for name in {*given, *self.of_values} if given.get(name) != self.of_values.get(name)}
        together = "key" not in self.model.apart or all(self._has_own(name) for name in differing)
        if serializer == self.serializer and together:
            self.options |= {self._own("key", name): value for name, value in own.items()}
        else:
            self._add_apart("key", serializer, given)

    def _has_own(self, name: str) -> bool:
        """Whether the serializer of values has an option for each of the two parts."""
        return all(f"{part}.{name}" in self.model.option_names() for part in ("key", "value"))

    def add_headers(self, serializer: Registration) -> None:
        """Headers are written in a form that the serializer of values has, too, or by one of their own."""
        given = self._below("header.converter.")
        if not self.model.knows("header.format") or serializer.name not in ("json", "simple"):
            self._add_apart("header", serializer, given)
            return
        self.options["header.format"] = serializer.name
        if serializer.name == "json":
            self.options["header.schemas.enable"] = given.pop("schemas.enable", True)
        self.raw.ignored += [f"header.converter.{name}" for name in given]

    def _add_apart(self, part: str, serializer: Registration, given: Options) -> None:
        knows = config_model(serializer).knows
        if serializer.name == _CONNECTS_DEFAULT:
            self.raw.ignored += [f"{part}.converter.{name}" for name in given if not knows(name)]
            given = {name: value for name, value in given.items() if knows(name)}
        self.options |= {f"{part}.type": serializer.name, **{f"{part}.{name}": given[name] for name in given}}


def _named(converters: Options, option: str, raw: RawPipeline) -> Registration | None:
    """The serializer that an option names, or None where it names none that there is."""
    name = converters.get(option)
    if not name:
        return None
    try:
        return find("serializer", name, option)
    except ConfigError:
        known = ", ".join(alias for _, r in registrations("serializer") for alias in r.aliases)
        raw.problems.append(f"{option}: '{name}' is not yet supported (these are: {known})")
        return None
