"""A replica set serves, fails over, and takes a member back."""

from __future__ import annotations

from testkit.servers.mongodb import MongoReplicaSet


def test_single_member_serves(mongo: MongoReplicaSet, unique_name: str) -> None:
    with mongo.client() as client:
        client[unique_name].things.insert_one({"_id": 1})
        assert list(client[unique_name].things.find()) == [{"_id": 1}]


def test_killed_primary_is_replaced_and_comes_back() -> None:
    with MongoReplicaSet(nodes=3) as replica_set, replica_set.client(w="majority") as client:
        client.shop.things.insert_one({"_id": 1})
        old = replica_set.primary()
        old.kill()
        new = replica_set.primary()
        assert new.address != old.address
        assert list(client.shop.things.find()) == [{"_id": 1}]
        old.start()
        replica_set.wait_until_complete()
