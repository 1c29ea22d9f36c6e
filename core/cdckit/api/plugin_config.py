"""The base of every plugin's config model: options by Debezium's names, with old names and pass-through."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, ClassVar, Literal, Self, get_args, get_origin

from pydantic import BaseModel, ConfigDict, ValidationError, ValidationInfo, field_validator
from pydantic_core import ErrorDetails

from cdckit.api.dataset import Dataset
from cdckit.api.ignored_options import IgnoredOptions
from cdckit.api.lists import listed, split_names
from cdckit.api.places import with_places
from cdckit.api.variables import Unresolved
from cdckit.errors import ConfigError, Problem

_PLAIN_WORDS = {
    "int_type": "should be a whole number",
    "int_parsing": "should be a whole number",
    "int_from_float": "should be a whole number",
    "int_parsing_size": "should be a number of fewer digits",
    "float_type": "should be a number",
    "float_parsing": "should be a number",
    "bool_type": "should be true or false",
    "bool_parsing": "should be true or false",
    "string_type": "should be a text",
    "path_type": "should be a path",
    "list_type": "should be a list",
    "dict_type": "should hold options (`name: value`)",
    "model_type": "should hold options (`name: value`)",
}
"""What is said of pydantic's kinds of faults whose own words are a programmer's."""

_BEHIND_A_SECRET = re.compile(r"(password|passphrase|secret|connection\.string)[^._-].*", re.DOTALL)
"""In a name: what may be the secret itself, where the sign between them is missing."""
_LARGEST = 2**63 - 1
_LONGEST_MS = 2**31 - 1
"""What a socket can wait, just under 25 days."""


def dotted(name: str) -> str:
    """`database_hostname` as an option's name: `database.hostname`."""
    return name.replace("_", ".")


