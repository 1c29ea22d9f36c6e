"""The pipeline that a data source's options describe.

Apart from the data source: to read options takes imports that no process of a runner's query needs, to which its job
comes made.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from cdckit.api.plugin_config import did_you_mean
from cdckit.engine.config.loading import load_pipeline
from cdckit.engine.config.pipeline import PipelineConfig, ResolvedPipeline
from cdckit.engine.config.raw_pipeline import raw_pipeline
from cdckit.engine.config.requirements import beyond_data_source
from cdckit.engine.config.resolve import resolve
from cdckit.errors import ConfigError, Problem

OWN_OPTIONS = (
    "pipeline",
    "parallelism",
    "maxBytesPerTrigger",
    "waitMs",
    "endAtLogEnd",
    "table",
    "documentColumns",
    "from",
    "to",
)
"""The options that are the data source's own; all others are a pipeline's, by their full names."""
_OWN = frozenset(name.lower() for name in OWN_OPTIONS)


def pipeline_of(options: Mapping[str, str]) -> ResolvedPipeline:
    """The pipeline of a file, or of options alone.

    Args:
        options: a data source's, in lower case: `pipeline`, the path of a file, and a pipeline file's options by their
            full names, stronger than those in it. Variables in their values are replaced, as in a file.

    Raises:
        ConfigError: with all that is wrong at once.
    """
    if misspelt := [*_misspelt(options)]:
        raise ConfigError(*misspelt)
    pipeline = _described(options)
    if problems := beyond_data_source(pipeline):
        raise ConfigError(*problems, number="CDC2402")
    return pipeline


def _misspelt(options: Iterable[str]) -> Iterator[Problem]:
    """The options that are nearly the data source's own."""
    for name in options:
        if name in _OWN or "." in name or PipelineConfig.knows(name):
            continue
        if meant := did_you_mean(name, OWN_OPTIONS):
            yield Problem(f"{name}: unknown option{meant}", "CDC2201")


def _described(options: Mapping[str, str]) -> ResolvedPipeline:
    given = [f"{name}={value}" for name, value in options.items() if name not in _OWN]
    if "pipeline" in options:
        return load_pipeline(Path(options["pipeline"]), given)
    raw = raw_pipeline({}, "spark")
    for one in given:
        raw.set(one, os.environ)
    return resolve(raw)
