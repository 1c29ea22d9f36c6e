"""A proof that goes on where it was killed: table by table, each kept in the pipeline's folder once it is decided.

Of the table in hand the parts that were read are kept; with a hash whose key is new each time, nothing can be,
and of what Spark's workers read nothing is.
"""

from __future__ import annotations

import hashlib
import json
import logging
import shutil
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from cdckit.connector.damage import DAMAGE, reason_of
from cdckit.engine.config.pipeline import ResolvedPipeline
from cdckit.engine.proof.proving import Proof, Wishes
from cdckit.engine.proof.report import TableProof
from cdckit.errors import CdcError, StateError, StoppedError

log = logging.getLogger("cdckit.proof")

FILE = "proof-begun.json"
_ROWS = "proof-begun"


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
        shutil.rmtree(self._file.parent / _ROWS, ignore_errors=True)


def _proved(
    pipeline: ResolvedPipeline, wishes: Wishes, stopping: Callable[[], bool], tell: Callable[[str], None]
) -> list[TableProof]:
    """What is found of one group; where an earlier process was killed in it, with the parts that it has read."""
    if wishes.hash != "xxh3" or wishes.spark == "always":
        return Proof(pipeline, wishes, stopping, tell).tables()
    folder = pipeline.folder / _ROWS / hashlib.sha256("\0".join(wishes.tables).encode()).hexdigest()[:16]
    wishes, goes_on = replace(wishes, kept=folder), (folder / "parts.json").exists()
    try:
        found = Proof(pipeline, wishes, stopping, tell).tables()
    except StoppedError:
        raise
    except CdcError as error:
        shutil.rmtree(folder, ignore_errors=True)
        if not goes_on:
            raise
        log.info(
            "%s: what was read of it cannot be gone on with (%s): it is read anew", ", ".join(wishes.tables), error
        )
        found = Proof(pipeline, wishes, stopping, tell).tables()
    shutil.rmtree(folder, ignore_errors=True)
    return found


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
        begun.keep(_proved(pipeline, replace(wishes, tables=tuple(group)), stopping, tell))
    begun.end()
    names = {", ".join(group) for group in groups}
    return [table for name, table in sorted(begun.decided.items()) if name in names]
