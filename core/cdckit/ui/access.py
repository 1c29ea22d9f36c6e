"""Who may look, and who may act: a token, a cookie that stands for it, and a page that is nobody else's."""

from __future__ import annotations

import hmac
import ipaddress
import secrets
from collections.abc import Mapping
from hashlib import sha256

from cdckit.engine.metrics.address import ListenAddress
from cdckit.errors import ConfigError

TOKEN_VARIABLE = "CDC_UI_TOKEN"  # noqa: S105 - the variable's name
SHORTEST = 16
"""So many characters a token must have."""


class Access:
    """Decides about requests.

    Args:
        address: where the page is served.
        token: what who asks must bring; None: nothing, on this machine.
        acts: whether actions are allowed.

    Raises:
        ConfigError: a token is needed and not given, or is too short.
    """

    def __init__(self, address: ListenAddress, token: str | None, *, acts: bool) -> None:
        if token is None and not is_this_machine(address.host):
            raise ConfigError(f"--address: {address} can be reached from other machines: {_ASK}", number="CDC2605")
        if token is None and acts:
            raise ConfigError(f"--allow-actions: whoever reaches the page could act: {_ASK}", number="CDC2605")
        if token is not None and len(token) < SHORTEST:
            raise ConfigError(f"{TOKEN_VARIABLE}: should have {SHORTEST} characters or more", number="CDC2605")
        self.acts = acts
        self.needs_token = token is not None
        self._token = token or ""
        self._key = secrets.token_bytes(32)
        self._hosts = {"localhost", "127.0.0.1", "::1", address.host}
        self.cookie = f"cdc_ui_{address.port}"

    def __repr__(self) -> str:
        return f"Access(needs_token={self.needs_token}, acts={self.acts})"

    def is_token(self, given: str) -> bool:
        """Whether that is the token; how long that takes tells nothing of it."""
        return self.needs_token and hmac.compare_digest(given.encode(), self._token.encode())

    @property
    def session(self) -> str:
        """What the cookie holds: made of the token and of a key that ends with this process."""
        return self._made("session")

    @property
    def seal(self) -> str:
        """What a page must send with an action: another site's cannot know it."""
        return self._made("action")

    def _made(self, purpose: str) -> str:
        return hmac.new(self._key, f"{purpose} {self._token}".encode(), sha256).hexdigest()

    def admits(self, headers: Mapping[str, str], cookie: str) -> bool:
        """Whether who asks is known: by the token in `Authorization: Bearer …`, or by the cookie."""
        if not self.needs_token:
            return True
        scheme, _, given = headers.get("authorization", "").partition(" ")
        if scheme.lower() == "bearer":
            return self.is_token(given.strip())
        return hmac.compare_digest(cookie.encode(), self.session.encode())

    def is_meant(self, headers: Mapping[str, str]) -> bool:
        """Whether the request names this server, where no token tells: another site may have its name point here."""
        return self.needs_token or host_of(headers.get("host", "")) in self._hosts

    def acts_for(self, headers: Mapping[str, str]) -> bool:
        """Whether an action is asked for by the page itself, or by a program that has the token."""
        if not self.acts:
            return False
        if headers.get("authorization", "").lower().startswith("bearer "):
            return True
        origin = headers.get("origin", "")
        own = origin.partition("://")[2] == headers.get("host", "")
        return own and hmac.compare_digest(headers.get("x-cdc-seal", "").encode(), self.seal.encode())


_ASK = (
    f"choose a token of {SHORTEST} characters or more, and give it by the variable {TOKEN_VARIABLE} or by "
    "--token-file FILE"
)


def is_this_machine(host: str) -> bool:
    """Whether only this machine reaches it."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def host_of(header: str) -> str:
    """The name or address in a header `Host`, without its port."""
    if header.startswith("["):
        return header.partition("]")[0].strip("[")
    return header.partition(":")[0]
