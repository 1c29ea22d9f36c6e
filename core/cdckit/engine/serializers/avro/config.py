"""Options of the Avro serializer: those of Confluent's AvroConverter and its registry client."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from cdckit.engine.serializers.avro.registry_config import RegistryConfig


class AvroConfig(RegistryConfig):
    """How keys and values become Avro, and where their schemas are registered."""

    connect_meta_data: bool = True
    """Put what Avro has no word for (names, versions and parameters of logical types) beside it as `connect.*`."""
    scrub_invalid_names: bool = False
    """Put `_` for what names cannot hold in Avro; otherwise such a name is an error."""
    allow_optional_map_keys: bool = False
    """Make an Avro map also of a map whose keys are texts that may be null; otherwise it is an array of entries."""
    discard_type_doc_default: bool = False
    """Put the documentation of a column's schema beside its field, too."""
    ignore_default_for_nullables: bool = False
    """Write null where a column that allows it is null; otherwise its default, if it has one."""

    passed_over: ClassVar[tuple[str, ...]] = (
        *RegistryConfig.passed_over,
        r"enhanced\.avro\.schema\.support|flatten\.singleton\.unions|specific\.avro\..+",
        r"avro\.(reflection\.allow\.null|remove\.java\.properties|use\.logical\.type\.converters)",
    )
    not_yet: ClassVar[Mapping[str, str | None]] = {**RegistryConfig.not_yet, "generalized.sum.type.support": "false"}
