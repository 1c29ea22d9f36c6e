"""Avro with a schema registry over HTTP: real topics, a real registry, keys and values in Confluent's wire format."""

from __future__ import annotations

import base64
import json
import struct
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import pytest

from cdckit.errors import ConfigError, DecodeError, RetriableSourceError, SourceError
from cdckit_ticdc.config import DebeziumConfig
from cdckit_ticdc.message import Message
from cdckit_ticdc.registry import Registry
from testkit.servers.ports import free_port
from testkit.servers.schema_registry import SchemaRegistry
from ticdc.connect_avro import ConnectAvro
from ticdc.recordings import DATA, lines, scenarios
from ticdc.test_recordings import PROTOCOLS
from ticdc.topics import Topic

DEBEZIUM = Path(__file__).parents[1] / "data" / "debezium"
AVRO = [folder for folder, protocol in PROTOCOLS.items() if protocol in {"avro", "debezium-avro"}]
WITH_SCHEMAS = [
    ("mysql97-mysql-3.6.3", "dml-schema"),
    ("mysql97-mysql-3.6.3", "types"),
    ("mariadb1011-mysql-1.9.7", "types"),
    ("mongo60-3.6.3", "default-schema"),
]


def documents(target: str, scenario: str) -> Iterator[dict[str, Any]]:
    """The recorded messages, keys and values with their schemas."""
    for name in ("snapshot", "stream"):
        for line in (DEBEZIUM / target / scenario / f"{name}.jsonl").read_bytes().splitlines():
            yield json.loads(line)


@pytest.mark.parametrize(("target", "scenario"), WITH_SCHEMAS)
def test_debezium_in_avro(topic: Topic, schema_registry: SchemaRegistry, target: str, scenario: str) -> None:
    """What Debezium was recorded to write, as its users' Avro converter writes it, comes out as it went in."""
    avro = ConnectAvro(schema_registry)
    recorded = list(documents(target, scenario))
    topic.produce(
        Message("", 0, 0, avro.write(f"{topic.name}-key", one["key"]), avro.write(f"{topic.name}-value", one["value"]))
        for one in recorded
    )
    found = topic.once(type="debezium", **{"schema.registry.url": schema_registry.url})
    assert len(found) == len(recorded)
    for line, one in zip(found, recorded, strict=True):
        for part in ("key", "value"):
            assert line[part] == (one[part] and one[part]["payload"])


@pytest.mark.parametrize("folder", AVRO)
def test_ticdc_in_avro(topic: Topic, schema_registry: SchemaRegistry, folder: str) -> None:
    """TiCDC's recorded messages, their schemas now in the registry, become the rows that the recorded schemas give."""
    file = DATA / folder / "schema-registry.json"
    numbers = {
        entry["id"]: schema_registry.register(entry["subject"] + topic.name, entry["schema"])
        for entry in json.loads(file.read_bytes())
    }
    recorded = [
        line.message
        for scenario in scenarios(folder)
        for line in lines(folder, scenario)
        if line.kind == "row" and line.error is None and (line.message.key or line.message.value)
    ]
    topic.produce(
        message._replace(partition=0, key=_renumbered(message.key, numbers), value=_renumbered(message.value, numbers))
        for message in recorded
    )
    options = {"type": "ticdc", "protocol": PROTOCOLS[folder]}
    found = topic.once(**options, **{"schema.registry.url": schema_registry.url})
    path = topic.folder / "recorded.jsonl"
    path.write_text("".join(_line(message) for message in recorded))
    kept = topic.beside("files").once(**options, topics=[], files=[str(path)], **{"schema.registry.url": str(file)})
    assert [(line["key"], _timeless(line["value"])) for line in found] == [
        (line["key"], _timeless(line["value"])) for line in kept
    ]
    assert found


def _renumbered(part: bytes | None, numbers: dict[int, int]) -> bytes | None:
    """A key or value with the id that its schema has in another registry."""
    if part is None:
        return None
    head, number = struct.unpack_from(">bI", part)
    return struct.pack(">bI", head, numbers[number]) + part[5:]


def _line(message: Message) -> str:
    shown = {
        part: None if (value := getattr(message, part)) is None else base64.b64encode(value).decode()
        for part in ("key", "value")
    }
    return json.dumps({"topic": "t", **shown, "key_encoding": "base64", "value_encoding": "base64"}) + "\n"


def _timeless(value: dict[str, Any]) -> dict[str, Any]:
    return {name: part for name, part in value.items() if not name.startswith("ts_")}


