"""Tables of the sink `spark` in an object store that driver and workers reach by themselves (`storage.options`)."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from typing import Any

import pytest
from deltalake import DeltaTable

from cdckit import ConfigError, Record
from cdckit.tables.lake.data_files import DataFile
from cdckit.tables.lake.gathering import GatheringTableEncoder
from cdckit_spark.config import LakeConfig
from cdckit_spark.sink import LakeSink
from delta_sink.conftest import shop
from delta_sink.shop import Shop
from delta_sink.test_dying_store import CHANGES, TABLES, unequal
from delta_sink.test_objects import SECRET, bucket, client_of, storage
from spark.conftest import FAST_JVM
from spark.test_encoder import event
from testkit.running import Ended
from testkit.servers.object_store import ObjectStore
from testkit.servers.s3a import by_s3a

pytestmark = [pytest.mark.spark, pytest.mark.timeout(900)]

__all__ = ["shop"]
SECONDS = 400.0


class Lake:
    """The tables of a shop in a bucket of its own."""

    def __init__(self, shop: Shop, store: ObjectStore, mode: str) -> None:
        self.shop, self.store = replace(shop, mode=mode), store
        self.place = f"{bucket(store, shop.name)}/lake"

    def run(self, *, reached: ObjectStore | None, behind: str = "", **others: Any) -> Ended:
        """Runs up to the log's end.

        Args:
            reached: the store that `storage.options` name; None: there are none, and Spark alone writes.
            behind: what stands behind the place of all tables.
            others: the pipeline's own options.
        """
        options = {} if reached is None else by_options(reached)
        place = f"s3a://{self.place}{behind}"
        made = self.shop.pipeline({"type": "spark", "path": place, "task.file.bytes": 5_000, **options})
        settings = {"master": "local[2]", **FAST_JVM, **by_s3a(self.store, SECRET)}
        spark = {"runner": "spark", "spark": settings, **others}
        return replace(made, others={**made.others, **spark}).run("--once", seconds=SECONDS)

    def table(self, name: str) -> DeltaTable:
        path = f"s3://{self.place}/{self.shop.name}.{self.shop.name}.{name}"
        return DeltaTable(path, storage_options=storage(self.store))

    def writers(self, name: str) -> list[str]:
        """Who has made each version with rows, the first one first."""
        found = []
        for commit in reversed(self.table(name).history()):
            if commit["operation"] in ("WRITE", "MERGE"):
                by_spark = "Spark" in commit.get("engineInfo", "")
                counted = "num_added_rows" in commit.get("operationMetrics", {}) or commit["operation"] == "MERGE"
                found.append("Spark" if by_spark else "driver" if counted else "workers")
        return found

    def assert_equal(self) -> None:
        assert not unequal(self.shop, self.store, f"s3://{self.place}")


def by_options(store: ObjectStore) -> dict[str, str]:
    return {f"storage.options.{name}": text for name, text in storage(store).items()}


def test_driver_and_workers_write_a_changelog(shop: Shop, object_store: ObjectStore) -> None:
    """The snapshot of two tables of 200 rows, then few changes."""
    lake = Lake(shop, object_store, "changelog")
    shop.run(TABLES)
    first = lake.run(reached=object_store)
    assert first.code == 0, first.stderr
    shop.run("UPDATE a SET v = v + 1 WHERE id < 9; ALTER TABLE a ADD COLUMN x INT; INSERT INTO a (v, x) VALUES (1, 7)")
    second = lake.run(reached=object_store)
    assert second.code == 0, second.stderr
    lake.assert_equal()
    assert "Spark" not in lake.writers("a") and {"workers", "driver"} <= {*lake.writers("a"), *lake.writers("b")}
    assert SECRET not in first.stderr + first.stdout


@pytest.mark.nightly
@pytest.mark.parametrize("mode", ["mirror", "changelog"])
def test_tables_change_hands(shop: Shop, object_store: ObjectStore, mode: str) -> None:
    """Between Spark alone and all who write, whoever makes the tables."""
    lake = Lake(shop, object_store, mode)
    shop.run(TABLES)
    for turn, reached in enumerate([None, object_store, None, object_store]):
        for change in CHANGES:
            shop.run(change.format(turn))
        ended = lake.run(reached=reached)
        assert ended.code == 0, ended.stderr
        lake.assert_equal()
    writers = lake.writers("b")
    assert "Spark" in writers and {"workers", "driver"} & {*writers}


@pytest.mark.nightly
def test_another_store_than_sparks_is_refused(shop: Shop, object_store: ObjectStore) -> None:
    """Tables would be in both."""
    lake = Lake(shop, object_store, "changelog")
    shop.run(TABLES)
    with ObjectStore() as other:
        bucket(other, shop.name)
        ended = lake.run(reached=other)
        assert ended.code == 2, ended.stderr
        assert "name another store than" in ended.stderr
        assert not DeltaTable.is_deltatable(f"s3://{lake.place}/{shop.name}.{shop.name}.a", storage(other))
    ended = lake.run(reached=object_store)
    assert ended.code == 0, ended.stderr
    lake.assert_equal()


@pytest.mark.nightly
def test_a_key_that_may_not_delete_is_enough_for_a_changelog(shop: Shop, object_store: ObjectStore) -> None:
    """The log names the empty object that stays; a slash behind the place changes nothing."""
    lake = Lake(shop, object_store, "changelog")
    kept = {"Effect": "Deny", "Principal": "*", "Action": ["s3:DeleteObject"], "Resource": "arn:aws:s3:::*"}
    client_of(object_store).put_bucket_policy(
        Bucket=lake.place.partition("/")[0], Policy=json.dumps({"Version": "2012-10-17", "Statement": [kept]})
    )
    shop.run(TABLES)
    ended = lake.run(reached=object_store, behind="/")
    assert ended.code == 0, ended.stderr
    assert re.search(rf"s3a://{lake.place}/\.cdckit-\w+ cannot be removed, and stays", ended.stderr)
    lake.assert_equal()
    assert "Spark" not in lake.writers("a")


@pytest.mark.nightly
def test_the_tail_of_a_pipeline_in_a_direct_process(shop: Shop, object_store: ObjectStore) -> None:
    lake = Lake(shop, object_store, "mirror")
    shop.run(TABLES)
    for turn in range(2):
        for change in CHANGES:
            shop.run(change.format(turn))
        ended = lake.run(reached=object_store, tail="direct")
        assert ended.code == 0, ended.stderr
        assert SECRET not in ended.stderr + ended.stdout
        lake.assert_equal()


def test_a_task_on_any_machine_puts_files_into_the_store(object_store: ObjectStore, unique_name: str) -> None:
    place = f"s3a://{bucket(object_store, unique_name)}/lake"
    given = {"path": place, "mode": "changelog", "task.file.bytes": 1, **by_options(object_store)}
    encode = LakeSink(LakeConfig.load(given, "sink")[0]).task_encoder(beside_driver=False)
    assert isinstance(encode, GatheringTableEncoder)
    rows: list[Record] = [event("c", number, f"n{number}") for number in (1, 2)]
    files = [DataFile.loads(packet.data) for packet in [*encode(rows), *encode.flushed(last=True)]]
    assert [file.rows for file in files if file is not None] == [2]


@pytest.mark.parametrize(
    "options",
    [
        {"path": "/lake"},
        {"path": "hdfs://node/lake"},
        {"path": "s3a://lake", "format": "parquet"},
    ],
)
def test_options_of_a_store_where_there_is_none_are_refused(options: dict[str, str]) -> None:
    with pytest.raises(ConfigError, match=r"storage\.options"):
        LakeConfig.load({**options, "storage.options.AWS_REGION": "eu-west-1"}, "sink")


def test_a_direct_process_is_given_the_stores_options() -> None:
    given = {"path": "s3a://lake/shop", "storage.options.AWS_SECRET_ACCESS_KEY": SECRET, "mode": "mirror"}
    config, _ = LakeConfig.load(given, "sink")
    assert SECRET not in repr(config) + repr(config.tail_sink())
    assert config.tail_sink()["path"] == "s3a://lake/shop"
