"""What TiCDC's storage sink writes, from an object store that speaks S3."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from pyarrow import fs

from cdckit.errors import ConfigError, RetriableSourceError, SourceError
from cdckit_ticdc.config import TicdcConfig
from cdckit_ticdc.reading.folders import ObjectStore, open_folder
from testkit.running import PASSWORD, Pipeline
from testkit.servers import object_store as stores
from testkit.servers.ports import free_port
from ticdc.recordings import lines
from ticdc.test_storage import EMPLOYEE

SCHEMA = "hr/employee/meta/schema_5_0123456789.json"


@dataclass(frozen=True)
class Bucket:
    """A bucket of the test's own, which a changefeed writes to."""

    name: str
    endpoint: str
    folder: Path

    @property
    def options(self) -> dict[str, str]:
        """What a user gives to reach it; the secret key is what no pipeline may show."""
        return {
            "endpoint_override": self.endpoint, "scheme": "http", "region": "us-east-1", "access_key": "reader",
            "secret_key": PASSWORD,
        }  # fmt: skip

    def write(self, path: str, content: str) -> None:
        store = fs.S3FileSystem(**self.options)
        with store.open_output_stream(f"{self.name}/feed/{path}") as stream:
            stream.write(content.encode())

    def pipeline(self, protocol: str) -> Pipeline:
        source = {
            "type": "ticdc",
            "protocol": protocol,
            "storage.url": f"s3://{self.name}/feed",
            "storage.options": self.options,
        }
        return Pipeline(
            self.folder,
            source,
            {"type": "file", "path": "out.jsonl"},
            {"serializer": {"type": "json", "schemas.enable": False}},
        )


@pytest.fixture
def bucket(object_store: stores.ObjectStore, unique_name: str, tmp_path: Path) -> Bucket:
    made = Bucket(unique_name.replace("_", "-"), object_store.endpoint, tmp_path)
    fs.S3FileSystem(**made.options, allow_bucket_creation=True).create_dir(made.name)
    return made


def test_csv(bucket: Bucket) -> None:
    """Types out of the schema file; a file that is added is read by the next run, and no file twice."""
    columns = {"Schema": "hr", "Table": "employee", "TableVersion": 5, "TableColumns": EMPLOYEE[:2]}
    bucket.write(SCHEMA, json.dumps(columns))
    bucket.write(
        "hr/employee/5/2024-05-09/CDC000001.csv", '"I","employee","hr",7,1,"a"\r\n"I","employee","hr",8,2,"b"\r\n'
    )
    pipeline = bucket.pipeline("csv")
    assert pipeline.run("--once").code == 0
    bucket.write("hr/employee/5/2024-05-10/CDC000001.csv", '"D","employee","hr",9,1,"a"\r\n')
    assert pipeline.run("--once").code == 0
    assert [(one["value"]["op"], one["key"]["Id"]) for one in pipeline.events()] == [("c", 1), ("c", 2), ("d", 1)]


def test_canal_json(bucket: Bucket) -> None:
    """The recorded messages, as lines of a file."""
    recorded = [line for line in lines("canal-json-tidbext", "txn_two_tables") if line.kind == "row"]
    content = "".join(f"{(line.message.value or b'').decode()}\r\n" for line in recorded)
    bucket.write("shop/orders/447507027002130437/CDC000001.json", content)
    pipeline = bucket.pipeline("canal-json")
    assert pipeline.run("--once").code == 0
    assert [one["value"]["op"] for one in pipeline.events()] == [(line.expect or {})["op"] for line in recorded]


def test_a_bucket_that_is_missing_ends_it_with_the_reason(bucket: Bucket) -> None:
    """The command fails as a source does, and shows no secret, not even in its trace."""
    pipeline = Bucket(f"{bucket.name}-not", bucket.endpoint, bucket.folder).pipeline("csv")
    ended = pipeline.run("--once")
    assert ended.code == 3
    assert ended.errors.startswith("error: source.storage.url: the files cannot be listed: ")
    assert "bucket does not exist" in ended.errors


def test_wrong_credentials_are_no_reason_to_ask_again(tmp_path: Path) -> None:
    with stores.ObjectStore(checks_credentials=True) as store:
        found = Bucket("any", store.endpoint, tmp_path)
        with pytest.raises(SourceError, match="the files cannot be listed") as refused:
            ObjectStore("s3://any/feed", found.options).files()
    assert not isinstance(refused.value, RetriableSourceError)
    assert PASSWORD not in str(refused.value)


def test_a_store_that_is_away_may_come_back(tmp_path: Path) -> None:
    found = Bucket("any", f"127.0.0.1:{free_port()}", tmp_path)
    with pytest.raises(RetriableSourceError, match="the files cannot be listed"):
        ObjectStore("s3://any/feed", {**found.options, "connect_timeout": "1"}).files()


@pytest.mark.parametrize(
    ("url", "options", "why"),
    [
        ("s3://bucket/feed", {"secret": PASSWORD}, "source.storage.url: .*'secret'"),
        ("hdfs://host/feed", {"access_key": "a"}, "source.storage.options: stores with hdfs: URLs take none"),
        ("teapot://host/feed", {}, "source.storage.url: .*teapot"),
    ],
)
def test_what_no_store_has(url: str, options: dict[str, str], why: str) -> None:
    with pytest.raises(ConfigError, match=why) as refused:
        open_folder(url, options)
    assert PASSWORD not in str(refused.value)


@pytest.mark.parametrize("url", [f"s3://me:{PASSWORD}@bucket/feed", f"s3://bucket/feed?secret-access-key={PASSWORD}"])
def test_a_secret_in_the_url_is_refused_unseen(url: str) -> None:
    options: dict[str, Any] = {"protocol": "csv", "storage.url": url}
    with pytest.raises(ConfigError, match=r"storage\.options") as refused:
        TicdcConfig.load(options, "source")
    assert PASSWORD not in str(refused.value)


def test_options_are_shown_nowhere() -> None:
    options = {"protocol": "csv", "storage.url": "s3://b/f", "storage.options": {"secret_key": PASSWORD}}
    config, _ = TicdcConfig.load(options, "source")
    assert PASSWORD not in repr(config)