class PluginConfig(BaseModel):
    """Options of one component. A field `a_b` is the option `a.b`; its docstring is the option's description.

    A field whose type is a dict collects the options that begin with its name. A subclass names what else may stand
    in a user's file in the class variables.
    """

    model_config = ConfigDict(
        extra="forbid",
        frozen=True,
        populate_by_name=False,
        defer_build=True,
        alias_generator=dotted,
        hide_input_in_errors=True,
        arbitrary_types_allowed=True,
        coerce_numbers_to_str=True,
        protected_namespaces=(),
    )

    renamed: ClassVar[Mapping[str, str]] = {}
    """Old option names and what they are called now."""
    stand_ins: ClassVar[Mapping[str, str]] = {}
    """Other systems' options, and the option that each one sets unless that is given itself."""
    patterns: ClassVar[Mapping[str, str]] = {}
    """Regular expressions of option names, and the field (a dict of name to value) that collects them."""
    named: ClassVar[Mapping[str, str]] = {}
    """Options that list names, and the field (a dict) that collects the options which begin with one of the names."""
    passed_over: ClassVar[tuple[str, ...]] = ()
    """Regular expressions of options that are known and mean nothing here: one warning lists them."""
    ignored_options: ClassVar[tuple[IgnoredOptions, ...]] = ()
    """The same with a reason, which the warning tells; some of them are refused unless their value changes nothing."""
    peer_options: ClassVar[Mapping[str, str]] = {}
    """The options of the connector that this component stands for, with its defaults: docs tell what they are here."""
    for_the_serializer: ClassVar[Mapping[str, str]] = {}
    """Of a sink: the serializer's options, as far as it has them, where a pipeline does not say otherwise."""
    headers_by: ClassVar[str] = ""
    """Of a serializer: the one that writes headers where a pipeline does not say; "": it does so itself."""
    apart: ClassVar[tuple[str, ...]] = ("key", "header")
    """Of a serializer: the parts of a record that it can write where another one writes values."""
    of_the_worker: ClassVar[Mapping[str, str]] = {}
    """Of a state store: regular expressions of options that Kafka Connect's worker has for it beside
    `offset.storage.*`, and what begins the names of its own that they set."""
    not_yet: ClassVar[Mapping[str, str | None]] = {}
    """Known options that are not supported yet, and the one value (the default) that is allowed."""
    not_yet_patterns: ClassVar[tuple[str, ...]] = ()
    """Regular expressions of more of them, which have no default."""
    identifying: ClassVar[tuple[str, ...]] = ()
    """Of a source or sink: the fields that say which one it is. An offset that was saved for others is not gone on
    from (`cdckit.engine.state.made_for`), so they hold no secrets."""
    asked: ClassVar[tuple[str, ...]] = ()
    """The fields that `cdc init` asks for, besides those that are required; `FIELD.NAME` is one of the options that a
    field has below its name."""

    @field_validator("*")
    @classmethod
    def _within_reason(cls, value: Any, info: ValidationInfo) -> Any:
        """Numbers fit where they are used: into 64 bits, milliseconds into what a socket can wait."""
        if isinstance(value, int | float):
            largest = _LONGEST_MS if (info.field_name or "").endswith("_ms") else _LARGEST
            if not -largest <= value <= largest:
                raise ValueError(f"should be a number up to {largest}")
        return value

    def __init_subclass__(cls, **more: Any) -> None:
        """A model made of several has what they all name."""
        super().__init_subclass__(**more)
        for attribute in ("renamed", "stand_ins", "patterns", "named"):
            merged: dict[str, str] = {}
            for base in reversed(cls.__mro__):
                merged |= base.__dict__.get(attribute, {})
            setattr(cls, attribute, merged)

    @classmethod
    def load(
        cls,
        options: Mapping[str, Any],
        where: str,
        *,
        component: str = "",
        elsewhere: Mapping[str, str] | None = None,
        ignored: Iterable[str] = (),
        folder: Path | None = None,
    ) -> tuple[Self, list[str]]:
        """Validates `options`.

        Args:
            options: values by option name; a mapping stands for the options that begin with its name.
            where: the path before each option's name in messages (`source`, `sink` …), or "".
            component: what `cdc describe` knows the component by, for messages.
            elsewhere: options which users misplace here, and the path of each one's right place.
            ignored: more options without meaning, for the one warning that lists them.
            folder: where relative paths begin that were not typed; None: they stay as they are.

        Returns:
            the config and the warnings.

        Raises:
            ConfigError: with all that is wrong at once.
        """
        sorter = _Sorter(cls, where, component, elsewhere or {})
        sorter.note_names(options)
        sorter.sort_all(options)
        sorter.take_stand_ins()
        sorter.ignored += ignored
        if folder is not None:
            sorter.taken = with_places(cls.model_fields, sorter.taken, folder)
        try:
            config = cls.model_validate(sorter.taken)
        except ValidationError as error:
            config = sorter.without_unresolved(error)
        if sorter.problems:
            raise ConfigError(*sorter.problems)
        return config, sorter.warnings(config.remarks())

    @classmethod
    def advice(cls, given: Mapping[str, str]) -> list[str]:
        """What a user should be told of the options that he gave, one sentence each.

        Args:
            given: the name under which the user gave each option, by its present name.
        """
        return []

    def remarks(self) -> list[str]:
        """What a user should be told of the values that the options have, one sentence each."""
        return []

    def not_on_spark(self) -> dict[str, str]:
        """The options whose values cannot be kept while several workers read, and why and what to do instead."""
        return {}

    def tail_sink(self) -> Mapping[str, Any] | None:
        """Of a sink that Spark writes: the options, `type` among them, of one that keeps the same tables without it.

        A direct process goes on with that one where the pipeline has `tail: direct`. None by default: there is none.

        Raises:
            ConfigError: there is, but not for these options; the message says which, and what to do.
        """
        return None

    def dataset(self, name: str) -> Dataset | None:
        """Where a table of a source, or what a sink makes of a topic, is, as OpenLineage names it.

        Not known by default: then it is named after the component.

        Args:
            name: of the table (`database.table`), or of the topic.
        """
        return None

    def identity(self) -> dict[str, str | list[str]]:
        """What identifies the source or target, by option; what is not set is left out."""
        found = {dotted(name): getattr(self, name) for name in self.identifying}
        return {name: str(value) for name, value in found.items() if value is not None}

    def broker_settings(self) -> Mapping[str, str] | None:
        """Of a sink that writes to Kafka: what any client of librdkafka's is told to reach the same brokers."""
        return None

    @classmethod
    def present_name(cls, name: str) -> str:
        """What an option of another name is called here; the name itself where it is none."""
        return cls.renamed.get(name) or cls.stand_ins.get(name, name)

    @classmethod
    def option_names(cls) -> list[str]:
        """Every option's present name."""
        return [field.alias or dotted(name) for name, field in cls.model_fields.items()]

    @classmethod
    def knows(cls, name: str) -> bool:
        """Whether an option of this name means anything to the component, be it only that it is passed over."""
        return placement(cls, cls.present_name(name)) is not None


def placement(model: type[PluginConfig], name: str) -> Placement:
    """Where an option of this present name belongs, or None where the model has no such option."""
    return _Sorter(model, "", "", {}).place(name)


Placement = str | tuple[str, str, str] | IgnoredOptions | None
"""`option`; `member` with the field that collects it and its key there; `not yet`; `passed over`; a reason."""


