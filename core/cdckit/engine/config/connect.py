"""A Kafka Connect source connector's configuration as a pipeline: what is there is kept, what has a place here moves.

Sources: Kafka's documentation, "Source Connector Configs" and "Kafka Connect Configs"; Strimzi's `KafkaConnector`
resource; the properties of Debezium's embedded engine.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from cdckit.api.hookspecs import Registration
from cdckit.api.plugin_config import PluginConfig
from cdckit.api.plugins import config_model, find, registrations
from cdckit.api.variables import unresolved
from cdckit.connector.options.every_connector import broken_promise
from cdckit.engine.config.raw_pipeline import Options, RawPipeline, flatten
from cdckit.engine.config.serializer_options import add_serializer
from cdckit.errors import ConfigError

IGNORED_OPTIONS = (
    r"name|tasks\.max(\.enforce)?|connector\.plugin\.version|config\.action\.reload|initial_state",
    r"errors\.(retry|deadletterqueue)\b.*|exactly\.once\.support|transaction\.boundary.*",
    r"(offset|offsets|config|status)\.storage\b.*|offset\.(flush\.timeout\.ms|commit\.policy)",
    r"group\.id|client\.id|plugin\.(path|discovery)|rest\..*|listeners.*|admin\.listeners.*",
    r"(transforms|predicates|consumer|admin|topic\.tracking)\..*|connector\.client\.config\.override\.policy",
    r"config\.providers.*|internal\.(key|value)\.converter.*|access\.control\..*|metric.*|worker\..*",
    r"(header|key|value)\.converter\.plugin\.version|scheduled\.rebalance\..*|inter\.worker\..*",
    r"task\.(shutdown\.graceful|management)\.timeout\.ms|debezium\.embedded\..*|record\.processing\..*",
)
"""Regular expressions of options of Connect's workers and of the embedded engine, which have no part to play here."""

FOR_THE_SINK = (
    r"(producer|topic\.creation)\..*|bootstrap\.servers|exactly\.once\.support|transaction\.boundary(\.interval\.ms)?"
)
"""Options of Connect's own producer, which belong to the sink if it knows them."""

PIPELINE_WIDE = (
    "offset.flush.interval.ms",
    "position.header",
    "errors.tolerance",
    "errors.log.enable",
    "errors.log.include.messages",
    "quarantine.folder",
    "quarantine.topic",
    "quarantine.topic.replication.factor",
    "quarantine.topic.context.headers",
    "quarantine.bootstrap.servers",
    "quarantine.timeout.ms",
    "quarantine.max.records",
    "quarantine.max.share",
    "quarantine.later.changes",
    "metrics.address",
    "metrics.token",
    "metrics.tls.certificate",
    "metrics.tls.key",
    "metrics.names",
    "metrics.ready.away.ms",
)

DEAD_LETTERS = (
    "errors.deadletterqueue.topic.name",
    "errors.deadletterqueue.topic.replication.factor",
    "errors.deadletterqueue.context.headers.enable",
)
"""Kafka Connect's options of a quarantine in a topic."""

_LABELS = {
    "source": "",
    "serializer.key": "key.converter",
    "serializer.header": "header.converter",
    "serializer": "converter",
}
"""What messages call an option of a connector's that moved."""

_OFFSETS, _HISTORY = "offset.storage", "schema.history.internal"

CONVERTER = re.compile(r"((key|value|header)\.)?converter(\.(?!plugin\.version$).+)?")


def connector_options(tree: Mapping[str, Any]) -> tuple[Mapping[str, Any], str, list[str]] | None:
    """The connector's own options out of whatever wraps them, its name, and the wrapper's members without meaning.

    None where the file is no connector configuration.
    """
    spec, config = tree.get("spec"), tree.get("config")
    if isinstance(spec, dict) and "class" in spec:
        options = {"connector.class": spec["class"], **dict(flatten(_members(spec, "config", "spec.config")))}
        left = [f"spec.{name}" for name in spec if name not in ("class", "config")]
        return options, str(_members(tree, "metadata", "metadata").get("name", "")), left
    if isinstance(config, dict) and "source" not in tree:
        return dict(flatten(config)), str(tree.get("name", "")), []
    options = dict(flatten(tree))
    return (options, str(options.get("name", "")), []) if "connector.class" in options else None


def _members(tree: Mapping[str, Any], name: str, path: str) -> Mapping[str, Any]:
    found = tree.get(name) or {}
    if not isinstance(found, dict):
        raise ConfigError(f"{path}: should hold options with their values", number="CDC2101")
    return found


def raw_connector(given: Mapping[str, Any], name: str, ignored: list[str]) -> RawPipeline:
    """The pipeline that a connector's options describe. It names no sink and no runner.

    Raises:
        ConfigError: what gives the pipeline its shape (class, chain, converters) cannot be understood.
    """
    reading = _Reading(given)
    registration = reading.source()
    raw = RawPipeline({}, name, labels=dict(_LABELS), ignored=ignored, placeholders=True)
    raw.options["predicates"] = reading.predicates()
    raw.options["transforms"] = reading.transforms(raw.labels)
    add_serializer(reading.take_converters(), raw)
    if found := reading.state(raw.ignored):
        raw.labels["state"], raw.options["state"] = found
    raw.options["source"] = {"type": registration.name}
    _sort_rest(reading.left, config_model(registration), raw)
    return raw


