"""Brings what Spark's Python processes on the driver's machine log, and the planner's notices, to the driver.

The planner may ask the driver something, too.

The driver listens on a Unix socket that only its user can reach; the others send pickled messages. A process that
cannot reach it (on another machine) logs to its own standard error, where the cluster keeps it.
"""

from __future__ import annotations

import logging
import os
import shutil
import tempfile
import threading
from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import cache
from multiprocessing.connection import Client, Connection, Listener
from pathlib import Path
from typing import Any, Literal

from cdckit.api.notices import Notice
from cdckit.engine.spark.job import Job
from cdckit.engine.spark.long_texts import ReceivedTexts, SentTexts
from cdckit.engine.spark.notices import ProcessNotices
from cdckit.errors import StateError

log = logging.getLogger("cdckit.runner")


Answers = Mapping[str, Callable[..., Any]]
"""What the driver is asked for, by name."""


class Relay:
    """The driver's end.

    Args:
        notices: takes what the others tell.
        answers: what others may ask for.
    """

    def __init__(self, notices: ProcessNotices, answers: Answers | None = None) -> None:
        self._notices = notices
        self._answers = answers or {}
        # A socket's file has its folder's protection, which is its user's alone; pickle is read from nobody else.
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
        received = ReceivedTexts()
        with connection, suppress(EOFError, OSError):
            while not self._closed:
                kind, content = received.loads(connection.recv_bytes())
                if kind == "log":
                    logging.getLogger(content["name"]).handle(logging.makeLogRecord(content))
                elif kind == "ask":
                    connection.send(self._answer(**content))
                else:
                    content.tell(self._notices)

    def _answer(self, what: str, arguments: tuple[Any, ...]) -> tuple[Any, str]:
        """The answer, and what went wrong instead; empty where nothing did."""
        try:
            return self._answers[what](*arguments), ""
        except Exception as error:
            log.debug("asked for %s", what, exc_info=True)
            return None, str(error) or type(error).__name__

    def close(self) -> None:
        """Stops listening. May be called twice."""
        if not self._closed:
            self._closed = True
            self._listener.close()
            shutil.rmtree(self._folder, ignore_errors=True)


class Driver:
    """The driver, as seen from another process. Threads may use it at the same time."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._lock = threading.Lock()
        self._sent = SentTexts()

    def send(self, kind: Literal["log", "notice"], content: Any) -> None:
        """Tells it something; nothing where it has gone."""
        with self._lock, suppress(OSError):
            self._connection.send_bytes(self._sent.dumps((kind, content)))

    def ask(self, what: str, *arguments: Any) -> Any:
        """Its answer.

        Raises:
            StateError: it has none; the message says why.
        """
        try:
            with self._lock:
                self._connection.send_bytes(self._sent.dumps(("ask", {"what": what, "arguments": arguments})))
                answer, fault = self._connection.recv()
        except (OSError, EOFError) as error:
            raise StateError("the driver has gone away") from error
        if fault:
            raise StateError(fault)
        return answer


@cache
def connect(address: str, level: int) -> Driver | None:
    """What leads to the driver, once for each process; from now on this process's logs go there too.

    Returns:
        None where the driver cannot be reached.
    """
    if not os.path.exists(address):  # noqa: PTH110 - an address
        return None
    try:
        connection = Client(address, "AF_UNIX")
    except OSError:
        return None
    driver = Driver(connection)
    root = logging.getLogger()
    # Spark's own handler writes to a standard error that ends in the JVM's log, without level and name.
    root.handlers[:] = [_Sending(driver)]
    root.setLevel(level)
    return driver


def driver_of(job: Job) -> Driver | None:
    """The driver of a query; None where there is none to be reached."""
    return connect(job.relay, job.log_level) if job.relay else None


class RelayedNotices(ProcessNotices):
    """A worker's notices, told in the driver's process, where the listeners are.

    Args:
        driver: leads there.
        definitions: whether somebody there asks for tables' definitions.
    """

    def __init__(self, driver: Driver, *, definitions: bool = False) -> None:
        self._driver = driver
        self._definitions = definitions

    @property
    def wants_definitions(self) -> bool:
        """Whether somebody asks for them."""
        return self._definitions

    def tell(self, notice: Notice) -> None:
        """Sends it; there its method is called."""
        self._driver.send("notice", notice)


def relayed(job: Job) -> RelayedNotices | None:
    """What tells the driver of a notice; None where there is no driver to be reached."""
    driver = driver_of(job)
    return None if driver is None else RelayedNotices(driver, definitions=job.pipeline.lineage is not None)


class _Sending(logging.Handler):
    """Sends records with their message and traceback made out, as everything else may not be picklable."""

    def __init__(self, driver: Driver) -> None:
        super().__init__()
        self._driver = driver

    def emit(self, record: logging.LogRecord) -> None:
        """Sends a record to the driver's log."""
        text = record.getMessage()
        if record.exc_info:
            text = f"{text}\n{logging.Formatter().formatException(record.exc_info)}"
        plain = {key: value for key, value in vars(record).items() if isinstance(value, str | int | float | None)}
        self._driver.send("log", {**plain, "msg": text, "args": None, "exc_info": None, "exc_text": None})
