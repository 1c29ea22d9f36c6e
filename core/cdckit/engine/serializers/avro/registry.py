"""The schema registry that Avro's schemas are registered in: Confluent's HTTP interface."""

from __future__ import annotations

import ssl
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from http.client import HTTPException, HTTPMessage
from typing import IO, Any
from urllib.parse import quote, urlsplit

import orjson

from cdckit.engine.serializers.avro.config import AvroConfig
from cdckit.engine.serializers.avro.schemas import Written
from cdckit.errors import ConfigError, RetriableSinkError, SinkError
from cdckit.java.key_stores import pem_file
from cdckit.waiting import answer_of

_TYPE = "application/vnd.schemaregistry.v1+json"
_NO_CREDENTIALS = frozenset({401, 403})
_NOT_FOUND, _INCOMPATIBLE = 404, 409
_NO_SUCH_SCHEMA = frozenset({40401, 40402, 40403})
"""The registry's own codes for a subject, version or schema that it does not have (Confluent's API reference)."""
_PASSING = frozenset({408, 429})
_SERVERS_FAULT = 500


@dataclass(frozen=True, slots=True)
class _Refusal:
    """An answer that is no success."""

    status: int
    code: int | None
    message: str


class _Redirects(urllib.request.HTTPRedirectHandler):
    """Credentials do not follow to another place."""

    def redirect_request(
        self, req: urllib.request.Request, fp: IO[bytes], code: int, msg: str, headers: HTTPMessage, newurl: str
    ) -> urllib.request.Request | None:
        made = super().redirect_request(req, fp, code, msg, headers, newurl)
        if made is not None and urlsplit(newurl)[:2] != urlsplit(req.full_url)[:2]:
            made.remove_header("Authorization")
        return made


class Registry:
    """Registers schemas and looks them up.

    Raises:
        ConfigError: a URL is none, or a file of certificates cannot be read.
    """

    def __init__(self, config: AvroConfig) -> None:
        self._config = config
        self._places = [_place(url.strip()) for url in config.schema_registry_url.split(",") if url.strip()]
        if not self._places:
            raise ConfigError("schema.registry.url: should name a registry")
        self._seconds = config.request_timeout_ms / 1000
        self._headers = {"Content-Type": _TYPE, "Accept": _TYPE}
        if config.authorization:
            self._headers["Authorization"] = config.authorization
        self._opener = urllib.request.build_opener(_Redirects, *_tls(config))

    def register(self, subject: str, written: Written) -> int:
        """The id of a schema, which becomes the subject's newest version unless it is one already.

        Raises:
            SinkError: the registry refuses; a `RetriableSinkError` where it cannot be reached now.
        """
        return self._id(subject, self._ask(f"/subjects/{_quoted(subject)}/versions", subject, _body(written)))

    def lookup(self, subject: str, written: Written) -> int:
        """The id of a schema that is there.

        Raises:
            SinkError: it is not; or as `register`.
        """
        return self._id(subject, self._ask(f"/subjects/{_quoted(subject)}", subject, _body(written)))

    def latest(self, subject: str) -> tuple[int, Written]:
        """The id of a subject's latest schema, and the schema.

        Raises:
            SinkError: there is none, or it is no Avro schema; or as `register`.
        """
        found = self._ask(f"/subjects/{_quoted(subject)}/versions/latest", subject)
        kind = found.get("schemaType", "AVRO")
        if kind != "AVRO" or found.get("references"):
            raise SinkError(
                f"the latest schema of the subject {subject} in {self._shown} is "
                f"{f'of type {kind}' if kind != 'AVRO' else 'one that refers to others'}, which cannot be written by"
            )
        return self._id(subject, found), orjson.loads(found["schema"])

    @property
    def _shown(self) -> str:
        return ", ".join(self._places)

    def _id(self, subject: str, answer: Any) -> int:
        if isinstance(answer, dict) and isinstance(found := answer.get("id"), int):
            return found
        raise self._no_registry()

    def _ask(self, path: str, subject: str, body: bytes | None = None) -> Any:
        """What the first registry that is there answers."""
        if body is not None and self._config.normalize_schemas:
            path += "?normalize=true"
        away: list[str] = []
        for place in self._places:
            request = urllib.request.Request(f"{place}{path}", body, self._headers)  # noqa: S310 - http and https alone
            try:
                answer = answer_of(lambda asked=request: self._answer(asked))  # type: ignore[misc]
            except (OSError, urllib.error.URLError, HTTPException) as error:
                _refuse_certificate(place, error)
                away.append(f"{place}: {error}")
                continue
            if not isinstance(answer, _Refusal):
                return answer
            if answer.status not in _PASSING and answer.status < _SERVERS_FAULT:
                raise self._refused(answer, subject)
            away.append(f"{place} answers HTTP {answer.status}")
        raise RetriableSinkError(f"schema.registry.url: the schema registry cannot be reached: {'; '.join(away)}")

    def _answer(self, request: urllib.request.Request) -> Any:
        try:
            with self._opener.open(request, timeout=self._seconds) as answer:
                text = answer.read()
        except urllib.error.HTTPError as error:
            return _refusal(error)
        try:
            return orjson.loads(text)
        except orjson.JSONDecodeError:
            raise self._no_registry() from None

    def _refused(self, refusal: _Refusal, subject: str) -> SinkError:
        at = f"the schema registry {self._shown}"
        if refusal.status in _NO_CREDENTIALS:
            return SinkError(f"{at} refuses (HTTP {refusal.status}): check basic.auth.user.info or bearer.auth.token")
        if refusal.status == _NOT_FOUND and refusal.code in _NO_SUCH_SCHEMA:
            return SinkError(
                f"{at} does not have the schema under the subject {subject} ({refusal.message}): register it, or set "
                "auto.register.schemas=true"
            )
        if refusal.status == _NOT_FOUND:
            return self._no_registry()
        if refusal.status == _INCOMPATIBLE:
            return SinkError(
                f"{at} does not take the schema for the subject {subject}, which an earlier one is incompatible with: "
                f"{refusal.message}"
            )
        return SinkError(
            f"{at} refuses the schema for the subject {subject} (HTTP {refusal.status}): {refusal.message}"
        )

    def _no_registry(self) -> SinkError:
        return SinkError(
            f"schema.registry.url: {self._shown} does not answer as a schema registry does: give the URL of its "
            "Confluent-compatible API, with the path"
        )


