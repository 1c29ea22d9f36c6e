"""A CloudEvent's attributes as headers of a Kafka message, whose value are its data: binary mode.

Source: CloudEvents 1.0.2, "Kafka Protocol Binding", binary content mode.
"""

from __future__ import annotations

from typing import Any

from cdckit.api.messages import EncodedHeaders
from cdckit.engine.serializers.cloud_event import Attributes


def attribute_headers(attributes: Attributes) -> EncodedHeaders:
    """The headers; an attribute without a value is none."""
    return tuple((_name(name), _text(value).encode()) for name, value in attributes if value is not None)


def _name(attribute: str) -> str:
    return "content-type" if attribute == "datacontenttype" else f"ce_{attribute}"


def _text(value: Any) -> str:
    """CloudEvents' own text of a value."""
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value)
