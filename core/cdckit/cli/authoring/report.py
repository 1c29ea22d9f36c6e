"""What checks of a plugin found: a verdict for each, of the probe's facts and of the tests' report."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple
from xml.etree import ElementTree

from cdckit.api.api_version import DECLARATION

CHECKS = ("contract", "kill", "speed")
"""What is asked of each component, as the suites of `cdckit.testing` name it in the report."""
OWN = "own tests"


class Verdict(NamedTuple):
    """One row: what was looked at, which check it was, `ok`, `warn` or `fail`, and why."""

    subject: str
    check: str
    status: str
    detail: str


@dataclass(slots=True)
class _Ran:
    """The tests of one check of one component."""

    passed: int = 0
    failed: list[str] = field(default_factory=list)
    speed: str = ""


def of_probe(facts: Mapping[str, Any]) -> Iterator[Verdict]:
    """Whether it is a plugin, can be loaded, and says what it is made for."""
    name = ", ".join(facts["distributions"])
    if not name:
        yield Verdict("the distribution", "installed", "fail", "no entry point in the group 'cdckit' (pyproject.toml)")
        return
    yield Verdict(name, "installed", "ok", "in an environment of its own")
    for plugin, why in facts["broken"].items():
        yield Verdict(f"plugin {plugin}", "loaded", "fail", why)
    for plugin, version in facts["api"].items():
        silent = f"it does not say for which version it is made ({DECLARATION}): taken for this one"
        status, detail = ("warn", silent) if version is None else ("ok", f"made for version {version}")
        yield Verdict(f"plugin {plugin}", "plugin API", status, detail)
    if not facts["components"] and not facts["broken"]:
        yield Verdict(name, "registered", "warn", "no component")


def of_hanging(seconds: float, running: Sequence[str]) -> Verdict:
    """Of tests that were stopped: which was running, and how long they may take."""
    where = f"in {running[-1].rpartition('/')[2]}" if running else "before the first"
    return Verdict(OWN, "ended", "fail", f"not over after {seconds:g} s, {where}; --timeout gives them longer")


def of_tests(report: str, components: Sequence[str]) -> Iterator[Verdict]:
    """Whether each component is held to its contract, survives kills, and how fast it is.

    Args:
        report: pytest's report in JUnit's XML.
        components: what the plugin registers.
    """
    ran = _by_component(report)
    for component in [*components, *sorted(ran.keys() - {*components, OWN})]:
        checks = ran.get(component, {})
        if not checks:
            yield Verdict(component, "contract", "fail", "no test holds it to its contract: subclass its suite")
            continue
        yield from (_verdict(component, check, checks.get(check)) for check in CHECKS)
    for check, own in ran.get(OWN, {}).items():
        yield _verdict(OWN, check, own)


def _verdict(component: str, check: str, ran: _Ran | None) -> Verdict:
    if ran is None or not (ran.passed or ran.failed):
        return Verdict(component, check, "fail", "nothing was checked")
    if ran.failed:
        return Verdict(component, check, "fail", "; ".join(ran.failed))
    if check == "speed" and not ran.speed:
        return Verdict(component, check, "fail", "nothing was measured")
    return Verdict(component, check, "ok", ran.speed or f"{ran.passed} passed")


def _by_component(report: str) -> dict[str, dict[str, _Ran]]:
    found: dict[str, dict[str, _Ran]] = {}
    for case in ElementTree.fromstring(report).iter("testcase"):  # noqa: S314 - the report of our own run
        told = {one.get("name"): one.get("value", "") for one in case.iter("property")}
        component = told.get("component", OWN)
        check = told.get("check", "tests" if component == OWN else "contract")
        ran = found.setdefault(component, {}).setdefault(check, _Ran())
        fault = next((part for part in case if part.tag in ("failure", "error")), None)
        if fault is not None:
            said = (fault.get("message") or fault.tag).splitlines()
            ran.failed.append(f"{case.get('name')}: {said[0]}")
        elif case.find("skipped") is None:
            ran.passed += 1
            ran.speed = told.get("speed", "")
    return found
