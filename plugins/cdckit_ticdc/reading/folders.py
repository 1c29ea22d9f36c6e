"""Folders of files: on this machine, or in an object store through PyArrow's file systems."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import parse_qsl, urlsplit

from cdckit import ConfigError, RetriableSourceError, SourceError
from cdckit.waiting import answer_of

_SECRET = re.compile(r"secret|token|password|access.?key|account.?key", re.I)
_FOR_GOOD = re.compile(r"ACCESS_DENIED|NO_SUCH_BUCKET|INVALID_ACCESS_KEY_ID|SIGNATURE_DOES_NOT_MATCH|PERMISSION_DENIED")
"""What Arrow says of faults that asking again does not mend."""
_STORES = {"s3": "S3FileSystem", "gs": "GcsFileSystem", "gcs": "GcsFileSystem"}
"""Arrow's file systems that take options, by the URL's scheme."""


class StoredFile(NamedTuple):
    """A file below the folder, by its path from there."""

    path: str
    size: int


class Folder(ABC):
    """A folder, whose files are there whole or not at all.

    Raises:
        SourceError: it is not there, or may not be read; a `RetriableSourceError` where it is away for the moment.
    """

    @abstractmethod
    def files(self) -> list[StoredFile]:
        """All files below it."""

    @abstractmethod
    def content(self, path: str) -> bytes:
        """A file's content."""


class LocalFolder(Folder):
    """A folder on this machine."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def files(self) -> list[StoredFile]:
        """All files below it."""
        if not self._path.is_dir():
            raise SourceError(f"source.storage.url: there is no folder {self._path}", number="CDC3401")
        try:
            found = (path for path in self._path.rglob("*") if path.is_file())
            return [StoredFile(path.relative_to(self._path).as_posix(), path.stat().st_size) for path in found]
        except OSError as error:
            raise RetriableSourceError(
                f"source.storage.url: the files cannot be listed: {error}", number="CDC3402"
            ) from error

    def content(self, path: str) -> bytes:
        """A file's content."""
        try:
            return (self._path / path).read_bytes()
        except OSError as error:
            raise RetriableSourceError(
                f"source.storage.url: {path} cannot be read: {error}", number="CDC3402"
            ) from error


class ObjectStore(Folder):
    """A folder in an object store.

    Args:
        url: where it is.
        options: of Arrow's file system for the store; what they leave out comes from the environment, as the store's
            own clients have it.

    Raises:
        ConfigError: PyArrow is not installed, knows no such store, or no such option.
    """

    def __init__(self, url: str, options: Mapping[str, str]) -> None:
        self._url = url
        self._secrets = [value for name, value in options.items() if value and _SECRET.search(name)]
        try:
            from pyarrow import fs  # noqa: PLC0415 - an extra's

            self._fs: Any = fs
            self._store, root = answer_of(lambda: _opened(fs, url, options))
        except ImportError as error:
            raise ConfigError(
                "source.storage.url: needs pyarrow: pip install 'cdckit[storage]'", number="CDC2301"
            ) from error
        except (ValueError, TypeError, OSError) as error:
            raise ConfigError(f"source.storage.url: {self._redacted(str(error))}") from None
        self._root = root.rstrip("/")

    def files(self) -> list[StoredFile]:
        """All files below it."""
        selector = self._fs.FileSelector(self._root, recursive=True)
        found = self._asked(lambda: self._store.get_file_info(selector), "the files cannot be listed")
        below = len(self._root) + 1
        return [StoredFile(one.path[below:], one.size) for one in found if one.is_file]

    def content(self, path: str) -> bytes:
        """A file's content."""

        def read() -> bytes:
            with self._store.open_input_stream(f"{self._root}/{path}") as stream:
                content: bytes = stream.read()
            return content

        content: bytes = self._asked(read, f"{path} cannot be read")
        return content

    def _asked(self, ask: Callable[[], Any], failing: str) -> Any:
        try:
            return answer_of(ask)
        except FileNotFoundError as error:
            raise SourceError(f"source.storage.url: there is nothing at {self._url}", number="CDC3401") from error
        except OSError as error:
            said = self._redacted(str(error))
            kind = SourceError if _FOR_GOOD.search(said) else RetriableSourceError
            # Arrow's error is left out of the chain: it may tell what was redacted.
            raise kind(f"source.storage.url: {failing}: {said}") from None

    def _redacted(self, text: str) -> str:
        for secret in self._secrets:
            text = text.replace(secret, "***")
        return text


def open_folder(url: str, options: Mapping[str, str]) -> Folder:
    """The folder at a path or URL.

    Raises:
        ConfigError: there is no such kind of store, or option of it.
    """
    scheme = urlsplit(url).scheme
    return LocalFolder(Path(url.removeprefix("file://"))) if scheme in {"", "file"} else ObjectStore(url, options)


def credentials_in(url: str) -> bool:
    """Whether a URL holds a secret, which would then be shown wherever the URL is."""
    parts = urlsplit(url)
    return parts.password is not None or any(_SECRET.search(name) for name, _ in parse_qsl(parts.query))


def _opened(fs: Any, url: str, options: Mapping[str, str]) -> tuple[Any, str]:
    """The file system, and the folder's path in it."""
    parts = urlsplit(url)
    if not options:
        store, root = fs.FileSystem.from_uri(url)
        return store, root
    if parts.scheme not in _STORES:
        raise ConfigError(f"source.storage.options: stores with {parts.scheme}: URLs take none")
    given = {**dict(parse_qsl(parts.query)), **options}
    make = getattr(fs, _STORES[parts.scheme])
    return make(**{name: _typed(name, text) for name, text in given.items()}), f"{parts.netloc}{parts.path}"


def _typed(name: str, text: str) -> str | bool | float:
    """An option as Arrow takes it: a truth value, a number of seconds, or a text."""
    if text in {"true", "false"}:
        return text == "true"
    return float(text) if name.endswith("_timeout") else text
