"""The sink's producer, and what it says of itself."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from confluent_kafka import KafkaError, KafkaException, Producer
from confluent_kafka.admin import AdminClient

from cdckit import SinkContext, SinkError
from cdckit.kafka import ClientErrors, open_admin, open_producer
from cdckit.waiting import answer_of
from cdckit_kafka.config import KafkaSinkConfig
from cdckit_kafka.refusals import Refusals, fatal_sentence
from cdckit_kafka.settings import CLIENT_OPTIONS, admin_settings
from cdckit_kafka.waiting import Wait

_STEP_SECONDS = 0.2
_ANSWER_SECONDS = 1.0

Lost = Callable[[KafkaError], SinkError]
"""What is raised where a transaction came to nothing, by what the client says."""


class Client:
    """One producer from its first connection to its end.

    Args:
        config: the sink's options.
        context: what the runner gave the sink.
        settings: the producer's.
        lost: for a producer of transactions.

    Attributes:
        producer: librdkafka's.
        errors: what it told.
        report: hears of a message that was refused, as the producer calls it.

    Raises:
        ConfigError: librdkafka refuses an option.
    """

    def __init__(
        self, config: KafkaSinkConfig, context: SinkContext, settings: Mapping[str, str], lost: Lost | None = None
    ) -> None:
        self._config = config
        self._context = context
        self._settings = settings
        self._lost = lost
        self._refusals = Refusals()
        self.errors = ClientErrors(CLIENT_OPTIONS, settings)
        self.report = self._refusals.report
        reports = {"on_delivery": self.report, "delivery.report.only.error": True}
        self.producer: Producer = open_producer(settings, self.errors, reports)

    def served(self, wait: Callable[[float], int], seconds: float) -> int:
        """Lets the client tell what has happened, and raises what ends it; the answer of `wait`.

        Raises:
            SinkError: it cannot go on, or a record was refused.
        """
        try:
            answer = wait(seconds)
        except KafkaException as error:
            self.errors.report(error.args[0])
            self._check()
            raise self.failure(error.args[0]) from None
        self._check()
        return answer

    def flush(self) -> None:
        """Returns once every message is acknowledged.

        Raises:
            SinkError: one was refused; or, in a run that ends by itself or is stopping, nothing came for too long.
        """
        wait = self.wait("Kafka to acknowledge records")
        while left := self.served(self.producer.flush, _STEP_SECONDS):
            wait.still(left)
        wait.over()
        self.errors.clear()

    def failure(self, error: KafkaError) -> SinkError:
        """What the client's refusal of a call means."""
        if self._lost is not None:
            return self._lost(error)
        return SinkError(f"the Kafka client failed: {error.str()}", number="CDC4105")

    def _check(self) -> None:
        """Does nothing while the client can go on, and no record was refused."""
        if (fatal := self.errors.fatal) is not None:
            raise SinkError(fatal_sentence(fatal)) if self._lost is None else self._lost(fatal)
        if self._lost is not None and (passing := self._refusals.passing) is not None:
            raise self._lost(passing)
        self._refusals.check()

    def existing_topics(self) -> list[str]:
        """The names of the topics that there are; waits for a broker where none answers.

        Raises:
            SinkError: credentials are refused, or none answered for too long.
        """
        wait = self.wait("a Kafka broker to answer")
        while True:
            try:
                found = answer_of(lambda: list(self.producer.list_topics(timeout=_ANSWER_SECONDS).topics))
            except KafkaException:
                self.served(self.producer.poll, 0)
            else:
                wait.over()
                return found
            if self.errors.refused():
                raise SinkError(
                    f"cannot log in to Kafka ({self._config.bootstrap_servers}): {self.errors.reason()}",
                    number="CDC4102",
                )
            wait.still(1)

    def administrator(self) -> AdminClient:
        """A client that makes topics."""
        return open_admin(admin_settings(self._settings), self.errors)

    def wait(self, what: str) -> Wait:
        """A wait for something."""
        where = f"{what} ({self._config.bootstrap_servers})"
        return Wait(where, self._patience, self._context.stopping, self.errors.reason)

    def _patience(self) -> float | None:
        """For how many seconds nothing may come; None: without end."""
        return self._config.timeout if self._context.once or self.errors.refused() else None

    def close(self) -> None:
        """Drops what is not acknowledged, and all connections."""
        self.producer.purge(blocking=False)
