"""Which kinds of steps histories have, and why some have them not."""

from __future__ import annotations

from histories.definitions import EMPTIED
from histories.generator import AROUND, FAILOVERS, KINDS, LAKE_FAULTS

LAKES = ("mirror", "changelog")
"""The sinks that keep tables in a lake, by Spark."""
PATHS = (
    "mirror-signals",
    "changelog-signals",
    "mirror-tail",
    "changelog-tail",
    "spark-delta",
    "spark-delta-changelog",
    "spark-iceberg",
    "spark-iceberg-changelog",
    "changelog-files",
)
"""The same by other paths: signals are taken, a direct process has the tail, the driver makes the commits, workers
write files."""
ON_SPARK = (*LAKES, *PATHS)

MAPLESS = (
    "delta",
    "delta-changelog",
    "delta-history",
    "mirror-tail",
    "changelog-tail",
    "spark-delta",
    "spark-delta-changelog",
)
"""The sinks of tables whose columns are not altered once a name needs Delta's column mapping."""

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
_WHOLE = dict.fromkeys(EMPTIED, "the same happens to tables with rows")
_AS_IT_WAS = "a change is kept with the columns and the values that it was told with"
OFF: dict[str, dict[str, str]] = {
    "file": {**_EVERYWHERE, **_WHOLE},
    "kafka": {**_EVERYWHERE, **_WHOLE},
    "mirror": {"xa rolled back": _XA, **_WHOLE},
    "changelog": {
        "xa rolled back": _XA,
        **dict.fromkeys(("minimal image", "noblob image", "minimal key change", "minimal default"), _AS_IT_WAS),
        "partial json": _AS_IT_WAS,
    },
}
OFF |= dict.fromkeys(("delta", "iceberg", "delta-history", "iceberg-history"), OFF["mirror"])
OFF |= {f"{name}-changelog": OFF["changelog"] for name in ("delta", "iceberg")}
OFF |= {path: OFF["changelog" if "changelog" in path else "mirror"] for path in PATHS}
"""The kinds of steps that are left out of the histories of a sink, and the reason."""

_SIGNALS = frozenset(("incremental snapshot",))
VACUUM = "vacuum"
MAINTENANCE = frozenset(("optimize", VACUUM))
"""What is done beside a delivery; older versions go before it."""
_ONE_SERVER = frozenset(("server restart", "server kill"))


def kinds_of(sink: str, *, replicas: bool = False) -> frozenset[str]:
    """The kinds of steps in the histories of a sink, of a server with replicas or without."""
    return KINDS - _unheard(sink) - (_ONE_SERVER if replicas else FAILOVERS.keys()) - OFF[sink].keys()


def around_of(sink: str) -> frozenset[str]:
    """The kinds of what happens around a pipeline that can happen to a sink of tables."""
    kinds = frozenset(AROUND) - (frozenset() if _may_wait(sink) else {"interval"})
    if sink not in ON_SPARK:
        return kinds - {"checkpoint", "switch"}
    return kinds - {"checkpoint", "switch", "interval"} if sink.endswith("tail") else kinds


def _may_wait(sink: str) -> bool:
    return OFF[sink] is OFF["mirror"] and "history" not in sink


def _unheard(sink: str) -> frozenset[str]:
    """The kinds that would come to nothing there, or that each history has one of (`with_vacuum`)."""
    if sink not in ON_SPARK:
        return frozenset(LAKE_FAULTS)
    without = frozenset() if sink.endswith("signals") else _SIGNALS
    return without | MAINTENANCE if "iceberg" in sink else without
