"""A state store that cannot be reached."""

from __future__ import annotations

from collections.abc import Sequence

from cdckit.api.checks import Finding
from cdckit.api.state_store import StateBackend, StateStore, StateView
from cdckit.errors import StateError
from testkit.scripted.config import AwayConfig


class AwayBackend(StateBackend):
    """Is away."""

    def __init__(self, config: AwayConfig) -> None:
        self.config = config

    @classmethod
    def check(cls, config: AwayConfig) -> Sequence[Finding]:
        return [Finding("state store", "fail", f"{config.address} cannot be reached", "start it")]

    def open(self, pipeline: str) -> StateStore:
        raise self._away(pipeline)

    def view(self, pipeline: str) -> StateView:
        raise self._away(pipeline)

    def _away(self, pipeline: str) -> StateError:
        return StateError(f"state.address: {self.config.address} cannot be reached for '{pipeline}'")
