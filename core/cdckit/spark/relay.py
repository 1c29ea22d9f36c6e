"""Brings what Spark's Python processes on the driver's machine log, and the planner's notices, to the driver.

The driver listens on a Unix socket that only its user can reach; the others send pickled messages. A process that
cannot reach it (on another machine) logs to its own standard error, where the cluster keeps it.
"""

from __future__ import annotations

import logging
import os
import shutil
import tempfile
import threading
from collections.abc import Callable
from contextlib import suppress
from functools import cache
from multiprocessing.connection import Client, Connection, Listener
from pathlib import Path
from typing import Any

from cdckit.source import Notify
from cdckit.spark.job import Job


class Relay:
    """The driver's end."""

    def __init__(self, notify: Notify) -> None:
        self._notify = notify
        self._folder = Path(tempfile.mkdtemp(prefix="cdckit-"))
        self.address = str(self._folder / "relay")
        self._listener = Listener(self.address, "AF_UNIX")
        self._closed = False
        threading.Thread(target=self._accept, name="cdckit-relay", daemon=True).start()

    def _accept(self) -> None:
        while not self._closed:
            try:
                connection = self._listener.accept()
            except (OSError, EOFError):
                continue
            threading.Thread(target=self._listen, args=[connection], name="cdckit-relay", daemon=True).start()

    def _listen(self, connection: Connection) -> None:
        with connection, suppress(EOFError, OSError):
            while not self._closed:
                kind, content = connection.recv()
                if kind == "log":
                    logging.getLogger(content["name"]).handle(logging.makeLogRecord(content))
                else:
                    self._notify(kind, **content)

    def close(self) -> None:
        """Stops listening. May be called twice."""
        if not self._closed:
            self._closed = True
            self._listener.close()
            shutil.rmtree(self._folder, ignore_errors=True)


Send = Callable[[str, dict[str, Any]], None]


@cache
def connect(address: str, level: int) -> Send | None:
    """What sends to the driver, once for each process; from now on this process's logs go there too.

    Returns:
        None where the driver cannot be reached.
    """
    if not os.path.exists(address):  # noqa: PTH110 - an address
        return None
    try:
        connection = Client(address, "AF_UNIX")
    except OSError:
        return None
    lock = threading.Lock()

    def send(kind: str, content: dict[str, Any]) -> None:
        with lock, suppress(OSError):
            connection.send((kind, content))

    root = logging.getLogger()
    root.handlers[:] = [_Sending(send)]
    root.setLevel(level)
    return send


def relayed(job: Job) -> Notify | None:
    """What tells the driver of a notice; None where there is no driver to be reached."""
    send = connect(job.relay, job.log_level) if job.relay else None
    if send is None:
        return None
    reach = send

    def notify(notice: str, /, **facts: Any) -> None:
        reach(notice, facts)

    return notify


class _Sending(logging.Handler):
    """Sends records with their message and traceback made out, as everything else may not be picklable."""

    def __init__(self, send: Send) -> None:
        super().__init__()
        self._send = send

    def emit(self, record: logging.LogRecord) -> None:
        """Sends one record."""
        text = record.getMessage()
        if record.exc_info:
            text = f"{text}\n{logging.Formatter().formatException(record.exc_info)}"
        plain = {key: value for key, value in vars(record).items() if isinstance(value, str | int | float | None)}
        self._send("log", {**plain, "msg": text, "args": None, "exc_info": None, "exc_text": None})
