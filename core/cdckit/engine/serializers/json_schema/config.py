"""Options of the JSON Schema serializer: those of Confluent's JsonSchemaConverter and its registry client."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, ClassVar, Literal

from pydantic import BeforeValidator

from cdckit.engine.serializers.avro.registry_config import RegistryConfig

DecimalFormat = Annotated[
    Literal["BASE64", "NUMERIC"], BeforeValidator(lambda text: text.upper() if isinstance(text, str) else text)
]


class JsonSchemaConfig(RegistryConfig):
    """How keys and values become JSON, and where their schemas are registered."""

    object_additional_properties: bool = True
    """Whether schemas let objects have members that they do not name."""
    decimal_format: DecimalFormat = "BASE64"
    """Decimals as base64 of their unscaled bytes, or as JSON numbers."""
    ignore_default_for_nullables: bool = False
    """Write null where a column that allows it is null; otherwise its default, if it has one."""
    generalized_sum_type_support: bool = False
    """Take the symbols of an enumeration from the parameters `org.apache.kafka.connect.data.Enum.*`; otherwise from
    `io.confluent.connect.json.Enum.*`.
    """

    passed_over: ClassVar[tuple[str, ...]] = (
        *RegistryConfig.passed_over,
        r"json\.(key|value)\.type|type\.property",
        r"use\.optional\.for\.nonrequired|ignore\.modern\.dialects|flatten\.singleton\.unions",
        r"json\.(schema\.(spec\.version|scan\.packages)|oneof\.for\.nullables|envelope\.detection)",
        r"json\.(fail\.unknown\.properties|default\.property\.inclusion|write\.dates\.iso8601)",
    )
    not_yet: ClassVar[Mapping[str, str | None]] = {
        **RegistryConfig.not_yet,
        "json.fail.invalid.schema": "false",
        "json.indent.output": "false",
        "preserve.additional.properties": "false",
    }
