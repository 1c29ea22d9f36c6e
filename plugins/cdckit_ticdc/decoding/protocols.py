"""The protocols by their names in TiCDC's options."""

from __future__ import annotations

from typing import Literal

from cdckit import ConfigError
from cdckit_ticdc.decoding.avro import AvroDecoder
from cdckit_ticdc.decoding.canal_json import CanalJsonDecoder
from cdckit_ticdc.decoding.debezium import DebeziumAvroDecoder, DebeziumJsonDecoder
from cdckit_ticdc.decoding.decoder import Decoder, DecoderOptions
from cdckit_ticdc.decoding.open_protocol import OpenProtocolDecoder
from cdckit_ticdc.decoding.simple import SimpleDecoder
from cdckit_ticdc.definitions import Definitions
from cdckit_ticdc.registry import Registry

Protocol = Literal["debezium", "debezium-avro", "canal-json", "open-protocol", "simple", "avro", "csv"]

_PLAIN: dict[str, type[Decoder]] = {
    "debezium": DebeziumJsonDecoder,
    "canal-json": CanalJsonDecoder,
    "open-protocol": OpenProtocolDecoder,
    "simple": SimpleDecoder,
}
_REGISTERED: dict[str, type[AvroDecoder | DebeziumAvroDecoder]] = {
    "avro": AvroDecoder,
    "debezium-avro": DebeziumAvroDecoder,
}


def make_decoder(
    protocol: Protocol, options: DecoderOptions, definitions: Definitions, registry: Registry | None
) -> Decoder:
    """The decoder of a protocol.

    Raises:
        ConfigError: it needs a schema registry, and none is given.
    """
    if protocol in _PLAIN:
        return _PLAIN[protocol](options, definitions)
    if registry is None:
        raise ConfigError(f"source.schema.registry.url: required for protocol {protocol}, but not given")
    return _REGISTERED[protocol](options, definitions, registry)
