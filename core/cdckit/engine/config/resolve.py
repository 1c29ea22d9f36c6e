"""From raw options to a resolved pipeline: every component's options checked by its own model, all faults at once."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from cdckit.api.plugin_config import PluginConfig
from cdckit.api.plugins import Kind, config_model, find
from cdckit.api.source_config import SourceConfig
from cdckit.api.variables import names_left, unresolved
from cdckit.connector.options.every_connector import broken_promise
from cdckit.engine.config.components import ComponentReader
from cdckit.engine.config.error_options import error_handling
from cdckit.engine.config.pipeline import Component, PipelineConfig, ResolvedPipeline, source_config
from cdckit.engine.config.raw_pipeline import (
    COMPONENTS,
    LISTED,
    SEPARATE_PARTS,
    STATE,
    Options,
    RawPipeline,
    state_options,
)
from cdckit.engine.config.steps import read_steps
from cdckit.engine.config.tail import tail_sink
from cdckit.engine.state.file_config import FileStateConfig
from cdckit.errors import ConfigError, Problem

CHECKED_APART = ("source", "sink", "serializer", STATE, *LISTED)


def resolve(raw: RawPipeline, *, incomplete: bool = False, needed: Collection[str] = ()) -> ResolvedPipeline:
    """The pipeline that raw options describe.

    Args:
        raw: the options as they were written.
        incomplete: whether variables may lack a value, but those in its name and its state …
        needed: … and in these sections, such as `transforms`.

    Raises:
        ConfigError: with all that is wrong at once.
    """
    reader = ComponentReader(raw.label, raw.folder)
    reader.problems += raw.problems
    lacking = {path: Problem(f"{raw.label(path)}: {problem}", "CDC2206") for path, problem in unresolved(raw.options)}
    reader.problems += [
        said
        for path, said in lacking.items()
        if not incomplete or path.partition(".")[0] in needed or _tells_the_state(raw, path)
    ]
    pipeline = _pipeline_options(raw, reader)
    ignored = list(raw.ignored)
    sink = reader.component("sink", "sink", _sink_options(raw, reader, ignored))
    source = _source(raw, reader, ignored)
    serializer, keys, headers = _serializers(raw, reader)
    steps = read_steps(raw.options.get("transforms", []), raw.options.get("predicates", {}), reader)
    store = reader.component("state-store", STATE, state_options(raw.options))
    tail = None if pipeline is None or sink is None else tail_sink(pipeline, sink, reader)
    if pipeline is None or reader.problems or source is None or store is None or serializer is None or sink is None:
        raise ConfigError(*dict.fromkeys((*reader.problems, *lacking.values())))
    asked = source_config(source)
    name = pipeline.name or asked.logical_name or raw.fallback_name
    folder, store = _placed(store, raw.folder.absolute() / "state" / name)
    folder = pipeline.local_folder or folder
    return ResolvedPipeline(
        name=name,
        runner=pipeline.runner,
        folder=folder,
        store=store,
        source=source,
        transforms=steps,
        serializer=serializer,
        key_serializer=keys,
        header_serializer=headers,
        sink=sink,
        spark=_spark_settings(pipeline.spark),
        position_header=pipeline.position_header,
        offset_flush_interval_ms=pipeline.offset_flush_interval_ms,
        checkpoint=pipeline.checkpoint,
        idle_wait_ms=pipeline.idle_wait_ms,
        batch_max_bytes=pipeline.batch_max_bytes,
        batch_target_ms=pipeline.batch_target_ms,
        read_max_bytes_per_second=pipeline.read_max_bytes_per_second,
        forecast_warning_ms=pipeline.forecast_warning_ms,
        metrics=pipeline.metrics,
        errors=error_handling(pipeline, name, store, sink),
        ledger=pipeline.ledger,
        tail=pipeline.tail,
        tail_max_lag_ms=pipeline.tail_max_lag_ms,
        tail_sink=tail,
        warnings=(*reader.warnings, *_left_out(pipeline, asked), *_taken_as_text(raw)),
    )


def _placed(store: Component, folder: Path) -> tuple[Path, Component]:
    """The pipeline's folder and its state store, where by default both are in `folder`."""
    if not isinstance(store.config, FileStateConfig):
        return folder, store
    path = store.config.path or folder
    return path, replace(store, config=FileStateConfig(path=path))


def _tells_the_state(raw: RawPipeline, path: str) -> bool:
    """Whether the option at the path decides where the pipeline's state is."""
    first, _, option = path.partition(".")
    if first in ("name", STATE):
        return True
    model = _source_model(raw)
    return first == "source" and model.present_name(option) in (model.naming_option(), "type")


def _source_model(raw: RawPipeline) -> type[SourceConfig]:
    """The model of the source's options; that of none where it cannot be had."""
    model = _model("source", raw.options.get("source"))
    return model if model is not None and issubclass(model, SourceConfig) else SourceConfig


