"""The numbers of finished chunks, held against a plain set."""

from __future__ import annotations

import pytest
from hypothesis import given, strategies as st

from cdckit.errors import StateError
from cdckit_mysql.snapshot.finished import FinishedChunks


@given(st.lists(st.integers(0, 40)))
def test_it_holds_what_was_added_and_its_text_says_the_same(numbers: list[int]) -> None:
    finished = FinishedChunks()
    for number in numbers:
        finished.add(number)
    again = FinishedChunks.parse(str(finished))
    for each in (finished, again):
        assert {number for number in range(45) if number in each} == set(numbers)
        assert bool(each) == bool(numbers)
    assert str(again) == str(finished)


@given(st.permutations(range(12)))
def test_numbers_without_gaps_are_one_range(numbers: list[int]) -> None:
    finished = FinishedChunks()
    for number in numbers:
        finished.add(number)
    assert str(finished) == "0-11"


def test_what_is_no_list_of_ranges_is_told() -> None:
    with pytest.raises(StateError, match="3-x"):
        FinishedChunks.parse("0,3-x")
