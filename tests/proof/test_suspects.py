"""Which rows a further round of `cdc diff` is asked about."""

from __future__ import annotations

from cdckit.engine.proof.comparing import Mismatch
from cdckit.engine.proof.suspects import Suspects


def _differing(*keys: bytes, moved: bool = True) -> dict[bytes, Mismatch]:
    return {key: Mismatch(key, 0, "changed", b"a", b"b", moved) for key in keys}


def _asked(before: Suspects, now: dict[bytes, Mismatch], *, more: bool = False) -> set[bytes]:
    return {*before.among("orders", now, more=more)}


def _after(*keys: bytes, complete: bool = True) -> Suspects:
    suspects = Suspects()
    suspects.keep("orders", _differing(*keys), complete=complete)
    return suspects


def test_the_first_round_asks_about_all() -> None:
    assert _asked(Suspects(), _differing(b"1", b"2")) == {b"1", b"2"}


def test_rows_that_were_equal_and_move_on_are_left() -> None:
    assert _asked(_after(b"1", b"2"), _differing(b"3", b"4")) == set()


def test_a_row_that_was_equal_in_no_round_stays() -> None:
    assert _asked(_after(b"1", b"2"), _differing(b"2", b"3")) == {b"2"}


def test_a_row_that_stands_still_is_asked_about_though_it_was_equal() -> None:
    assert _asked(_after(b"1"), _differing(b"9", moved=False)) == {b"9"}


def test_where_not_all_are_known_none_is_left() -> None:
    assert _asked(_after(b"1", complete=False), _differing(b"3")) == {b"3"}
    assert _asked(_after(b"1"), _differing(b"3"), more=True) == {b"3"}
