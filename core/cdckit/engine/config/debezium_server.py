"""Debezium Server's configuration as a connector's and a sink's: its `application.properties`, or a `DebeziumServer`.

Sources: Debezium's documentation, "Debezium Server" and "Debezium Operator"; MicroProfile Config for `${NAME:default}`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from cdckit.engine.config.raw_pipeline import Options, RawPipeline, flatten
from cdckit.errors import ConfigError

KIND = "DebeziumServer"

FORMATS: Mapping[str, str] = {
    "json": "org.apache.kafka.connect.json.JsonConverter",
    "jsonbytearray": "org.apache.kafka.connect.json.JsonConverter",
    "avro": "io.confluent.connect.avro.AvroConverter",
    "protobuf": "io.confluent.connect.protobuf.ProtobufConverter",
    "cloudevents": "io.debezium.converters.CloudEventsConverter",
    "simplestring": "org.apache.kafka.connect.storage.StringConverter",
    "binary": "io.debezium.converters.BinaryDataConverter",
}
"""The converter that each of its formats means."""

_PARTS = ("key", "value", "header")
_DEFAULT = "json"
_JAVAS_OWN = ("producer.key.serializer", "producer.value.serializer")
"""How Java makes bytes of what the format has written already."""
_REFERENCE = re.compile(r"(?<!\$)\$\{(?!(?:env|file|dir):)([A-Za-z_][\w.-]*)(?::([^}]*))?\}")
_OFFSET_STORES: Mapping[str, tuple[str, str]] = {
    "file": ("org.apache.kafka.connect.storage.FileOffsetBackingStore", "offset.storage.file."),
    "memory": ("org.apache.kafka.connect.storage.MemoryOffsetBackingStore", "offset.storage."),
    "jdbc": ("io.debezium.storage.jdbc.offset.JdbcOffsetBackingStore", "offset.storage.jdbc."),
    "redis": ("io.debezium.storage.redis.offset.RedisOffsetBackingStore", "offset.storage.redis."),
}
"""What the operator's stores of offsets mean, and what begins the names of their options."""
_WITHOUT_MEANING_IN_SPEC = ("image", "version", "quarkus", "runtime", "storage")


@dataclass(slots=True)
class ServerOptions:
    """What the configuration says.

    Attributes:
        connector: the options of the connector, chain and converters, as a connector's configuration has them.
        sink_type: what it calls the sink; "" where it names none.
        sink: the sink's options.
        labels: what messages call source, sink and serializers.
        ignored: what has no meaning here.
        name: the resource's, or "".
    """

    connector: Options = field(default_factory=dict)
    sink_type: str = ""
    sink: Options = field(default_factory=dict)
    labels: Mapping[str, str] = field(default_factory=dict)
    ignored: list[str] = field(default_factory=list)
    name: str = ""

    def complete(self, raw: RawPipeline) -> None:
        """Gives the connector's raw pipeline what a connector does not say: the sink, and one process to run in."""
        raw.options["runner"] = "direct"
        if self.sink_type:
            raw.options["sink"] = {"type": self.sink_type, **_sink(self.sink, self.sink_type, raw)}
        raw.labels |= self.labels


def _sink(options: Options, kind: str, raw: RawPipeline) -> Options:
    if kind != "kafka":
        return options
    raw.ignored += [f"debezium.sink.kafka.{name}" for name in _JAVAS_OWN if name in options]
    kept = {name: value for name, value in options.items() if name not in _JAVAS_OWN}
    servers = kept.pop("producer.bootstrap.servers", None)
    return kept if servers is None else {"bootstrap.servers": servers, **kept}


def is_server(tree: Mapping[str, Any]) -> bool:
    """Whether a file's content is one of the two."""
    return tree.get("kind") == KIND or any(name.startswith("debezium.source.") for name, _ in flatten(tree))


def expanded(tree: Mapping[str, Any]) -> dict[str, Any]:
    """The same with what `${NAME}` and `${NAME:default}` mean here: another property of the file, or a variable.

    Raises:
        ConfigError: a property stands for itself.
    """
    if tree.get("kind") == KIND:
        return {name: _of_the_environment(value) for name, value in tree.items()}
    flat = dict(flatten(tree))
    return {name: _expand(value, flat, (name,)) for name, value in flat.items()}


def _of_the_environment(value: Any) -> Any:
    """`$${NAME}` in a resource passes the operator's own reading by, and is a variable of the container."""
    if isinstance(value, dict):
        return {name: _of_the_environment(member) for name, member in value.items()}
    if isinstance(value, list):
        return [_of_the_environment(member) for member in value]
    return value.replace("$${", "${") if isinstance(value, str) else value


def _expand(value: Any, flat: Mapping[str, Any], path: tuple[str, ...]) -> Any:
    def meant(found: re.Match[str]) -> str:
        name, default = found[1], found[2]
        if name in path:
            raise ConfigError(f"{path[0]}: '${{{name}}}' stands for itself; give it a value")
        if name in flat:
            return str(_expand(flat[name], flat, (*path, name)))
        return found[0] if default is None else f"${{{name}:-{default}}}"

    return _REFERENCE.sub(meant, value) if isinstance(value, str) else value


def server_options(tree: Mapping[str, Any]) -> ServerOptions:
    """The configuration taken apart, its variables replaced already.

    Raises:
        ConfigError: a format is none of Debezium Server's, or a member of the resource is no mapping.
    """
    return _of_resource(tree) if tree.get("kind") == KIND else _of_properties(dict(flatten(tree)))


