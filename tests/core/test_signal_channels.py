"""Signals on their way to a source: none is lost by a crash before an offset knows of it."""

from __future__ import annotations

from pathlib import Path

import pytest

from cdckit.connector.signals import Mailbox, Signal, SignalOptions
from cdckit.connector.signals.inbox import FOLDER, leave
from cdckit.errors import RetriableSourceError


def _mailbox(folder: Path) -> Mailbox:
    options = {"signal.enabled.channels": "in-process", "signal.poll.interval.ms": "1"}
    return Mailbox(SignalOptions.load(options, "source")[0], "p", folder / FOLDER)


def _due(mailbox: Mailbox) -> list[str]:
    mailbox._next = 0.0  # whenever it is asked
    found: list[str] = []
    mailbox.hand_out(lambda signal: found.append(signal.id))
    return found


def test_what_was_left_is_taken_once_an_offset_knows_of_it(tmp_path: Path) -> None:
    for name in ("one", "two"):
        leave(tmp_path, Signal(name, "log", {"message": name}))
    killed = _mailbox(tmp_path)
    assert _due(killed) == ["one", "two"]
    assert _due(killed) == []
    killed.committed()  # an offset of before is saved
    mailbox = _mailbox(tmp_path)
    assert _due(mailbox) == ["one", "two"]
    mailbox.covered()
    leave(tmp_path, Signal("three", "log", {}))
    mailbox.committed()
    assert _due(mailbox) == ["three"]
    assert _due(_mailbox(tmp_path)) == ["three"]


def test_a_signal_that_came_since_is_not_taken_for_known(tmp_path: Path) -> None:
    mailbox = _mailbox(tmp_path)
    leave(tmp_path, Signal("one", "log", {}))
    _due(mailbox)
    mailbox.covered()
    leave(tmp_path, Signal("two", "log", {}))
    assert _due(mailbox) == ["two"]
    mailbox.committed()  # an offset that knows of the first alone
    assert _due(_mailbox(tmp_path)) == ["one", "two"]


def test_one_that_could_not_be_carried_out_comes_again(tmp_path: Path) -> None:
    """With those behind it; nor does an offset know of it."""
    mailbox = _mailbox(tmp_path)
    for name in ("one", "two"):
        leave(tmp_path, Signal(name, "log", {}))

    def away(signal: Signal) -> None:
        raise RetriableSourceError(signal.id)

    with pytest.raises(RetriableSourceError, match="one"):
        mailbox.hand_out(away)
    mailbox.covered()
    mailbox.committed()
    assert _due(_mailbox(tmp_path)) == ["one", "two"]
    assert _due(mailbox) == ["one", "two"]
    mailbox.covered()
    mailbox.committed()
    assert _due(_mailbox(tmp_path)) == []


def test_those_before_one_that_could_not_be_carried_out_are_told_of_first(tmp_path: Path) -> None:
    """So that the offset which is noted then knows of them."""
    mailbox, done = _mailbox(tmp_path), []
    for name in ("one", "two"):
        leave(tmp_path, Signal(name, "log", {}))

    def away_at_two(signal: Signal) -> None:
        if signal.id == "two":
            raise RetriableSourceError(signal.id)
        done.append(signal.id)

    assert mailbox.hand_out(away_at_two)
    assert done == ["one"]
    with pytest.raises(RetriableSourceError, match="two"):
        mailbox.hand_out(away_at_two)
    assert _due(mailbox) == ["two"]


def test_what_is_no_signal_is_told_and_left(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    folder = tmp_path / FOLDER
    folder.mkdir()
    (folder / "1.json").write_text("[]")
    (folder / ".draft").write_text("{")
    assert _due(_mailbox(tmp_path)) == []
    assert "1.json is no signal" in caplog.text
