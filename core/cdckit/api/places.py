"""Options that are paths: relative ones begin in the pipeline file's folder, typed ones in the working directory."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, get_args

from pydantic import BeforeValidator
from pydantic.fields import FieldInfo

from cdckit.api.variables import Unresolved

_URL = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:/")
_CLIENT_FILES = re.compile(r"(override\.)?(.+\.)?(location|keytab|file)")
_NO_FILES = frozenset({"", "probe"})
"""What librdkafka takes in a path's place: `probe` looks for the system's certificates."""


class Typed(str):
    """A value from the command line: a relative path in it begins in the working directory, as in any other command."""

    __slots__ = ()


@dataclass(frozen=True, slots=True)
class Located:
    """Marks an option that is a path, of a file or a folder; URLs are left as they are.

    Attributes:
        listed: whether it is a list of paths, or a text with commas between them.
        as_url: whether a relative path becomes a `file:` URL, as Spark's default file system may be another one.
        members: for a collecting option, which of its members are paths.
    """

    listed: bool = False
    as_url: bool = False
    members: re.Pattern[str] | None = None

    def placed(self, value: Any, folder: Path) -> Any:
        """The value with its paths absolute."""
        if self.members is not None and isinstance(value, Mapping):
            return {
                name: self._one(item, folder) if self.members.fullmatch(name) else item for name, item in value.items()
            }
        if self.listed:
            items = value.split(",") if isinstance(value, str) else value
            return [self._one(_like(value, item), folder) for item in items] if isinstance(items, list) else value
        return self._one(value, folder)

    def _one(self, value: Any, folder: Path) -> Any:
        if not isinstance(value, str | Path) or isinstance(value, Unresolved):
            return value
        text = str(value).strip()
        if self.as_url and text.startswith("file:///"):
            return text.replace("file:///", "file:/", 1)  # the one form that Delta makes tables by
        if text in _NO_FILES or text[0] in "/~" or (_URL.match(text) and not isinstance(value, Path)):
            return value
        found = (Path.cwd() if isinstance(value, Typed) else folder.absolute()) / text
        return f"file:{found}" if self.as_url else str(found)


LocalPath = Annotated[str, Located()]
"""The path of a file or folder, or a URL."""
FolderUrl = Annotated[str, Located(as_url=True)]
"""A folder that Spark opens: a path or a URL."""


def on_this_machine(instead: str) -> BeforeValidator:
    """Marks an option that is a folder of this machine: a URL, which would be taken for a folder's name, is refused.

    Args:
        instead: what to do, for the message.
    """

    def checked(value: Any) -> Any:
        if isinstance(value, str) and _URL.match(value.strip()):
            raise ValueError(f"should be a folder of this machine, and no URL: {instead}")
        return value

    return BeforeValidator(checked)


ClientFiles = Located(members=_CLIENT_FILES)
"""Options of a Kafka client, some of which name files."""


def with_places(fields: Mapping[str, FieldInfo], options: Mapping[str, Any], folder: Path) -> dict[str, Any]:
    """Options by their names, defaults that are paths among them, with every relative path told from the folder."""
    placed = dict(options)
    for name, field in fields.items():
        mark = _mark(field)
        option = field.alias or name
        value = options.get(option, field.default if isinstance(field.default, str) else None)
        if mark is not None and value:
            placed[option] = mark.placed(value, folder)
    return placed


def _like(whole: Any, item: Any) -> Any:
    """A part of what was typed was typed."""
    return Typed(item) if isinstance(whole, Typed) else item


def _mark(field: FieldInfo) -> Located | None:
    parts = [*field.metadata, *_parts(field.annotation)]
    if any(part is Path for part in parts):
        return Located()
    return next((part for part in parts if isinstance(part, Located)), None)


def _parts(annotation: Any) -> Iterator[Any]:
    """What an annotation is made of."""
    yield annotation
    for part in get_args(annotation):
        yield from _parts(part)
