"""The tables read back for `cdc diff`: mirrors together with the changes that wait beside them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import pyarrow as pa
from deltalake import DeltaTable
from deltalake.exceptions import DeltaError

from cdckit import Barrier, Image, ImageColumns, SinkError
from cdckit.tables.delta.arrow_types import arrow_type
from cdckit.tables.delta.folding import KEPT, absent_columns, in_order, newest
from cdckit.tables.delta.target import DeltaTarget, scan
from cdckit.tables.images import TableImages
from cdckit.tables.layout import ABSENT, OP, POSITION
from cdckit.tables.row_texts import put_together, split
from cdckit.tables.versions import at_batch
from cdckit_delta.config import DeltaConfig
from cdckit_delta.deferred import SUFFIX


class LakeImages(TableImages):
    """Of the tables of the sink `delta`.

    Args:
        config: the sink's options.
    """

    keeps = True

    def __init__(self, config: DeltaConfig) -> None:
        super().__init__(config)
        self._place, self._storage = config.place, config.storage
        self._opened: dict[str, DeltaTable] = {}
        self._barrier: Barrier | None = None

    def until(self, barrier: Barrier) -> None:
        """By the versions of the tables, each of which says which batch it has."""
        self._barrier = barrier

    def _schema(self, topic: str) -> pa.Schema | None:
        target = DeltaTarget(self._place, self._storage, topic)
        table = self._version(target, self._side_version(target))
        if table is None:
            return None
        self._opened[topic] = table
        return pa.schema(table.schema())

    def _type_named(self, name: str) -> pa.DataType:
        return arrow_type(name)

    def _version(self, target: DeltaTarget, applied: int | None = None) -> DeltaTable | None:
        """A table as it is now, or as it was at the barrier.

        Args:
            target: the table.
            applied: the last version of the changes beside it that it may have.
        """
        try:
            table = target.table if target.exists() else None
            if table is None or (at := self._barrier) is None:
                return table
            return at_batch(table, at.application, at.batch, applied)
        except (DeltaError, OSError) as error:
            raise SinkError(f"table {target}: {error}; nothing can be compared") from error

    def _side_version(self, target: DeltaTarget) -> int | None:
        """The last version of the changes beside a mirror that counts; None: there are none, or all count."""
        side = self._version(target.beside(SUFFIX)) if self._barrier is not None and self._mirror else None
        return None if side is None else int(side.version())

    def _scan(self, topic: str, names: Sequence[str]) -> Iterator[pa.RecordBatch]:
        table = self._opened[topic]
        return scan(table, pa.schema([pa.schema(table.schema()).field(name) for name in names]))

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
        waits = self._mirror and DeltaTarget(self._place, self._storage, topic).beside(SUFFIX).exists()
        return self._held(topic) if waits else super()._held_columns(topic)

    def _waiting(self, topic: str) -> dict[bytes | None, _Waiting]:
        """By key, the newest of the changes that wait beside a mirror."""
        side = self._version(DeltaTarget(self._place, self._storage, topic).beside(SUFFIX))
        if side is None or not side.file_uris():
            return {}
        names = [*self._names(topic), OP, ABSENT]
        schema = pa.schema(side.schema())
        present = pa.schema([schema.field(name) for name in names if name in schema.names])
        changes = in_order(pa.Table.from_batches(list(scan(side, present)), present))
        absent = [name for name in absent_columns(changes) if name in present.names]
        folded = newest(changes, self._keys[topic], absent, "").combine_chunks()
        found: dict[bytes | None, _Waiting] = {}
        for rows in folded.to_batches():
            gone = [op == "d" for op in rows.column(OP).to_pylist()]
            kept = [
                (at, rows.column(KEPT + name).to_pylist())
                for at, name in enumerate(self._columns[topic])
                if name in absent
            ]
            images = self._images(topic, rows, gone, rows.column(POSITION).to_pylist())
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
