"""Debezium's store of schema histories in S3, in a connector's configuration."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from cdckit import ConfigError
from cdckit.engine.config.loading import load_pipeline
from cdckit.engine.config.pipeline import ResolvedPipeline
from cdckit.engine.state.place import StatePlace
from s3_state.places import KEY, SECRET, make_bucket
from testkit.servers.object_store import ObjectStore

CONNECTOR = {
    "connector.class": "io.debezium.connector.mysql.MySqlConnector",
    "topic.prefix": "shop",
    "database.hostname": "captured",
    "database.user": "reader",
    "database.server.id": "7",
    "schema.history.internal": "io.debezium.storage.s3.history.S3SchemaHistory",
    "schema.history.internal.skip.unparseable.ddl": "true",
}


def _load(folder: Path, given: dict[str, str] | None = None, **s3: str) -> ResolvedPipeline:
    """The pipeline of a connector with its history in S3; underscores stand for dots."""
    options = {f"schema.history.internal.s3.{name.replace('_', '.')}": value for name, value in s3.items()}
    lines = [f"{name}={value}" for name, value in {**CONNECTOR, **options, **(given or {})}.items()]
    (folder / "c.properties").write_text("\n".join(lines))
    return load_pipeline(folder / "c.properties")


def test_debeziums_options_are_known(tmp_path: Path) -> None:
    pipeline = _load(
        tmp_path,
        bucket_name="cdc",
        object_name="db-history.log",
        region_name="eu-central-1",
        endpoint="http://store:9000",
        access_key_id=KEY,
        secret_access_key=SECRET,
    )
    config: Any = pipeline.store.config
    source: Any = pipeline.source.config
    assert pipeline.store.registration.name == "s3"
    assert (config.s3_bucket_name, config.s3_object_name, config.s3_access_key_id) == ("cdc", "db-history.log", KEY)
    assert (config.s3_region_name, config.s3_endpoint) == ("eu-central-1", "http://store:9000")
    assert source.schema_history_internal_skip_unparseable_ddl is True
    assert SECRET not in "\n".join(pipeline.warnings) + repr(pipeline)


def test_what_lacks_is_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"^schema\.history\.internal\.s3\.bucket\.name: required"):
        _load(tmp_path)
    with pytest.raises(
        ConfigError, match=r"s3\.access\.key\.id and s3\.secret\.access\.key belong together"
    ) as refused:
        _load(tmp_path, bucket_name="cdc", secret_access_key=SECRET)
    assert SECRET not in str(refused.value)


def test_offsets_elsewhere_are_refused(tmp_path: Path) -> None:
    offsets = {"offset.storage": "org.apache.kafka.connect.storage.FileOffsetBackingStore"}
    with pytest.raises(ConfigError, match=r"schema\.history\.internal"):
        _load(tmp_path, offsets, bucket_name="cdc")


def test_the_state_is_there(object_store: ObjectStore, unique_name: str, tmp_path: Path) -> None:
    bucket, endpoint = make_bucket(object_store, unique_name), f"http://{object_store.endpoint}"
    pipeline = _load(tmp_path, bucket_name=bucket, access_key_id=KEY, secret_access_key=SECRET, endpoint=endpoint)
    place = StatePlace.of(pipeline)
    with closing(place.open()) as store:
        store.put("a", 1)
    assert place.kept("a") == 1
