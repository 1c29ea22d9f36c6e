"""HTTP to a schema registry: logging in, TLS, which faults may pass."""

from __future__ import annotations

import ssl
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from http.client import HTTPException, HTTPMessage
from typing import IO, Any
from urllib.parse import urlsplit

import orjson
from pydantic import SecretStr

from cdckit.api.checks import Finding
from cdckit.engine.serializers.avro.token import Tokens, TokenSource
from cdckit.errors import ConfigError, RetriableSinkError, SinkError
from cdckit.java.key_stores import pem_file
from cdckit.waiting import answer_of

NOT_FOUND, CONFLICT = 404, 409
_NO_CREDENTIALS = frozenset({401, 403})
_PASSING = frozenset({408, 429})
_SERVERS_FAULT = 500


@dataclass(frozen=True, slots=True)
class Access:
    """Where registries are, and how one gets in.

    Attributes:
        option: the option that holds the URLs, for messages.
        urls: with commas between.
        authorization: what HTTP's header of that name says; None: nothing.
        login: the options that say it, for messages.
        tls: what begins the names of the options of certificates, for messages.
        truststore: the file of those that are trusted; None: the system's.
        truststore_password: what it is locked with.
        keystore: the file of the client's own; None: it has none.
        keystore_password: what it is locked with.
        seconds: how long an answer is waited for.
        key_password: what the client's key is locked with, where that is not what its file is.
        any_host: whether a certificate need not bear the registry's name.
        proxy: the URL of the HTTP proxy between; None: that of the environment.
        token: who gives the token that is shown in the place of `authorization`; None: nobody.
        headers: what else HTTP's headers say.
    """

    option: str
    urls: str
    authorization: SecretStr | None
    login: str
    tls: str
    truststore: str | None
    truststore_password: SecretStr | None
    keystore: str | None
    keystore_password: SecretStr | None
    seconds: float
    key_password: SecretStr | None = None
    any_host: bool = False
    proxy: str | None = None
    token: TokenSource | None = None
    headers: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class Refusal:
    """An answer that is no success, and says that asking again is of no use.

    Attributes:
        status: HTTP's.
        code: the registry's own, or None.
        message: its words.
    """

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


