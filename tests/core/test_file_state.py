"""The state store `file` keeps to its contract."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from cdckit.testing import StateStoreSuite


class TestFileStore(StateStoreSuite):
    type_name = "file"
    one_pipeline = True

    @pytest.fixture(autouse=True)
    def _folder(self, tmp_path: Path) -> None:
        self.folder = tmp_path / "state"

    def options(self) -> Mapping[str, Any]:
        return {"path": str(self.folder)}
