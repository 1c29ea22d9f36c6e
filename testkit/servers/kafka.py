"""A Kafka broker: one KRaft node out of the jars on Maven Central."""

from __future__ import annotations

import base64
import os
import shutil
import socket
import subprocess
import time
import uuid
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import ClassVar

from confluent_kafka import OFFSET_BEGINNING, Consumer, KafkaError, KafkaException, Message, TopicPartition
from confluent_kafka.admin import AdminClient, AlterConfigOpType, ConfigEntry, ConfigResource, NewTopic, ResourceType

from testkit.servers.cache import cached
from testkit.servers.java import ensure_java, fetch_jars, java_version
from testkit.servers.ports import free_port
from testkit.servers.process import run, spawn
from testkit.servers.server import Option, Server
from testkit.servers.workspace import new_folder

_HOME = "CDCKIT_KAFKA_HOME"
_DOWNLOADED = "4.3.1"
_ARTIFACTS = (f"org.apache.kafka:kafka_2.13:{_DOWNLOADED}", "org.slf4j:slf4j-simple:1.7.36")
_CLUSTER_ID = "MkU3OEVBNTcwNTJENDM2Qk"
_SIMPLE_JVM = ("-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1")
_CLASSES = "classes.jsa"
_SECONDS = 30.0
QUICK_TO_BELIEVE_IN_DEATH: Mapping[str, Option] = {
    "broker_session_timeout_ms": 2000,
    "broker_heartbeat_interval_ms": 300,
}
"""Options of a broker that is to be killed: its controller takes it back after that time, not after nine seconds."""


