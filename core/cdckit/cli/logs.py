"""Logs on standard error: lines of text for people, or a JSON object a line for programs."""

from __future__ import annotations

import json
import logging
import sys
import threading
import time
from typing import Any, Literal

from cdckit.cli.repeated import SaidOnce

Format = Literal["text", "json"]
REPEATERS = ("py4j",)
"""Libraries that log, trace and all, the errors that they raise as well: heard at level `debug` alone."""
LEVELS = ("debug", "info", "warning", "error")
_STANDARD = frozenset(vars(logging.makeLogRecord({}))) | {"message", "asctime", "taskName"}


class TextFormatter(logging.Formatter):
    """`2026-02-01T12:00:00.000Z INFO message`."""

    def format(self, record: logging.LogRecord) -> str:
        """One line; more only for a traceback."""
        line = f"{_utc(record)} {record.levelname} {record.getMessage()}"
        return f"{line}\n{self.formatException(record.exc_info)}" if record.exc_info else line


class JsonFormatter(logging.Formatter):
    """`{"time", "level", "logger", "message", …}`; a log call's `extra` gives the other members."""

    def format(self, record: logging.LogRecord) -> str:
        """One line, always."""
        line: dict[str, Any] = {
            "time": _utc(record),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
            **_facts(record),
        }
        if record.exc_info:
            line["exception"] = self.formatException(record.exc_info)
        return json.dumps(line, default=str, ensure_ascii=False)


class StandardError(logging.StreamHandler[Any]):
    """Writes to what is standard error now, so that a live progress line can stand below the logs."""

    def __init__(self) -> None:
        super().__init__(sys.stderr)

    @property
    def stream(self) -> Any:
        """Standard error."""
        return sys.stderr

    @stream.setter
    def stream(self, _stream: Any) -> None:
        """The base class sets it once; standard error stays."""


def configure(log_format: Format, level: str) -> None:
    """Sends all that is logged from `level` on to standard error, with Python's warnings and the faults of threads."""
    handler = StandardError()
    handler.addFilter(SaidOnce())
    handler.setFormatter(JsonFormatter() if log_format == "json" else TextFormatter())
    root = logging.getLogger()
    root.handlers[:] = [handler]
    logging.captureWarnings(True)
    threading.excepthook = _log_fault
    root.setLevel(level.upper())
    for name in REPEATERS:
        logging.getLogger(name).setLevel(logging.NOTSET if level == "debug" else logging.CRITICAL)


def _log_fault(fault: threading.ExceptHookArgs) -> None:
    """What ends a thread, in the format of the logs."""
    name = fault.thread.name if fault.thread else "?"
    logging.getLogger("cdckit").error("the thread %s ended by %r", name, fault.exc_value, exc_info=fault.exc_value)


def _facts(record: logging.LogRecord) -> dict[str, Any]:
    return {name: value for name, value in vars(record).items() if name not in _STANDARD}


def _utc(record: logging.LogRecord) -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(record.created)) + f".{int(record.msecs):03d}Z"
