"""Avro with a real registry: what is registered, what is refused, what is waited for; read by Confluent's own class."""

from __future__ import annotations

import base64
import io
import json
import logging
import ssl
import threading
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, HTTPServer
from ipaddress import ip_address
from pathlib import Path
from typing import Any

import fastavro
import pytest
from click.testing import CliRunner
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from cryptography.x509.oid import NameOID

from cdckit import logical
from cdckit.api.plugins import config_model, find, make
from cdckit.api.record import Record, SchemaAndValue
from cdckit.api.schema import FLOAT64, INT32, INT64, STRING, Schema, struct_schema
from cdckit.api.struct import Struct
from cdckit.cli.main import cdc
from cdckit.cli.settings import Settings
from cdckit.engine.config.loading import load_pipeline
from cdckit.engine.runners.direct import DirectRunner
from cdckit.engine.serializers.avro.serializer import AvroSerializer
from cdckit.errors import ConfigError, RetriableSinkError, SinkError, TransformError
from core.java_converters import JavaConverter, JavaData, java_map, jpype
from testkit.servers.ports import free_port
from testkit.servers.proxy import MovingAddress
from testkit.servers.schema_registry import SchemaRegistry

KEY = struct_schema("p.shop.t.Key", {"id": INT32})
ROW = struct_schema("p.shop.t.Value", {"id": INT32, "name": STRING.as_optional()})
VALUE = Struct(ROW, (7, "Zoë"))


def serializer(url: str, **options: Any) -> AvroSerializer:
    registration = find("serializer", "avro")
    config, _ = config_model(registration).load({"schema.registry.url": url, **options}, "serializer")
    made: AvroSerializer = make(registration, config)
    return made


def record(topic: str, value: Any = VALUE) -> Record:
    return Record(topic, Struct(KEY, (7,)), value)


def test_what_is_written_is_read_by_confluents_converter(schema_registry: SchemaRegistry, unique_name: str) -> None:
    messages = serializer(schema_registry.url).serialize([record(unique_name)])
    data = JavaData()
    for part, written in (("key", messages.keys[0]), ("value", messages.values[0])):
        reader = JavaConverter(
            data,
            "io.confluent.connect.avro.AvroConverter",
            {"schema.registry.url": schema_registry.url},
            key=part == "key",
        )
        read = reader.java.toConnectData(unique_name, jpype.JArray(jpype.JByte)(written))
        assert str(read.schema().name()) == f"p.shop.t.{part.capitalize()}"
        assert str(read.value().get("id")) == "7"
    assert str(read.value().get("name")) == "Zoë"
    assert json.loads(schema_registry.get(f"/subjects/{unique_name}-value/versions")) == [1]


@pytest.mark.parametrize(
    ("strategy", "subject"),
    [
        ("topic", "{}-value"),
        ("io.confluent.kafka.serializers.subject.RecordNameStrategy", "p.shop.t.Value"),
        ("topic.record", "{}-p.shop.t.Value"),
        ("io.confluent.kafka.serializers.subject.TopicRecordNameStrategy", "{}-p.shop.t.Value"),
    ],
)
def test_subjects(schema_registry: SchemaRegistry, unique_name: str, strategy: str, subject: str) -> None:
    made = serializer(schema_registry.url, **{"value.subject.name.strategy": strategy})
    made.values([record(unique_name)])
    assert json.loads(schema_registry.get(f"/subjects/{subject.format(unique_name)}/versions/latest"))["id"] > 0
    if strategy != "topic":
        with pytest.raises(TransformError, match="its schema is no record"):
            made.values([record(unique_name, SchemaAndValue(STRING, "x"))])


def test_a_schema_must_be_there_where_none_is_registered(schema_registry: SchemaRegistry, unique_name: str) -> None:
    made = serializer(schema_registry.url, **{"auto.register.schemas": False, "normalize.schemas": True})
    said = rf"does not have the schema under the subject {unique_name}-value .*auto\.register\.schemas=true"
    with pytest.raises(SinkError, match=said) as refused:
        made.values([record(unique_name)])
    assert not isinstance(refused.value, RetriableSinkError)
    there = serializer(schema_registry.url).values([record(unique_name)])
    assert made.values([record(unique_name)]) == there


