"""What the transforms and a sink of tables make of records, without those at fault."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Generic, TypeVar

from cdckit.api.record import Record
from cdckit.engine.blame import naming_the_plugin
from cdckit.engine.chain import StepError
from cdckit.engine.quarantine.delivery import Faults
from cdckit.errors import CdcError, RetriableSinkError, SinkError, TransformError

Made = TypeVar("Made")


class TolerantRows(Generic[Made]):
    """Makes rows of batches; a batch that cannot be is halved until the records at fault are found.

    Args:
        make: what does it: the chain, and the sink as far as it judges single records.
        faulty: takes the records that cannot be.
        sink: what the sink is called.
    """

    def __init__(self, make: Callable[[Sequence[Record]], Iterable[Made]], faulty: Faults, sink: str) -> None:
        self._make = make
        self._faulty = faulty
        self._sink = sink

    def __call__(self, records: Sequence[Record]) -> list[Made]:
        """What is made of those records that do not wait, and that it can be made of.

        Raises:
            CdcError: too many cannot.
        """
        made = self._made(records)
        self._faulty.seen(len(records))
        return made

    def _made(self, records: Sequence[Record]) -> list[Made]:
        if self._faulty.waiting:
            records = self._faulty.due(list(records))
        try:
            return [*self._make(records)]
        except Exception as error:
            ours = isinstance(error, TransformError | SinkError) and not isinstance(error, RetriableSinkError)
            if isinstance(error, CdcError) and not ours:
                raise
            if len(records) == 1:
                self._failed(records[0], error)
                return []
        half = len(records) // 2
        return [*self._made(records[:half]), *self._made(records[half:])]

    def _failed(self, record: Record, error: Exception) -> None:
        if isinstance(error, StepError):
            self._faulty.record_failed(record, "transform", error.step, error)
        else:
            said = str(error) if isinstance(error, CdcError) else naming_the_plugin(error)
            self._faulty.record_failed(record, "write", self._sink, TransformError(said))
