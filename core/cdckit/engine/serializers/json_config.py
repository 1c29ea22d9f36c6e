"""Options of the JSON serializer: those of Kafka Connect's JsonConverter."""

from __future__ import annotations

from typing import ClassVar, Literal

from pydantic import Field

from cdckit.api.plugin_config import PluginConfig


class JsonConfig(PluginConfig):
    """How keys, values and headers become JSON."""

    schemas_enable: bool = True
    """Write `{"schema": …, "payload": …}` in both keys and values, as Kafka Connect does by default."""
    key_schemas_enable: bool | None = None
    """The same for keys alone; unset: as `schemas.enable` says."""
    value_schemas_enable: bool | None = None
    """The same for values and headers alone; unset: as `schemas.enable` says."""
    header_schemas_enable: bool | None = None
    """The same for headers alone, where they are JSON; unset: as for values."""
    decimal_format: Literal["BASE64", "NUMERIC"] = "BASE64"
    """Decimals as base64 of the unscaled integer's bytes, or as JSON numbers."""
    replace_null_with_default: bool = True
    """Write a field's default where the value is null and the schema has a default."""
    header_format: Literal["json", "simple"] = Field(default="json", alias="header.format")
    """Headers as JSON like values, or as Kafka Connect's SimpleHeaderConverter writes them: plain text.

    Unset it is `simple` for the sink `kafka`, and in a connector's configuration without `header.converter`.
    """

    passed_over: ClassVar[tuple[str, ...]] = (r"schemas\.cache\.size",)