def test_an_incompatible_schema_is_refused_by_name(schema_registry: SchemaRegistry, unique_name: str) -> None:
    made = serializer(schema_registry.url)
    made.values([record(unique_name)])
    keep_compatible(schema_registry, f"{unique_name}-value")
    other = struct_schema("p.shop.t.Value", {"id": STRING, "price": logical.decimal(2, 8)})
    said = (
        rf"does not take the schema for the subject {unique_name}-value, which does not fit version 1: "
        r"id: was int, is string; price: is new, bytes decimal\(8, 2\); "
        r"name: is gone, was null or string with default null; it says: .+"
    )
    with pytest.raises(SinkError, match=said) as refused:
        made.values([record(unique_name, Struct(other, ("7", b"\1")))])
    assert not isinstance(refused.value, RetriableSinkError)


def test_the_version_that_a_schema_does_not_fit(schema_registry: SchemaRegistry, unique_name: str) -> None:
    """A change of a field within a struct, which the version before the latest one is at fault for."""
    made = serializer(schema_registry.url)
    made.values([record(unique_name, event({"id": INT32, "a": INT64}, 7, 8))])
    made.values([record(unique_name, event({"id": INT32}, 7))])
    keep_compatible(schema_registry, f"{unique_name}-value", "BACKWARD_TRANSITIVE")
    said = r"does not fit version 1: after\.a: was long, is string with default \"\"; it says"
    with pytest.raises(SinkError, match=said):
        made.values([record(unique_name, event({"id": INT32, "a": STRING.replace(default="")}, 7, ""))])


def event(members: dict[str, Schema], *values: Any) -> Struct:
    """A struct within another one."""
    row = Struct(struct_schema("p.Row", members), values)
    return Struct(struct_schema("p.Event", {"after": row.schema}), (row,))


def keep_compatible(registry: SchemaRegistry, subject: str, rule: str = "BACKWARD") -> None:
    """Lets the registry take what fits alone."""
    body, kind = json.dumps({"compatibility": rule}).encode(), {"Content-Type": "application/json"}
    asked = urllib.request.Request(f"{registry.url}/config/{subject}", body, kind, method="PUT")
    urllib.request.urlopen(asked, timeout=10).close()


LATEST = {"auto.register.schemas": False, "use.latest.version": True}


def test_the_latest_version_is_written_by(schema_registry: SchemaRegistry, unique_name: str) -> None:
    """Fields by their names, whatever their order; what it has besides by its default, what it lacks not at all."""
    fields = [
        {"name": "more", "type": {"type": "array", "items": "string"}, "default": ["a"]},
        {"name": "name", "type": ["null", "string"], "default": None},
        {"name": "id", "type": ["null", "long"]},
        {"name": "kind", "type": {"type": "enum", "name": "Kind", "symbols": ["x", "y"]}, "default": "y"},
        {"name": "amount", "type": ["double", "null"], "default": 1.5},
    ]
    latest = {"type": "record", "name": "Value", "namespace": "p.shop.t", "fields": fields}
    number = schema_registry.register(f"{unique_name}-value", latest)
    [written] = serializer(schema_registry.url, **LATEST).values([record(unique_name)])
    assert written is not None
    assert int.from_bytes(written[1:5], "big") == number
    JavaData()
    reader = jpype.JClass("io.confluent.kafka.serializers.KafkaAvroDeserializer")()
    reader.configure(java_map({"schema.registry.url": schema_registry.url}), False)
    read = reader.deserialize(unique_name, jpype.JArray(jpype.JByte)(written))
    names = ("more", "name", "id", "kind", "amount")
    assert [str(read.get(name)) for name in names] == ["[a]", "Zoë", "7", "y", "1.5"]


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ([{"name": "id", "type": "string"}], "id: int32 cannot be written as the registered string"),
        (
            [{"name": "id", "type": ["null", "boolean"]}],
            "id: int32 cannot be written as the registered null or boolean",
        ),
        ([{"name": "other", "type": "int"}], "other: the registered schema wants this field"),
    ],
)
def test_a_latest_version_that_does_not_fit(
    schema_registry: SchemaRegistry, unique_name: str, fields: list[dict[str, Any]], said: str
) -> None:
    schema_registry.register(f"{unique_name}-value", {"type": "record", "name": "Value", "fields": fields})
    with pytest.raises(TransformError, match=f"topic {unique_name}, .*{said}"):
        serializer(schema_registry.url, **LATEST).values([record(unique_name)])


