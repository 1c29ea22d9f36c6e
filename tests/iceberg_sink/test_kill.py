"""The runner killed at random instants: in the end each table has each change, and no change twice."""

from __future__ import annotations

from dataclasses import replace

import pytest

from delta_sink.shop import Shop
from delta_sink.test_kill import kill_and_compare


@pytest.mark.timeout(1800)
@pytest.mark.parametrize("mode", [pytest.param("mirror", marks=pytest.mark.nightly), "changelog", "history"])
def test_tables_equal_the_source_after_kills(shop: Shop, mode: str, nightly: bool) -> None:
    kill_and_compare(replace(shop, mode=mode), 50 if nightly else 2)
