"""What the two sides of a proof come to, held to plain dicts; entries that do not fit into memory."""

from __future__ import annotations

from pathlib import Path

import numpy
import pytest
from hypothesis import given, settings, strategies as st

from cdckit.api.held import Image, ImageColumns, Shown
from cdckit.engine.proof.canonical import RowReader
from cdckit.engine.proof.comparing import Folded, Mismatch, fold, fold_placed, mismatches, rows_of_equal, versions
from cdckit.engine.proof.entries import Entries
from cdckit.engine.proof.hashing import HashName, hash_of
from cdckit.engine.proof.spill import BUCKETS, Spill
from cdckit.errors import SinkError

KEYS = st.integers(0, 12)
ROWS = st.one_of(st.none(), st.integers(0, 5))
Changes = list[tuple[int, int | None]]
CHANGES = st.lists(st.tuples(KEYS, ROWS), max_size=40)


def _images(changes: Changes, topic: str = "t") -> list[Image]:
    return [
        Image(topic, b"%d" % key, None if row is None else b'{"v":%d}' % row, f"{at:05d}")
        for at, (key, row) in enumerate(changes)
    ]


def _state(changes: Changes) -> dict[int, int]:
    state: dict[int, int] = {}
    for key, row in changes:
        if row is None:
            state.pop(key, None)
        else:
            state[key] = row
    return state


def _folded(images: list[Image], entries: Entries, folder: Path, held_bytes: int) -> Folded:
    spill = Spill(folder, "side", entries.width, held_bytes)
    for start in range(0, len(images), 7):
        spill.add(entries.of(images[start : start + 7]))
    whole = Folded()
    for bucket in range(BUCKETS):
        one = fold(entries.read(spill.bucket(bucket)))
        whole.rows.update(one.rows)
    return whole


@pytest.mark.parametrize("name", ["xxh3", "blake2b"])
@settings(max_examples=15)
@given(source=CHANGES, sink=CHANGES)
def test_what_differs_is_what_differs_between_dicts(
    tmp_path_factory: pytest.TempPathFactory, name: HashName, source: Changes, sink: Changes
) -> None:
    entries, folder = Entries(hash_of(name)), tmp_path_factory.mktemp("spill")
    here = _folded(_images(source), entries, folder / "source", 1)
    there = _folded(_images(sink), entries, folder / "sink", 1 << 20)
    found = {one.key: one.fault for one in mismatches(here.rows, there, {})}
    left, right = _state(source), _state(sink)
    expected = {}
    for key in left.keys() | right.keys():
        if left.get(key) != right.get(key):
            fault = "missing" if key not in right else "extra" if key not in left else "changed"
            expected[entries.key("t", b"%d" % key)] = fault
    assert found == expected


@given(source=CHANGES, sink=CHANGES, order=st.randoms())
def test_what_is_equal_at_a_glance_is_equal(source: Changes, sink: Changes, order: object) -> None:
    entries = Entries(hash_of("xxh3"))

    def made(changes: Changes) -> bytes:
        return b"".join(entries.of(_images(changes)))

    here, there = made(source), made(sink)
    rows = fold(entries.read(here)).rows
    if (counts := rows_of_equal(here, there)) is not None:
        assert list(mismatches(rows, fold(entries.read(there), once=True), {})) == []
        assert sum(counts.values()) == len(rows)
    plain = list(_state(source).items())
    mixed = list(plain)
    order.shuffle(mixed)  # type: ignore[attr-defined]
    expected = {entries.number("t"): len(plain)} if plain else {}
    assert rows_of_equal(made(list(plain)), made(list(mixed))) == expected
    assert rows_of_equal(made([*plain, *plain[:1]]), made([*plain, *plain[:1]])) == (None if plain else {})


@given(changes=CHANGES)
def test_rows_by_columns_are_the_same_rows(changes: Changes) -> None:
    entries, images = Entries(hash_of("xxh3")), _images(list(_state(changes).items()))
    keys, rows = [one.key or b"" for one in images], [one.row or b"" for one in images]
    assert list(entries.of_columns(ImageColumns("t", keys, rows))) == list(entries.of(images))
    assert list(entries.of_columns(images)) == list(entries.of(images))


@pytest.mark.parametrize("name", ["xxh3", "blake2b"])
def test_many_rows_by_columns_are_the_same_rows(name: HashName, tmp_path: Path) -> None:
    entries = Entries(hash_of(name))
    images = [Image("t", b"%d" % number, b"row %d" % number, "") for number in range(1000)]
    single, together = (Spill(tmp_path, side, entries.width, 1 << 10) for side in ("single", "together"))
    for part in (images[:500], images[500:]):
        single.add(entries.of(part))
        block = entries.of_columns(
            ImageColumns("t", [one.key or b"" for one in part], [one.row or b"" for one in part])
        )
        assert isinstance(block, numpy.ndarray)
        together.add(block)
    assert [single.bucket(one) for one in range(BUCKETS)] == [together.bucket(one) for one in range(BUCKETS)]
    counts = [rows_of_equal(single.bucket(one), together.bucket(one)) for one in range(BUCKETS)]
    assert sum(count[0] for count in counts if count) == 1000
    altered = single.bucket(7)[:-1] + b"\1"
    assert rows_of_equal(altered, altered) is rows_of_equal(single.bucket(7), altered) is None


