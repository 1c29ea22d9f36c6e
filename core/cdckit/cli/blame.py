"""Whose code an unexpected error comes from."""

from __future__ import annotations

import traceback
from importlib.metadata import EntryPoint, entry_points

from cdckit.api.plugins import GROUP


def plugin_at_fault(error: BaseException) -> str:
    """The plugin in whose code, or beneath it, the error was raised, in words; "" where it is none's."""
    plugins = {entry.module.partition(".")[0]: entry for entry in entry_points(group=GROUP)}
    for frame, _ in reversed(list(traceback.walk_tb(error.__traceback__))):
        package = str(frame.f_globals.get("__name__", "")).partition(".")[0]
        if package in plugins and package != "cdckit":
            return f" in the plugin '{plugins[package].name}'{_distribution(plugins[package])}"
    return ""


def _distribution(entry: EntryPoint) -> str:
    return f" ({entry.dist.name} {entry.dist.version})" if entry.dist is not None else ""
