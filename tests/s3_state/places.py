"""Places for the store `s3`: buckets, options of the store, and pipelines that use them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import boto3.session

from cdckit_s3.config import S3StateConfig
from cdckit_s3.store import S3Backend
from testkit.forgetful import Forgetful
from testkit.servers.object_store import ObjectStore

KEY, SECRET = "keeper", "never shown"


def client_of(store: ObjectStore) -> Any:
    """A client of the store."""
    return boto3.session.Session().client(
        "s3",
        endpoint_url=f"http://{store.endpoint}",
        region_name="us-east-1",
        aws_access_key_id=KEY,
        aws_secret_access_key=SECRET,
    )


def make_bucket(store: ObjectStore, name: str) -> str:
    """A bucket, whose name has no `_`."""
    bucket = name.replace("_", "-")
    client_of(store).create_bucket(Bucket=bucket)
    return bucket


def options_of(store: ObjectStore, bucket: str, **others: Any) -> dict[str, Any]:
    """The store's options; underscores stand for dots."""
    return {
        "s3.bucket.name": bucket,
        "s3.endpoint": f"http://{store.endpoint}",
        "s3.region.name": "us-east-1",
        "s3.access.key.id": KEY,
        "s3.secret.access.key": SECRET,
        "hold.timeout.ms": 2000,
        **{name.replace("_", "."): value for name, value in others.items()},
    }


def backend_of(store: ObjectStore, bucket: str, **others: Any) -> S3Backend:
    """A store there."""
    return S3Backend(S3StateConfig.load(options_of(store, bucket, **others), "state")[0])


def forgetful(folder: Path, source: dict[str, Any], sink: dict[str, Any], store: ObjectStore, bucket: str) -> Forgetful:
    """A pipeline that has its state there."""
    state = {"type": "s3", **options_of(store, bucket)}
    return Forgetful.of(folder, source, sink, state, backend_of(store, bucket))