@given(before=CHANGES, later=CHANGES, at=st.integers(0, 40))
def test_a_sink_that_has_come_anywhere_behind_the_point_has_no_fault(before: Changes, later: Changes, at: int) -> None:
    entries = Entries(hash_of("xxh3"))

    def folded(changes: Changes) -> Folded:
        return fold(entries.read(b"".join(entries.of(_images(changes)))))

    told = versions(entries.read(b"".join(entries.of(_images(later)))))
    assert list(mismatches(folded(before).rows, folded(before + later[:at]), told)) == []


@given(changes=CHANGES, order=st.randoms())
def test_the_newest_position_counts_in_any_order(changes: Changes, order: object) -> None:
    entries = Entries(hash_of("xxh3"), positioned=True)
    made = list(entries.of(_images(changes)))
    order.shuffle(made)  # type: ignore[attr-defined]
    found = fold_placed(entries.read_placed(b"".join(made)), once=True)
    plain = Entries(hash_of("xxh3"))
    assert found.rows == fold(plain.read(b"".join(plain.of(_images(changes))))).rows
    assert not found.doubled


def test_what_comes_twice_is_a_fault_where_it_may_come_once() -> None:
    placed, plain = Entries(hash_of("xxh3"), positioned=True), Entries(hash_of("xxh3"))
    images = _images([(1, 1), (2, 2)])
    twice = fold_placed(placed.read_placed(b"".join(placed.of([*images, images[0]]))), once=True)
    again = fold(plain.read(b"".join(plain.of([*images, images[0]]))), once=True)
    sound = fold(plain.read(b"".join(plain.of(images)))).rows
    for found in (twice, again):
        assert [one.fault for one in mismatches(sound, found, {})] == ["doubled"]


def test_a_topic_that_was_emptied_has_no_rows_of_before() -> None:
    entries = Entries(hash_of("xxh3"), positioned=True)
    others = _images([(7, 7)], "u")
    images = [*_images([(1, 1), (2, 2)]), Image("t", None, None, "00002"), Image("t", b"3", b"{}", "00003"), *others]
    found = fold_placed(entries.read_placed(b"".join(entries.of(images))), once=True)
    assert found.rows.keys() == {entries.key("t", b"3"), entries.key("u", b"7")}
    plain = Entries(hash_of("xxh3"))
    assert fold(plain.read(b"".join(plain.of(images)))).rows.keys() == found.rows.keys()


def test_a_difference_that_moves_is_not_the_same() -> None:
    one = Mismatch(b"k", 0, "changed", b"a", b"b", moved=False)
    assert one.same_as(one)
    assert not one.same_as(one._replace(sink=b"c"))
    assert not one.same_as(None)


def test_a_position_that_no_source_writes_is_refused() -> None:
    entries = Entries(hash_of("xxh3"), positioned=True)
    with pytest.raises(SinkError, match="position 99999"):
        list(entries.of([Image("t", b"1", b"{}", "9" * 97)]))


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ({"a": 1, "b": None}, {"a": 1}),
        ({"a": 1, "j": '{"x": 1, "y": [2]}'}, {"j": '{"y":[2],"x":1}', "a": 1}),
        ({"a": 1, "t": "2024-01-01T00:00:00.250Z"}, {"a": 1, "t": "2024-01-01T00:00:00.25Z"}),
        ({"a": 1, "t": "2024-01-01T00:00:00.000Z"}, {"a": 1, "t": "2024-01-01T00:00:00Z"}),
        ({"a": 1, "gone": "x"}, {"a": 1}),
    ],
)
def test_what_is_the_same_row(one: dict[str, object], other: dict[str, object]) -> None:
    assert _row(one) == _row(other)


@pytest.mark.parametrize(
    ("one", "other", "columns"),
    [
        ({"a": 1}, {"a": 2}, ["a"]),
        ({"a": 1}, {"a": "1"}, ["a"]),
        ({"a": 0.1}, {"a": 0.1 + 2**-56}, ["a"]),
        ({"a": 1, "j": "[1]"}, {"a": 1, "j": "[2]"}, ["j"]),
        ({"t": "2024-01-01T00:00:00.25Z"}, {"t": "2024-01-01T00:00:00.025Z"}, ["t"]),
        ({"t": "2024-01-01T00:00:10Z"}, {"t": "2024-01-01T00:00:01Z"}, ["t"]),
        ({"a": 1, "b": ""}, {"a": 1}, ["b"]),
    ],
)
def test_what_is_another_row(one: dict[str, object], other: dict[str, object], columns: list[str]) -> None:
    here, there = (READER.fields(_row(row)) for row in (one, other))
    assert [name for name in here if here[name] != there[name]] == columns


READER = RowReader("t", True, Shown(frozenset("abjt"), ("a",), frozenset("j"), frozenset("t")))


def _row(row: dict[str, object]) -> bytes:
    image = READER.image({"a": 1}, {"op": "c", "after": row}, "")
    assert image is not None and image.row is not None
    return image.row
