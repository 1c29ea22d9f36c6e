"""Histories of collections whose primary now and then dies with changes that it alone has."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from pymongo import WriteConcern

from differential.document_workload import DocumentWorkload
from histories.test_documents import Collections
from mongodb.unreplicated import replicate
from testkit.servers.mongodb import MongoReplicaSet

LOST = 10
"""So many changes are rolled back at a time."""


@pytest.fixture(scope="module")
def three_members() -> Iterator[MongoReplicaSet]:
    """They may be told not to replicate."""
    with MongoReplicaSet(nodes=3, setParameter="enableTestCommands=1") as made:
        yield made


class UnreplicatedCollections(Collections):
    """See `Collections`."""

    def deliver(self, workload: DocumentWorkload, *, elect: bool) -> None:
        """As `Collections` does, and once more where a primary has died.

        What it alone had is rolled back, or comes back behind the pipeline's end: a member that had fetched it, and was
        told to wait, goes on with it.
        """
        self._died = False
        super().deliver(workload, elect=elect)
        if self._died:
            self._have_all_agree()
            self.follow()

    def _have_all_agree(self) -> None:
        """Until a majority has what the new primary has: a pipeline goes as far."""
        with self.replica_set.client() as client:
            agreed = client.agreed.get_collection("marks", write_concern=WriteConcern("majority"))
            agreed.insert_one({})

    def elect(self, workload: DocumentWorkload) -> None:
        """The primary steps down, or dies with changes that it alone has, and takes them back when it returns."""
        if self.chance.random() < 0.5:
            super().elect(workload)
            return
        old = self.replica_set.primary()
        others = [node for node in self.replica_set.nodes if node is not old]
        replicate(others, "alwaysOn")
        with self.replica_set.client(w=1) as client:
            workload.by(client[self.database]).change(LOST)
        old.kill()
        self._died = True
        replicate(others, "off")
