"""What each step of a chain does to a record."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from cdckit.api.record import Record
from cdckit.engine.chain import LiveStep, TransformChain


@dataclass(frozen=True, slots=True)
class Effect:
    """What one step made of one record.

    Attributes:
        step: the step's name.
        seen: whether its predicate let it see the record.
        before: the record as it came to the step.
        after: what left it; nothing where it was dropped.
    """

    step: str
    seen: bool
    before: Record
    after: Sequence[Record]


def effects(chain: TransformChain, record: Record) -> Iterator[Effect]:
    """The effects of all steps on a record, and on what the steps before made of it.

    Raises:
        TransformError: a step failed; the effects before it were told.
    """
    records: Sequence[Record] = (record,)
    for step in chain.steps:
        alone = TransformChain([step])
        made: list[Record] = []
        for before in records:
            seen = _sees(step, before)
            after = alone.apply((before,)) if seen else (before,)
            yield Effect(step.name, seen, before, after)
            made += after
        records = made


def _sees(step: LiveStep, record: Record) -> bool:
    return step.predicate is None or step.predicate.test(record) is not step.negate