class Connection:
    """Asks the first of several registries that is there.

    Raises:
        ConfigError: a URL is none, or a file of certificates cannot be read.
    """

    def __init__(self, access: Access, headers: Mapping[str, str]) -> None:
        self._access = access
        self._places = [self._place(url.strip()) for url in access.urls.split(",") if url.strip()]
        if not self._places:
            raise ConfigError(f"{access.option}: should name a registry")
        self._headers = {**headers, **dict(access.headers)}
        if access.authorization is not None:
            self._headers["Authorization"] = access.authorization.get_secret_value()
        self._opener = urllib.request.build_opener(_Redirects, *_proxy(access), *_tls(access))
        self._tokens: Tokens | None = None
        if access.token is not None:
            if urlsplit(access.token.url).scheme not in ("http", "https"):
                raise ConfigError(f"{access.token.option}: should be an http or https URL")
            self._tokens = Tokens(access.token, self._opener, access.seconds)
        self.shown = f"the schema registry {', '.join(self._places)}"

    def ask(self, path: str, body: bytes | None = None, headers: Mapping[str, str] | None = None) -> Any:
        """What a registry answers: JSON, or a `Refusal`.

        Raises:
            SinkError: it does not let one in, or is no registry; a `RetriableSinkError` where none can be reached now.
        """
        own = {**self._headers, **(headers or {})}
        if self._tokens is not None:
            own["Authorization"] = self._tokens.header()
        away: list[str] = []
        for place in self._places:
            request = urllib.request.Request(f"{place}{path}", body, own)  # noqa: S310 - http and https alone
            try:
                answer = answer_of(lambda asked=request: self._answer(asked))  # type: ignore[misc]
            except (OSError, urllib.error.URLError, HTTPException) as error:
                self._refuse_certificate(place, error)
                away.append(f"{place}: {error}")
                continue
            if not isinstance(answer, Refusal):
                return answer
            if answer.status in _NO_CREDENTIALS:
                raise SinkError(
                    f"{self.shown} refuses (HTTP {answer.status}): check {self._access.login}", number="CDC4201"
                )
            if answer.status not in _PASSING and answer.status < _SERVERS_FAULT:
                return answer
            away.append(f"{place} answers HTTP {answer.status}")
        raise RetriableSinkError(
            f"{self._access.option}: the schema registry cannot be reached: {'; '.join(away)}", number="CDC4202"
        )

    def no_registry(self) -> SinkError:
        """The error for what answers otherwise than a registry."""
        return SinkError(
            f"{self._access.option}: {', '.join(self._places)} does not answer as a schema registry does: give the URL "
            "of its API, with the path",
            number="CDC4201",
        )

    def _answer(self, request: urllib.request.Request) -> Any:
        try:
            with self._opener.open(request, timeout=self._access.seconds) as answer:
                text = answer.read()
        except urllib.error.HTTPError as error:
            return _refusal(error)
        try:
            return orjson.loads(text)
        except orjson.JSONDecodeError:
            raise self.no_registry() from None

    def _place(self, url: str) -> str:
        parts = urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise ConfigError(f"{self._access.option}: should be an http or https URL")
        return url.rstrip("/")

    def _refuse_certificate(self, place: str, error: Exception) -> None:
        reason = getattr(error, "reason", error)
        if isinstance(reason, ssl.SSLCertVerificationError):
            raise SinkError(
                f"the certificate of the schema registry {place} is not trusted ({reason.verify_message}): name the "
                f"file of its authority in {self._access.tls}.truststore.location",
                number="CDC4201",
            ) from error


def look(access: Access, path: str) -> Finding:
    """Whether a registry answers there, and lets one in."""
    try:
        connection = Connection(access, {"Accept": "application/json, application/vnd.schemaregistry.v1+json"})
        if isinstance(connection.ask(path), Refusal):
            raise connection.no_registry()
    except (ConfigError, SinkError) as error:
        return Finding.of("schema registry", error)
    return Finding("schema registry", "ok", connection.shown)


def _refusal(error: urllib.error.HTTPError) -> Refusal:
    try:
        said = orjson.loads(error.read())
        return Refusal(error.code, said.get("error_code"), str(said.get("message", "")))
    except (OSError, HTTPException, ValueError, AttributeError):
        return Refusal(error.code, None, error.reason if isinstance(error.reason, str) else "")


def _proxy(access: Access) -> Iterator[urllib.request.ProxyHandler]:
    if access.proxy is not None:
        yield urllib.request.ProxyHandler({"http": access.proxy, "https": access.proxy})


def _tls(access: Access) -> Iterator[urllib.request.HTTPSHandler]:
    if access.truststore is None and access.keystore is None and not access.any_host:
        return
    context = ssl.create_default_context()
    context.check_hostname = not access.any_host
    option = f"{access.tls}.truststore.location"
    with ExitStack() as files:
        try:
            if access.truststore is not None:
                context.load_verify_locations(
                    files.enter_context(pem_file(option, access.truststore, _text(access.truststore_password)))
                )
            if access.keystore is not None:
                option, secret = f"{access.tls}.keystore.location", _text(access.keystore_password)
                pem = files.enter_context(pem_file(option, access.keystore, secret))
                if pem == access.keystore:  # and not what a store was made into, which its own password locks
                    secret = _text(access.key_password) or secret
                context.load_cert_chain(pem, password=secret or "")
        except ssl.SSLError as error:
            raise ConfigError(f"{option}: {error.reason or error}") from error
    yield urllib.request.HTTPSHandler(context=context)


def _text(secret: SecretStr | None) -> str | None:
    return None if secret is None else secret.get_secret_value()