def _labels(source: str, sink_type: str, sink: str, formats: str) -> dict[str, str]:
    parts = {f"serializer.{part}": f"{formats}.{part}" for part in ("key", "header")}
    return {"source": source, "sink.type": sink_type, "sink": sink, **parts, "serializer": f"{formats}.value"}


def _of_properties(flat: Options) -> ServerOptions:
    kind = str(flat.get("debezium.sink.type", ""))
    labels = _labels("debezium.source", "debezium.sink.type", f"debezium.sink.{kind}", "debezium.format")
    found = ServerOptions(sink_type=kind, labels=labels)
    formats: Options = {}
    for name, value in flat.items():
        section, _, rest = name.removeprefix("debezium.").partition(".")
        if not name.startswith("debezium.") or section not in ("source", "sink", "format", *_CHAIN):
            found.ignored.append(name)
        elif section == "source":
            found.connector[rest] = value
        elif section == "format":
            formats[rest] = value
        elif section in _CHAIN:
            found.connector[f"{section}.{rest}" if rest else section] = value
        elif rest.startswith(f"{kind}."):
            found.sink[rest.removeprefix(f"{kind}.")] = value
        elif rest != "type":
            found.ignored.append(name)
    found.connector |= _converters(formats, "debezium.format")
    return found


_CHAIN = ("transforms", "predicates")


def _converters(formats: Mapping[str, Any], label: str) -> Options:
    """The converters that the formats of keys, values and headers mean, with their options."""
    made: Options = {}
    for part in _PARTS:
        named = str(formats.get(part, _DEFAULT)).lower()
        if named not in FORMATS:
            raise ConfigError(f"{label}.{part}: '{named}' is none of the formats {', '.join(FORMATS)}")
        made[f"{part}.converter"] = FORMATS[named]
    for name, value in formats.items():
        part, _, option = name.partition(".")
        if part not in _PARTS:
            made[f"converter.{name}"] = value
        elif option:
            made[f"{part}.converter.{option}"] = value
    return made


def _of_resource(tree: Mapping[str, Any]) -> ServerOptions:
    spec = _members(tree, "spec", "spec")
    source, sink = _members(spec, "source", "spec.source"), _members(spec, "sink", "spec.sink")
    found = ServerOptions(
        sink_type=str(sink.get("type", "")),
        sink=dict(flatten(_members(sink, "config", "spec.sink.config"))),
        labels=_labels("spec.source.config", "spec.sink.type", "spec.sink.config", "spec.format"),
        ignored=[f"spec.{name}" for name in _WITHOUT_MEANING_IN_SPEC if name in spec],
        name=str(_members(tree, "metadata", "metadata").get("name", "")),
    )
    found.connector = {
        "connector.class": source.get("class", ""),
        **_offsets(_members(source, "offset", "spec.source.offset")),
        **dict(flatten(_members(source, "config", "spec.source.config"))),
        **_chain(spec),
        **_converters(_formats(_members(spec, "format", "spec.format")), "spec.format"),
    }
    found.ignored += [f"spec.source.{name}" for name in ("schemaHistory",) if name in source]
    return found


def _formats(given: Mapping[str, Any]) -> Options:
    made: Options = {}
    for part in _PARTS:
        own = _members(given, part, f"spec.format.{part}")
        if "type" in own:
            made[part] = own["type"]
        config = flatten(_members(own, "config", f"spec.format.{part}.config"))
        made |= {f"{part}.{name}": value for name, value in config}
    return made


def _chain(spec: Mapping[str, Any]) -> Options:
    steps = spec.get("transforms") or []
    if not isinstance(steps, list) or not all(isinstance(step, dict) for step in steps):
        raise ConfigError("spec.transforms: should be a list of transforms, each with its 'type'")
    made: Options = {}
    for index, step in enumerate(steps):
        made |= _component(f"transforms.t{index}", f"spec.transforms.{index}", step, ("type", "predicate", "negate"))
    named = _members(spec, "predicates", "spec.predicates")
    for name in named:
        made |= _component(f"predicates.{name}", f"spec.predicates.{name}", _members(named, name, name), ("type",))
    names: Iterable[str] = (f"t{index}" for index in range(len(steps)))
    lists = {"transforms": ",".join(names), "predicates": ",".join(named)}
    return {**{name: value for name, value in lists.items() if value}, **made}


def _component(at: str, path: str, given: Mapping[str, Any], own: Iterable[str]) -> Options:
    config = flatten(_members(given, "config", f"{path}.config"))
    return {f"{at}.{name}": given[name] for name in own if name in given} | {f"{at}.{n}": value for n, value in config}


def _offsets(given: Mapping[str, Any]) -> Options:
    """Where offsets are kept, in the words of a connector's configuration."""
    made: Options = {}
    if "flushMs" in given:
        made["offset.flush.interval.ms"] = given["flushMs"]
    for name, value in given.items():
        if name not in _OFFSET_STORES:
            continue
        store, begin = _OFFSET_STORES[name]
        made["offset.storage"] = store
        own = dict(flatten(_members({name: value}, name, f"spec.source.offset.{name}")))
        own.pop("fileName", None)  # the state has a file of its own
        made |= {f"{begin}{_dotted(option.removeprefix('config.'))}": each for option, each in own.items() if each}
    return made


def _dotted(name: str) -> str:
    """`sslEnabled` in a resource is `ssl.enabled` in properties."""
    return re.sub(r"(?<=[a-z])([A-Z])", lambda found: f".{found[1].lower()}", name)


def _members(tree: Mapping[str, Any], name: str, path: str) -> Mapping[str, Any]:
    found = tree.get(name) or {}
    if not isinstance(found, dict):
        raise ConfigError(f"{path}: should hold options with their values")
    return found