class KafkaBroker(Server):
    """A broker that is also its own controller; topics are made by those who use them.

    Options are Kafka's with underscores for dots (``log_retention_ms=1000``).

    Args:
        heap: Java's largest heap.
        jvm: options for Java in place of those that start it fast; measurements want their own.
    """

    defaults: ClassVar[Mapping[str, Option]] = {
        "process_roles": "broker,controller",
        "node_id": 1,
        "controller_listener_names": "CONTROLLER",
        "listener_security_protocol_map": "PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT",
        "inter_broker_listener_name": "PLAINTEXT",
        "offsets_topic_replication_factor": 1,
        "offsets_topic_num_partitions": 1,
        "transaction_state_log_replication_factor": 1,
        "transaction_state_log_min_isr": 1,
        "transaction_state_log_num_partitions": 1,
        "share_coordinator_state_topic_replication_factor": 1,
        "share_coordinator_state_topic_min_isr": 1,
        "share_coordinator_state_topic_num_partitions": 1,
        "group_initial_rebalance_delay_ms": 0,
        "auto_create_topics_enable": False,
        "log_cleaner_dedupe_buffer_size": 16 << 20,
        "log_cleaner_backoff_ms": 500,
        "num_network_threads": 2,
        "num_io_threads": 4,
        "background_threads": 2,
        "metadata_max_idle_interval_ms": 0,  # else the controller writes a record each half second, and all take it
    }

    def __init__(self, heap: str = "256m", jvm: Sequence[str] | None = None) -> None:
        self._controller_port = 0
        super().__init__()
        self._cluster_id = base64.urlsafe_b64encode(uuid.uuid4().bytes).decode().rstrip("=")
        self._heap = heap
        self._jvm = jvm

    @property
    def bootstrap(self) -> str:
        """Value for clients' ``bootstrap.servers``."""
        return f"{self.host}:{self.port}"

    @property
    def jars(self) -> Path:
        """Folder of Kafka's jars, the Java clients among them."""
        return _libs()

    def admin(self) -> AdminClient:
        """Open an admin client."""
        return AdminClient({"bootstrap.servers": self.bootstrap})

    def create_topic(self, name: str, partitions: int = 1, **config: Option) -> None:
        """Make a topic; ``config`` is the topic's, with underscores for dots."""
        topic = NewTopic(name, num_partitions=partitions, replication_factor=1, config=dict(_properties(config)))
        admin = self.admin()
        admin.create_topics([topic])[name].result(_SECONDS)
        _await(
            lambda: len(admin.list_topics(name, _SECONDS).topics[name].partitions) == partitions,
            f"topic {name} is made and cannot be seen",
        )

    def configure_topic(self, name: str, **config: Option) -> None:
        """Set options of a topic that is there; the broker shows them when this returns."""
        entries = [
            ConfigEntry(option, value, incremental_operation=AlterConfigOpType.SET)
            for option, value in _properties(config)
        ]
        resource = ConfigResource(ResourceType.TOPIC, name, incremental_configs=entries)
        admin = self.admin()
        for done in admin.incremental_alter_configs([resource]).values():
            done.result(_SECONDS)
        wanted = dict(_properties(config))
        _await(lambda: _shows(admin, name, wanted), f"options of topic {name} are set and cannot be seen")

    def delete_topics(self, names: Iterable[str]) -> None:
        """Delete topics, and wait until the broker takes nothing for them; one at least is named."""
        admin, named = self.admin(), list(names)
        for deleted in admin.delete_topics(named).values():
            deleted.result(_SECONDS)
        _await(lambda: self.topics().isdisjoint(named), f"topics {sorted(named)} are deleted and can be seen")

    def topics(self) -> set[str]:
        """Return the names of all topics but Kafka's own."""
        return {name for name in self.admin().list_topics(timeout=_SECONDS).topics if name[:2] != "__"}

    def messages(self, topic: str) -> list[Message]:
        """Return every committed message that ``topic`` holds now, each partition's in order."""
        consumer = Consumer(
            {
                "bootstrap.servers": self.bootstrap,
                "group.id": "reader",
                "enable.auto.commit": False,
                "isolation.level": "read_committed",
                "enable.partition.eof": True,
                "fetch.wait.max.ms": 10,
            }
        )
        try:
            return list(_to_the_end(consumer, topic))
        finally:
            consumer.close()

    def install(self) -> None:
        """Fetch Java and Kafka and make what lets a broker start fast."""
        _formatted()
        _fast_start()

    def _lay_out(self, data: Path) -> None:
        shutil.copytree(_formatted(), data)
        identity = data / "meta.properties"
        identity.write_text(identity.read_text().replace(_CLUSTER_ID, self._cluster_id))

    def _choose_ports(self) -> None:
        super()._choose_ports()
        self._controller_port = free_port()

    def _ports(self) -> tuple[int, ...]:
        return (*super()._ports(), self._controller_port)

    def _spawn(self) -> subprocess.Popen[bytes]:
        properties = self._folder / "server.properties"
        place = _place(self.port, self._controller_port, self.datadir)
        _write(properties, {**self.defaults, **place, **self._options})
        jvm = self._jvm if self._jvm is not None else _fast_start()
        return spawn([*_java(self._heap, jvm), "kafka.Kafka", properties], self.errlog)

    def _answers(self) -> bool:
        try:
            socket.create_connection((self.host, self.port), 0.5).close()
            found = self.admin().list_topics(timeout=_SECONDS)
        except (OSError, KafkaException):
            return False
        return bool(found.brokers) and found.cluster_id == self._cluster_id


def _await(seen: Callable[[], bool], never: str) -> None:
    """Waits until the broker has heard of what its controller has done."""
    deadline = time.monotonic() + _SECONDS
    while not seen():
        assert time.monotonic() < deadline, never
        time.sleep(0.02)


def _shows(admin: AdminClient, topic: str, wanted: Mapping[str, str]) -> bool:
    """Whether the broker has heard of a topic's options, which its controller has set."""
    [found] = admin.describe_configs([ConfigResource(ResourceType.TOPIC, topic)]).values()
    shown = found.result(_SECONDS)
    return all(shown[option].value == value for option, value in wanted.items())


