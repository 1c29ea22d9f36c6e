"""Who lost what differs: the source's side of the pipeline, or the way from there to the sink."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from itertools import product

from cdckit.engine.config.pipeline import ResolvedPipeline
from cdckit.engine.ledger.sums import BUCKETS
from cdckit.engine.ledger.witness import Testimony, Witness
from cdckit.engine.proof.report import LostBy, Outcome, TableProof

_TRIED = 12
"""Of so many rows in one bucket, all ways in which they may have been lost are tried."""
_MODULUS = 1 << 128


def with_witness(
    pipeline: ResolvedPipeline, found: Sequence[TableProof], stopping: Callable[[], bool]
) -> list[TableProof]:
    """What was found, with what the ledger says of rows that differ.

    Raises:
        CdcError: sink or state cannot be read.
        StoppedError: it was to end.
    """
    if not pipeline.ledger or all(table.outcome != "unequal" for table in found):
        return list(found)
    asked = Witness(pipeline, stopping).asked()
    return [_blamed(table, asked[table.topic]) if _is_asked(table, asked) else table for table in found]


def _is_asked(table: TableProof, asked: dict[str, Testimony]) -> bool:
    return table.outcome == "unequal" and table.topic in asked


def _blamed(table: TableProof, said: Testimony) -> TableProof:
    if said.undecided:
        return _noted(table, f"the ledger tells nothing: {said.undecided}")
    lost = lost_by(said, [one.hashes for one in table.differences])
    differences = tuple(replace(one, lost_by=by) for one, by in zip(table.differences, lost, strict=True))
    told = {by: lost.count(by) for by in ("capture", "delivery") if by in lost}
    words = ", ".join(f"{count} by {by}" for by, count in told.items()) or "by whom cannot be told"
    return replace(_noted(table, f"lost, by the ledger: {words}"), differences=differences)


def _noted(table: TableProof, note: str) -> TableProof:
    return replace(table, note="; ".join(filter(None, (table.note, note))))


def lost_by(said: Testimony, rows: Sequence[tuple[bytes, bytes]]) -> list[LostBy]:
    """Who lost each of some rows.

    The ledger has either the row of the source, then it was told of and did not arrive as it was; or that of the sink,
    then it arrived as it was told of. All that was lost on the way is what the sums differ by.

    Args:
        said: what the ledger says.
        rows: of each row that differs its hash at the source and in the sink; empty where there is none.
    """
    differs = said.table.sums.less(said.held)
    if not any(differs):
        return ["capture"] * len(rows)
    found: list[LostBy] = [""] * len(rows)
    parts = [dict(_parts(*each)) for each in rows]
    whole = [0] * BUCKETS
    touching: dict[int, list[int]] = defaultdict(list)
    for number, part in enumerate(parts):
        for bucket, value in part.items():
            whole[bucket] = (whole[bucket] + value) % _MODULUS
            touching[bucket].append(number)
    if whole == differs:
        return ["delivery"] * len(rows)
    for bucket, numbers in touching.items():
        for number, lost in _solved([parts[one][bucket] for one in numbers], numbers, differs[bucket]):
            found[number] = "delivery" if lost else "capture"
    return found


def _parts(source: bytes, sink: bytes) -> Iterator[tuple[int, int]]:
    """By bucket what the sums differ by where this row was lost on the way."""
    if source and sink and source[0] == sink[0]:
        yield source[0], int.from_bytes(source) - int.from_bytes(sink)
        return
    if source:
        yield source[0], int.from_bytes(source)
    if sink:
        yield sink[0], -int.from_bytes(sink)


def _solved(values: Sequence[int], numbers: Sequence[int], wanted: int) -> Iterator[tuple[int, bool]]:
    """Which of the values add up to what is wanted; nothing where no choice does."""
    if len(values) > _TRIED:
        return
    for chosen in product((False, True), repeat=len(values)):
        total = sum(value for value, taken in zip(values, chosen, strict=True) if taken)
        if (total - wanted) % _MODULUS == 0:
            yield from zip(numbers, chosen, strict=True)
            return


def proofs(pipeline: ResolvedPipeline, stopping: Callable[[], bool]) -> list[TableProof]:
    """The sink against the ledger alone, table by table.

    Raises:
        ConfigError: the sink cannot be read back.
        CdcError: sink or state cannot be read.
        StoppedError: it was to end.
    """
    return [_proof(said) for said in Witness(pipeline, stopping).asked().values()]


def _proof(said: Testimony) -> TableProof:
    outcome: Outcome = "undecided" if said.undecided else "equal" if said.agrees else "unequal"
    note = said.undecided
    if outcome == "unequal":
        note = f"the sink has {said.held.rows} rows, and not those that the source told of"
        if said.removed:
            outcome, note = "undecided", f"tail only: {said.removed}"
    name = ", ".join(sorted(said.table.sources)) or said.topic
    return TableProof(name, said.topic, outcome, said.table.sums.rows, position=said.position, note=note)
