"""What was read of a table's rows, kept until it is decided: a proof that was killed reads the other parts alone.

Entries stand in files by bucket, which are cut to where the last whole part ended; the log is read from where the first
part began. A source's state and splits are kept beside them. Rows themselves are not.
"""

from __future__ import annotations

import hashlib
import io
import json
import pickle
import shutil
from collections.abc import Collection, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from cdckit.api.record import Offset
from cdckit.api.source import Split
from cdckit.connector.damage import DAMAGE
from cdckit.engine.config.pipeline import Component, ResolvedPipeline
from cdckit.engine.proof.entries import Entries
from cdckit.engine.proof.spill import Spill

_VERSION = 2
_UNREADABLE: tuple[type[Exception], ...] = (
    *DAMAGE, OSError, pickle.UnpicklingError, EOFError, ImportError, AttributeError,
)  # fmt: skip
_PLAIN = frozenset({"builtins", "collections", "datetime", "decimal", "uuid", "copyreg"})
_CALLS = frozenset({"eval", "exec", "compile", "open", "getattr", "setattr", "delattr", "__import__", "breakpoint"})


class KeptRows:
    """One table's, or one group's.

    Args:
        folder: where they are; made where it is not there.
        pipeline: whose source and chain they are of: with others they are of no use.
        tables: the tables.

    Attributes:
        point: where in the log the first part began; None: nothing was begun.
        splits: the parts.
    """

    def __init__(self, folder: Path, pipeline: ResolvedPipeline, tables: Sequence[str]) -> None:
        self.folder = folder
        self._root = type(pipeline.source_config).__module__.partition(".")[0]
        self._made_of = hashlib.sha256(repr((_VERSION, _made_of(pipeline), tables)).encode()).hexdigest()
        self.point: Offset | None = None
        self.splits: Sequence[Split] = ()
        self._kept: dict[str, Any] = {}
        try:
            self._load()
        except _UNREADABLE:
            self.forget()
        folder.mkdir(parents=True, exist_ok=True)

    def _load(self) -> None:
        kept = json.loads((self.folder / "parts.json").read_text())
        if kept["made_of"] != self._made_of:
            raise ValueError("it was made of something else")
        self.splits = _Reader((self.folder / "splits").read_bytes(), {"cdckit", self._root}).load()
        self.point, self._kept = dict(kept["point"]), kept

    def begin(self, point: Offset, splits: Iterable[Split]) -> None:
        """Notes the parts that are to be read."""
        self.point, self.splits = point, list(splits)
        (self.folder / "splits").write_bytes(pickle.dumps(self.splits))
        self._kept = {"made_of": self._made_of, "point": point, "done": [], "marked": []}
        self._write()

    def is_done(self, number: int) -> bool:
        """Whether a part was read to its end."""
        return number in self._kept["done"]

    def tells_tables(self, number: int) -> bool:
        """Whether a part that was read began with marks of its tables."""
        return number in self._kept["marked"]

    def restore(self, spill: Spill, entries: Entries) -> tuple[set[str], dict[str, str]]:
        """Takes up what was read.

        Returns:
            The tables of which transforms left a row out, and the topics that cannot be compared, and why.
        """
        for topic in self._kept.get("topics", ()):
            entries.number(topic)
        spill.restore(self._kept.get("sizes", ()))
        return set(self._kept.get("dropped", ())), dict(self._kept.get("undecidable", {}))

    def ended(
        self, number: int, spill: Spill, entries: Entries, dropped: Collection[str], undecidable: Mapping[str, str],
        *, marked: bool,
    ) -> None:  # fmt: skip
        """A part was read to its end."""
        if self.is_done(number):
            return
        self._kept["done"].append(number)
        self._kept["marked"] += [number] if marked else []
        found = {"topics": entries.topics, "dropped": sorted(dropped), "undecidable": dict(undecidable)}
        self._kept |= {"sizes": spill.flush(), **found}
        self._write()

    def _write(self) -> None:
        draft = self.folder / "parts.draft"
        draft.write_text(json.dumps(self._kept))
        draft.replace(self.folder / "parts.json")

    def forget(self) -> None:
        """Removes all of it."""
        shutil.rmtree(self.folder, ignore_errors=True)
        self.point, self.splits, self._kept = None, (), {}


def _made_of(pipeline: ResolvedPipeline) -> Sequence[Any]:
    """What rows look like by: the options that were set, as some defaults are new each time."""
    steps = [(_given(step.transform), _given(step.predicate), step.negate) for step in pipeline.transforms]
    return _given(pipeline.source), steps, _given(pipeline.serializer), _given(pipeline.sink)


def _given(component: Component | None) -> Sequence[Any]:
    if component is None:
        return ()
    config = component.config
    return component.registration.name, sorted((name, repr(getattr(config, name))) for name in config.model_fields_set)


class _Reader(pickle.Unpickler):
    """Reads splits: of classes those of cdckit and of the source's own package, and plain values."""

    def __init__(self, data: bytes, roots: Collection[str]) -> None:
        super().__init__(io.BytesIO(data))
        self._roots = roots

    def find_class(self, module: str, name: str) -> Any:
        """The class of that name."""
        root = module.partition(".")[0]
        own = root in self._roots or root.startswith("cdckit_")
        if not own and (module not in _PLAIN or name in _CALLS):
            raise pickle.UnpicklingError(f"{module}.{name} is no part of a split")
        return super().find_class(module, name)
