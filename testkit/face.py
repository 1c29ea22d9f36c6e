"""The public face as a listing, one line a name or member: `python -m testkit.face` writes it anew (`make face`).

Every name that differs from the recorded listing needs its line in the changelog, under "Unreleased", in backticks.
"""

from __future__ import annotations

import ast
import importlib
import inspect
import re
import sys
from collections.abc import Iterator
from enum import Enum
from pathlib import Path
from types import ModuleType
from typing import Any

from pydantic import BaseModel

ROOT = Path(__file__).parents[1]
RECORDED = ROOT / "tests" / "data" / "face.txt"
ROOMS = ("cdckit", "cdckit.logical", "cdckit.spark", "cdckit.testing")
"""The stable modules whose names are recorded."""


def listing() -> list[str]:
    """The face as it is."""
    modules = [importlib.import_module(room) for room in ROOMS]
    return sorted(line for module in modules for name in _names(module) for line in _lines(module, name))


def unexplained() -> list[str]:
    """The names that differ from the recorded listing and that the changelog does not tell of."""
    before = set(RECORDED.read_text(encoding="utf-8").splitlines()) if RECORDED.exists() else set()
    changed = {_name(line) for line in before ^ set(listing())}
    told = re.findall(r"`([^`]+)`", unreleased())
    return sorted(name for name in changed if not any(re.search(rf"\b{re.escape(name)}\b", one) for one in told))


def unreleased() -> str:
    """The changelog's section of what is not released."""
    text = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    return text.partition("\n## Unreleased\n")[2].partition("\n## ")[0]


def _names(module: ModuleType) -> Iterator[str]:
    if hasattr(module, "__all__"):
        yield from module.__all__
        return
    for node in ast.parse(inspect.getsource(module)).body:
        if isinstance(node, ast.Assign):
            yield from (target.id for target in node.targets if isinstance(target, ast.Name) and _public(target.id))
        elif isinstance(node, ast.FunctionDef | ast.ClassDef) and _public(node.name):
            yield node.name


def _lines(module: ModuleType, name: str) -> Iterator[str]:
    found, full = getattr(module, name), f"{module.__name__}.{name}"
    yield f"{full}{_signature(found)}"
    if inspect.isclass(found):
        yield from _members(found, full)


def _members(found: type, full: str) -> Iterator[str]:
    for name in dir(found):
        owner = next((base for base in found.__mro__ if name in vars(base)), object)
        if _public(name) and _ours(owner):
            yield f"{full}.{name}{_signature(getattr(found, name))}"


def _signature(found: Any) -> str:
    """How it is called; nothing where that is not ours to say, as of an exception without a constructor of its own."""
    if inspect.isclass(found):
        if issubclass(found, tuple):
            return f"({', '.join(found._fields)})" if hasattr(found, "_fields") else ""
        if not inspect.isfunction(found.__init__) or not _ours(found) or issubclass(found, Enum | BaseModel):
            return ""
    elif not (inspect.isfunction(found) or inspect.ismethod(found)) or not _ours(found):
        return ""
    signature = inspect.signature(found)
    members = [one.replace(default=_shown(one.default)) for one in signature.parameters.values()]
    return str(signature.replace(parameters=members)).replace("'", "")


def _shown(default: object) -> object:
    plain = default is inspect.Parameter.empty or isinstance(default, str | int | float | tuple | None)
    return default if plain else _Unshown()


class _Unshown:
    def __repr__(self) -> str:
        return "…"


def _ours(found: Any) -> bool:
    return str(found.__module__).startswith("cdckit")


def _public(name: str) -> bool:
    return not name.startswith("_")


def _name(line: str) -> str:
    """What the changelog has to name: `Batch`, of a member, too."""
    full = re.split(r"[(:]", line, maxsplit=1)[0]
    room = max((room for room in ROOMS if full.startswith(f"{room}.")), key=len)
    return full.removeprefix(f"{room}.").split(".")[0]


def main() -> int:
    """Writes the listing, where the changelog tells of what is new in it; returns the exit code."""
    if missing := unexplained():
        print(f"CHANGELOG.md, under Unreleased, does not tell of: {', '.join(missing)}", file=sys.stderr)
        return 1
    RECORDED.write_text("".join(f"{line}\n" for line in listing()), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
