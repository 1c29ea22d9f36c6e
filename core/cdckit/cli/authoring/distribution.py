"""Writes the distribution of a new plugin, which passes its tests as it is."""

from __future__ import annotations

import importlib.util
import keyword
import re
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.metadata import version
from importlib.resources import files
from pathlib import Path
from string import Template

from cdckit.api.api_version import API_VERSION
from cdckit.api.plugin_origins import plugin_origins
from cdckit.api.plugins import Kind, registrations
from cdckit.errors import ConfigError

_NAME = re.compile(r"[a-z][a-z0-9]*(?:-[a-z0-9]+)*")
_LONGEST = 40
_IN_CAPITALS: tuple[Kind, ...] = ("transform", "predicate")
"""Kinds whose types are called as classes are."""


@dataclass(frozen=True, slots=True)
class NewKind:
    """What is particular to one kind of component.

    Attributes:
        summary: the line of its registration.
        usage: a pipeline that uses it; `$type` stands for its name.
    """

    summary: str
    usage: str


_SOURCE = "source:\n  type: mysql\n  topic.prefix: inventory\n  database.hostname: localhost\n  database.user: cdc\n"

KINDS: dict[Kind, NewKind] = {
    "source": NewKind(
        "follows the JSON lines of a file",
        "runner: direct\nsource:\n  type: $type\n  topic: lines\n  path: lines.jsonl",
    ),
    "sink": NewKind(
        "appends messages to a table of an SQLite file",
        f"runner: direct\n{_SOURCE}sink:\n  type: $type\n  path: messages.db",
    ),
    "transform": NewKind(
        "writes a column in capitals",
        f"runner: direct\n{_SOURCE}transforms:\n  - type: $type\n    column.name: customer",
    ),
    "predicate": NewKind(
        "means the rows that have a text in a column",
        f"runner: direct\n{_SOURCE}transforms:\n  - type: Filter\n    predicate: theirs\n"
        "predicates:\n  theirs:\n    type: $type\n    column.name: customer\n    column.value: Ada",
    ),
    "serializer": NewKind("JSON without schemas", f"runner: direct\n{_SOURCE}serializer:\n  type: $type"),
}


def write_distribution(name: str, kind: Kind, parent: Path) -> list[Path]:
    """Writes the folder `name`.

    Args:
        name: the distribution's name, in lower case with hyphens.
        kind: one of `KINDS`.
        parent: where the folder is made.

    Returns:
        The files.

    Raises:
        ConfigError: the name cannot be one, is taken by what is installed, or the folder is there already.
    """
    package = _package(name)
    _require_free(name, kind)
    home = parent / name
    if home.exists() and any(home.iterdir() if home.is_dir() else [home]):
        raise ConfigError(
            f"NAME: {home} is there already, and not empty; take another name, or move it away", number="CDC2508"
        )
    return [_write(home / path, text) for path, text in _texts(name, package, kind)]


def _package(name: str) -> str:
    """The import package of the distribution."""
    if not _NAME.fullmatch(name) or len(name) > _LONGEST:
        raise ConfigError(
            f"NAME: '{name}' cannot be a plugin's name: lower-case letters and digits, with single hyphens between, at "
            f"the most {_LONGEST}, such as acme-orders",
            number="CDC2508",
        )
    package = name.replace("-", "_")
    if keyword.iskeyword(package) or importlib.util.find_spec(package) is not None:
        raise ConfigError(
            f"NAME: there is a module '{package}' already: take another name, such as acme-{name}", number="CDC2508"
        )
    return package


def _require_free(name: str, kind: Kind) -> None:
    """That no plugin bears the name, and no component of the kind its type."""
    taken = {origin.name for origin in plugin_origins()}
    taken |= {called for _, found in registrations(kind) for called in (found.name, *found.aliases)}
    if {name, _type(name, kind)} & taken:
        raise ConfigError(
            f"NAME: '{name}' is the name of what is there already: take another one, such as acme-{name}",
            number="CDC2508",
        )


def _type(name: str, kind: Kind) -> str:
    """What stands behind `type:`."""
    return _camel(name) if kind in _IN_CAPITALS else name


def _camel(name: str) -> str:
    return "".join(part.capitalize() for part in name.split("-"))


def _texts(name: str, package: str, kind: Kind) -> Iterator[tuple[str, str]]:
    """Each file with its text."""
    camel = _camel(name)
    words = {
        "name": name,
        "package": package,
        "kind": kind,
        "type": _type(name, kind),
        "cls": camel if kind in _IN_CAPITALS else f"{camel.removesuffix(kind.capitalize())}{kind.capitalize()}",
        "summary": KINDS[kind].summary,
        "api": str(API_VERSION),
        "cdckit": ".".join(version("cdckit").split(".")[:2]),
    }
    words["usage"] = Template(KINDS[kind].usage).substitute(words)
    yield "pyproject.toml", _filled("pyproject.toml", words)
    yield "README.md", _filled("README.md", words)
    yield f"{package}/__init__.py", f'"""The {kind} `{words["type"]}` for cdckit."""\n'
    yield f"{package}/py.typed", ""
    yield f"{package}/plugin.py", _filled("plugin.py", words)
    yield f"{package}/{kind}.py", _filled(f"{kind}.py", words)
    yield "tests/test_contract.py", _filled(f"test_{kind}.py", words)


def _filled(template: str, words: dict[str, str]) -> str:
    path = files("cdckit.cli.authoring") / "templates" / f"{template}.tmpl"
    return Template(path.read_text(encoding="utf-8")).substitute(words)


def _write(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return path