class _Reading:
    """Takes the options apart; `left` is what nothing has taken yet."""

    def __init__(self, given: Mapping[str, Any]) -> None:
        self.left = dict(given)
        shaping = {name: value for name, value in given.items() if _SHAPING.fullmatch(name)}
        problems = [f"{path}: {problem}" for path, problem in unresolved(shaping)]
        problems += [f"{name}: should be a text" for name, value in shaping.items() if not isinstance(value, str)]
        if problems:
            raise ConfigError(*problems)

    def source(self) -> Registration:
        """The source that `connector.class` means: by the full class name or, as Connect allows, its short form."""
        name = self.left.pop("connector.class", "")
        if not name:
            raise ConfigError("connector.class: required, but not given; it names the connector", number="CDC2202")
        for _, registration in registrations("source"):
            simple = {alias.rpartition(".")[2] for alias in registration.aliases}
            if name in simple or f"{name}Connector" in simple:
                return registration
        return find("source", name, "connector.class")

    def transforms(self, labels: dict[str, str]) -> list[Options]:
        """The chain in its order; notes what messages call each transform."""
        names = self._names("transforms")
        labels.update({f"transforms.{index}": f"transforms.{name}" for index, name in enumerate(names)})
        return [{"name": name, **self._below(f"transforms.{name}.")} for name in names]

    def predicates(self) -> dict[str, Options]:
        """The predicates by name."""
        return {name: self._below(f"predicates.{name}.") for name in self._names("predicates")}

    def take_converters(self) -> Options:
        """The options of the converters, with `key.`, `value.` or `header.` before them where they have it."""
        taken = {name: value for name, value in self.left.items() if CONVERTER.fullmatch(name)}
        for name in taken:
            del self.left[name]
        return taken

    def state(self, ignored: list[str]) -> tuple[str, Options] | None:
        """The state store that `offset.storage` means, None where no store is known by that class.

        It has the schema history, too; what names the same store for that is added to `ignored`. Where offsets are the
        worker's to keep, a store that Debezium has for histories alone keeps both.

        Returns:
            the option that names the store, and the store's options.
        """
        for _, store in registrations("state-store"):
            if self.left.get(_OFFSETS) in store.aliases:
                return _OFFSETS, self._state_of_offsets(store, ignored)
            for_offsets = any(map(_OF_OFFSETS.fullmatch, store.aliases))
            if _OFFSETS not in self.left and not for_offsets and self.left.get(_HISTORY) in store.aliases:
                return _HISTORY, self._state_of_history(store)
        return None

    def _state_of_offsets(self, store: Registration, ignored: list[str]) -> Options:
        del self.left[_OFFSETS]
        options = self._below(f"{_OFFSETS}.")
        if self.left.get(_HISTORY) in store.aliases:
            groups = {name.partition(".")[0] for name in options}
            same = [name for name in self.left if any(name.startswith(f"{_HISTORY}.{group}.") for group in groups)]
            ignored += [_HISTORY, *same]
            for name in (_HISTORY, *same):
                del self.left[name]
        return {"type": store.name, **self._of_the_worker(config_model(store)), **options}

    def _state_of_history(self, store: Registration) -> Options:
        del self.left[_HISTORY]
        model, begin = config_model(store), f"{_HISTORY}."
        names = [name for name in self.left if name.startswith(begin) and model.knows(name.removeprefix(begin))]
        return {"type": store.name, **{name.removeprefix(begin): self.left.pop(name) for name in names}}

    def _of_the_worker(self, store: type[PluginConfig]) -> Options:
        """The worker's options that concern a store; those that a sink may want as well stay for it."""
        found: Options = {}
        for name in list(self.left):
            begins = [begin for pattern, begin in store.of_the_worker.items() if re.fullmatch(pattern, name)]
            if begins:
                shared = re.fullmatch(FOR_THE_SINK, name)
                found[f"{begins[0]}{name}"] = self.left[name] if shared else self.left.pop(name)
        return found

    def _names(self, option: str) -> list[str]:
        return [name.strip() for name in self.left.pop(option, "").split(",") if name.strip()]

    def _below(self, prefix: str) -> Options:
        names = [name for name in self.left if name.startswith(prefix)]
        return {name.removeprefix(prefix): self.left.pop(name) for name in names}


_OF_OFFSETS = re.compile(r".*OffsetBackingStore")
_SHAPING = re.compile(r"connector\.class|transforms|predicates|(transforms|predicates)\.[^.]+\.type|(\w+\.)?converter")


def _sort_rest(left: Options, source: type[PluginConfig], raw: RawPipeline) -> None:
    # Where the first fault ends a task, Kafka Connect needs no dead letter queue, nor is one needed here.
    dead_letters = DEAD_LETTERS[0] in left and str(left.get("errors.tolerance")).lower() in ("all", "quarantine")
    for name, value in left.items():
        if name in PIPELINE_WIDE or name.startswith("quarantine.kafka.") or (name in DEAD_LETTERS and dead_letters):
            raw.options[name] = value
        elif re.fullmatch(FOR_THE_SINK, name):
            raw.sink_options[name] = value
        elif source.knows(name) or not any(re.fullmatch(pattern, name) for pattern in IGNORED_OPTIONS):
            raw.options["source"][name] = value
        elif broken := broken_promise(name, value):
            raw.problems.append(f"{name}: {broken}")
        elif name != "name":
            raw.ignored.append(name)