class _Sorter:
    """Puts each given option where it belongs: a field, a pattern's field, the warning, or the problems."""

    def __init__(self, model: type[PluginConfig], where: str, component: str, elsewhere: Mapping[str, str]) -> None:
        self.model = model
        self.where = where
        self.component = component
        self.elsewhere = elsewhere
        self.collected = {dotted(field) for field in (*model.patterns.values(), *model.named.values())}
        self.known = set(model.option_names()) - self.collected
        self.mappings = {
            field.alias or dotted(name)
            for name, field in model.model_fields.items()
            if get_origin(field.annotation) is dict
        } - self.collected
        self.choices = {
            field.alias or dotted(name): {str(choice).lower(): choice for choice in get_args(field.annotation)}
            for name, field in model.model_fields.items()
            if get_origin(field.annotation) is Literal
        }
        self.names: dict[str, str] = {}
        self.taken: dict[str, Any] = {}
        self.given_as: dict[str, str] = {}
        self.ignored: list[str] = []
        self.meaningless: dict[str, list[str]] = {}
        self.old: list[tuple[str, str]] = []
        self.stand_ins: dict[str, Any] = {}
        self.problems: list[str] = []

    def note_names(self, options: Mapping[str, Any]) -> None:
        """Looks for the names that options list; what begins with one of them belongs to it."""
        for option, field in self.model.named.items():
            self.names |= dict.fromkeys(split_names(listed(options.get(option, ""))), dotted(field))

    def sort_all(self, options: Mapping[str, Any], prefix: str = "") -> None:
        for part, value in options.items():
            name = f"{prefix}{part}"
            if isinstance(value, Mapping) and value and name not in self.known:
                self.sort_all(value, f"{name}.")
            else:
                self.sort(name, value)

    def take_stand_ins(self) -> None:
        """Takes what stands for another option, where that is not given."""
        for name, value in self.stand_ins.items():
            now = self.model.stand_ins[name]
            if now in self.taken:
                self.meaningless.setdefault(f"{self.given_as[now]} is given", []).append(name)
            else:
                self._take(now, name, value)

    def sort(self, name: str, value: Any) -> None:
        if name in self.model.stand_ins:
            self.stand_ins[name] = value
            return
        now = self.model.renamed.get(name, name)
        if now != name:
            self.old.append((name, now))
        match self.place(now):
            case "option":
                self._take(now, name, value)
            case "member", field, key:
                self.taken.setdefault(field, {})[key] = value
            case IgnoredOptions() as found if not (found.anyones and self._is_misspelt(name)):
                self._ignored_option(found, name, value)
            case "not yet":
                self._refuse_unless_default(now, name, value)
            case "passed over":
                self.ignored.append(name)
            case _:
                shown = _BEHIND_A_SECRET.sub(r"\1…", name)
                self._fault("CDC2201", f"{self._path(shown)}: unknown option{self._meant(name)}")

    def place(self, name: str) -> Placement:
        """Where an option of this present name belongs, or None where there is no such option."""
        if name in self.known:
            return "option"
        for pattern, field in self.model.patterns.items():
            if re.fullmatch(pattern, name):
                return "member", dotted(field), name
        for own, field in self.names.items():
            if name.startswith(f"{own}."):
                return "member", field, name
        for mapping in self.mappings:
            if name.startswith(f"{mapping}."):
                return "member", mapping, name.removeprefix(f"{mapping}.")
        return self._without_place(name)

    def _without_place(self, name: str) -> Placement:
        """What is said of an option that no field takes."""
        for group in self.model.ignored_options:
            if group.means(name):
                return group
        if name in self.model.not_yet or _matches(name, self.model.not_yet_patterns):
            return "not yet"
        return "passed over" if _matches(name, self.model.passed_over) else None

    def _take(self, now: str, name: str, value: Any) -> None:
        if now in self.taken:
            other = self.given_as.get(now, now)
            self._fault("CDC2203", f"{self._path(name)}: the same option is already given as '{other}'; keep one")
            return
        choices = self.choices.get(now, {})  # Debezium reads its choices whatever the case is
        self.taken[now] = choices.get(value.lower(), value) if isinstance(value, str) else value
        self.given_as[now] = name

    def _ignored_option(self, group: IgnoredOptions, name: str, value: Any) -> None:
        changes_nothing = group.takes(value)
        if group.refused and not changes_nothing:
            self._fault("CDC2205", f"{self._path(name)}: {group.why}")
        elif group.taken is None or not changes_nothing:
            self.meaningless.setdefault(group.why, []).append(name)

    def _refuse_unless_default(self, now: str, name: str, value: Any) -> None:
        default = self.model.not_yet.get(now)
        if _text(value) == (default or "").lower():
            return
        allowed = f" (only its default, '{default}', is)" if default else ""
        self._fault("CDC2205", f"{self._path(name)}: not yet supported{allowed}; remove it")

    def _fault(self, number: str, said: str) -> None:
        self.problems.append(Problem(said, number))

    def _is_misspelt(self, name: str) -> bool:
        """Whether the last part of a name is close to that of an option."""
        before, _, last = name.rpartition(".")
        begun = f"{before}."
        others = [known.removeprefix(begun) for known in self._candidates() if known.startswith(begun)]
        return bool(did_you_mean(last, others))

    def _candidates(self) -> list[str]:
        return [*self.known, *self.model.renamed, *self.model.not_yet]

    def _meant(self, name: str) -> str:
        if name in self.elsewhere:
            return f"; it belongs at '{self.elsewhere[name]}'"
        candidates = self._candidates()
        for meant in (name, name.rpartition(".")[0], name.partition(".")[0]):
            if hint := did_you_mean(meant, candidates):
                return hint
        return f"; `cdc describe {self.component}` lists what there is" if self.component else ""

    def _path(self, name: str) -> str:
        return f"{self.where}.{name}" if self.where else name

    def warnings(self, remarks: Iterable[str]) -> list[str]:
        said = []
        at = f"{self.where}: " if self.where else ""
        left_out = [", ".join(sorted(self.ignored))] if self.ignored else []
        left_out += [f"{', '.join(sorted(names))} ({why})" for why, names in self.meaningless.items()]
        if left_out:
            said.append(f"{at}options without meaning here, left out: {'; '.join(left_out)}")
        if self.old:
            pairs = ", ".join(f"{old} (now {now})" for old, now in self.old)
            said.append(f"{at}old option names: {pairs}")
        return said + [at + sentence for sentence in (*self.model.advice(self.given_as), *remarks)]

    def without_unresolved(self, error: ValidationError) -> Any:
        """What the options are without those whose variables have no value, which is told by itself.

        Raises:
            ConfigError: something else is wrong, too.
        """
        if problems := [*self.problems, *self.explain(error)]:
            raise ConfigError(*problems)
        for fault in error.errors(include_url=False):
            self.taken.pop(str(fault["loc"][0]), None)
        try:
            return self.model.model_validate(self.taken)
        except ValidationError:
            raise ConfigError from None

    def explain(self, error: ValidationError) -> list[str]:
        """Pydantic's findings as sentences that name the option as the user wrote it."""
        return [self._sentence(fault) for fault in error.errors(include_url=False) if not _told_elsewhere(fault)]

    def _sentence(self, fault: ErrorDetails) -> str:
        name, *inside = (str(part) for part in fault["loc"]) if fault["loc"] else ("",)
        option = ".".join(inside if name in self.collected else (self.given_as.get(name, name), *inside))
        path = (self._path(option) if option else self.where) or "the file"
        number = "CDC2202" if fault["type"] == "missing" else "CDC2203"
        return Problem(f"{path}: {_fault_text(fault)}", number)