def test_a_latest_version_of_another_kind(schema_registry: SchemaRegistry, unique_name: str) -> None:
    schema_registry.register(
        f"{unique_name}-value", {"$schema": "http://json-schema.org/draft-07/schema#", "type": "object"}, kind="JSON"
    )
    with pytest.raises(SinkError, match=f"version latest of the subject {unique_name}-value .*of type JSON"):
        serializer(schema_registry.url, **LATEST).values([record(unique_name)])


def test_a_latest_version_that_refers_to_others(schema_registry: SchemaRegistry, unique_name: str) -> None:
    """Definitions of other subjects stand where they are mentioned first; they mention others in their turn."""
    word = {"type": "record", "name": "Word", "namespace": "p.words", "fields": [{"name": "text", "type": "string"}]}
    line = {"type": "record", "name": "Line", "namespace": "p.lines", "fields": [{"name": "w", "type": "p.words.Word"}]}
    latest = {
        "type": "record", "name": "Value", "namespace": "p.lines",
        "fields": [{"name": "first", "type": "Line"}, {"name": "then", "type": ["null", "p.words.Word"]}],
    }  # fmt: skip
    words, lines = f"{unique_name}-words", f"{unique_name}-lines"
    schema_registry.register(words, word)
    of_words = {"name": "p.words.Word", "subject": words, "version": 1}
    schema_registry.register(lines, line, references=[of_words])
    of_lines = {"name": "p.lines.Line", "subject": lines, "version": 1}
    number = schema_registry.register(f"{unique_name}-value", latest, references=[of_lines, of_words])
    own = struct_schema("Word", {"text": STRING})
    first = Struct(struct_schema("Line", {"w": own}), (Struct(own, ("a",)),))
    value = Struct(struct_schema("V", {"first": first.schema, "then": own.as_optional()}), (first, Struct(own, ("b",))))
    [written] = serializer(schema_registry.url, **LATEST).values([record(unique_name, value)])
    assert written == b"\0" + number.to_bytes(4, "big") + b"\2a\2\2b"


def test_numbers_that_fit_are_written_into_smaller_types(schema_registry: SchemaRegistry, unique_name: str) -> None:
    fields = [{"name": "id", "type": "int"}, {"name": "part", "type": "float"}]
    schema_registry.register(f"{unique_name}-value", {"type": "record", "name": "Value", "fields": fields})
    own = struct_schema("Value", {"id": INT64, "part": FLOAT64})
    with pytest.raises(TransformError, match="id: int64 cannot be written as the registered int"):
        serializer(schema_registry.url, **LATEST).values([record(unique_name, Struct(own, (5, 0.5)))])
    made = serializer(schema_registry.url, **LATEST, **{"latest.compatibility.strict": False})
    [written] = made.values([record(unique_name, Struct(own, (-(2**31), 0.5)))])
    assert written is not None
    read = fastavro.schemaless_reader(
        io.BytesIO(written[5:]), fastavro.parse_schema({"type": "record", "name": "Value", "fields": fields}), None
    )
    assert read == {"id": -(2**31), "part": 0.5}
    with pytest.raises(TransformError, match="2147483648 is no integer of 32 bits"):
        made.values([record(unique_name, Struct(own, (2**31, 0.5)))])


