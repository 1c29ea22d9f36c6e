"""Servers are fetched side by side, ahead of the tests that need them."""

from __future__ import annotations

import threading
from collections.abc import Callable

import pytest

from testkit.servers import __main__ as fetching
from testkit.servers.apt import install
from testkit.servers.errors import ServerUnavailableError


def _refused(name: str) -> Callable[[], None]:
    def fetch() -> None:
        raise ServerUnavailableError(f"there is no {name}")

    return fetch


def test_none_waits_for_another(monkeypatch: pytest.MonkeyPatch) -> None:
    both = threading.Barrier(2)
    monkeypatch.setattr(fetching, "_INSTALLERS", dict.fromkeys("ab", lambda: both.wait(30)))
    assert fetching.main([]) == 0


def test_each_that_cannot_be_had_is_named(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    installers = {"a": _refused("a"), "b": lambda: None, "c": _refused("c")}
    monkeypatch.setattr(fetching, "_INSTALLERS", installers)
    assert fetching.main([]) == 1
    assert capsys.readouterr().err == "a: there is no a\nc: there is no c\n"
    assert fetching.main(["b"]) == 0
    assert not capsys.readouterr().err


def test_what_somebody_else_has_installed_meanwhile_is_not_installed_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("shutil.which", lambda _: "/usr/bin/apt-get")
    monkeypatch.setattr("os.geteuid", lambda: 0)
    install("what nobody has", ("no-such-package",), lambda: True)
