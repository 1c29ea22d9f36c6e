"""`details.json` in a pipeline's state folder: its last hour, what happened to it, and its changes by table.

Written by a thread of its own, every two seconds while something happens and else, or with many tables, every ten, so
that it costs those who read and write nothing. A run goes on with what the one before it has written. Nothing of this
may stop a pipeline.
"""

from __future__ import annotations

import json
import logging
import threading
from pathlib import Path
from typing import Any

import orjson

from cdckit.engine.metrics.figures import Figures
from cdckit.engine.metrics.snapshot_figures import now
from cdckit.engine.metrics.table_changes import TableChanges
from cdckit.engine.metrics.timeline import Timeline
from cdckit.engine.metrics.trend import SAMPLE_SECONDS, kept, sample

log = logging.getLogger("cdckit.status")

DETAILS = "details.json"
FORMAT = 1
WRITE_SECONDS = 2.0
_MANY_TABLES = 500
"""With as many it is written with each sample only: that takes its time."""


class DetailsFile:
    """Writes the details of one run.

    Args:
        folder: the pipeline's state folder, which is there.
        figures: what is written; they take over what an earlier run left.
    """

    def __init__(self, folder: Path, figures: Figures) -> None:
        self._path = folder / DETAILS
        self._figures = figures
        before = read_details(folder)
        figures.timeline = Timeline(before.get("timeline", ()))
        figures.tables = TableChanges(before.get("tables"))
        self._samples = kept(before.get("samples", ()))
        self._new = threading.Event()
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._follow, name="cdckit-details", daemon=True)
        self._thread.start()

    def changed(self) -> None:
        """Has what is new written soon."""
        self._new.set()

    def _follow(self) -> None:
        sampled = 0.0
        while not self._ended.wait(WRITE_SECONDS):
            due = now() - sampled >= SAMPLE_SECONDS
            if due:
                sampled = now()
                self._samples.append(sample(self._figures))
            if due or (self._new.is_set() and len(self._figures.tables.counts) < _MANY_TABLES):
                self._new.clear()
                self._write()

    def _write(self) -> None:
        new = self._path.with_suffix(".new")
        try:
            content = orjson.dumps(self._content())
            new.touch(0o600)
            new.write_bytes(content)
            new.replace(self._path)
        except RuntimeError:  # the figures changed under its hands
            self._new.set()
        except OSError as error:
            log.debug("%s cannot be written: %s", self._path, error)

    def _content(self) -> dict[str, Any]:
        figures = self._figures
        return {
            "format": FORMAT,
            "samples": [list(each) for each in self._samples],
            "timeline": [list(each) for each in figures.timeline.entries],
            "tables": figures.tables.to_json(),
            "captured": list(figures.captured),
        }

    def close(self) -> None:
        """Writes for the last time."""
        self._ended.set()
        self._thread.join()
        self._samples.append(sample(self._figures))
        self._write()


def read_details(folder: Path) -> dict[str, Any]:
    """What the last run has written; empty where none has, or not what can be read."""
    try:
        found = json.loads((folder / DETAILS).read_text(encoding="utf-8"))
    except (OSError, RecursionError, ValueError):
        return {}
    return found if isinstance(found, dict) and found.get("format") == FORMAT else {}
