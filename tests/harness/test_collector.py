"""Python's garbage collector leaves alone what all tests are made of."""

from __future__ import annotations

import gc


def test_modules_and_tests_are_out_of_its_sight() -> None:
    assert gc.isenabled()
    assert gc.get_freeze_count() > 50_000
