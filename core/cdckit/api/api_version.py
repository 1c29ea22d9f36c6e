"""The version of the plugin API, and which one a plugin is made for."""

from __future__ import annotations

import ast
import importlib.util
import sys
from importlib.metadata import version
from pathlib import Path
from typing import Any

from cdckit.api.plugin_origins import PluginOrigin
from cdckit.errors import ConfigError

API_VERSION = 1
"""Raised when a plugin that was made for the one before would not work any more."""

DECLARATION = "CDCKIT_API"
"""The name in a plugin's module that says which version it is made for; without it, the one that there is."""


def require_version(origin: PluginOrigin, plugin: object) -> None:
    """Lets pass what is made for this version, or does not say.

    Raises:
        ConfigError: the plugin is made for another one.
    """
    module = sys.modules.get(origin.module)
    _require(origin, getattr(plugin, DECLARATION, getattr(module, DECLARATION, None)))


def require_version_of_unloaded(origin: PluginOrigin) -> None:
    """The same of a plugin that could not be imported, as may be where names that it imports are gone.

    Raises:
        ConfigError: its file says that it is made for another version.
    """
    _require(origin, _written_in(origin.module))


def _require(origin: PluginOrigin, wanted: Any) -> None:
    if wanted is None or (type(wanted) is int and wanted == API_VERSION):
        return
    who = origin.distribution or origin.name
    if type(wanted) is not int:
        raise ConfigError(
            f"{who}: {DECLARATION} is {wanted!r}; it should be a whole number such as {API_VERSION}", number="CDC2303"
        )
    newer = wanted > API_VERSION
    todo = "upgrade cdckit" if newer else "upgrade the plugin, or install the cdckit that it was made for"
    raise ConfigError(
        f"{who} is made for version {wanted} of the plugin API, and cdckit {version('cdckit')} has version "
        f"{API_VERSION}: {todo}",
        number="CDC2303",
    )


def _written_in(module: str) -> Any:
    """What the module's file says, without running it; None where it says nothing or cannot be read."""
    try:
        spec = importlib.util.find_spec(module)
        body = ast.parse(Path((spec and spec.origin) or "").read_bytes()).body
    except Exception:  # noqa: BLE001 - it is foreign code that is broken already
        return None
    for node in body:
        targets = node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", None)]
        value = getattr(node, "value", None)
        if isinstance(value, ast.Constant) and any(isinstance(t, ast.Name) and t.id == DECLARATION for t in targets):
            return value.value
    return None
