"""TimezoneConverter: moments of change events in another time zone (Debezium's transform of that name)."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Annotated, Any, Literal, Self

from pydantic import AfterValidator, model_validator

from cdckit import NameList, PluginConfig, Record, Schema, Struct, Transform, TransformError, split_names
from cdckit.connector.envelope import is_envelope
from cdckit_transforms.envelope import AFTER, BEFORE, SOURCE
from cdckit_transforms.time_zones import UNSUPPORTED, Convert, converting, converting_of_source, zone_of

log = logging.getLogger(__name__)

_TOPIC = "topic"
_NO_FIELDS: frozenset[str] = frozenset()


@dataclass(slots=True)
class _Rules:
    """The fields that a list names, by topic, by table, and by what may be either; none: all of them."""

    topics: dict[str, set[str]] = field(default_factory=dict)
    tables: dict[str, set[str]] = field(default_factory=dict)
    either: dict[str, set[str]] = field(default_factory=dict)

    def fields(self, topic: str, table: str | None) -> frozenset[str] | None:
        """Those of a table's records; None where the list does not name it."""
        given = ((self.topics, topic), (self.tables, table), (self.either, topic), (self.either, table))
        return next((frozenset(names[name]) for names, name in given if name is not None and name in names), None)


def _rules(text: str) -> _Rules:
    """What a list means; an item without `source:` or `topic:` has that of the items before it.

    Raises:
        ValueError: an item is no rule.
    """
    rules, kind = _Rules(), ""
    for number, item in enumerate(split_names(text)):
        first, *rest = (part.strip() for part in item.split(":"))
        if not (rest or number) or not all((first, *rest)) or len(rest) > 2:
            raise ValueError(
                f"'{item}' should be source:TABLE, source:TABLE:FIELD, topic:TOPIC, topic:TOPIC:FIELD or NAME:FIELD"
            )
        named = bool(rest) and first.lower() in (SOURCE, _TOPIC)
        kind = first.lower() if named else kind
        name, *fields = rest if named else (first, *rest)
        held = {SOURCE: rules.tables, _TOPIC: rules.topics}.get(kind, rules.either)
        held.setdefault(name, set()).update(fields[:1])
    return rules


def _checked_zone(text: str) -> str:
    zone_of(text)
    return text


def _checked_rules(text: str) -> str:
    _rules(text)
    return text


RuleList = Annotated[NameList, AfterValidator(_checked_rules)]


class TimezoneConverterConfig(PluginConfig):
    """The zone, and what is converted."""

    converted_timezone: Annotated[str, AfterValidator(_checked_zone)]
    """The zone: a name such as `Europe/Berlin`, or an offset such as `+08:00`."""
    include_list: RuleList = ""
    """What is converted; by default the moments of all rows. Rules with commas between: `source:TABLE` or `topic:TOPIC`
    for all moments of a table's rows; `source:TABLE:FIELD`, `topic:TOPIC:FIELD` or `NAME:FIELD` for one of them, where
    FIELD may begin with `before.`, `after.` or `source.`. `source:` and `topic:` hold for the rules behind, too."""
    exclude_list: RuleList = ""
    """What is not converted, by such rules."""

    @model_validator(mode="after")
    def _one_list(self) -> Self:
        if self.include_list and self.exclude_list:
            raise ValueError("give include.list or exclude.list, not both")
        return self


@dataclass(frozen=True, slots=True)
class _Plan:
    """Which fields of a table's events are converted.

    Attributes:
        kind: `all` of them, those of `fields` (`include`), or the others (`exclude`).
        fields: of a rule, by their paths.
    """

    kind: Literal["all", "include", "exclude"]
    fields: frozenset[str] = _NO_FIELDS

    def of_part(self, part: str) -> frozenset[str]:
        """The fields that it names of the row before or after, or of the source block."""
        own = {name.removeprefix(f"{part}.") for name in self.fields if name.startswith(f"{part}.")}
        if part == SOURCE:
            return frozenset(own)
        prefixes = tuple(f"{other}." for other in (BEFORE, AFTER, SOURCE))
        return frozenset(own | {name for name in self.fields if not name.startswith(prefixes)})

    def means(self, part: str, name: str) -> bool:
        """Whether a field of a part is converted."""
        if part == SOURCE and not self.of_part(SOURCE):
            return False
        return self.kind == "all" or (name in self.of_part(part)) is (self.kind == "include")


