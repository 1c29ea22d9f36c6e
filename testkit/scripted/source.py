"""A source that plays the lines of a script, and follows the file as a log."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from typing import Any

from cdckit import errors
from cdckit.api.batch import Batch
from cdckit.api.checks import Finding
from cdckit.api.record import Offset, Record, SchemaAndValue
from cdckit.api.source import Source, SourceContext, Split
from testkit.scripted.config import ScriptedConfig


class ScriptedSource(Source):
    """Each line of the script is a record's value, `{"raise": ERROR, "say": TEXT}`, or `{"snapshot": TABLE, …}`."""

    def __init__(self, config: ScriptedConfig) -> None:
        self.config = config

    @classmethod
    def check(cls, config: ScriptedConfig) -> Sequence[Finding]:
        if config.script.exists():
            return [Finding("script", "ok", str(config.script))]
        return [Finding("script", "fail", f"{config.script} does not exist", "write it")]

    def open(self, context: SourceContext) -> None:
        self.context = context
        if not self.config.script.exists():
            raise errors.SourceError(f"source.script: {self.config.script} does not exist")

    def initial_offset(self) -> Offset:
        return {"line": 0}

    def latest_offset(self, start: Offset, wait_seconds: float = 0.0) -> Offset:
        return {"line": len(self.config.script_lines())}

    def plan(self, start: Offset, end: Offset | None, parallelism: int = 1) -> Sequence[Split]:
        return [] if start == end else [Split(start, end)]

    def read(self, split: Split) -> Iterator[Batch]:
        at = split.start["line"]
        while split.end is None or at < split.end["line"]:
            lines = self.config.script_lines()[at : split.end["line"] if split.end else None]
            for line in lines:
                at += 1
                yield Batch(self._records(line, at), {"line": at}, log_time_ms=int(time.time() * 1000), log_bytes=1)
            if not lines:
                yield Batch((), {"line": at})
                time.sleep(0.01)
            if self.context.stopping():
                return

    def _records(self, line: dict[str, Any], at: int) -> list[Record]:
        if "raise" in line:
            kind: type[Exception] = getattr(errors, str(line["raise"]), RuntimeError)
            raise kind(line["say"])
        if "snapshot" in line:
            self.context.notices.snapshot_progress(line["snapshot"], line["rows"], line["estimate"], line["finished"])
            return []
        return [Record("events", None, SchemaAndValue(None, line), position=f"{at:08}")]

    def lag_bytes(self, offset: Offset) -> int | None:
        return len(self.config.script_lines()) - int(offset["line"])

    def close(self) -> None:
        pass
