"""Every option of Confluent's converters is known: taken, left out with a word, or refused with what to do."""

from __future__ import annotations

import json
import ssl
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import pytest
from cryptography.hazmat.primitives.serialization import (
    BestAvailableEncryption,
    Encoding,
    PrivateFormat,
    load_pem_private_key,
)

from cdckit.api.plugins import config_model, find, make
from cdckit.api.record import Record
from cdckit.api.schema import INT32, INT64, STRING, Schema, struct_schema
from cdckit.api.serializer import Serializer
from cdckit.api.struct import Struct
from cdckit.errors import ConfigError, RetriableSinkError, SinkError, TransformError
from core import test_avro, test_avro_registry
from core.java_converters import JavaData, jpype
from testkit.servers.ports import free_port
from testkit.servers.schema_registry import SchemaRegistry

_CONNECT, _SERIALIZERS = "io.confluent.connect", "io.confluent.kafka.serializers"
_CLASSES = {
    "avro": (
        f"{_CONNECT}.avro.AvroConverterConfig",
        f"{_CONNECT}.avro.AvroDataConfig",
        f"{_SERIALIZERS}.KafkaAvroSerializerConfig",
        f"{_SERIALIZERS}.KafkaAvroDeserializerConfig",
    ),
    "protobuf": (
        f"{_CONNECT}.protobuf.ProtobufConverterConfig",
        f"{_CONNECT}.protobuf.ProtobufDataConfig",
        f"{_SERIALIZERS}.protobuf.KafkaProtobufSerializerConfig",
        f"{_SERIALIZERS}.protobuf.KafkaProtobufDeserializerConfig",
    ),
}
_URL = {"schema.registry.url": "http://none"}
_TOGETHER = {
    "bearer.auth.credentials.source": {"bearer.auth.token": "t"},
    "proxy.host": {"proxy.port": "80"},
}
"""What an option wants beside it."""
_REFUSED = {
    "schema.registry.ssl.keystore.key": "into a PEM file, and name it in schema.registry.ssl.keystore.location",
    "schema.registry.ssl.keystore.certificate.chain": "into a PEM file, and name it in schema.registry.ssl.keystore",
    "schema.registry.ssl.truststore.certificates": "into a PEM file, and name it in schema.registry.ssl.truststore",
}


@pytest.mark.parametrize("name", _CLASSES)
def test_every_option_of_the_classes_is_known_here(name: str) -> None:
    """Its default is taken, where Java has one; a secret that is refused is not shown."""
    JavaData()
    told = dict(pair for java in _CLASSES[name] for pair in _definition(java))
    assert len(told) > 40
    model = config_model(find("serializer", name))
    for option, default in told.items():
        given = {**_URL, **_TOGETHER.get(option, {}), option: default or "1"}
        if option in _REFUSED:
            with pytest.raises(ConfigError, match=rf"s\.{option}: put .*{_REFUSED[option]}") as refused:
                model.load({**given, option: "never-shown"}, "s")
            assert "never-shown" not in str(refused.value)
        else:
            model.load(given, "s")


def _definition(name: str) -> Iterator[tuple[str, str]]:
    """A class's options with their defaults; "" where it has none, or hides it."""
    found: Any = jpype.JClass(name)
    try:
        definition = found.baseConfigDef()
    except AttributeError:
        field = next(
            one for one in found.class_.getDeclaredFields() if str(one.getType().getName()).endswith("ConfigDef")
        )
        field.setAccessible(True)
        definition = field.get(None)
    for key in definition.configKeys().values():
        default = key.defaultValue
        if default is None or not key.hasDefault() or str(default) == "[hidden]":
            yield str(key.name), ""
        elif isinstance(default, jpype.JClass("java.lang.Class")):
            yield str(key.name), str(default.getName())
        else:
            yield str(key.name), str(default).lower() if str(default) in ("True", "False") else str(default).strip("[]")


TAKEN: Mapping[str, tuple[tuple[str, str], ...]] = {
    "avro": (
        ("flatten.singleton.unions", "true"),
        ("avro.use.logical.type.converters", "true"),
        ("avro.remove.java.properties", "true"),
        ("avro.reflection.allow.null", "true"),
        ("specific.avro.reader", "true"),
        ("latest.cache.ttl.sec", "60"),
        ("latest.cache.size", "10"),
        ("rule.service.loader.enable", "false"),
        ("value.schema.id.deserializer", "x.Y"),
    ),
    "protobuf": (("derive.type", "true"), ("specific.protobuf.value.type", "x.Y"), ("flatten.unions", "true")),
    "json-schema": (("json.value.type", "x.Y"), ("flatten.singleton.unions", "true"), ("max.retries", "3")),
}
"""Options of later versions, which mean nothing here."""


@pytest.mark.parametrize("name", TAKEN)
def test_options_of_later_versions(name: str) -> None:
    for option, value in TAKEN[name]:
        _, said = config_model(find("serializer", name)).load({**_URL, option: value}, "s")
        assert any(option in one for one in said), (option, said)


@pytest.mark.parametrize("name", ["avro", "protobuf", "json-schema"])
@pytest.mark.parametrize(
    ("option", "value", "said"),
    [
        ("use.latest.with.metadata", "a=b", "name its id in use.schema.id"),
        ("use.schema.guid", "x", "name the schema's id in use.schema.id"),
        ("context.name.strategy", "x.Y", r"stands in schema\.registry\.url, behind /contexts/"),
        ("rule.executors", "encrypt", "rules of data contracts are not run: mask columns"),
        ("rule.executors.encrypt.class", "x.Y", "rules of data contracts are not run: mask columns"),
        ("value.schema.id.serializer", f"{_SERIALIZERS}.schema.id.HeaderSchemaIdSerializer", "before the message"),
        ("propagate.schema.tags", "true", "not yet supported"),
        ("proxy.port", "80", "proxy.host and proxy.port are given together"),
    ],
)
def test_what_would_be_another_message_is_refused(name: str, option: str, value: str, said: str) -> None:
    with pytest.raises(ConfigError, match=said):
        config_model(find("serializer", name)).load({**_URL, option: value}, "s")


