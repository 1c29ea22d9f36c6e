"""Hashes of keys and rows, 16 bytes each."""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Callable
from typing import Literal

from cdckit.api.held import HASH_BYTES
from cdckit.errors import ConfigError

HashName = Literal["xxh3", "blake2b"]
SIZE = HASH_BYTES
"""The bytes of a hash."""

Hash = Callable[[bytes], bytes]


def hash_of(name: HashName) -> Hash:
    """The function of that name; `blake2b` has a key of its own each time, which nobody who writes rows can know.

    Raises:
        ConfigError: the package that it needs is missing.
    """
    if name == "blake2b":
        return _Keyed(secrets.token_bytes(32))
    try:
        import xxhash  # noqa: PLC0415 - the extra need not be there
    except ImportError as error:
        raise ConfigError(
            "--hash: xxh3 needs the package xxhash: pip install 'cdckit[diff]', or choose --hash blake2b",
            number="CDC2301",
        ) from error
    digest: Hash = xxhash.xxh3_128_digest
    return digest


class _Keyed:
    """BLAKE2b with a key; other processes get the key."""

    def __init__(self, key: bytes) -> None:
        self._key = key
        self._started = hashlib.blake2b(key=key, digest_size=SIZE)

    def __call__(self, data: bytes) -> bytes:
        one = self._started.copy()
        one.update(data)
        return one.digest()

    def __reduce__(self) -> tuple[type[_Keyed], tuple[bytes]]:
        return _Keyed, (self._key,)
