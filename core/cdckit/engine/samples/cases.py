"""The cases of a chain: records that go in, and what is to come out, as they stand in a file."""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

import yaml

from cdckit.api.plugin_config import did_you_mean
from cdckit.api.record import Record
from cdckit.connector.connect_json.reader import JsonReader, read_records
from cdckit.engine.config.loading import CASES
from cdckit.engine.config.yaml_texts import TextLoader
from cdckit.engine.samples.lines import Document
from cdckit.errors import ConfigError, DecodeError

_OF_A_CASE = ("name", "input", "output", "error")
_OF_A_RECORD = ("topic", "partition", "key", "value", "headers", "timestamp")
_OF_A_SAMPLE = ("file", "line")


@dataclass(frozen=True, slots=True)
class Case:
    """What a chain is to make of records.

    Attributes:
        name: what messages call it.
        given: the records that go in, in order.
        expected: those that are to come out, each with the parts that are compared; None where an error is expected.
        error: a text that the error's message is to hold.
    """

    name: str
    given: Sequence[Record]
    expected: Sequence[Document] | None
    error: str | None


class _TypedLoader(TextLoader):
    """YAML whose plain scalars are numbers, booleans and null where JSON has them so, else texts."""


_NUMBERS = list("-0123456789")
_TypedLoader.add_implicit_resolver("tag:yaml.org,2002:bool", re.compile(r"(?:true|false)$"), ["t", "f"])
_TypedLoader.add_implicit_resolver("tag:yaml.org,2002:int", re.compile(r"-?(?:0|[1-9][0-9]*)$"), _NUMBERS)
_TypedLoader.add_implicit_resolver(
    "tag:yaml.org,2002:float", re.compile(r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][-+]?[0-9]+)?$"), _NUMBERS
)


def read_cases(pipeline: Path, beside: Path | None = None) -> list[Case]:
    """The cases of a pipeline's file, and of `NAME.cases.yaml` beside it.

    Args:
        pipeline: the pipeline's file.
        beside: another file of cases in the place of both.

    Raises:
        ConfigError: there are none, or one is written wrongly; the message names the file, the case and the part.
    """
    standard = pipeline.with_name(f"{pipeline.name.partition('.')[0]}.cases.yaml")
    files = [beside] if beside is not None else [pipeline, *([standard] if standard.exists() else [])]
    cases = [case for file in files for case in _cases_of(file)]
    if not cases:
        none = f"{beside}: it has no `cases`"
        raise ConfigError(
            none if beside else f"{pipeline}: it has no `cases`, and there is no {standard.name} beside it",
            number="CDC2506",
        )
    return cases


def _cases_of(file: Path) -> list[Case]:
    written = [given for document in _documents(file) for given in _listed(file, document)]
    return [_case(file, number, given) for number, given in enumerate(written, 1)]


def _listed(file: Path, document: Any) -> list[Any]:
    given = document.get(CASES) if isinstance(document, Mapping) else None
    if given is not None and not isinstance(given, list):
        raise ConfigError(
            f"{file}: cases: must be a list; each item has `input`, and `output` or `error`", number="CDC2506"
        )
    return given or []


def _documents(file: Path) -> list[Any]:
    try:
        text = file.read_text(encoding="utf-8-sig")
        if file.suffix.lower() == ".json":
            return [json.loads(text)]
        if file.suffix.lower() == ".toml":
            return [tomllib.loads(text)]
        if file.suffix.lower() == ".properties":
            return []
        return list(yaml.load_all(text, _TypedLoader))
    except OSError as error:
        raise ConfigError(f"{file}: {error.strerror}", number="CDC2506") from error
    except (ValueError, yaml.YAMLError) as error:
        raise ConfigError(f"{file}: {error}", number="CDC2506") from error


def _case(file: Path, number: int, given: Any) -> Case:
    where = f"{file}: cases.{number - 1}"
    _check_names(where, given, _OF_A_CASE)
    if "input" not in given:
        raise ConfigError(f"{where}: has no `input`, the record or records that go into the chain", number="CDC2506")
    if ("output" in given) == ("error" in given):
        raise ConfigError(
            f"{where}: needs one of `output`, the records that are to come out, and `error`", number="CDC2506"
        )
    expected = None
    if "output" in given:
        expected = [_expected(f"{where}.output", record) for record in _as_list(given["output"])]
    records = [record for part in _as_list(given["input"]) for record in _given(file, f"{where}.input", part)]
    return Case(str(given.get("name") or f"case {number}"), records, expected, _text_of(where, given.get("error")))


def _text_of(where: str, error: Any) -> str | None:
    if error is None or isinstance(error, str):
        return error
    raise ConfigError(f"{where}.error: should be a text that the message is to hold", number="CDC2506")


def _given(file: Path, where: str, part: Any) -> Sequence[Record]:
    """The records that an item under `input` means: one that stands there, or those of a sample."""
    if isinstance(part, Mapping) and "file" in part:
        return _of_sample(file, where, part)
    _check_names(where, part, _OF_A_RECORD)
    try:
        return [JsonReader().record(_with_headers(part))]
    except DecodeError as error:
        raise ConfigError(f"{where}: {error}", number="CDC2506") from error


def _of_sample(file: Path, where: str, part: Mapping[str, Any]) -> Sequence[Record]:
    _check_names(where, part, _OF_A_SAMPLE)
    line, sample = part.get("line"), file.parent / str(part["file"])
    try:
        with sample.open("rb") as lines:
            records = list(read_records(lines if line is None else islice(lines, int(line) - 1, int(line))))
    except OSError as error:
        raise ConfigError(f"{where}.file: {sample}: {error.strerror}", number="CDC2506") from error
    except (DecodeError, ValueError) as error:
        raise ConfigError(f"{where}.file: {sample}: {error}", number="CDC2506") from error
    if not records:
        raise ConfigError(
            f"{where}.file: {sample} has no {'record' if line is None else f'line {line}'}", number="CDC2506"
        )
    return records


def _expected(where: str, part: Any) -> Document:
    _check_names(where, part, _OF_A_RECORD)
    return _with_headers(part)


def _with_headers(part: Mapping[str, Any]) -> Document:
    """A record whose headers may be written as a mapping."""
    headers = part.get("headers")
    if not isinstance(headers, Mapping):
        return dict(part)
    return {**part, "headers": [{"key": key, "value": value} for key, value in headers.items()]}


def _as_list(given: Any) -> list[Any]:
    if given is None:
        return []
    return given if isinstance(given, list) else [given]


def _check_names(where: str, given: Any, known: Sequence[str]) -> None:
    if not isinstance(given, Mapping):
        raise ConfigError(f"{where}: should have {', '.join(f'`{name}`' for name in known)}", number="CDC2506")
    for name in given:
        if name not in known:
            raise ConfigError(f"{where}.{name}: not known{did_you_mean(str(name), known)}", number="CDC2506")
