"""`status.json` in a pipeline's state folder: its figures, for `cdc status`, written at most once a second.

Whoever runs the pipeline holds a lock on `runner` beside it, so that a reader knows whether the process is still there,
however it ended. Nothing of this may stop a pipeline: what cannot be written is left out.
"""

from __future__ import annotations

import fcntl
import json
import logging
import os
import threading
import time
from pathlib import Path
from typing import Any

import orjson

from cdckit.engine.metrics.figures import Figures
from cdckit.engine.metrics.snapshot_figures import TableFigures, now
from cdckit.errors import StateError

log = logging.getLogger("cdckit.status")

STATUS, RUNNER = "status.json", "runner"
FORMAT = 1
_SECONDS = 1.0
_TRIES, _LOOK_SECONDS = 500, 0.002


class StatusFile:
    """Writes the status of one run.

    Args:
        folder: the pipeline's state folder; made when it is missing.
        figures: what is written.
    """

    def __init__(self, folder: Path, figures: Figures) -> None:
        self._path = folder / STATUS
        self._figures = figures
        self._next = 0.0
        self._later: threading.Timer | None = None
        self._one_at_a_time = threading.Lock()
        self._lock = _lock(folder)
        self.write()

    def changed(self) -> None:
        """Writes what is new, at once or, where that was done just now, a second after that."""
        left = self._next - time.monotonic()
        if self._lock is None or self._later is not None:
            return
        if left <= 0:
            self.write()
        else:
            self._later = threading.Timer(left, self._write_later)
            self._later.daemon = True
            self._later.start()

    def _write_later(self) -> None:
        self._later = None
        try:
            self.write()
        except RuntimeError:  # the figures changed under its hands
            self.changed()

    def write(self) -> None:
        """Puts a whole new file in the old one's place, so that no reader meets half of one."""
        if self._lock is None:
            return
        new = self._path.with_suffix(".new")
        with self._one_at_a_time:
            self._next = time.monotonic() + _SECONDS
            try:
                new.touch(0o600)
                new.write_bytes(orjson.dumps(_content(self._figures)))
                new.replace(self._path)
            except OSError as error:
                log.debug("%s cannot be written: %s", self._path, error)

    def close(self) -> None:
        """Writes for the last time, and lets go of the lock."""
        if self._later is not None:
            self._later.cancel()
        self.write()
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None


def read_status(folder: Path) -> dict[str, Any] | None:
    """What the last run has written, with `alive`: whether its process is still there. None where none has.

    Raises:
        StateError: the file is there and cannot be read.
    """
    path = folder / STATUS
    try:
        status: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return None
    except (OSError, RecursionError, ValueError) as error:
        raise StateError(
            f"status file {path}: {error}; the next run of the pipeline writes it anew", number="CDC7102"
        ) from error
    if not isinstance(status, dict) or status.get("format") != FORMAT:
        raise StateError(
            f"status file {path}: another version of cdckit wrote it; the next run writes it anew", number="CDC7102"
        )
    return {**status, "alive": _is_held(folder / RUNNER)}


def _lock(folder: Path) -> int | None:
    """The descriptor that holds the lock while it is open; None where another run has it, or there can be none."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        descriptor = os.open(folder / RUNNER, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    except OSError:
        return None
    for _ in range(_TRIES):
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if _is_held(folder / RUNNER):
                break
            time.sleep(_LOOK_SECONDS)  # somebody looks whether it is held, and holds it for as long as that takes
        except OSError:
            break
        else:
            return descriptor
    os.close(descriptor)
    return None


def _is_held(path: Path) -> bool:
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(descriptor)
    return False


def _content(figures: Figures) -> dict[str, Any]:
    return {
        "format": FORMAT,
        "pipeline": figures.pipeline,
        "source": figures.source,
        "runner": figures.runner,
        "pid": os.getpid(),
        "state": figures.state,
        "error": figures.error,
        "error_type": figures.error_type,
        "error_number": figures.error_number,
        "started": figures.started,
        "written": now(),
        "metrics": figures.metrics,
        "connected": figures.connected,
        "disconnects": figures.disconnects,
        "disconnected_by": figures.disconnected_by,
        "saved": figures.saved,
        "log_time": figures.log_time,
        "lag_seconds": figures.lag_seconds,
        "lag_bytes": figures.lag_bytes,
        "lag_messages": figures.lag_messages,
        "source_lag": figures.pace.source_lag,
        "sink_lag": figures.pace.sink_lag,
        "records": figures.records,
        "log_bytes": figures.log_bytes,
        "operations": dict(figures.counts.operations),
        "skipped": dict(figures.counts.skipped),
        "quarantined": dict(figures.faults.quarantined),
        "quarantine_kept": figures.faults.kept,
        "left_out": dict(figures.faults.left_out),
        "commits": list(figures.commits),
        "unmatched": list(figures.unmatched),
        "forecast": None if figures.forecast is None else figures.forecast.to_json(now()),
        "snapshot": _snapshot(figures),
        **figures.place.to_json(),
    }


def _snapshot(figures: Figures) -> dict[str, Any] | None:
    snapshot = figures.snapshot
    if snapshot.state == "none":
        return None
    return {
        "state": snapshot.state,
        "began": snapshot.began,
        "ended": snapshot.ended,
        "seconds": snapshot.seconds,
        "paused": snapshot.paused_since is not None,
        "incremental": snapshot.incremental,
        "tables": {name: _table(table) for name, table in snapshot.tables.items()},
    }


def _table(table: TableFigures) -> dict[str, Any]:
    left = None if table.finished else table.seconds_left
    return {"rows": table.rows, "estimate": table.estimate, "finished": table.finished, "seconds_left": left}
