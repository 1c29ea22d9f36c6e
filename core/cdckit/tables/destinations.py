"""Names of folders and tables for topics. Row data may choose a topic (routers do): it can choose no place with that.

A topic of letters, digits, `.`, `_` and `-`, as Kafka allows, is its folder's name. Any other is cleaned and told apart
by a digest behind `~`, which no topic's own folder has: each topic has a folder of its own, at any time the same.
"""

from __future__ import annotations

import re
from hashlib import sha256
from threading import Lock

from cdckit.errors import SinkError

LONGEST = 255
"""How many bytes file systems and metastores give a name."""

_TOPIC = re.compile(r"[A-Za-z0-9_-][A-Za-z0-9._-]*")
_NOT_IN_FOLDERS = re.compile(r"[^A-Za-z0-9._-]")
_TABLE_TOPIC = re.compile(r"[A-Za-z0-9._-]+")
_NOT_IN_TABLES = re.compile(r"[^A-Za-z0-9_]")
_DIGEST_LENGTH = 16
_RESERVED = frozenset({
    "_change_data", "_common_metadata", "_delta_log", "_metadata", "_spark_metadata", "_success",
    "_symlink_format_manifest", "_temporary",
})  # fmt: skip
"""What Spark and Delta Lake keep in a table's folder: with one of these the folder above would look like a table."""


def folder_name(topic: str) -> str:
    """The name of a topic's folder: one part of a path, at most 255 bytes of ASCII, no other topic's.

    It holds no separator, does not begin with a point, and is none that Spark or Delta Lake keeps for itself.
    """
    if _TOPIC.fullmatch(topic) and len(topic) <= LONGEST and topic.lower() not in _RESERVED:
        return topic
    cleaned = _NOT_IN_FOLDERS.sub("_", topic)
    return _told_apart("_" + cleaned[1:] if cleaned.startswith(".") else cleaned, "~", topic)


def table_name(topic: str) -> str:
    """The name of a topic's table in a database: letters, digits and `_`, which stands for `.` and `-`.

    Different topics may have the same: `Names` sees that.
    """
    cleaned = _NOT_IN_TABLES.sub("_", topic)
    if _TABLE_TOPIC.fullmatch(topic) and len(topic) <= LONGEST:
        return cleaned
    return _told_apart(cleaned, "_", topic)


def _told_apart(cleaned: str, mark: str, topic: str) -> str:
    digest = sha256(topic.encode("utf-8", "surrogatepass")).hexdigest()[:_DIGEST_LENGTH]
    return f"{cleaned[: LONGEST - len(mark) - _DIGEST_LENGTH]}{mark}{digest}"


class Names:
    """The names that one process has given to topics; may be used by several threads."""

    def __init__(self) -> None:
        self._topics: dict[str, str] = {}
        self._lock = Lock()

    def take(self, name: str, topic: str) -> None:
        """Gives a topic a name, in which upper and lower case are the same where the caller has folded them.

        Raises:
            SinkError: another topic has it; the message names both.
        """
        with self._lock:
            owner = self._topics.setdefault(name, topic)
        if owner != topic:
            raise collision(name, owner, topic)


def collision(place: str, owner: str, topic: str) -> SinkError:
    """What to say of two topics whose rows would go to one place."""
    return SinkError(
        f"table {place}: it is for topic {owner!r}, and topic {topic!r} would go there, too: rename one of them on its "
        "way here (RegexRouter), leave one out, or give it a pipeline with a 'path' or 'database' of its own",
        number="CDC4403",
    )
