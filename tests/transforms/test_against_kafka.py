"""Transforms against the Java classes in the same process: random records, and recorded change events."""

from __future__ import annotations

import json
from io import BytesIO
from random import Random
from typing import Any

import pytest
import yaml

from cdckit.api.plugins import config_model, find
from cdckit.api.record import Record
from cdckit.connector.connect_json.reader import read_records
from cdckit.engine.chain import TransformChain, build_chain
from cdckit.errors import ConfigError, TransformError
from differential.both import differences
from transforms.jvm import jpype, start_jvm
from transforms.kafka_options import LITERALS, OF_PARTS, OF_RECORDS, Options, options
from transforms.random_records import Event, event
from transforms.recorded import RECORDINGS, written

JAVA = "org.apache.kafka.connect.transforms"
CLASSES = [*OF_RECORDS, *(f"{name}${part}" for name in OF_PARTS for part in ("Value", "Key"))]
CASES = yaml.safe_load((RECORDINGS / "asked-cases.yaml").read_text())
EMPTY: Event = {"topic": "t", "key": None, "value": None, "headers": []}
REFUSED_HERE = {"TimestampRouter": "timestamp.format"}
"""Where Java finds a wrong option with the first record, and the option."""
FAILS_THERE = {"SetSchemaMetadata"}
"""Those that fail in Java on what is no struct."""


def java_chain(chain: list[Options]) -> Any:
    """The chain of Java's classes, or None where they refuse their options."""
    from transforms.recordings.record import Peer

    start_jvm()
    try:
        return Peer(chain)
    except jpype.JException:
        return None


def own_chain(chain: list[Options]) -> TransformChain | None:
    """The chain of our own, or None where they refuse theirs."""
    try:
        return build_chain(chain, {})
    except ConfigError:
        return None


def read(given: Event) -> Record:
    (record,) = read_records(BytesIO(json.dumps(given).encode()))
    return record


def _answer(chain: TransformChain, given: Event) -> dict[str, Any] | None:
    """What a record becomes, in the form of the peer's answers."""
    try:
        made = chain.apply([read(given)])
        return written(made[0]) if made else None
    except TransformError as error:
        return {"error": str(error)}


def compare(java: Any, chain: TransformChain, given: Event, *, fails_there: bool) -> bool:
    """Holds one record's answer to Java's; whether both made a record.

    What Java makes and cannot write is left out: Kafka Connect stops there.
    """
    there, here = java.answer(given), _answer(chain, given)
    if there is not None and "unwritable" in there:
        return False
    failed, failed_here = "error" in (there or ()), "error" in (here or ())
    if failed or failed_here:
        assert failed == failed_here or (failed and fails_there), f"{json.dumps(given)}\n{there}\n{here}"
        return False
    different = [*differences(_sorted(there), _sorted(here))]
    assert not different, f"{json.dumps(given)}\n{different}"
    return True


def _sorted(answer: Any) -> Any:
    """The members of what has no schema stand in the order of a Java HashMap."""
    if isinstance(answer, dict) and answer.get("schema", 0) is None:
        return json.loads(json.dumps(answer, sort_keys=True))
    if isinstance(answer, dict) and "topic" in answer:
        return {name: _sorted(part) for name, part in answer.items()}
    return answer


@pytest.mark.parametrize("name", CLASSES)
def test_random_records_become_what_they_become_there(name: str, nightly: bool) -> None:
    random = Random(name)
    told = 0
    for _ in range(200 if nightly else 12):
        chain = [{"type": f"{JAVA}.{name}", **options(name.partition("$")[0], random)}]
        java, own = java_chain(chain), own_chain(chain)
        if java is None or own is None:
            refused_here = REFUSED_HERE.get(name)
            assert (java is None) == (own is None) or refused_here in chain[0], chain
            continue
        fails_there = name.partition("$")[0] in FAILS_THERE
        told += sum(compare(java, own, event(random), fails_there=fails_there) for _ in range(40 if nightly else 8))
    assert told > 15


def _literal(random: Random) -> str:
    pieces = (
        "[",
        "]",
        "{",
        "}",
        ",",
        ",",
        ":",
        '"',
        "\\",
        " ",
        "1",
        "300",
        "-7",
        "2.5",
        "true",
        "null",
        "a",
        "2024-02-29",
    )
    return "".join(random.choice(pieces) for _ in range(random.randint(1, 7)))


def test_literals_are_read_as_they_are_there(nightly: bool) -> None:
    random, told = Random(3), 0
    for text in [*LITERALS, *(_literal(random) for _ in range(3000 if nightly else 150))]:
        chain = [{"type": f"{JAVA}.InsertHeader", "header": "h", "value.literal": text}]
        there, own = java_chain(chain).answer(EMPTY), own_chain(chain)
        if own is None or there.keys() & {"error", "unwritable"}:
            assert "[" in text or "{" in text, text
            continue
        here = _answer(own, EMPTY)
        assert here == there, text
        told += 1
    assert told > 100


@pytest.mark.parametrize("case", CASES, ids=[case["name"] for case in CASES])
def test_recorded_events_become_what_they_become_there(case: dict[str, Any]) -> None:
    java, chain = java_chain(case["transforms"]), build_chain(case["transforms"], {})
    told = 0
    for number, line in enumerate((RECORDINGS / "input.jsonl").read_text().splitlines()):
        given = {**json.loads(line), "timestamp": 1_700_000_000_000 + number * 3_600_000, "partition": number % 3}
        told += compare(java, chain, given, fails_there=False)
    assert told > case.get("records", 30)


@pytest.mark.parametrize("name", CLASSES)
def test_every_option_of_the_class_is_known_here(name: str) -> None:
    start_jvm()
    theirs = {str(key) for key in jpype.JClass(f"{JAVA}.{name}")().config().configKeys()}
    assert theirs == set(config_model(find("transform", f"{JAVA}.{name}")).option_names())
