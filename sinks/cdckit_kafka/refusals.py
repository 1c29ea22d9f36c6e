"""What Kafka, or the client before it, did not take: which record, why, and what to do."""

from __future__ import annotations

from dataclasses import dataclass

from confluent_kafka import KafkaError, KafkaException, Message

from cdckit import SinkError

_LONGEST_KEY = 200

_TOO_LARGE_HERE = (
    "Raise sink.kafka.message.max.bytes, and the topic's max.message.bytes (the broker's message.max.bytes)"
)
_BUFFER_TOO_SMALL = "Raise sink.kafka.queue.buffering.max.kbytes: the buffer is smaller than the record"
_GONE = (
    "The topic was deleted or never existed: create it, or let the sink do so (sink.topic.creation.enable), and "
    "start again"
)
_ADVICE = {
    KafkaError.MSG_SIZE_TOO_LARGE: "Raise the topic's max.message.bytes; where the record is smaller than that, it was "
    "sent with others: lower sink.kafka.batch.size below it",
    KafkaError.TOPIC_AUTHORIZATION_FAILED: "Grant the sink's user WRITE and DESCRIBE on the topic",
    KafkaError.UNKNOWN_TOPIC_OR_PART: _GONE,
    KafkaError._UNKNOWN_TOPIC: _GONE,
    KafkaError.TOPIC_EXCEPTION: "Topic names are letters, digits, '.', '_' and '-', up to 249 of them: change "
    "topic.prefix, or route the records elsewhere",
    KafkaError._UNKNOWN_PARTITION: "The topic was deleted, or has fewer partitions: create it or add "
    "partitions, and start again",
    KafkaError._DESTROY: "The topic was deleted while the record waited, or its broker left the cluster: see to it, "
    "and start again",
    KafkaError._MSG_TIMED_OUT: "Raise sink.kafka.message.timeout.ms, or set it to 0 to wait without end",
    KafkaError.INVALID_RECORD: "A compacted topic takes no record without a key: change its cleanup.policy",
}

_NUMBERS = {
    KafkaError.TOPIC_AUTHORIZATION_FAILED: "CDC4110",
    KafkaError.UNKNOWN_TOPIC_OR_PART: "CDC4111",
    KafkaError._UNKNOWN_TOPIC: "CDC4111",
    KafkaError._UNKNOWN_PARTITION: "CDC4111",
    KafkaError._DESTROY: "CDC4111",
    KafkaError._MSG_TIMED_OUT: "CDC4101",
    KafkaError.INVALID_RECORD: "CDC4112",
}

_START_AGAIN = "Start again: what was not acknowledged is sent again from the last saved offset"
_FATAL_ADVICE = {
    KafkaError.CLUSTER_AUTHORIZATION_FAILED: "Grant the sink's user WRITE on its topics, and IDEMPOTENT_WRITE on the "
    "cluster where brokers are older than 2.8"
}


_NO_TRANSACTIONS = "Grant the sink's user WRITE and DESCRIBE on the transactional id"
_TRANSACTION_ADVICE = {
    KafkaError.TRANSACTIONAL_ID_AUTHORIZATION_FAILED: _NO_TRANSACTIONS,
    KafkaError.INVALID_TRANSACTION_TIMEOUT: "Lower sink.kafka.transaction.timeout.ms, or raise the brokers' "
    "transaction.max.timeout.ms",
    KafkaError.UNSUPPORTED_VERSION: "Transactions need brokers of version 0.11 or newer",
}
LASTING = frozenset((*_ADVICE, *_FATAL_ADVICE, *_TRANSACTION_ADVICE)) - {KafkaError._MSG_TIMED_OUT}
"""Codes of errors that another attempt would meet again."""
_PASSING = frozenset(
    (
        KafkaError._MSG_TIMED_OUT,
        KafkaError._PURGE_QUEUE,
        KafkaError._PURGE_INFLIGHT,
        KafkaError._FENCED,
        KafkaError._STATE,
        KafkaError.PRODUCER_FENCED,
        KafkaError.INVALID_PRODUCER_EPOCH,
        KafkaError.INVALID_PRODUCER_ID_MAPPING,
        KafkaError.INVALID_TXN_STATE,
        KafkaError.OUT_OF_ORDER_SEQUENCE_NUMBER,
        KafkaError.UNKNOWN_PRODUCER_ID,
        KafkaError.NETWORK_EXCEPTION,
        KafkaError.NOT_LEADER_FOR_PARTITION,
        KafkaError.REQUEST_TIMED_OUT,
    )
)
"""Codes by which records are refused when their transaction came to nothing for a reason of its own."""