Converts = tuple[tuple[int, Any, Convert], ...]
"""The fields that are converted: places, defaults, and how."""


class TimezoneConverter(Transform):
    """Change events whose moments are another zone's; everything else passes."""

    def __init__(self, config: TimezoneConverterConfig) -> None:
        self._zone = zone_of(config.converted_timezone)
        self._rules = _rules(config.include_list or config.exclude_list)
        self._list = "include" if config.include_list else "exclude" if config.exclude_list else ""
        self._plans: dict[tuple[str, str | None], _Plan | None] = {}

    def apply(self, record: Record) -> Record:
        """The record with other moments."""
        value = record.value
        if not isinstance(value, Struct) or not is_envelope(value.schema):
            return record
        key = (record.topic, _table(value))
        if key not in self._plans:
            self._plans[key] = self._plan(*key)
        plan = self._plans[key]
        return record if plan is None else record.replace(value=self._converted(value, plan))

    def _plan(self, topic: str, table: str | None) -> _Plan | None:
        """What is done with a table's events; None: nothing."""
        if not self._list:
            return _Plan("all")
        fields = self._rules.fields(topic, table)
        if self._list == "include":
            return None if fields is None else _Plan("include", fields) if fields else _Plan("all")
        return _Plan("all") if fields is None else _Plan("exclude", fields) if fields else None

    def _converted(self, value: Struct, plan: _Plan) -> Struct:
        known: dict[str, Converts] | None = value.schema.derived.get((self, plan))
        if known is None:
            known = value.schema.derived[self, plan] = dict(self._converts(value.schema, plan))
        values = list(value.values)
        for part, converts in known.items():
            at = value.schema.index[part]
            if values[at] is not None:
                values[at] = _with(values[at], converts, part)
        return Struct(value.schema, tuple(values))

    def _converts(self, schema: Schema, plan: _Plan) -> Iterator[tuple[str, Converts]]:
        """The fields of each part that are converted."""
        for part in (BEFORE, AFTER, SOURCE):
            inner = schema.field(part).schema if part in schema.index else None
            if inner is not None and inner.type == "struct":
                found = tuple(self._fields(schema, inner, part, plan))
                if found:
                    yield part, found

    def _fields(self, schema: Schema, inner: Schema, part: str, plan: _Plan) -> Iterator[tuple[int, Any, Convert]]:
        for member in inner.fields:
            if not plan.means(part, member.name):
                continue
            if member.schema.name in UNSUPPORTED and part == AFTER:
                log.warning("%s: %s has no zone, field '%s' is left", schema.name, member.schema.name, member.name)
            convert = (
                converting_of_source(member.name, member.schema, self._zone)
                if part == SOURCE
                else converting(member.schema, self._zone)
            )
            if convert is not None:
                yield member.index, member.schema.default, convert


def _table(value: Struct) -> str | None:
    source = value.get(SOURCE)
    found = source.get("table") if isinstance(source, Struct) else None
    return found if isinstance(found, str) else None


def _with(struct: Struct, converts: Converts, part: str) -> Struct:
    values = list(struct.values)
    for at, default, convert in converts:
        value = default if values[at] is None else values[at]
        if value is not None:
            try:
                values[at] = convert(value)
            except ValueError as error:
                name = struct.schema.fields[at].name
                raise TransformError(f"field '{part}.{name}' cannot be converted: {error}") from error
    return Struct(struct.schema, tuple(values))
