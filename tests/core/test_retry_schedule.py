"""When a source that is away is asked again."""

from __future__ import annotations

from itertools import islice

import pytest

from cdckit.api.retry_schedule import RetrySchedule, Wait


def test_waits_double_up_to_the_longest() -> None:
    """The waits of the table in Debezium's manual: 16 attempts in a little more than 20 minutes."""
    waits = list(RetrySchedule(attempts=16, longest_wait=120).waits(reached=True))
    assert [wait.seconds for wait in waits] == [1, 2, 4, 8, 16, 32, 64, *[120] * 9]
    assert sum(wait.seconds for wait in waits) == 20 * 60 + 7
    assert (waits[0].before, waits[-1].before) == ("attempt 1 of 16", "attempt 16 of 16")


def test_attempts_without_end() -> None:
    waits = list(islice(RetrySchedule().waits(reached=True), 5000))
    assert [wait.seconds for wait in waits[:8]] == [1, 2, 4, 8, 16, 32, 60, 60]
    assert waits[-1] == Wait(60, "attempt 5000")


def test_no_attempts() -> None:
    assert list(RetrySchedule(0).waits(reached=True)) == []


def test_rounds_follow_each_other() -> None:
    schedule = RetrySchedule(attempts=2, restarts=2, restart_wait=10)
    assert list(schedule.waits(reached=True)) == [
        (1, "attempt 1 of 2"),
        (2, "attempt 2 of 2"),
        (10, "restart 1 of 2"),
        (1, "attempt 1 of 2"),
        (2, "attempt 2 of 2"),
        (10, "restart 2 of 2"),
        (1, "attempt 1 of 2"),
        (2, "attempt 2 of 2"),
    ]


@pytest.mark.parametrize(("reached", "number"), [(True, 1000), (False, 3)])
def test_rounds_have_an_end_for_a_source_that_was_never_reached(*, reached: bool, number: int) -> None:
    schedule = RetrySchedule(attempts=3, restarts=-1, restart_wait=5)
    assert len(list(islice(schedule.waits(reached=reached), 1000))) == number