def _to_the_end(consumer: Consumer, topic: str) -> Iterator[Message]:
    """Yield the messages of all partitions, each from its beginning to its end."""
    unread = set(consumer.list_topics(topic, _SECONDS).topics[topic].partitions)
    consumer.assign([TopicPartition(topic, number, OFFSET_BEGINNING) for number in unread])
    while unread:
        message = consumer.poll(_SECONDS)
        if message is None:
            raise TimeoutError(f"the broker gave nothing of {topic} for {_SECONDS:.0f} s")
        error = message.error()
        if error is None:
            yield message
        elif error.code() == KafkaError._PARTITION_EOF:
            unread.discard(message.partition())
        else:
            raise KafkaException(error)


@cache
def _libs() -> Path:
    """Return the folder of Kafka's jars: of ``$CDCKIT_KAFKA_HOME``, of the scripts on PATH, or downloaded."""
    if home := os.environ.get(_HOME):
        return Path(home) / "libs"
    script = shutil.which("kafka-server-start.sh")
    installed = Path(script).resolve().parent.parent / "libs" if script else None
    if installed and installed.is_dir():
        return installed
    return cached(f"kafka-{_DOWNLOADED}", lambda folder: fetch_jars(_ARTIFACTS, folder))


@cache
def _version() -> str:
    jar = next(_libs().glob("kafka_2.13-*.jar"))
    return jar.stem.removeprefix("kafka_2.13-")


def _java(heap: str, jvm: Sequence[str]) -> list[str]:
    fixed = ["-Xms64m", "-Djava.awt.headless=true", "-Dorg.slf4j.simpleLogger.defaultLogLevel=warn"]
    return [str(ensure_java()), f"-Xmx{heap}", *fixed, *jvm, "-cp", f"{_libs()}/*"]


def _fast_start() -> tuple[str, ...]:
    """Options that start a short-lived broker in half the time: simple compiler, parsed classes."""
    archive = cached(f"kafka-{_version()}-java-{java_version(ensure_java())}-classes", _archive_classes)
    return (*_SIMPLE_JVM, f"-XX:SharedArchiveFile={archive / _CLASSES}", "-Xshare:auto")


def _archive_classes(folder: Path) -> None:
    """Let a broker start and end once and keep the classes it loaded (Java's class data sharing)."""
    with KafkaBroker(jvm=(*_SIMPLE_JVM, f"-XX:ArchiveClassesAtExit={folder / _CLASSES}")) as broker:
        broker.stop()


def _formatted() -> Path:
    return cached(f"kafka-{_version()}-data", _format)


def _format(folder: Path) -> None:
    """Make the empty data folder of a cluster with one node (``kafka-storage.sh format``)."""
    properties = new_folder("kafka-format") / "server.properties"
    _write(properties, {**KafkaBroker.defaults, **_place(free_port(), free_port(), folder)})
    tool = [*_java("128m", _SIMPLE_JVM), "kafka.tools.StorageTool", "format"]
    run([*tool, "--cluster-id", _CLUSTER_ID, "--config", properties])


def _place(port: int, controller_port: int, data: Path) -> dict[str, Option]:
    """Options that say where a broker lives."""
    return {
        "listeners": f"PLAINTEXT://{Server.host}:{port},CONTROLLER://{Server.host}:{controller_port}",
        "advertised_listeners": f"PLAINTEXT://{Server.host}:{port}",
        "controller_quorum_voters": f"1@{Server.host}:{controller_port}",
        "log_dirs": str(data),
    }


def _write(path: Path, options: Mapping[str, Option]) -> None:
    path.write_text("".join(f"{name}={value}\n" for name, value in _properties(options)))


def _properties(options: Mapping[str, Option]) -> Iterator[tuple[str, str]]:
    for name, value in options.items():
        if value is not None:
            yield name.replace("_", "."), str(value).lower() if isinstance(value, bool) else str(value)
