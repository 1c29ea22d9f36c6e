"""Registers the state store `s3`."""

from __future__ import annotations

from collections.abc import Sequence

from cdckit import Registration, hookimpl


@hookimpl
def cdckit_state_stores() -> Sequence[Registration]:
    """The store that keeps states in a bucket."""
    return [
        Registration(
            name="s3",
            factory="cdckit_s3.store:S3Backend",
            config="cdckit_s3.config:S3StateConfig",
            summary="objects in a bucket of S3, or of a store that speaks its protocol",
            extra="s3",
            requires=("boto3",),
            aliases=("io.debezium.storage.s3.history.S3SchemaHistory",),
        )
    ]
