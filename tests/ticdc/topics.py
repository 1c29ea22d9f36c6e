"""Topics of a test's own, and pipelines that read them into files."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from confluent_kafka import Producer

from cdckit.api.source import Source, SourceContext
from cdckit.engine.config.loading import load_pipeline
from cdckit.engine.runners.direct import DirectRunner
from cdckit.engine.runners.stop import StopSignal
from cdckit_ticdc.config import DebeziumConfig, TicdcConfig
from cdckit_ticdc.debezium_source import DebeziumSource
from cdckit_ticdc.message import Message
from cdckit_ticdc.source import TicdcSource
from testkit.running import whole_lines
from testkit.servers.kafka import KafkaBroker


@dataclass(frozen=True, slots=True)
class Topic:
    """A topic of the test's own, and a pipeline that reads it into a file."""

    broker: KafkaBroker
    name: str
    folder: Path

    def produce(self, messages: Iterable[Message]) -> None:
        settings = {"bootstrap.servers": self.broker.bootstrap, "linger.ms": 1, "message.max.bytes": 20_000_000}
        producer = Producer(settings)
        for message in messages:
            producer.produce(self.name, message.value, message.key, message.partition)
        producer.flush()

    def runner(self, stopping: StopSignal | None = None, **source: Any) -> DirectRunner:
        options = {"bootstrap.servers": self.broker.bootstrap, "topics": [self.name], **source}
        return pipeline_to_file(self.folder, options, stopping)

    def once(self, **source: Any) -> list[dict[str, Any]]:
        """Runs to the end, and gives what is new in the file."""
        return pipeline_once(self.folder, {"bootstrap.servers": self.broker.bootstrap, "topics": [self.name], **source})

    def source(self, type: str, **options: Any) -> Source:
        """A source that reads the topic, open."""
        given = {"bootstrap.servers": self.broker.bootstrap, "topics": [self.name], **options}
        made: Source
        if type == "ticdc":
            made = TicdcSource(TicdcConfig.load({"protocol": "debezium", **given}, "source")[0])
        else:
            made = DebeziumSource(DebeziumConfig.load(given, "source")[0])
        made.open(SourceContext("test"))
        return made

    def beside(self, name: str) -> Topic:
        """Another pipeline of the same topic, with files of its own."""
        folder = self.folder / name
        folder.mkdir()
        return replace(self, folder=folder)

    def written(self) -> list[dict[str, Any]]:
        return written(self.folder)


def pipeline_to_file(folder: Path, source: dict[str, Any], stopping: StopSignal | None = None) -> DirectRunner:
    """A pipeline that writes values without schemas."""
    path = folder / "pipeline.yaml"
    pipeline = {
        "name": "to-file",
        "runner": "direct",
        "source": source,
        "sink": {"type": "file", "path": str(folder / "out.jsonl")},
        "serializer": {"type": "json", "schemas.enable": False},
        "state": str(folder / "state"),
        "offset.flush.interval.ms": 1,
    }
    path.write_text(json.dumps(pipeline))
    return DirectRunner(load_pipeline(path), stopping)


def pipeline_once(folder: Path, source: dict[str, Any]) -> list[dict[str, Any]]:
    """Runs a pipeline to the end, and gives what is new in the file."""
    before = len(written(folder))
    pipeline_to_file(folder, source).run(once=True)
    return written(folder)[before:]


def written(folder: Path) -> list[dict[str, Any]]:
    """What the pipelines in a folder have written."""
    path = folder / "out.jsonl"
    return whole_lines(path) if path.exists() else []


def rows_of(written: Iterable[dict[str, Any]]) -> dict[int, Any]:
    """The rows that a consumer of the file ends with."""
    rows: dict[int, Any] = {}
    for line in written:
        value = line["value"]
        if value["op"] == "d":
            rows.pop(line["key"]["id"], None)
        else:
            rows[value["after"]["id"]] = value["after"]
    return rows
