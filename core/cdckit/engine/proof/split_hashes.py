"""A source's rows as hashes of their images; in Spark's workers, each of which reads some of the splits."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from itertools import groupby
from operator import itemgetter

import pyarrow as pa

from cdckit.api.batch import Batch
from cdckit.api.held import Hashing, Image, ImageColumns, ImageHashes, ImageMaker
from cdckit.api.marks import MarkKind
from cdckit.api.record import Record
from cdckit.api.source import SourceContext, Split
from cdckit.engine.chain import TransformChain, make_chain
from cdckit.engine.config.pipeline import ResolvedPipeline
from cdckit.engine.pipeline import make_source
from cdckit.engine.proof.load import Brake, MaxLoad
from cdckit.engine.proof.snapshot_records import dropped_of, tells_a_row
from cdckit.engine.spark.failures import sealed_errors
from cdckit.errors import SourceError
from cdckit.tables.hashed_images import hashed, packet, wanted_places

_TOGETHER = 8192
"""So many records at least make packets, while a split has more."""


@dataclass(frozen=True, slots=True)
class SplitHashes:
    """Makes packets of hashes.

    Attributes:
        pipeline: whose source is read, by the options of this reading, and whose transforms records pass.
        groups: the splits, those of one task together.
        maker: makes the images, as the driver does.
        hashing: how they are hashed.
        load: how much of the source one task may take.
        tables: those that the maker knows.
    """

    pipeline: ResolvedPipeline
    groups: Sequence[Sequence[Split]]
    maker: ImageMaker
    hashing: Hashing
    load: MaxLoad
    tables: frozenset[str]

    def made(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """The packets of the groups whose numbers come.

        Raises:
            WorkerError: a split cannot be read, or its rows cannot be told.
        """
        with sealed_errors():
            for numbers in batches:
                for number in numbers.column(0).to_pylist():
                    yield from map(packet, self._group(self.groups[number]))

    def _group(self, splits: Sequence[Split]) -> Iterator[ImageHashes]:
        with ExitStack() as stack:
            chain, source = make_chain(self.pipeline.transforms), make_source(self.pipeline)
            stack.callback(chain.close)
            stack.callback(source.close)
            source.open(SourceContext(self.pipeline.name, marks=True))
            brake = Brake(self.load, source, lambda: False)
            for split in splits:
                brake.before_part()
                for records in self._together(source.read(split)):
                    yield from self._hashes(records, chain)
                    brake.took(len(records))

    def _together(self, batches: Iterable[Batch]) -> Iterator[Sequence[Record]]:
        gathered: list[Record] = []
        for batch in batches:
            self._require_known(batch)
            gathered += batch.records
            if len(gathered) >= _TOGETHER:
                yield gathered
                gathered = []
        yield gathered

    def _require_known(self, batch: Batch) -> None:
        begun = {mark.table for mark in batch.marks if mark.kind is MarkKind.SNAPSHOT_BEGIN}
        if unknown := begun - self.tables:
            raise SourceError(f"{sorted(unknown)[0]}: its rows came before it was told of; compare without --on-spark")

    def _hashes(self, records: Sequence[Record], chain: TransformChain) -> Iterator[ImageHashes]:
        telling = [record for record in records if tells_a_row(record)]
        made = chain.apply(telling)
        dropped = sorted({*dropped_of(telling, chain)}) if len(made) < len(telling) else ()
        if dropped:
            yield ImageHashes("", dropped=dropped)
        if self.hashing.wanted:
            yield from self._of_images(self.maker.of(made))
        else:
            for part in self.maker.columns_of(made):
                if isinstance(part, ImageColumns):
                    yield hashed(part.topic, part.keys, part.rows, self.hashing)
                else:
                    yield from self._of_images(part)
        for topic, why in self.maker.undecidable.items():
            yield ImageHashes(topic, undecidable=why)

    def _of_images(self, images: Iterable[Image]) -> Iterator[ImageHashes]:
        for topic, group in groupby(images, itemgetter(0)):
            told = [(image, image.key) for image in group if image.key is not None]
            found = hashed(topic, [key for _, key in told], [image.row for image, _ in told], self.hashing)
            wanted = tuple(told[place][0] for place in wanted_places(found, self.hashing))
            yield replace(found, wanted=wanted)
