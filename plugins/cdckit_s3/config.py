"""Options of the state store `s3`."""

from __future__ import annotations

from typing import Annotated, Self

from pydantic import Field, PositiveInt, SecretStr, model_validator

from cdckit import PluginConfig

_BUCKET = r"^[a-zA-Z0-9][a-zA-Z0-9._-]{1,253}[a-zA-Z0-9]$"


class S3StateConfig(PluginConfig):
    """Options of the state store `s3`."""

    s3_bucket_name: Annotated[str, Field(pattern=_BUCKET)]
    """The bucket; it has to be there."""
    s3_object_name: Annotated[str, Field(pattern=r"^[^/].*[^/]$|^[^/]$", max_length=200)] = "cdckit"
    """What the names of the objects begin with: `OBJECT/PIPELINE/…`."""
    s3_region_name: str | None = None
    """The region; without it the environment's (`AWS_DEFAULT_REGION`, the profile)."""
    s3_endpoint: Annotated[str, Field(pattern=r"^https?://[^/@\s]+/?$")] | None = None
    """The store's address, `https://HOST:PORT`, where it is not Amazon's."""
    s3_access_key_id: str | None = None
    """The access key's id; without it the environment's credentials are used: variables, profile, web identity, the
    machine's role.
    """
    s3_secret_access_key: SecretStr | None = None
    """The secret of that key."""
    timeout_ms: PositiveInt = 10000
    """How long to wait, in milliseconds, for a connection, and for an answer. A request is tried five times."""
    hold_timeout_ms: Annotated[int, Field(ge=1000)] = 30000
    """How long, in milliseconds, a pipeline holds its state without a sign of life, as when its process was killed.
    A sign of life is a save, or without one a request each third of this time.
    """

    @model_validator(mode="after")
    def _a_key_has_both(self) -> Self:
        if (self.s3_access_key_id is None) != (self.s3_secret_access_key is None):
            raise ValueError("s3.access.key.id and s3.secret.access.key belong together: give both or none")
        return self