def advice_of(error: KafkaError) -> str:
    """What to do about a lasting error, or ""."""
    return {**_ADVICE, **_FATAL_ADVICE, **_TRANSACTION_ADVICE}.get(error.code(), "")


def fatal_sentence(error: KafkaError) -> str:
    """What happened, and what to do, where the producer cannot go on."""
    advice = _FATAL_ADVICE.get(error.code(), _START_AGAIN)
    return f"the Kafka producer cannot go on: {error.str()} ({error.name()}). {advice}"


@dataclass(slots=True)
class Refusal:
    """One refused record.

    Attributes:
        topic: where it should have gone.
        partition: likewise; negative when none was chosen yet.
        key: the record's key.
        size: bytes of key and value.
        error: the reason: the broker's, or what the client raised.
    """

    topic: str
    partition: int
    key: bytes | None
    size: int
    error: KafkaError | KafkaException | BufferError

    @property
    def never_fits(self) -> bool:
        """Whether the record is too large for the client, its whole buffer, or, as it says, the broker."""
        error = self.error.args[0] if isinstance(self.error, KafkaException) else self.error
        return isinstance(error, BufferError) or bool(error.code() == KafkaError.MSG_SIZE_TOO_LARGE)

    @property
    def number(self) -> str:
        """That of the error which it becomes; "": a general one's."""
        if self.never_fits:
            return "CDC4109"
        error = self.error.args[0] if isinstance(self.error, KafkaException) else self.error
        return _NUMBERS.get(error.code(), "") if isinstance(error, KafkaError) else ""

    def sentence(self) -> str:
        """What happened and what to do."""
        partition = f" partition {self.partition}" if self.partition >= 0 else ""
        record = f"the record with {_key_text(self.key)} ({self.size} bytes)"
        reason, advice = self._reason()
        return f"topic '{self.topic}'{partition} did not take {record}: {reason}" + (f". {advice}" if advice else "")

    def _reason(self) -> tuple[str, str]:
        if isinstance(self.error, BufferError):
            return str(self.error), _BUFFER_TOO_SMALL
        if isinstance(self.error, KafkaError):
            return self.error.str(), _ADVICE.get(self.error.code(), "")
        fault: KafkaError = self.error.args[0]
        if fault.code() == KafkaError.MSG_SIZE_TOO_LARGE:
            return fault.str(), _TOO_LARGE_HERE
        return fault.str(), _ADVICE.get(fault.code(), "")


class Refusals:
    """Collects what the client reports as refused.

    Of several records it keeps the largest of the first kind; of kinds that pass only where there are no others.
    """

    def __init__(self) -> None:
        self._worst: Refusal | None = None
        self._code: int | None = None
        self._count = 0

    def report(self, error: KafkaError | None, message: Message) -> None:
        """The client's delivery report, which comes for refused records only."""
        if error is None:
            return
        self._count += 1
        refusal = refusal_of(error, message)
        if self._worst is None or self._is_worse(refusal, error.code()):
            self._worst, self._code = refusal, error.code()

    def _is_worse(self, refusal: Refusal, code: int) -> bool:
        """Of one kind the largest, but what passes hides nothing that lasts."""
        assert self._worst is not None
        if code == self._code:
            return refusal.size > self._worst.size
        return self._code in _PASSING and code not in _PASSING

    @property
    def passing(self) -> KafkaError | None:
        """Why records were refused, where another transaction may take them."""
        error = None if self._worst is None else self._worst.error
        return error if isinstance(error, KafkaError) and error.code() in _PASSING else None

    def check(self) -> None:
        """Does nothing while all is well.

        Raises:
            SinkError: a record was refused.
        """
        if self._worst is None:
            return
        others = f" ({self._count - 1} more records were refused)" if self._count > 1 else ""
        raise SinkError(self._worst.sentence() + others, number=self._worst.number)


def refusal_of(error: KafkaError, message: Message) -> Refusal:
    """What the client reports."""
    key, value, partition = message.key(), message.value(), message.partition()
    size = len(key or b"") + len(value or b"")
    return Refusal(message.topic() or "", -1 if partition is None else partition, key, size, error)


def _key_text(key: bytes | None) -> str:
    if key is None:
        return "no key"
    text = key.decode("utf-8", "backslashreplace")
    return f"key {text if len(text) <= _LONGEST_KEY else text[:_LONGEST_KEY] + '…'}"
