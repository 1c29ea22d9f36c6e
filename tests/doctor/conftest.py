"""The doctor asked about real pipelines: runs of them, and what it says as JSON."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import yaml

from cdckit.cli.main import call
from cdckit.engine.metrics.status_file import read_status

Finding = dict[str, str]


@dataclass(frozen=True)
class Patient:
    """A pipeline on the direct runner.

    Attributes:
        folder: where its file and its state are.
        options: the file's members.
        output: gives what was printed since it was last asked.
    """

    folder: Path
    options: Mapping[str, Any]
    output: Callable[[], str]

    @property
    def file(self) -> str:
        """Its file."""
        return str(self.folder / "p.yaml")

    def run(self, *more: str) -> int:
        """Delivers what there is; the exit code."""
        return call(["run", self.file, "--once", *more])

    def examined(self, *more: str) -> tuple[int, list[Finding]]:
        """The doctor's exit code, and all that it found."""
        self.output()
        code = call(["doctor", self.file, "--json", *more])
        return code, json.loads(self.output())["findings"]

    def findings(self, *more: str) -> dict[str, Finding]:
        """What is worse than ok, by number."""
        return {one["number"]: one for one in self.examined(*more)[1] if one["severity"] != "ok"}

    def told(self, name: str, *more: str) -> Finding:
        """The one finding of a name."""
        [found] = [one for one in self.examined(*more)[1] if one["name"] == name]
        return found

    @property
    def status(self) -> dict[str, Any]:
        """What its last run has written."""
        found = read_status(self.folder / "state")
        assert found is not None
        return found


NewPatient = Callable[..., Patient]


@pytest.fixture
def patient(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> NewPatient:
    """Makes a pipeline to a file."""

    def new(source: Mapping[str, Any], **others: Any) -> Patient:
        options = {
            "name": "p",
            "runner": "direct",
            "state": "state",
            "source": dict(source),
            "sink": {"type": "file", "path": "out.jsonl"},
            **others,
        }
        (tmp_path / "p.yaml").write_text(yaml.safe_dump(options))
        return Patient(tmp_path, options, lambda: capsys.readouterr().out)

    return new
