"""Rows of a table as hashes of their images; in the workers that read it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

import pyarrow as pa

from cdckit import Hashing, Image, ImageHashes
from cdckit.tables.emptied import Place, is_behind
from cdckit.tables.hashed_images import hashed, packet, wanted_places
from cdckit.tables.layout import POSITION
from cdckit.tables.row_images import RowImages


@dataclass(frozen=True, slots=True)
class TableHashes:
    """Makes packets of hashes.

    Attributes:
        topic: whose table it is.
        rows: makes the images, as the driver does.
        hashing: how they are hashed.
        mirror: whether the table is a mirror.
        emptied: the source tables that a changelog tells were emptied, and where last.
    """

    topic: str
    rows: RowImages
    hashing: Hashing
    mirror: bool
    emptied: Mapping[Place, str]

    def made(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """The packets of Arrow batches."""
        for batch in batches:
            if batch.num_rows:
                yield packet(self._of(batch))

    def _of(self, batch: pa.RecordBatch) -> ImageHashes:
        kept = batch.filter(pa.array(is_behind(batch, self.emptied))) if self.emptied else batch
        found = self.rows.texts(self.topic, kept)
        if found is None:
            return ImageHashes(self.topic, undecidable=self.rows.undecidable[self.topic])
        keys, whole = found[0], list[bytes | None](found[1])
        positions = None
        if not self.mirror:
            gone = kept.column("__deleted").to_pylist()
            whole = [None if removed else row for row, removed in zip(whole, gone, strict=True)]
            positions = kept.column(POSITION).to_pylist()
        made = hashed(self.topic, keys, whole, self.hashing, positions)
        return replace(made, wanted=self._wanted(kept, made))

    def _wanted(self, rows: pa.RecordBatch, made: ImageHashes) -> tuple[Image, ...]:
        """The images of the wanted keys, with all that is told of them."""
        places = wanted_places(made, self.hashing)
        if not places:
            return ()
        chosen = rows.take(pa.array(places))
        gone = () if self.mirror else chosen.column("__deleted").to_pylist()
        return tuple(self.rows.images(self.topic, chosen, gone, chosen.column(POSITION).to_pylist()))
