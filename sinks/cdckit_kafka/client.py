"""Makes the Kafka clients: settings, callbacks, and where their log goes."""

from __future__ import annotations

import logging
import re
from collections.abc import Mapping
from typing import Any, TypeVar

from confluent_kafka import KafkaException, Producer
from confluent_kafka.admin import AdminClient

from cdckit import ConfigError
from cdckit_kafka.client_errors import ClientErrors
from cdckit_kafka.settings import redacted

Client = TypeVar("Client", Producer, AdminClient)

_UNKNOWN = re.compile(r'No such configuration property: "([^"]+)"')


client_log = logging.getLogger("cdckit.kafka.client")


def connect(
    kind: type[Client], settings: Mapping[str, str], errors: ClientErrors, callbacks: Mapping[str, Any]
) -> Client:
    """A client of `kind`; it connects by and by.

    Args:
        kind: producer or administrator.
        settings: librdkafka's.
        errors: is told what goes wrong with connections.
        callbacks: further callbacks by librdkafka's names, and what concerns them.

    Raises:
        ConfigError: librdkafka refuses a setting; secrets are left out of the message.
    """
    told: dict[str, Any] = {**settings, "error_cb": errors.report, **callbacks}
    try:
        return kind(told, logger=client_log)
    except KafkaException as error:
        said = redacted(error.args[0].str(), settings)
    unknown = _UNKNOWN.search(said)
    if unknown:
        raise ConfigError(f"sink.kafka.{unknown[1]}: librdkafka has no such option")
    raise ConfigError(f"sink.kafka: {said}")
