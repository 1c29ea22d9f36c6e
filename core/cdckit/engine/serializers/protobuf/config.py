"""Options of the Protobuf serializer: those of Confluent's ProtobufConverter and its registry client."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar, Self

from pydantic import model_validator

from cdckit.engine.serializers.avro.registry_config import RegistryConfig


class ProtobufConfig(RegistryConfig):
    """How keys and values become Protobuf, and where their schemas are registered."""

    use_latest_version: bool = False
    """With `auto.register.schemas=false`: take the id of the subject's latest schema, which has to read the record."""
    id_compatibility_strict: bool = True
    """Has to be true, as `latest.compatibility.strict`."""
    latest_compatibility_strict: bool = True
    """Has to be true: a record is written by its own schema."""
    optional_for_nullables: bool = False
    """Mark a field that may be null as `optional`; otherwise a null is not told from a zero or an empty text."""
    wrapper_for_nullables: bool = False
    """Put a plain value that may be null into one of Google's wrappers, such as `google.protobuf.StringValue`."""
    scrub_invalid_names: bool = False
    """Put `_` for what names cannot hold in Protobuf; otherwise such a name is an error."""
    ignore_default_for_nullables: bool = False
    """Write null where a column that allows it is null; otherwise its default, if it has one."""

    passed_over: ClassVar[tuple[str, ...]] = (
        *RegistryConfig.passed_over,
        r"enhanced\.protobuf\.schema\.support|optional\.for\.proto2|wrapper\.for\.raw\.primitives|int\.for\.enums",
        r"generate\.(struct\.for\.nulls|index\.for\.unions)|flatten\.unions",
        r"specific\.protobuf\.(key|value)\.type|derive\.type",
        r"reference\.(subject\.name\.strategy|lookup\.only)",
    )
    not_yet: ClassVar[Mapping[str, str | None]] = {**RegistryConfig.not_yet, "skip.known.types": "true"}

    @model_validator(mode="after")
    def _latest_is_the_records_own(self) -> Self:
        if not (self.latest_compatibility_strict and self.id_compatibility_strict):
            name = "id" if self.latest_compatibility_strict else "latest"
            raise ValueError(
                f"{name}.compatibility.strict: Protobuf's writer takes no schema but the record's; remove it"
            )
        return self
