"""Debezium's embedded engine in a process of its own: `debezium_engine.py OPTIONS OUTPUT JARS`.

OPTIONS is a file of its properties. It appends its events to OUTPUT, a JSON line each, as the file sink of cdckit does;
JARS is the folder of Debezium's jars. It ends with 0 on SIGTERM, and with 1 where the engine ends by itself.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import threading
from pathlib import Path
from typing import Any

_ENGINE = "io.debezium.engine.DebeziumEngine"


class Appender:
    """Takes the engine's batches, as Java calls it.

    Args:
        output: a line that a kill has torn is cut off at its end.
    """

    def __init__(self, output: Path) -> None:
        self._output = output.open("ab", buffering=0)
        whole = output.read_bytes().rfind(b"\n") + 1
        self._output.truncate(whole)
        self.ended = threading.Event()
        self.failed = False

    def handleBatch(self, records: Any, committer: Any) -> None:  # noqa: N802 - Java's name
        """Appends the events, and tells that they are kept."""
        lines = [_line(record) for record in records]
        try:
            _write(self._output.fileno(), b"".join(lines))
        except OSError as error:  # of which the engine would tell no more than that there was one
            print(f"{self._output.name}: {error}", flush=True)
            raise
        for record in records:
            committer.markProcessed(record)
        committer.markBatchFinished()

    def supportsTombstoneEvents(self) -> bool:  # noqa: N802 - Java's name
        """They are records like others."""
        return True

    def handle(self, success: bool, message: Any, error: Any) -> None:
        """The engine has ended."""
        self.failed = not success
        if not success:
            print(f"the engine has failed: {message} {error}", flush=True)
            while error is not None:
                print(f"because of: {error}", flush=True)
                error = error.getCause()
        self.ended.set()


def _write(file: int, data: bytes) -> None:
    """All of it, or nothing but an error; a line that is torn is cut off at the next start."""
    while data:
        data = data[os.write(file, data) :]


def _line(record: Any) -> bytes:
    key, value = (None if part is None else json.loads(str(part)) for part in (record.key(), record.value()))
    return json.dumps({"topic": str(record.destination()), "key": key, "value": value}).encode() + b"\n"


def main(options: Path, output: Path, jars: Path) -> None:
    """Runs an engine until it ends, or until SIGTERM ends it."""
    import jpype  # noqa: PLC0415 - this program alone has Java

    jpype.startJVM("-Xmx256m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Xrs", classpath=[f"{jars}/*"])
    appender = Appender(output)
    engine = _engine(options, appender)
    stopped = threading.Event()
    signal.signal(signal.SIGTERM, lambda *_: stopped.set())
    jpype.JClass("java.lang.Thread")(engine).start()
    while not appender.ended.wait(0.1):
        if stopped.is_set():
            engine.close()
            break
    sys.stdout.flush()
    os._exit(0 if stopped.is_set() and not appender.failed else 1)  # threads of a client may outlive their engine


def _engine(options: Path, appender: Appender) -> Any:
    from jpype import JClass, JProxy  # noqa: PLC0415 - as above

    JClass("java.util.logging.LogManager").getLogManager().reset()
    properties = JClass("java.util.Properties")()
    properties.load(JClass("java.io.FileReader")(str(options)))
    json_format = JClass("io.debezium.engine.format.Json").class_
    return (
        JClass(_ENGINE)
        .create(json_format, json_format, json_format)
        .using(properties)
        .using(JProxy(f"{_ENGINE}$CompletionCallback", inst=appender))
        .notifying(JProxy(f"{_ENGINE}$ChangeConsumer", inst=appender))
        .build()
    )


if __name__ == "__main__":
    main(*map(Path, sys.argv[1:4]))
