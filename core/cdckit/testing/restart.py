"""What a component makes of records, here and in a process of its own: `python -m cdckit.testing.restart`.

A process that starts again has another order of sets and none of the caches; what comes out has to be the same.
"""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
from collections.abc import Sequence
from typing import Any

from cdckit.api.hookspecs import Registration
from cdckit.api.plugin_config import PluginConfig
from cdckit.api.plugins import Kind, make
from cdckit.api.record import Record
from cdckit.engine.chain import LiveStep, TransformChain
from cdckit.testing.written import written


def made_of(kind: Kind, component: Any, records: Sequence[Record]) -> Any:
    """What a transform, a predicate or a serializer makes of the records, to be compared."""
    if kind == "transform":
        return [written(made) for made in TransformChain([LiveStep("it", component)]).apply(records)]
    if kind == "predicate":
        return [component.test(record) for record in records]
    return component.serialize(records)


def made_elsewhere(
    kind: Kind, registration: Registration, config: PluginConfig, records: Sequence[Record], seed: int
) -> Any:
    """The same, made by a new process.

    Args:
        kind: what the component is.
        registration: the component.
        config: its config.
        records: the records.
        seed: of that process's hashes of texts, and so of the order of its sets.
    """
    done = subprocess.run(
        [sys.executable, "-m", "cdckit.testing.restart"],
        input=pickle.dumps((kind, registration, config, records)),
        stdout=subprocess.PIPE,
        env=child_environment() | {"PYTHONHASHSEED": str(seed)},
        check=True,
    )
    return pickle.loads(done.stdout)  # noqa: S301 - our own bytes


def child_environment() -> dict[str, str]:
    """The environment of a process that imports what this one can import."""
    return {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}


if __name__ == "__main__":
    its_kind, registered, its_config, given = pickle.loads(sys.stdin.buffer.read())  # noqa: S301 - the suite's own bytes
    sys.stdout.buffer.write(pickle.dumps(made_of(its_kind, make(registered, its_config), given)))
