"""How metrics are asked for: where, with what token, over TLS or not."""

from __future__ import annotations

import hmac
import ssl
from dataclasses import dataclass
from pathlib import Path

from pydantic import SecretStr

from cdckit.engine.metrics.address import ListenAddress
from cdckit.engine.metrics.names import Names
from cdckit.errors import ConfigError


@dataclass(frozen=True, slots=True)
class MetricsAccess:
    """What a pipeline's `metrics.*` options say. It can be pickled.

    Attributes:
        address: where to listen.
        token: what who asks must bring, as `Authorization: Bearer TOKEN`; None: nothing.
        certificate: a PEM file with the server's certificate and those that vouch for it; None: no TLS.
        key: a PEM file with its private key; None: in the same file.
        names: by whose names metrics are served.
        away_seconds: how long source or sink may be away before the probe of readiness says no.
    """

    address: ListenAddress
    token: SecretStr | None = None
    certificate: Path | None = None
    key: Path | None = None
    names: Names = "cdckit"
    away_seconds: float = 60.0

    @property
    def scheme(self) -> str:
        """That of the URL."""
        return "http" if self.certificate is None else "https"

    def admits(self, authorization: str) -> bool:
        """Whether a request with this header is answered; how long that takes tells nothing of the token."""
        if self.token is None:
            return True
        return hmac.compare_digest(authorization.encode(), f"Bearer {self.token.get_secret_value()}".encode())

    def tls_context(self) -> ssl.SSLContext | None:
        """For the server's connections; None where they are plain.

        Raises:
            ConfigError: certificate and key cannot be read, or do not belong together.
        """
        if self.certificate is None:
            return None
        context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
        try:
            context.load_cert_chain(self.certificate, self.key)
        except (OSError, ssl.SSLError) as error:
            raise ConfigError(
                f"metrics.tls.certificate: {self.certificate} and its key cannot be read as PEM ({error}); "
                "metrics.tls.key names a key that stands in another file",
                number="CDC2601",
            ) from error
        return context
