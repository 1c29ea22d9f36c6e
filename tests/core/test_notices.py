"""Notices: one method each, which the hooks of the same name agree with, whatever way they take."""

from __future__ import annotations

import inspect
from typing import Any

import pytest

from cdckit.api import hookspecs
from cdckit.api.notices import Notice, Notices
from cdckit.engine.notices import RunNotices
from cdckit.testing.notices import RecordedNotices

OF_NO_HOOK = {"tell", "snapshot_part"}


def methods(kind: type[Notices]) -> dict[str, Any]:
    return {
        name: method
        for name, method in inspect.getmembers(kind, inspect.isfunction)
        if not name.startswith("_") and name not in OF_NO_HOOK
    }


def test_every_notice_has_a_hook_that_takes_the_same() -> None:
    for name, method in methods(RunNotices).items():
        hook = getattr(hookspecs, f"cdckit_{name}")
        told, heard = (list(inspect.signature(one).parameters.values()) for one in (method, hook))
        assert [(one.name, one.annotation) for one in told[1:]] == [(one.name, one.annotation) for one in heard[1:]]
        assert heard[0].name == "pipeline"


def test_every_hook_of_a_pipeline_has_a_notice() -> None:
    hooks = {
        name.removeprefix("cdckit_")
        for name, hook in vars(hookspecs).items()
        if name.startswith("cdckit_") and "pipeline" in inspect.signature(hook).parameters
    }
    assert hooks == set(methods(RunNotices))


@pytest.mark.parametrize("name", sorted({*methods(Notices), "snapshot_part"}))
def test_what_is_passed_on_is_what_was_told(name: str) -> None:
    """Each of its arguments arrives under its own name."""
    heard, method = RecordedNotices(), getattr(Notices, name)
    facts = {parameter: object() for parameter in list(inspect.signature(method).parameters)[1:]}
    Notice(name, facts).tell(heard)
    assert heard.told == [(name, facts)]


@pytest.mark.parametrize("name", ["tell", "__init__", "cleared", "_dict"])
def test_a_notice_that_nobody_knows(name: str) -> None:
    with pytest.raises(ValueError, match=f"RecordedNotices knows no notice '{name}'"):
        Notice(name, {}).tell(RecordedNotices())
