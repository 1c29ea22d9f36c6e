"""The wheel brings the test kit, which is no distribution of its own; an editable install finds it where it is."""

from __future__ import annotations

from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class TestKit(BuildHookInterface[Any]):
    """Takes the test kit into wheels."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """See hatchling: `version` is `editable` for an install of that kind."""
        if version != "editable":
            build_data["force_include"]["../testkit"] = "testkit"
