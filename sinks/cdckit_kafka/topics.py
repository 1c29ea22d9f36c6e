"""Sees to it that topics exist before the first record is written to them."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Mapping
from functools import partial

from confluent_kafka import KafkaError, KafkaException
from confluent_kafka.admin import AdminClient, NewTopic

from cdckit import SinkError
from cdckit.waiting import answer_of
from cdckit_kafka.topic_rules import BROKER_DEFAULT, TopicRule, TopicRules
from cdckit_kafka.waiting import Wait

log = logging.getLogger("cdckit.kafka")

_REQUEST_SECONDS = 5.0
_PASSING = frozenset(
    (
        KafkaError._TIMED_OUT,
        KafkaError._TIMED_OUT_QUEUE,
        KafkaError._TRANSPORT,
        KafkaError._ALL_BROKERS_DOWN,
        KafkaError.REQUEST_TIMED_OUT,
        KafkaError.NOT_CONTROLLER,
        KafkaError.BROKER_NOT_AVAILABLE,
        KafkaError.NETWORK_EXCEPTION,
        KafkaError.THROTTLING_QUOTA_EXCEEDED,
    )
)


class Topics:
    """The topics that are known to exist, and how others are created.

    Args:
        rules: how each topic is created.
        connect: makes an administrator's client; only asked when a topic is missing.
        wait: makes a wait for what it is given.
    """

    def __init__(self, rules: TopicRules, connect: Callable[[], AdminClient], wait: Callable[[str], Wait]) -> None:
        self._rules = rules
        self._connect = connect
        self._wait = wait
        self._known: set[str] = set()

    def exist(self, topics: Iterable[str]) -> None:
        """Notes that these exist."""
        self._known.update(topics)

    def ensure(self, topics: list[str]) -> None:
        """Creates those of `topics` that are missing; another process may do the same at the same time.

        Raises:
            SinkError: one cannot be created; the message names it and its configuration.
        """
        if self._known.issuperset(topics):
            return
        missing = sorted(set(topics) - self._known)
        admin = self._connect()
        wait = self._wait(f"Kafka to create topic {', '.join(missing)}")
        while missing:
            answers = answer_of(partial(self._create, admin, missing))
            missing = [name for name, error in answers.items() if not self._settled(name, error)]
            wait.still(len(missing))

    def _create(self, admin: AdminClient, names: list[str]) -> Mapping[str, KafkaError | None]:
        new = [_new_topic(name, self._rules.rule(name)) for name in names]
        futures = admin.create_topics(new, request_timeout=_REQUEST_SECONDS, operation_timeout=_REQUEST_SECONDS)
        answers: dict[str, KafkaError | None] = {}
        for name, future in futures.items():
            try:
                future.result()
                answers[name] = None
            except KafkaException as error:
                answers[name] = error.args[0]
        return answers

    def _settled(self, name: str, error: KafkaError | None) -> bool:
        """Whether the topic exists now; false: try again."""
        if error is not None and error.code() in _PASSING:
            return False
        if error is None:
            log.info("created topic %s: %s", name, _described(self._rules.rule(name)))
        elif error.code() != KafkaError.TOPIC_ALREADY_EXISTS:
            raise SinkError(
                f"topic '{name}' does not exist and cannot be created with {_described(self._rules.rule(name))}: "
                f"{error.str()}. {_advice(error)}",
                number="CDC4107",
            )
        self._known.add(name)
        return True


def _new_topic(name: str, rule: TopicRule) -> NewTopic:
    return NewTopic(
        name,
        num_partitions=rule.partitions,
        replication_factor=rule.replication_factor,
        config=dict(rule.settings),
    )


def _described(rule: TopicRule) -> str:
    def count(number: int) -> str:
        return "the broker's default" if number == BROKER_DEFAULT else str(number)

    settings = "".join(f", {name}={value}" for name, value in rule.settings.items())
    return f"partitions={count(rule.partitions)}, replication.factor={count(rule.replication_factor)}{settings}"


def _advice(error: KafkaError) -> str:
    if error.code() in (KafkaError.TOPIC_AUTHORIZATION_FAILED, KafkaError.CLUSTER_AUTHORIZATION_FAILED):
        return "Grant the sink's user CREATE, or create the topic (with DESCRIBE and WRITE for that user)"
    if error.code() == KafkaError.TOPIC_EXCEPTION:
        return "Topic names are letters, digits, '.', '_' and '-', up to 249 of them: route the records elsewhere"
    return "Change the options sink.topic.creation.*, or create the topic"
