"""The judge: what a right pipeline may do, and each wrong one by its name."""

from __future__ import annotations

import random
from collections.abc import Iterable, Sequence

import pytest

from cdckit_faults.drivers.twins import HARMS, Harmed
from cdckit_faults.history.findings import Finding, Verdict
from cdckit_faults.history.gtids import GtidSet
from cdckit_faults.history.judge import Judge
from cdckit_faults.history.record import Record, record_of
from testkit.journal import TOMBSTONE, Change, Journal, Key

KEYS = [Key("accounts", (number,)) for number in range(20)]
SERVER = "1eab6128-e841-11f1-bd5c-02fc00000001"
EXPECTED = {
    "drop": {Verdict.LOST},
    "double": {Verdict.DOUBLED},
    "reorder": {Verdict.REORDERED},
    "alter": {Verdict.WRONG, Verdict.LOST},
}


def history(seed: int, steps: int = 300) -> tuple[Journal, list[Record]]:
    """What was committed, and what a right pipeline delivers of it in one run."""
    chance, journal, records = random.Random(seed), Journal(), []
    tokens: dict[Key, str] = {}
    dead: set[Key] = set()
    for step in range(1, steps):
        key = chance.choice([key for key in KEYS if key not in dead])
        token = f"s{step}"
        change = Change("u" if key in tokens else "c", token)
        if key in tokens and len(dead) < 10 and chance.random() < 0.05:
            change = Change("d", tokens.pop(key))
            dead.add(key)
        else:
            tokens[key] = token
        journal.commits([(key, change)])
        records.append(Record(key, change, f"{SERVER}:{step}"))
        if change.op == "d":
            records.append(Record(key, TOMBSTONE))
    return journal, records


def judged(journal: Journal, runs: Iterable[tuple[str, Iterable[Record]]]) -> tuple[list[Finding], int]:
    """What is found where each run begins with what was saved, and how many records may have come again."""
    judge = Judge(journal)
    judge.snapshot_ends()
    for saved, records in runs:
        judge.run_begins(GtidSet.read(saved))
        for record in records:
            judge.take(record)
    return judge.settle(), judge.repeated


def verdicts(findings: Iterable[Finding]) -> set[Verdict]:
    return {found.verdict for found in findings}


def _behind(records: Sequence[Record], saved: int) -> int:
    return next((n for n, record in enumerate(records) if _step(record) > saved), len(records))


def _step(record: Record) -> int:
    return int(record.gtid.rpartition(":")[2]) if record.gtid else 0


@pytest.mark.parametrize("seed", range(20))
def test_a_right_run_is_right(seed: int) -> None:
    journal, records = history(seed)
    assert judged(journal, [("", records)]) == ([], 0)


@pytest.mark.parametrize("seed", range(20))
def test_a_run_that_repeats_what_was_not_saved_is_right(seed: int) -> None:
    journal, records = history(seed)
    chance = random.Random(seed)
    half = chance.randint(50, 250)
    saved = chance.randint(1, _step(records[half]) - 1 if records[half].gtid else 40)
    again = records[_behind(records, saved) :]
    findings, repeated = judged(journal, [("", records[: half + 1]), (f"{SERVER}:1-{saved}", again)])
    assert findings == []
    assert repeated > 0


@pytest.mark.parametrize("seed", range(20))
def test_a_run_that_repeats_what_was_saved_doubles_it(seed: int) -> None:
    journal, records = history(seed)
    saved = _step(next(record for record in records[150:] if record.gtid))
    findings, _ = judged(journal, [("", records), (f"{SERVER}:1-{saved}", records[_behind(records, saved - 5) :])])
    assert verdicts(findings) == {Verdict.DOUBLED}
    assert "was saved" in findings[0].told


@pytest.mark.parametrize("seed", range(20))
def test_a_run_that_begins_too_late_loses(seed: int) -> None:
    journal, records = history(seed)
    findings, _ = judged(journal, [("", records[:100]), ("", records[110:])])
    assert verdicts(findings) == {Verdict.LOST}


