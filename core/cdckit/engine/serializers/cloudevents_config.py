"""Options of the CloudEvents serializer: those of Debezium's CloudEventsConverter for JSON, and of keys and headers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Literal, Self

from pydantic import AfterValidator, BeforeValidator, Field, model_validator

from cdckit.api.plugin_config import PluginConfig
from cdckit.connector.avro_names import NameAdjustment
from cdckit.engine.serializers.avro.apicurio_config import ApicurioAvroConfig
from cdckit.engine.serializers.avro.config import AvroConfig
from cdckit.engine.serializers.inner_options import InnerOptions, as_pydantic_errors, without_prefix

_FIELDS = ("id", "type", "traceparent", "dataSchemaName")


@dataclass(frozen=True, slots=True)
class MetadataSource:
    """What is taken from a record's headers, in the place of its value or of being made.

    Attributes:
        metadata: source block, operation and transaction; else they are those of the change event.
        fields: of `id`, `type`, `traceparent` and `dataSchemaName` those that are taken from headers.
    """

    metadata: bool
    fields: frozenset[str]

    @classmethod
    def parse(cls, text: str) -> MetadataSource:
        """The meaning of `value` or `header`, followed by any number of `FIELD:generate` or `FIELD:header`.

        Raises:
            ValueError: it is no such list.
        """
        first, *pairs = (item.strip() for item in text.split(","))
        if first not in ("value", "header"):
            raise ValueError(f"should begin with value or header, not '{first}'")
        fields = set(_FIELDS) if first == "header" else {"traceparent"}
        for pair in pairs:
            name, _, source = pair.partition(":")
            if name not in _FIELDS or source not in ("header", "generate"):
                raise ValueError(f"'{pair}' should be one of {', '.join(_FIELDS)}, with :header or :generate")
            fields = fields | {name} if source == "header" else fields - {name}
        return cls(first == "header", frozenset(fields))


def _joined(value: Any) -> Any:
    return ",".join(map(str, value)) if isinstance(value, (list, tuple)) else value


def _checked(text: str) -> str:
    MetadataSource.parse(text)
    return text


class CloudEventsConfig(PluginConfig):
    """How change events become CloudEvents, and how their keys and headers are written."""

    schemas_enable: bool = True
    """Write keys and headers as `{"schema": …, "payload": …}`, as Kafka Connect's JSON does by default."""
    key_schemas_enable: bool | None = None
    """The same for keys alone; unset: as `schemas.enable` says."""
    header_schemas_enable: bool | None = None
    """The same for headers alone, where they are JSON; unset: as `schemas.enable` says."""
    key_serializer: Literal["json"] = "json"
    """What writes the keys."""
    header_format: Literal["json", "simple"] = Field(default="json", alias="header.format")
    """Headers as JSON, or as Kafka Connect's SimpleHeaderConverter writes them: plain text.

    Unset it is `simple` for the sink `kafka`, and in a connector's configuration without `header.converter`.
    """
    content_mode: Literal["structured", "binary"] = Field(default="structured", alias="content.mode")
    """Where an event's attributes stand: in the value, with its data, or in the message's headers (`binary`),
    `content-type` and `ce_*`, while the value is the data. Debezium has the first one alone.
    """
    serializer_type: Literal["json", "avro"] = "json"
    """Events as JSON, or in Avro, which wants `data` in Avro, too."""
    data_serializer_type: Literal["json", "avro"] = "json"
    """`data` as JSON, or in Avro: in an event as JSON as base64 of what a message in Avro is."""
    avro_options: InnerOptions = Field(default_factory=dict)
    """`avro.OPTION`: an option of the serializer `avro`, such as `avro.schema.registry.url`; or of `avro-apicurio`,
    where `avro.apicurio.registry.url` is given.
    """
    schema_cloudevents_name: str | None = None
    """The name of the Avro schema of events. By default it is made of the topic prefix and the database."""
    schema_name_adjustment_mode: NameAdjustment = "avro"
    """What is done to that name, and to the name of the schema of `data`, in Avro: as at the sources."""
    json_schemas_enable: bool = True
    """Write the event's `data` as `{"schema": …, "payload": …}`."""
    json_decimal_format: Literal["BASE64", "NUMERIC"] = "BASE64"
    """Decimals in `data` as base64 of the unscaled integer's bytes, or as JSON numbers."""
    json_replace_null_with_default: bool = True
    """Write a field's default in `data` where the value is null and the schema has a default."""
    extension_attributes_enable: bool = True
    """Add operation, source block and transaction as attributes whose names begin with `iodebezium`."""
    opentelemetry_tracing_attributes_enable: bool = False
    """Add the attribute `traceparent`, from the header of that name, where there is one."""
    schema_data_name_source_header_enable: bool = False
    """Whether the name of the schema of `data` may be taken from the header `dataSchemaName`."""
    metadata_source: Annotated[str, BeforeValidator(_joined), AfterValidator(_checked)] = (
        "value,id:generate,type:generate,traceparent:header,dataSchemaName:generate"
    )
    """Where source block, operation and transaction stand: in the `value`, or in the headers `source`, `op` and
    `transaction` (`header`); then, for `id`, `type`, `traceparent` and `dataSchemaName`, whether they are made
    (`generate`) or taken from the header of that name.
    """

    apart: ClassVar[tuple[str, ...]] = ()
    patterns: ClassVar[Mapping[str, str]] = {r"avro\..+": "avro_options"}
    passed_over: ClassVar[tuple[str, ...]] = (r"(json\.)?schemas\.cache\.size|value\.schemas\.enable",)

    @model_validator(mode="after")
    def _traceparent_has_a_source(self) -> Self:
        if self.opentelemetry_tracing_attributes_enable and "traceparent" not in self.sources.fields:
            raise ValueError("metadata.source: traceparent can be taken from a header alone: traceparent:header")
        return self

    @model_validator(mode="after")
    def _avro_is_complete(self) -> Self:
        if self.serializer_type == "avro" and self.data_serializer_type != "avro":
            raise ValueError("data.serializer.type: should be avro where serializer.type is")
        if self.serializer_type == "avro" and self.content_mode == "binary":
            raise ValueError("serializer.type: in binary mode there are data alone, which data.serializer.type says")
        if self.data_serializer_type == "avro":
            with as_pydantic_errors():
                self.avro  # noqa: B018 - it raises what is wrong with its options
        return self

    @property
    def avro(self) -> AvroConfig | ApicurioAvroConfig:
        """The checked options of Avro.

        Raises:
            ConfigError: one of them is wrong, or the registry's URL lacks.
        """
        model = ApicurioAvroConfig if "avro.apicurio.registry.url" in self.avro_options else AvroConfig
        return model.load(without_prefix(self.avro_options, "avro."), "avro")[0]

    @property
    def sources(self) -> MetadataSource:
        """What is taken from headers."""
        return MetadataSource.parse(self.metadata_source)
