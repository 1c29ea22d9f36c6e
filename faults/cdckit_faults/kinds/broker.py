"""Faults of the broker that a pipeline delivers to."""

from __future__ import annotations

import random
import signal
import time

from cdckit_faults.drivers.cdckit_kafka import CdckitKafka
from cdckit_faults.kinds.kind import Kind
from cdckit_faults.stage import Stage
from cdckit_faults.tables import topics_of
from testkit.servers.kafka import KafkaBroker

_TAKES_ALL = 1 << 20


def _kill(stage: Stage, chance: random.Random) -> None:
    broker = _broker(stage)
    broker.kill()
    time.sleep(chance.uniform(0.1, 1.0))
    broker.start()


def _stop(stage: Stage, chance: random.Random) -> None:
    broker = _broker(stage)
    broker.stop()
    time.sleep(chance.uniform(0.1, 1.0))
    broker.start()


def _hang(stage: Stage, chance: random.Random) -> None:
    broker = _broker(stage)
    broker.signal(signal.SIGSTOP)
    time.sleep(chance.uniform(0.3, 3.0))
    broker.signal(signal.SIGCONT)


def _both(stage: Stage, chance: random.Random) -> None:
    """The pipeline is killed while it waits for a broker that hangs."""
    broker = _broker(stage)
    broker.signal(signal.SIGSTOP)
    time.sleep(chance.uniform(0, 0.5))
    stage.driver.kill()
    broker.signal(signal.SIGCONT)
    stage.start()


def _deleted(stage: Stage, chance: random.Random) -> None:
    """Of what was in it the judge has been told; what comes from then on has to stand in a new one."""
    topic = chance.choice(topics_of(stage.place.database))
    driver = stage.driver
    assert isinstance(driver, CdckitKafka)
    with stage.quiet():
        stage.drain()
        _broker(stage).delete_topics([topic])
        driver.forget(topic)
    stage.ends_as = "topic-deleted"
    time.sleep(chance.uniform(0.1, 1.0))


def _too_large(stage: Stage, chance: random.Random) -> None:
    topic = chance.choice(topics_of(stage.place.database))
    _broker(stage).configure_topic(topic, max_message_bytes=chance.randint(1, 200))
    stage.require_refusal("too-large")
    _broker(stage).configure_topic(topic, max_message_bytes=_TAKES_ALL)
    stage.start()


def _broker(stage: Stage) -> KafkaBroker:
    assert stage.place.broker is not None
    return stage.place.broker


KINDS = (
    Kind("broker-kill", "broker", "SIGKILL of the broker, and a start", "waits", _kill, weight=0.3, lane="kafka"),
    Kind("broker-restart", "broker", "shut down in order, and started", "waits", _stop, weight=0.3, lane="kafka"),
    Kind("broker-hang", "broker", "SIGSTOP, and SIGCONT after up to 3 s", "waits", _hang, weight=1.5, lane="kafka"),
    Kind(
        "broker-and-kill",
        "broker",
        "SIGKILL of the pipeline while the broker hangs",
        "",
        _both,
        weight=0.4,
        lane="kafka",
    ),
    Kind(
        "topic-deleted",
        "broker",
        "a topic that is written is deleted",
        "what comes from then on is in a new topic",
        _deleted,
        weight=0.2,
        lane="kafka",
        refuses=True,
    ),
    Kind(
        "too-large",
        "broker",
        "the topic takes no message of that size",
        "refused by name; goes on when it does",
        _too_large,
        weight=0.4,
        lane="kafka",
        refuses=True,
    ),
)
