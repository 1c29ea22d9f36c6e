"""One round of a proof: the source as it is at one place of its log, and what the sink holds behind that.

1. All rows, and the log from where their reading began up to its end now, P: what comes of both is the source at P.
2. The pipeline is waited for until it has passed P.
3. A pipeline that runs is asked for a place behind P at which the sink can be read although it moves on. The log up to
   there makes the source the source at that place, and both are compared as they are.
4. Where it tells none, what the sink holds is read as it is. It may be further than P already. The log from P to its
   end by then tells which rows the sink may have otherwise, and how. So it is with single topics, too, in which what
   they held at the place may have been taken away since.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from typing import TYPE_CHECKING

from cdckit.api.batch import Batch
from cdckit.api.held import Barrier, Image, ImageHashes, Images, Shown
from cdckit.api.marks import MarkKind, TableMark
from cdckit.api.record import Offset, Record
from cdckit.engine.chain import TransformChain
from cdckit.engine.proof.beside import Beside, position_text
from cdckit.engine.proof.comparing import Folded, Mismatch, fold, fold_placed, mismatches, rows_of_equal, versions
from cdckit.engine.proof.entries import Entries
from cdckit.engine.proof.kept_rows import KeptRows
from cdckit.engine.proof.routes import Route, route_of
from cdckit.engine.proof.snapshot_records import dropped_of, tells_a_row
from cdckit.engine.proof.spill import BUCKETS, Spill
from cdckit.errors import StoppedError

if TYPE_CHECKING:
    from cdckit.engine.proof.source_readers import SourceReaders

MOST_KEYS = 100_000
"""Of so many differing keys of a topic a round keeps the hashes; beyond that they are counted."""
_TOGETHER, _MOST_RECORDS = 16, 4096
"""So many batches, or records, are taken together at the most."""
_QUIET = frozenset({MarkKind.SNAPSHOT_BEGIN, MarkKind.SNAPSHOT_END})

Await = Callable[[Callable[[Offset], bool], Callable[[Offset], bool]], str | None]
"""Waits until the pipeline has passed a point, and says why it did not; of one that does not run, the second tells
whether there is nothing between its offset and the point."""


@dataclass(slots=True)
class Found:
    """What one round found.

    Attributes:
        routes: what becomes of each table.
        position: the place P, for people.
        rows: how many rows the source has, by topic.
        differing: by topic and the hash of the key.
        more: how many besides are not kept, by topic.
        unsettled: the tables that were altered or emptied meanwhile, and how.
        dropped: the tables of which the transforms left a row out.
        behind: why the pipeline did not come up to P; None: it did.
        source: images of wanted keys at the source.
        sink: the same in the sink.
        exact: whether both sides were read at one place …
        passing: … but the sink's side of these topics.
    """

    routes: dict[str, Route] = field(default_factory=dict)
    position: str = ""
    rows: Counter[str] = field(default_factory=Counter)
    differing: dict[str, dict[bytes, Mismatch]] = field(default_factory=dict)
    more: Counter[str] = field(default_factory=Counter)
    unsettled: dict[str, str] = field(default_factory=dict)
    dropped: set[str] = field(default_factory=set)
    behind: str | None = None
    source: dict[bytes, Image] = field(default_factory=dict)
    sink: dict[bytes, Image] = field(default_factory=dict)
    exact: bool = False
    passing: frozenset[str] = frozenset()


class Round:
    """Runs one round.

    Args:
        beside: the source, open.
        chain: the pipeline's transforms.
        images: what makes images on both sides.
        plain: makes entries of the source's images.
        placed: the same of the sink's.
        wanted: the hashes of keys whose images are to be kept.
        folder: for what does not fit into memory.
        stopping: once true, it ends.
        asks: asks the pipeline for a place at which both sides can be read, and where some topics end there; None: it
            tells none.
        kept: takes what was read of the rows, and may have it from an earlier process; None: nobody does.
        readers: Spark's workers, which read the source's rows; None: this process does.
    """

    def __init__(
        self,
        beside: Beside,
        chain: TransformChain,
        images: Images,
        plain: Entries,
        placed: Entries,
        wanted: Collection[bytes],
        folder: Path,
        stopping: Callable[[], bool],
        asks: Callable[[Collection[str]], Barrier | None],
        kept: KeptRows | None = None,
        readers: SourceReaders | None = None,
    ) -> None:
        self._readers = readers
        self._asks = asks
        self._beside = beside
        self._chain = chain
        self._images = images
        self._plain = plain
        self._placed = placed
        self._wanted = wanted
        self._stopping = stopping
        self._found = Found()
        self._of_rows: set[str] = set()
        """Topics that are known to have change events, and nothing else."""
        self._begun = kept
        self._base = Spill(folder if kept is None else kept.folder, "source", plain.width)
        self._later = Spill(folder, "later", plain.width)
        self._held = Spill(folder, "sink", placed.width)

    def run(self, awaits: Await) -> Found:
        """What it finds.

        Raises:
            StoppedError: it was to end.
            CdcError: source or sink cannot be read.
        """
        found = self._found
        self._read_rows()
        point = self._beside.end()
        found.position = position_text(point)
        self._take_all(self._beside.changes(point), self._base, found.source)
        beside = self._beside
        found.behind = awaits(lambda offset: beside.passed(offset, point), lambda offset: beside.still(offset, point))
        if found.behind is None:
            self._meet(point)
            self._read_sink()
            found.passing = frozenset(self._images.passing)
            if found.passing or not found.exact:
                self._take_all(self._beside.changes(self._beside.end()), self._later, None)
            self._compare()
        return found

    def _meet(self, point: Offset) -> None:
        """Brings the source to a place at which the sink can be read, where the pipeline tells one."""
        barrier = self._asks(self._topics()) if self._images.keeps else None
        if barrier is None or not barrier.tells or not self._beside.passed(barrier.offset, point):
            return
        self._images.until(barrier)
        self._found.exact = True
        self._found.position = position_text(barrier.offset)
        for later, batches in groupby(self._beside.met(barrier.offset), itemgetter(1)):
            spill, kept = (self._later, None) if later else (self._base, self._found.source)
            self._take_all((batch for batch, _ in batches), spill, kept)

    # -- the source

    def _read_rows(self) -> None:
        if self._readers is not None:
            self._read_by(self._readers)
            return
        kept, found = self._begun, self._found
        if kept is not None:
            found.dropped, undecidable = kept.restore(self._base, self._plain)
            self._images.undecidable |= undecidable
        for number, batches in self._beside.parts(kept):
            known = len(found.routes)
            self._take_all(batches, self._base, found.source)
            if kept is not None:
                marked = len(found.routes) > known
                kept.ended(number, self._base, self._plain, found.dropped, self._images.undecidable, marked=marked)

    def _read_by(self, readers: SourceReaders) -> None:
        """Has the rows read by workers, which are told first what is shown of each table."""
        splits = self._beside.planned(readers.splits)
        for mark in self._beside.marks(splits):
            self._mark(mark)
        tables, hashing = frozenset(self._found.routes), self._plain.hashing(self._wanted)
        for hashes in readers.read(self._beside.pipeline, splits, self._images, hashing, tables):
            self._take_hashes(hashes, self._base, self._plain, self._found.source)

    def _take_all(self, batches: Iterable[Batch], spill: Spill, kept: dict[bytes, Image] | None) -> None:
        """Takes some batches together, as columns have a price of their own, which many rows share."""
        records: list[Record] = []
        waiting = 0
        for batch in batches:
            self._go_on()
            if batch.marks or waiting >= _TOGETHER or len(records) >= _MOST_RECORDS:
                self._take(records, spill, kept)
                records, waiting = [], 0
            for mark in batch.marks:
                self._mark(mark)
            records += self._telling_rows(batch.records)
            waiting += 1
        self._take(records, spill, kept)

    def _telling_rows(self, records: Sequence[Record]) -> Sequence[Record]:
        """Those that are no heartbeats, nor of transactions, which have topics of their own."""
        topics = self._of_rows
        telling = [record for record in records if record.topic in topics or tells_a_row(record)]
        if telling and telling[-1].value is not None:
            topics.add(telling[-1].topic)
        return telling

    def _take(self, records: Sequence[Record], spill: Spill, kept: dict[bytes, Image] | None) -> None:
        if records:
            made = self._through(records)
            if kept is not None and self._wanted:
                spill.add(self._plain.of(self._kept(self._images.of(made), kept)))
            else:
                for part in self._images.columns_of(made):
                    spill.add(self._plain.of_columns(part))

    def _mark(self, mark: TableMark) -> None:
        if mark.kind is MarkKind.SNAPSHOT_BEGIN:
            route = route_of(mark.example, self._chain)
            self._found.routes[mark.table] = route
            if route.topic and route.undecidable is None:
                self._plain.number(route.topic)
                self._show(route)
        elif mark.kind not in _QUIET:
            self._found.unsettled[mark.table] = mark.kind.value

    def _show(self, route: Route) -> None:
        arriving = [each for each in self._found.routes.values() if each.topic == route.topic]
        known = [each.columns for each in arriving if each.columns is not None]
        columns = frozenset().union(*known) if len(known) == len(arriving) else None
        documents = frozenset().union(*(each.documents for each in arriving))
        times = frozenset().union(*(each.times for each in arriving))
        floats = frozenset().union(*(each.floats for each in arriving))
        self._images.show(route.topic, Shown(columns, route.key, documents, times, floats=floats))

    def _through(self, records: Sequence[Record]) -> Sequence[Record]:
        made = self._chain.apply(records)
        if len(made) < len(records):
            self._found.dropped.update(dropped_of(records, self._chain))
        return made

    # -- the sink

    def _read_sink(self) -> None:
        elsewhere = [topic for topic in self._topics() if self._images.hashes(topic)]
        if elsewhere:
            for hashes in self._images.hashed(elsewhere, self._plain.hashing(self._wanted)):
                self._take_hashes(hashes, self._held, self._placed, self._found.sink, newest=self._images.by_position)
        here = [topic for topic in self._topics() if topic not in elsewhere]
        if not self._wanted:
            for part in self._images.held_columns(here):
                self._go_on()
                self._held.add(self._placed.of_columns(part))
            return
        for images in self._images.held(here):
            self._go_on()
            self._held.add(self._placed.of(self._kept(images, self._found.sink, newest=self._images.by_position)))

    def _take_hashes(
        self, hashes: ImageHashes, spill: Spill, entries: Entries, kept: dict[bytes, Image], *, newest: bool = False
    ) -> None:
        """Takes what another process has read of either side."""
        self._go_on()
        if hashes.undecidable:
            self._images.undecidable[hashes.topic] = hashes.undecidable
        self._found.dropped.update(hashes.dropped)
        if hashes.keys:
            spill.add(entries.of_hashes(hashes))
        deque(self._kept(hashes.wanted, kept, newest=newest), maxlen=0)

    def _topics(self) -> list[str]:
        routes = self._found.routes.values()
        return sorted({route.topic for route in routes if route.topic and route.undecidable is None})

    def _kept(self, images: Iterable[Image], kept: dict[bytes, Image], *, newest: bool = False) -> Iterator[Image]:
        wanted, hashed = self._wanted, self._plain.key
        for image in images:
            if image.key is not None and (key := hashed(image.topic, image.key)) in wanted:
                known = kept.get(key)
                if known is None or not newest or known.position <= image.position:
                    kept[key] = image
            yield image

    # -- both

    def _compare(self) -> None:
        strictly = self._found.exact and not self._beside.looks_up
        passing = frozenset(map(self._plain.number, self._found.passing)) if strictly else None
        for bucket in range(BUCKETS):
            self._go_on()
            ours, theirs = self._base.bucket(bucket), self._held.bucket(bucket)
            if not self._images.by_position and (counts := rows_of_equal(ours, theirs)) is not None:
                self._count(counts)
                continue
            rows = fold(self._plain.read(ours)).rows
            held = self._sinks(theirs)
            later = versions(self._plain.read(self._later.bucket(bucket)), passing)
            names = self._plain.topics
            self._count(Counter(topic for _, topic in rows.values()))
            for mismatch in mismatches(rows, held, later):
                self._differs(names[mismatch.topic], mismatch)

    def _count(self, rows: Mapping[int, int]) -> None:
        names = self._plain.topics
        for number, count in rows.items():
            self._found.rows[names[number]] += count

    def _sinks(self, bucket: bytes) -> Folded:
        if self._images.by_position:
            return fold_placed(self._placed.read_placed(bucket), once=self._images.once)
        return fold(self._placed.read(bucket), once=self._images.once)

    def _differs(self, topic: str, mismatch: Mismatch) -> None:
        differing = self._found.differing.setdefault(topic, {})
        if len(differing) < MOST_KEYS:
            differing[mismatch.key] = mismatch
        else:
            self._found.more[topic] += 1

    def _go_on(self) -> None:
        if self._stopping():
            raise StoppedError


def routes_of(beside: Beside, chain: TransformChain) -> Mapping[str, Route]:
    """What becomes of all tables, without their rows."""
    found: dict[str, Route] = {}
    for batch in beside.rows():
        for mark in batch.marks:
            if mark.kind is MarkKind.SNAPSHOT_BEGIN:
                found[mark.table] = route_of(mark.example, chain)
        if batch.records:
            break
    return found
