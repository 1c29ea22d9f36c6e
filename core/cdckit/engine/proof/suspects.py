"""Rows that one round hands to the next: what changes on and on is compared until it was equal once."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from cdckit.engine.proof.comparing import Mismatch


@dataclass(slots=True)
class Suspects:
    """Rows that have been equal in no round yet.

    Attributes:
        rows: by topic and the hash of the key, as the last round found them.
        complete: the topics of which all of them are kept, so that every other row has been equal in a round.
    """

    rows: dict[str, Mapping[bytes, Mismatch]] = field(default_factory=dict)
    complete: set[str] = field(default_factory=set)

    def among(self, topic: str, differing: Mapping[bytes, Mismatch], *, more: bool) -> Mapping[bytes, Mismatch]:
        """Those that a round is asked about: what was equal before and merely moves on is none of them.

        Args:
            topic: whose rows.
            differing: what differs in this round.
            more: whether more differs than was kept.
        """
        if more or topic not in self.complete:
            return differing
        known = self.rows[topic]
        return {key: one for key, one in differing.items() if key in known or not one.moved}

    def keep(self, topic: str, differing: Mapping[bytes, Mismatch], *, complete: bool) -> None:
        """Takes those of a round for the next one."""
        self.rows[topic] = differing
        if complete:
            self.complete.add(topic)
