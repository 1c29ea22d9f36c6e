"""The ledger of faults: cdckit's pipelines hold under each of them, and its twins are caught."""

from __future__ import annotations

import json
import os
import random
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from cdckit_faults.cli import main
from cdckit_faults.drivers.twins import TWINS, twin_of
from cdckit_faults.history.findings import Finding, Verdict
from cdckit_faults.kinds.kind import Fault
from cdckit_faults.kinds.registry import KINDS, planned, read_fault, taken_by
from cdckit_faults.products import PRODUCTS, product
from cdckit_faults.report import as_json, line, markdown
from cdckit_faults.series import Outcome, played

FAULTS, FAULTS_NIGHTLY = 20, 1000
COSTLY = {"failover", "broker-kill", "broker-restart", "broker-and-kill", "too-large"}
"""Kinds that take seconds of a processor each: left to the nightly series, but for what other tests play."""
CAUGHT = {
    "drop": ("hang", {Verdict.LOST}),
    "double": ("hang", {Verdict.DOUBLED}),
    "reorder": ("hang", {Verdict.REORDERED}),
    "alter": ("hang", {Verdict.WRONG}),
    "swallow": ("disk-full", {Verdict.UNREFUSED}),
    "mumble": ("disk-full", {Verdict.UNNAMED}),
}


@pytest.mark.timeout(7200)
def test_every_fault_holds(nightly: bool) -> None:
    seed = int(os.environ.get("CDCKIT_SEED") or random.SystemRandom().getrandbits(32))
    print(f"CDCKIT_SEED={seed}")
    kinds = [kind for kind in taken_by(PRODUCTS["cdckit"]) if kind.lane != "spark"]
    if not nightly:
        kinds = [kind for kind in kinds if kind.name not in COSTLY]
    outcomes = _told(planned(kinds, FAULTS_NIGHTLY if nightly else FAULTS, seed), seed)
    assert {one.fault.kind.name for one in outcomes} == {kind.name for kind in kinds}
    wrong = [line(number, one) for number, one in enumerate(outcomes, 1) if one.verdict is not Verdict.HELD]
    assert not wrong, "\n".join(wrong)
    assert all(one.records for one in outcomes), "a fault in whose time nothing was to be delivered shows nothing"


@pytest.mark.nightly
@pytest.mark.spark
@pytest.mark.timeout(3600)
def test_every_fault_of_spark_holds() -> None:
    kinds = [kind for kind in KINDS.values() if kind.lane == "spark"]
    outcomes = _told(planned(kinds, 12, 1), 1)
    assert {one.verdict for one in outcomes} == {Verdict.HELD}, [one.findings for one in outcomes]


@pytest.mark.nightly
@pytest.mark.timeout(1800)
def test_debezium_is_driven() -> None:
    """That its driver is right; what Debezium holds is for the page to tell."""
    names = ("kill:2", "hang:3", "terminate:1", "cut:1", "purge:1", "poison:1", "disk-full:1")
    outcomes = list(played(product("debezium"), [read_fault(name) for name in names], 1))
    assert {one.verdict for one in outcomes} == {Verdict.HELD}, [one.findings for one in outcomes]


@pytest.mark.nightly
@pytest.mark.timeout(900)
@pytest.mark.parametrize("twin", CAUGHT)
def test_a_twin_is_caught(twin: str) -> None:
    """The same faults, by which the pipeline itself holds, with a driver that is wrong; `test_judge.py` has more."""
    kind, expected = CAUGHT[twin]
    fault = Fault(KINDS[kind], 7)
    (outcome,) = played(twin_of(product("cdckit"), twin), [fault], 1, patience=10)
    assert {found.verdict for found in outcome.findings} & expected, outcome


@pytest.mark.timeout(900)
def test_the_command_tells_of_a_twin_that_hides_a_refusal() -> None:
    result = _called("replay", "disk-full:7", "--twin", "swallow", "--json")
    assert result.exit_code == 1
    told = json.loads(result.stdout)
    assert told["verdicts"] == {"unrefused": 1}
    assert told["outcomes"][0]["fault"] == "disk-full:00000007"
    assert "disk-full: ended with 0, not 4 or 7" in told["outcomes"][0]["findings"][0]["told"]


