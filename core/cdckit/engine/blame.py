"""Whose code an unexpected error comes from, and in which stage of a pipeline."""

from __future__ import annotations

import traceback
from collections.abc import Iterator
from types import FrameType

from cdckit.api.plugin_origins import PluginOrigin, plugin_origins
from cdckit.api.serializer import Serializer
from cdckit.api.sink import Sink, TableSink
from cdckit.api.source import Source
from cdckit.api.state_store import StateBackend, StateStore, StateView
from cdckit.api.transform import Predicate, Transform
from cdckit.errors import CdcError, SinkError, SourceError, StateError, TransformError

_STAGES: tuple[tuple[tuple[type, ...], type[CdcError]], ...] = (
    ((Source,), SourceError),
    ((Sink, TableSink), SinkError),
    ((Transform, Predicate, Serializer), TransformError),
    ((StateBackend, StateStore, StateView), StateError),
)


def unexpected(error: BaseException) -> CdcError:
    """The error in words: with the plugin in whose code it was raised, and of the branch of the stage that it is in."""
    origin = plugin_at_fault(error)
    kind = CdcError if origin is None else _stage(error)
    return kind(f"unexpected {naming_the_plugin(error)}", number="" if origin is None else "CDC9002")


def naming_the_plugin(error: BaseException) -> str:
    """What was raised, and by which plugin, if by any."""
    origin = plugin_at_fault(error)
    where = "" if origin is None else f" in the plugin '{origin.name}' ({origin.distribution})"
    return f"{type(error).__name__}{where}: {error}"


def plugin_at_fault(error: BaseException) -> PluginOrigin | None:
    """The plugin in whose code the error was raised, or in a library that it called; the engine is none."""
    plugins = {origin.module.partition(".")[0]: origin for origin in plugin_origins()}
    for frame in _frames(error):
        module = str(frame.f_globals.get("__name__", ""))
        package = module.partition(".")[0]
        if module.startswith("cdckit.engine."):
            return None
        if package in plugins and package != "cdckit":
            return plugins[package]
    return None


def _stage(error: BaseException) -> type[CdcError]:
    """The branch of the innermost component whose method was under way."""
    for frame in _frames(error):
        for contracts, kind in _STAGES:
            if isinstance(frame.f_locals.get("self"), contracts):
                return kind
    return CdcError


def _frames(error: BaseException) -> Iterator[FrameType]:
    """From where it was raised outwards."""
    return (frame for frame, _ in reversed(list(traceback.walk_tb(error.__traceback__))))
