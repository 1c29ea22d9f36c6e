"""A proof that goes on where it was killed: table by table, each kept in the pipeline's folder once it is decided."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from cdckit.connector.damage import DAMAGE, reason_of
from cdckit.engine.config.pipeline import ResolvedPipeline
from cdckit.engine.proof.proving import Proof, Wishes
from cdckit.engine.proof.report import TableProof
from cdckit.errors import StateError

log = logging.getLogger("cdckit.proof")

FILE = "proof-begun.json"


class Begun:
    """What a proof has decided by now.

    Args:
        folder: the pipeline's.
    """

    def __init__(self, folder: Path) -> None:
        self._file = folder / FILE
        self.decided: dict[str, TableProof] = {}
        """By the tables' names."""
        try:
            kept: dict[str, Any] = json.loads(self._file.read_text())
            self.decided = {name: TableProof.from_json(name, one) for name, one in kept["tables"].items()}
        except FileNotFoundError:
            return
        except DAMAGE as error:
            raise StateError(f"{self._file}: is damaged ({reason_of(error)}): remove it, and begin anew") from error

    def keep(self, found: Sequence[TableProof]) -> None:
        """Keeps what was decided of some tables, durably enough for a proof: its file is whole or the one before."""
        self.decided |= {table.table: table for table in found}
        draft = self._file.with_suffix(".draft")
        draft.write_text(json.dumps({"tables": {name: table.to_json() for name, table in self.decided.items()}}))
        draft.replace(self._file)

    def end(self) -> None:
        """The proof is whole: the next one begins anew."""
        self._file.unlink(missing_ok=True)


def resumed(
    pipeline: ResolvedPipeline, wishes: Wishes, stopping: Callable[[], bool], tell: Callable[[str], None]
) -> list[TableProof]:
    """What is found, of tables that a proof which was killed has decided as it found them.

    Raises:
        ConfigError: this source or sink cannot be compared, or a table's name is unknown.
        StateError: what was kept cannot be read.
        StoppedError: it was to end; what is decided is kept.
        CdcError: source, sink or state cannot be read.
    """
    begun = Begun(pipeline.folder)
    groups = Proof(pipeline, wishes, stopping, tell).groups()
    for group in groups:
        name = ", ".join(group)
        if name in begun.decided:
            log.info("%s: %s, as it was found before", name, begun.decided[name].outcome)
            continue
        begun.keep(Proof(pipeline, replace(wishes, tables=tuple(group)), stopping, tell).tables())
    begun.end()
    names = {", ".join(group) for group in groups}
    return [table for name, table in sorted(begun.decided.items()) if name in names]
