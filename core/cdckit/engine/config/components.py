"""Components out of what a file says: found by type, their options checked by their own model, faults gathered."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, TypeVar

from cdckit.api.plugin_config import PluginConfig
from cdckit.api.plugins import Kind, config_model, find
from cdckit.engine.config.pipeline import Component
from cdckit.engine.config.raw_pipeline import Options
from cdckit.errors import ConfigError, Problem, problems_of

_Config = TypeVar("_Config", bound=PluginConfig)


class ComponentReader:
    """Checks components one after the other.

    Attributes:
        problems: all faults so far, a sentence each.
        warnings: what the user should know, a sentence each.
    """

    def __init__(self, label: Callable[[str], str] = str, folder: Path | None = None) -> None:
        """A reader whose messages call the option at a path as `label` says; relative paths begin in `folder`."""
        self.label = label
        self._folder = folder
        self.problems: list[str] = []
        self.warnings: list[str] = []

    def component(
        self,
        kind: Kind,
        path: str,
        options: Any,
        *,
        elsewhere: Mapping[str, str] | None = None,
        ignored: Iterable[str] = (),
    ) -> Component | None:
        """The component that the options under `path` describe, or None after noting what is wrong.

        Args:
            kind: what it is.
            path: where its options stand, such as `source`.
            options: with `type` among them.
            elsewhere: options that users misplace there, and their right path.
            ignored: more options without meaning, for the one warning that lists them.
        """
        where = self.label(path)
        if not isinstance(options, Mapping) or not options.get("type"):
            named = f"{where}.type" if where else "type"
            self.problems.append(Problem(f"{named}: required, but not given; it names the {kind}", "CDC2202"))
            return None
        own = {name: value for name, value in options.items() if name != "type"}
        try:
            registration = find(kind, str(options["type"]), self.label(f"{path}.type"))
            model = config_model(registration)
        except ConfigError as error:
            self.problems += problems_of(error)
            return None
        config = self.load(model, own, where, component=registration.name, elsewhere=elsewhere, ignored=ignored)
        return None if config is None else Component(registration, config)

    def load(self, model: type[_Config], options: Options, where: str, **how: Any) -> _Config | None:
        """The model's instance, or None after noting what is wrong; `how` is what `PluginConfig.load` takes."""
        try:
            config, warnings = model.load(options, where, folder=self._folder, **how)
        except ConfigError as error:
            self.problems += problems_of(error)
            return None
        self.warnings += warnings
        return config
