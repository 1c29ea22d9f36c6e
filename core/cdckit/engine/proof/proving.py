"""A proof: rounds until every difference has stood still for two of them, and what is to be said of each table."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

from cdckit.api.held import Barrier, Images
from cdckit.api.record import Offset
from cdckit.api.sink import Sink
from cdckit.connector.resnapshot import named
from cdckit.engine.barrier import asked_for
from cdckit.engine.config.pipeline import ResolvedPipeline
from cdckit.engine.ledger.blame import with_witness
from cdckit.engine.ledger.table import TableLedger
from cdckit.engine.ledger.tables_held import tell
from cdckit.engine.ledger.witness import Witness, row_hash
from cdckit.engine.metrics.status import pipeline_status
from cdckit.engine.pipeline import Encoder, make_encoder, make_sink, sink_context
from cdckit.engine.proof.awaiting import await_passed
from cdckit.engine.proof.beside import Beside
from cdckit.engine.proof.canonical import OfRow
from cdckit.engine.proof.entries import Entries
from cdckit.engine.proof.hashing import HashName, hash_of
from cdckit.engine.proof.in_workers import InWorkers, SparkUse
from cdckit.engine.proof.kept_rows import KeptRows
from cdckit.engine.proof.load import FREE, MaxLoad
from cdckit.engine.proof.messages import MessageImages
from cdckit.engine.proof.report import TableProof
from cdckit.engine.proof.rounds import Found, Round, routes_of
from cdckit.engine.proof.routes import Route, shared
from cdckit.engine.proof.suspects import Suspects
from cdckit.engine.proof.verdict import Verdict
from cdckit.engine.state.place import StatePlace
from cdckit.engine.state.runner_handover import current_batch
from cdckit.errors import ConfigError

_MOST_ROUNDS = 5
_BARRIER_SECONDS = 15.0
"""A pipeline that runs tells a place with its next saved offset; one of an older version never does."""
_SHOWN_KEYS = 1000
"""Of so many differing keys of a topic the rows are read again to be shown."""


@dataclass(frozen=True, slots=True)
class Wishes:
    """How to prove.

    Attributes:
        tables: names of the tables; none: all that are captured.
        hash: the hash.
        wait_seconds: how long the pipeline may take to come up to the source.
        load: how much of the source it may take.
        spark: whether Spark's workers read, of a pipeline that has some.
        kept: the folder of what was read of the rows, by an earlier process perhaps; None: it is not kept.
    """

    tables: tuple[str, ...] = ()
    hash: HashName = "xxh3"
    wait_seconds: float = 60.0
    load: MaxLoad = FREE
    spark: SparkUse = "needed"
    kept: Path | None = None


class Proof:
    """Compares one pipeline's sink with its source.

    Args:
        pipeline: the pipeline, which runs in another process, or has ended.
        wishes: how.
        stopping: once true, it ends.
        tell: is told what is being done.
    """

    def __init__(
        self,
        pipeline: ResolvedPipeline,
        wishes: Wishes,
        stopping: Callable[[], bool],
        tell: Callable[[str], None] = lambda _: None,
    ) -> None:
        self._pipeline = pipeline
        self._wishes = wishes
        self._stopping = stopping
        self._tell = tell
        self._place = StatePlace.of(pipeline)
        digest = hash_of(wishes.hash)
        self._known = _known(pipeline, stopping)
        self._told = _told(self._known)
        self._plain = Entries(digest)
        self._digest = digest
        self._begun = time.monotonic()
        self._of_messages = False
        self._in_workers = InWorkers(pipeline, wishes.spark, wishes.load, stopping, tell)

    def tables(self) -> list[TableProof]:
        """What is found, table by table.

        Raises:
            ConfigError: this source or sink cannot be compared, or a table's name is unknown.
            StoppedError: it was to end.
            CdcError: source, sink or state cannot be read.
        """
        with ExitStack() as stack:
            folder = Path(stack.enter_context(TemporaryDirectory(prefix="proof-", dir=self._room())))
            encoder = make_encoder(self._pipeline)
            stack.callback(encoder.close)
            images = self._images(encoder)
            stack.callback(images.close)
            placed = Entries(self._digest, positioned=images.by_position)
            placed.share(self._plain)
            rounds = _Rounds(self, encoder, images, placed, folder)
            found = rounds.run(self._chosen(encoder, folder))
        if not found:
            raise ConfigError("source: no table is captured, so that nothing can be compared: check the include lists")
        return with_witness(self._pipeline, found, self._stopping)

    def _room(self) -> Path:
        self._pipeline.folder.mkdir(parents=True, exist_ok=True)
        return self._pipeline.folder

    def _images(self, encoder: Encoder) -> Images:
        sink = make_sink(self._pipeline)
        self._of_messages = isinstance(sink, Sink)
        self._in_workers.require(sink)
        if isinstance(sink, Sink):
            context = sink_context(self._pipeline.name, encoder.serializer)
            keeps = sink.tells_ends or (sink.keeps_all and self._pipeline.position_header)
            return MessageImages(encoder.serializer, sink, context, self._told, keeps=keeps)
        images = self._in_workers.images(sink)
        for topic, table in self._known.items():
            tell(images, topic, table)
        return images

    def groups(self) -> list[list[str]]:
        """The tables that are to be compared, those together whose rows arrive at the same topics.

        Raises:
            ConfigError: a table's name is unknown, or none is captured.
            CdcError: the source cannot be read.
        """
        with ExitStack() as stack:
            folder = Path(stack.enter_context(TemporaryDirectory(prefix="proof-", dir=self._room())))
            encoder = make_encoder(self._pipeline)
            stack.callback(encoder.close)
            routes = self._routes(encoder, folder)
        wanted = self._wanted(routes)
        found = [sorted(route.table for route in arriving) for _, arriving in shared(routes)]
        return sorted(group for group in found if wanted & {*group})

    def _routes(self, encoder: Encoder, folder: Path) -> Mapping[str, Route]:
        with self.beside((), folder / "routes") as beside:
            return routes_of(beside, encoder.chain)

    def _wanted(self, routes: Mapping[str, Route]) -> set[str]:
        return set(named(self._wishes.tables, list(routes)) if self._wishes.tables else routes)

    def _chosen(self, encoder: Encoder, folder: Path) -> tuple[str, ...]:
        """The tables that were asked for, and those whose rows arrive at the same topics."""
        if not self._wishes.tables:
            return ()
        routes = self._routes(encoder, folder)
        wanted = self._wanted(routes)
        topics = {routes[name].topic for name in wanted}
        return tuple(
            name for name, route in routes.items() if name in wanted or (route.topic and route.topic in topics)
        )

    def beside(self, tables: Sequence[str], folder: Path) -> Beside:
        """The source, to be opened."""
        return Beside(self._pipeline, tables, folder, self._stopping, self._wishes.load)

    def awaits(self, passed: Callable[[Offset], bool], still: Callable[[Offset], bool]) -> str | None:
        """Waits for the pipeline."""
        self._tell("waiting for the pipeline to come up to the source")
        return await_passed(self._place, passed, still, self._wishes.wait_seconds, self._stopping)

    def _barrier(self, topics: Collection[str]) -> Barrier | None:
        """A place that the pipeline tells, where it runs and its source can be read up to just there."""
        config = self._pipeline.source_config
        if not config.ends_exactly({}):
            return None
        if self._pipeline.runner == "spark":
            return None if self._of_messages else self._batch_of_spark()
        deadline = time.monotonic() + min(self._wishes.wait_seconds, _BARRIER_SECONDS)
        while pipeline_status(self._place).state == "running" and (left := deadline - time.monotonic()) > 0:
            barrier = asked_for(self._pipeline.folder, left, self._stopping, topics)
            if barrier is not None and config.ends_exactly(barrier.offset):
                return barrier
        return None

    def _batch_of_spark(self) -> Barrier | None:
        """The last batch that Spark has committed, which ends at an offset that its checkpoint has."""
        found = current_batch(self._place)
        if found is None or not self._pipeline.source_config.ends_exactly(found[1].end):
            return None
        generation, batch = found
        return Barrier(batch.end, {}, f"{self._pipeline.name}/{generation}", batch.number)

    def round(
        self, beside: Beside, encoder: Encoder, images: Images, placed: Entries, keys: set[bytes], at: Path,
        kept: KeptRows | None,
    ) -> Found:  # fmt: skip
        """One round."""
        parts = (beside, encoder.chain, images, self._plain, placed, keys, at, self._stopping, self._barrier, kept)
        return Round(*parts, self._in_workers.readers()).run(self.awaits)

    @property
    def kept(self) -> KeptRows | None:
        """What is kept of the rows."""
        folder, tables = self._wishes.kept, self._wishes.tables
        return None if folder is None or self._wishes.spark == "always" else KeptRows(folder, self._pipeline, tables)

    def told(self, what: str) -> None:
        """Says what is being done."""
        self._tell(what)

    @property
    def seconds(self) -> float:
        """How long it has taken."""
        return time.monotonic() - self._begun

    @property
    def pipeline(self) -> ResolvedPipeline:
        """Whose sink it is."""
        return self._pipeline


def _known(pipeline: ResolvedPipeline, stopping: Callable[[], bool]) -> Mapping[str, TableLedger]:
    """By topic what the ledger says."""
    known = Witness(pipeline, stopping).known() if pipeline.ledger else None
    return {} if known is None else known[1]


def _told(known: Mapping[str, TableLedger]) -> dict[str, OfRow]:
    """By topic what makes the hashes of rows in messages as the ledger has them."""
    return {topic: partial(row_hash, table.form) for topic, table in known.items() if table.form is not None}


class _Rounds:
    """Goes on while something differs that has not stood still yet."""

    def __init__(self, proof: Proof, encoder: Encoder, images: Images, placed: Entries, folder: Path) -> None:
        self._proof = proof
        self._encoder = encoder
        self._images = images
        self._placed = placed
        self._folder = folder

    def run(self, tables: Sequence[str]) -> list[TableProof]:
        verdict = Verdict(self._proof.pipeline, self._images)
        done: dict[str, TableProof] = {}
        before = Suspects()
        for number in range(1, _MOST_ROUNDS + 1):
            self._proof.told(f"round {number}: reading the source")
            found = self._round(tables, before, number)
            last = number == _MOST_ROUNDS or found.behind is not None
            seconds = self._proof.seconds
            judged = verdict.of(found, before, last=last)
            done |= {name: replace(proof, seconds=seconds) for name, proof in judged.decided.items()}
            if not judged.again:
                break
            tables, before = judged.again, judged.suspects
        return [done[name] for name in sorted(done)]

    def _round(self, tables: Sequence[str], before: Suspects, number: int) -> Found:
        keys = {key for differing in before.rows.values() for key in list(differing)[:_SHOWN_KEYS]}
        folder = self._folder / f"round-{number}"
        kept = self._proof.kept if number == 1 else None
        with self._proof.beside(tables, (kept.folder if kept else folder) / "source") as beside:
            return self._proof.round(beside, self._encoder, self._images, self._placed, keys, folder, kept)
