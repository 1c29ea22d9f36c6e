"""In which order a replay delivers."""

from __future__ import annotations

from cdckit.engine.quarantine.order import in_log_order


def test_positions_share_out_the_places_that_they_have_by_arrival() -> None:
    kept = [(1, "0001-3"), (4, "0000-9"), (5, ""), (6, "0001-2"), (7, "0001-2")]
    assert in_log_order(kept) == [4, 6, 5, 7, 1]


def test_those_of_several_lanes_say_nothing_about_each_other() -> None:
    kept = [(1, "1@9"), (2, "0@7"), (3, "1@8"), (4, "0@5"), (5, "s3")]
    assert in_log_order(kept) == [3, 4, 1, 2, 5]


def test_what_came_in_the_logs_order_stands_as_it_came() -> None:
    kept = [(number, f"{number:04d}") for number in range(1, 50)]
    assert in_log_order(kept) == [number for number, _ in kept]
