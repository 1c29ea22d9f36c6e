"""States that earlier versions kept: relative paths began in the working directory then, not in the file's folder."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from cdckit.api.places import Typed
from cdckit.engine.config.pipeline import ResolvedPipeline
from cdckit.engine.config.raw_pipeline import RawPipeline, state_options
from cdckit.errors import ConfigError

_STATE = ("state.db", "spark")
"""What a state folder holds, on one runner or the other."""


def refuse_left_behind(pipeline: ResolvedPipeline, raw: RawPipeline) -> None:
    """Looks for a state that the pipeline would silently not go on with.

    Raises:
        ConfigError: there is one, and none where it belongs now.
    """
    problems = [
        f"{option}: {new} is not there, but {old} is, where earlier versions kept it (relative to the working "
        f"directory). To go on with it: `mv {old} {new}`, or `--set {option}={given}`; to begin anew, move it away"
        for option, old, new, given in _moved(pipeline, raw)
    ]
    if problems:
        raise ConfigError(*problems, number="CDC2103")


def _moved(pipeline: ResolvedPipeline, raw: RawPipeline) -> Iterator[tuple[str, Path, Path, Path]]:
    """The option, the folder as earlier versions and as this one tell it, and what to set it to for the former."""
    written, new = state_options(raw.options).get("path", f"state/{pipeline.name}"), pipeline.state_folder
    old = Path(written).absolute()
    if new is not None and not isinstance(written, Typed) and _is_state(old) and not _is_state(new):
        yield "state", old, new, old
    written = raw.options.get("checkpoint", "")
    if pipeline.checkpoint is None or pipeline.checkpoint == written or isinstance(written, Typed):
        return
    old, new = Path(written, pipeline.name).absolute(), Path(pipeline.checkpoint, pipeline.name)
    if _exists(old) and not _exists(new):
        yield "checkpoint", old, new, old.parent


def _is_state(folder: Path) -> bool:
    return any(_exists(folder / name) for name in _STATE)


def _exists(path: Path) -> bool:
    """Whether it is there; a name that no file can have is not."""
    return os.path.exists(path)  # noqa: PTH110 - pathlib's raises for such names
