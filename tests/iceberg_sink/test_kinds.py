"""Each kind of change of a definition, live: followed, or refused with a command that resolves it."""

from __future__ import annotations

import pytest

from delta_sink.kinds import UNTOLD
from delta_sink.played import Played
from delta_sink.shop import Shop


@pytest.mark.nightly
def test_what_is_not_followed_is_read_anew_as_the_message_says(shop: Shop, capsys: pytest.CaptureFixture[str]) -> None:
    pipeline = Played(shop, {}, lambda: "".join(capsys.readouterr()))
    assert pipeline.play() == {("resnapshot", table) for table in UNTOLD}
    assert pipeline.unequal() == set()
