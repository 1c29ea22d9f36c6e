"""The tables read back for `cdc diff`: mirrors with the changes that wait beside them, of histories what has no end."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc

from cdckit.api.held import Barrier, Image, ImageColumns
from cdckit.errors import SinkError
from cdckit.tables.arrow_compute import pyarrow_type
from cdckit.tables.images import TableImages
from cdckit.tables.lake.arrow_types import arrow_type
from cdckit.tables.lake.deferred import SUFFIX
from cdckit.tables.lake.faults import Faults
from cdckit.tables.lake.folding import KEPT, absent_columns, in_order, newest
from cdckit.tables.lake.options import LakeOptions
from cdckit.tables.lake.target import LakeTarget, Version
from cdckit.tables.layout import ABSENT, END, OP, POSITION
from cdckit.tables.row_texts import put_together, split


class LakeImages(TableImages):
    """Of the tables of one sink.

    Args:
        config: the sink's options.
        target: gives a topic's table.
        faults: how the library that reads them tells what is wrong.
    """

    keeps = True

    def __init__(self, config: LakeOptions, target: Callable[[str], LakeTarget], faults: Faults) -> None:
        super().__init__(config)
        self._target = target
        self._faults = faults
        self._kinds: tuple[type[Exception], ...] = (*faults.kinds, OSError)
        self._opened: dict[str, Version] = {}
        self._barrier: Barrier | None = None
        self._ends = config.mode == "history"

    def until(self, barrier: Barrier) -> None:
        """By the versions of the tables, each of which says which batch it has."""
        self._barrier = barrier

    def _schema(self, topic: str) -> pa.Schema | None:
        target = self._target(topic)
        table = self._version(target, self._side_version(target))
        if table is None:
            return None
        self._opened[topic] = table
        return table.schema()

    def _type_named(self, name: str) -> pa.DataType:
        return pyarrow_type(arrow_type(name))

    def _version(self, target: LakeTarget, applied: int | None = None) -> Version | None:
        """A table as it is now, or as it was at the barrier.

        Args:
            target: the table.
            applied: the last version of the changes beside it that it may have.
        """
        try:
            if (at := self._barrier) is None:
                return target.now()
            return target.at_batch(at.application, at.batch, applied)
        except self._kinds as error:
            said = f"table {target}: {self._faults.reason(error)}; nothing can be compared"
            raise SinkError(said) from self._faults.cause(error)

    def _side_version(self, target: LakeTarget) -> int | None:
        """The last version of the changes beside a mirror that counts; None: there are none, or all count."""
        side = self._version(target.beside(SUFFIX)) if self._barrier is not None and self._mirror else None
        return None if side is None else side.number

    def _scan(self, topic: str, names: Sequence[str]) -> Iterator[pa.RecordBatch]:
        if not self._ends:
            return self._opened[topic].scan(names)
        rows = self._opened[topic].scan([*names, END])
        return (batch.filter(pc.is_null(batch.column(END))).drop_columns([END]) for batch in rows)

    def _held(self, topic: str) -> Iterator[Sequence[Image]]:
        # What waits is looked at first: what is merged meanwhile is then in both, and the mirror's row is as new.
        waiting = self._waiting(topic) if self._mirror else {}
        if self._schema(topic) is None:
            return
        for images in super()._held(topic):
            yield [_chosen(image, waiting.pop(image.key, None)) for image in images] if waiting else images
        self._opened.pop(topic, None)
        yield [one.image for one in waiting.values() if one.image.row is not None]

    def _held_columns(self, topic: str) -> Iterator[ImageColumns | Iterable[Image]]:
        waits = self._mirror and self._target(topic).beside(SUFFIX).exists()
        return self._held(topic) if waits else super()._held_columns(topic)

    def _waiting(self, topic: str) -> dict[bytes | None, _Waiting]:
        """By key, the newest of the changes that wait beside a mirror."""
        side = self._version(self._target(topic).beside(SUFFIX))
        if side is None or not side.has_rows:
            return {}
        names = [*self._names(topic), OP, ABSENT]
        schema = side.schema()
        present = pa.schema([schema.field(name) for name in names if name in schema.names])
        changes = in_order(pa.Table.from_batches(list(side.scan(present.names)), present))
        absent = [name for name in absent_columns(changes) if name in present.names]
        folded = newest(changes, self._keys[topic], absent, None).combine_chunks()
        found: dict[bytes | None, _Waiting] = {}
        for rows in folded.to_batches():
            gone = [op == "d" for op in rows.column(OP).to_pylist()]
            kept = [
                (at, rows.column(KEPT + name).to_pylist())
                for at, name in enumerate(self._columns[topic])
                if name in absent
            ]
            images = self.images(topic, rows, gone, rows.column(POSITION).to_pylist())
            for number, image in enumerate(images):
                found[image.key] = _Waiting(image, tuple(at for at, flags in kept if flags[number]))
        return found


@dataclass(frozen=True, slots=True)
class _Waiting:
    """A change that waits.

    Attributes:
        image: what it makes of the row.
        kept: the numbers of the columns whose values stay as they are in the mirror.
    """

    image: Image
    kept: tuple[int, ...]


def _chosen(held: Image, waiting: _Waiting | None) -> Image:
    """The newer of a mirror's row and the change that waits for it."""
    if waiting is None or held.position >= waiting.image.position:
        return held
    image = waiting.image
    if not waiting.kept or image.row is None or held.row is None:
        return image
    old, new = split(held.row), split(image.row)
    for at in waiting.kept:
        new[at] = old[at]
    return image._replace(row=put_together(new))
