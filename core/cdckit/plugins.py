"""Finds plugins through pluggy and entry points, and makes the components that they register."""

from __future__ import annotations

import difflib
import importlib
import importlib.util
from collections.abc import Iterable
from functools import cache
from importlib.metadata import entry_points
from typing import Any, Literal

import pluggy

from cdckit import hookspecs
from cdckit.config.model import PluginConfig
from cdckit.errors import ConfigError
from cdckit.hookspecs import Registration

Kind = Literal["source", "sink", "transform", "predicate", "serializer"]
GROUP = "cdckit"


@cache
def plugin_manager() -> pluggy.PluginManager:
    """The process's plugin manager with every installed plugin.

    A plugin that cannot be imported does not break the others: `broken_plugins` names it.

    Raises:
        ConfigError: a plugin implements a hook that does not exist.
    """
    manager = pluggy.PluginManager("cdckit")
    manager.add_hookspecs(hookspecs)
    for entry in sorted(entry_points(group=GROUP), key=lambda found: found.name):
        try:
            plugin = entry.load()
        except Exception as error:  # noqa: BLE001 - anything can go wrong while foreign code is imported
            broken_plugins()[entry.name] = f"{type(error).__name__}: {error}"
            continue
        manager.register(plugin, name=entry.name)
    try:
        manager.check_pending()
    except pluggy.PluginValidationError as error:
        raise ConfigError(f"a plugin implements a hook that does not exist: {error}") from error
    return manager


@cache
def broken_plugins() -> dict[str, str]:
    """The entry points that could not be imported, and why."""
    return {}


def registrations(kind: Kind) -> list[tuple[str, Registration]]:
    """All components of a kind, each with the name of the plugin that brings it, sorted by name."""
    manager = plugin_manager()
    caller = getattr(manager.hook, f"cdckit_{kind}s")
    found = [
        (implementation.plugin_name, registration)
        for implementation in caller.get_hookimpls()
        for registration in implementation.function()
    ]
    return sorted(found, key=lambda pair: pair[1].name)


def find(kind: Kind, name: str, where: str = "") -> Registration:
    """The component called `name`, by its own name or an alias.

    Args:
        kind: what it is.
        name: what stands behind `type:`.
        where: the option that names it, for the error.

    Raises:
        ConfigError: no installed plugin has it.
    """
    known = {alias: r for _, r in registrations(kind) for alias in (*r.aliases, r.name)}
    if name in known:
        return known[name]
    close = difflib.get_close_matches(name, known, n=1)
    hint = f"; did you mean '{close[0]}'?" if close else ""
    names = ", ".join(r.name for _, r in registrations(kind))
    raise ConfigError(f"{where or kind + '.type'}: no {kind} is called '{name}'{hint} (installed: {names})")


def config_model(registration: Registration) -> type[PluginConfig]:
    """The config model of a component."""
    model: type[PluginConfig] = _load(registration, registration.config)
    return model


def make(registration: Registration, config: PluginConfig) -> Any:
    """The component itself.

    Raises:
        ConfigError: what it needs is not installed; the message names the extra.
    """
    missing = missing_packages(registration)
    if missing:
        raise ConfigError(_missing_extra(registration, missing))
    return _load(registration, registration.factory)(config)


def missing_packages(registration: Registration) -> list[str]:
    """The import packages that the component needs and this environment lacks."""
    return [package for package in registration.requires if importlib.util.find_spec(package) is None]


def _missing_extra(registration: Registration, missing: Iterable[str]) -> str:
    install = f"pip install 'cdckit[{registration.extra}]'" if registration.extra else "install it"
    return f"'{registration.name}' needs {', '.join(missing)}, which is not installed: {install}"


def _load(registration: Registration, path: str) -> Any:
    module, _, name = path.partition(":")
    try:
        return getattr(importlib.import_module(module), name)
    except ImportError as error:
        raise ConfigError(_missing_extra(registration, [error.name or str(error)])) from error
    except AttributeError as error:
        raise ConfigError(f"'{registration.name}' is registered as {path}, which does not exist") from error
