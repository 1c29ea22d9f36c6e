"""What a sink's tables held at the place of a ledger, as sums."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from cdckit.api.held import Barrier, Image, Images, Shown
from cdckit.engine.ledger.kept import Place
from cdckit.engine.ledger.row_form import digest
from cdckit.engine.ledger.sums import Sums
from cdckit.engine.ledger.table import TableLedger
from cdckit.engine.proof.comparing import fold_placed
from cdckit.engine.proof.entries import Entries
from cdckit.engine.proof.spill import BUCKETS, Spill
from cdckit.errors import StoppedError


def tell(images: Images, topic: str, table: TableLedger) -> None:
    """Has images of a topic's table carry the hashes that its ledger has."""
    if table.form is not None:
        images.tell(topic, _shown(table), _hashed)


def _shown(table: TableLedger) -> Shown:
    assert table.form is not None
    columns, documents = table.form.columns, table.form.documents
    return Shown(frozenset(columns), table.key, frozenset(documents), types=columns)


def _hashed(text: bytes) -> bytes:
    return digest(text)


class TablesHeld:
    """Reads the tables.

    Args:
        images: what reads them.
        hashed: the hash of a key.
        stopping: once true, it ends.

    Attributes:
        unread: by topic why its table cannot be compared.
    """

    def __init__(self, images: Images, hashed: Callable[[bytes], bytes], stopping: Callable[[], bool]) -> None:
        self._images = images
        self._stopping = stopping
        self._entries = Entries(hashed, positioned=True)
        self.unread: Mapping[str, str] = images.undecidable

    def at(self, place: Place, tables: Mapping[str, TableLedger], folder: Path) -> dict[str, Sums]:
        """By topic the sums of the rows that the tables held at a place.

        Raises:
            SinkError: a table cannot be read.
            StoppedError: it was to end.
        """
        images = self._images
        images.until(Barrier(place.offset or {}, {}, place.application, place.batch))
        for topic, table in tables.items():
            images.show(topic, _shown(table))
            tell(images, topic, table)
        batches = images.held([topic for topic, table in tables.items() if not table.void])
        sums = {topic: Sums() for topic in tables}
        if images.by_position:
            self._folded(batches, sums, folder)
        else:
            for batch in self._each(batches):
                for topic, told in _told_rows(batch):
                    sums[topic].add((told,))
        images.close()
        return sums

    def _folded(self, batches: Iterable[Sequence[Image]], sums: Mapping[str, Sums], folder: Path) -> None:
        """The rows of changelogs: the newest position of each key counts."""
        entries = self._entries
        spill = Spill(folder, "ledger", entries.width)
        for batch in self._each(batches):
            spill.add(entries.told(batch))
        for bucket in range(BUCKETS):
            for told, number in fold_placed(entries.read_placed(spill.bucket(bucket)), once=False).rows.values():
                sums[entries.topics[number]].add((told,))

    def _each(self, batches: Iterable[Sequence[Image]]) -> Iterator[Sequence[Image]]:
        for batch in batches:
            if self._stopping():
                raise StoppedError
            yield batch


def _told_rows(batch: Sequence[Image]) -> Iterator[tuple[str, bytes]]:
    return ((image.topic, image.told) for image in batch if image.row is not None)
