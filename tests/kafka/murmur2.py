"""The Java producer's choice of partition, after the description of MurmurHash2 and Kafka's constants.

Kafka hashes a key's bytes with MurmurHash2 (32 bits, seed 0x9747b28c), drops the sign bit and takes the remainder by
the number of partitions.
"""

from __future__ import annotations

_SEED = 0x9747B28C
_M = 0x5BD1E995
_WORD = 0xFFFFFFFF


def murmur2(key: bytes) -> int:
    """The 32 bits of the hash, unsigned."""
    whole = len(key) // 4 * 4
    h = _SEED ^ len(key)
    for start in range(0, whole, 4):
        k = int.from_bytes(key[start : start + 4], "little") * _M & _WORD
        k = (k ^ k >> 24) * _M & _WORD
        h = (h * _M & _WORD) ^ k
    if tail := key[whole:]:
        h = (h ^ int.from_bytes(tail, "little")) * _M & _WORD
    h = (h ^ h >> 13) * _M & _WORD
    return h ^ h >> 15


def java_partition(key: bytes, partitions: int) -> int:
    """The partition that the Java producer gives `key`."""
    return (murmur2(key) & 0x7FFFFFFF) % partitions
