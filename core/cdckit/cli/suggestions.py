"""What a shell is offered where a command takes a type or an option: what is installed, and what the file names."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

import click

from cdckit.errors import CdcError

if TYPE_CHECKING:
    from cdckit.api.plugins import Kind

PIPELINE = "pipeline"


def type_names() -> list[str]:
    """What `cdc describe` knows."""
    from cdckit.api.plugins import KINDS, registrations  # noqa: PLC0415 - only who asks needs the plugins

    names = (registration.name for kind in KINDS for _, registration in registrations(kind))
    return list(dict.fromkeys((PIPELINE, *names)))


def complete_types(_context: click.Context, _parameter: click.Parameter, begun: str) -> list[str]:
    """The types that begin so."""
    return [name for name in type_names() if name.startswith(begun)]


def complete_sinks(_context: click.Context, _parameter: click.Parameter, begun: str) -> list[str]:
    """The sinks that begin so."""
    from cdckit.api.plugins import registrations  # noqa: PLC0415 - as above

    return [sink.name for _, sink in registrations("sink") if sink.name.startswith(begun)]


def complete_options(context: click.Context, _parameter: click.Parameter, begun: str) -> list[str]:
    """The options of the type that stands before."""
    from cdckit.api.plugins import KINDS  # noqa: PLC0415 - as above

    name = str(context.params.get("type_name", ""))
    kinds: list[Kind] = list(KINDS)
    found = _of_pipeline() if name == PIPELINE else (option for kind in kinds for option in _of(kind, name))
    return sorted({option for option in found if option.startswith(begun)})


def complete_assignments(context: click.Context, _parameter: click.Parameter, begun: str) -> list[str]:
    """`OPTION=` for each option of the pipeline and of the components that its file names."""
    file = context.params.get("file") or next(iter(context.args), None)  # the latter where `--set` lacks its value
    options = [*_of_pipeline(), *(_of_file(Path(file)) if file else ())]
    return [f"{option}=" for option in options if option.startswith(begun)]


def _of_file(file: Path) -> Iterator[str]:
    from cdckit.engine.config.loading import read_raw  # noqa: PLC0415 - as above

    with suppress(CdcError):
        options = read_raw(file, os.environ).options
        kinds: tuple[Kind, ...] = ("source", "sink", "serializer", "state-store")
        for kind in kinds:
            path = kind.partition("-")[0]
            chosen = options.get(path)
            name = chosen.get("type", "") if isinstance(chosen, dict) else ""
            yield from (f"{path}.{option}" for option in _of(kind, str(name)))


def _of(kind: Kind, name: str) -> list[str]:
    """The options of a component; none where there is no such component."""
    from cdckit.api.plugins import config_model, find  # noqa: PLC0415 - as above

    with suppress(CdcError):
        return config_model(find(kind, name.removeprefix(f"{kind}."))).option_names()
    return []


def _of_pipeline() -> list[str]:
    from cdckit.engine.config.pipeline import PipelineConfig  # noqa: PLC0415 - as above

    components = ("source", "sink", "serializer", "spark", "transforms", "predicates")
    return [name for name in PipelineConfig.option_names() if name not in components]
