"""Tokens by which a registry lets one in: OAuth 2.0's grant by client credentials (RFC 6749, section 4.4)."""

from __future__ import annotations

import base64
import time
import urllib.error
import urllib.request
from dataclasses import dataclass
from http.client import HTTPException
from typing import Any
from urllib.parse import quote_plus, urlencode

import orjson
from pydantic import SecretStr

from cdckit.errors import RetriableSinkError, SinkError
from cdckit.waiting import answer_of

_EARLIER_SECONDS = 30.0
"""So long before its end a token is asked for anew."""
_LIFE_SECONDS = 60.0
"""How long a token is used whose end is not told."""
_SERVERS_FAULT = 500
_TYPE = "application/x-www-form-urlencoded"


@dataclass(frozen=True, slots=True)
class TokenSource:
    """Who gives tokens, and to whom.

    Attributes:
        option: the option that holds the URL, for messages.
        login: the options that hold client and secret, for messages.
        url: where tokens are asked for.
        client: the client's id.
        secret: its secret.
        scope: what tokens are to be good for; None: whatever the client is allowed.
    """

    option: str
    login: str
    url: str
    client: str
    secret: SecretStr
    scope: str | None = None


class Tokens:
    """The token that is good now.

    Args:
        source: who gives it.
        opener: asks over HTTP.
        seconds: how long an answer is waited for.
    """

    def __init__(self, source: TokenSource, opener: urllib.request.OpenerDirector, seconds: float) -> None:
        self._source, self._opener, self._seconds = source, opener, seconds
        self._token = ""
        self._until = 0.0

    def header(self) -> str:
        """What HTTP's header `Authorization` says.

        Raises:
            SinkError: none is given; a `RetriableSinkError` where none can be asked for now.
        """
        if time.monotonic() >= self._until:
            asked = time.monotonic()
            answer = answer_of(self._ask)
            if not isinstance(answer, dict) or not isinstance(answer.get("access_token"), str):
                raise SinkError(f"{self._source.option}: {self._source.url} does not answer as a giver of tokens does")
            self._token = answer["access_token"]
            life = answer.get("expires_in", _LIFE_SECONDS)
            life = float(life) if isinstance(life, int | float | str) else _LIFE_SECONDS
            self._until = asked + max(life - _EARLIER_SECONDS, life / 2)
        return f"Bearer {self._token}"

    def _ask(self) -> Any:
        source = self._source
        form = {"grant_type": "client_credentials"} | ({"scope": source.scope} if source.scope else {})
        pair = f"{quote_plus(source.client)}:{quote_plus(source.secret.get_secret_value())}"
        headers = {
            "Authorization": f"Basic {base64.b64encode(pair.encode()).decode()}",
            "Content-Type": _TYPE,
            "Accept": "application/json",
        }
        request = urllib.request.Request(source.url, urlencode(form).encode(), headers)  # noqa: S310 - checked
        try:
            with self._opener.open(request, timeout=self._seconds) as answer:
                return orjson.loads(answer.read())
        except urllib.error.HTTPError as error:
            if error.code < _SERVERS_FAULT:
                raise SinkError(
                    f"{source.option}: {source.url} gives no token (HTTP {error.code}): check {source.login}"
                ) from error
            raise self._away(error) from error
        except orjson.JSONDecodeError:
            return None
        except (OSError, HTTPException) as error:
            raise self._away(error) from error

    def _away(self, error: Exception) -> RetriableSinkError:
        return RetriableSinkError(f"{self._source.option}: {self._source.url} gives no token now: {error}")
