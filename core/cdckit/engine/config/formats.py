"""The formats that a file may have: YAML, TOML, JSON and Java properties, read into dicts, lists and texts.

Every scalar becomes a text as it stands in the file (`0123` stays `0123`, `on` stays `on`), since a plugin's model
knows better than a file format what it should be; null means that the option is not given.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, NoReturn

from cdckit.errors import ConfigError

Tree = dict[str, Any]

_MOST_VALUES = 100_000


def read_documents(path: Path) -> list[Tree]:
    """The file's documents: one, or in YAML one or several.

    Raises:
        ConfigError: it cannot be read; the message names file, line and column.
    """
    if path.is_dir():
        raise ConfigError(f"{path}: is a folder; name a pipeline file in it", number="CDC2101")
    try:
        text = path.read_text(encoding="utf-8-sig")
    except OSError as error:
        raise ConfigError(f"{path}: {error.strerror}", number="CDC2101") from error
    except UnicodeDecodeError as error:
        raise ConfigError(f"{path}: not UTF-8 text (byte {error.start})", number="CDC2101") from error
    parse = _PARSERS.get(path.suffix.lower()) or _guess(text)
    try:
        documents = [_Texts(path).of(document) for document in parse(path, text)]
    except RecursionError:
        raise ConfigError(f"{path}: it is nested too deeply", number="CDC2101") from None
    for document in documents:
        if not isinstance(document, dict):
            raise ConfigError(f"{path}: must hold options (`name: value`), not a {_kind(document)}", number="CDC2101")
    if not documents:
        raise ConfigError(f"{path}: the file is empty", number="CDC2101")
    return documents


def _parse_yaml(path: Path, text: str) -> Iterable[Any]:
    import yaml  # noqa: PLC0415 - only this format needs it

    from cdckit.engine.config.yaml_texts import TextLoader  # noqa: PLC0415

    try:
        return [document for document in yaml.load_all(text, TextLoader) if document is not None]
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        remedy = "; YAML is indented by spaces: put some in the tab's place" if "'\\t'" in str(error.problem) else ""
        _fail(path, mark.line + 1 if mark else 0, mark.column + 1 if mark else 0, f"{error.problem}{remedy}")
    except (yaml.YAMLError, ValueError, TypeError, ArithmeticError) as error:  # the last three by tags such as !!int
        raise ConfigError(f"{path}: {error}", number="CDC2101") from error


def _parse_json(path: Path, text: str) -> Iterable[Any]:
    try:
        return [json.loads(text, parse_int=str, parse_float=str, object_pairs_hook=_without_repeats)]
    except json.JSONDecodeError as error:
        _fail(path, error.lineno, error.colno, error.msg)
    except ValueError as error:
        raise ConfigError(f"{path}: {error}", number="CDC2101") from error


def _without_repeats(pairs: list[tuple[str, Any]]) -> Tree:
    made = dict(pairs)
    if len(made) < len(pairs):
        seen: set[str] = set()
        repeated = next(name for name, _ in pairs if name in seen or seen.add(name))  # type: ignore[func-returns-value]
        raise ValueError(f"'{repeated}' stands there twice; keep one")
    return made


def _parse_toml(path: Path, text: str) -> Iterable[Any]:
    import tomllib  # noqa: PLC0415 - only this format needs it

    try:
        return [tomllib.loads(text, parse_float=str)]
    except tomllib.TOMLDecodeError as error:
        found = re.search(r"(.*) \(at line (\d+), column (\d+)\)", str(error))
        if found is None:
            raise ConfigError(f"{path}: {error}", number="CDC2101") from error
        _fail(path, int(found[2]), int(found[3]), found[1])


def _parse_properties(path: Path, text: str) -> Iterable[Any]:
    import javaproperties  # noqa: PLC0415 - only this format needs it

    try:
        return [javaproperties.loads(text)]
    except javaproperties.InvalidUEscapeError as error:
        raise ConfigError(f"{path}: {error}", number="CDC2101") from error


_PARSERS: dict[str, Callable[[Path, str], Iterable[Any]]] = {
    ".yaml": _parse_yaml,
    ".yml": _parse_yaml,
    ".json": _parse_json,
    ".toml": _parse_toml,
    ".properties": _parse_properties,
}
SUFFIXES = frozenset(_PARSERS)
"""How the names of such files end."""


def _guess(text: str) -> Callable[[Path, str], Iterable[Any]]:
    """The format of a file whose name does not tell: JSON begins with `{`, properties are `name=value`."""
    lines = (line.strip() for line in text.splitlines())
    first = next((line for line in lines if line and line[0] not in "#!"), "")
    if first.startswith("{"):
        return _parse_json
    if re.match(r"[^\s:=]+\s*=", first):
        return _parse_properties
    return _parse_toml if re.match(r"\[[^\]]+\]$", first) else _parse_yaml


class _Texts:
    """Takes a parsed document as texts.

    Args:
        path: the file, for messages.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._left = _MOST_VALUES

    def of(self, value: Any) -> Any:
        """The tree with every scalar as text, and without what is null.

        Raises:
            ConfigError: it has more values than any pipeline; an alias counts for all that it stands for.
        """
        self._left -= 1
        if self._left < 0:
            raise ConfigError(
                f"{self._path}: it has more than {_MOST_VALUES} values, with all that its aliases stand for; "
                "write out what is meant",
                number="CDC2101",
            )
        if isinstance(value, dict):
            return {str(key): self.of(member) for key, member in value.items() if member is not None}
        if isinstance(value, list):
            return [self.of(item) for item in value if item is not None]
        if isinstance(value, bool):
            return str(value).lower()
        return str(value)


def _kind(document: Any) -> str:
    return "list" if isinstance(document, list) else "single value"


def _fail(path: Path, line: int, column: int, problem: str) -> NoReturn:
    raise ConfigError(f"{path}: line {line}, column {column}: {problem}", number="CDC2101") from None
