"""From a draft to a resolved pipeline: every component's options checked by its own model, all faults told at once."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from cdckit.config.draft import COMPONENTS, LISTED, Draft, Options
from cdckit.config.model import PluginConfig, did_you_mean
from cdckit.config.pipeline import Component, PipelineConfig, ResolvedPipeline, Step
from cdckit.config.variables import unresolved
from cdckit.errors import ConfigError
from cdckit.plugins import Kind, config_model, find

CHECKED_APART = ("source", "sink", "serializer", *LISTED)
STEP_OPTIONS = ("name", "predicate", "negate")


def resolve(draft: Draft) -> ResolvedPipeline:
    """The pipeline that a draft describes.

    Raises:
        ConfigError: with all that is wrong at once.
    """
    resolver = _Resolver(draft)
    pipeline = resolver.pipeline_options()
    sink = resolver.sink()
    source = resolver.source()
    serializer = resolver.component("serializer", "serializer", draft.options.get("serializer", {"type": "json"}))
    transforms = resolver.transforms()
    if pipeline is None or source is None or serializer is None or sink is None or resolver.problems:
        raise ConfigError(*resolver.problems)
    name = pipeline.name or getattr(source.config, "topic_prefix", None) or draft.fallback_name
    return ResolvedPipeline(
        name=name,
        runner=pipeline.runner,
        state=pipeline.state or Path("state", name),
        source=source,
        transforms=tuple(transforms),
        serializer=serializer,
        sink=sink,
        spark=_spark_settings(pipeline.spark),
        position_header=pipeline.position_header,
        offset_flush_interval_ms=pipeline.offset_flush_interval_ms,
        warnings=tuple(resolver.warnings),
    )


class _Resolver:
    def __init__(self, draft: Draft) -> None:
        self.draft = draft
        self.ignored = list(draft.ignored)
        self.warnings: list[str] = []
        self.problems = [
            *draft.problems,
            *(f"{draft.label(path)}: {problem}" for path, problem in unresolved(draft.options)),
        ]

    def pipeline_options(self) -> PipelineConfig | None:
        """The pipeline's own options, its components' left as they are."""
        own = {name: value for name, value in self.draft.options.items() if name not in CHECKED_APART}
        loaded: PipelineConfig | None = self._load(
            PipelineConfig, {"source": {}, **own}, "", elsewhere=self._options_of_source()
        )
        return loaded

    def source(self) -> Component | None:
        if "source" not in self.draft.options:
            self.problems.append("source: required, but not given; `type` under it names where changes are read")
            return None
        pipeline_wide = {name: name for name in PipelineConfig.option_names()}
        return self.component(
            "source", "source", self.draft.options["source"], elsewhere=pipeline_wide, ignored=self.ignored
        )

    def sink(self) -> Component | None:
        options = self.draft.options.get("sink", {"type": "stdout"})
        if isinstance(options, dict) and self.draft.sink_options:
            options = {**self._for_the_sink(options.get("type", "")), **options}
        return self.component("sink", "sink", options)

    def _for_the_sink(self, sink: str) -> Options:
        """What a connector's configuration says to the producer, as far as the sink knows it."""
        try:
            model = config_model(find("sink", sink))
        except ConfigError:
            return {}
        offered = self.draft.sink_options
        self.ignored += [name for name in offered if not model.knows(name)]
        return {name: value for name, value in offered.items() if model.knows(name)}

    def transforms(self) -> list[Step]:
        chain = self.draft.options.get("transforms", [])
        if not isinstance(chain, list):
            self.problems.append("transforms: must be a list; each item's `type` names a transform")
            return []
        predicates = self._predicates()
        steps = [self._step(f"transforms.{index}", options, predicates) for index, options in enumerate(chain)]
        return [step for step in steps if step is not None]

    def component(
        self,
        kind: Kind,
        path: str,
        options: Any,
        *,
        elsewhere: Mapping[str, str] | None = None,
        ignored: list[str] | None = None,
    ) -> Component | None:
        """A component with its options checked, or None after noting what is wrong."""
        where = self.draft.label(path)
        if not isinstance(options, dict) or not options.get("type"):
            named = f"{where}.type" if where else "type"
            self.problems.append(f"{named}: required, but not given; it names the {kind}")
            return None
        own = {name: value for name, value in options.items() if name != "type"}
        try:
            registration = find(kind, options["type"], f"{where}.type")
            model = config_model(registration)
        except ConfigError as error:
            self.problems += error.problems
            return None
        config = self._load(model, own, where, component=registration.name, elsewhere=elsewhere, ignored=ignored or ())
        return None if config is None else Component(registration, config)

    def _predicates(self) -> dict[str, Component | None]:
        named = self.draft.options.get("predicates", {})
        if not isinstance(named, dict):
            self.problems.append("predicates: must give each predicate a name; its `type` names the kind")
            return {}
        return {name: self.component("predicate", f"predicates.{name}", given) for name, given in named.items()}

    def _step(self, path: str, options: Any, predicates: Mapping[str, Component | None]) -> Step | None:
        given = options if isinstance(options, dict) else {}
        own = {name: value for name, value in given.items() if name not in STEP_OPTIONS}
        transform = self.component("transform", path, own)
        where = self.draft.label(path)
        predicate = self._predicate_of(where, given, predicates)
        negate = self._negate_of(where, given)
        if transform is None:
            return None
        return Step(given.get("name") or transform.registration.name, transform, predicate, negate)

    def _predicate_of(
        self, where: str, options: Options, predicates: Mapping[str, Component | None]
    ) -> Component | None:
        name = options.get("predicate")
        if name is not None and name not in predicates:
            hint = did_you_mean(name, predicates) or f" (there are: {', '.join(predicates) or 'none'})"
            self.problems.append(f"{where}.predicate: no predicate is called '{name}'{hint}")
        return predicates.get(name) if name else None

    def _negate_of(self, where: str, options: Options) -> bool:
        text = str(options.get("negate", "false")).strip().lower()
        if text not in ("true", "false"):
            self.problems.append(f"{where}.negate: should be true or false")
        if text == "true" and not options.get("predicate"):
            self.problems.append(f"{where}.negate: there is no {where}.predicate to negate; give one, or remove it")
        return text == "true"

    def _load(self, model: type[PluginConfig], options: Options, where: str, **how: Any) -> Any:
        try:
            config, warnings = model.load(options, where, **how)
        except ConfigError as error:
            self.problems += error.problems
            return None
        self.warnings += warnings
        return config

    def _options_of_source(self) -> dict[str, str]:
        """The options of the source, to tell who writes one at the top level where it belongs."""
        options = self.draft.options.get("source")
        try:
            model = config_model(find("source", options["type"])) if isinstance(options, dict) else PluginConfig
        except (ConfigError, KeyError):
            return {}
        names = {*model.option_names(), *model.renamed} - {*COMPONENTS, *LISTED}
        return {name: f"source.{name}" for name in names}


def _spark_settings(given: Mapping[str, str]) -> dict[str, str]:
    """Settings by their full names: `master` is short for `spark.master`."""
    return {name if name.startswith("spark.") else f"spark.{name}": value for name, value in given.items()}