@pytest.mark.parametrize(
    "options",
    [{"allow.optional.map.keys": "true"}, {"discard.type.doc.default": "true"}, {"connect.meta.data": "false"}],
)
def test_schemas_by_options_are_what_they_are_there(options: dict[str, str]) -> None:
    inner = struct_schema("a.In", {"q": INT32.replace(doc="of q", default=3)})
    members = {
        "m": Schema("map", keys=STRING.as_optional(), items=INT64, doc="of m"),
        "s": inner.replace(doc="of s"),
        "o": STRING.replace(optional=True, default="d", doc="of o"),
    }
    value = Struct(struct_schema("a.T", members).replace(doc="of T"), ({"k": 5}, Struct(inner, (1,)), None))
    peer = test_avro.Peer(JavaData(), options)
    expected = peer.write(value)
    assert test_avro.serializer(peer, **options).values([Record("t", None, value)]) == [expected]


def serializer(name: str, url: str, **options: Any) -> Serializer:
    registration = find("serializer", name)
    config, _ = config_model(registration).load({"schema.registry.url": url, **options}, "serializer")
    made: Serializer = make(registration, config)
    return made


ROW = struct_schema("p.Row", {"id": INT32, "name": STRING.as_optional()})
MORE = struct_schema("p.Row", {"id": INT32, "name": STRING.as_optional(), "age": INT32.as_optional()})


@pytest.mark.parametrize("name", ["avro", "json-schema", "protobuf"])
def test_the_schema_of_an_id(schema_registry: SchemaRegistry, unique_name: str, name: str) -> None:
    """It need not be the latest one."""
    first, then = Struct(ROW, (7, "x")), Struct(MORE, (7, "x", None))
    plain = serializer(name, schema_registry.url)
    [expected], [other] = (
        plain.values([Record(unique_name, None, first)]),
        plain.values([Record(unique_name, None, then)]),
    )
    assert expected is not None
    assert other is not None
    number = int.from_bytes(expected[1:5], "big")
    assert number != int.from_bytes(other[1:5], "big")
    by_id = {"auto.register.schemas": False, "use.schema.id": number}
    assert serializer(name, schema_registry.url, **by_id).values([Record(unique_name, None, first)]) == [expected]
    with pytest.raises(SinkError, match=r"use\.schema\.id: .* has no schema of the id 2000000000"):
        lost = {**by_id, "use.schema.id": 2_000_000_000}
        serializer(name, schema_registry.url, **lost).values([Record(unique_name, None, first)])
    misfit = Struct(struct_schema("p.Row", {"id": STRING}), ("x",))
    with pytest.raises(TransformError, match=f"topic {unique_name}"):
        serializer(name, schema_registry.url, **by_id).values([Record(unique_name, None, misfit)])


class _Proxy(BaseHTTPRequestHandler):
    """Answers whatever is asked by its whole URL, as a proxy is."""

    asked: list[str]

    def do_POST(self) -> None:
        self.asked.append(self.path)
        self.rfile.read(int(self.headers["Content-Length"]))
        body = json.dumps({"id": 5}).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: Any) -> None:
        """Nothing."""


@contextmanager
def served(handler: type[BaseHTTPRequestHandler]) -> Iterator[int]:
    server = HTTPServer(("127.0.0.1", free_port()), handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield server.server_address[1]
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def test_a_proxy_is_asked() -> None:
    handler = type("Proxy", (_Proxy,), {"asked": []})
    with served(handler) as port:
        options = {"proxy.host": "127.0.0.1", "proxy.port": port}
        [written] = serializer("avro", "http://registry.invalid/api", **options).values(
            [Record("t", None, Struct(ROW, (1, "x")))]
        )
    assert written is not None
    assert written[:5] == b"\0\0\0\0\5"
    assert handler.asked == ["http://registry.invalid/api/subjects/t-value/versions"]  # type: ignore[attr-defined]


def test_a_locked_key_and_a_certificate_of_another_name(tmp_path: Path) -> None:
    certificate, key = test_avro_registry._certificate(tmp_path, "127.0.0.9")
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    context.load_verify_locations(certificate)
    context.verify_mode = ssl.CERT_REQUIRED
    own, tls = tmp_path / "own.pem", "schema.registry.ssl"
    loaded = load_pem_private_key(key.read_bytes(), None)
    locked = loaded.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, BestAvailableEncryption(b"secret"))
    own.write_bytes(locked + certificate.read_bytes())
    given = {f"{tls}.truststore.location": str(certificate), f"{tls}.keystore.location": str(own)}
    record = Record("t", None, Struct(ROW, (1, "x")))
    with test_avro_registry._served(context) as url:
        with pytest.raises(ConfigError, match=r"schema\.registry\.ssl\.keystore\.location"):
            serializer("avro", url, **given, **{f"{tls}.key.password": "wrong"}).values([record])
        given[f"{tls}.key.password"] = "secret"
        with pytest.raises(SinkError, match="not trusted") as refused:
            serializer("avro", url, **given).values([record])
        assert not isinstance(refused.value, RetriableSinkError)
        with pytest.raises(SinkError, match="HTTP 401"):
            any_name = {f"{tls}.endpoint.identification.algorithm": ""}
            serializer("avro", url, **given, **any_name).values([record])
