"""Hashes of keys and rows, 16 bytes each."""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Callable
from typing import Literal

from cdckit.errors import ConfigError

HashName = Literal["xxh3", "blake2b"]
SIZE = 16
"""The bytes of a hash."""

Hash = Callable[[bytes], bytes]


def hash_of(name: HashName) -> Hash:
    """The function of that name; `blake2b` has a key of its own each time, which nobody who writes rows can know.

    Raises:
        ConfigError: the package that it needs is missing.
    """
    if name == "blake2b":
        return _keyed(secrets.token_bytes(32))
    try:
        import xxhash  # noqa: PLC0415 - the extra need not be there
    except ImportError as error:
        raise ConfigError(
            "--hash: xxh3 needs the package xxhash: pip install 'cdckit[diff]', or choose --hash blake2b",
            number="CDC2301",
        ) from error
    digest: Hash = xxhash.xxh3_128_digest
    return digest


def _keyed(key: bytes) -> Hash:
    started = hashlib.blake2b(key=key, digest_size=SIZE)

    def digest(data: bytes) -> bytes:
        one = started.copy()
        one.update(data)
        return one.digest()

    return digest
