"""Finds plugins through pluggy and entry points, and makes the components that they register."""

from __future__ import annotations

import difflib
import importlib
import importlib.util
import logging
from collections.abc import Iterable
from functools import cache
from typing import TYPE_CHECKING, Any, Literal, TypeVar

import pluggy

from cdckit.api import hookspecs
from cdckit.api.api_version import require_version, require_version_of_unloaded
from cdckit.api.hook_calls import HookCall
from cdckit.api.hookspecs import Registration
from cdckit.api.plugin_origins import PluginOrigin, plugin_origins
from cdckit.errors import ConfigError

if TYPE_CHECKING:
    import click

    from cdckit.api.plugin_config import PluginConfig

log = logging.getLogger("cdckit.plugins")

_Answer = TypeVar("_Answer")

Kind = Literal["source", "sink", "transform", "predicate", "serializer", "state-store"]
KINDS: tuple[Kind, ...] = ("source", "sink", "transform", "predicate", "serializer", "state-store")


@cache
def plugin_manager() -> pluggy.PluginManager:
    """The process's plugin manager with every plugin that there is.

    A plugin that cannot be imported, implements a hook that does not exist, or is made for another version of the API
    does not break the others: `broken_plugins` names it.

    Raises:
        ConfigError: the folder of single-file plugins is none.
    """
    manager = pluggy.PluginManager("cdckit")
    manager.add_hookspecs(hookspecs)
    for origin in plugin_origins():
        try:
            _register(manager, origin)
        except Exception as error:  # noqa: BLE001 - anything can go wrong while foreign code is imported
            _note_broken(origin.name, error)
    return manager


def _register(manager: pluggy.PluginManager, origin: PluginOrigin) -> None:
    if manager.has_plugin(origin.name):
        raise ConfigError(
            f"{origin.distribution} brings a plugin by the name of another: rename its entry point", number="CDC2302"
        )
    try:
        manager.register(_loaded(origin), name=origin.name)
        manager.check_pending()
        if origin.is_file and not manager.get_hookcallers(manager.get_plugin(origin.name)):
            raise ConfigError(
                f"{origin.name} implements no hook: where it is no plugin, begin its name with _", number="CDC2302"
            )
    except Exception:
        if manager.has_plugin(origin.name):
            manager.unregister(name=origin.name)
        raise


def _loaded(origin: PluginOrigin) -> Any:
    """The plugin itself.

    Raises:
        ConfigError: it is made for another version of the API.
    """
    try:
        plugin = origin.load()
    except Exception:
        require_version_of_unloaded(origin)
        raise
    require_version(origin, plugin)
    return plugin


@cache
def broken_plugins() -> dict[str, str]:
    """The entry points of plugins that cannot be used, and why."""
    return {}


def registrations(kind: Kind) -> list[tuple[str, Registration]]:
    """All components of a kind, each with the name of the plugin that brings it, sorted by name."""
    return sorted(answers(f"cdckit_{kind.replace('-', '_')}s", Registration), key=lambda pair: pair[1].name)


def answers(hook: str, kind: type[_Answer]) -> list[tuple[str, _Answer]]:
    """All that the plugins answer to a hook which gives a sequence, each with the name of the plugin that made it.

    Args:
        hook: its name.
        kind: what the sequences hold; who answers with anything else is broken.
    """

    def read(answered: list[Any]) -> list[_Answer]:
        found = [answer for each in answered for answer in each]
        if strange := [answer for answer in found if not isinstance(answer, kind)]:
            raise TypeError(f"{hook} gives {strange[0]!r}, which is no {kind.__name__}")
        return found

    call = HookCall(plugin_manager(), hook, {}, _note_broken, read)
    found = call.results()
    makers = {id(answer): plugin for plugin, given in call.answered.items() for answer in given}
    wrapping = next(iter(call.wrapping.values()), "")
    return [(makers.get(id(answer), wrapping), answer) for answer in found]


