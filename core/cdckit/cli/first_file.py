"""A first pipeline file: what was answered, with the secrets left to variables, and what it captures."""

from __future__ import annotations

import os
import re
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from cdckit.api.plugin_config import PluginConfig, dotted
from cdckit.api.source import SourceContext
from cdckit.engine.config.loading import load_pipeline
from cdckit.engine.config.options import Option, options_of
from cdckit.engine.config.pipeline import ResolvedPipeline
from cdckit.engine.pipeline import make_source
from cdckit.errors import ConfigError

_SECRET = re.compile(r"secret|(password|passphrase|token|credential|key|sas)s?$", re.IGNORECASE)
"""What options below a name may be called that hold secrets: nothing else says so."""


def asked_of(model: type[PluginConfig]) -> list[Option]:
    """The options of a component that are asked for: those required, then those that its model names, in its order."""
    wanted = [_name_of(model, field) for field in model.asked]
    required = [option for option in options_of(model) if option.required and option.name not in wanted]
    return [*required, *(option_of(model, name) for name in wanted)]


def option_of(model: type[PluginConfig], name: str) -> Option:
    """One of a component's options, also of those that it has below a name: of these it says the same of all."""
    known = {option.name: option for option in options_of(model)}
    if name in known:
        return known[name]
    head, _, below = name.partition(".")
    described = known.get(f"{head}.*")
    kind = "password" if _SECRET.search(below) else "text"
    return Option(name, kind, required=False, default="", description=described.description if described else "")


def _name_of(model: type[PluginConfig], field: str) -> str:
    head, dot, below = field.partition(".")
    return f"{model.model_fields[head].alias or dotted(head)}{dot}{below}"


def include_list(model: type[PluginConfig]) -> str | None:
    """The option that names tables or collections one by one; None where the source has none."""
    named = [name for name in getattr(model, "choosing", ()) if name.endswith("_include_list")]
    return dotted(named[-1]) if named else None


def is_secret(option: Option) -> bool:
    """Whether its value stands in a variable, never in the file."""
    return option.type == "password"


def variable_of(option: str) -> str:
    """What a secret's variable is called: `DATABASE_PASSWORD`."""
    return re.sub(r"[^A-Z0-9]+", "_", option.upper()).strip("_")


@dataclass(slots=True)
class FirstFile:
    """What a first file holds.

    Attributes:
        source: the source's options, its type first.
        sink: the sink's.
        runner: who drives the pipeline.
        secrets: the values of the variables that the file names, as far as they are known; never written.
        folder: where the file is to stand, and its relative paths begin.
    """

    source: dict[str, Any]
    sink: dict[str, Any] = field(default_factory=lambda: {"type": "stdout"})
    runner: str = "direct"
    secrets: dict[str, str] = field(default_factory=dict, repr=False)
    folder: Path = Path()

    def text(self, comments: Mapping[str, str] | None = None) -> str:
        """The file's text.

        Args:
            comments: what stands behind `runner`, `source` and `sink`.
        """
        said = comments or {}
        lines = [_commented(f"runner: {self.runner}", said.get("runner", ""))]
        for part, options in (("source", self.source), ("sink", self.sink)):
            lines.append(_commented(f"{part}:", said.get(part, "")))
            written = yaml.safe_dump(options, sort_keys=False, allow_unicode=True, width=10_000)
            lines += [f"  {line}" for line in written.splitlines()]
        return "\n".join(lines) + "\n"

    def tables(self) -> Sequence[str]:
        """The tables that the source has for it now.

        Raises:
            ConfigError: an option is wrong, or the source reads no tables.
            SourceError: the source cannot be reached, or refuses.
        """
        pipeline = self._loaded()
        source = make_source(pipeline)
        try:
            source.open(SourceContext(pipeline.name))
            return source.readable()
        finally:
            source.close()

    def check(self, variables: Mapping[str, str]) -> None:
        """Sees that the file would be taken, as far as that can be told without the values of variables.

        Args:
            variables: those of the file, each with the option that it stands for.

        Raises:
            ConfigError: with all that is wrong.
        """
        unknown = [option for name, option in variables.items() if name not in os.environ and name not in self.secrets]
        try:
            self._loaded(incomplete=True)
        except ConfigError as error:
            told = [each for each in error.problems if not any(option in each for option in unknown)]
            if told:
                raise ConfigError(*told) from error

    def _loaded(self, *, incomplete: bool = False) -> ResolvedPipeline:
        """The pipeline that the file would be, before it is written."""
        with tempfile.TemporaryDirectory() as elsewhere:
            file = Path(elsewhere) / "pipeline.yaml"
            file.write_text(self.text(), encoding="utf-8")
            variables = {**os.environ, **self.secrets}
            return load_pipeline(file, environment=variables, incomplete=incomplete, folder=self.folder)


def _commented(line: str, comment: str) -> str:
    return f"{line}  # {comment}" if comment else line
