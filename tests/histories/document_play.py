"""Plays a history of collections: its steps in a live replica set, its deliveries into a sink, and the comparison."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from random import Random
from typing import Any

from cdckit.errors import CdcError
from differential.document_workload import DocumentWorkload
from histories.document_sinks import DocumentSink
from histories.document_snapshots import SIGNALS, SNAPSHOTS, request, signal_options
from histories.documents import difference, in_collections
from histories.elections import (
    ELECTIONS,
    PLANNED,
    READ,
    WAITED,
    Client,
    Election,
    agree,
    as_soon_as,
    before_batch,
    election,
    is_waited_for,
)
from histories.endings import DivergedError
from histories.steps import CHECK, Step
from mongodb.snapshot_batches import KINDS
from spark.checkpoints import in_hand
from testkit.running import Pipeline
from testkit.servers.mongodb import MongoReplicaSet

SET_UP, CHANGES = "set up", "changes"
_FIRST, _LOST = 5, 10
"""How many documents a collection has at first, and how many changes are rolled back at a time."""
_MARK = "lost-"
"""What the `_id`s of documents begin with that are rolled back."""


class DocumentPlay:
    """One history that is played.

    Args:
        replica_set: where its database is.
        database: what that is called; it is made anew.
        folder: of the pipeline's files.
        prefix: what topics begin with.
        sink: where it is delivered to.

    Attributes:
        delivered: how often the pipeline has been run.
        elected: how often a primary was made to go meanwhile.
        requested: how often collections were to be read again.
    """

    def __init__(
        self, replica_set: MongoReplicaSet, database: str, folder: Path, prefix: str, sink: DocumentSink
    ) -> None:
        self._set = replica_set
        self._database = database
        self._folder = folder
        self._prefix = prefix
        self._sink = sink
        self._source_options: dict[str, Any] = {}
        self._sink_options: dict[str, Any] = {}
        self._beside: Step | None = None
        self.delivered, self.elected, self.requested = 0, 0, 0

    def all(self, steps: Iterable[Step]) -> None:
        """Plays the steps.

        Raises:
            DivergedError: a check fails, or a delivery; the message says which.
        """
        for node in self._set.nodes:
            node.revive()
        self._set.drop_database(self._database)
        with self._set.client() as client:
            self._client = client
            self._workload = DocumentWorkload(0, client[self._database])
            for number, step in enumerate(steps, 1):
                place = f"step {number} ({step.kind})"
                try:
                    self._take(step, client)
                except CdcError as error:
                    raise DivergedError(f"{place}: the pipeline ended with {type(error).__name__}: {error}") from error
                except AssertionError as error:
                    raise DivergedError(f"{place}: {error}") from error

    def _take(self, step: Step, client: Client) -> None:
        if step.kind == SET_UP:
            self._source_options, self._sink_options = step.facts["source"], step.facts["sink"]
            self._by(client, step).set_up(_FIRST, KINDS)
            of_every_kind = client[self._database].c1.count_documents({"_id": {"$in": KINDS}})
            assert of_every_kind == len(KINDS), f"{of_every_kind} of {len(KINDS)} kinds of `_id`"
        elif step.kind == CHANGES:
            self._by(client, step).change(step.facts["count"])
        elif step.kind in ELECTIONS:
            self._elect(step)
        elif step.kind in SNAPSHOTS:
            request(step, self._pipeline, client, self._database)
            self._beside = step
            self.requested += 1
        else:
            agree(self._set)
            self._deliver()
            if step.kind == CHECK:
                self._check(client)

    def _by(self, client: Client, step: Step) -> DocumentWorkload:
        return self._workload.by(client[self._database], step.facts["chance"])

    def _elect(self, step: Step) -> None:
        """Delivers, and has the primary go meanwhile."""
        if step.facts["moment"] == WAITED and self._beside is not None:
            self._deliver()  # marks of chunks could not be written to a primary that stands alone
        with election(self._set, step.kind, lambda client: self._alone(client, step)) as made:
            if step.facts["moment"] != READ:
                made.cut_off()
            with self._at(step, made):
                self._deliver(alone=step.facts["moment"] == WAITED)
        self.elected += 1

    def _at(self, step: Step, made: Election) -> AbstractContextManager[None]:
        moment = step.facts["moment"]
        if moment == WAITED:
            return as_soon_as(lambda: is_waited_for(made.old, self._database), made.happen)
        if self._sink.others["runner"] == "spark":
            return as_soon_as(lambda: in_hand(self._pipeline.state) is not None, made.happen)
        return before_batch(0 if moment == PLANNED else step.facts["batches"], made.happen)

    def _alone(self, client: Client, step: Step) -> None:
        """Changes that are rolled back, a new document among them."""
        client[self._database].c1.insert_one({"_id": f"{_MARK}{step.facts['chance']}"})
        self._by(client, step).change(_LOST)

    def _deliver(self, *, alone: bool = False) -> None:
        """Delivers, while documents change where collections are to be read again, unless the primary stands alone."""
        step, self._beside = self._beside, None
        with nullcontext() if alone or step is None else self._changes_beside(step):
            self._sink.run(self._pipeline.written())
        self.delivered += 1

    def _changes_beside(self, step: Step) -> AbstractContextManager[None]:
        chance = Random(step.facts["chance"])
        return self._sink.beside(
            lambda: self._workload.by(self._client[self._database], chance.getrandbits(30)).change(
                step.facts["changes"]
            )
        )

    @property
    def _pipeline(self) -> Pipeline:
        source = {
            "type": "mongodb",
            "topic.prefix": self._prefix,
            "mongodb.connection.string": self._set.uri,
            "mongodb.heartbeat.frequency.ms": 500,
            "connect.backoff.initial.delay.ms": 100,
            "database.include.list": self._database,
            "collection.exclude.list": rf"{self._database}\.{SIGNALS}",
            **(signal_options(self._database, self._folder, self._sink.chunk) if self._sink.signals else {}),
            **self._source_options,
        }
        return Pipeline(self._folder, source, {**self._sink.options, **self._sink_options}, self._sink.others)

    def _check(self, client: Client) -> None:
        """Compares what the sink tells with the collections."""
        told = self._sink.told()
        lost = [key for key in told.ever if _MARK in key[1]]
        assert not lost, f"what is rolled back was told of: {lost}"
        said = difference(in_collections(client, self._database, self._prefix, SIGNALS), told.documents)
        assert not said, said
