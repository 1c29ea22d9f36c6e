"""Which settings of one client of Kafka others need, too, to reach the same brokers."""

from __future__ import annotations

import re
from collections.abc import Mapping

_OF_EVERY_CLIENT = re.compile(
    r"(bootstrap\.servers|client\.|security\.|sasl\.|ssl\.|socket\.|broker\.|metadata\.|reconnect\.|retry\.|enable\.ssl|https\.|enable\.sasl"
    r"|topic\.metadata|api\.|enabled_sasl|log_level|debug|fetch\.|connections\.).*"
)


def of_every_client(settings: Mapping[str, str]) -> dict[str, str]:
    """Those settings, librdkafka's, that a consumer and a producer share."""
    return {name: value for name, value in settings.items() if _OF_EVERY_CLIENT.fullmatch(name)}