def tell(hook: str, **facts: Any) -> None:
    """Calls a hook that nobody answers. A plugin that raises is logged, the first time; the others are told as ever."""

    def failed(plugin: str, error: Exception) -> None:
        level = logging.DEBUG if plugin in broken_plugins() else logging.WARNING
        _note_broken(plugin, error)
        log.log(level, "the plugin '%s' fails in %s", plugin, hook, exc_info=error)

    HookCall(plugin_manager(), hook, facts, failed).results()


def _note_broken(plugin: str, error: Exception) -> None:
    broken_plugins()[plugin] = str(error) if isinstance(error, ConfigError) else f"{type(error).__name__}: {error}"


def commands() -> list[click.Command]:
    """The commands that plugins add to `cdc`."""
    import click  # noqa: PLC0415 - plugins need it only for commands

    return [command for _, command in answers("cdckit_commands", click.Command)]


def find(kind: Kind, name: str, where: str = "") -> Registration:
    """The component called `name`, by its own name or an alias.

    Args:
        kind: what it is.
        name: what stands behind `type:`.
        where: the option that names it, for the error.

    Raises:
        ConfigError: no installed plugin has it.
    """
    installed = [registration for _, registration in registrations(kind)]
    known = {alias: r for r in installed for alias in (*r.aliases, r.name)}
    if name in known:
        return known[name]
    names = ", ".join(registration.name for registration in installed) or "none"
    broken = "".join(f"; the plugin '{plugin}' is broken ({why})" for plugin, why in broken_plugins().items())
    at = where or f"{kind}.type"
    raise ConfigError(
        f"{at}: no {kind.replace('-', ' ')} is called '{name}'{_meant(name, known)} (installed: {names}){broken}",
        number="CDC2204",
    )


def _meant(name: str, known: Iterable[str]) -> str:
    """The name that is close to `name`; of class names only the last part counts."""
    last = {alias.rpartition(".")[2].lower(): alias for alias in known}
    close = difflib.get_close_matches(name.rpartition(".")[2].lower(), last, n=1, cutoff=0.85 if "." in name else 0.6)
    return f"; did you mean '{last[close[0]]}'?" if close else ""


def config_model(registration: Registration) -> type[PluginConfig]:
    """The config model of a component."""
    model: type[PluginConfig] = _load(registration, registration.config)
    return model


def make(registration: Registration, config: PluginConfig, *, spark: bool = False) -> Any:
    """The component itself.

    Args:
        registration: what names it.
        config: its options.
        spark: whether Spark runs the pipeline.

    Raises:
        ConfigError: what it needs is not installed; the message names the extra.
    """
    return factory(registration, spark=spark)(config)


def factory(registration: Registration, *, spark: bool = False) -> Any:
    """What makes the component: its class, as a rule.

    Args:
        registration: what names it.
        spark: whether Spark runs the pipeline.

    Raises:
        ConfigError: what it needs is not installed; the message names the extra.
    """
    missing = missing_packages(registration)
    if missing:
        raise ConfigError(_missing_extra(registration, missing), number="CDC2301")
    return _load(registration, (spark and registration.on_spark) or registration.factory)


def missing_packages(registration: Registration) -> list[str]:
    """The import packages that the component needs and this environment lacks."""
    return [package for package in registration.requires if importlib.util.find_spec(package) is None]


def _missing_extra(registration: Registration, missing: Iterable[str]) -> str:
    install = f"pip install 'cdckit[{registration.extra}]'" if registration.extra else "install it"
    return f"'{registration.name}' needs {', '.join(missing)}, which is not installed: {install}"


def _load(registration: Registration, path: str) -> Any:
    module, _, name = path.partition(":")
    try:
        found = getattr(importlib.import_module(module), name, None)
    except ImportError as error:
        raise ConfigError(_missing_extra(registration, [error.name or str(error)]), number="CDC2301") from error
    except Exception as error:
        raise ConfigError(
            f"'{registration.name}' cannot be loaded: {type(error).__name__}: {error}", number="CDC2302"
        ) from error
    if found is None:
        raise ConfigError(f"'{registration.name}' is registered as {path}, which does not exist", number="CDC2302")
    return found
