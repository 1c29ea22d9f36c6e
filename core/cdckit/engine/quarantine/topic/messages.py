"""A record in quarantine as a message of Kafka, and back.

The key is a list, `["cdckit-quarantine", {"pipeline": NAME, "id": ID}]`, the same whenever the same record comes again,
so that a compacted topic has it once, and a message without a value drops it. The value is what is kept of the record;
all else stands in headers.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import suppress
from typing import NamedTuple

from cdckit.engine.config.quarantine_topic import QuarantineTopic
from cdckit.engine.quarantine.store import Quarantined
from cdckit.errors import StateError

Headers = list[tuple[str, str | bytes | None]]
FORMAT = 1
"""The version of these messages."""
_OF = "cdckit-quarantine"
_BEGIN = "__cdckit.quarantine."
_CONNECT = "__connect.errors."
_STAGES = {
    "decode": ("TASK_POLL", "cdckit.errors.DecodeError"),
    "transform": ("TRANSFORMATION", "cdckit.errors.TransformError"),
    "serialize": ("VALUE_CONVERTER", "cdckit.errors.TransformError"),
    "write": ("KAFKA_PRODUCE", "cdckit.errors.SinkError"),
}
"""Kafka Connect's name of each stage (its enumeration `Stage`), and the class of what is raised there."""


def key_of(pipeline: str, id_: str) -> bytes:
    """The key of a record's messages."""
    return json.dumps([_OF, {"pipeline": pipeline, "id": id_}], separators=(",", ":")).encode()


def id_in(key: bytes | None, pipeline: str) -> str | None:
    """The id of the record that a key is for; None where it is none of this pipeline's."""
    with suppress(ValueError, TypeError, KeyError):
        kind, members = json.loads(key or b"null")
        if kind == _OF and members["pipeline"] == pipeline:
            return str(members["id"])
    return None


def headers_of(record: Quarantined, topic: QuarantineTopic) -> Headers:
    """The headers of a record's message."""
    facts = {
        "format": FORMAT,
        "number": record.number,
        "kept": record.kept,
        "stage": record.stage,
        "by": record.by,
        "reason": record.reason,
        "topic": record.topic,
        "position": record.position,
        "key": record.key,
    }
    own: Headers = [(f"{_BEGIN}{name}", _bytes(value)) for name, value in facts.items()]
    return [*own, *_context(record, topic.pipeline)] if topic.context_headers else own


def _context(record: Quarantined, pipeline: str) -> Iterator[tuple[str, bytes]]:
    """Kafka Connect's headers, as far as they have a meaning here."""
    content = json.loads(record.content)
    facts = content.get("facts") or {}
    stage, kind = _STAGES.get(record.stage, (None, None))
    found = {
        "topic": record.topic,
        "partition": content.get("partition", facts.get("partition")),
        "offset": facts.get("offset"),
        "connector.name": pipeline,
        "task.id": 0,
        "stage": stage,
        "class.name": record.by or None,
        "exception.class.name": kind,
        "exception.message": record.reason,
    }
    return ((f"{_CONNECT}{name}", _bytes(value)) for name, value in found.items() if value is not None)


class Facts(NamedTuple):
    """What the headers of a message tell of a record.

    Attributes:
        number: what people call it.
        key: the same for all changes of its key.
        position: in the source's log.
    """

    number: int
    key: str
    position: str


def facts_in(headers: Headers | None, shown: str) -> Facts:
    """What is to be known of a record without its value.

    Raises:
        StateError: the headers are none of ours, or of a newer version.
    """
    found = _own(headers, shown)
    return Facts(int(found["number"]), found["key"], found["position"])


def record_in(id_: str, value: bytes, headers: Headers | None, shown: str) -> Quarantined:
    """The whole record.

    Raises:
        StateError: as `facts_in`.
    """
    found = _own(headers, shown)
    return Quarantined(
        id_,
        float(found["kept"]),
        found["stage"],  # type: ignore[arg-type]
        found["by"],
        found["reason"],
        found["topic"],
        found["position"],
        found["key"],
        value,
        int(found["number"]),
    )


def _own(headers: Headers | None, shown: str) -> dict[str, str]:
    found = {
        name.removeprefix(_BEGIN): value.decode(errors="surrogatepass")
        for name, value in headers or ()
        if name.startswith(_BEGIN) and isinstance(value, bytes)
    }
    if found.get("format") != str(FORMAT):
        raise StateError(
            f"{shown}: a message of this pipeline has format {found.get('format')}, this version of cdckit reads "
            f"format {FORMAT}: run the version that wrote it, or name another topic (quarantine.topic)",
            number="CDC7103",
        )
    return found


def _bytes(value: object) -> bytes:
    return str(value).encode(errors="surrogatepass")