def _left_out(pipeline: PipelineConfig, config: SourceConfig) -> list[str]:
    """What the source is asked for that has no place on the pipeline's runner, a sentence each."""
    if pipeline.runner != "spark":
        return []
    return [f"source.{option}: left out, for {why}" for option, why in config.without_effect_on_spark().items()]


def _taken_as_text(raw: RawPipeline) -> list[str]:
    """The options that no transform reads and in which a variable may have been meant."""
    if not raw.placeholders:
        return []
    left = {
        f"{kind}.{option}": names_left(value)
        for kind in ("source", "sink", "serializer")
        for option, value in raw.options.get(kind, {}).items()
    }
    return [
        f"{raw.label(path)}: {', '.join(f'${{{name}}}' for name in names)} is taken as it stands, for the "
        "environment has no variable of that name"
        for path, names in left.items()
        if names
    ]


def _pipeline_options(raw: RawPipeline, reader: ComponentReader) -> PipelineConfig | None:
    own = {name: value for name, value in raw.options.items() if name not in CHECKED_APART}
    return reader.load(PipelineConfig, {"source": {}, **own}, "", elsewhere=_options_of_source(raw))


def _source(raw: RawPipeline, reader: ComponentReader, ignored: list[str]) -> Component | None:
    if "source" not in raw.options:
        said = "source: required, but not given; `type` under it names where changes are read"
        reader.problems.append(Problem(said, "CDC2202"))
        return None
    pipeline_wide = {name: name for name in PipelineConfig.option_names()}
    found = reader.component("source", "source", raw.options["source"], elsewhere=pipeline_wide, ignored=ignored)
    if found is not None and not isinstance(found.config, SourceConfig):
        reader.problems.append(
            f"{raw.label('source.type')}: the plugin of '{found.registration.name}' is made wrongly: "
            f"{found.registration.config} should be a SourceConfig"
        )
    return found


def _sink_options(raw: RawPipeline, reader: ComponentReader, ignored: list[str]) -> Options:
    """The sink's options, with what a connector's configuration says to its producer, as far as the sink knows it."""
    options: Options = raw.options.get("sink", {"type": "stdout"})
    if not isinstance(options, dict) or not raw.sink_options:
        return options
    model = _model("sink", options)
    if model is None:
        return options
    unknown = {name: value for name, value in raw.sink_options.items() if not model.knows(name)}
    broken = {name: why for name, value in unknown.items() if (why := broken_promise(name, value))}
    reader.problems += [Problem(f"{name}: {why}", "CDC2205") for name, why in broken.items()]
    ignored += [name for name in unknown if name not in broken]
    return {name: value for name, value in raw.sink_options.items() if model.knows(name)} | options


def _serializers(
    raw: RawPipeline, reader: ComponentReader
) -> tuple[Component | None, Component | None, Component | None]:
    """What writes values, and what writes keys and headers where it is another one."""
    options = _serializer_options(raw)
    apart: list[Component | None] = []
    for part in SEPARATE_PARTS if isinstance(options, dict) else ():
        own = {name: value for name, value in options.items() if name.startswith(f"{part}.")}
        if f"{part}.type" not in own:
            apart.append(None)
            continue
        options = {name: value for name, value in options.items() if name not in own}
        named = {name.removeprefix(f"{part}."): value for name, value in own.items()}
        apart.append(_apart(part, reader.component("serializer", f"serializer.{part}", named), reader))
    keys, headers = apart or (None, None)
    return reader.component("serializer", "serializer", options), keys, headers


def _apart(part: str, serializer: Component | None, reader: ComponentReader) -> Component | None:
    if serializer is not None and part not in serializer.config.apart:
        at = reader.label(f"serializer.{part}")
        reader.problems.append(f"{at}.type: '{serializer.registration.name}' writes no {part}s by itself")
    return serializer


def _serializer_options(raw: RawPipeline) -> Options:
    """The serializer's options; where they leave open what suits the sink, the sink has a say."""
    options: Options = raw.options.get("serializer", {})
    if not isinstance(options, dict):
        return options
    options = {"type": "json", **options}
    model, sink = _model("serializer", options), _model("sink", raw.options.get("sink"))
    if model is not None and model.headers_by:
        options = {"header.type": model.headers_by, **options}
    if model is None or sink is None:
        return options
    return {name: value for name, value in sink.for_the_serializer.items() if model.knows(name)} | options


def _model(kind: Kind, options: Any) -> type[PluginConfig] | None:
    """The model of a component's options; None where it cannot be had, which is told elsewhere."""
    try:
        return config_model(find(kind, str(options.get("type", "")) if isinstance(options, dict) else ""))
    except ConfigError:
        return None


def _options_of_source(raw: RawPipeline) -> dict[str, str]:
    """Where the source's options belong, for who writes one at the top level."""
    model = _source_model(raw)
    names = {*model.option_names(), *model.renamed} - {*COMPONENTS, *LISTED}
    return {name: f"source.{name}" for name in names}


def _spark_settings(given: Mapping[str, str]) -> dict[str, str]:
    """Settings by their full names: `master` is short for `spark.master`."""
    return {name if name.startswith("spark.") else f"spark.{name}": value for name, value in given.items()}
