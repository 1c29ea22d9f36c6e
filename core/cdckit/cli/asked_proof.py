"""What a call of `cdc diff` asks for."""

from __future__ import annotations

from dataclasses import dataclass

from cdckit.engine.proof.hashing import HashName
from cdckit.engine.proof.load import MaxLoad


@dataclass(frozen=True, slots=True)
class Asked:
    """What is compared, and how.

    Attributes:
        tables: the names of captured tables; none: all of them.
        hash: what rows are hashed by.
        wait_seconds: how long a pipeline that runs may take to come up to the source.
        max_load: what the source bears.
        resume: whether tables are compared one by one, and those that are decided are kept.
        repair: whether rows that are missing or changed are read again.
        on_spark: whether Spark's workers read the rows.
        ledger: whether the ledger stands for the source.
    """

    tables: tuple[str, ...]
    hash: HashName
    wait_seconds: float
    max_load: MaxLoad
    resume: bool
    repair: bool
    on_spark: bool
    ledger: bool