def test_several_registries_are_tried_in_turn(schema_registry: SchemaRegistry, unique_name: str) -> None:
    away = f"http://127.0.0.1:{free_port()}"
    assert serializer(f"{away}, {schema_registry.url}").values([record(unique_name)])
    with pytest.raises(RetriableSinkError, match=rf"schema\.registry\.url: .* cannot be reached: {away}: .*refused"):
        serializer(away).values([record(unique_name)])


def test_a_url_that_is_no_registry(schema_registry: SchemaRegistry, unique_name: str) -> None:
    url = schema_registry.url.removesuffix("/apis/ccompat/v7")
    with pytest.raises(SinkError, match=r"schema\.registry\.url: .* does not answer as a schema registry does"):
        serializer(url).values([record(unique_name)])


BASIC = "Basic bWU6bmV2ZXItc2hvd24="


class _Asked(BaseHTTPRequestHandler):
    """Wants a login, and shows what it was told."""

    told: list[str | None] = []
    status = 401

    def do_GET(self) -> None:
        self.do_POST()

    def do_POST(self) -> None:
        self.told.append(self.headers.get("Authorization"))
        self.send_response(self.status)
        self.end_headers()
        self.wfile.write(b'{"error_code": 1, "message": "no"}')

    def log_message(self, format: str, *args: Any) -> None:
        pass


@contextmanager
def _served(tls: ssl.SSLContext | None = None) -> Iterator[str]:
    server = HTTPServer(("127.0.0.1", 0), _Asked)
    if tls is not None:
        server.socket = tls.wrap_socket(server.socket, server_side=True)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    _Asked.told.clear()
    try:
        yield f"http{'s' if tls else ''}://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


@pytest.fixture
def asked() -> Iterator[str]:
    with _served() as url:
        yield url


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (
            {"basic.auth.user.info": "me:never-shown", "basic.auth.credentials.source": "USER_INFO"},
            BASIC,
        ),
        ({"schema.registry.basic.auth.user.info": "me:never-shown"}, BASIC),
        ({"bearer.auth.token": "never-shown", "bearer.auth.credentials.source": "STATIC_TOKEN"}, "Bearer never-shown"),
    ],
)
def test_logins(asked: str, options: dict[str, str], told: str) -> None:
    made = serializer(asked, **options)
    with pytest.raises(SinkError, match=r"refuses \(HTTP 401\): check basic\.auth\.user\.info") as refused:
        made.values([record("t")])
    assert _Asked.told == [told]
    assert "never-shown" not in f"{refused.value}{made._config!r}"


def test_a_password_in_the_url_is_refused_unseen() -> None:
    with pytest.raises(ConfigError, match=r"belong in basic\.auth\.user\.info") as refused:
        serializer("http://me:never-shown@registry")
    assert "never-shown" not in str(refused.value)


def test_what_validate_finds(schema_registry: SchemaRegistry, asked: str, tmp_path: Path) -> None:
    apicurio = schema_registry.own_url
    found = {
        "ok": [("avro", schema_registry.url), ("avro-apicurio", apicurio)],
        "refuses (HTTP 401)": [("avro", asked), ("avro-apicurio", asked)],
        "does not answer as a schema registry does": [("avro", apicurio), ("avro-apicurio", schema_registry.url)],
        "cannot be reached": [("avro", f"http://127.0.0.1:{free_port()}")],
    }
    for said, cases in found.items():
        for name, url in cases:
            path = tmp_path / "pipeline.json"
            option = "schema.registry.url" if name == "avro" else "apicurio.registry.url"
            source = {"type": "debezium", "files": [str(path)]}
            chosen = {"type": "json", "key": {"type": name, option: url}}
            path.write_text(json.dumps({"runner": "direct", "source": source, "serializer": chosen}))
            result = CliRunner().invoke(
                cdc, ["validate", "--connect", str(path)], obj=Settings(), standalone_mode=False
            )
            [line] = [line for line in result.output.splitlines() if "serializer: schema registry:" in line]
            assert said in line, result.output
            assert (result.return_value, line[:4]) == ((0, "ok  ") if said == "ok" else (4, "fail"))


