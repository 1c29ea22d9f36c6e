"""Schemas by their number: from a Confluent-compatible schema registry, or a file that holds what one held."""

from __future__ import annotations

import base64
import struct
import urllib.error
import urllib.request
from collections.abc import Mapping
from dataclasses import dataclass
from http.client import HTTPException, HTTPMessage
from pathlib import Path
from typing import IO, Any
from urllib.parse import urlsplit

import fastavro
import orjson
from fastavro.schema import SchemaParseException, UnknownType

from cdckit import ConfigError, DecodeError, RetriableSourceError, SourceError
from cdckit.connector.damage import DAMAGE
from cdckit.waiting import answer_of
from cdckit_ticdc.columns.avro import without_logical_types

_HEAD = struct.Struct(">bI")
_UNREADABLE: tuple[type[Exception], ...] = (*DAMAGE, DecodeError)
_NO_ANSWER: tuple[type[Exception], ...] = (*DAMAGE, OSError, HTTPException)
_NO_SCHEMA: tuple[type[Exception], ...] = (*DAMAGE, SchemaParseException, UnknownType)
_NOT_FOUND = 404
_NO_SUCH_SCHEMA = 40403
"""The registry's own code for an id that it does not have, in the body of a 404 (Confluent's API reference)."""
_REFUSED = frozenset({401, 403})


@dataclass(frozen=True, slots=True, eq=False)
class RegisteredSchema:
    """One schema.

    Attributes:
        number: its id.
        written: the Avro schema as it was registered.
        parsed: the same, ready for reading values as Avro's primitive types.
    """

    number: int
    written: Any
    parsed: Any


class _Redirects(urllib.request.HTTPRedirectHandler):
    """Credentials do not follow to another place."""

    def redirect_request(
        self, req: urllib.request.Request, fp: IO[bytes], code: int, msg: str, headers: HTTPMessage, newurl: str
    ) -> urllib.request.Request | None:
        made = super().redirect_request(req, fp, code, msg, headers, newurl)
        if made is not None and urlsplit(newurl)[:2] != urlsplit(req.full_url)[:2]:
            made.remove_header("Authorization")
        return made


_OPENER = urllib.request.build_opener(_Redirects)


class Registry:
    """Looks schemas up, each once.

    Args:
        place: the registry's URL, or the path of a JSON file: a list of `{"id": …, "schema": …}`.
        credentials: `user:password`, or "".
        seconds: for how long an answer is waited for.
    """

    def __init__(self, place: str, credentials: str = "", seconds: float = 30.0) -> None:
        self._seconds = seconds
        self._place = place.rstrip("/")
        self._credentials = credentials
        self._known: dict[int, RegisteredSchema] = {}
        if urlsplit(place).scheme not in {"http", "https"}:
            self._read_file(Path(place.removeprefix("file://")))

    def schema(self, number: int) -> RegisteredSchema:
        """The schema with this id.

        Raises:
            DecodeError: the registry has none.
            SourceError: the registry refuses; a `RetriableSourceError` where it cannot be reached now.
        """
        found = self._known.get(number)
        if found is None:
            found = self._known[number] = _registered(number, self._fetched(number))
        return found

    def _fetched(self, number: int) -> Any:
        if urlsplit(self._place).scheme not in {"http", "https"}:
            raise DecodeError(f"schema.registry.url: {self._place} has no schema with id {number}", number="CDC5202")
        request = urllib.request.Request(f"{self._place}/schemas/ids/{number}")  # noqa: S310 - http and https alone
        if self._credentials:
            request.add_header("Authorization", f"Basic {base64.b64encode(self._credentials.encode()).decode()}")
        try:
            return _avro(number, orjson.loads(answer_of(lambda: self._answer(request))))
        except urllib.error.HTTPError as error:
            raise self._refusal(number, error) from error
        except (OSError, urllib.error.URLError, HTTPException) as error:
            raise RetriableSourceError(
                f"schema.registry.url: {self._place} cannot be reached: {error}", number="CDC3404"
            ) from error
        except DAMAGE as error:
            raise self._no_registry() from error

    def _answer(self, request: urllib.request.Request) -> bytes:
        with _OPENER.open(request, timeout=self._seconds) as answer:
            text: bytes = answer.read()
        if not text:
            raise ConnectionError("it hung up within its answer")
        return text

    def _refusal(self, number: int, error: urllib.error.HTTPError) -> SourceError | DecodeError:
        if error.code == _NOT_FOUND:
            if _error_code(error) == _NO_SUCH_SCHEMA:
                return DecodeError(
                    f"the schema registry {self._place} has no schema with id {number}", number="CDC5202"
                )
            return self._no_registry()
        if error.code in _REFUSED:
            return SourceError(
                f"the schema registry {self._place} refuses (HTTP {error.code}): check "
                "schema.registry.basic.auth.user.info",
                number="CDC3403",
            )
        return RetriableSourceError(f"the schema registry {self._place} answers HTTP {error.code}", number="CDC3404")

    def _no_registry(self) -> SourceError:
        return SourceError(
            f"schema.registry.url: {self._place} does not answer as a schema registry does: give the URL of its "
            "Confluent-compatible API, with the path",
            number="CDC3403",
        )

    def _read_file(self, path: Path) -> None:
        try:
            entries = orjson.loads(path.read_bytes())
            self._known = {entry["id"]: _registered(entry["id"], entry["schema"]) for entry in entries}
        except OSError as error:
            raise ConfigError(f"schema.registry.url: {path}: {error.strerror}; give an http URL or a file") from error
        except _UNREADABLE as error:
            raise ConfigError(f"schema.registry.url: {path} is no list of schemas with their ids: {error}") from error


def _avro(number: int, answer: Mapping[str, Any]) -> Any:
    """The Avro schema in a registry's answer.

    Raises:
        DecodeError: it is of another kind, or needs other schemas.
    """
    kind = answer.get("schemaType", "AVRO")
    if kind != "AVRO":
        raise DecodeError(f"schema {number} is of type {kind}, and only AVRO is read")
    if answer.get("references"):
        raise DecodeError(f"schema {number} refers to other schemas of the registry, which are not followed")
    return answer["schema"]


def _error_code(error: urllib.error.HTTPError) -> Any:
    try:
        return orjson.loads(error.read())["error_code"]
    except _NO_ANSWER:
        return None


def _registered(number: int, schema: Any) -> RegisteredSchema:
    try:
        written = orjson.loads(schema) if isinstance(schema, str) else schema
        return RegisteredSchema(number, written, fastavro.parse_schema(without_logical_types(written)))
    except _NO_SCHEMA as error:
        raise DecodeError(f"schema {number} is no Avro schema: {error}") from error


def schema_number(text: bytes) -> int:
    """The id in front of an Avro message (Confluent's wire format: 0, four bytes of id, the body).

    Raises:
        DecodeError: it does not begin so.
    """
    if len(text) < _HEAD.size or text[0] != 0:
        raise DecodeError("no message of a schema registry: it does not begin with 0 and the schema's id")
    number: int = _HEAD.unpack_from(text)[1]
    return number
