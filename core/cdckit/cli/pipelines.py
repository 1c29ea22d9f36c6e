"""The pipeline that a command line names, with its warnings logged."""

from __future__ import annotations

import logging
from collections.abc import Collection

from cdckit.api.plugins import broken_plugins
from cdckit.cli.settings import Chosen
from cdckit.engine.config.loading import load_pipeline
from cdckit.engine.config.pipeline import ResolvedPipeline

log = logging.getLogger("cdckit.config")


def load(chosen: Chosen, *, incomplete: bool = False, needed: Collection[str] = ()) -> ResolvedPipeline:
    """The pipeline, checked; `incomplete` where the command connects to nothing, and so needs no secrets.

    Args:
        chosen: what the command line names.
        incomplete: whether variables may lack a value …
        needed: … but in these sections, such as `transforms`.

    Raises:
        ConfigError: with all that is wrong at once.
    """
    pipeline = load_pipeline(
        chosen.file,
        chosen.overrides,
        runner=chosen.runner,
        sink=chosen.sink,
        incomplete=incomplete,
        needed=needed,
    )
    for plugin, why in broken_plugins().items():
        log.warning("the plugin '%s' cannot be used: %s", plugin, why)
    for warning in pipeline.warnings:
        log.warning("%s", warning)
    return pipeline
