"""The contract of a sink, held to by the file sink."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from cdckit.testing import Delivered, SinkSuite


class TestFileSink(SinkSuite):
    type_name = "file"

    @pytest.fixture(autouse=True)
    def _own_file(self, tmp_path: Path) -> None:
        self.path = tmp_path / "events.jsonl"

    def options(self) -> Mapping[str, Any]:
        return {"path": str(self.path)}

    def delivered(self) -> Sequence[Delivered]:
        lines = [json.loads(line) for line in self.path.read_text().splitlines()]
        return [Delivered(line["topic"], line["key"], line["value"]) for line in lines]
