"""What may be kept of records where transforms of the chain conceal something."""

from __future__ import annotations

from collections.abc import Sequence

from cdckit.api.record import Record
from cdckit.engine.chain import TransformChain
from cdckit.errors import TransformError


class Concealment:
    """A chain with transforms that mask or take away what nobody behind them is to see.

    Args:
        chain: the pipeline's.

    Attributes:
        by: the last of those transforms; "" where there is none.
    """

    def __init__(self, chain: TransformChain) -> None:
        self.by = chain.concealing
        self._begin = chain.up_to(self.by) if self.by else None

    def behind(self, record: Record) -> Sequence[Record] | None:
        """What the record is behind those transforms; None where it does not come so far, and shows what they conceal.

        Where nothing is concealed it is the record itself.
        """
        if self._begin is None:
            return [record]
        try:
            return self._begin.apply([record])
        except TransformError:
            return None

    def withheld(self, what: str, topic: str, position: str) -> str:
        """What is said of a record that shows what is concealed, in the place of an error's own words."""
        return (
            f"{what} of topic {topic} at position {position or 'unknown'}; what was said there is withheld, as are key "
            f"and value, for transform '{self.by}', which conceals some of them, comes later"
        )
