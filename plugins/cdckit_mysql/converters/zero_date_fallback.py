"""Another value for dates that have a zero in them, and for NULL: Debezium's `ZeroDateFallbackConverter`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import UTC, date, datetime, timedelta
from typing import Any, ClassVar, Literal

from pydantic import Field, field_validator

from cdckit import ColumnConverter, ColumnDescription, NameList, PluginConfig, RegexList, Schema, logical, split_names
from cdckit.connector.include_lists import Matcher
from cdckit_mysql.values.temporal import TemporalForm, show_datetime, show_days, zoned_text

TargetType = Literal["DATE", "DATETIME", "TIMESTAMP"]
_TYPES: tuple[TargetType, ...] = ("DATE", "DATETIME", "TIMESTAMP")
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_FORMS: dict[str | None, TemporalForm] = {
    logical.DATE.name: "days",
    logical.CONNECT_DATE.name: "days",
    logical.TIMESTAMP.name: "ms",
    logical.CONNECT_TIMESTAMP.name: "ms",
    logical.MICRO_TIMESTAMP.name: "us",
    logical.NANO_TIMESTAMP.name: "ns",
}
_COLUMN_FALLBACK = r"column\..+\.fallback"


class ZeroDateFallbackConfig(PluginConfig):
    """What stands for dates with zeros."""

    target_types: NameList = "DATE,DATETIME,TIMESTAMP"
    """Types whose columns have another value."""
    selector: RegexList = ".*"
    """Columns: regular expressions that match a whole `database.table.column`."""
    fallback_date: str = ""
    """What a DATE becomes, such as `1970-01-01`; empty or `NULL`: null."""
    fallback_datetime: str = ""
    """What a DATETIME becomes, such as `1970-01-01 00:00:00`; empty or `NULL`: null."""
    fallback_timestamp: str = ""
    """What a TIMESTAMP becomes, such as `1970-01-01T00:00:00Z`; empty or `NULL`: null."""
    column_fallbacks: dict[str, str] = Field(default_factory=dict)
    """What one column becomes: `column.DATABASE.TABLE.COLUMN.fallback`."""

    patterns: ClassVar[Mapping[str, str]] = {_COLUMN_FALLBACK: "column_fallbacks"}

    @field_validator("target_types")
    @classmethod
    def _known_types(cls, text: str) -> str:
        unknown = [name for name in split_names(text) if name.upper() not in _TYPES]
        if unknown:
            raise ValueError(f"'{unknown[0]}' is no type of dates; known are {', '.join(_TYPES)}")
        return text.upper()

    @field_validator("fallback_date")
    @classmethod
    def _readable_date(cls, text: str) -> str:
        _moment("DATE", text)
        return text

    @field_validator("fallback_datetime")
    @classmethod
    def _readable_datetime(cls, text: str) -> str:
        _moment("DATETIME", text)
        return text

    @field_validator("fallback_timestamp")
    @classmethod
    def _readable_timestamp(cls, text: str) -> str:
        _moment("TIMESTAMP", text)
        return text

    def fallback(self, kind: TargetType, column: str) -> str:
        """The text of what stands for a column's zeros."""
        own = self.column_fallbacks.get(f"column.{column}.fallback")
        texts = {"DATE": self.fallback_date, "DATETIME": self.fallback_datetime, "TIMESTAMP": self.fallback_timestamp}
        return texts[kind] if own is None else own


class ZeroDateFallback(ColumnConverter):
    """Shows `fallback` where there is no date to show, and all others as they are."""

    takes_null: ClassVar[bool] = True

    def __init__(self, schema: Schema, fallback: Any) -> None:
        super().__init__(schema if fallback is not None else schema.as_optional())
        self._fallback = fallback

    def convert(self, value: Any) -> Any:
        """The value, or the fallback for None."""
        return self._fallback if value is None else value


def zero_date_fallback(config: ZeroDateFallbackConfig, column: ColumnDescription) -> ColumnConverter | None:
    """The converter of a column, or None where it is none of those chosen."""
    name = f"{column.data_collection}.{column.name}"
    kind = next((kind for kind in split_names(config.target_types) if kind == column.type_name), None)
    if kind not in _TYPES or not Matcher(config.selector)(name):
        return None
    moment = _moment(kind, config.fallback(kind, name))
    shown = None if moment is None else _shown(kind, moment, column.schema)
    return ZeroDateFallback(column.schema.replace(optional=False, default=None), shown)


def _moment(kind: TargetType, text: str) -> datetime | None:
    """A fallback as a moment in UTC, or None for null.

    Raises:
        ValueError: it is none.
    """
    if text.strip().upper() in ("", "NULL"):
        return None
    read, example = _READERS[kind]
    try:
        return read(text.strip())
    except ValueError:
        raise ValueError(f"'{text}' should look like {example}, or be NULL") from None


def _read_timestamp(text: str) -> datetime:
    found = datetime.fromisoformat(text)
    if found.tzinfo is None:
        raise ValueError(text)
    return found


_READERS: dict[TargetType, tuple[Callable[[str], datetime], str]] = {
    "DATE": (lambda text: datetime.combine(date.fromisoformat(text), datetime.min.time(), UTC), "1970-01-01"),
    "DATETIME": (lambda text: datetime.fromisoformat(text).replace(tzinfo=UTC), "1970-01-01 00:00:00"),
    "TIMESTAMP": (_read_timestamp, "1970-01-01T00:00:00Z"),
}


def _shown(kind: TargetType, moment: datetime, schema: Schema) -> Any:
    """The moment as the column's other values are shown."""
    us = (moment - _EPOCH) // timedelta(microseconds=1)
    if kind == "TIMESTAMP":
        return zoned_text(*divmod(us, 1_000_000))
    form = _FORMS.get(schema.name, "iso")
    return show_days(form)(us // 86_400_000_000) if kind == "DATE" else show_datetime(form, us)
