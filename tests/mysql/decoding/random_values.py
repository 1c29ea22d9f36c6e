"""Random values of every type, as SQL literals."""

from __future__ import annotations

import random
import struct
from collections.abc import Callable
from functools import partial

Make = Callable[[random.Random], str]


def integer(rng: random.Random, bits: int, *, signed: bool = True) -> str:
    value = rng.choice([0, 1, (1 << bits) - 1, rng.getrandbits(bits), rng.getrandbits(rng.randint(1, bits))])
    return str(value - (1 << bits - 1) if signed else value)


def digits(rng: random.Random, precision: int, scale: int) -> str:
    top = 10**precision
    number = rng.choice([0, 1, top - 1, rng.randrange(top), rng.randrange(10 ** rng.randint(1, precision))])
    text = str(number).zfill(scale + 1)
    sign = rng.choice(["", "-"])
    return f"{sign}{text[: len(text) - scale]}.{text[len(text) - scale :]}" if scale else f"{sign}{text}"


def day(rng: random.Random) -> str:
    return f"{rng.randint(100, 9999):04}-{rng.randint(1, 12):02}-{rng.randint(1, 28):02}"


def clock(rng: random.Random, places: int, hours: int = 23) -> str:
    fraction = f".{rng.randrange(10**places):0{places}}" if places else ""
    return f"{rng.randint(0, hours):02}:{rng.randint(0, 59):02}:{rng.randint(0, 59):02}{fraction}"


def time(rng: random.Random, places: int) -> str:
    return f"'{rng.choice(['', '-'])}{clock(rng, places, rng.choice([23, 838]))}'"


def datetime(rng: random.Random, places: int) -> str:
    return f"'{day(rng)} {clock(rng, places)}'"


def bits(rng: random.Random, size: int) -> str:
    return f"b'{rng.getrandbits(size):b}'"


def double(rng: random.Random) -> str:
    return repr(struct.unpack("<d", struct.pack("<Q", rng.getrandbits(62)))[0])


def text(rng: random.Random, characters: str, longest: int) -> str:
    return quoted("".join(rng.choices(characters, k=rng.randint(0, longest))).encode())


def octets(rng: random.Random, shortest: int, longest: int) -> str:
    return quoted(rng.randbytes(rng.randint(shortest, longest)))


def quoted(data: bytes) -> str:
    return f"X'{data.hex()}'" if data else "''"


def geometry(rng: random.Random) -> str:
    return f"ST_GeomFromText('LINESTRING(0 0, {rng.randint(1, 9)} {rng.random()})', {rng.choice([0, 4326])})"


def point(rng: random.Random) -> str:
    return f"ST_GeomFromText('POINT({rng.randint(-9, 9)} {rng.random()})')"


DECIMALS = (
    *((1, 0), (1, 1), (4, 2), (5, 5), (9, 0), (9, 9), (10, 1), (11, 2)),
    *((18, 9), (19, 9), (27, 13), (38, 10), (45, 30), (65, 0), (65, 30), (30, 30)),
)
INTEGERS = {"TINYINT": 8, "SMALLINT": 16, "MEDIUMINT": 24, "INT": 32, "BIGINT": 64}

COLUMNS: dict[str, Make] = {
    **{f"DECIMAL({p},{s})": partial(digits, precision=p, scale=s) for p, s in DECIMALS},
    **{f"TIME({places})": partial(time, places=places) for places in range(7)},
    **{f"DATETIME({places})": partial(datetime, places=places) for places in range(7)},
    **{f"BIT({size})": partial(bits, size=size) for size in (1, 2, 8, 9, 33, 64)},
    **{name: partial(integer, bits=size) for name, size in INTEGERS.items()},
    **{f"{name} UNSIGNED": partial(integer, bits=size, signed=False) for name, size in INTEGERS.items()},
    "INT UNSIGNED ZEROFILL": partial(integer, bits=32, signed=False),
    "DOUBLE": double,
    "FLOAT(7,3)": lambda rng: f"{rng.uniform(-9999, 9999):.3f}",
    "DATE": lambda rng: f"'{day(rng)}'",
    "YEAR": lambda rng: str(rng.randint(1901, 2155)),
    "CHAR(7)": partial(text, characters="ab é😀", longest=7),
    "CHAR(200)": partial(text, characters="abé", longest=200),
    "VARCHAR(60)": partial(text, characters="xyé日😀\\'\"\n", longest=60),
    "VARCHAR(300)": partial(text, characters="xyé", longest=300),
    "BINARY(5)": partial(octets, shortest=0, longest=5),
    "BINARY(255)": partial(octets, shortest=255, longest=255),
    "VARBINARY(300)": partial(octets, shortest=0, longest=300),
    "TINYTEXT": partial(text, characters="é", longest=60),
    "TEXT": partial(text, characters="t", longest=700),
    "MEDIUMBLOB": partial(octets, shortest=0, longest=400),
    "LONGTEXT": partial(text, characters="é", longest=400),
    "ENUM('a','b','it''s')": lambda rng: str(rng.randint(1, 3)),
    "SET('p','q','r','s','t','u','v','w','x')": lambda rng: str(rng.randrange(512)),
    "POINT": point,
    "GEOMETRY": geometry,
}
"""How a value of each type is made."""
