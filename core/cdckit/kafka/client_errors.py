"""What a Kafka client reports: in plain words, without secrets, with the options that change it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from cdckit.errors import CdcError

if TYPE_CHECKING:
    from confluent_kafka import KafkaError

_REFUSES_LOGIN = frozenset(
    ("_AUTHENTICATION", "_SSL", "SASL_AUTHENTICATION_FAILED", "UNSUPPORTED_SASL_MECHANISM"),
)
_DENIES = frozenset(("TOPIC_AUTHORIZATION_FAILED", "GROUP_AUTHORIZATION_FAILED", "CLUSTER_AUTHORIZATION_FAILED"))
_ALL_DOWN = "_ALL_BROKERS_DOWN"
_SECRET = re.compile(r"password|secret|\.pem$|sasl\.oauthbearer\.config")


@dataclass(frozen=True, slots=True)
class ClientOptions:
    """The options that a client was made of, for messages.

    Attributes:
        properties: what begins the names of its properties: `source.kafka`.
        servers: the one that names its brokers.
        patience: the one that says how long an answer is waited for.
    """

    properties: str
    servers: str
    patience: str


class KafkaClientError(CdcError):
    """The brokers, or the client, did not do what was asked; those who ask raise their own error for it.

    Attributes:
        lasting: whether asking again is in vain until someone corrects something.
    """

    def __init__(self, said: str, *, lasting: bool = False) -> None:
        super().__init__(said)
        self.lasting = lasting


class ClientErrors:
    """The newest error of one client or several; the client itself goes on trying after most of them.

    Args:
        options: what the client was made of.
        settings: librdkafka's settings, whose secrets are left out of every message.
    """

    def __init__(self, options: ClientOptions, settings: Mapping[str, Any]) -> None:
        self.options = options
        self._settings = settings
        self._last: KafkaError | None = None
        self.fatal: KafkaError | None = None
        """The error after which the client does nothing more."""

    def report(self, error: KafkaError) -> None:
        """The client's error callback."""
        if error.fatal():
            self.fatal = error
        if error.name() != _ALL_DOWN or self._last is None:
            self._last = error

    def clear(self) -> None:
        """Forgets what is over."""
        self._last = None

    def reason(self) -> str:
        """The newest error in words, or ""."""
        if self._last is None:
            return ""
        return self._plain(self._last) if self._last.name() == _ALL_DOWN else self.redacted(self._last.str())

    def refused(self) -> bool:
        """Whether brokers answer, but refuse this client's credentials or certificate, or it theirs."""
        return self._last is not None and self._last.name() in _REFUSES_LOGIN

    def fault(self, error: KafkaError) -> KafkaClientError:
        """What the client or a broker answered, in words, with what is known of the cause."""
        if self.refused() or error.name() in _REFUSES_LOGIN | _DENIES or error.fatal():
            said = self.reason() if self.refused() else self.redacted(error.str())
            return KafkaClientError(
                f"the brokers refuse: {said}; check the options under {self.options.properties}", lasting=True
            )
        said, reason = self._plain(error), self.reason()
        return KafkaClientError(f"{said}: {reason}" if reason not in ("", said) else said)

    def redacted(self, text: str) -> str:
        """`text` without secrets."""
        for name, value in self._settings.items():
            if value and _SECRET.search(name):
                text = text.replace(str(value), "***")
        return text

    def _plain(self, error: KafkaError) -> str:
        """Librdkafka's shortest sentences say little."""
        advice = f"whether they want TLS or a login ({self.options.properties}.security.protocol)"
        match error.name():
            case "_ALL_BROKERS_DOWN":
                return f"no broker can be reached, or none keeps a connection: check that they run, and {advice}"
            case "_TRANSPORT":
                return f"no broker answers: check {self.options.servers}, that the brokers run, and {advice}"
            case "_TIMED_OUT":
                return f"no answer within {self.options.patience}"
        return self.redacted(error.str())
