"""Writes the scripts of the scripted source, and the pipelines that read them."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from cdckit.api.plugins import config_model, find
from cdckit.engine.config.components import ComponentReader
from cdckit.engine.config.pipeline import Component, ResolvedPipeline
from cdckit.engine.config.steps import read_steps
from cdckit.engine.serializers.json_config import JsonConfig
from cdckit.engine.state.file_config import FileStateConfig
from spark.scripted_source import REGISTRATION, ScriptedConfig
from testkit.running import whole_lines

CUSTOMERS = [["id", "int32"], ["name", "?string"]]


class Script:
    """One scripted log."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        folder.mkdir(parents=True, exist_ok=True)

    def change(
        self,
        op: str,
        after: Mapping[str, Any] | None = None,
        before: Mapping[str, Any] | None = None,
        *,
        table: str = "customers",
        columns: Sequence[Sequence[str]] = CUSTOMERS,
        key: Sequence[str] = ("id",),
        file: str = "log.jsonl",
    ) -> None:
        """Adds a change to the log, or a row to the snapshot."""
        line = {"table": table, "columns": columns, "key": key, "op": op, "before": before, "after": after}
        self._append(file, line)

    def row(self, after: Mapping[str, Any], **how: Any) -> None:
        """Adds a row to the snapshot."""
        self.change("r", after, file="snapshot.jsonl", **how)

    def mark(
        self,
        kind: str,
        *,
        table: str = "customers",
        columns: Sequence[Sequence[str]] = CUSTOMERS,
        key: Sequence[str] = ("id",),
        previous: str | None = None,
        file: str = "log.jsonl",
    ) -> None:
        """Adds a table mark to the log."""
        self._append(file, {"mark": kind, "table": table, "columns": columns, "key": key, "previous": previous})

    def fault(self, kind: str) -> None:
        """Makes the reader fail from here on."""
        self._append("log.jsonl", {"fault": kind})

    def undecodable(self, table: str) -> None:
        """Adds a change that nobody can decode."""
        self._append("log.jsonl", {"undecodable": table})

    def schema_change(self, ddl: str) -> None:
        """Adds a change of definition, which planning tells of."""
        self._append("log.jsonl", {"ddl": ddl})

    def repair(self) -> None:
        """Takes the last line away again."""
        path = self.folder / "log.jsonl"
        path.write_text("".join(path.read_text().splitlines(keepends=True)[:-1]))

    def _append(self, file: str, line: Mapping[str, Any]) -> None:
        with (self.folder / file).open("a") as log:
            log.write(json.dumps(line) + "\n")

    def pipeline(
        self,
        state: Path,
        sink: str,
        /,
        cut_at: int | None = None,
        *,
        waited_for: bool = False,
        attempts: int = -1,
        marks: bool = False,
        transforms: Sequence[Mapping[str, Any]] = (),
        **options: Any,
    ) -> ResolvedPipeline:
        """A pipeline from this script into a sink."""
        given = {"folder": str(self.folder), "cut.at": cut_at, "waited.for": waited_for, "attempts": attempts}
        given["marks"] = marks
        source, _ = ScriptedConfig.load(given, "source")
        registration = find("sink", sink)
        into, _ = config_model(registration).load(
            {name.replace("_", "."): str(value) for name, value in options.items()}, "sink"
        )
        return ResolvedPipeline(
            name="script",
            runner="spark",
            folder=state,
            store=Component(find("state-store", "file"), FileStateConfig(path=state)),
            source=Component(REGISTRATION, source),
            transforms=read_steps(transforms, {}, ComponentReader()),
            serializer=Component(find("serializer", "json"), JsonConfig.load({"schemas.enable": False}, "")[0]),
            sink=Component(registration, into),
            spark={"spark.master": "local[2]"},
        )


def lines(path: Path) -> list[dict[str, Any]]:
    """What the file sink wrote."""
    return whole_lines(path) if path.exists() else []