def _refusal(error: urllib.error.HTTPError) -> _Refusal:
    try:
        said = orjson.loads(error.read())
        return _Refusal(error.code, said.get("error_code"), str(said.get("message", "")))
    except (OSError, HTTPException, ValueError, AttributeError):
        return _Refusal(error.code, None, error.reason if isinstance(error.reason, str) else "")


def _refuse_certificate(place: str, error: Exception) -> None:
    reason = getattr(error, "reason", error)
    if isinstance(reason, ssl.SSLCertVerificationError):
        raise SinkError(
            f"the certificate of the schema registry {place} is not trusted ({reason.verify_message}): name the file "
            "of its authority in schema.registry.ssl.truststore.location"
        ) from error


def _place(url: str) -> str:
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise ConfigError("schema.registry.url: should be an http or https URL")
    return url.rstrip("/")


def _tls(config: AvroConfig) -> Iterator[urllib.request.HTTPSHandler]:
    trusted, own = config.ssl_truststore_location, config.ssl_keystore_location
    if trusted is None and own is None:
        return
    context = ssl.create_default_context()
    with ExitStack() as files:
        try:
            if trusted is not None:
                name, secret = "schema.registry.ssl.truststore.location", config.ssl_truststore_password
                context.load_verify_locations(files.enter_context(pem_file(name, trusted, _text(secret))))
            if own is not None:
                name, secret = "schema.registry.ssl.keystore.location", config.ssl_keystore_password
                pem = files.enter_context(pem_file(name, own, _text(secret)))
                context.load_cert_chain(pem, password=_text(secret) or "")
        except ssl.SSLError as error:
            raise ConfigError(f"{name}: {error.reason or error}") from error
    yield urllib.request.HTTPSHandler(context=context)


def _text(secret: Any) -> str | None:
    return None if secret is None else secret.get_secret_value()


def _quoted(subject: str) -> str:
    return quote(subject, safe="")


def _body(written: Written) -> bytes:
    return orjson.dumps({"schema": orjson.dumps(written).decode()})
