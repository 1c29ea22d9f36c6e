"""A pipeline as it was written: options by component, before any plugin has looked at them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from cdckit.api.places import Typed
from cdckit.api.variables import Unresolved, substitute
from cdckit.errors import ConfigError

Options = dict[str, Any]
COMPONENTS = ("source", "sink", "serializer", "spark")
STATE = "state"
"""A component whose options a text may stand for: the path of the store `file`."""
LISTED = ("transforms", "predicates")
SEPARATE_PARTS = ("key", "header")
"""The parts of a record that a serializer of their own may write."""


@dataclass(slots=True)
class RawPipeline:
    """Options in the shape of a pipeline file, whatever kind of file they come from.

    Attributes:
        options: the pipeline's own options, and under each component's name its options, all by dotted name.
        fallback_name: the pipeline's name where neither the file nor the source gives one.
        labels: what messages call a path, where that is not the path itself.
        sink_options: options that are the sink's if it knows them, unless its own say otherwise.
        ignored: options that mean nothing here.
        problems: what is wrong so far.
        placeholders: whether `${NAME}` may stay where the environment has no such name.
        folder: where relative paths begin.
    """

    options: Options
    fallback_name: str
    labels: dict[str, str] = field(default_factory=dict)
    sink_options: Options = field(default_factory=dict)
    ignored: list[str] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)
    placeholders: bool = False
    folder: Path = Path()

    def label(self, path: str) -> str:
        """What messages call the option at `path`."""
        for inner, outer in self.labels.items():
            if path == inner or path.startswith(f"{inner}."):
                return f"{outer}{path.removeprefix(inner)}".removeprefix(".")
        return path

    def set(self, assignment: str, environment: Mapping[str, str] | None = None) -> None:
        """Applies `KEY=VALUE`: KEY is an option's full path, such as `source.database.port`.

        Variables in VALUE are replaced as in the file, where an environment is given.

        Raises:
            ConfigError: it is no assignment, or names no option.
        """
        key, equals, text = assignment.partition("=")
        value = text if environment is None else substitute(text, environment, placeholders=self.placeholders)
        if not equals or not key:
            raise ConfigError(
                f"--set {key}: write it as KEY=VALUE, such as source.database.port=3307", number="CDC2104"
            )
        if not isinstance(value, Unresolved):
            value = Typed(value)
        first, _, rest = key.partition(".")
        if first in (*COMPONENTS, *LISTED) and not rest:
            raise ConfigError(f"--set {key}: name one of its options, such as {key}.{_EXAMPLES[key]}", number="CDC2104")
        if first == "transforms":
            number, _, option = rest.partition(".")
            self._transform(number, key)[option] = value
        elif first == "predicates":
            name, _, option = rest.partition(".")
            _options_under(_options_under(self.options, "predicates"), name)[option] = value
        elif first in COMPONENTS or (first == STATE and rest):
            _options_under(self.options, first)[rest] = value
        else:
            self.options[key] = value

    def _transform(self, number: str, key: str) -> Options:
        """The options of the transform at an index, or of that name in a connector's `transforms`; one may be added."""
        chain = self.options.setdefault("transforms", [])
        named = [int(path.removeprefix("transforms.")) for path, label in self.labels.items()
                 if label == f"transforms.{number}"]  # fmt: skip
        index = int(number) if number.isdecimal() else next(iter(named), len(chain) + 1)
        if index > len(chain):
            raise ConfigError(
                f"--set {key}: there is no transform '{number}'; the chain has {len(chain)}", number="CDC2104"
            )
        if index == len(chain):
            chain.append({})
        step: Options = chain[index]
        return step


_EXAMPLES = {
    "source": "topic.prefix=NAME",
    "sink": "type=stdout",
    "serializer": "schemas.enable=false",
    "spark": "master=local[2]",
    "transforms": "0.type=RegexRouter",
    "predicates": "NAME.type=TopicNameMatches",
}


def _options_under(options: Options, name: str) -> Options:
    found = options.get(name)
    if not isinstance(found, dict):
        found = options[name] = {}
    return found


def raw_pipeline(tree: Mapping[str, Any], fallback_name: str) -> RawPipeline:
    """The options of a pipeline file: nested mappings (TOML's dotted keys, for one) become dotted names."""
    options: Options = {}
    for name, value in tree.items():
        if name in (*COMPONENTS, STATE) and isinstance(value, dict):
            options[name] = dict(flatten(value))
        elif name == "transforms" and isinstance(value, list):
            options[name] = [dict(flatten(item)) if isinstance(item, dict) else item for item in value]
        elif name == "predicates" and isinstance(value, dict):
            options[name] = {
                key: dict(flatten(item)) if isinstance(item, dict) else item for key, item in value.items()
            }
        elif name in (*COMPONENTS, *LISTED):
            options[name] = value
        else:
            options.update(flatten({name: value}))
    return RawPipeline(options, fallback_name)


def state_options(options: Options) -> Options:
    """The options of the state store, `type` among them."""
    given = options.get(STATE)
    if isinstance(given, dict):
        return {"type": "file", **given}
    return {"type": "file"} if given is None else {"type": "file", "path": given}


def flatten(tree: Mapping[str, Any], prefix: str = "") -> Iterable[tuple[str, Any]]:
    """The members of nested mappings with their dotted names."""
    for name, value in tree.items():
        if isinstance(value, dict) and value:
            yield from flatten(value, f"{prefix}{name}.")
        else:
            yield f"{prefix}{name}", value