@pytest.mark.parametrize("source", [{"type": "debezium"}, {"type": "ticdc", "protocol": "avro"}])
def test_an_id_that_the_registry_lacks(topic: Topic, schema_registry: SchemaRegistry, source: dict[str, str]) -> None:
    """The topic, the partition, the offset, the registry and the id."""
    topic.produce([Message("", 1, 0, None, b"\0\0\0\xff\xff\x02")])
    place = f"topic {topic.name}, partition 1, offset 0: the schema registry {schema_registry.url}"
    with pytest.raises(DecodeError, match=f"{place} has no schema with id 65535"):
        topic.once(**source, **{"schema.registry.url": schema_registry.url})


def test_avro_without_a_registry_is_named(topic: Topic) -> None:
    topic.produce([Message("", 1, 0, None, b"\0\0\0\0\x01\x02")])
    with pytest.raises(DecodeError, match=r"partition 1, offset 0: .*give 'schema\.registry\.url'"):
        topic.once(type="debezium")


def test_a_url_that_is_no_registry(schema_registry: SchemaRegistry) -> None:
    """A path that is left out is no schema that is missing."""
    url = schema_registry.url.removesuffix("/apis/ccompat/v7")
    with pytest.raises(SourceError, match="does not answer as a schema registry does"):
        Registry(url).schema(1)


def test_a_registry_that_is_away() -> None:
    with pytest.raises(RetriableSourceError, match="cannot be reached"):
        Registry(f"http://127.0.0.1:{free_port()}").schema(1)


def test_a_schema_of_another_kind(schema_registry: SchemaRegistry, unique_name: str) -> None:
    schema = {"$schema": "http://json-schema.org/draft-07/schema#", "type": "object"}
    number = schema_registry.register(unique_name, schema, kind="JSON")
    with pytest.raises(DecodeError, match=f"schema {number} is of type JSON"):
        Registry(schema_registry.url).schema(number)


def test_credentials(schema_registry: SchemaRegistry, unique_name: str) -> None:
    """They are sent as Basic authentication; a refusal names the option, and never the password."""
    number = schema_registry.register(unique_name, {"type": "record", "name": "r", "fields": []})
    with _guarded(schema_registry, "reader:never-shown") as url:
        assert Registry(url, "reader:never-shown").schema(number).written["name"] == "r"
        with pytest.raises(SourceError, match=r"refuses.*schema\.registry\.basic\.auth\.user\.info") as refused:
            Registry(url, "reader:wrong-one").schema(number)
    assert "wrong-one" not in str(refused.value)


def test_credentials_do_not_follow_to_another_host(schema_registry: SchemaRegistry, unique_name: str) -> None:
    number = schema_registry.register(unique_name, {"type": "record", "name": "r", "fields": []})
    with (
        _guarded(schema_registry, "reader:never-shown") as url,
        _redirecting(url) as elsewhere,
        pytest.raises(SourceError, match="refuses"),
    ):
        Registry(elsewhere, "reader:never-shown").schema(number)
    with _redirecting(schema_registry.url) as elsewhere:
        assert Registry(elsewhere, "reader:never-shown").schema(number).number == number


@contextmanager
def _redirecting(url: str) -> Iterator[str]:
    """Another place that sends everybody on to `url`."""

    class Signpost(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(302)
            self.send_header("Location", url + self.path)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, format: str, *args: Any) -> None:
            pass

    with _served(Signpost) as place:
        yield place


@contextmanager
def _guarded(registry: SchemaRegistry, credentials: str) -> Iterator[str]:
    """A gate in front of the registry that lets nobody through but with these credentials."""
    expected = f"Basic {base64.b64encode(credentials.encode()).decode()}"

    class Gate(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            allowed = self.headers.get("Authorization") == expected
            body = registry.get(self.path) if allowed else b""
            self.send_response(200 if allowed else 401)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: Any) -> None:
            pass

    with _served(Gate) as place:
        yield place


@contextmanager
def _served(handler: type[BaseHTTPRequestHandler]) -> Iterator[str]:
    server = HTTPServer(("127.0.0.1", 0), handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def test_a_password_in_the_url_is_refused_unseen() -> None:
    options = {"bootstrap.servers": "x", "topics": "t", "schema.registry.url": "http://me:never-shown@registry"}
    with pytest.raises(ConfigError, match=r"schema\.registry\.basic\.auth\.user\.info") as refused:
        DebeziumConfig.load(options, "source")
    assert "never-shown" not in str(refused.value)
