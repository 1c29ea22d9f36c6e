"""Keeps what a source tells, for tests."""

from __future__ import annotations

from typing import Any

from cdckit.api.notices import Notice, Notices
from cdckit.api.notification import Notification


class RecordedNotices(Notices):
    """Every notice in the order in which it came.

    Attributes:
        told: all of them.
    """

    def __init__(self) -> None:
        self.told: list[Notice] = []

    def tell(self, notice: Notice) -> None:
        """Notes the notice, and passes it to nobody."""
        self.told.append(notice)

    def of(self, name: str) -> list[dict[str, Any]]:
        """The facts of all notices of one kind."""
        return [dict(facts) for kind, facts in self.told if kind == name]

    @property
    def notifications(self) -> list[Notification]:
        """Debezium's notifications among them."""
        return [facts["notification"] for facts in self.of("notification")]
