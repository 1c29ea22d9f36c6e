"""What the Kafka client reports about its connections, as opposed to single records."""

from __future__ import annotations

from confluent_kafka import KafkaError

from cdckit import SinkError

_REFUSALS = frozenset(
    (
        KafkaError._AUTHENTICATION,
        KafkaError._SSL,
        KafkaError.SASL_AUTHENTICATION_FAILED,
        KafkaError.UNSUPPORTED_SASL_MECHANISM,
    )
)

_START_AGAIN = "Start again: what was not acknowledged is sent again from the last saved offset"
_ADVICE = {
    KafkaError.CLUSTER_AUTHORIZATION_FAILED: "Grant the sink's user WRITE on its topics, and IDEMPOTENT_WRITE on the "
    "cluster where brokers are older than 2.8"
}
_PLAIN = {
    KafkaError._ALL_BROKERS_DOWN: "no broker can be reached, or none keeps a connection: check that they run, and "
    "whether they want TLS or a login (kafka.security.protocol)"
}
"""What librdkafka's shortest sentences mean."""


class ClientErrors:
    """The newest error of one client or several; the client itself goes on trying after most of them."""

    def __init__(self) -> None:
        self._last: KafkaError | None = None
        self._fatal: KafkaError | None = None

    def report(self, error: KafkaError) -> None:
        """The client's error callback."""
        if error.fatal():
            self._fatal = error
        if error.code() != KafkaError._ALL_BROKERS_DOWN or self._last is None:
            self._last = error

    def clear(self) -> None:
        """Forgets what is over."""
        self._last = None

    def reason(self) -> str:
        """The newest error in words, or ""."""
        if self._last is None:
            return ""
        return _PLAIN.get(self._last.code(), self._last.str())

    def refused(self) -> bool:
        """Whether brokers answer, but refuse this client's credentials or certificate, or it theirs."""
        return self._last is not None and self._last.code() in _REFUSALS

    def check(self) -> None:
        """Does nothing while the client can go on.

        Raises:
            SinkError: it cannot.
        """
        if self._fatal is not None:
            advice = _ADVICE.get(self._fatal.code(), _START_AGAIN)
            raise SinkError(f"the Kafka producer cannot go on: {self._fatal.str()} ({self._fatal.name()}). {advice}")
