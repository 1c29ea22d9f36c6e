"""Who holds a pipeline's state: the member of a group of consumers that was given its partition.

Kafka gives it to one member at a time, leaves it there while that one lives, and takes it away when it is silent. This
says who may begin. That nobody else saves is settled by the writer's transactions: a new one shuts out those before.
"""

from __future__ import annotations

import logging
import threading
import time

from confluent_kafka import OFFSET_END, Consumer, KafkaError, KafkaException, TopicPartition
from confluent_kafka.admin import AdminClient, MemberDescription

from cdckit import StateError, StateHeldError
from cdckit.waiting import ended_by_stop
from cdckit_kafka.state.clients import StateClients
from cdckit_kafka.state.topics import PARTITION

log = logging.getLogger("cdckit.kafka")

_NOT_YET = (
    KafkaError.COORDINATOR_NOT_AVAILABLE,
    KafkaError.COORDINATOR_LOAD_IN_PROGRESS,
    KafkaError.NOT_COORDINATOR,
    KafkaError._TIMED_OUT,
)
"""What is answered while the group's broker changes, or is chosen for the first time; or nothing is."""
_WAIT = 0.1
"""How long, in seconds, each look lasts."""


class Hold:
    """The hold on a pipeline's state, taken at once, and kept by signs of life.

    Args:
        clients: makes the group's member. The topics are there.
        admin: asks who else is in the group.

    Raises:
        StateHeldError: another process has it.
        StateError: it cannot be taken.
    """

    def __init__(self, clients: StateClients, admin: AdminClient) -> None:
        self._clients = clients
        self._admin = admin
        self._given = False
        self._ended = threading.Event()
        with clients.state_errors("looking who holds the state"):
            self._wait_for_others()
            self._member = clients.member()
            try:
                self._take()
            except BaseException:
                self._member.close()
                raise
        self._thread = threading.Thread(target=self._live, name="state-hold", daemon=True)
        self._thread.start()

    def _wait_for_others(self) -> None:
        """Gives one that was killed the time in which Kafka notices that."""
        patience = self._clients.config.hold_timeout_ms / 1000 + 2
        deadline, said = time.monotonic() + patience, False
        while others := self._members():
            holder = others[0].client_id
            if time.monotonic() > deadline:
                raise self._held(holder)
            if not said:
                log.info("waiting up to %.0f s for %s to let go of the state", patience, holder)
            said = True
            with ended_by_stop():
                time.sleep(_WAIT)

    def _take(self) -> None:
        self._member.subscribe([self._clients.config.topic], on_assign=self._assigned)
        deadline = time.monotonic() + max(self._clients.seconds, self._clients.config.hold_timeout_ms / 1000)
        while not self._given:
            self._member.poll(_WAIT)
            if not self._given and (other := self.other()):
                raise self._held(other)
            if time.monotonic() > deadline:
                reason = self._clients.errors.reason()
                raise StateError(
                    f"state store, {self._clients.place}: group '{self._clients.holder}' could not be joined within "
                    f"{self._clients.config.timeout_ms} ms (state.timeout.ms){f': {reason}' if reason else ''}",
                    number="CDC7301",
                )

    def _assigned(self, consumer: Consumer, partitions: list[TopicPartition]) -> None:
        """The group's answer. Nothing is read by this consumer."""
        # The group only says who is first. What is assigned is not fetched: the state is read by a consumer of its own.
        ends = [TopicPartition(each.topic, each.partition, OFFSET_END) for each in partitions]
        consumer.incremental_assign(ends)
        consumer.pause(ends)
        self._given = self._given or any(each.partition == PARTITION for each in partitions)

    def _members(self) -> list[MemberDescription]:
        """Who is in the group."""
        group, deadline = self._clients.holder, time.monotonic() + self._clients.seconds
        while True:
            asked = self._admin.describe_consumer_groups([group], request_timeout=min(3, self._clients.seconds))
            try:
                return list(asked[group].result().members)
            except KafkaException as error:
                code = error.args[0].code()
                if code == KafkaError.GROUP_ID_NOT_FOUND:
                    return []
                if code not in _NOT_YET or time.monotonic() > deadline:
                    raise
            time.sleep(_WAIT)

    def other(self) -> str | None:
        """Which other process has it, as far as is known."""
        for member in self._members():
            given = any(each.partition == PARTITION for each in member.assignment.topic_partitions)
            if given and member.client_id != self._clients.member_name:
                return str(member.client_id)
        return None

    def _held(self, by: str) -> StateHeldError:
        return StateHeldError(
            f"the state of '{self._clients.pipeline}' in {self._clients.place} is held by {by}: stop that one, or give "
            "this pipeline a name of its own; a process that is gone lets go within its hold.timeout.ms"
        )

    def _live(self) -> None:
        while not self._ended.is_set():
            self._member.poll(_WAIT)

    def end(self) -> None:
        """Lets go."""
        self._ended.set()
        self._thread.join()
        self._member.close()