def _told(series: Sequence[Fault], seed: int) -> list[Outcome]:
    outcomes = []
    for number, outcome in enumerate(played(product("cdckit"), series, seed), 1):
        print(line(number, outcome))
        outcomes.append(outcome)
    return outcomes


def test_a_series_is_its_seed() -> None:
    kinds = taken_by(PRODUCTS["cdckit"])
    names = [fault.name for fault in planned(kinds, 200, 5)]
    assert names == [fault.name for fault in planned(kinds, 200, 5)]
    assert names != [fault.name for fault in planned(kinds, 200, 6)]
    assert {name.partition(":")[0] for name in names} == {kind.name for kind in kinds}


def test_a_fault_is_its_name() -> None:
    (fault,) = planned(taken_by(PRODUCTS["cdckit"]), 1, 9)
    assert read_fault(fault.name) == fault


def _called(*arguments: str) -> Result:
    return CliRunner().invoke(main, arguments)


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (("replay", "kil:1"), "there is no kind 'kil'"),
        (("replay", "kill:xyz"), "kill:xyz"),
        (("replay", "--driver", "debezium", "broker-kill:1"), "does not take the kind 'broker-kill'"),
        (("run", "--kinds", "kill,nothing"), "there is no kind 'nothing'"),
        (("run", "--driver", "debezium", "--kinds", "too-large"), "does not take the kind 'too-large'"),
        (("run", "--faults", "0"), "0 is not in the range"),
    ],
)
def test_a_wrong_call_is_told(arguments: Sequence[str], told: str) -> None:
    result = _called(*arguments)
    assert result.exit_code == 2
    assert told in result.output


@pytest.mark.parametrize("name", PRODUCTS)
def test_each_kind_is_listed(name: str) -> None:
    result = _called("list", "--driver", name, "--json")
    assert result.exit_code == 0
    listed: list[dict[str, Any]] = json.loads(result.output)
    assert {kind["kind"]: kind["taken"] for kind in listed} == {
        kind.name: kind in taken_by(PRODUCTS[name]) for kind in KINDS.values()
    }


def _outcomes() -> list[Outcome]:
    kill, cut = (Fault(KINDS[name], 10) for name in ("kill", "cut"))
    lost = [Finding(Verdict.LOST, "accounts 1"), Finding(Verdict.WRONG, "accounts 2")]
    return [
        Outcome(kill, [], ["a note"], 10, 2, 1.0),
        Outcome(kill, lost, [], 5, 0, 2.0),
        Outcome(cut, [], [], 7, 0, 1.0),
    ]


def test_a_report_counts_by_kinds_and_names_what_did_not_hold() -> None:
    lines = markdown(_outcomes()).splitlines()
    assert lines[2:] == [
        "| kill | 2 | 1 | 15 | 2 | lost kill:0000000a | `kill:0000000a` |",
        "| cut | 1 | 1 | 7 | 0 |  | `cut:0000000a` |",
        "| all | 3 | 2 | 22 | 2 |  |  |",
    ]
    told = as_json("cdckit", 3, _outcomes())
    assert told["verdicts"] == {"held": 2, "lost": 1}
    assert [one["verdict"] for one in told["outcomes"][1]["findings"]] == ["lost", "wrong"]
    assert "accounts 2" in line(2, _outcomes()[1])


def test_the_page_has_each_kind_and_twin() -> None:
    page = (Path(__file__).parents[2] / "docs" / "reliability.md").read_text(encoding="utf-8")
    for kind in KINDS.values():
        assert f"| `{kind.name}` | {kind.group} | {kind.summary} | {kind.holds} |" in page
    assert all(f"| `{twin}` |" in page for twin in TWINS)
    assert all(f"| {verdict} |" in page for verdict in Verdict)
