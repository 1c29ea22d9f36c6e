"""The verdicts of `cdc plugin check`, each with what it must not let pass."""

from __future__ import annotations

from typing import Any

import pytest

from cdckit.cli.authoring.report import Verdict, of_hanging, of_probe, of_tests

SOUND: dict[str, Any] = {
    "distributions": ["acme 0.1"], "api": {"acme": 1}, "components": ["sink acme"], "broken": {},
}  # fmt: skip


def _statuses(facts: dict[str, Any]) -> dict[str, str]:
    return {verdict.check: verdict.status for verdict in of_probe(facts)}


@pytest.mark.parametrize(
    ("change", "check", "status"),
    [
        ({}, "installed", "ok"),
        ({"distributions": []}, "installed", "fail"),
        ({}, "plugin API", "ok"),
        ({"api": {"acme": None}}, "plugin API", "warn"),
        ({"broken": {"acme": "made for version 2"}}, "loaded", "fail"),
        ({"components": []}, "registered", "warn"),
    ],
)
def test_what_the_plugin_says_of_itself(change: dict[str, Any], check: str, status: str) -> None:
    assert _statuses({**SOUND, **change})[check] == status


def _case(name: str, body: str = "", **told: str) -> str:
    properties = "".join(f'<property name="{key}" value="{value}"/>' for key, value in told.items())
    return f'<testcase name="{name}"><properties>{properties}</properties>{body}</testcase>'


CONTRACT = _case("test_a", component="sink acme")
KILL = _case("test_k", component="sink acme", check="kill")
SPEED = _case("check_speed", component="sink acme", check="speed", speed="7 a second")


def _verdicts(*cases: str) -> list[Verdict]:
    return list(of_tests(f"<testsuites><testsuite>{''.join(cases)}</testsuite></testsuites>", ["sink acme"]))


def test_a_component_that_passes_all() -> None:
    assert _verdicts(CONTRACT, KILL, SPEED, _case("test_own")) == [
        ("sink acme", "contract", "ok", "1 passed"),
        ("sink acme", "kill", "ok", "1 passed"),
        ("sink acme", "speed", "ok", "7 a second"),
        ("own tests", "tests", "ok", "1 passed"),
    ]


@pytest.mark.parametrize(
    ("cases", "check", "said"),
    [
        ([], "contract", "no test holds it to its contract"),
        ([KILL, SPEED], "contract", "nothing was checked"),
        ([CONTRACT, SPEED], "kill", "nothing was checked"),
        ([CONTRACT, KILL], "speed", "nothing was checked"),
        ([CONTRACT, KILL, SPEED.replace("7 a second", "")], "speed", "nothing was measured"),
        ([CONTRACT, SPEED, KILL.replace("</testcase>", "<skipped/></testcase>")], "kill", "nothing was checked"),
        ([KILL, SPEED, _case("t", '<failure message="a!=b&#10;c"/>', component="sink acme")], "contract", "t: a!=b"),
        ([KILL, SPEED, CONTRACT.replace("</testcase>", "<error/></testcase>")], "contract", "test_a: error"),
        ([CONTRACT, KILL, SPEED, _case("t", "<failure/>")], "tests", "t: failure"),
    ],
)  # fmt: skip
def test_what_fails_or_was_not_checked(cases: list[str], check: str, said: str) -> None:
    [failed] = [verdict for verdict in _verdicts(*cases) if verdict.status == "fail"]
    assert failed.check == check
    assert said in failed.detail


@pytest.mark.parametrize(
    ("running", "where"), [(["tests/test_a.py::T::test_b"], "in test_a.py::T::test_b"), ([], "before the first")]
)
def test_tests_that_were_stopped_are_told(running: list[str], where: str) -> None:
    said = f"not over after 600 s, {where}; --timeout gives them longer"
    assert of_hanging(600.0, running) == ("own tests", "ended", "fail", said)
