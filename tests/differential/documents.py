"""Random values of every BSON type, and documents and identifiers of them: the same for the same seed."""

from __future__ import annotations

import struct
import uuid
from collections.abc import Callable, Sequence
from decimal import Decimal
from random import Random
from typing import Any

from bson import Binary, Code, DatetimeMS, DBRef, Decimal128, Int64, MaxKey, MinKey, ObjectId, Regex, Timestamp

Document = dict[str, Any]
Make = Callable[[Random], Any]

FIELDS = ("a", "b", "c", "n", "list", "sub", "docs", "with space", "Ünicode", "10", "-")
_CHARACTERS = "aZ09 _-/<>&'\"\\\n\t\x00\x1f\x7f\u0085é\u07c0\u0627\u0301ʰ日\u200b\u2028\ue000\ufeff😀\U0001d4b3%{}$."
_DEEPEST = 4


def text(random: Random, longest: int = 20) -> str:
    """Letters of many scripts, and what JSON escapes."""
    return "".join(random.choices(_CHARACTERS, k=random.randint(0, longest)))


def _bytes(random: Random) -> bytes:
    return random.randbytes(random.randint(0, 20))


def _double(random: Random) -> float:
    any_bits: float = struct.unpack("<d", random.randbytes(8))[0]
    ten = random.choice((1.0, -1.0)) * 10.0 ** random.randint(-20, 20)
    close = random.choice((1e-3, 1e7, 2.0**53, 9007199254740993.0)) * random.choice((1, 1 - 2**-53, 1 + 2**-52))
    plain = random.choice((0.0, -0.0, 1.0, 2.5, 1e300, 5e-324, 2.2250738585072014e-308, float("inf"), float("-inf")))
    return random.choice((any_bits, ten, close, plain, round(random.uniform(-1e4, 1e4), 3), float("nan")))


def _int64(random: Random) -> Int64:
    bits = random.randint(1, 63)
    return Int64(random.randrange(-(2**bits), 2**bits))


def _int32(random: Random) -> int:
    bits = random.randint(1, 31)
    return random.randrange(-(2**bits), 2**bits)


def _decimal(random: Random) -> Decimal128:
    special = random.choice(("NaN", "Infinity", "-Infinity", "0E-6176", "-0", "0E+6111", "1E+6111", "1.10"))
    digits = str(random.randrange(10 ** random.randint(1, 34)))
    number = Decimal(f"{random.choice(('', '-'))}{digits}E{random.randint(-40, 40)}")
    return Decimal128(random.choice((special, str(number), str(number))))


def _date(random: Random) -> DatetimeMS:
    recent = random.randrange(0, 2 * 10**12)
    seconds = recent // 1000 * 1000
    edges = random.choice((0, -1, 253402300799999, 253402300800000, -62135596800000, 2**53, -(2**53)))
    return DatetimeMS(random.choice((recent, recent // 10 * 10, seconds, -recent, edges)))


def _binary(random: Random) -> Binary:
    kind = random.choice((0, 1, 2, 3, 4, 5, 6, 128, 255))
    size = 16 if kind in (3, 4, 5) else random.randint(0, 20)
    return Binary(random.randbytes(size), kind)


def _regex(random: Random) -> Regex[str]:
    pattern = random.choice(("", "^a.*b/c$", '"\\d+"', "é|日", "[a-z]{2}"))
    return Regex(pattern, "".join(random.sample("imsx", random.randint(0, 4))))


def _code(random: Random) -> Code:
    scope = {"x": scalar(random)} if random.random() < 0.5 else None
    return Code(random.choice(("", "return 1;", 'f("é")')), scope)


def _timestamp(random: Random) -> Timestamp:
    return Timestamp(random.randrange(1, 2**32), random.randrange(2**32))


def _identifier(random: Random) -> ObjectId:
    return ObjectId(random.randbytes(12))


def _uuid(random: Random) -> Binary:
    return Binary.from_uuid(uuid.UUID(bytes=random.randbytes(16)))


def _reference(random: Random) -> DBRef:
    return DBRef("other", _identifier(random), random.choice((None, "elsewhere")))


KEYS_WITHOUT_CODE: tuple[Make, ...] = (
    *(_double, text, _binary, _uuid, _identifier, _date, _int32, _int64, _decimal, _timestamp),
    *(lambda random: random.random() < 0.5, lambda _: None, lambda _: MinKey(), lambda _: MaxKey()),
)
KEYS: tuple[Make, ...] = (*KEYS_WITHOUT_CODE, _code)
"""What makes values that an `_id` can have, besides documents."""
_SCALARS: tuple[Make, ...] = (*KEYS, _regex, _bytes)


def scalar(random: Random) -> Any:
    """A value of any type but documents and arrays."""
    return random.choice(_SCALARS)(random)


def value(random: Random, depth: int = 0) -> Any:
    """A value of any type."""
    kind = random.random()
    if depth < _DEEPEST and kind < 0.2:
        return fields(random, depth + 1)
    if depth < _DEEPEST and kind < 0.35:
        return [value(random, depth + 1) for _ in range(random.randint(0, 4))]
    return _reference(random) if kind < 0.38 else scalar(random)


def fields(random: Random, depth: int = 0) -> Document:
    """A document's fields but its `_id`; those that updates count on have their types."""
    made = {name: value(random, depth) for name in random.sample(FIELDS, random.randint(0, 6))}
    if depth == 0:
        made |= {
            "n": random.choice((_int32, _int64, _double, _decimal))(random),
            "list": [random.randint(0, 5) for _ in range(random.randint(0, 6))],
            "long": [random.randint(0, 99) for _ in range(random.randint(10, 20))],
            "docs": [{"k": random.randint(0, 3), "v": scalar(random)} for _ in range(random.randint(0, 3))],
            "sub": {"a": value(random, 1), "deep": {"b": value(random, 2)}},
        }
    return made


def key(random: Random, makes: Sequence[Make] = KEYS) -> Any:
    """A value for an `_id`."""
    if random.random() < 0.1:
        return {"a": random.choice(makes)(random), "b": {"c": random.choice(makes)(random)}}
    return random.choice(makes)(random)
