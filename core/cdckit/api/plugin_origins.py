"""Where plugins come from: the entry points of installed distributions, and the files of a folder."""

from __future__ import annotations

import importlib
import importlib.util
import os
import sys
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from typing import Any

from cdckit.errors import ConfigError

GROUP = "cdckit"
PLUGINS_DIR = "CDC_PLUGINS_DIR"
"""The environment variable that names the folder of single-file plugins; processes started from here have it, too."""
_PATH = "PYTHONPATH"


@dataclass(frozen=True, slots=True)
class PluginOrigin:
    """A plugin that was found, not yet imported.

    Attributes:
        name: the entry point's, or the file's.
        module: what is imported.
        load: imports it.
        brought_by: says what brings it; reading that of an installed one takes time.
        is_file: whether it is a file of the folder.
    """

    name: str
    module: str
    load: Callable[[], Any]
    brought_by: Callable[[], str]
    is_file: bool = False

    @property
    def distribution(self) -> str:
        """The distribution that brings it and its version, or the file's path."""
        return self.brought_by()


def plugin_origins() -> list[PluginOrigin]:
    """All plugins that there are: the installed ones by name, cdckit's before others of the same name, then files.

    Raises:
        ConfigError: the folder is none.
    """
    found = entry_points(group=GROUP)
    installed = [PluginOrigin(entry.name, entry.module, entry.load, partial(_distribution, entry)) for entry in found]
    shared = Counter(origin.name for origin in installed)

    def place(origin: PluginOrigin) -> tuple[str, bool]:
        return origin.name, shared[origin.name] > 1 and not origin.distribution.startswith("cdckit ")

    return [*sorted(installed, key=place), *_of_folder(os.environ.get(PLUGINS_DIR, ""))]


def _distribution(entry: EntryPoint) -> str:
    return "" if entry.dist is None else f"{entry.dist.name} {entry.dist.version}"


def _of_folder(folder: str) -> list[PluginOrigin]:
    if not folder:
        return []
    path = Path(folder).absolute()
    if not path.is_dir():
        raise ConfigError(f"{PLUGINS_DIR} (--plugins-dir): {path} is no folder", number="CDC2302")
    files = sorted(file for file in path.glob("*.py") if not file.name.startswith("_"))
    return [
        PluginOrigin(file.name, file.stem, partial(_load, file), partial(str, file), is_file=True) for file in files
    ]


def _load(file: Path) -> Any:
    """The file as a module; its folder is importable from here on, for this process and those that it starts.

    Raises:
        ConfigError: the file's name cannot be a module's, or is another one's.
    """
    if not file.stem.isidentifier():
        raise ConfigError(f"{file} bears no module's name: letters, digits and _ alone", number="CDC2302")
    folder = str(file.parent)
    if folder not in sys.path:
        sys.path.append(folder)
    passed_on = os.environ.get(_PATH, "").split(os.pathsep)
    if folder not in passed_on:
        os.environ[_PATH] = os.pathsep.join([*filter(None, passed_on), folder])
    spec = importlib.util.find_spec(file.stem)
    if spec is None or spec.origin is None or Path(spec.origin).resolve() != file.resolve():
        raise ConfigError(f"{file} bears the name of another module: rename it", number="CDC2302")
    return importlib.import_module(file.stem)
