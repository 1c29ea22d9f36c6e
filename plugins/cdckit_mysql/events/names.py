"""Names of topics, schemas and fields."""

from __future__ import annotations

import re
from collections.abc import Callable

from cdckit_mysql.config import MySqlConfig, NameAdjustment
from cdckit_mysql.table import TableId

_NOT_IN_TOPICS = re.compile(r"[^A-Za-z0-9._-]")
_NOT_IN_AVRO = {
    # (whether a dot is allowed, whether `_` is the escape) to what must be replaced
    (True, False): re.compile(r"[^A-Za-z0-9_.]"),
    (True, True): re.compile(r"[^A-Za-z0-9.]"),
    (False, False): re.compile(r"[^A-Za-z0-9_]"),
    (False, True): re.compile(r"[^A-Za-z0-9]"),
}

Adjust = Callable[[str], str]


class Topics:
    """The topics of one source."""

    def __init__(self, config: MySqlConfig) -> None:
        self._prefix = config.topic_prefix
        self._delimiter = config.topic_delimiter
        self.transaction = _topic_name(f"{self._prefix}{self._delimiter}{config.topic_transaction}")
        self.heartbeat = _topic_name(f"{config.topic_heartbeat_prefix}{self._delimiter}{self._prefix}")

    def data(self, table: TableId) -> str:
        """The topic of a table's changes, which is also what its schemas' names begin with."""
        return _topic_name(self._delimiter.join((self._prefix, table.database, table.name)))


def _topic_name(name: str) -> str:
    """A name with what Kafka does not allow replaced by `_`."""
    return _NOT_IN_TOPICS.sub("_", name)


def schema_names(mode: NameAdjustment) -> Adjust:
    """What `schema.name.adjustment.mode` does to a schema's full name."""
    return _adjust(mode, dots=True)


def field_names(mode: NameAdjustment) -> Adjust:
    """What `field.name.adjustment.mode` does to a column's name."""
    return _adjust(mode, dots=False)


def _adjust(mode: NameAdjustment, *, dots: bool) -> Adjust:
    """Avro: letters, digits and `_`, no digit in front (Avro specification, "Names")."""
    if mode == "none":
        return str
    unicode = mode == "avro_unicode"
    wrong = _NOT_IN_AVRO[dots, unicode]

    def code(character: str) -> str:
        return f"_u{ord(character):04x}" if unicode else "_"

    def adjust(name: str) -> str:
        if name[:1].isdigit():
            front = code(name[0]) if unicode else "_" + name[0]
            return front + wrong.sub(lambda found: code(found.group()), name[1:])
        return wrong.sub(lambda found: code(found.group()), name)

    return adjust