class _Comes(logging.Handler):
    """Lets the registry come once the runner waits for it."""

    def __init__(self, address: MovingAddress, port: int) -> None:
        super().__init__(logging.WARNING)
        self._address, self._port = address, port
        self.said: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.said.append(record.getMessage())
        self._address.move(self._port)


def test_a_registry_that_is_away_is_waited_for(schema_registry: SchemaRegistry, tmp_path: Path) -> None:
    events = Path(__file__).parents[1] / "data" / "debezium" / "mysql97-mysql-3.6.3" / "dml-schema" / "stream.jsonl"
    path = tmp_path / "pipeline.json"
    with MovingAddress(free_port()) as address:
        url = schema_registry.url.replace(f":{schema_registry.port}/", f":{address.port}/")
        pipeline = {
            "runner": "direct",
            "source": {"type": "debezium", "files": [str(events)]},
            "serializer": {"type": "avro", "schema.registry.url": url, "key.type": "json", "key.schemas.enable": False},
            "sink": {"type": "file", "path": str(tmp_path / "out.jsonl")},
        }
        path.write_text(json.dumps(pipeline))
        comes = _Comes(address, schema_registry.port)
        logging.getLogger("cdckit.runner").addHandler(comes)
        try:
            DirectRunner(load_pipeline(path)).run(once=True)
        finally:
            logging.getLogger("cdckit.runner").removeHandler(comes)
    assert "the schema registry cannot be reached" in comes.said[0]
    written = [json.loads(line) for line in (tmp_path / "out.jsonl").read_text().splitlines()]
    assert len(written) == len(events.read_text().splitlines())
    for line in filter(lambda line: line["value"], written):
        body = base64.b64decode(line["value"])
        schema = json.loads(schema_registry.get(f"/schemas/ids/{int.from_bytes(body[1:5], 'big')}"))["schema"]
        read = fastavro.schemaless_reader(io.BytesIO(body[5:]), fastavro.parse_schema(json.loads(schema)), None)
        assert isinstance(read, dict)
        row: Any = read.get("after") or read.get("before")
        assert row is None or line["key"] is None or line["key"].items() <= row.items()


def test_certificates(tmp_path: Path) -> None:
    """The server's is trusted by its file alone, and the client shows its own."""
    certificate, key = _certificate(tmp_path, "127.0.0.1")
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    context.load_verify_locations(certificate)
    context.verify_mode = ssl.CERT_REQUIRED
    own = tmp_path / "own.pem"
    own.write_bytes(key.read_bytes() + certificate.read_bytes())
    trusted = {"schema.registry.ssl.truststore.location": str(certificate)}
    both = {**trusted, "schema.registry.ssl.keystore.location": str(own)}
    with _served(context) as url:
        with pytest.raises(SinkError, match=r"not trusted .*schema\.registry\.ssl\.truststore\.location") as refused:
            serializer(url).values([record("t")])
        assert not isinstance(refused.value, RetriableSinkError)
        with pytest.raises(RetriableSinkError, match=r"schema\.registry\.url: .* cannot be reached"):
            serializer(url, **trusted).values([record("t")])
        with pytest.raises(SinkError, match="HTTP 401"):
            serializer(url, **both).values([record("t")])
    with pytest.raises(ConfigError, match=r"schema\.registry\.ssl\.truststore\.location: .*cannot be read"):
        serializer(url, **{"schema.registry.ssl.truststore.location": "/none"}).values([record("t")])


def _certificate(folder: Path, host: str) -> tuple[Path, Path]:
    """A certificate that signs itself, and its key."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, host)])
    now = datetime.now(UTC)
    certificate = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(1)
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.IPAddress(ip_address(host))]), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    paths = folder / "certificate.pem", folder / "key.pem"
    paths[0].write_bytes(certificate.public_bytes(Encoding.PEM))
    paths[1].write_bytes(key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()))
    return paths