def _matches(name: str, patterns: Iterable[str]) -> bool:
    return any(re.fullmatch(pattern, name) for pattern in patterns)


def _told_elsewhere(fault: ErrorDetails) -> bool:
    """Whether the value is wrong only since a variable in it has no value, which is told by itself."""
    return isinstance(fault["input"], Unresolved)


def _fault_text(fault: ErrorDetails) -> str:
    """What is wrong; never the value, which may be a secret, unless it is a choice from a list."""
    if fault["type"] == "missing":
        return "required, but not given"
    if fault["type"] == "literal_error":
        choices = fault["ctx"]["expected"]
        hint = did_you_mean(str(fault["input"]), re.findall(r"'([^']*)'", choices))
        return f"should be {choices}, not '{fault['input']}'{hint}"
    if fault["type"] in _PLAIN_WORDS:
        return _PLAIN_WORDS[fault["type"]]
    return fault["msg"].removeprefix("Value error, ").removeprefix("Input ").removeprefix("String ")


def did_you_mean(name: str, candidates: Iterable[str]) -> str:
    """`; did you mean 'x'?` with the closest candidate, or "" where none is close."""
    known = {candidate.lower(): candidate for candidate in candidates}
    close = difflib.get_close_matches(name.lower(), known, n=1, cutoff=0.7)
    return f"; did you mean '{known[close[0]]}'?" if close else ""


def _text(value: Any) -> str:
    return "" if value is None else str(value).strip().lower()
