"""The options of EventRouter."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Literal, Self, get_args

from pydantic import AfterValidator, BeforeValidator, model_validator

from cdckit import PluginConfig
from cdckit.java.regex import JavaRegex
from cdckit.java.regex.topic_rewrite import TopicRewrite

Where = Literal["header", "envelope", "partition"]


@dataclass(frozen=True, slots=True)
class Placement:
    """A column of the outbox table that goes with the event.

    Attributes:
        column: its name.
        where: into the headers, beside the payload, or what the record's partition is.
        alias: what it is called there.
    """

    column: str
    where: Where
    alias: str

    @classmethod
    def parse(cls, text: str) -> Placement:
        """The placement that `COLUMN:WHERE` or `COLUMN:WHERE:ALIAS` means.

        Raises:
            ValueError: it is neither.
        """
        column, *rest = (part.strip() for part in text.split(":"))
        if not column or len(rest) not in (1, 2) or not all(rest):
            raise ValueError(f"'{text}' should be COLUMN:WHERE or COLUMN:WHERE:ALIAS")
        for where in get_args(Where):
            if rest[0].lower() == where:
                return cls(column, where, rest[-1] if len(rest) == 2 else column)
        raise ValueError(f"'{text}': should be placed in {', '.join(get_args(Where))}, not '{rest[0]}'")


def parse_placements(text: str) -> tuple[Placement, ...]:
    """The placements of a comma-separated list.

    Raises:
        ValueError: an item is none.
    """
    return tuple(Placement.parse(item) for item in text.split(",") if item.strip())


def _joined(value: Any) -> Any:
    return ",".join(map(str, value)) if isinstance(value, (list, tuple)) else value


def _checked(text: str) -> str:
    parse_placements(text)
    return text


def _folded(value: Any) -> Any:
    """Debezium takes its choices in any case, with blanks around."""
    return value.strip().lower() if isinstance(value, str) else value


Placements = Annotated[str, BeforeValidator(_joined), AfterValidator(_checked)]


class EventRouterConfig(PluginConfig):
    """Which columns the outbox table has, and what becomes of them."""

    table_field_event_id: str = "id"
    """The column with the event's unique id, which goes into the header `id`."""
    table_field_event_key: str = "aggregateid"
    """The column that becomes the record's key; empty: records have no key."""
    table_field_event_payload: str = "payload"
    """The column that becomes the record's value."""
    table_field_event_timestamp: str = ""
    """A column with a timestamp that becomes the record's; else, and where it is null, the time of capture."""
    table_field_event_schema_version: str = ""
    """A column with a whole number that becomes the version of the value's schema, where the value is a struct of the
    payload and other columns.
    """
    table_fields_additional_placement: Placements = ""
    """More columns that go with the event: a comma-separated list of `COLUMN:WHERE` or `COLUMN:WHERE:ALIAS`.

    `header` puts the column into a header, `envelope` beside the payload (the value is then a struct with the payload
    in its field `payload`), `partition` makes it the record's partition.
    """
    table_field_additional_missing: Annotated[Literal["error", "ignore"], BeforeValidator(_folded)] = "error"
    """What to do where the table lacks such a column."""
    table_expand_json_payload: bool = False
    """Whether a payload of JSON text becomes a struct or a list; what is no JSON is left as it is, with a warning."""
    table_json_payload_null_behavior: Annotated[Literal["ignore", "optional_bytes"], BeforeValidator(_folded)] = (
        "ignore"
    )
    """What becomes of a null in expanded JSON: it is left out, or it is a null in a field of optional bytes."""
    table_op_invalid_behavior: Annotated[Literal["warn", "error", "fatal"], BeforeValidator(_folded)] = "warn"
    """What to do with a change that an outbox should not see, such as an UPDATE: leave it out with a warning or with an
    error in the log, or stop.
    """
    route_by_field: str = "aggregatetype"
    """The column that says where the event goes."""
    route_topic_regex: JavaRegex = "(?<routedByValue>.*)"
    """A Java regular expression that the whole of that column's text must match; otherwise it is itself the topic."""
    route_topic_replacement: str = "outbox.event.${routedByValue}"
    """The topic; `$1` and `${name}` stand for what the regex's groups matched."""
    route_tombstone_on_empty_payload: bool = False
    """Whether an event whose payload is null or blank becomes a tombstone."""

    passed_over: ClassVar[tuple[str, ...]] = (r"table\.field\.event\.type", r"tracing\..*")

    @model_validator(mode="after")
    def _replacement_fits(self) -> Self:
        TopicRewrite(self.route_topic_regex, self.route_topic_replacement)
        return self

    @property
    def placements(self) -> tuple[Placement, ...]:
        """The additional columns."""
        return parse_placements(self.table_fields_additional_placement)
