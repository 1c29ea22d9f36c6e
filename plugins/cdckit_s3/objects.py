"""The objects of one pipeline in the bucket, and faults told as the state store's."""

from __future__ import annotations

import uuid
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from email.utils import parsedate_to_datetime
from functools import cached_property
from typing import Any, NamedTuple
from urllib.parse import quote

import boto3.session
from botocore.config import Config
from botocore.exceptions import BotoCoreError, ClientError, NoCredentialsError

from cdckit import StateError
from cdckit_s3.config import S3StateConfig

_ATTEMPTS = 5
_AT_ONCE = 1000
"""How many objects a request may delete."""
_ABSENT = ("NoSuchKey", "404")
_REFUSED = ("AccessDenied", "403", "InvalidAccessKeyId", "SignatureDoesNotMatch", "ExpiredToken", "InvalidToken")
_UNMET = ("PreconditionFailed", "412", "ConditionalRequestConflict", "409")


class UnmetError(Exception):
    """An object was not written: it is another one than the condition says, or is being written."""


class Found(NamedTuple):
    """An object.

    Attributes:
        body: what it has.
        etag: names this version of it.
        age: how many seconds ago it was written, by the store's clock; None where the store does not say.
    """

    body: bytes
    etag: str
    age: float | None


class PipelineObjects:
    """Reads and writes them.

    Args:
        config: where they are.
        pipeline: the pipeline's name.
    """

    def __init__(self, config: S3StateConfig, pipeline: str) -> None:
        self.config = config
        self._begin = f"{config.s3_object_name}/{quote(pipeline, safe='')}/"
        at = f" at {config.s3_endpoint}" if config.s3_endpoint else ""
        self.place = f"s3://{config.s3_bucket_name}/{self._begin}{at}"

    @cached_property
    def _client(self) -> Any:
        config, secret = self.config, self.config.s3_secret_access_key
        return boto3.session.Session().client(
            "s3",
            region_name=config.s3_region_name or (None if config.s3_endpoint is None else "us-east-1"),
            endpoint_url=config.s3_endpoint,
            aws_access_key_id=config.s3_access_key_id,
            aws_secret_access_key=None if secret is None else secret.get_secret_value(),
            config=Config(
                connect_timeout=config.timeout_ms / 1000,
                read_timeout=config.timeout_ms / 1000,
                retries={"mode": "standard", "total_max_attempts": _ATTEMPTS},
                request_checksum_calculation="when_required",
                response_checksum_validation="when_required",
            ),
        )

    def get(self, name: str) -> Found | None:
        """An object, None where there is none of that name.

        Raises:
            StateError: it cannot be read.
        """
        with self._state_errors(f"reading {name}"):
            try:
                found = self._client.get_object(Bucket=self.config.s3_bucket_name, Key=self._begin + name)
                return Found(found["Body"].read(), found["ETag"], _age(found))
            except ClientError as error:
                if _code(error) in _ABSENT:
                    return None
                raise

    def put(self, name: str, body: bytes, **condition: str) -> str:
        """Writes an object, and gives the ETag of its new version.

        Args:
            name: its name.
            body: what it is to have.
            condition: `IfMatch` or `IfNoneMatch`.

        Raises:
            UnmetError: the condition does not hold.
            StateError: it cannot be written, or the store does not tell whether it is.
        """
        with self._state_errors(f"writing {name}"):
            try:
                key = self._begin + name
                done = self._client.put_object(Bucket=self.config.s3_bucket_name, Key=key, Body=body, **condition)
            except ClientError as error:
                if condition and _code(error) in (*_UNMET, *_ABSENT):
                    raise UnmetError from error
                raise
        etag: str = done["ETag"]
        return etag

    def put_new(self, kind: str, body: bytes) -> str:
        """Writes an object under a name that no other one has, and gives that.

        Raises:
            StateError: it cannot be written.
        """
        name = f"{kind}-{uuid.uuid4().hex}.json"
        self.put(name, body)
        return name

    def delete(self, names: Sequence[str]) -> None:
        """Deletes objects, as far as they are there.

        Raises:
            StateError: they cannot be deleted.
        """
        with self._state_errors("deleting objects"):
            for at in range(0, len(names), _AT_ONCE):
                keys = [{"Key": self._begin + name} for name in names[at : at + _AT_ONCE]]
                self._client.delete_objects(Bucket=self.config.s3_bucket_name, Delete={"Objects": keys, "Quiet": True})

    def names(self) -> list[str]:
        """The names of all that are there.

        Raises:
            StateError: the store does not say.
        """
        with self._state_errors("listing objects"):
            pages = self._client.get_paginator("list_objects_v2").paginate(
                Bucket=self.config.s3_bucket_name, Prefix=self._begin
            )
            return [each["Key"].removeprefix(self._begin) for page in pages for each in page.get("Contents", ())]

    def close(self) -> None:
        """Ends the connections."""
        if "_client" in vars(self):
            self._client.close()

    @contextmanager
    def _state_errors(self, doing: str) -> Iterator[None]:
        """Faults as `StateError`, with the place and what may help."""
        try:
            yield
        except (ClientError, BotoCoreError, OSError, ValueError) as error:
            raise StateError(
                f"state store, {self.place}: {doing} failed: {error}; {self._advice(error)}", number="CDC7301"
            ) from error

    def _advice(self, error: Exception) -> str:
        code = _code(error) if isinstance(error, ClientError) else ""
        if code == "NoSuchBucket":
            return f"make the bucket '{self.config.s3_bucket_name}', or check state.s3.bucket.name"
        if code in _REFUSED:
            return (
                "check state.s3.access.key.id and state.s3.secret.access.key, and that the key may read, write, delete "
                "and list there"
            )
        if isinstance(error, NoCredentialsError):
            return "give state.s3.access.key.id and state.s3.secret.access.key, or credentials in the environment"
        if code == "NotImplemented":
            return "the store has to know conditional writes (If-Match, If-None-Match)"
        return "check state.s3.endpoint, state.s3.region.name, and that the store can be reached"


def _code(error: ClientError) -> str:
    return str(error.response.get("Error", {}).get("Code", ""))


def _age(found: dict[str, Any]) -> float | None:

    try:
        now = parsedate_to_datetime(found["ResponseMetadata"]["HTTPHeaders"]["date"])
        return float((now - found["LastModified"]).total_seconds())
    except (KeyError, TypeError, ValueError):
        return None
