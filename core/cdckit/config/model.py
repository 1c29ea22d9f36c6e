"""The base of every plugin's config model: options by Debezium's names, with old names, patterns and pass-through."""

from __future__ import annotations

import difflib
import re
from collections.abc import Mapping
from typing import Any, ClassVar, Self

from pydantic import BaseModel, ConfigDict, ValidationError

from cdckit.errors import ConfigError


def dotted(name: str) -> str:
    """`database_hostname` as an option's name: `database.hostname`."""
    return name.replace("_", ".")




class PluginConfig(BaseModel):
    """Options of one component. A field `a_b` is the option `a.b`; its docstring is the option's description.

    A subclass names what else may stand in a user's file in the class variables.
    """

    model_config = ConfigDict(
        extra="forbid",
        frozen=True,
        populate_by_name=False,
        use_attribute_docstrings=True,
        alias_generator=dotted,
        hide_input_in_errors=True,
        arbitrary_types_allowed=True,
    )

    renamed: ClassVar[Mapping[str, str]] = {}
    """Old option names and what they are called now."""
    patterns: ClassVar[Mapping[str, str]] = {}
    """Regular expressions of option names, and the field (a dict of option name to value) that collects them."""
    passed_over: ClassVar[tuple[str, ...]] = ()
    """Regular expressions of options that are known and mean nothing here: one warning lists them."""
    not_yet: ClassVar[Mapping[str, str | None]] = {}
    """Known options that are not supported yet, and the one value (the default) that is allowed all the same."""

    @classmethod
    def load(cls, options: Mapping[str, Any], where: str) -> tuple[Self, list[str]]:
        """Validates `options`; `where` is the path before each option's name in messages (`source`, `sink` …).

        Returns:
            the config and the warnings.

        Raises:
            ConfigError: with all that is wrong at once.
        """
        sorter = _Sorter(cls, where)
        for name, value in options.items():
            sorter.sort(name, value)
        try:
            config = cls.model_validate(sorter.taken)
        except ValidationError as error:
            raise ConfigError(*sorter.problems, *_sentences(error, where)) from None
        if sorter.problems:
            raise ConfigError(*sorter.problems)
        return config, sorter.warnings()

    @classmethod
    def option_names(cls) -> list[str]:
        """Every option's present name."""
        return [field.alias or dotted(name) for name, field in cls.model_fields.items()]


class _Sorter:
    """Puts each given option where it belongs: a field, a pattern's field, the warning, or the problems."""

    def __init__(self, model: type[PluginConfig], where: str) -> None:
        self.model = model
        self.where = where
        self.known = set(model.option_names()) - set(model.patterns.values())
        self.taken: dict[str, Any] = {}
        self.given_as: dict[str, str] = {}
        self.ignored: list[str] = []
        self.old: list[tuple[str, str]] = []
        self.problems: list[str] = []

    def sort(self, name: str, value: Any) -> None:
        now = self.model.renamed.get(name, name)
        if now != name:
            self.old.append((name, now))
        if now in self.known:
            self._take(now, name, value)
        elif (field := self._pattern_field(now)) is not None:
            self.taken.setdefault(dotted(field), {})[now] = value
        elif now in self.model.not_yet:
            self._refuse_unless_default(now, name, value)
        elif any(re.fullmatch(pattern, now) for pattern in self.model.passed_over):
            self.ignored.append(name)
        else:
            self.problems.append(f"{self._path(name)}: unknown option{self._meant(name)}")

    def _take(self, now: str, name: str, value: Any) -> None:
        if now in self.taken:
            other = self.given_as[now]
            self.problems.append(f"{self._path(name)}: the same option is already given as '{other}'; keep one")
            return
        self.taken[now] = value
        self.given_as[now] = name

    def _pattern_field(self, name: str) -> str | None:
        return next((field for p, field in self.model.patterns.items() if re.fullmatch(p, name)), None)

    def _refuse_unless_default(self, now: str, name: str, value: Any) -> None:
        default = self.model.not_yet[now]
        if _text(value) == (default or ""):
            return
        allowed = f" (only its default, '{default}', is)" if default else ""
        self.problems.append(f"{self._path(name)}: not yet supported{allowed}; remove it")

    def _meant(self, name: str) -> str:
        candidates = [*self.known, *self.model.renamed, *self.model.not_yet]
        close = difflib.get_close_matches(name, candidates, n=1, cutoff=0.75)
        return f"; did you mean '{close[0]}'?" if close else f"; `cdc describe` lists the options of a {self.where}"

    def _path(self, name: str) -> str:
        return f"{self.where}.{name}" if self.where else name

    def warnings(self) -> list[str]:
        said = []
        if self.ignored:
            said.append(f"options without meaning here, left out: {', '.join(sorted(self.ignored))}")
        if self.old:
            pairs = ", ".join(f"{old} (now {now})" for old, now in self.old)
            said.append(f"old option names: {pairs}")
        return said


def _text(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    return "" if value is None else str(value)


def _sentences(error: ValidationError, where: str) -> list[str]:
    """Pydantic's findings as sentences that name the option; never the value, which may be a secret."""
    found = []
    for fault in error.errors(include_url=False, include_context=False, include_input=False):
        name = ".".join(str(part) for part in fault["loc"])
        path = f"{where}.{name}" if where and name else (name or where)
        message = "required, but not given" if fault["type"] == "missing" else fault["msg"]
        found.append(f"{path}: {message.removeprefix('Value error, ')}")
    return found