@pytest.mark.parametrize("seed", range(50))
@pytest.mark.parametrize("harm", HARMS)
def test_a_twin_is_caught(harm: str, seed: int) -> None:
    journal, records = history(seed)
    harmed: Harmed = HARMS[harm]
    told = list(harmed(records, random.Random(seed)))
    assert told != records
    findings, _ = judged(journal, [("", told)])
    assert verdicts(findings) & EXPECTED[harm]
    assert verdicts(findings) <= EXPECTED[harm] | {Verdict.LOST, Verdict.REORDERED}


def test_the_tail_that_never_comes_is_lost() -> None:
    journal, records = history(1)
    assert verdicts(judged(journal, [("", records[:-1])])[0]) == {Verdict.LOST}


def test_a_lost_change_is_told_once() -> None:
    journal, records = history(1)
    judge = Judge(journal)
    for record in records[:-1]:
        judge.take(record)
    assert judge.missing()
    assert judge.settle()
    assert judge.missing() == set()
    assert judge.settle() == []


def test_a_record_of_another_key_is_wrong() -> None:
    journal, records = history(1)
    other = Record(Key("accounts", (99,)), records[5].change, records[5].gtid)
    assert Verdict.WRONG in verdicts(judged(journal, [("", [*records, other])])[0])


def test_a_snapshot_stands_for_what_was_before_it() -> None:
    """A row's absence says that it was deleted."""
    journal, records = history(3)
    judge = Judge(journal)
    judge.snapshot_begins()
    newest = {record.key: record.change.token for record in records if record.change != TOMBSTONE}
    gone = {record.key for record in records if record.change == TOMBSTONE}
    for key, token in newest.items():
        if key not in gone:
            judge.take(Record(key, Change("r", token)))
    assert judge.settle() == []


def test_a_snapshot_that_is_not_due_is_wrong() -> None:
    """A pipeline that has lost its place must not go over it by reading everything anew."""
    journal, records = history(3)
    newest = records[-1] if records[-1].gtid else records[-2]
    again = Record(newest.key, Change("r", newest.change.token))
    assert verdicts(judged(journal, [("", [*records, again])])[0]) == {Verdict.WRONG}


def test_a_snapshot_that_lacks_a_row_loses_it() -> None:
    journal, records = history(3)
    judge = Judge(journal)
    judge.snapshot_begins()
    assert verdicts(judge.settle()) == {Verdict.LOST}
    assert records


def test_a_run_may_repeat_by_itself_only_where_it_was_told_to_be_one() -> None:
    journal, records = history(4)
    for may_repeat, expected in ((True, set()), (False, {Verdict.DOUBLED})):
        judge = Judge(journal)
        judge.run_begins(GtidSet())
        for record in records[:100]:
            judge.take(record)
        if may_repeat:
            judge.may_repeat(GtidSet.read(f"{SERVER}:1-{_step(records[79]) or 60}"))
        for record in records[_behind(records, _step(records[79]) or 60) :]:
            judge.take(record)
        assert verdicts(judge.settle()) == expected


@pytest.mark.parametrize(
    ("text", "within", "outside"),
    [
        (f"{SERVER}:1-5", [f"{SERVER}:1", f"{SERVER}:5", f"{SERVER.upper()}:3"], [f"{SERVER}:6", "other:1", ""]),
        (f"{SERVER}:1-5:9,other:2", [f"{SERVER}:9", "other:2"], [f"{SERVER}:7", "other:1", "other:3"]),
        ("", [], [f"{SERVER}:1"]),
    ],
)
def test_sets_of_transactions(text: str, within: Sequence[str], outside: Sequence[str]) -> None:
    found = GtidSet.read(text)
    assert all(gtid in found for gtid in within)
    assert not any(gtid in found for gtid in outside)


def test_an_event_is_a_record() -> None:
    source = {"gtid": f"{SERVER}:4"}
    envelope = {"before": None, "after": {"id": 1, "token": "s1"}, "source": source, "op": "c"}
    made = record_of("faults.d.accounts", {"id": 1}, envelope)
    assert made == Record(Key("accounts", (1,)), Change("c", "s1"), f"{SERVER}:4")
    removed = record_of("faults.d.accounts", {"id": 1}, {**envelope, "op": "d", "before": envelope["after"]})
    assert removed.change == Change("d", "s1")
    assert record_of("faults.d.accounts", {"id": 1}, None).change == TOMBSTONE
