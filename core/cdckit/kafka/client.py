"""Makes Kafka's clients, and asks them."""

from __future__ import annotations

import logging
import re
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, TypeVar

from cdckit.errors import ConfigError
from cdckit.kafka.client_errors import ClientErrors
from cdckit.waiting import answer_of

if TYPE_CHECKING:
    from confluent_kafka import Consumer, Producer
    from confluent_kafka.admin import AdminClient

Client = TypeVar("Client")
Answer = TypeVar("Answer")
Settings = Mapping[str, Any]

client_log = logging.getLogger("cdckit.kafka.client")
"""librdkafka's own log; the command line says what repeats itself there once a minute."""

_UNKNOWN = re.compile(r'No such configuration property: "([^"]+)"')
_NO_KERBEROS = "SASL mechanism GSSAPI"
_WITH_KERBEROS = (
    "the wheels of confluent-kafka come without Kerberos: log in by SCRAM, OAUTHBEARER or a certificate, or build it "
    "against a librdkafka that has it (pip install --no-binary confluent-kafka confluent-kafka)"
)


def open_consumer(settings: Settings, errors: ClientErrors) -> Consumer:
    """A consumer; it connects by and by.

    Args:
        settings: librdkafka's.
        errors: is told what goes wrong with connections; it knows the options, for messages.

    Raises:
        ConfigError: librdkafka refuses a setting, or is not installed; secrets are left out of the message.
    """
    _require_library(errors)
    from confluent_kafka import Consumer  # noqa: PLC0415 - an extra

    return _made(Consumer, settings, errors, {})


def open_producer(settings: Settings, errors: ClientErrors, callbacks: Mapping[str, Any] | None = None) -> Producer:
    """A producer; as `open_consumer`, with further callbacks by librdkafka's names, and what concerns them."""
    _require_library(errors)
    from confluent_kafka import Producer  # noqa: PLC0415 - an extra

    return _made(Producer, settings, errors, callbacks or {})


def open_admin(settings: Settings, errors: ClientErrors) -> AdminClient:
    """A client that makes topics and tells of them; as `open_consumer`."""
    _require_library(errors)
    from confluent_kafka.admin import AdminClient  # noqa: PLC0415 - an extra

    return _made(AdminClient, settings, errors, {})


def ask(errors: ClientErrors, serve: Callable[[float], object], call: Callable[[], Answer]) -> Answer:
    """What the brokers answer; a stop leaves the call behind in a thread, which holds the client then.

    Args:
        errors: those of the client.
        serve: its `poll`, by which it tells the cause of what failed.
        call: asks it.

    Raises:
        KafkaClientError: they do not answer, or refuse.
        StoppedError: the process was asked to stop meanwhile.
    """
    from confluent_kafka import KafkaException  # noqa: PLC0415 - an extra

    try:
        return answer_of(call)
    except KafkaException as error:
        serve(0)
        raise errors.fault(error.args[0]) from error


def _require_library(errors: ClientErrors) -> None:
    try:
        import confluent_kafka  # noqa: F401, PLC0415 - an extra
    except ImportError as error:
        raise ConfigError(
            f"{errors.options.servers}: needs confluent-kafka, which is not installed: pip install 'cdckit[kafka]'"
        ) from error


def _made(
    kind: Callable[..., Client], settings: Settings, errors: ClientErrors, callbacks: Mapping[str, Any]
) -> Client:
    from confluent_kafka import KafkaException  # noqa: PLC0415 - an extra

    try:
        return kind({**settings, "error_cb": errors.report, **callbacks}, logger=client_log)
    except KafkaException as error:
        said = errors.redacted(error.args[0].str())
    unknown = _UNKNOWN.search(said)
    if unknown:
        raise ConfigError(f"{errors.options.properties}.{unknown[1]}: librdkafka has no such option")
    raise ConfigError(f"{errors.options.properties}: {said}" + (f"; {_WITH_KERBEROS}" if _NO_KERBEROS in said else ""))
