"""Kafka's transactions: each has records and the offset behind them, and both are seen, or neither.

A producer that begins (`init_transactions`) fences the one before it under the same transactional id, and ends what
that has left behind. So the offset that is read then is the last one. A transaction that fails is thrown away with its
producer: whether it was committed after all, the next one reads in the topic.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from typing import Any
from uuid import uuid4

from confluent_kafka import KafkaError, KafkaException

from cdckit import RetriableSinkError, SinkError, Transactions
from cdckit.waiting import answer_of
from cdckit_kafka.client import Client
from cdckit_kafka.config import KafkaSinkConfig
from cdckit_kafka.hanging import HangingError, first_records
from cdckit_kafka.offset_topic import Noted, OffsetTopic
from cdckit_kafka.refusals import LASTING, advice_of

log = logging.getLogger("cdckit.kafka")

_STEP_SECONDS = 1.0
_COMMIT_SECONDS = 0.2
_FAREWELL_SECONDS = 0.5
_TOO_OFTEN = 3
_FENCED = (KafkaError._FENCED, KafkaError.PRODUCER_FENCED, KafkaError.INVALID_PRODUCER_EPOCH)


class KafkaTransactions(Transactions):
    """The transactions of one sink.

    Args:
        config: the sink's options.
        connect: makes a new producer, which the sink writes to from then on.
    """

    def __init__(self, config: KafkaSinkConfig, connect: Callable[[], Client]) -> None:
        self._config = config
        self._connect = connect
        self._run = uuid4().hex
        self._noted: Noted | None = None
        self._began: float | None = None
        self._idle = 0.0
        self._left = 0.0
        self._overdue = 0
        self._topics: set[str] = set()

    def open(
        self,
        pipeline: str,
        settings: Mapping[str, str],
        client: Client,
        existing: Iterable[str],
        *,
        resumes: bool,
    ) -> None:
        """Fences the producer before this one, and reads the offset.

        Args:
            pipeline: its name.
            settings: the producer's.
            client: it.
            existing: the topics that there are.
            resumes: whether what is behind the offset is written again.

        Raises:
            SinkError: the brokers refuse, or none answers.
        """
        self._resumes = resumes
        self._id = settings["transactional.id"]
        self._timeout = int(settings["transaction.timeout.ms"]) / 1000
        self._client = client
        self._settings = settings
        self._topic = OffsetTopic(self._config, pipeline, settings)
        self._topic.ensure(client, existing)
        self._enter()

    @property
    def interval_ms(self) -> int | None:
        """As `transaction.boundary` says."""
        return self._config.transaction_interval_ms

    def committed(self) -> Any:
        """The place that the topic has."""
        return None if self._noted is None else self._noted.place

    def begin(self) -> None:
        """Begins a transaction, unless there is one.

        Raises:
            SinkError: the one that there is has lasted too long, or the client refuses.
        """
        now = time.monotonic()
        if self._began is None:
            self._asked(self._client.producer.begin_transaction)
            self._began, self._idle = now, 0.0
        else:
            # Only the source's turns count against it: writing may wait for brokers for as long as they are away, and
            # then the transaction is lost and written again, which is no fault of the configuration.
            self._idle += now - self._left
        if self._idle > self._timeout:
            raise self._too_long()

    def _too_long(self) -> SinkError:
        return SinkError(
            f"the source has given records for longer than {self._timeout:.0f} s without a place to resume behind "
            "them, and Kafka aborts transactions that last so long: raise sink.kafka.transaction.timeout.ms, to the "
            "brokers' transaction.max.timeout.ms at the most",
            number="CDC4106",
        )

    def wrote(self, topics: Iterable[str]) -> None:
        """Notes where the transaction has written, and that the source has its turn."""
        self._topics.update(topics)
        self._left = time.monotonic()

    def commit(self, place: Any) -> None:
        """Writes the place, too, and commits."""
        self.begin()
        noted = Noted(self._run, place)
        record = self._topic.record(noted, self._topics)
        client = self._client
        try:
            self._asked(lambda: client.producer.produce(*record))
        except BufferError:
            client.flush()
            self._asked(lambda: client.producer.produce(*record))
        client.flush()  # what is refused is told by its record
        # A commit whose answer is late is asked for again: librdkafka then waits for the same one. It is short each
        # time, as the client is deaf to a stop meanwhile.
        wait = client.wait(f"Kafka to commit a transaction of '{self._id}'")
        while not self._answered(lambda: client.producer.commit_transaction(_COMMIT_SECONDS)):
            wait.still(1)
        wait.over()
        client.errors.clear()
        self._noted, self._began, self._overdue = noted, None, 0
        self._topics.clear()

    def rollback(self) -> Any:
        """Begins anew with another producer, for which Kafka aborts what this one has left behind.

        Raises:
            SinkError: also where several in turn have lasted too long, as they would for ever.
        """
        self._overdue = self._overdue + 1 if self._is_overdue() else 0
        self.close()
        if self._overdue >= _TOO_OFTEN:
            raise self._too_long()
        self._client.close()
        self._began = None
        self._topics.clear()
        self._client = self._connect()
        self._client.existing_topics()
        # Another run that has come meanwhile must not be fenced by this one, which is the older: the two would fence
        # each other for ever.
        self._require_first()
        self._enter()
        return self.committed()

    def close(self) -> None:
        """Aborts what is open, if Kafka answers soon; else it does so by itself after a while, or at the next start."""
        if self._began is not None:
            with suppress(KafkaException):
                self._client.producer.abort_transaction(_FAREWELL_SECONDS)

    def lost(self, error: KafkaError) -> SinkError:
        """What a failure means for the transaction in hand."""
        said = f"a transaction of '{self._id}' came to nothing: {error.str()} ({error.name()})"
        # librdkafka tells a transaction that the brokers have aborted for its length as one that was fenced. Who has
        # come to this one's place is then said by the topic alone.
        if error.code() in _FENCED and (not self._is_overdue() or self._taken_over()):
            return self._fenced()
        if error.code() in LASTING:
            return SinkError(f"{said}. {advice_of(error)}".rstrip(". "))
        return RetriableSinkError(f"{said}; what is in it is written again")

    def _enter(self) -> None:
        # The order is what makes it exactly-once: first nobody before can commit any more, then the offset is read.
        wait = self._client.wait(f"Kafka to end what transactional id '{self._id}' did before")
        while not self._answered(lambda: answer_of(lambda: self._client.producer.init_transactions(_STEP_SECONDS))):
            wait.still(1)
        wait.over()
        while True:
            try:
                self._noted = self._topic.newest(self._client, settled=True)
            except HangingError as hanging:
                self._take_back(hanging)
            else:
                return

    def _take_back(self, hanging: HangingError) -> None:
        """Has Kafka abort what it has left open, in each partition by a transaction that is aborted itself."""
        if hanging.topics is None or not self._resumes:
            raise SinkError(
                f"Kafka has ended a transaction of '{self._id}' and left it open in topic '{self._topic.name}': "
                "kafka-transactions.sh find-hanging tells where, and kafka-transactions.sh abort ends it there. What "
                "was in it is seen by nobody: deliver it again",
                number="CDC4113",
            )
        log.warning(
            "Kafka has ended a transaction of '%s' and left it open in its topics: it is aborted there, and what was "
            "in it is written again",
            self._id,
        )
        producer = self._client.producer
        self._asked(producer.begin_transaction)
        for copy in first_records(self._client, self._settings, hanging.topics):
            self._asked(lambda copy=copy: producer.produce(*copy))  # type: ignore[misc]
        self._client.flush()
        wait = self._client.wait(f"Kafka to abort a transaction of '{self._id}'")
        while not self._answered(lambda: producer.abort_transaction(_COMMIT_SECONDS)):
            wait.still(1)
        wait.over()

    def _answered(self, call: Callable[[], object]) -> bool:
        """Whether Kafka has answered; false: ask again.

        Raises:
            SinkError: it refuses.
        """
        try:
            call()
        except KafkaException as error:
            self._client.served(self._client.producer.poll, 0)
            if error.args[0].retriable() and not self._client.errors.refused():
                return False
            raise self.lost(error.args[0]) from None
        return True

    def _asked(self, call: Callable[[], object]) -> None:
        try:
            call()
        except KafkaException as error:
            self._client.served(self._client.producer.poll, 0)
            raise self.lost(error.args[0]) from None

    def _is_overdue(self) -> bool:
        """Whether the brokers may have aborted the transaction for its length, which librdkafka takes for fencing."""
        return self._began is not None and time.monotonic() - self._began >= self._timeout

    def _taken_over(self) -> bool:
        """Whether another run has come to this one's place."""
        noted = self._topic.newest(self._client, settled=False)
        before = None if self._noted is None else self._noted.run
        return noted is not None and noted.run not in (self._run, before)

    def _require_first(self) -> None:
        if self._taken_over():
            raise self._fenced()

    def _fenced(self) -> SinkError:
        return SinkError(
            f"another process writes with the transactional id '{self._id}' now, and Kafka takes nothing more from "
            "this one: let one of the two run. Two pipelines need names of their own, or sink.transactional.id",
            number="CDC4104",
        )
