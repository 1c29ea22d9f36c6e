"""Tables in an object store that speaks S3."""

from __future__ import annotations

from typing import Any

import boto3.session
import pytest
from deltalake import DeltaTable, write_deltalake
from deltalake.exceptions import CommitFailedError

from delta_sink.shop import Shop
from testkit.running import PASSWORD
from testkit.servers.object_store import ObjectStore
from testkit.servers.s3a import by_delta_rs

SECRET = f"{PASSWORD}-of-the-store"


def storage(store: ObjectStore) -> dict[str, str]:
    return by_delta_rs(store, SECRET)


def client_of(store: ObjectStore) -> Any:
    return boto3.session.Session().client(
        "s3",
        endpoint_url=f"http://{store.endpoint}",
        region_name="us-east-1",
        aws_access_key_id="writer",
        aws_secret_access_key=SECRET,
    )


def bucket(store: ObjectStore, name: str) -> str:
    name = name.replace("_", "-")
    client_of(store).create_bucket(Bucket=name)
    return name


def test_a_mirror_in_a_bucket(shop: Shop, object_store: ObjectStore) -> None:
    shop.run("CREATE TABLE t (id INT PRIMARY KEY, v INT); INSERT INTO t VALUES (1, 1), (2, 2), (3, 3)")
    place = f"s3://{bucket(object_store, shop.name)}/lake"
    sink = {"path": place, **{f"storage.options.{name}": value for name, value in storage(object_store).items()}}
    ended = shop.deliver(sink)
    shop.run("UPDATE t SET v = 20 WHERE id = 2; DELETE FROM t WHERE id = 1; ALTER TABLE t ADD COLUMN w INT DEFAULT 7")
    shop.run("INSERT INTO t VALUES (4, 4, 4)")
    shop.deliver(sink)
    table = DeltaTable(f"{place}/{shop.name}.{shop.name}.t", storage_options=storage(object_store))
    rows = table.to_pyarrow_table().to_pylist()
    assert sorted((row["id"], row["v"], row["w"]) for row in rows) == [(2, 20, 7), (3, 3, 7), (4, 4, 4)]
    assert SECRET not in ended.stderr + ended.stdout


def test_of_two_that_commit_one_version_one_is_told(object_store: ObjectStore, unique_name: str) -> None:
    """What the sink's commits rest on: a version is put where there is none, and a batch's number is there once."""
    place = f"s3://{bucket(object_store, unique_name)}/t"
    rows = _rows()
    write_deltalake(place, rows, storage_options=storage(object_store))
    one, other = (DeltaTable(place, storage_options=storage(object_store)) for _ in range(2))
    write_deltalake(one, rows, mode="append", commit_properties=_batch(1))
    with pytest.raises(CommitFailedError):
        write_deltalake(other, rows, mode="append", commit_properties=_batch(1))
    assert DeltaTable(place, storage_options=storage(object_store)).to_pyarrow_table().num_rows == 2 * rows.num_rows


def _rows() -> Any:
    import pyarrow as pa

    return pa.table({"id": pa.array([1, 2], pa.int32())})


def _batch(number: int) -> Any:
    from cdckit.tables.delta.commits import committed_as
    from cdckit.tables.target import BatchId

    return committed_as(BatchId("p/g", number))
